"""The connection to Kafka: one producer, readers per partition, and blocking calls for the engine's threads.

Invariants: a send returns only when all in-sync replicas have it, within a deadline of our own; a producer whose send missed
its deadline is thrown away, since nobody knows what it still delivers (ids make a repeat harmless).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError, KafkaError, MessageSizeTooLargeError
from aiokafka.partitioner import murmur2

from ...processors.core.ports import Stored
from ...schemas.errors import InvalidInput, LogError, Unavailable
from ...schemas.events import INBOX
from ...schemas.times import from_text
from ...settings import Servers
from .loop import LoopThread
from .reader import RECORDED, PartitionReader, consumer_settings
from .tail import Tail
from .topics import LARGEST, ensure_topics

__all__ = ["KafkaClient", "Outgoing", "milliseconds", "partition_of"]

T = TypeVar("T")

_STOP_SECONDS = 5.0
_START_SECONDS = 15.0


class Outgoing(NamedTuple):
    """A record to send."""

    key: str
    """In UTF-8, what is not UTF-8 as `surrogateescape` writes it."""
    value: bytes
    recorded: str
    """Fixed UTC text; also Kafka's timestamp, in milliseconds."""
    headers: tuple[tuple[str, bytes], ...] = ()


def partition_of(scope: str, partitions: int) -> int:
    """The partition of a scope: murmur2 of its UTF-8 bytes, as Kafka's own clients hash keys."""
    number: int = murmur2(scope.encode("utf-8"))
    return (number & 0x7FFFFFFF) % partitions


def _as_read(key: str) -> str:
    """A key as it is read back (but for the inbox)."""
    return key if key.isascii() else key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def milliseconds(time: str) -> int:
    """A fixed UTC time as Kafka's timestamp, rounded down."""
    return int(from_text(time).timestamp() * 1000)


class KafkaClient:
    """Connects, makes and checks the topics. Thread-safe. Raises Unavailable where no broker answers, Misconfigured for topics
    that would lose what they hold."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self._loop = LoopThread("mnemolog-kafka")
        self._producer: AIOKafkaProducer | None = None
        self._readers: dict[tuple[str, int], PartitionReader] = {}
        self._tails: dict[tuple[str, int], Tail] = {}
        self._asker: AIOKafkaConsumer | None = None
        # Bound to the loop by their first use, which is on it.
        self._producer_lock, self._asker_lock = asyncio.Lock(), asyncio.Lock()
        try:
            self.partitions = self._call(self._start())
        except BaseException:
            self.close()
            raise

    # -- sending -------------------------------------------------------------------------------------------------------

    def send(self, topic: str, partition: int, records: Sequence[Outgoing]) -> list[int]:
        """Appends records in order and returns their offsets. Raises Unavailable when they were not acknowledged in time: they
        may or may not be there."""
        if not records:
            return []
        offsets = self._call(self._send(topic, partition, records))
        if topic != INBOX and min(offsets) >= 0:  # of what lies in the inbox the broker says when it came
            self._tail(topic, partition).add(
                [
                    Stored(topic, partition, offset, _as_read(record.key), record.value, record.recorded)
                    for offset, record in zip(offsets, records, strict=True)
                ]
            )
        return offsets

    def send_by_scope(self, topic: str, records: Sequence[Outgoing]) -> list[tuple[int, int]]:
        """Appends records, each to its scope's partition; returns (partition, offset) of each."""
        places = [partition_of(record.key, self.partitions) for record in records]
        return self._call(self._send_to([(topic, place, record) for place, record in zip(places, records, strict=True)]))

    # -- reading -------------------------------------------------------------------------------------------------------

    def fetch(self, topic: str, partition: int, start: int, most: int, timeout: float = 0.0) -> tuple[list[Stored], int]:
        """Up to `most` records from `start` on, and the offset to go on from; waits up to `timeout` seconds for the first. What
        this client appended is there at once; with a `timeout` of 0, what others append behind it comes a little later."""
        if most < 1:
            return [], start
        tail = self._tail(topic, partition)
        if known := tail.read(start, most):
            return known, known[-1].offset + 1
        if timeout <= 0 and tail.ends_at(start):
            return [], start
        return self._call(self._reader(topic, partition).fetch(start, most, timeout))

    def appended_behind(self, topic: str, partition: int, offset: int) -> bool:
        """Whether this client appended something to a topic of ours but the inbox, at `offset` or behind it."""
        return self._tail(topic, partition).is_behind(offset)

    def end(self, topic: str, partition: int) -> int:
        return self._call(self._ask(topic, partition, "end_offsets"))

    def begin(self, topic: str, partition: int) -> int:
        return self._call(self._ask(topic, partition, "beginning_offsets"))

    def offset_for(self, topic: str, partition: int, time: str) -> int | None:
        """The first offset whose timestamp is not before `time`, to the millisecond."""
        return self._call(self._offset_for(topic, partition, milliseconds(time)))

    def close(self) -> None:
        """Ends everything; sends that were not acknowledged raise Closed. May be called twice."""
        self._loop.close(self._stop())

    # -- on the loop ---------------------------------------------------------------------------------------------------

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return self._loop.call(work)
        except KafkaError as error:
            raise self._translated(error) from error

    def _translated(self, error: KafkaError) -> Exception:
        if isinstance(error, MessageSizeTooLargeError):
            return InvalidInput("data", f"makes a record that is too large: {error}", f"at most {LARGEST >> 20} MiB")
        if error.retriable or isinstance(error, KafkaConnectionError):
            return Unavailable(f"Kafka at {self.servers.kafka}: {type(error).__name__}: {error}")
        return LogError(f"Kafka at {self.servers.kafka}: {type(error).__name__}: {error}")

    def _tail(self, topic: str, partition: int) -> Tail:
        key = (topic, partition)
        return self._tails.get(key) or self._tails.setdefault(key, Tail())

    def _reader(self, topic: str, partition: int) -> PartitionReader:
        key = (topic, partition)
        reader = self._readers.get(key)
        if reader is None:
            made = PartitionReader(topic, self.servers.topic(topic), partition, self.servers.kafka)
            reader = self._readers.setdefault(key, made)
        return reader

    async def _start(self) -> int:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.servers.kafka, request_timeout_ms=int(_START_SECONDS * 1000))
        try:
            try:
                await asyncio.wait_for(admin.start(), _START_SECONDS)
            except (TimeoutError, OSError, KafkaConnectionError) as error:
                raise Unavailable(f"no Kafka broker answers at {self.servers.kafka}") from error
            return await ensure_topics(admin, self.servers)
        finally:
            await admin.close()

    async def _asking(self) -> AIOKafkaConsumer:
        """What asks for offsets: on a connection of its own, since a broker answers one request after the other, and a fetch
        waits for records."""
        async with self._asker_lock:
            if self._asker is None:
                consumer = AIOKafkaConsumer(**consumer_settings(self.servers.kafka))
                try:
                    await consumer.start()
                except BaseException:
                    await consumer.stop()
                    raise
                self._asker = consumer
            return self._asker

    async def _ask(self, topic: str, partition: int, what: str) -> int:
        place = TopicPartition(self.servers.topic(topic), partition)
        return int((await getattr(await self._asking(), what)([place]))[place])

    async def _offset_for(self, topic: str, partition: int, timestamp: int) -> int | None:
        place = TopicPartition(self.servers.topic(topic), partition)
        found = (await (await self._asking()).offsets_for_times({place: timestamp})).get(place)
        return None if found is None else int(found.offset)

    async def _send(self, topic: str, partition: int, records: Sequence[Outgoing]) -> list[int]:
        return [offset for _, offset in await self._send_to([(topic, partition, record) for record in records])]

    async def _send_to(self, records: Sequence[tuple[str, int, Outgoing]]) -> list[tuple[int, int]]:
        if not records:
            return []
        producer = await self._ready()
        try:
            async with asyncio.timeout(self.servers.send_timeout):
                futures = [
                    await producer.send(
                        self.servers.topic(topic),
                        record.value,
                        record.key.encode("utf-8", "surrogateescape"),
                        partition,
                        milliseconds(record.recorded),
                        [*record.headers, (RECORDED, record.recorded.encode("ascii"))],
                    )
                    for topic, partition, record in records
                ]
                done = await asyncio.gather(*futures)
        except TimeoutError:
            await self._drop(producer)
            raise Unavailable(
                f"Kafka at {self.servers.kafka} did not acknowledge {len(records)} records in {self.servers.send_timeout:g} s"
            ) from None
        except KafkaError as error:
            if not isinstance(error, MessageSizeTooLargeError):
                await self._drop(producer)
            raise
        return [(int(item.partition), int(item.offset)) for item in done]

    async def _ready(self) -> AIOKafkaProducer:
        async with self._producer_lock:
            if self._producer is None:
                producer = AIOKafkaProducer(
                    bootstrap_servers=self.servers.kafka,
                    acks="all",
                    enable_idempotence=True,
                    max_request_size=LARGEST,
                    max_batch_size=256 * 1024,
                    linger_ms=0,
                    request_timeout_ms=int(self.servers.send_timeout * 1000),
                )
                try:
                    await asyncio.wait_for(producer.start(), self.servers.send_timeout)
                except (TimeoutError, OSError, KafkaConnectionError) as error:
                    await _stop(producer)
                    raise Unavailable(f"no Kafka broker answers at {self.servers.kafka}") from error
                except KafkaError:
                    await _stop(producer)
                    raise
                self._producer = producer
            return self._producer

    async def _drop(self, producer: AIOKafkaProducer) -> None:
        """Forgets a producer that may still be trying."""
        if self._producer is producer:
            self._producer = None
        await _stop(producer)

    async def _stop(self) -> None:
        for reader in self._readers.values():
            await reader.close()
        if self._asker is not None:
            await self._asker.stop()
        producer, self._producer = self._producer, None
        if producer is not None:
            await _stop(producer)


async def _stop(producer: AIOKafkaProducer) -> None:
    """Ends a producer without waiting for what it cannot deliver."""
    stopping = asyncio.ensure_future(producer.stop())
    done, _ = await asyncio.wait({stopping}, timeout=_STOP_SECONDS)
    if not done:
        stopping.cancel()
        await asyncio.wait({stopping}, timeout=_STOP_SECONDS)
    elif not stopping.cancelled():
        stopping.exception()  # it ended badly: it is thrown away all the same
