"""Reading one partition: a few consumers without a group, each standing somewhere, so that one that reads on does not have to
give its place to one that looks something up."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from ...processors.core.ports import Stored
from ...schemas.errors import LogError
from ...schemas.times import to_text
from .topics import LARGEST

__all__ = ["RECORDED", "PartitionReader", "consumer_settings"]

RECORDED = "mnemologrecorded"
"""The header with the recorded time to the microsecond; Kafka's own timestamp has milliseconds."""
_CONSUMERS = 3
"""Per partition and process: one follows the tail, one reads through, one looks up."""
_WAIT_MS = 100
"""The longest that a broker holds a fetch back. A seek has to wait for the fetch before it."""

_RECORDED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def consumer_settings(bootstrap: str) -> dict[str, object]:
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
    """A consumer and the offset that it delivers next."""

    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self.consumer = consumer
        self.at: int | None = None
        self.lock = asyncio.Lock()
        self.used = 0


class PartitionReader:
    """Reads the records of one topic and partition. All methods run on the client's loop."""

    def __init__(self, topic: str, physical: str, partition: int, bootstrap: str) -> None:
        self._topic = topic
        self._tp = TopicPartition(physical, partition)
        self._bootstrap = bootstrap
        self._standing: list[_Standing] = []
        self._uses = 0

    async def fetch(self, start: int, most: int, timeout: float) -> tuple[list[Stored], int]:
        """Up to `most` records from `start` on, and the offset to go on from; waits up to `timeout` seconds for the first."""
        standing = await self._pick(start)
        async with standing.lock:
            consumer = standing.consumer
            if standing.at != start:
                consumer.seek(self._tp, start)
                standing.at = start
            try:
                found = await consumer.getmany(self._tp, timeout_ms=max(int(timeout * 1000), 0), max_records=most)
            except OffsetOutOfRangeError as error:
                standing.at = None
                raise LogError(
                    f"{self._tp.topic}, partition {self._tp.partition}, has no offset {start}: the topic was cut or made anew"
                ) from error
            except BaseException:
                standing.at = None
                raise
            records = found.get(self._tp, [])
            if records:
                standing.at = records[-1].offset + 1
            else:
                standing.at = await consumer.position(self._tp)  # past what a transaction left behind
            return [self._stored(record) for record in records if record.offset >= start], standing.at

    async def offset_for(self, milliseconds: int) -> int | None:
        """The first offset with at least that timestamp; None where there is none."""
        standing = await self._pick(None)
        found = await standing.consumer.offsets_for_times({self._tp: milliseconds})
        place = found.get(self._tp)
        return None if place is None else int(place.offset)

    async def end(self) -> int:
        standing = await self._pick(None)
        return int((await standing.consumer.end_offsets([self._tp]))[self._tp])

    async def begin(self) -> int:
        standing = await self._pick(None)
        return int((await standing.consumer.beginning_offsets([self._tp]))[self._tp])

    async def close(self) -> None:
        for standing in self._standing:
            await standing.consumer.stop()
        self._standing.clear()

    async def _pick(self, start: int | None) -> _Standing:
        """The consumer that stands at `start`, else a free or a new one, else the one that was longest unused."""
        self._uses += 1
        best = next((item for item in self._standing if start is None or item.at == start), None)
        if best is None:
            free = [item for item in self._standing if not item.lock.locked()]
            if len(self._standing) < _CONSUMERS:
                best = _Standing(AIOKafkaConsumer(auto_offset_reset="none", **consumer_settings(self._bootstrap)))
                best.consumer.assign([self._tp])
                self._standing.append(best)
                async with best.lock:
                    await best.consumer.start()
            else:
                best = min(free or self._standing, key=lambda item: item.used)
        best.used = self._uses
        return best

    def _stored(self, record: ConsumerRecord) -> Stored:
        recorded = ""
        for name, value in record.headers:
            if name == RECORDED:
                recorded = value.decode("ascii", "replace")
        if not _RECORDED.fullmatch(recorded):
            recorded = to_text(datetime.fromtimestamp(max(record.timestamp, 0) / 1000, UTC))
        scope = "" if record.key is None else record.key.decode("utf-8", "replace")
        return Stored(self._topic, record.partition, record.offset, scope, record.value or b"", recorded)
