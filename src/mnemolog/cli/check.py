"""`mnemolog check`: what to ask before a message is answered, with the values that stand against each other."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from . import show
from .codes import Exit
from .home import opened, subject_of
from .output import Output
from .past import when_of
from .terminal import Paint, fold

if TYPE_CHECKING:
    from ..query.check import Doubt

__all__ = ["CHECK", "HANDLERS", "add_check"]

CHECK = {"check": "what to ask the user before a message is answered"}
_WHY = {
    "differs": "the message says otherwise than what is confirmed",
    "contradicts": "what was heard contradicts what is confirmed",
    "several": "there is more than one candidate",
    "passed": "its date is over",
    "long_ago": "it changes, and was not said for long",
}


def add_check(made: Mapping[str, argparse.ArgumentParser]) -> None:
    """What it takes."""
    made["check"].add_argument("message", metavar="MESSAGE", help="what the user is about to be answered; it is not recorded")
    made["check"].add_argument("--limit", metavar="N", type=int, default=3, help="at most so many questions (default: 3)")
    made["check"].add_argument("--now", metavar="TIME", help='when it is said, which "long ago" counts from (default: now)')
    made["check"].add_argument(
        "--also", metavar="SUBJECT", action="append", default=[], help="look there too; may be repeated (project:apollo)"
    )


def check(args: argparse.Namespace) -> int:
    """Lists the questions, those first on which most depends."""
    out = Output(json=args.json)
    with opened(args) as memory:
        doubts = memory.check(
            args.message, subject=subject_of(args), also=args.also, limit=args.limit, now=args.now, **when_of(args)
        )
    out.value(list(doubts))
    for doubt in doubts:
        out.lines(_shown(doubt, out.paint))
        out.line()
    if not doubts:
        out.note("nothing that it touches is in doubt")
    return Exit.OK


def _shown(doubt: Doubt, paint: Paint) -> Iterator[str]:
    yield paint(fold(doubt.question, show.COLUMNS, "  "), "yellow")
    yield fold(f"{doubt.kind}: {_WHY.get(doubt.why) or 'not clear enough to be believed'}", show.COLUMNS, "    ", "  ")
    for held in doubt.values:
        source = f' from "{held.quote}"' + (f" ({held.event_id})" if held.event_id else "")
        line = f"{held.value}, {held.status} {show.day(held.since)}{source if held.quote else ''}"
        yield paint(fold(line, show.COLUMNS, "    ", "  "), "dim")
    if doubt.pending_id:
        yield paint(f"  {doubt.pending_id}", "dim")


HANDLERS: dict[str, Callable[[argparse.Namespace], int]] = {"check": check}
