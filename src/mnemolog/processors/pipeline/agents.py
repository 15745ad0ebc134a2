"""Faust agents around the cores: an event is a wake-up call for its partition's core, which reads the log from its own durable
place, and is acknowledged once the core is beyond it.

So neither an acknowledgement that comes too early nor an event that comes twice, late or not at all can lose or double
anything; a timer looks after partitions that nobody wakes.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import faust

from ...settings import Servers
from .lanes import STEP_SECONDS, TRANSIENT, Fault, Lane, MakeCore

__all__ = ["FaustShell"]

_LOOK_SECONDS = 1.0
_SESSION_SECONDS = 10.0
"""After which a worker that was killed is out of the group, and its partitions go to others; by default it is a minute."""


class _FaustLane(Lane):
    def __init__(self, kind: str, number: int, make: MakeCore) -> None:
        super().__init__(kind, number, make)
        self.lock = asyncio.Lock()
        self.reached = -1
        """Where its core was seen to stand; it may be further on."""

    def work(self, timeout: float) -> int:
        """A step, and where that leads."""
        done = self.step(timeout)
        self.reached = self.position()
        return done


class FaustShell:
    """Runs one kind of work as a Faust agent on the partitions that its group gives this process."""

    def __init__(self, servers: Servers, kind: str, topic: str, make: MakeCore, fault: Fault) -> None:
        self.kind = kind
        self._make, self._fault = make, fault
        self._topic = servers.topic(topic)
        self._lanes: dict[int, _FaustLane] = {}
        self._stopping = False
        self.assigned = asyncio.Event()
        self._datadir = tempfile.TemporaryDirectory(prefix="mnemolog-faust-")
        self._app = faust.App(
            servers.group(kind),
            broker=";".join(f"kafka://{server}" for server in servers.kafka.split(",")),
            datadir=self._datadir.name,
            autodiscover=False,
            web_enabled=False,
            topic_disable_leader=True,
            topic_allow_declare=False,
            consumer_auto_offset_reset="earliest",
            broker_commit_interval=1.0,
            broker_session_timeout=_SESSION_SECONDS,
            stream_wait_empty=False,
            key_serializer="raw",
            value_serializer="raw",
        )
        self._declare()

    def _declare(self) -> None:
        source = self._app.topic(
            self._topic, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw", allow_empty=True
        )

        async def agent(stream: Any) -> AsyncIterator[None]:
            async for event in stream.noack().events():
                await self._reach(event.message.partition, event.message.offset + 1)
                event.ack()
                yield

        self._app.agent(source, name=f"mnemolog.{self.kind}", concurrency=1)(agent)
        self._app.timer(_LOOK_SECONDS)(self._look)
        self._app.on_partitions_assigned.connect(self._moved)
        self._app.on_partitions_revoked.connect(self._moved)

    async def start(self) -> None:
        await self._app.start()

    async def stop(self) -> None:
        """Ends after the steps that are going on, and leaves the group."""
        self._stopping = True
        await self._app.stop()
        for lane in self._lanes.values():
            async with lane.lock:
                pass
        self._datadir.cleanup()

    async def _moved(self, _app: object, /, partitions: object = None, *_more: object, **_: object) -> None:
        """Somebody else may work on these meanwhile: their cores start from the durable place again."""
        self._lanes.clear()
        if partitions:
            self.assigned.set()

    async def _look(self) -> None:
        assigned = {place.partition for place in self._app.consumer.assignment() if place.topic == self._topic}
        for number in sorted(assigned):
            await self._work(number, None)

    async def _reach(self, number: int, position: int) -> None:
        await self._work(number, position)

    async def _work(self, number: int, until: int | None) -> None:
        """Steps of a partition's core until it is beyond `until` (None: until it is up to date)."""
        lane = self._lanes.get(number)
        if lane is None:
            lane = self._lanes[number] = _FaustLane(self.kind, number, self._make)
        async with lane.lock:
            while not self._stopping and self._lanes.get(number) is lane:
                try:
                    if until is not None and lane.reached >= until:
                        return
                    # What wakes it up may be there a little sooner than what the core reads for itself.
                    if not await asyncio.to_thread(lane.work, 0.0 if until is None else STEP_SECONDS) and until is None:
                        return
                except TRANSIENT as error:
                    await asyncio.sleep(lane.pause.after(error))
                except Exception as error:
                    self._fault(lane.name, error)
                    await asyncio.sleep(3600)  # nothing is acknowledged any more; the worker is ending
