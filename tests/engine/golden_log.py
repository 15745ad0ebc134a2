"""A whole small log as it was written once, byte for byte: what later versions must read, fold and verify as it was meant.

`python -m engine.golden_log` (with `tests` on the path) writes the next one beside those that are there, which stay for ever,
and prints its digests to pin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from engine.talk import KINDS, SAID, Rig, Step, memory_rig, tell
from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.adapters.logs.plan import Key, Known, NewRecord
from mnemolog.schemas.codec import sha256_hex
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, SUMMARIES

__all__ = ["FOLDER", "load_log"]

FOLDER = Path(__file__).parent / "golden"
SEED = 13
TOPICS = (DYNAMICS, OBSERVATIONS, CHANGES, SUMMARIES)


class Record(msgspec.Struct, frozen=True):
    topic: str
    scope: str
    recorded: str
    value: str


def load_log(path: Path) -> MemoryLog:
    """A log that holds exactly those records, whatever today's append would refuse of them."""
    log = MemoryLog()
    for line in path.read_text("utf-8").splitlines():
        record = msgspec.json.decode(line, type=Record)
        value = record.value.encode()
        envelope = Envelope.from_bytes(value)
        key = Key(record.scope, envelope.source, envelope.id)
        content = {DYNAMICS: envelope.content_hash, CHANGES: sha256_hex(value)}.get(record.topic, "")
        with log._changed:
            log._store(record.topic, [NewRecord(key, content, value)], record.recorded)
        assert log._seen[record.topic][key] == Known(log.end(record.topic) - 1, content)
        if record.topic == CHANGES:
            log._heads[record.scope] = content
    return log


def _story() -> list[Step]:
    """Everything there is to say, mostly to one memory, and every command."""
    choose = Random(SEED)
    spoken = [
        Step("assistant" if what == 5 else "turn", what % 7 == 6, choose.randrange(2), what, choose.randrange(1, 30))
        for what in range(len(SAID))
    ]
    commands = [Step(kind, 0, choose.randrange(2), choose.randrange(9), 2) for kind in KINDS if kind not in ("turn", "erase")]
    for step in commands:
        spoken.insert(choose.randrange(9, len(spoken)), step)
    return spoken


def _first_version(event: Envelope) -> Envelope:
    """A turn as `turn.recorded` v1 had it."""
    data = {"text" if name == "content" else name: value for name, value in event.data.items() if name != "utc_offset"}
    return msgspec.structs.replace(event, dataschema="urn:mnemolog:turn.recorded:1", data=data)


def _told() -> Rig:
    rig = memory_rig()
    for number, event in enumerate(tell(_story())):
        rig.add([_first_version(event) if event.type == "turn.recorded" and number % 5 == 0 else event])
    rig.check()
    return rig


def _lines(rig: Rig) -> Iterator[bytes]:
    for topic in TOPICS:
        for stored in rig.log.read(topic):
            yield msgspec.json.encode(Record(topic, stored.scope, stored.recorded, stored.value.decode())) + b"\n"


if __name__ == "__main__":
    told = _told()
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"log-{len(list(FOLDER.glob('log-*.jsonl'))) + 1}.jsonl"
    path.write_bytes(b"".join(_lines(told)))
    print(f'    "{path.name}": ("{sha256_hex(path.read_bytes())}", "{told.digest()}"),')
