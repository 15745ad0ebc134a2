"""A plain consumer group: Kafka says which partitions are this worker's, and each gets a thread of its own.

The group's consumer delivers nothing: every core reads from its own durable place. What is committed is telemetry, for tools
that watch groups.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from typing import Protocol

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError

from ...adapters.kafka.reader import consumer_settings
from ...settings import Servers
from .lanes import TRANSIENT, Fault

__all__ = ["GroupShell", "Work"]

_log = logging.getLogger("mnemolog.worker")

_POLL_MS = 500
_COMMIT_EVERY = 2.0
_STOP_SECONDS = 10.0


class Work(Protocol):
    """What is done on one partition, in threads of its own, from `start` to `ask_to_stop`."""

    name: str

    @property
    def begun(self) -> bool: ...

    def position(self) -> int: ...

    def start(self) -> None: ...

    def ask_to_stop(self) -> None: ...

    def join(self, seconds: float) -> bool: ...


class GroupShell(ConsumerRebalanceListener):  # type: ignore[misc]
    """Runs one kind of work on the partitions that the group gives this process; `make` makes the work on one of them."""

    def __init__(self, servers: Servers, kind: str, topic: str, make: Callable[[int], Work], fault: Fault) -> None:
        self.kind = kind
        self._servers, self._make, self._fault = servers, make, fault
        self._topic = servers.topic(topic)
        self._lanes: dict[int, Work] = {}
        self._consumer: AIOKafkaConsumer | None = None
        self._task: asyncio.Task[None] | None = None
        self._committed = 0.0
        self.assigned = asyncio.Event()

    async def start(self) -> None:
        self._consumer = AIOKafkaConsumer(
            group_id=self._servers.group(self.kind),
            auto_offset_reset="earliest",
            **consumer_settings(self._servers.kafka),
        )
        self._consumer.subscribe([self._topic], listener=self)
        await self._consumer.start()
        self._task = asyncio.create_task(self._follow(self._consumer))

    async def stop(self) -> None:
        """Ends the lanes after their steps, and leaves the group."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self._stop_lanes()
        if self._consumer is not None:
            await self._consumer.stop()

    async def on_partitions_revoked(  # pyright: ignore[reportIncompatibleMethodOverride] - it may be a coroutine
        self, revoked: Collection[TopicPartition]
    ) -> None:
        await self._stop_lanes()

    async def on_partitions_assigned(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, assigned: Collection[TopicPartition]
    ) -> None:
        await self._stop_lanes()
        if self._consumer is not None and assigned:
            self._consumer.pause(*assigned)
        for place in assigned:
            lane = self._make(place.partition)
            self._lanes[place.partition] = lane
            lane.start()
        self.assigned.set()

    async def _follow(self, consumer: AIOKafkaConsumer) -> None:
        """Keeps the membership alive."""
        while True:
            try:
                await consumer.getmany(timeout_ms=_POLL_MS)
                await self._commit(consumer)
            except KafkaError as error:
                _log.warning("%s: the group's coordinator: %s", self.kind, error)
                await asyncio.sleep(1.0)
            except TRANSIENT as error:
                # Asked for a place, the database did not answer. The lanes wait for it themselves.
                _log.debug("%s: nothing is committed: %s", self.kind, error)
            except Exception as error:
                self._fault(self.kind, error)
                return

    async def _commit(self, consumer: AIOKafkaConsumer) -> None:
        if time.monotonic() - self._committed < _COMMIT_EVERY:
            return
        self._committed = time.monotonic()
        begun = {number: lane for number, lane in self._lanes.items() if lane.begun}
        positions = {
            TopicPartition(self._topic, number): await asyncio.to_thread(lane.position) for number, lane in begun.items()
        }
        mine = consumer.assignment()
        positions = {place: offset for place, offset in positions.items() if place in mine}
        if positions:
            await consumer.commit(positions)

    async def _stop_lanes(self) -> None:
        lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            lane.ask_to_stop()
        for lane in lanes.values():
            if not await asyncio.to_thread(lane.join, _STOP_SECONDS):
                # Whoever takes the partition over does no harm to it, nor it to them; but it should not happen unseen.
                _log.error("%s has not ended in %g s", lane.name, _STOP_SECONDS)
