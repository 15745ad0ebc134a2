"""Rolls real dialogues back to several of their turns and compares what the memory then believes with what it believed there.

    python benchmarks/rollback.py --data DIR [--set locomo ...] [--dialogues N] [--points N] [--servers] [--json]

DIR holds `locomo/turns.jsonl` and `<set>/dev.jsonl`, as for equal_digests.py. Each dialogue is told in parts; after each part
what stands is noted: Forms with names, values, confidence, authority and evidence, open questions, relations. Then it is rolled
back to the end of each part, in an order that also goes forward again, and what stands is compared. At last everything is
verified and decided again. A value that was scheduled and is due by now counts as due. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from equal_digests import locomo
from load_dialogues import events

from mnemolog import Memory
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.views import FormView
from mnemolog.settings import Servers

SETS = ("locomo", "multiwoz", "crosswoz")
BATCH = 200


def dialogues(data: Path, name: str) -> Iterator[list[Envelope]]:
    """The turns of one dialogue after the other."""
    if name != "locomo":
        yield from events(data / name / "dev.jsonl")
        return
    found: dict[str, list[Envelope]] = {}
    for event in locomo(data / name / "turns.jsonl"):
        found.setdefault(event.subject, []).append(event)
    yield from found.values()


def stands(memory: Memory, subject: str) -> dict[str, Any]:
    """What a memory believes, without versions, positions and links."""
    forms = memory.forms(subject=subject)
    values = {key: value for form in forms for key, value in _values(form).items()}
    return {
        "forms": {form.form_id: form.name for form in forms},
        "values": values,
        "waits": {key: value for form in forms for key, value in _values(form, scheduled=True).items()},
        "pending": {
            item.pending_id: msgspec.to_builtins(
                [item.slot, item.value, item.question, item.why, item.confidence, item.evidence]
            )
            for item in memory.pending(subject=subject)
        },
        "edges": sorted((edge.from_form, edge.to_form, edge.relation) for edge in memory.edges(subject=subject)),
    }


def _values(form: FormView, *, scheduled: bool = False) -> dict[str, Any]:
    found = {}
    for slot in form.slots:
        if (slot.status == "scheduled") != scheduled:
            continue
        told = msgspec.to_builtins([slot.value, slot.confidence, slot.authority, slot.evidence, slot.count])
        key = [form.form_id, slot.slot, slot.element, *([slot.valid_from] if scheduled else [])]
        found[json.dumps(key)] = told
    return found


def due(stood: dict[str, Any], now: str) -> dict[str, Any]:
    """What stands once what was scheduled by `now` has come true."""
    values, waits = dict(stood["values"]), dict(stood["waits"])
    for key in sorted(waits, key=lambda key: json.loads(key)[3]):
        form_id, slot, element, when = json.loads(key)
        if when <= now:
            values[json.dumps([form_id, slot, element])] = waits.pop(key)
    return {**stood, "values": values, "waits": waits}


class Counts(msgspec.Struct):
    """Of one set."""

    set: str
    dialogues: int = 0
    turns: int = 0
    rollbacks: int = 0
    changed: int = 0
    """Rollbacks that found something to put back."""
    values: int = 0
    """Values, Forms, questions and relations compared."""
    equal: int = 0
    differing: list[str] = []
    verified: bool = False
    drift: int = 0
    seconds: float = 0.0


def run(memory: Memory, data: Path, name: str, limit: int | None, points: int) -> Counts:
    """One set, a dialogue after the other."""
    counts = Counts(set=name, differing=[])
    began = time.perf_counter()
    for turns in islice(dialogues(data, name), limit):
        if turns:
            _one(memory, turns, points, counts)
    report = memory.verify(decide=True)
    counts.verified, counts.drift = report.equal, len(report.drift)
    counts.seconds = round(time.perf_counter() - began, 1)
    return counts


def _one(memory: Memory, turns: Sequence[Envelope], points: int, counts: Counts) -> None:
    subject = turns[0].subject
    ends = sorted({max(len(turns) * (number + 1) // points - 1, 0) for number in range(points)})
    stood: dict[int, dict[str, Any]] = {}
    start = 0
    for end in ends:
        for part in range(start, end + 1, BATCH):
            memory.add_events(turns[part : min(part + BATCH, end + 1)])
        start = end + 1
        stood[end] = stands(memory, subject)
    counts.dialogues += 1
    counts.turns += len(turns)
    backwards = ends[::-1][1:]
    for end in (*backwards, *ends[1:], ends[0]):
        report = memory.rollback(_token(memory, turns[end]), subject=subject, reason="compared", actor="operator")
        counts.rollbacks += 1
        counts.changed += report.outcome == "changed"
        found, wanted = stands(memory, subject), due(stood[end], memory._home.now())
        counts.values += sum(len(part) for part in wanted.values())
        if found == wanted:
            counts.equal += 1
        else:
            parts = [part for part in found if found[part] != wanted[part]]
            counts.differing.append(f"{subject} after turn {end} ({turns[end].id}): {', '.join(parts)}")


def _token(memory: Memory, event: Envelope) -> str:
    """The position of an input: sources other than the default one are looked up by it."""
    part = memory._home.part_of(event.scope)
    position = part.log.position_of(event.scope, event.source, event.id)
    return f"{part.log.log_id}@{position}"


@contextmanager
def opened(on_servers: bool) -> Iterator[Memory]:
    """A memory in a new folder, or on the servers that the environment names, with a worker in a process of its own."""
    with ExitStack() as stack:
        if not on_servers:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mnemolog-rollback-"))
            yield stack.enter_context(Memory(Path(folder) / "home", tenant="bench", embedder=False))
            return
        given = Servers.from_environment()
        if given is None:
            sys.exit('name the servers: MNEMOLOG_KAFKA and MNEMOLOG_DATABASE (eval "$(make -s services)")')
        servers = msgspec.structs.replace(given, prefix=f"r{secrets.token_hex(4)}_")
        command = [sys.executable, "-m", "mnemolog", "worker", "all", "--no-vectors"]
        worker = subprocess.Popen(command, env={**os.environ, "MNEMOLOG_PREFIX": servers.prefix}, stderr=subprocess.DEVNULL)
        try:
            yield stack.enter_context(Memory(servers=servers, tenant="bench", embedder=False))
        finally:
            worker.terminate()
            worker.wait()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", action="append", choices=SETS, dest="sets")
    parser.add_argument("--dialogues", type=int, help="of each set at most so many")
    parser.add_argument("--points", type=int, default=4, help="parts of a dialogue (default: 4)")
    parser.add_argument("--servers", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    found: list[Counts] = []
    for name in args.sets or SETS:
        with opened(args.servers) as memory:
            counts = run(memory, args.data, name, args.dialogues, args.points)
        found.append(counts)
        if not args.json:
            print(
                f"{name}: {counts.dialogues} dialogues, {counts.turns} turns; {counts.equal} of {counts.rollbacks} rollbacks "
                f"equal ({counts.changed} changed something, {counts.values} things compared); "
                f"verify {'equal' if counts.verified else 'DIFFERS'}, drift {counts.drift}; {counts.seconds} s",
                *counts.differing[:10],
                sep="\n  ",
                flush=True,
            )
    if args.json:
        print(json.dumps(msgspec.to_builtins(found)))
    good = all(item.equal == item.rollbacks and item.verified and not item.drift for item in found)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
