"""What it costs to seal a log and to check it, beside a bare read of the same records in the same run, in turns.

    python benchmarks/sealing.py [--records N] [--rounds N] [--out FILE]

Prints CPU seconds, records and MB a second of CPU, what seals take on disk and in a file, and the peak of the process's memory.
The records are those that a few hundred turns leave on dynamics, observations and changes, over and over with ids of their own.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from turns import made_turns

from mnemolog import Memory
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.adapters.logs.tables import TOPIC_TABLES
from mnemolog.projections.store import Store
from mnemolog.replay.seal_chain import Sealed
from mnemolog.replay.seal_check import check_log
from mnemolog.replay.seal_file import read_seals, write_seals
from mnemolog.replay.seal_make import places_of, seal_log
from mnemolog.replay.seal_store import SealStore
from mnemolog.schemas.events import CHANGES, DYNAMICS, OBSERVATIONS

TOPICS = (DYNAMICS, OBSERVATIONS, CHANGES)
TURNS = 300
NOW = "2026-01-01T00:00:00.000000Z"


def measure(records: int, rounds: int, folder: Path) -> dict[str, Any]:
    """CPU seconds of each part, the least of some rounds, and sizes."""
    path = filled(folder, records)
    log, store = SqliteLog(path), Store(path)
    size = count = 0
    best: dict[str, float] = {}

    def note(name: str, work: Callable[[], object]) -> None:
        began = time.process_time()
        work()
        best[name] = min(best.get(name, float("inf")), time.process_time() - began)

    def read() -> None:
        nonlocal size, count
        size = count = 0
        for topic in TOPICS:
            for record in log.read(topic):
                size += len(record.value)
                count += 1

    with SealStore.beside(log, store) as seals:

        def seal() -> None:
            assert sum(item.sealed for item in seal_log(log, seals, 0, lambda: NOW)) == count

        def check(file: Path | None = None) -> None:
            found = check_log(log, seals, 0, None if file is None else read_seals(file))
            assert found.intact
            assert found.checked == count

        def rows() -> Iterator[Sealed]:
            for place in places_of(log, 0):
                yield from (item for _, item in seals.read(place) if isinstance(item, Sealed))

        for _ in range(rounds):
            forget(path)
            note("read", read)
            note("seal", seal)
            note("seal again", lambda: seal_log(log, seals, 0, lambda: NOW))
            note("check", check)
        sizes = {}
        for name, brief in (("file", False), ("brief file", True)):
            target = folder / name
            note(f"export {name}", lambda target=target, brief=brief: write_seals(target, log.log_id, 1, rows(), brief=brief))
            note(f"check with {name}", lambda target=target: check(target))
            sizes[name] = target.stat().st_size
        sizes["tables"] = sum(len(item.marks) + len(item.scopes) + len(item.hash) + 600 for item in rows())
    store.close()
    log.close()
    return {
        "records": count,
        "megabytes": round(size / 1e6, 1),
        "cpu_seconds": {name: round(seconds, 3) for name, seconds in best.items()},
        "records_per_cpu_second": {name: round(count / seconds) for name, seconds in best.items() if seconds},
        "megabytes_per_cpu_second": {name: round(size / 1e6 / seconds, 1) for name, seconds in best.items() if seconds},
        "bytes_a_record": {name: round(number / count, 2) for name, number in sizes.items()},
        "peak_megabytes": peak(),
    }


def filled(folder: Path, records: int) -> Path:
    """A file with so many records, a third on each topic."""
    with Memory(folder / "told", embedder=False) as memory:
        for turn in made_turns(TURNS, subjects=20):
            memory.add(turn.content, subject=turn.subject, occurred_at=turn.occurred_at)
        memory.process()
        told = memory._home.parts()[0].log
        kept = {topic: list(told.read(topic)) for topic in TOPICS}
    path = folder / "memory.db"
    SqliteLog(path).close()
    connection = sqlite3.connect(path)
    for number, topic in enumerate(TOPICS):
        wanted = (records + len(TOPICS) - 1 - number) // len(TOPICS)

        def rows(topic: str = topic, wanted: int = wanted) -> Iterator[tuple[int, str, str, bytes]]:
            for offset in range(wanted):
                record = kept[topic][offset % len(kept[topic])]
                value = record.value.replace(b'"id":"', b'"id":"%d-' % offset, 1)
                yield offset, record.scope, record.recorded, value

        with connection:
            connection.executemany(TOPIC_TABLES[topic].insert, rows())
    connection.close()
    return path


def forget(path: Path) -> None:
    """Seals nothing of it yet."""
    connection = sqlite3.connect(path, timeout=60)
    with connection:
        for name in ("log_seals", "log_seal_ends"):
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone():
                connection.execute(f"DELETE FROM {name}")  # noqa: S608 - a name of ours
    connection.close()


def peak() -> float:
    """The most memory that this process had, in MB; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0.0
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(used / (1e6 if sys.platform == "darwin" else 1e3), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as folder:
        result = measure(args.records, args.rounds, Path(folder))
    print(f"{result['records']:,} records, {result['megabytes']:,} MB, peak {result['peak_megabytes']} MB")
    for name, seconds in result["cpu_seconds"].items():
        speed = result["records_per_cpu_second"].get(name, 0)
        print(
            f"{name:<24} {seconds:9.3f} CPU s {speed:>12,} records/s {result['megabytes_per_cpu_second'].get(name, 0):>9,} MB/s"
        )
    print("bytes a record:", ", ".join(f"{name} {number}" for name, number in result["bytes_a_record"].items()))
    if args.out is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
