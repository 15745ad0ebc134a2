"""Logs to read, put on Kafka without any worker: what the embedded engine made of some turns, record by record; and as many
decisions without changes as wanted, with their inputs and observations, ids, positions and links as workers would write them.
Both are of one partition, so that every position is right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from bench import DATABASE
from bench import load as load_turns
from confluent_kafka import Producer

from mnemolog import Memory
from mnemolog.adapters.kafka.client import Outgoing, milliseconds
from mnemolog.adapters.kafka.reader import RECORDED
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.processors.pipeline.installation import Installation
from mnemolog.schemas.changes import Decision
from mnemolog.schemas.codec import derived_id
from mnemolog.schemas.envelope import DEFAULT_SOURCE, Envelope, headers_of
from mnemolog.schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, make
from mnemolog.schemas.inputs import Turn
from mnemolog.schemas.observations import Observation
from mnemolog.schemas.scope import Scope

__all__ = ["TENANT", "TRUTH", "copy_turns", "write_nothing_decided"]

TRUTH = (DYNAMICS, OBSERVATIONS, CHANGES)
SCOPES = 200
TENANT = "bench"
RECORDED_AT = "2026-01-05T09:00:00.000000Z"
_MARK = re.compile("(@[A-Z]+@)")


class _Writer:
    """Appends to the first partition of an installation's topics as fast as a client can, in order."""

    def __init__(self, installation: Installation) -> None:
        self._topics = {topic: installation.servers.topic(topic) for topic in TRUTH}
        self._producer = Producer(
            {
                "bootstrap.servers": installation.servers.kafka,
                "enable.idempotence": True,
                "linger.ms": 20,
                "batch.size": 256 * 1024,
                "message.max.bytes": 16 * 1024 * 1024,
            }
        )
        self._failed: list[str] = []

    def append(self, topic: str, record: Outgoing) -> None:
        headers: list[tuple[str, str | bytes | None]] = [*record.headers, (RECORDED, record.recorded.encode())]
        while True:
            try:
                self._producer.produce(
                    self._topics[topic],
                    record.value,
                    record.key,
                    0,
                    on_delivery=self._delivered,
                    timestamp=milliseconds(record.recorded),
                    headers=headers,
                )
                break
            except BufferError:
                self._producer.poll(0.1)

    def flush(self) -> None:
        self._producer.flush(60)
        if self._failed or len(self._producer):
            raise RuntimeError(
                f"{len(self._failed)} records were not delivered, {len(self._producer)} wait: {self._failed[:1]}"
            )

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self._failed.append(str(error))


def copy_turns(installation: Installation, folder: Path, count: int) -> int:
    """So many made turns of ten people, as the embedded engine decided them; returns how many records were copied."""
    with Memory(folder, embedder=False) as memory:
        load_turns(memory, count, subjects=10)
    log = SqliteLog(folder / DATABASE)
    writer = _Writer(installation)
    done = 0
    for topic in TRUTH:
        for stored in log.read(topic):
            headers = headers_of(Envelope.from_bytes(stored.value))
            writer.append(topic, Outgoing(stored.scope, stored.value, stored.recorded, headers))
            done += 1
    log.close()
    writer.flush()
    return done


def write_nothing_decided(
    installation: Installation, count: int, *, start: int = 0, heads: dict[str, str], decided: bool = True
) -> None:
    """`count` turns in which nothing was found, from dynamics offset `start` on, each with its observation and (`decided`) its
    decision; `heads` by subject: what the next ones link to."""
    writer = _Writer(installation)
    kinds = _kinds(installation)[: None if decided else 2]
    for offset in range(start, start + count):
        subject = f"user:{offset % SCOPES}"
        given = {"@OFFSET@": str(offset), "@SUBJECT@": subject, "@INPUT@": f"n{offset}", "@PREV@": heads.get(subject, "")}
        for kind in kinds:
            value = kind.append(writer, given)
        if decided:
            heads[subject] = sha256(value).hexdigest()  # the decision is the last of the three
    writer.flush()


class _Kind:
    """Records of one kind: an example, and where in it something differs from one to the next."""

    def __init__(self, topic: str, handler: str, example: Envelope) -> None:
        self._topic, self._handler = topic, handler
        self._value = _MARK.split(example.to_bytes().decode())
        self._headers = [(name, _MARK.split(text.decode())) for name, text in headers_of(example)]

    def append(self, writer: _Writer, given: Mapping[str, str]) -> bytes:
        subject, input_id = given["@SUBJECT@"], given["@INPUT@"]
        made = derived_id(TENANT, subject, DEFAULT_SOURCE, input_id, self._handler, 0) if self._handler else input_id
        own = {**given, "@ID@": made}
        value = "".join([own.get(part, part) for part in self._value]).encode()
        headers = tuple((name, "".join([own.get(part, part) for part in parts]).encode()) for name, parts in self._headers)
        writer.append(self._topic, Outgoing(f"{TENANT}/{subject}", value, RECORDED_AT, headers))
        return value


def _kinds(installation: Installation) -> list[_Kind]:
    scope = Scope(TENANT, "@SUBJECT@")
    turn = Turn(content="Nothing to note about @OFFSET@.", occurred_at=RECORDED_AT, session="s")
    seen = Observation(input_id="@INPUT@", input_type="turn.recorded", extractor="offline/1")
    decided = Decision(
        input_id="@INPUT@",
        input_source=DEFAULT_SOURCE,
        input_type="turn.recorded",
        prev="@PREV@",
        outcome="nothing",
        session="s",
        role="user",
        policy=installation.policy.name,
    )
    place = f"{installation.who.epoch}:0:@OFFSET@"
    kinds = []
    for topic, handler, data in ((DYNAMICS, "", turn), (OBSERVATIONS, "observe", seen), (CHANGES, "decide", decided)):
        more = {"position": place, "causation": "@INPUT@"} if handler else {}
        example = make(data, scope=scope, event_id="@ID@", time=RECORDED_AT, recorded=RECORDED_AT, **more)
        kinds.append(_Kind(topic, handler, example))
    return kinds
