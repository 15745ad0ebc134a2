"""Measures a rebuild of many change events (slots of Forms, their versions, the timeline) in a folder, and what it does to
whoever asks meanwhile; prints a table, with --out also JSON.

    python benchmarks/rebuild.py [--changes N] [--out FILE] [--home DIR]

The rebuild runs in a process of its own, so that its memory is its own; the bare reader (every record read and decoded) and
questions while nothing is rebuilt are measured in the same run. Nothing here passes or fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from bench import Row, fold, percentile, shown, timed
from floors import bare_decode

from mnemolog import Memory, __version__
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.projections.projector import Projector
from mnemolog.projections.reader import decided_inputs
from mnemolog.projections.store import Store
from mnemolog.replay.fold import BATCH
from mnemolog.replay.rebuild import Step, rebuild
from mnemolog.replay.states import StateFolder
from mnemolog.schemas import changes as ch
from mnemolog.schemas.codec import derived_id, sha256_hex
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import make
from mnemolog.schemas.inputs import Turn
from mnemolog.schemas.observations import Evidence, Observation
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import add_seconds
from mnemolog.schemas.values import Value

EACH = 4
"""Change events of one decision: two slots change, and two entries of the timeline tell it."""
IN_SCOPE = 1_000
"""Change events of one scope."""
SLOTS = ("home", "employer", "diet", "hobby", "pet", "car", "phone", "team")
NAMES = [
    f"{first}{last}"
    for first in ("Al", "Be", "Cor", "Dun", "El", "Far", "Gil")
    for last in ("den", "ford", "mar", "sto", "wick")
]
"""One after the other in a scope, so that each says something new."""
START = "2026-01-05T09:00:00.000000Z"


def main() -> int:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--changes", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--out", metavar="FILE")
    parser.add_argument("--home", metavar="DIR", help="where the memory is made, and stays (default: a temporary folder)")
    parser.add_argument("--child", metavar="DIR", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(child(Path(args.child))))
        return 0
    before = load()
    if args.home:
        rows = bench_rebuilding(Path(args.home), args.changes)
    else:
        with tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as folder:
            rows = bench_rebuilding(Path(folder) / "home", args.changes)
    print(f"mnemolog {__version__}, {args.changes:,} change events, load before {before} after {load()}")
    for row in rows:
        print(shown(row))
    if args.out:
        Path(args.out).parent.mkdir(parents=True, exist_ok=True)
        results = [{**row._asdict(), "met": row.met} for row in rows]
        written = {"version": __version__, "changes": args.changes, "load": [before, load()], "results": results}
        Path(args.out).write_text(json.dumps(written, indent=2), "utf-8")
    return 0


def load() -> list[float]:
    """The machine's load averages over 1, 5 and 15 minutes; empty where it does not say."""
    return [round(number, 1) for number in os.getloadavg()] if hasattr(os, "getloadavg") else []


def bench_rebuilding(home: Path, changes: int) -> list[Row]:
    """Events a second of a rebuild and its parts, its memory, its switch, and the questions beside it."""
    inputs = max(changes // EACH, 1)
    scopes = max(inputs * EACH // IN_SCOPE, 1)
    with Memory(home, embedder=False) as memory:
        make_log(memory._home.parts()[0].log, inputs, scopes)
    database = home / "memory.db"
    with closing(SqliteLog(database)) as log, Store(database, log_id=log.log_id) as store:
        projected = timed(lambda: project(log, store))
        pairs = [(cpu(lambda: bare_decode(log)), cpu(lambda: fold(log))) for _ in range(3)]
        bare, folded = (min(times) for times in zip(*pairs, strict=True))
    with Memory(home, embedder=False) as memory:
        users = [f"{number}" for number in range(scopes)]
        idle = asked(memory, users, calls=max(min(inputs // 100, 400), 20))
        done, busy = beside(home, memory, users)
    events = done["inputs"] * EACH
    what = f"{events:,} change events in {done['inputs']:,} decisions, {scopes:,} scopes"
    rows = [
        Row("bare reader, every record decoded", events / bare, "changes/cpu s", note=what),
        Row("read and fold", events / folded, "changes/cpu s", events / bare, events / bare / 4, "higher"),
        Row("read and fold as a share of the bare reader", bare / folded, "", None, 0.25, "higher"),
        Row("rebuild, rows written, digests compared", events / done["cpu"], "changes/cpu s", events / bare),
        Row("the same by the clock", events / done["seconds"], "changes/s"),
        Row("first projection, rows written", events / projected, "changes/s"),
        Row("switch, writers wait", done["switch_seconds"] * 1e3, "ms", None, 100),
    ]
    if done["peak"]:
        rows.append(Row("peak resident memory of the rebuild", done["peak"], "MB", None, 500))
        rows.append(Row("its growth over the second half of the fold", max(done["half"], 0.0), "MB", None, 50))
    p95 = percentile(idle, 0.95) * 1e3
    rows.append(Row("question, idle, p95", p95, "ms", note=f"{len(idle)} questions"))
    if busy:
        rows.append(
            Row("question during the rebuild, p95", percentile(busy, 0.95) * 1e3, "ms", p95, 2 * p95, note=f"{len(busy)}")
        )
    return rows


def child(home: Path) -> dict[str, Any]:
    """The rebuild, in a process of its own; megabytes."""
    database = home / "memory.db"
    half: list[float] = []

    def watch(step: Step) -> None:
        if not half and step.phase == "fold" and step.fraction >= 0.5:
            half.append(peak())
        if step.phase == "check":
            half.append(peak())

    with closing(SqliteLog(database)) as log, Store(database, log_id=log.log_id) as store:
        report = rebuild(log, store, watch=watch, keep=0)
    assert not report.differing_scopes, report.differing_scopes
    grown = half[-1] - half[0] if len(half) > 1 else 0.0
    return {
        "inputs": report.inputs,
        "seconds": report.seconds,
        "cpu": time.process_time(),
        "switch_seconds": report.switch_seconds,
        "peak": peak(),
        "half": grown,
    }


def cpu(work: Callable[[], object]) -> float:
    """Seconds of this process's own time: what others do on the machine counts for little."""
    began = time.process_time()
    work()
    return time.process_time() - began


def peak() -> float:
    """Of this process so far, in megabytes; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0.0
    import resource

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 1e6 if sys.platform == "darwin" else size * 1024 / 1e6


def beside(home: Path, memory: Memory, users: Sequence[str]) -> tuple[dict[str, Any], list[float]]:
    """The rebuild's own figures, and the seconds of each question that was asked while it ran."""
    found: list[dict[str, Any]] = []

    def run() -> None:
        command = [sys.executable, __file__, "--child", str(home)]
        ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found.append(json.loads(ended.stdout))

    thread = threading.Thread(target=run)
    thread.start()
    seconds: list[float] = []
    questions = random.Random(8)
    while thread.is_alive():
        seconds += asked(memory, users, calls=1, chosen=questions)
        time.sleep(0.01)  # as agents do: not the one question after the other
    thread.join()
    return found[0], seconds


def asked(memory: Memory, users: Sequence[str], *, calls: int, chosen: random.Random | None = None) -> list[float]:
    """Seconds of each question."""
    chosen = chosen or random.Random(7)
    seconds: list[float] = []
    for _ in range(calls):
        user = chosen.choice(users)
        question = f"What is the {chosen.choice(SLOTS)}?"
        began = time.perf_counter()
        memory.search(question, user_id=user, limit=5)
        seconds.append(time.perf_counter() - began)
    return seconds


# -- the log ---------------------------------------------------------------------------------------------------------------


def make_log(log: Any, inputs: int, scopes: int) -> None:
    """Turns with their observations and decisions, linked as the resolver links them."""
    made = _records(inputs, scopes)
    while batch := list(islice(made, 2_000)):
        log.append_inputs([record[0] for record in batch])
        log.append_processed([record[1] for record in batch], [record[2] for record in batch])


def _records(inputs: int, scopes: int) -> Iterator[tuple[Envelope, Envelope, Envelope]]:
    heads: dict[int, str] = {}
    versions: dict[tuple[int, str], int] = {}
    for offset in range(inputs):
        number = offset % scopes
        scope, when = Scope("default", f"user:{number}"), add_seconds(START, offset * 20)
        first, second = SLOTS[offset // scopes % len(SLOTS)], SLOTS[(offset // scopes + 3) % len(SLOTS)]
        name = NAMES[offset // scopes % len(NAMES)]
        words = f"My {first} is {name} now and the {second} is {name}."
        turn = make(
            Turn(content=words, occurred_at=when, session=f"s{offset // 50}"), scope=scope, event_id=f"e{offset}", time=when
        )
        changes: list[ch.Change] = []
        if number not in heads:
            changes.append(ch.FormCreated(form_id="me", form_type="person", key="self", name="I"))
        for slot in (first, second):
            version = versions[number, slot] = versions.get((number, slot), 0) + 1
            value = Value("text", name)
            quote = Evidence(turn.id, words, 0, len(words))
            changes.append(
                ch.SlotChanged(
                    form_id="me",
                    form_type="person",
                    slot=slot,
                    version=version,
                    value=value,
                    status="confirmed",
                    reason="new" if version == 1 else "newer",
                    confidence=0.9,
                    authority="user",
                    valid_from=when,
                    supersedes=None if version == 1 else version - 1,
                    evidence=[quote],
                )
            )
            changes.append(
                ch.EpisodeSeen(
                    episode_id=f"{offset}-{slot}",
                    episode="decision",
                    actor="user",
                    action="change",
                    object=f"{slot} to {name}",
                    occurred_at=when,
                    form_id="me",
                    slot=slot,
                    evidence=[quote],
                )
            )
        ids = (scope.tenant, scope.subject, turn.source, turn.id)
        place = f"0:0:{offset}"
        observed = Observation(input_id=turn.id, input_type=turn.type, extractor="bench/1")
        observation = make(
            observed, scope=scope, event_id=derived_id(*ids, "observe", 0), time=when, position=place, causation=turn.id
        )
        decision = make(
            ch.Decision(
                input_id=turn.id,
                input_source=turn.source,
                input_type=turn.type,
                prev=heads.get(number, ""),
                outcome="changed",
                changes=changes,
                session=f"s{offset // 50}",
                role="user",
                policy="bench/1",
            ),
            scope=scope,
            event_id=derived_id(*ids, "decide", 0),
            time=when,
            position=place,
            causation=turn.id,
        )
        yield turn, observation, decision
        heads[number] = sha256_hex(decision.to_bytes())


def project(log: SqliteLog, store: Store) -> None:
    """What the engine does when it catches up: rows and states."""
    projector, states = Projector(store), StateFolder(store)
    items = decided_inputs(log, 0)
    while batch := list(islice(items, BATCH)):
        projector.apply(
            batch,
            states=states.fold(batch),
            next_changes=batch[-1].changes_offset + 1,
            applied_input=batch[-1].offset + 1,
        )


if __name__ == "__main__":
    sys.exit(main())
