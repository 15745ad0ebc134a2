"""Publishing turns to the inbox, from an agent's event loop.

Invariants: each turn has a result of its own, within a deadline of our own; what was acknowledged lies in the inbox, what was
not may or may not, and the same id again is harmless. What one publisher was given for a scope lies there in that order. Memory
is bounded: whoever publishes faster than the broker acknowledges waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TypedDict, Unpack

import msgspec

from ..schemas.envelope import DEFAULT_SOURCE, Envelope, headers_of
from ..schemas.errors import Closed, InvalidInput
from ..schemas.events import DYNAMICS, EVENTS
from ..schemas.scope import Scope, check_name
from ..schemas.times import to_text
from ..schemas.tokens import inbox_token
from .inbox import InboxSender
from .turns import Message, TimeLike, resolve_session, resolve_subject, turns_of

__all__ = ["Published", "TurnFields", "TurnPublisher"]

_UNIT = 16 * 1024
"""Bytes of a turn that take one place of the buffer."""
_REMEMBERED = 10_000
"""Turns whose time is kept for a retry."""


class Published(msgspec.Struct, frozen=True):
    """A turn that lies in the inbox. `token` is what a read waits with for it to be in memory."""

    id: str
    token: str
    partition: int
    offset: int


class TurnFields(TypedDict, total=False):
    """What can be said of a turn beside its words; as for `Memory.add`."""

    user_id: str | int | None
    subject: str | None
    agent_id: str | int | None
    run_id: str | int | None
    session: str | None
    speaker: str | None
    role: str | None
    occurred_at: TimeLike | None
    id: str | None
    source: str
    metadata: Mapping[str, Any] | None
    expires_at: TimeLike | None
    importance: float | None
    tenant: str | None


class TurnPublisher:
    """Publishes to one installation; used from one event loop, by any number of its tasks::

        async with TurnPublisher("localhost:9092", tenant="acme") as publisher:
            done = await publisher.publish("I prefer oat milk.", user_id="42")

    bootstrap: `host:port[,host:port]`; tenant: of turns that name none; prefix: of the installation's topics; linger: seconds
    that a turn may wait for others to go with it; buffer: places for turns that are on their way, one for each 16 KiB of a
    turn; timeout: seconds until a turn that was not acknowledged counts as failed.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        tenant: str = "default",
        prefix: str = "",
        linger: float = 0.002,
        buffer: int = 1000,
        timeout: float = 30.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if buffer < 1:
            raise InvalidInput("buffer", f"is {buffer}", "give at least 1")
        if timeout <= 0:
            raise InvalidInput("timeout", f"is {timeout}", "give seconds above 0")
        if linger < 0:
            raise InvalidInput("linger", f"is {linger}", "give seconds, or 0")
        self._tenant = Scope(tenant, "-").tenant
        self._clock = clock
        self._timeout = timeout
        self._sender = InboxSender(bootstrap, prefix=prefix, linger=linger, timeout=timeout)
        self._buffer = buffer
        self._places = asyncio.Semaphore(buffer)
        self._entry = asyncio.Lock()
        self._open: set[asyncio.Future[None]] = set()
        self._times: dict[tuple[str, str], dict[str, str]] = {}
        self._remembered = 0
        self._closed = False

    async def __aenter__(self) -> TurnPublisher:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Connects. Raises Unavailable where no broker answers in time, Misconfigured where there is no inbox; then it is
        closed."""
        self._check_open()
        try:
            await self._sender.start()
        except BaseException:
            self._closed = True
            await self._sender.close()
            raise

    async def publish(self, message: str | Message, **fields: Unpack[TurnFields]) -> Published:
        """Publishes a text or an OpenAI-style message, and returns once all in-sync replicas have it.

        Raises InvalidInput naming the field; Unavailable when it was not acknowledged in time: it may be there all the same,
        publish it again with the same id. Cancelled, it may be there too.
        """
        return await (await self.send(message, **fields))

    async def send(self, message: str | Message, **fields: Unpack[TurnFields]) -> asyncio.Future[Published]:
        """As `publish`, but returns as soon as there is a place in the buffer; the result comes with the future."""
        if not isinstance(message, str | Mapping):
            raise InvalidInput("message", f"must be text or one message, not {type(message).__name__}", "or use publish_all")
        [event] = self._events(message, fields)
        return await self._send(event)

    async def publish_all(self, messages: Sequence[Message], **fields: Unpack[TurnFields]) -> list[Published]:
        """Publishes messages in order. With `id`, theirs are `<id>:0`, `<id>:1`, ... Raises what the first one that failed
        raised; the others may be there."""
        return await self._publish(self._events(messages, fields))

    async def publish_envelopes(self, events: Sequence[Envelope]) -> list[Published]:
        """Publishes ready-made inputs in order: corrections, retractions, turns that were made before."""
        for event in events:
            kind = EVENTS.get(event.type)
            if kind is None or kind.topic != DYNAMICS:
                raise InvalidInput("type", f"{event.type!r} is not an input")
            event.check()
        return await self._publish(events)

    async def flush(self) -> None:
        """Waits until everything that was sent so far has its result."""
        if waiting := list(self._open):
            await asyncio.wait(waiting)

    async def close(self) -> None:
        """Flushes, then disconnects; within the deadline. What was not acknowledged by then has failed. May be called twice."""
        self._closed = True
        try:
            await self.flush()
        finally:
            await self._sender.close()

    # -- within --------------------------------------------------------------------------------------------------------

    def _events(self, messages: str | Message | Sequence[Message], fields: TurnFields) -> list[Envelope]:
        self._check_open()
        unknown = sorted(set(fields) - TurnFields.__optional_keys__)
        if unknown:
            raise TypeError(f"a turn has no {unknown[0]!r}; known: {', '.join(sorted(TurnFields.__optional_keys__))}")
        agent, source = fields.get("agent_id"), fields.get("source", DEFAULT_SOURCE)
        scope = Scope(
            self._tenant if (tenant := fields.get("tenant")) is None else tenant,
            resolve_subject(fields.get("subject"), fields.get("user_id"), agent),
        )
        return turns_of(
            messages,
            scope,
            now=to_text(self._clock()),
            session=resolve_session(fields.get("session"), fields.get("run_id")),
            speaker=fields.get("speaker"),
            agent=None if agent is None else check_name("agent_id", str(agent)),
            role=fields.get("role"),
            occurred_at=fields.get("occurred_at"),
            event_id=fields.get("id"),
            source=source,
            metadata=fields.get("metadata"),
            expires_at=fields.get("expires_at"),
            importance=fields.get("importance"),
            first_times=self._times.get((str(scope), source)),
        )

    async def _publish(self, events: Sequence[Envelope]) -> list[Published]:
        results: list[asyncio.Future[Published]] = []
        try:
            for event in events:
                results.append(await self._send(event))  # noqa: PERF401 - those before one that fails are needed
        except BaseException:
            for result in results:
                result.add_done_callback(_look_at)
            raise
        done = await asyncio.gather(*results, return_exceptions=True)
        for item in done:
            if isinstance(item, BaseException):
                raise item
        return [item for item in done if isinstance(item, Published)]

    async def _send(self, event: Envelope) -> asyncio.Future[Published]:
        self._check_open()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout
        value = event.to_bytes()
        places = min(1 + len(value) // _UNIT, self._buffer)
        settled: asyncio.Future[None] = loop.create_future()
        self._open.add(settled)
        held = 0
        try:
            async with self._sender.until(deadline):
                async with self._entry:
                    for _ in range(places):
                        await self._places.acquire()
                        held += 1
                sent = await self._sender.send(str(event.scope), value, headers_of(event), deadline)
        except BaseException:
            self._settle(settled, held)
            self._remember(event)
            raise
        result: asyncio.Future[Published] = loop.create_future()

        def arrived(_: object) -> None:
            self._settle(settled, held)
            error = sent.exception()
            if error is not None or result.done():
                self._remember(event)
            if result.done():
                return
            if error is not None:
                result.set_exception(error)
            else:
                token = inbox_token(event.scope, event.source, event.id)
                result.set_result(Published(event.id, token, *sent.result()))

        sent.add_done_callback(arrived)
        return result

    def _settle(self, settled: asyncio.Future[None], held: int) -> None:
        for _ in range(held):
            self._places.release()
        self._open.discard(settled)
        settled.set_result(None)

    def _remember(self, event: Envelope) -> None:
        """A retry that does not say when it happened happened when it was first tried."""
        self._times.setdefault((str(event.scope), event.source), {})[event.id] = event.time
        self._remembered += 1
        if self._remembered > _REMEMBERED:
            self._remembered -= len(self._times.pop(next(iter(self._times))))

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("this publisher was closed: make another one")


def _look_at(result: asyncio.Future[Published]) -> None:
    """Its error is known from elsewhere."""
    if not result.cancelled():
        result.exception()
