"""Measures mnemolog on servers (Kafka, PostgreSQL) beside its floors and prints a table; with --out also JSON.

    python benchmarks/on_servers.py [--out FILE] [--only PART ...] [--quick] [--kafka HOST:PORT --database URL]

Parts: latency, throughput, rebuild, growth. Without servers named it starts its own in a throwaway folder, and ends them.
Figures and floors are taken in turns within one run, so that a busy machine slows both; how busy it was is said beside them.
Nothing here passes or fails: the last column only says whether a target was met.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from bench import Row, shown
from growth import bench_growth
from latency import WAYS, bench_latency
from reading import bench_rebuild
from serving import servers_of
from throughput import bench_throughput

from mnemolog import __version__

PARTS = ("latency", "throughput", "rebuild", "growth")

Part = Callable[[str, str, bool], Iterable[Row]]


def parts(changes: int) -> dict[str, Part]:
    """What each part measures; quick: as little as shows that it works."""
    return {
        "latency": lambda kafka, database, quick: bench_latency(
            kafka,
            database,
            rate=100,
            seconds=1 if quick else 20,
            slices=1 if quick else 4,
            ways=list(WAYS)[:1] if quick else list(WAYS),
        ),
        "throughput": lambda kafka, database, quick: bench_throughput(kafka, database, turns=1_500 if quick else 8_000),
        "rebuild": lambda kafka, database, quick: bench_rebuild(
            kafka, database, turns=200 if quick else 20_000, rounds=1 if quick else 5
        ),
        "growth": lambda kafka, database, quick: bench_growth(
            kafka, database, turns=1_500 if quick else 8_000, changes=1_000 if quick else changes
        ),
    }


def load() -> list[float]:
    """The machine's load averages over 1, 5 and 15 minutes; empty where it does not say."""
    return [round(number, 1) for number in os.getloadavg()] if hasattr(os, "getloadavg") else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures as JSON here")
    parser.add_argument("--only", action="append", choices=PARTS, help="measure this part alone (may be repeated)")
    parser.add_argument("--quick", action="store_true", help="as little of everything as shows that it works")
    parser.add_argument("--changes", type=int, default=1_000_000, help="decisions on the largest log (default: a million)")
    parser.add_argument("--kafka", default=os.environ.get("MNEMOLOG_KAFKA"), help="bootstrap servers that run already")
    parser.add_argument("--database", default=os.environ.get("MNEMOLOG_DATABASE"), help="a PostgreSQL that runs already")
    args = parser.parse_args()
    # Told to end, it ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    rows: list[dict[str, object]] = []
    print(f"mnemolog {__version__}, Python {platform.python_version()}, {platform.platform()}, {os.cpu_count()} cores")
    print(f"{'':<42}{'measured':>12} {'':<9}{'floor':>12} {'target':>13}")
    with servers_of(args.kafka, args.database) as (kafka, database):
        for name, part in parts(args.changes).items():
            if args.only and name not in args.only:
                continue
            before, started = load(), time.perf_counter()
            for row in part(kafka, database, args.quick):
                print(shown(row), flush=True)
                rows.append(row._asdict() | {"met": row.met, "part": name, "load_before": before, "load_after": load()})
            print(f"  {name}: {time.perf_counter() - started:.0f} s, load average before {before}, after {load()}", flush=True)
    if args.out is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        machine = {"python": platform.python_version(), "platform": platform.platform(), "cores": os.cpu_count()}
        args.out.write_text(
            json.dumps({"mnemolog": __version__, "machine": machine, "results": rows}, indent=2) + "\n", "utf-8"
        )
        print(f"wrote {args.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
