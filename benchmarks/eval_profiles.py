"""Which profile should be the default: evidence recall under each of them, and without folding what says the same.

    python benchmarks/eval_profiles.py --data DIR [--set locomo|longmemeval] [--json]

The data and the measure are those of `eval_recall.py`: turns alone, no Forms. A profile that orders by more than relevance can
only lose here what its other signals push down; the default must lose nothing. Choose by LongMemEval's tuning half; the rest is
reported.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from eval_recall import KS, Asked, Turns, fill, locomo, longmemeval

from mnemolog.adapters.embedders.use import UseEmbedder
from mnemolog.adapters.vectors.scan import ScanVectors
from mnemolog.query.profiles import PROFILES, Profile
from mnemolog.query.recall import Recall

HALVES = tuple(
    Profile(name=f"relevance and {share:.0%} {signal}", semantic=1 - share, **{signal: share})
    for signal in ("recency", "type_match", "confidence")
    for share in (0.1, 0.3)
)


def measure(recall: Recall, asked: Sequence[Asked], profile: Profile, *, by_session: bool) -> dict[str, dict[str, float]]:
    """Group to R@k and count."""
    found: dict[str, list[list[float]]] = defaultdict(list)
    for one in asked:
        limit = max(KS) * (3 if by_session else 1)
        hits = recall.search(
            [one.scope], one.text, limit=limit, now=one.now, kinds=("turn",), profile=profile, time_budget=60.0
        )
        if hits.missing:
            raise SystemExit(f"not measured: {hits.missing}")
        ids = [hit.event_ids[0] for hit in hits]
        ranked = list(dict.fromkeys(one_id.partition(":")[0] for one_id in ids)) if by_session else ids
        shares = [len(one.evidence & set(ranked[:k])) / len(one.evidence) for k in KS]
        for group in one.groups:
            found[group].append(shares)
    return {
        group: {"n": len(shares), **{f"R@{k}": float(np.mean([row[at] for row in shares])) for at, k in enumerate(KS)}}
        for group, shares in sorted(found.items())
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--set", choices=("locomo", "longmemeval"), dest="sets", action="append")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    embedder = UseEmbedder()
    result: dict[str, Any] = {}
    for name in args.sets or ["longmemeval", "locomo"]:
        turns = Turns()
        asked = (locomo if name == "locomo" else longmemeval)(args.data, turns)
        vectors = ScanVectors(embedder.dim)
        fill(turns, embedder, vectors)
        recall = Recall(turns, embedder, vectors)
        for profile in (*PROFILES.values(), *HALVES):
            groups = measure(recall, asked, profile, by_session=name == "longmemeval")
            result.setdefault(name, {})[profile.name] = groups
            if not args.json:
                for group in ("all", "tune", "held out"):
                    if group in groups:
                        row = groups[group]
                        figures = "  ".join(f"{key} {value:.3f}" for key, value in row.items() if key != "n")
                        print(f"{name:12} {profile.name:32} {group:9} n {row['n']:4.0f}  {figures}", flush=True)
    if args.json:
        print(json.dumps(result, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
