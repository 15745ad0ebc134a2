"""One search, query embedding included, over many turns of one scope, in the store and the shard that a memory uses.

    python benchmarks/eval_latency.py [--turns 10000] [--questions 200]

Turns and questions are made of a fixed vocabulary by a fixed seed, every question asked once (no answer comes from a cache).
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from eval_recall import Turns

from mnemolog.adapters.embedders.use import UseEmbedder
from mnemolog.adapters.vectors.edge import EdgeVectors
from mnemolog.query.rank import TURN
from mnemolog.query.recall import Recall
from mnemolog.schemas.times import add_seconds

SCOPE = "bench/user:1"
START = "2024-01-01T00:00:00.000000Z"


def vocabulary(generator: random.Random) -> list[str]:
    """5,000 made-up words; their frequencies will follow Zipf's law."""
    return ["".join(generator.choice("bdfgklmnprstvz") + generator.choice("aeiou") for _ in range(3)) for _ in range(5000)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=200)
    args = parser.parse_args()
    generator = random.Random(1)
    words = vocabulary(generator)
    weights = [1 / (rank + 1) for rank in range(len(words))]

    def text(length: int) -> str:
        return " ".join(generator.choices(words, weights, k=length))

    turns, embedder = Turns(), UseEmbedder()
    for at in range(args.turns):
        speaker = ("Anna", "Ben")[at % 2]
        content = text(generator.randint(5, 30))
        turns.add(SCOPE, f"t{at}", f"s{at // 20}", "user", speaker, content, add_seconds(START, 600 * at))
    with tempfile.TemporaryDirectory() as folder:
        vectors = EdgeVectors(Path(folder) / "vectors", embedder.dim, embedder.name)
        # The time of a search does not depend on what the vectors mean: random ones are enough, and embedding takes minutes.
        made = np.random.default_rng(1).standard_normal((args.turns, embedder.dim)).astype(np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        vectors.upsert(SCOPE, TURN, [(str(at), at, vector) for at, vector in enumerate(made)])
        vectors.flush(args.turns)
        del made
        recall = Recall(turns, embedder, vectors)
        start = time.perf_counter()
        recall.search([SCOPE], "warm up")
        first = time.perf_counter() - start
        seconds: dict[str, list[float]] = {"embed": [], "search": [], "context": []}
        for at in range(args.questions):
            question = f"What did Anna say about {text(8)}?"
            start = time.perf_counter()
            embedder.embed([question + "?"])
            seconds["embed"].append(time.perf_counter() - start)
            start = time.perf_counter()
            recall.search([SCOPE], question)
            seconds["search"].append(time.perf_counter() - start)
            if at % 4 == 0:
                start = time.perf_counter()
                recall.context([SCOPE], question + " Now.")
                seconds["context"].append(time.perf_counter() - start)
        vectors.close()
    print(f"{args.turns:,} turns; the first search (loads the model, indexes the scope) {first:.2f} s")
    for name, taken in seconds.items():
        p50, p95, p99 = (float(np.percentile(taken, p)) * 1000 for p in (50, 95, 99))
        print(f"{name:8} p50 {p50:6.2f} ms  p95 {p95:6.2f} ms  p99 {p99:6.2f} ms  n {len(taken)}")
    print(f"resident memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
