"""The ways to an MCP server: the pipes of a process that a host starts, and streamable HTTP. Over pipes nothing but the
protocol is ever written to stdout; over HTTP a page of a stranger's site cannot reach it through a browser."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ...memory import Memory
from .mcp import server_of
from .mcp_asker import Asker, Context

__all__ = ["PATH", "McpEndpoint", "local_app", "serve_stdio", "session_of"]

PATH = "/mcp"

_LOCAL = TransportSecuritySettings(
    allowed_hosts=["127.0.0.1:*", "localhost:*", "[::1]:*"],
    allowed_origins=["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"],
)
_BEHIND_A_DOOR = TransportSecuritySettings(enable_dns_rebinding_protection=False)


def serve_stdio(memory: Memory, subject: str | None) -> None:
    """Serves the process that started this one until it closes the pipe."""
    session = f"mcp-{uuid.uuid4()}"
    server = server_of(lambda _: Asker(memory, subject, session))

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)


def local_app(memory: Memory, subject: str | None) -> Starlette:
    """Streamable HTTP at /mcp for whoever is on this machine, without keys: only requests to a local address are answered."""
    endpoint = McpEndpoint(server_of(lambda context: Asker(memory, subject, session_of(context))))

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        async with endpoint.run():
            yield

    return Starlette(routes=[Route(PATH, endpoint=endpoint)], lifespan=running)


def session_of(context: Context) -> str:
    """The session that a request over HTTP belongs to."""
    named = "" if context.request is None else context.request.headers.get("mcp-session-id", "")
    return f"mcp-{named}" if named.isalnum() and len(named) <= 64 else "mcp"


class McpEndpoint:
    """An ASGI application for one path. owner: whose a request is, where somebody else has let the caller in before; a session
    is then only continued by whoever began it. Without it only requests to this machine's own address are answered."""

    path_format = PATH
    """As what a request counts where requests are counted by route."""

    def __init__(self, server: Server[Any], *, owner: Callable[[Scope], str] | None = None) -> None:
        self._owner = owner
        self._manager = StreamableHTTPSessionManager(server, security_settings=_LOCAL if owner is None else _BEHIND_A_DOOR)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Requests are answered meanwhile. Once in the life of an endpoint."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("route", self)
        if self._owner is not None:
            headers = Headers(scope=scope)
            origin = headers.get("origin")
            if origin is not None and urlsplit(origin).netloc != headers.get("host"):
                await PlainTextResponse("pages of another origin may not ask", 403)(scope, receive, send)
                return
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=self._owner(scope), scopes=[]))
        await self._manager.handle_request(scope, receive, send)
