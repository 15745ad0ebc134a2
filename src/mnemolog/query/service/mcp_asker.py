"""Who calls an MCP server, as the transport knows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import anyio.to_thread
from mcp.server.context import ServerRequestContext

from ...memory import Memory
from ...schemas.errors import InvalidInput
from ...schemas.scope import check_name

__all__ = ["Asker", "Context", "Run", "agent_of", "run_in_thread"]

T = TypeVar("T")

Context = ServerRequestContext[Any, Any]
"""One request."""


class Asker(NamedTuple):
    """subject: the one that everything is for, None where each call names it; session: of a message that names none; reads,
    writes: what the caller may do."""

    memory: Memory
    subject: str | None
    session: str
    reads: bool = True
    writes: bool = True


class Run(Protocol):
    """Calls a function in a thread."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


async def run_in_thread(work: Callable[[], T], /) -> T:
    """In a thread of the event loop's own."""
    return await anyio.to_thread.run_sync(work)


def agent_of(context: Context) -> str:
    """What the client calls itself, for the record."""
    client = context.session.client_params
    try:
        return check_name("agent", client.client_info.name) if client is not None else "mcp"
    except InvalidInput:
        return "mcp"
