"""A worker process: one kind of work, or all of them, until it is told to stop or something unexpected ends it."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Callable
from functools import partial
from typing import Protocol

from ...schemas.errors import InvalidInput
from ...schemas.events import CHANGES, DYNAMICS, INBOX, OBSERVATIONS
from ..core.ports import Extractor
from .agents import FaustShell
from .chain import Chain
from .core import Core
from .extract import ExtractCore
from .groups import GroupShell
from .indexing import LiveIndexer
from .ingest import IngestCore
from .installation import Installation
from .lanes import Fault, MakeCore, ThreadLane
from .live_vectors import Chosen, Embedders
from .project import ProjectCore, VectorsCore
from .resolve import ResolveCore
from .summarise import SummariseCore

__all__ = ["KINDS", "Worker", "core_of"]

_log = logging.getLogger("mnemolog.worker")

KINDS = ("ingest", "extract", "resolve", "project", "summarise")
"""In the order in which a turn passes them."""

_TOPICS = {"ingest": INBOX, "extract": DYNAMICS, "resolve": OBSERVATIONS, "project": CHANGES, "summarise": CHANGES}
_AGENTS = ("ingest", "extract")


class _Shell(Protocol):
    kind: str
    assigned: asyncio.Event

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


def core_of(
    kind: str,
    installation: Installation,
    extractor: Extractor,
    embedder: Chosen,
) -> Callable[[int], Core]:
    """What makes the core of a partition for one kind of work. `embedder`: None where no vectors are wanted, `live` for
    whichever answers questions."""
    embedders = None if embedder is None else Embedders(embedder)

    def make(number: int) -> Core:
        partition = installation.partition(number)
        if kind == "ingest":
            return IngestCore(partition)
        if kind == "extract":
            return ExtractCore(partition, extractor)
        if kind == "resolve":
            return ResolveCore(partition, installation.policy)
        if kind == "project":
            if embedders is None:
                return ProjectCore(partition)
            indexer = partial(LiveIndexer, installation, partition, embedders)
            return ProjectCore(partition, VectorsCore(partition, indexer))
        if kind == "summarise":
            return SummariseCore(partition)
        raise InvalidInput("worker", f"there is no kind {kind!r}", f"known: {', '.join(KINDS)}, all")

    return make


class Worker:
    """Runs kinds of work on an installation. `grace`: seconds that a stop may take."""

    def __init__(
        self,
        installation: Installation,
        kinds: tuple[str, ...],
        extractor: Extractor,
        embedder: Chosen,
        *,
        grace: float = 20.0,
    ) -> None:
        self._installation, self._kinds, self._grace = installation, kinds, grace
        self._extractor = extractor
        self._embedder: Chosen = embedder
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self.fault = Fault(self.stop)
        self.ended_in_time = True
        """False once a stop took longer than `grace`: then something of it may still hang in a server that is gone, and the
        process had better end at once."""

    def run(self, ready: Callable[[], None] | None = None) -> bool:
        """Works until SIGTERM, SIGINT or `stop`; returns whether it ended in good order and in time. `ready` is called once
        every kind has its partitions. Raises what ended it unexpectedly."""
        runner = asyncio.Runner()
        try:
            in_order = runner.run(self._run(ready))
        finally:
            if self.ended_in_time:
                runner.close()
        if self.fault.error is not None:
            raise self.fault.error
        return in_order

    def stop(self) -> None:
        """From any thread, or before it runs."""
        if self._loop is not None and self._ended is not None:
            self._loop.call_soon_threadsafe(self._ended.set)

    async def _run(self, ready: Callable[[], None] | None) -> bool:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._ended.set)
        shells = self._shells()
        telling: asyncio.Task[None] | None = None
        try:
            for shell in shells:
                await shell.start()
            if ready is not None:
                telling = asyncio.create_task(_when_ready(shells, ready))
            await self._ended.wait()
        finally:
            if telling is not None:
                telling.cancel()
            in_order = await self._stop(shells)
        return in_order

    async def _stop(self, shells: list[_Shell]) -> bool:
        """All at once, within the time budget."""
        stopping = {asyncio.create_task(shell.stop()): shell for shell in shells}
        done, late = await asyncio.wait(stopping, timeout=self._grace)
        for task in late:
            _log.error("%s has not ended in %g s: the next worker does its last step again", stopping[task].kind, self._grace)
        self.ended_in_time = not late
        in_order = not late
        for task in done:
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            if error is not None:
                # Its work is safe: every step before was durable. What failed is taking leave of a server that is gone.
                _log.error("%s did not end in good order: %s: %s", stopping[task].kind, type(error).__name__, error)
                in_order = False
        return in_order

    def _shells(self) -> list[_Shell]:
        servers = self._installation.servers
        if set(self._kinds) == set(KINDS):
            # A group of its own: who has a partition does all of its work.
            return [GroupShell(servers, "all", INBOX, self._chain, self.fault)]
        return [self._shell(kind) for kind in self._kinds]

    def _shell(self, kind: str) -> _Shell:
        servers, make = self._installation.servers, self._make(kind)
        if kind in _AGENTS:
            return FaustShell(servers, kind, _TOPICS[kind], make, self.fault)
        return GroupShell(servers, kind, _TOPICS[kind], lambda number: ThreadLane(kind, number, make, self.fault), self.fault)

    def _make(self, kind: str) -> MakeCore:
        return core_of(kind, self._installation, self._extractor, self._embedder)

    def _chain(self, number: int) -> Chain:
        """A model and vectors have threads of their own, as has what looks at whole tables: the turns do not wait for them."""
        at_hand: dict[str, MakeCore] = {kind: self._make(kind) for kind in ("ingest", "extract", "resolve")}
        written = threading.Event()
        at_hand["project"] = lambda number: ProjectCore(self._installation.partition(number), None, written)
        rows: list[dict[str, MakeCore]] = [at_hand]
        if hasattr(self._extractor, "concurrency"):
            rows = [{kind: at_hand[kind] for kind in row} for row in (("ingest",), ("extract",), ("resolve", "project"))]
        rows.append({"summarise": self._make("summarise")})
        if self._embedder is not None:
            rows.append({"vectors": partial(self._vectors, Embedders(self._embedder), written)})
        return Chain(number, rows, self._installation.client.appended_behind, self.fault)

    def _vectors(self, embedders: Embedders, written: threading.Event, number: int) -> Core:
        partition = self._installation.partition(number)
        indexer = partial(LiveIndexer, self._installation, partition, embedders)
        return VectorsCore(partition, indexer, written)


async def _when_ready(shells: list[_Shell], ready: Callable[[], None]) -> None:
    for shell in shells:
        await shell.assigned.wait()
    ready()
