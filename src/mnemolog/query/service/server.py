"""The process that serves: uvicorn around the application, until it is told to stop. Requests that have begun are answered
before it ends, as long as a stop may take."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

__all__ = ["DEFAULT_PORT", "is_loopback", "serve"]

DEFAULT_PORT = 8420
_IDLE_SECONDS = 30
"""So long a connection may be idle between two requests."""
_SWITCH_SECONDS = 0.001


class _Server(uvicorn.Server):
    """Tells when it listens, and where; ends on a signal without handing it on, so that what is behind it can be closed."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str, int], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._ready(host, port)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def serve(app: ASGIApp, *, host: str, port: int, grace: float, ready: Callable[[str, int], None]) -> bool:
    """Serves until SIGTERM or Ctrl-C; whether it had begun to. port: 0 takes a free one; ready: is told the address; grace:
    seconds that requests have to end in."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        lifespan="on",
        http="h11",  # which holds no more than 64 KiB of a head; another one that is installed beside it may hold any number
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=max(round(grace), 1),
    )
    server = _Server(config, ready)
    # Turns are processed in this process, too: an answer waits for that work a millisecond at a time, not five.
    sys.setswitchinterval(_SWITCH_SECONDS)
    # What is loaded by now stays to the end: looking through it for what is not used any more would stop every thread for as
    # long as several answers take.
    gc.collect()
    gc.freeze()
    with contextlib.suppress(KeyboardInterrupt, SystemExit):
        asyncio.run(server.serve())
    return server.started


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
