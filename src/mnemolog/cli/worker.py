"""`mnemolog worker`: one kind of work on the servers that the environment names, or all kinds, until it is told to stop."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
from typing import TYPE_CHECKING

from ..adapters.embedders import EMBEDDERS
from ..schemas.errors import InvalidInput
from .codes import Exit
from .home import named_embedder
from .numbers import at_least_zero

if TYPE_CHECKING:
    from ..processors.core.ports import Extractor
    from ..processors.pipeline.installation import Installation
    from ..processors.pipeline.live_vectors import Chosen
    from ..schemas.registry import Registry

__all__ = ["add_options", "worker"]

_CLOSE_SECONDS = 10.0

KINDS = ("ingest", "extract", "resolve", "summarise", "project", "all")


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("kind", choices=KINDS, help="which work; all: everything in one process")
    parser.add_argument("--no-vectors", action="store_true", help="project: compute no vectors")
    parser.add_argument(
        "--embedder",
        metavar="NAME",
        help=f"project: compute vectors of this one, {' or '.join(EMBEDDERS)} (default: of the one that answers, also after "
        "another one has taken its place)",
    )
    parser.add_argument(
        "--model", metavar="NAME", help="extract: a model behind an OpenAI-compatible server, instead of offline"
    )
    parser.add_argument("--model-url", metavar="URL", help="extract: that server, such as http://127.0.0.1:8080/v1")
    parser.add_argument(
        "--grace", type=at_least_zero, default=20.0, metavar="SECONDS", help="how long a stop may take (default 20)"
    )


def worker(args: argparse.Namespace) -> int:
    """Runs until SIGTERM or Ctrl-C; exit code 0 after a stop in good order, 70 where something unexpected ended it."""
    from ..settings import Servers

    servers = Servers.from_environment()
    if servers is None:
        raise InvalidInput("MNEMOLOG_KAFKA", "is not set", "name the servers: MNEMOLOG_KAFKA and MNEMOLOG_DATABASE")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING, stream=sys.stderr)
    if not os.environ.get("MNEMOLOG_DEBUG"):
        # While a broker is away they say so a thousand times a second; our own lines say it once.
        for name in ("aiokafka", "faust", "mode"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    from ..processors.pipeline.installation import Installation
    from ..processors.pipeline.worker import KINDS as EVERY
    from ..processors.pipeline.worker import Worker

    kinds = EVERY if args.kind == "all" else (args.kind,)
    installation = Installation(servers)
    work: Worker | None = None
    try:
        embedder = _embedder(args) if "project" in kinds else None
        work = Worker(
            installation,
            kinds,
            _extractor(args, installation.registry),
            embedder,
            grace=args.grace,
        )
        ended = work.run(lambda: _say(f"{', '.join(kinds)}: ready"))
    finally:
        if work is not None and not work.ended_in_time:
            _leave(Exit.BUSY if work.fault.error is None else Exit.BUG)
        _close(installation)
    _say("ended" if ended else "ended, but not in good order")
    return Exit.OK if ended else Exit.BUSY


def _close(installation: Installation) -> None:
    """Takes leave of the servers; of those that do not answer any more, without them."""
    last = threading.Timer(_CLOSE_SECONDS, _leave, (Exit.BUSY,))
    last.daemon = True
    last.start()
    installation.close()
    last.cancel()


def _leave(code: int) -> None:
    """Ends the process though something in it still waits for a server."""
    _say("ended late")
    logging.shutdown()
    os._exit(code)


def _extractor(args: argparse.Namespace, registry: Registry) -> Extractor:
    if args.model:
        from ..adapters.models.openai import OpenAIExtractor

        if not args.model_url:
            raise InvalidInput("--model-url", "is missing", "name the server that has the model")
        return OpenAIExtractor(args.model_url, args.model, os.environ.get("MNEMOLOG_MODEL_KEY", ""), registry=registry)
    from ..processors.core.extract import OfflineExtractor

    return OfflineExtractor(registry)


def _embedder(args: argparse.Namespace) -> Chosen:
    if args.no_vectors:
        if args.embedder is not None:
            raise InvalidInput("--embedder", "and --no-vectors contradict each other", "give one of them")
        return None
    return "live" if args.embedder is None else named_embedder(args.embedder)


def _say(text: str) -> None:
    print(f"mnemolog worker: {text}", file=sys.stderr, flush=True)
