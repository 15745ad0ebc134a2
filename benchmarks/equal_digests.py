"""The same turns on the three logs give equal digests: in memory, in a folder, and on Kafka with PostgreSQL.

    python benchmarks/equal_digests.py --data DIR [--set locomo ...] [--turns N]

DIR holds `locomo/turns.jsonl` (one turn a line: sample_id, dia_id, session, speaker, text, time) and `<set>/dev.jsonl` (as
for load_dialogues.py). Without --data only the demo's story is told. The servers are those that MNEMOLOG_KAFKA and
MNEMOLOG_DATABASE name (`make services`); everything of a run has a prefix of its own. Exit code 1 where digests differ.
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
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
from load_dialogues import SETS, events

from mnemolog import Memory
from mnemolog.demo import story
from mnemolog.producers.turns import turn_event
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.scope import Scope
from mnemolog.settings import Servers

BATCH = 200


def demo() -> list[Envelope]:
    """The demo's turns."""
    return [
        turn_event(
            Scope("bench", "user:demo"),
            said.content,
            now=said.occurred_at,
            role=said.role,
            session=said.session,
            occurred_at=said.occurred_at,
            event_id=f"demo-{number}",
        )
        for number, said in enumerate(story())
    ]


def locomo(path: Path) -> Iterator[Envelope]:
    """One turn a line."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            turn: dict[str, Any] = json.loads(line)
            yield turn_event(
                Scope("bench", f"locomo:{turn['sample_id']}"),
                turn["text"],
                now=turn["time"],
                speaker=turn["speaker"],
                session=f"{turn['sample_id']}:{turn['session']}",
                occurred_at=turn["time"],
                event_id=f"{turn['sample_id']}:{turn['dia_id']}",
            )


def told(memory: Memory, turns: Sequence[Envelope]) -> tuple[str, bool, float]:
    """(digest, whether a replay gives the same, seconds until everything is in)."""
    began = time.perf_counter()
    for start in range(0, len(turns), BATCH):
        memory.add_events(turns[start : start + BATCH])
    while memory.process():
        time.sleep(0.1)
    taken = time.perf_counter() - began
    report = memory.verify()
    return report.live_digest, report.equal, taken


def on_servers(turns: Sequence[Envelope]) -> tuple[str, bool, float]:
    """The same with a worker of all kinds in a process of its own."""
    given = Servers.from_environment()
    if given is None:
        sys.exit('name the servers: MNEMOLOG_KAFKA and MNEMOLOG_DATABASE (eval "$(make -s services)")')
    servers = msgspec.structs.replace(given, prefix=f"d{secrets.token_hex(4)}_")
    environment = {**os.environ, "MNEMOLOG_PREFIX": servers.prefix}
    command = [sys.executable, "-m", "mnemolog", "worker", "all", "--no-vectors"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as worker:
        try:
            with Memory(servers=servers, tenant="bench", embedder=False, read_timeout=600) as memory:
                return told(memory, turns)
        finally:
            worker.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with the sets")
    parser.add_argument("--set", action="append", choices=("locomo", *SETS), help="which (default: locomo multiwoz crosswoz)")
    parser.add_argument("--turns", type=int, help="so many of each set at most")
    options = parser.parse_args()
    sets: dict[str, Iterator[Envelope]] = {"demo": iter(demo())}
    for name in (options.set or ("locomo", "multiwoz", "crosswoz")) if options.data else ():
        if name == "locomo":
            sets[name] = locomo(options.data / name / "turns.jsonl")
        else:
            sets[name] = chain.from_iterable(events(options.data / name / "dev.jsonl"))
    good = True
    for name, given in sets.items():
        turns = list(islice(given, options.turns))
        found: dict[str, tuple[str, bool, float]] = {}
        with Memory(tenant="bench", embedder=False) as memory:
            found["memory"] = told(memory, turns)
        with tempfile.TemporaryDirectory() as folder, Memory(folder, tenant="bench", embedder=False) as memory:
            found["folder"] = told(memory, turns)
        found["servers"] = on_servers(turns)
        equal = len({digest for digest, _, _ in found.values()}) == 1 and all(same for _, same, _ in found.values())
        good = good and equal
        times = "  ".join(f"{log} {taken:.1f} s" for log, (_, _, taken) in found.items())
        print(
            f"{name}: {len(turns)} turns  {'equal' if equal else 'DIFFERENT'}  {found['memory'][0][:16]}  {times}", flush=True
        )
        if not equal:
            print(found, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
