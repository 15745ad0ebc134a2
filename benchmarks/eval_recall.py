"""Evidence recall: of the turns (LoCoMo) or sessions (LongMemEval) that hold an answer, how many are among the first k found.

    python benchmarks/eval_recall.py --data DIR [--set locomo|longmemeval] [--ablate] [--json]
    python benchmarks/eval_recall.py --data DIR --tune

DIR holds `locomo/{turns,qa}.jsonl` and `longmemeval/dev.jsonl`; they are read, never copied. LongMemEval is split in two by a
hash of the question's id: weights are chosen on the `tune` half only, LoCoMo is only reported. Only the turn route is
measured: no Forms, no timeline; each conversation is one scope, LongMemEval's evidence sessions are pooled into one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mnemolog.adapters.embedders.use import UseEmbedder
from mnemolog.adapters.vectors.scan import ScanVectors
from mnemolog.processors.core.text import terms
from mnemolog.query.lexical import IndexRow
from mnemolog.query.rank import SIGNALS, TURN, WEIGHTS
from mnemolog.query.recall import Recall
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import parse_time
from mnemolog.schemas.views import EdgeView, FormView, PendingView, SummaryView, TimelineEntry, TurnView, VersionView

KS = (5, 10)


class Asked(NamedTuple):
    """A question, the ids of the turns or sessions that hold its answer, and what it counts towards."""

    scope: str
    text: str
    now: str | None
    evidence: frozenset[str]
    groups: tuple[str, ...]


class Turns:
    """A reader of turns alone."""

    def __init__(self) -> None:
        self.views: dict[str, list[TurnView]] = defaultdict(list)

    def add(self, scope: str, event_id: str, session: str, role: str, speaker: str, content: str, at: str) -> None:
        held = self.views[scope]
        held.append(
            TurnView(
                event_id=event_id,
                source="bench",
                offset=len(held),
                session=session,
                agent="default",
                role=role,
                speaker=speaker,
                content=content,
                occurred_at=at,
                expires_at=None,
            )
        )

    def snapshot(self, scope: Scope | str) -> AbstractContextManager[None]:
        return nullcontext()

    def stand(self, scope: Scope | str) -> tuple[int | str, ...]:
        return ()

    def written(self, scope: Scope | str) -> int:
        return len(self.views[str(scope)])

    def edges(self, scope: Scope | str) -> list[EdgeView]:
        return []

    def forms(self, scope: Scope | str, form_type: str | None = None, include_retired: bool = False) -> list[FormView]:
        return []

    def history(self, scope: Scope | str, form_id: str | None = None, slot: str | None = None) -> list[VersionView]:
        return []

    def timeline(
        self,
        scope: Scope | str,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[TimelineEntry]:
        return []

    def pending(self, scope: Scope | str) -> list[PendingView]:
        return []

    def closed_summaries(self, scope: Scope | str) -> list[SummaryView]:
        return []

    def turns_by_offset(self, scope: Scope | str, offsets: Sequence[int]) -> list[TurnView]:
        return [self.views[str(scope)][offset] for offset in offsets]

    def turn_index(self, scope: Scope | str, after_offset: int = -1) -> list[IndexRow]:
        return [
            (view.offset, view.event_id, view.session, view.speaker, view.role, view.occurred_at, " ".join(terms(view.content)))
            for view in self.views[str(scope)][after_offset + 1 :]
        ]


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def locomo(data: Path, turns: Turns) -> list[Asked]:
    """Categories 1 to 4, the questions whose evidence is among the turns; the text alone, without image captions."""
    ids: dict[str, set[str]] = defaultdict(set)
    for row in rows(data / "locomo" / "turns.jsonl"):
        scope = f"locomo/{row['sample_id']}"
        ids[scope].add(row["dia_id"])
        at = parse_time(row["time"])[0]
        turns.add(scope, row["dia_id"], str(row["session"]), "user", row["speaker"], row["text"], at)
    asked = []
    for row in rows(data / "locomo" / "qa.jsonl"):
        scope = f"locomo/{row['sample_id']}"
        evidence = frozenset(row["evidence"]) & ids[scope]
        if row["category"] != 5 and evidence:
            now = turns.views[scope][-1].occurred_at
            asked.append(Asked(scope, row["question"], now, evidence, ("all", row["category_name"])))
    return asked


def longmemeval(data: Path, turns: Turns) -> list[Asked]:
    """All evidence sessions in one scope; a hit counts for its session."""
    scope = "longmemeval/pool"
    known: dict[str, str] = {}
    asked = []
    for row in rows(data / "longmemeval" / "dev.jsonl"):
        evidence = set()
        for session in row["evidence_sessions"]:
            key = json.dumps(session, sort_keys=True)
            if key not in known:
                known[key] = f"s{len(known)}"
                at = slashed(session["date"])
                for turn in session["turns"]:
                    event_id = f"{known[key]}:{len(turns.views[scope])}"
                    turns.add(scope, event_id, known[key], turn["role"], "", turn["content"], at)
            evidence.add(known[key])
        if evidence and not row["abstention"]:
            half = "tune" if hashlib.sha256(row["question_id"].encode()).digest()[0] % 2 else "held out"
            groups = ("all", half, row["question_type"])
            asked.append(Asked(scope, row["question"], slashed(row["question_date"]), frozenset(evidence), groups))
    return asked


def slashed(text: str) -> str:
    """`2023/05/28 (Sun) 19:47` in the fixed form."""
    day, _, clock = text.partition(" (")
    return parse_time(f"{day.replace('/', '-')}T{clock.partition(') ')[2]}")[0]


def fill(turns: Turns, embedder: UseEmbedder, vectors: ScanVectors) -> None:
    for scope, views in turns.views.items():
        made = embedder.embed([view.content for view in views])
        vectors.upsert(scope, TURN, [(str(view.offset), view.offset, vector) for view, vector in zip(views, made, strict=True)])


def measure(recall: Recall, asked: Sequence[Asked], by_session: bool) -> tuple[dict[str, dict[str, float]], list[float]]:
    """Group to R@k and count, and the seconds that each search took."""
    found: dict[str, list[list[float]]] = defaultdict(list)
    seconds = []
    for one in asked:
        start = time.perf_counter()
        hits = recall.search([one.scope], one.text, limit=max(KS) * (3 if by_session else 1), now=one.now, kinds=("turn",))
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
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--set", choices=("locomo", "longmemeval"), dest="sets", action="append")
    parser.add_argument("--ablate", action="store_true", help="each signal left out, and each alone")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tune", action="store_true", help="the grid that the weights come from, on LongMemEval's tuning half")
    args = parser.parse_args()
    embedder = UseEmbedder()
    if args.tune:
        return tune(args.data, embedder)
    result: dict[str, Any] = {}
    for name in args.sets or ["locomo", "longmemeval"]:
        turns = Turns()
        asked = (locomo if name == "locomo" else longmemeval)(args.data, turns)
        vectors = ScanVectors(embedder.dim)
        fill(turns, embedder, vectors)
        runs = {"all signals": WEIGHTS}
        if args.ablate:
            for at, signal in enumerate(SIGNALS):
                runs[f"without {signal}"] = tuple(0.0 if at == i else w for i, w in enumerate(WEIGHTS))
                runs[f"{signal} alone"] = tuple(w if at == i else 0.0 for i, w in enumerate(WEIGHTS))
        for run, weights in runs.items():
            recall = Recall(turns, embedder, vectors, weights=weights)
            groups, seconds = measure(recall, asked, by_session=name == "longmemeval")
            p50, p95 = (float(np.percentile(seconds, p)) * 1000 for p in (50, 95))
            result.setdefault(name, {})[run] = {"groups": groups, "p50_ms": p50, "p95_ms": p95}
            if not args.json:
                show(name, run, groups, p50, p95, full=run == "all signals")
    if args.json:
        print(json.dumps(result, indent=2))
    return 0


def tune(data: Path, embedder: UseEmbedder) -> int:
    """R@5 + R@10 of the tuning half for each weighting, best first; nothing else is looked at.

    LongMemEval's sessions are nearly all one turn and have no speakers, so it cannot tell a turn from its neighbours: both
    carry the same weight, and the speaker carries one unit.
    """
    turns = Turns()
    asked = [one for one in longmemeval(data, turns) if "tune" in one.groups]
    vectors = ScanVectors(embedder.dim)
    fill(turns, embedder, vectors)
    table = []
    for words in (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0):
        for period in (0.0, 1.0, 2.0, 3.0):
            weights = (1.0, 1.0, words, words, 1.0, period)
            row = measure(Recall(turns, embedder, vectors, weights=weights), asked, by_session=True)[0]["tune"]
            table.append((row["R@5"] + row["R@10"], row["R@5"], row["R@10"], weights))
    for _, five, ten, weights in sorted(table, reverse=True):
        print(f"R@5 {five:.3f}  R@10 {ten:.3f}  {dict(zip(SIGNALS, weights, strict=True))}")
    return 0


def show(name: str, run: str, groups: dict[str, dict[str, float]], p50: float, p95: float, *, full: bool) -> None:
    for group, row in groups.items():
        if full or group == "all":
            figures = "  ".join(f"{key} {value:.3f}" for key, value in row.items() if key != "n")
            print(f"{name:12} {run:28} {group:26} n {row['n']:4.0f}  {figures}")
    if full:
        print(f"{name:12} {'one search, embedding included':55} p50 {p50:.1f} ms  p95 {p95:.1f} ms")


if __name__ == "__main__":
    sys.exit(main())
