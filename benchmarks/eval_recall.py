"""Evidence recall: of the turns (LoCoMo, our own) or sessions (LongMemEval) that hold an answer, how many are among the first k
found.

    python benchmarks/eval_recall.py [--data DIR] [--set own|locomo|longmemeval ...] [--ablate] [--json]

DIR holds `locomo/{turns,qa}.jsonl` and `longmemeval/dev.jsonl`; they are read, never copied. LongMemEval is split in two by a
hash of the question's id: weights are chosen (`fit_weights.py`) on its `tune` half and on our own conversations only; the
other half and LoCoMo are only reported. Only the turn route is measured: no Forms, no timeline; each conversation is one
scope, LongMemEval's evidence sessions are pooled into one. --ablate leaves out each signal in turn, and asks without any
vector and without any word; questions are embedded once then, so that its times say nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from evidence import Asked, Turns, fill, locomo, longmemeval, own
from numpy.typing import NDArray

from mnemolog.adapters.embedders.use import UseEmbedder
from mnemolog.adapters.vectors.scan import ScanVectors
from mnemolog.query.rank import SIGNALS, WEIGHTS
from mnemolog.query.recall import Recall

__all__ = ["KS", "Asked", "Turns", "fill", "locomo", "longmemeval", "measure", "own"]

KS = (5, 10)
SETS = ("own", "locomo", "longmemeval")
WORDS = ("keywords", "keywords_nearby")
MEANING = ("vectors", "vectors_nearby")
AS_ASKED = "names left in the question"
SECONDS = 30.0
"""The time budget of one search: what is measured here is what is found, also on a machine that is busy."""


def measure(recall: Recall, asked: Sequence[Asked], by_session: bool) -> tuple[dict[str, dict[str, float]], list[float]]:
    """Group to R@k and count, and the seconds that each search took."""
    found: dict[str, list[list[float]]] = defaultdict(list)
    seconds = []
    for one in asked:
        limit = max(KS) * (3 if by_session else 1)
        start = time.perf_counter()
        hits = recall.search([one.scope], one.text, limit=limit, now=one.now, kinds=("turn",), time_budget=SECONDS)
        seconds.append(time.perf_counter() - start)
        ids = [hit.event_ids[0] for hit in hits]
        ranked = list(dict.fromkeys(one_id.partition(":")[0] for one_id in ids)) if by_session else ids
        shares = [len(one.evidence & set(ranked[:k])) / len(one.evidence) for k in KS]
        for group in one.groups:
            found[group].append(shares)
    return {
        group: {"n": len(shares), **{f"R@{k}": float(np.mean([row[at] for row in shares])) for at, k in enumerate(KS)}}
        for group, shares in sorted(found.items())
    }, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="DIR")
    parser.add_argument("--set", choices=SETS, dest="sets", action="append")
    parser.add_argument("--ablate", action="store_true", help="what is lost without each route and signal")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    wanted = args.sets or (SETS if args.data is not None else SETS[:1])
    if args.data is None and set(wanted) != {"own"}:
        parser.error("name the folder with the data: --data DIR")
    embedder = UseEmbedder()
    result: dict[str, Any] = {}
    for name in wanted:
        turns = Turns()
        asked = own(turns) if name == "own" else (locomo if name == "locomo" else longmemeval)(args.data, turns)
        vectors = ScanVectors(embedder.dim)
        fill(turns, embedder, vectors)
        asker = Known(embedder) if args.ablate else embedder
        for run, weights in runs(args.ablate).items():
            recall = Recall(turns, *((None, None) if weights is None else (asker, vectors)), weights=weights or WEIGHTS)
            with patch("mnemolog.query.turns.named", lambda *_: []) if run == AS_ASKED else nullcontext():
                groups, seconds = measure(recall, asked, by_session=name == "longmemeval")
            p50, p95 = (float(np.percentile(seconds, p)) * 1000 for p in (50, 95))
            result.setdefault(name, {})[run] = {"groups": groups, "p50_ms": p50, "p95_ms": p95}
            if not args.json:
                show(name, run, groups, p50, p95, full=run == "all signals")
    if args.json:
        print(json.dumps(result, indent=2))
    return 0


def runs(ablate: bool) -> dict[str, tuple[float, ...] | None]:
    """Names of what is measured to its weights; None asks without vectors."""
    made: dict[str, tuple[float, ...] | None] = {"all signals": WEIGHTS}
    if ablate:
        made[AS_ASKED] = WEIGHTS
        made["without any vector"] = None
        made["without any word"] = _weights(set(SIGNALS) - set(WORDS))
        made["words alone"] = _weights(WORDS)
        made["vectors alone"] = _weights(MEANING)
        made["vectors and words alone"] = _weights({*MEANING, *WORDS})
        made |= {f"without {name}": _weights(set(SIGNALS) - {name}) for name in SIGNALS}
    return made


def _weights(kept: Collection[str]) -> tuple[float, ...]:
    return tuple(weight if name in kept else 0.0 for name, weight in zip(SIGNALS, WEIGHTS, strict=True))


class Known:
    """An embedder that embeds no question twice."""

    def __init__(self, embedder: UseEmbedder) -> None:
        self.name, self.dim, self.count_tokens = embedder.name, embedder.dim, embedder.count_tokens
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if missing := [text for text in texts if text not in self._known]:
            self._known |= dict(zip(missing, self._embedder.embed(missing), strict=True))
        return np.stack([self._known[text] for text in texts])


def show(name: str, run: str, groups: dict[str, dict[str, float]], p50: float, p95: float, *, full: bool) -> None:
    for group, row in groups.items():
        if full or group == "all":
            figures = "  ".join(f"{key} {value:.3f}" for key, value in row.items() if key != "n")
            print(f"{name:12} {run:28} {group:26} n {row['n']:4.0f}  {figures}", flush=True)
    if full:
        print(f"{name:12} {'one search, embedding included':55} p50 {p50:.1f} ms  p95 {p95:.1f} ms", flush=True)


if __name__ == "__main__":
    sys.exit(main())
