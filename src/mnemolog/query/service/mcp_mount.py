"""The MCP server behind the service's own door: the same keys, limits and threads; what a key may see and do decides which
tools it has and for whom they work."""

from __future__ import annotations

from starlette.types import Scope

from .mcp import server_of
from .mcp_asker import Asker, Context
from .mcp_transports import PATH, McpEndpoint, session_of
from .service import Caller, Service

__all__ = ["PATH", "mcp_of"]


def mcp_of(service: Service) -> McpEndpoint:
    """The endpoint for `PATH`. The door has let the caller in before, and left it in the request's state."""
    return McpEndpoint(server_of(_asker, run=service.workers.run), owner=_owner)


def _asker(context: Context) -> Asker:
    assert context.request is not None  # noqa: S101 - over HTTP there is one
    caller: Caller = context.request.scope["state"]["caller"]
    key = caller.key
    return Asker(caller.memory, _only_subject(caller), session_of(context), key.may("read"), key.may("write"))


def _only_subject(caller: Caller) -> str | None:
    """The subject of a key that sees one alone."""
    subjects = caller.key.view.subjects or ()
    return subjects[0] if len(subjects) == 1 and not subjects[0].endswith("*") else None


def _owner(scope: Scope) -> str:
    caller: Caller = scope["state"]["caller"]
    return caller.key.id
