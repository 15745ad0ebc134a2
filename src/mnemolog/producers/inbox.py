"""The way into the inbox: an idempotent producer that is replaced when it fails, since by itself it never gives up.

Invariants: each record is acknowledged by all in-sync replicas or fails by its deadline; records of one partition go to the
producer in the order of the calls.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError, KafkaError, MessageSizeTooLargeError
from aiokafka.partitioner import murmur2

from ..schemas.errors import Closed, InvalidInput, LogError, Misconfigured, MnemologError, Unavailable
from ..schemas.events import INBOX

__all__ = ["InboxSender"]

_LARGEST = 16 * 1024 * 1024
_STOP_SECONDS = 5.0
Headers = tuple[tuple[str, bytes], ...]


class InboxSender:
    """Used from one event loop. `linger`, `timeout` in seconds."""

    def __init__(self, bootstrap: str, *, prefix: str, linger: float, timeout: float) -> None:
        self._bootstrap, self._topic = bootstrap, prefix + INBOX
        self._linger, self._timeout = linger, timeout
        self._producer: AIOKafkaProducer | None = None
        self._partitions = 0
        self._making = asyncio.Lock()
        self._lanes: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._stopping: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> None:
        """Connects, and asks how many partitions there are. Raises Unavailable, Misconfigured."""
        async with self.until(asyncio.get_running_loop().time() + self._timeout):
            await self._ready()

    @asynccontextmanager
    async def until(self, deadline: float) -> AsyncIterator[None]:
        """What is not done by then (in the loop's time) raises Unavailable."""
        try:
            async with asyncio.timeout_at(deadline):
                yield
        except TimeoutError:
            raise self._late() from None

    async def send(self, key: str, value: bytes, headers: Headers, deadline: float) -> asyncio.Future[tuple[int, int]]:
        """Hands a record over; the future has its partition and offset, or Unavailable, by the deadline."""
        loop = asyncio.get_running_loop()
        raw = key.encode("utf-8")
        if self._partitions == 0:
            await self._ready()
        partition = (int(murmur2(raw)) & 0x7FFFFFFF) % self._partitions
        async with self._lanes[partition]:
            producer = await self._ready()
            try:
                sent = await producer.send(self._topic, value, raw, partition, None, list(headers))
            except KafkaError as error:
                raise self._failed(producer, error) from error
        done: asyncio.Future[tuple[int, int]] = loop.create_future()

        def late() -> None:
            if not done.done():
                self._replace(producer)
                done.set_exception(self._late())

        timer = loop.call_at(deadline, late)

        def arrived(_: object) -> None:
            timer.cancel()
            error = None if sent.cancelled() else sent.exception()
            if done.done():
                return
            if sent.cancelled():
                done.set_exception(self._late())
            elif error is None:
                done.set_result((partition, int(sent.result().offset)))
            elif isinstance(error, KafkaError):
                done.set_exception(self._failed(producer, error))
            else:
                done.set_exception(error)

        sent.add_done_callback(arrived)
        return done

    async def close(self) -> None:
        """Disconnects; waits only a moment for what is still on its way. May be called twice."""
        self._closed = True
        if self._producer is not None:
            self._replace(self._producer)
        while self._stopping:
            await asyncio.wait(set(self._stopping))

    async def _ready(self) -> AIOKafkaProducer:
        async with self._making:
            if self._closed:
                raise Closed("this publisher was closed: make another one")
            if self._producer is None:
                self._producer = await self._connect()
            return self._producer

    async def _connect(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap,
            acks="all",
            enable_idempotence=True,
            max_request_size=_LARGEST,
            max_batch_size=256 * 1024,
            linger_ms=int(self._linger * 1000),
            request_timeout_ms=max(int(self._timeout * 1000), 1),
        )
        try:
            await producer.start()
            # All topics at once: asking for one by name would make it, with the broker's settings.
            cluster = await producer.client.fetch_all_metadata()
            partitions = cluster.partitions_for_topic(self._topic)
            if not partitions:
                raise Misconfigured(f"there is no topic {self._topic}: start a worker once, or look after the prefix")
        except (OSError, KafkaError) as error:
            self._stop_soon(producer)
            if isinstance(error, KafkaError) and not error.retriable and not isinstance(error, KafkaConnectionError):
                raise self._translated(error) from error
            raise Unavailable(f"no Kafka broker answers at {self._bootstrap}") from error
        except BaseException:
            self._stop_soon(producer)
            raise
        self._partitions = len(partitions)
        return producer

    def _failed(self, producer: AIOKafkaProducer, error: KafkaError) -> MnemologError:
        if not isinstance(error, MessageSizeTooLargeError):
            self._replace(producer)
        return self._translated(error)

    def _translated(self, error: KafkaError) -> MnemologError:
        if isinstance(error, MessageSizeTooLargeError):
            return InvalidInput("data", f"makes a record that is too large: {error}", f"at most {_LARGEST >> 20} MiB")
        text = f"Kafka at {self._bootstrap}: {type(error).__name__}: {error}"
        if error.retriable or isinstance(error, KafkaConnectionError):
            return Unavailable(text)
        return LogError(text)

    def _late(self) -> MnemologError:
        return Unavailable(
            f"Kafka at {self._bootstrap} did not acknowledge in {self._timeout:g} s: it may be in the inbox all the same; "
            "publish it again with the same id"
        )

    def _replace(self, producer: AIOKafkaProducer) -> None:
        """The next send makes a new one; this one delivers what it can in a moment."""
        if self._producer is producer:
            self._producer = None
            self._stop_soon(producer)

    def _stop_soon(self, producer: AIOKafkaProducer) -> None:
        task = asyncio.get_running_loop().create_task(_stop(producer))
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)


async def _stop(producer: AIOKafkaProducer) -> None:
    stopping = asyncio.ensure_future(producer.stop())
    done, _ = await asyncio.wait({stopping}, timeout=_STOP_SECONDS)
    if not done:
        stopping.cancel()
        await asyncio.wait({stopping}, timeout=_STOP_SECONDS)
    elif not stopping.cancelled():
        stopping.exception()  # it ended badly: it is thrown away all the same
