"""The face for asyncio: the methods of Memory, each run in a thread, on the same engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from os import PathLike
from typing import Any, Concatenate, ParamSpec, TypeVar

from .memory import Memory
from .schemas.access import View

__all__ = ["AsyncMemory"]

P = ParamSpec("P")
R = TypeVar("R")


def _threaded(method: Callable[Concatenate[Memory, P], R]) -> Callable[Concatenate[AsyncMemory, P], Awaitable[R]]:
    """The same method of the Memory inside, run in a thread so that the event loop goes on."""

    def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        return asyncio.to_thread(method, self.memory, *args, **kwargs)

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


class AsyncMemory:
    """A Memory for asyncio: the same methods, awaited. `AsyncMemory(memory)` shares that memory and its engine;
    `AsyncMemory.open(...)` takes the arguments of Memory."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @classmethod
    async def open(cls, path: str | PathLike[str] | None = None, tenant: str = "default", **options: Any) -> AsyncMemory:
        return cls(await asyncio.to_thread(Memory, path, tenant, **options))

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @classmethod
    async def connect(cls, tenant: str = "default", **options: Any) -> AsyncMemory:
        """On the servers that the environment names."""
        return cls(await asyncio.to_thread(partial(Memory.connect, tenant, **options)))

    def seen_by(self, view: View, *, tenant: str | None = None) -> AsyncMemory:
        """`Memory.seen_by` for asyncio; nothing is waited for."""
        return AsyncMemory(self.memory.seen_by(view, tenant=tenant))

    close = _threaded(Memory.close)
    add = _threaded(Memory.add)
    add_events = _threaded(Memory.add_events)
    end_session = _threaded(Memory.end_session)
    confirm = _threaded(Memory.confirm)
    reject = _threaded(Memory.reject)
    correct = _threaded(Memory.correct)
    delete = _threaded(Memory.delete)
    delete_user = _threaded(Memory.delete_user)
    reextract = _threaded(Memory.reextract)
    search = _threaded(Memory.search)
    context = _threaded(Memory.context)
    check = _threaded(Memory.check)
    fetch = _threaded(Memory.fetch)
    forms = _threaded(Memory.forms)
    get = _threaded(Memory.get)
    history = _threaded(Memory.history)
    timeline = _threaded(Memory.timeline)
    summaries = _threaded(Memory.summaries)
    pending = _threaded(Memory.pending)
    edges = _threaded(Memory.edges)
    operation = _threaded(Memory.operation)
    standing = _threaded(Memory.standing)
    recalls = _threaded(Memory.recalls)
    feedback = _threaded(Memory.feedback)
    prune_recalls = _threaded(Memory.prune_recalls)
    warm = _threaded(Memory.warm)
    wait = _threaded(Memory.wait)
    process = _threaded(Memory.process)
    seal = _threaded(Memory.seal)
    audit = _threaded(Memory.audit)
    influence = _threaded(Memory.influence)
    extractor_influence = _threaded(Memory.extractor_influence)
    audit_report = _threaded(Memory.audit_report)
    verify = _threaded(Memory.verify)
    rebuild = _threaded(Memory.rebuild)
    rollback = _threaded(Memory.rollback)
    rebuild_vectors = _threaded(Memory.rebuild_vectors)
    drop_old_vectors = _threaded(Memory.drop_old_vectors)
    versions = _threaded(Memory.versions)
    fall_back = _threaded(Memory.fall_back)
    drop_version = _threaded(Memory.drop_version)
    stats = _threaded(Memory.stats)
