"""Where the weights of `mnemolog.query.signals` come from: a linear ranking fitted to the questions of our own conversations
and of LongMemEval's tuning half, nothing else.

    python benchmarks/fit_weights.py --data DIR [--folds N]

The fit maximises, over all questions, the mean log probability of each piece of evidence against all turns that are none (a
softmax over the scores: ListNet's top-one likelihood, Cao et al. 2007), with a small L2 penalty, by Adam. Each set of
questions weighs as much as is written in `SHARES`. Printed: the recall of weights fitted on the other folds, so that a signal
that only fits by chance does not pay, and the weights fitted on all.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from evidence import OWN, TUNE, Asked, Turns, longmemeval, own
from numpy.typing import NDArray

from mnemolog.adapters.embedders.use import UseEmbedder
from mnemolog.processors.core.ports import VectorHit
from mnemolog.query.lexical import ScopeIndex
from mnemolog.query.periods import find_period
from mnemolog.query.signals import ASKS, NEIGHBOURS, SIGNALS, asking, in_units, measured
from mnemolog.query.speakers import named, without

SHARES = {"nora_ben": 1.0, "mei_tomas": 0.7, "assistant": 0.4, "longmemeval": 1.0}
"""Roughly by their questions; LongMemEval's 108 count as one, because they say nothing of neighbours and speakers."""
L2 = 0.02
RATE = 0.08
KS = (5, 10)

Floats = NDArray[np.float64]


class Case(NamedTuple):
    """A question over its scope: (signals, turns) in units, what each turn counts as, and which turns are evidence."""

    fold: int
    units: Floats
    names: list[str]
    evidence: frozenset[str]
    rows: NDArray[np.intp]


def cases(turns: Turns, asked: Sequence[Asked], embedder: UseEmbedder, folds: int, by_session: bool) -> list[Case]:
    indexes: dict[str, ScopeIndex] = {}
    vectors: dict[str, NDArray[np.float32]] = {}
    asks: dict[str, Floats] = {}
    for scope in dict.fromkeys(one.scope for one in asked):
        texts = [view.content for view in turns.views[scope]]
        indexes[scope] = ScopeIndex()
        indexes[scope].extend(turns.turn_index(scope))
        vectors[scope] = embedder.embed(texts)
        asks[scope] = np.array([asking(text) for text in texts])
    made = []
    for one in asked:
        scores = vectors[one.scope] @ _meant(embedder, one.text, indexes[one.scope].speaker_names)
        best = np.argsort(-scores, kind="stable")[:NEIGHBOURS]
        near = [VectorHit(str(row), float(scores[row])) for row in best.tolist()]
        period = find_period(one.text, one.now) if one.now is not None else None
        units = in_units(measured(indexes[one.scope], one.text, near, period)).astype(np.float64)
        units[ASKS] = asks[one.scope]
        names = [view.session if by_session else view.event_id for view in turns.views[one.scope]]
        rows = np.array([row for row, name in enumerate(names) if name in one.evidence], np.intp)
        fold = hashlib.sha256(one.text.encode()).digest()[1] % folds
        made.append(Case(fold, units, names, one.evidence, rows))
    return made


def _meant(embedder: UseEmbedder, text: str, speakers: Sequence[str]) -> NDArray[np.float32]:
    """The question's vector as recall takes it."""
    left = without(text, names) if (names := named(text, speakers)) else ""
    both: NDArray[np.float32] = embedder.embed([text, left] if left else [text]).sum(axis=0)
    return both / np.linalg.norm(both)


def fitted(sets: dict[str, list[Case]], steps: int = 150) -> Floats:
    """The weights that make the evidence of these cases most likely."""
    weights = np.zeros(len(SIGNALS))
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        slope = L2 * weights
        for name, held in sets.items():
            slope -= SHARES[name] * np.mean([_pull(case, weights) for case in held], axis=0)
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        weights = weights - RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


def _pull(case: Case, weights: Floats) -> Floats:
    """The gradient of the mean log probability of each piece of evidence among it and the turns that are none."""
    units = case.units - case.units.mean(axis=1, keepdims=True)
    scores = weights @ units
    odds = np.exp(scores - scores.max())
    evidence = units[:, case.rows]
    total = odds.sum() - odds[case.rows].sum()
    pushed = units @ odds - evidence @ odds[case.rows]
    shares = odds[case.rows]
    expected = (pushed[:, None] + evidence * shares) / (total + shares)
    pull: Floats = (evidence - expected).mean(axis=1)
    return pull


def recalled(case: Case, weights: Floats) -> list[float]:
    order = np.argsort(-(weights @ case.units), kind="stable")
    ranked = list(dict.fromkeys(case.names[row] for row in order[:40].tolist()))
    return [len(case.evidence & set(ranked[:k])) / len(case.evidence) for k in KS]


def shown(shares: Sequence[Sequence[float]]) -> str:
    return "  ".join(f"R@{k} {value:.3f}" for k, value in zip(KS, np.mean(shares, axis=0), strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--folds", type=int, default=4)
    args = parser.parse_args()
    embedder = UseEmbedder()
    sets: dict[str, list[Case]] = {}
    for name in OWN:
        turns = Turns()
        sets[name] = cases(turns, own(turns, [name]), embedder, args.folds, by_session=False)
    turns = Turns()
    tune = [one for one in longmemeval(args.data, turns) if TUNE in one.groups]
    sets["longmemeval"] = cases(turns, tune, embedder, args.folds, by_session=True)
    unseen: dict[str, list[list[float]]] = {name: [] for name in sets}
    for fold in range(args.folds):
        weights = fitted({name: [case for case in held if case.fold != fold] for name, held in sets.items()})
        for name, held in sets.items():
            unseen[name] += [recalled(case, weights) for case in held if case.fold == fold]
    weights = fitted(sets)
    for name, held in sets.items():
        seen = [recalled(case, weights) for case in held]
        print(f"{name:12} n {len(held):4}  on folds left out: {shown(unseen[name])}   on all: {shown(seen)}")
    for name, weight in zip(SIGNALS, weights.tolist(), strict=True):
        print(f"{name:16} {weight:6.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
