"""Measures mnemolog beside its floors and prints a table; with --out also JSON. `make bench` runs it.

    python benchmarks/bench.py [--out FILE] [--only PART ...] [--turns N]

Parts: add, replay, recall, scaling, memory. Figures and floors are taken in turns within one run, so that a busy machine slows
both. Nothing here passes or fails: the last column only says whether a target was met.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from floors import BareAppend, bare_decode
from recalling import rounds
from turns import MadeTurn, made_turns

from mnemolog import Memory, __version__
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.processors.core.evolve import apply
from mnemolog.processors.core.ports import EventLog
from mnemolog.processors.core.state import ScopeState
from mnemolog.producers.turns import turn_event
from mnemolog.projections.reader import decided_inputs
from mnemolog.schemas.envelope import Envelope, Position
from mnemolog.schemas.events import DYNAMICS
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import to_text

PARTS = ("add", "replay", "recall", "scaling", "memory")
DATABASE = "memory.db"
WARM = 50
"""Calls before those that count."""


class Row(NamedTuple):
    """One figure. `floor` is what the same work costs at the least; `target` is a limit on `value` (see `better`)."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    target: float | None = None
    better: str = "lower"
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value <= self.target if self.better == "lower" else self.value >= self.target


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample below which `share` (0..1) of all lie."""
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * share))]


def timed(work: Callable[[], Any]) -> float:
    """Seconds that `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def event_of(turn: MadeTurn, index: int) -> Envelope:
    when = to_text(turn.occurred_at)
    return turn_event(
        Scope("default", turn.subject),
        turn.content,
        now=when,
        role=turn.role,
        session=turn.session,
        occurred_at=turn.occurred_at,
        event_id=f"made-{index}",
    )


def load(memory: Memory, count: int, *, subjects: int = 1) -> None:
    """Adds made turns in batches, processes and indexes them: on return everything can be found by every route."""
    events = [event_of(turn, index) for index, turn in enumerate(made_turns(count, subjects=subjects))]
    for start in range(0, count, 500):
        memory.add_events(events[start : start + 500])
    memory._home.catch_up(None, index=True)  # a user need not wait for the vectors; a fair comparison has to


def bench_add(folder: Path, count: int) -> list[Row]:
    """One turn a call, durable on return, with the background processor at work as in use; pairs with the bare append."""
    turns = list(made_turns(count + WARM, subjects=5))
    ours: list[float] = []
    bare: list[float] = []
    floor = BareAppend(folder / "bare.db")
    with Memory(folder / "add") as memory:
        for index, turn in enumerate(turns):
            value = event_of(turn, index).to_bytes()

            def add(turn: MadeTurn = turn) -> None:
                memory.add(
                    turn.content,
                    subject=turn.subject,
                    session=turn.session,
                    role=turn.role,
                    occurred_at=turn.occurred_at,
                )

            def append(value: bytes = value) -> None:
                floor.append(value)

            first = index % 2 == 0
            measured = [(timed(add), timed(append))] if first else [(timed(append), timed(add))[::-1]]
            if index >= WARM:
                ours.append(measured[0][0] * 1e3)
                bare.append(measured[0][1] * 1e3)
    floor.close()
    return [
        Row(
            "add, durable, p50", statistics.median(ours), "ms", statistics.median(bare), 1.0, note="floor: SQLite append, fsync"
        ),
        Row("add, durable, p99", percentile(ours, 0.99), "ms", percentile(bare, 0.99), 10.0),
    ]


def fold(log: EventLog) -> int:
    """Reads, decodes with checks, follows the chain of decisions and folds every scope's state; returns how many inputs."""
    states: dict[str, ScopeState] = {}
    count = 0
    for item in decided_inputs(log, 0):
        scope = item.input.scope
        name = str(scope)
        state = states.get(name)
        if state is None:
            state = states[name] = ScopeState(scope)
        position = Position.parse(item.decision_envelope.position or "")
        apply(state, item.decision, item.input, item.data, position, item.hash)
        count += 1
    return count


def bench_replay(folder: Path, count: int) -> list[Row]:
    path = folder / "replay"
    with Memory(path, embedder=False) as memory:
        load(memory, count, subjects=10)
        rebuilt = timed(memory.rebuild)
        verified = timed(memory.verify)
    log = SqliteLog(path / DATABASE)
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(5):
        ours.append(timed(lambda: fold(log)))
        bare.append(timed(lambda: bare_decode(log)))
    inputs = log.end(DYNAMICS)
    log.close()
    speed, floor = inputs / min(ours), inputs / min(bare)
    return [
        Row("replay, read and fold", speed, "inputs/s", floor, floor / 5, "higher", "floor: read the same records, orjson"),
        Row("replay as a share of its floor", speed / floor, "", None, 0.2, "higher", "aim: 0.33"),
        Row("rebuild, rows written, digests compared", inputs / rebuilt, "inputs/s"),
        Row("verify", inputs / verified, "inputs/s"),
    ]


def bench_recall(folder: Path, small: int, large: int, questions: int = 200) -> list[Row]:
    rows: list[Row] = []
    medians: list[float] = []
    for beside, size, taken in rounds(folder, small, large, questions):
        what = f"{size:,} memories {beside}"
        medians.append(taken.p50("search"))
        rows += [
            Row(f"search, {what}, p50", medians[-1], "ms", taken.p50("bare"), note="floor: embed, numpy dot"),
            Row(f"search, {what}, p95", taken.p95("search"), "ms", taken.p95("bare"), 20.0 if size <= small else 60.0),
            Row(f"context, {what}, p95", taken.p95("context"), "ms"),
        ]
    rows.append(Row(f"search, {small:,} beside others, by alone", medians[1] / medians[0], "x", 1.0, 1.25))
    return rows


def bench_scaling(folder: Path, count: int) -> list[Row]:
    def run(name: str, turns: int) -> float:
        with Memory(folder / name) as memory:
            return timed(lambda: load(memory, turns))

    run("warm", min(count, 100))
    small = min(run(f"small-{index}", count) for index in range(3))
    large = run("large", count * 10)
    return [
        Row(f"add, process, index {count:,} turns", count / small, "turns/s"),
        Row(f"add, process, index {count * 10:,} turns", count * 10 / large, "turns/s"),
        Row("time for ten times the turns", large / small, "x", 10.0, 11.0),
    ]


def resident() -> tuple[float, float]:
    """This process's resident memory now and at its peak, in MB; raises ImportError where the system cannot say."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    statm = Path("/proc/self/statm")
    now = int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6 if statm.exists() else peak
    return now, peak


def memory_part(folder: Path, count: int) -> dict[str, float]:
    """Runs in a process of its own: loads, asks, and says what it holds."""
    import mnemolog.memory  # noqa: F401

    empty, _ = resident()
    started = time.perf_counter()
    with Memory(folder / "memory") as memory:
        load(memory, count, subjects=20)
        loaded = time.perf_counter() - started
        for subject in range(20):
            memory.search("Where does the user live now?", subject=f"user:{subject}")
        now, peak = resident()
    size = sum(path.stat().st_size for path in (folder / "memory").rglob("*") if path.is_file()) / 1e6
    return {"empty": empty, "now": now, "peak": peak, "seconds": loaded, "disk": size}


def bench_memory(folder: Path, count: int) -> list[Row]:
    if sys.platform == "win32":
        return []
    run = subprocess.run(
        [sys.executable, __file__, "--memory-part", str(folder), "--turns", str(count)],
        capture_output=True,
        text=True,
        check=True,
    )
    held = json.loads(run.stdout)
    return [
        Row(f"resident memory, {count:,} turns", held["now"], "MB", held["empty"], 600.0, note="floor: imported, empty"),
        Row(f"resident memory, {count:,} turns, peak", held["peak"], "MB", held["empty"], 600.0),
        Row(f"disk, {count:,} turns", held["disk"], "MB"),
        Row(f"add, process, index {count:,} turns", count / held["seconds"], "turns/s"),
    ]


def shown(row: Row) -> str:
    floor = "" if row.floor is None else f"{row.floor:,.2f}"
    target = "" if row.target is None else f"{'<=' if row.better == 'lower' else '>='} {row.target:,.2f}"
    met = {None: "", True: "met", False: "MISSED"}[row.met]
    return f"{row.name:<56}{row.value:>12,.2f} {row.unit:<9}{floor:>12} {target:>13}  {met:<7}{row.note}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures as JSON here")
    parser.add_argument("--only", action="append", choices=PARTS, help="measure this part alone (may be repeated)")
    parser.add_argument("--turns", type=int, default=50_000, help="turns for the part `memory` (default: 50000)")
    parser.add_argument("--recall-turns", type=int, default=100_000, help="turns of the large scope for the part `recall`")
    parser.add_argument("--memory-part", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory_part is not None:
        print(json.dumps(memory_part(args.memory_part, args.turns)))
        return 0
    parts: dict[str, Callable[[Path], list[Row]]] = {
        "add": lambda folder: bench_add(folder, 2_000),
        "replay": lambda folder: bench_replay(folder, 5_000),
        "recall": lambda folder: bench_recall(folder, 10_000, args.recall_turns),
        "scaling": lambda folder: bench_scaling(folder, 500),
        "memory": lambda folder: bench_memory(folder, args.turns),
    }
    rows: list[Row] = []
    print(f"mnemolog {__version__}, Python {platform.python_version()}, {platform.platform()}, {os.cpu_count()} cores")
    print(f"{'':<56}{'measured':>12} {'':<9}{'floor':>12} {'target':>13}")
    for name in PARTS:
        if args.only and name not in args.only:
            continue
        with tempfile.TemporaryDirectory(prefix="mnemolog-bench-", ignore_cleanup_errors=True) as made:
            for row in parts[name](Path(made)):
                print(shown(row), flush=True)
                rows.append(row)
    if args.out is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        machine = {"python": platform.python_version(), "platform": platform.platform(), "cores": os.cpu_count()}
        results = [row._asdict() | {"met": row.met} for row in rows]
        args.out.write_text(
            json.dumps({"mnemolog": __version__, "machine": machine, "results": results}, indent=2) + "\n", "utf-8"
        )
        print(f"wrote {args.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
