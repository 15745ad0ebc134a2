"""What all routes of one running service share: the memory, the keys, the limits and what is measured."""

from __future__ import annotations

import asyncio
import time
from asyncio import Future
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import msgspec
from fastapi import Depends, Request

from ...face.operations import Standing
from ...memory import Memory
from ...schemas.access import Sight, View
from ...schemas.envelope import DEFAULT_SOURCE
from .keys import ApiKey, KeyRing, Permission
from .limits import Limits, RateLimiter
from .metrics import Metrics
from .problems import ProblemError
from .strict import refuse_twice
from .workers import Workers

__all__ = ["Admin", "Caller", "Reader", "Service", "Writer", "service_of"]

T = TypeVar("T")

_STANDING_SECONDS = 2.0
"""So long an answer about how far everything is counts as new."""


class Caller(msgspec.Struct, frozen=True):
    """Who asks: the key, and the memory as that key sees it."""

    key: ApiKey
    memory: Memory
    source: str
    """Of what it writes where it names none."""

    @property
    def tenant(self) -> str:
        return self.key.tenant


class Service:
    """Serves one memory. keys: None where nobody is asked for one (on this machine alone); `tenant` is then whose it is."""

    def __init__(self, memory: Memory, keys: KeyRing | None, *, limits: Limits | None = None, tenant: str = "default") -> None:
        self.memory, self.keys = memory, keys
        self.limits = Limits() if limits is None else limits
        self.limiter = RateLimiter(self.limits.rate, self.limits.burst)
        self.metrics = Metrics()
        self.workers = Workers(self.limits.threads, self.limits.queue)
        self.watchers = Workers(1, 0)
        """For how far the memory is behind, so that this is told while all others are busy."""
        self.keepers = Workers(1, 0)
        """For the keys: a slow look at the memory keeps nobody out."""
        self._open = ApiKey(id="none", tenant=tenant, permissions=("admin",), view=View("no keys"))
        self._callers: dict[ApiKey, Caller] = {}
        self._standing: tuple[float, Standing] | None = None
        self._look: Future[Standing] | None = None
        self._refresh: Future[None] | None = None

    def caller(self, key: ApiKey | None) -> Caller:
        """Whoever holds a key; without one, whoever asks on this machine."""
        found = self._open if key is None else key
        caller = self._callers.get(found)
        if caller is None:
            if len(self._callers) > 10_000:
                self._callers.clear()
            sight = Sight(found.tenant, (found.view,))
            memory = self.memory.seen_by(found.view, tenant=found.tenant)
            caller = self._callers[found] = Caller(found, memory, sight.writes_as(DEFAULT_SOURCE))
        return caller

    async def standing(self) -> Standing:
        """How far the memory is behind, looked at anew every few seconds at most."""
        known = self._standing
        if known is not None and time.monotonic() - known[0] <= _STANDING_SECONDS:
            return known[1]
        self._look = _shared(self._look, self.watchers, self.memory.standing)
        found = await asyncio.shield(self._look)
        self._standing = (time.monotonic(), found)
        return found

    async def refresh(self, ring: KeyRing) -> None:
        """Reads the keys anew, once for all who wait for it: a burst of requests must not fill the queue with the same look."""
        self._refresh = _shared(self._refresh, self.keepers, ring.refresh)
        await asyncio.shield(self._refresh)

    def close(self) -> None:
        """Ends its threads and its look at the keys; the memory is its owner's to close."""
        self.workers.close()
        self.watchers.close()
        self.keepers.close()
        if self.keys is not None:
            self.keys.close()


def _shared(running: Future[T] | None, workers: Workers, call: Callable[[], T]) -> Future[T]:
    """The call that runs already, or a new one."""
    if running is not None and not running.done():
        return running
    begun = asyncio.ensure_future(workers.run(call))
    begun.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # whoever waits may have gone away
    return begun


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service


def _with(permission: Permission) -> Callable[[Request], Awaitable[Caller]]:
    async def caller(request: Request) -> Caller:
        refuse_twice(request)
        found: Caller = request.state.caller
        if not found.key.may(permission):
            raise ProblemError(
                403, "not-permitted", f"this key may not {permission}: it has {', '.join(found.key.permissions)}"
            )
        return found

    return caller


Reader = Annotated[Caller, Depends(_with("read"))]
Writer = Annotated[Caller, Depends(_with("write"))]
Admin = Annotated[Caller, Depends(_with("admin"))]
