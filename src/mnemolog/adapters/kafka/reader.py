"""Reading one partition: a few consumers without a group, each standing somewhere, so that one that reads on does not have to
give its place to one that looks something up."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from ...processors.core.ports import Stored
from ...schemas.errors import LogError
from ...schemas.events import INBOX
from ...schemas.times import MAX_TIME, to_text
from .topics import LARGEST

__all__ = ["RECORDED", "PartitionReader", "consumer_settings", "stored"]

RECORDED = "mnemologrecorded"
"""The header with the recorded time to the microsecond; Kafka's own timestamp has milliseconds."""
_CONSUMERS = 6
"""Per topic, partition and process: those that follow the tail, one that reads through, one that looks something up."""
_KEPT, _KEPT_BYTES = 512, 1024 * 1024
"""Records, and bytes of them, that a consumer delivered and that are kept for whoever follows close behind."""
_WAIT_MS = 100
"""The longest that a broker holds a fetch back. A seek has to wait for the fetch before it."""

_RECORDED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def consumer_settings(bootstrap: str) -> dict[str, Any]:
    """What every consumer of ours is made with."""
    return {
        "bootstrap_servers": bootstrap,
        "enable_auto_commit": False,
        "isolation_level": "read_committed",
        "fetch_max_wait_ms": _WAIT_MS,
        "max_partition_fetch_bytes": 4 * 1024 * 1024,
        "fetch_max_bytes": 4 * LARGEST,
    }


class _Standing:
    """A consumer, the offset that it delivers next, and what it delivered of late (from `first` on)."""

    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self.consumer = consumer
        self.lock = asyncio.Lock()
        self.used = 0
        self.at: int | None = None
        self.first: int | None = None
        self._late: deque[Stored] = deque()
        self._bytes = 0

    def again(self, start: int, most: int) -> tuple[list[Stored], int] | None:
        """What it delivered of late, from `start` on: somebody waited for it, and others follow close behind."""
        if self.at is None or self.first is None or not self.first <= start < self.at:
            return None
        records = list(takewhile(lambda record: record.offset >= start, reversed(self._late)))
        records.reverse()
        if len(records) > most:
            return records[:most], records[most - 1].offset + 1
        return records, self.at

    def moved(self, start: int, records: list[Stored], at: int) -> None:
        """It delivered this from `start` on."""
        if self.at != start or self.first is None:
            self.lost()
            self.first = start
        self._late.extend(records)
        self._bytes += sum(len(record.value) for record in records)
        while len(self._late) > len(records) and (len(self._late) > _KEPT or self._bytes > _KEPT_BYTES):
            self._bytes -= len(self._late.popleft().value)
            self.first = self._late[0].offset if self._late else start
        self.at = at

    def lost(self) -> None:
        """It stands nobody knows where."""
        self.at = self.first = None
        self._late.clear()
        self._bytes = 0


class PartitionReader:
    """Reads the records of one topic and partition. All methods run on the client's loop."""

    def __init__(self, topic: str, physical: str, partition: int, bootstrap: str) -> None:
        self._topic = topic
        self._tp = TopicPartition(physical, partition)
        self._bootstrap = bootstrap
        self._standing: list[_Standing] = []
        self._uses = 0
        self._making = asyncio.Lock()

    async def fetch(self, start: int, most: int, timeout: float) -> tuple[list[Stored], int]:
        """Up to `most` records from `start` on, and the offset to go on from; waits up to `timeout` seconds for the first."""
        for item in self._standing:
            if (known := item.again(start, most)) is not None:
                return known
        if timeout <= 0 and any(item.at == start and item.lock.locked() for item in self._standing):
            return [], start  # somebody waits for just that: it is not there yet
        standing = await self._pick(start)
        async with standing.lock:
            known = standing.again(start, most)
            if known is not None:
                return known
            consumer = standing.consumer
            if standing.at != start:
                consumer.seek(self._tp, start)
            try:
                found = await consumer.getmany(self._tp, timeout_ms=max(int(timeout * 1000), 0), max_records=most)
                records = [self._stored(record) for record in found.get(self._tp, []) if record.offset >= start]
                # Without a record it may still have passed over what a transaction left behind.
                at = records[-1].offset + 1 if records else max(start, await consumer.position(self._tp))
            except OffsetOutOfRangeError as error:
                standing.lost()
                raise LogError(
                    f"{self._tp.topic}, partition {self._tp.partition}, has no offset {start}: the topic was cut or made anew"
                ) from error
            except BaseException:
                standing.lost()
                raise
            standing.moved(start, records, at)
            return records, at

    async def close(self) -> None:
        for standing in self._standing:
            await standing.consumer.stop()
        self._standing.clear()

    async def _pick(self, start: int) -> _Standing:
        """A consumer that nobody waits on: one that stands at `start`, else a new one, else the one that was longest unused."""
        async with self._making:
            free = [item for item in self._standing if not item.lock.locked()]
            best = next((item for item in free if item.at == start or item.again(start, 1)), None)
            if best is None and len(self._standing) < _CONSUMERS:
                best = await self._make()
            if best is None:
                best = min(free or self._standing, key=lambda item: item.used)
            self._uses += 1
            best.used = self._uses
            return best

    async def _make(self) -> _Standing:
        consumer = AIOKafkaConsumer(auto_offset_reset="none", **consumer_settings(self._bootstrap))
        consumer.assign([self._tp])
        try:
            await consumer.start()
        except BaseException:
            await consumer.stop()
            raise
        made = _Standing(consumer)
        self._standing.append(made)
        return made

    def _stored(self, record: ConsumerRecord) -> Stored:
        return stored(
            self._topic, record.partition, record.offset, record.key, record.value, record.timestamp, tuple(record.headers)
        )


def stored(
    topic: str,
    partition: int,
    offset: int,
    key: bytes | None,
    value: bytes | None,
    milliseconds: int,
    headers: Sequence[tuple[str, bytes]] = (),
) -> Stored:
    """A record as it came from Kafka; `topic` is its name without the prefix. Whatever strangers may have put into it, a record
    comes of it: in the inbox a key that is not UTF-8 is kept, as `surrogateescape` writes it, and nobody but the broker says
    when it came."""
    recorded = ""
    if topic == INBOX:
        scope = "" if key is None else key.decode("utf-8", "surrogateescape")
    else:
        scope = "" if key is None else key.decode("utf-8", "replace")
        recorded = next((text.decode("ascii", "replace") for name, text in headers if name == RECORDED), "")
    if not _RECORDED.fullmatch(recorded):
        recorded = _time_of(milliseconds)
    return Stored(topic, partition, offset, scope, value or b"", recorded)


def _time_of(milliseconds: int) -> str:
    if milliseconds < 0:
        return _time_of(0)
    try:
        return to_text(datetime.fromtimestamp(milliseconds / 1000, UTC))
    except (ValueError, OverflowError, OSError):
        return MAX_TIME
