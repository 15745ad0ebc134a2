"""A worker process: one kind of work, or all of them, until it is told to stop or something unexpected ends it."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from functools import partial
from typing import Protocol

from ...projections.vectors import VectorIndexer
from ...schemas.errors import InvalidInput
from ...schemas.events import CHANGES, DYNAMICS, INBOX, OBSERVATIONS
from ..core.ports import Embedder, Extractor
from .agents import FaustShell
from .core import Core
from .extract import ExtractCore
from .groups import GroupShell
from .indexing import indexer_of
from .ingest import IngestCore
from .installation import Installation, Partition
from .lanes import Fault
from .project import ProjectCore
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
    embedder: Embedder | None,
    *,
    replace_vectors: bool = False,
) -> Callable[[int], Core]:
    """What makes the core of a partition for one kind of work. `embedder`: None where no vectors are wanted;
    `replace_vectors`: it may take the place of another one."""

    def indexer(partition: Partition) -> Callable[[], VectorIndexer] | None:
        if embedder is None:
            return None
        return partial(indexer_of, installation, partition, embedder, replace=replace_vectors)

    def make(number: int) -> Core:
        partition = installation.partition(number)
        if kind == "ingest":
            return IngestCore(partition)
        if kind == "extract":
            return ExtractCore(partition, extractor)
        if kind == "resolve":
            return ResolveCore(partition, installation.policy)
        if kind == "project":
            return ProjectCore(partition, indexer(partition))
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
        embedder: Embedder | None,
        *,
        grace: float = 20.0,
        replace_vectors: bool = False,
    ) -> None:
        self._replace_vectors = replace_vectors
        self._installation, self._kinds, self._grace = installation, kinds, grace
        self._extractor, self._embedder = extractor, embedder
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
        shells = [self._shell(kind) for kind in self._kinds]
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

    def _shell(self, kind: str) -> _Shell:
        make = core_of(kind, self._installation, self._extractor, self._embedder, replace_vectors=self._replace_vectors)
        shell = FaustShell if kind in _AGENTS else GroupShell
        return shell(self._installation.servers, kind, _TOPICS[kind], make, self.fault)


async def _when_ready(shells: list[_Shell], ready: Callable[[], None]) -> None:
    for shell in shells:
        await shell.assigned.wait()
    ready()
