"""Who calls an MCP server, as the transport knows it."""

from __future__ import annotations

from typing import Any, NamedTuple

from mcp.server.context import ServerRequestContext

from ...memory import Memory
from ...schemas.errors import InvalidInput
from ...schemas.scope import check_name

__all__ = ["Asker", "Context", "agent_of"]

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


def agent_of(context: Context) -> str:
    """What the client calls itself, for the record."""
    client = context.session.client_params
    try:
        return check_name("agent", client.client_info.name) if client is not None else "mcp"
    except InvalidInput:
        return "mcp"
