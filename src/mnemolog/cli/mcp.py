"""`mcp`: the memory as a tool server for an agent's host, over pipes or on a local port."""

from __future__ import annotations

import argparse
import logging
import sys

from ..schemas.errors import InvalidInput, Unavailable
from .codes import Exit
from .home import opened, subject_of

__all__ = ["MCP", "add_mcp", "mcp"]

MCP = {"mcp": "serve the memory to an agent over the Model Context Protocol"}
_WHERE = "127.0.0.1"
_STOP_SECONDS = 3


def add_mcp(mcp: argparse.ArgumentParser) -> None:
    """What it takes."""
    mcp.add_argument("folder", nargs="?", metavar="FOLDER", help="the folder; short for --home FOLDER")
    mcp.add_argument(
        "--http", metavar="PORT", type=int, help=f"on http://{_WHERE}:PORT/mcp instead of stdin and stdout (0: any)"
    )


def mcp(args: argparse.Namespace) -> int:
    """Serves until stdin ends, or over HTTP until it is told to stop."""
    if args.folder is not None:
        if getattr(args, "home", None) is not None:
            raise InvalidInput("FOLDER", "and --home both say where the memory is", "give one of them")
        args.home = args.folder
    if args.http is not None and not 0 <= args.http <= 65535:
        raise InvalidInput("--http", f"{args.http} is no port", "give one from 1 to 65535, or 0 for any that is free")
    try:
        from ..query.service import mcp_transports as transports
    except ModuleNotFoundError as error:
        raise InvalidInput("mcp", f"needs the package {error.name}", "pip install 'mnemolog[server]'") from None
    subject = subject_of(args, needed=False)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="mnemolog: %(levelname)s %(name)s: %(message)s")
    with opened(args, make=True) as memory:
        if args.http is None:
            if sys.stdin.isatty():
                sys.stderr.write("mnemolog: MCP on stdin and stdout, for a host that starts this command; Ctrl-C ends it\n")
            transports.serve_stdio(memory, subject)
            return Exit.OK
        from ..query.service.server import serve

        app = transports.local_app(memory, subject)
        if not serve(app, host=_WHERE, port=args.http, grace=_STOP_SECONDS, ready=_listening):
            raise Unavailable(f"port {args.http} of {_WHERE} cannot be used: give another one with --http, or 0")
    return Exit.OK


def _listening(host: str, port: int) -> None:
    sys.stderr.write(f"mnemolog: MCP at http://{host}:{port}/mcp\n")
    sys.stderr.flush()
