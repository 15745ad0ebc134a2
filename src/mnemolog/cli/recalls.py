"""What was recalled for which question, and what came of it: `recalls` and `feedback`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ..schemas.errors import InvalidInput
from .codes import Exit
from .home import opened, subject_of
from .output import Output
from .terminal import Paint, fold

if TYPE_CHECKING:
    from ..memory import Memory
    from ..schemas.views import RecallView

__all__ = ["HANDLERS", "RECALLS", "add_recalls"]

RECALLS = {
    "recalls": "which memories were given to which agent for which question",
    "feedback": "say what came of an answer that a recall was for",
}

OUTCOMES = ("success", "partial", "failure", "unused")
"""Those of `FeedbackOutcome`, said again: `--help` imports no schema."""
_COLUMNS = 80
_LOOKED_THROUGH = 1000
_SHORTEST = 18
"""Characters of a recall's id: fewer are little more than its time."""


def add_recalls(made: Mapping[str, argparse.ArgumentParser]) -> None:
    """What each of them takes."""
    made["recalls"].add_argument("--limit", metavar="N", type=int, default=20, help="at most so many (default: 20)")
    made["recalls"].add_argument("--since", metavar="TIME", help="from then on")
    made["recalls"].add_argument(
        "--prune", metavar="DAYS", type=float, help="delete what was recorded of recalls more than so many days ago"
    )
    given = made["feedback"]
    given.add_argument("recall", metavar="RECALL", help=f"its id (the first {_SHORTEST} characters are enough)")
    given.add_argument("outcome", metavar="OUTCOME", choices=OUTCOMES, help=", ".join(OUTCOMES))
    given.add_argument(
        "--memory", metavar="ID", action="append", help="of its memories the one that it is about; may be repeated"
    )
    given.add_argument("--note", metavar="TEXT", default="", help="why")


def recalls(args: argparse.Namespace) -> int:
    """Lists recalls, or deletes old ones."""
    out = Output(json=args.json)
    if args.prune is not None:
        if not 0 <= args.prune <= 36500:
            raise InvalidInput("--prune", "must be a number of days, 0 or more", "--prune 90")
        with opened(args) as memory:
            gone = memory.prune_recalls(datetime.now(UTC) - timedelta(days=args.prune))
        out.value({"deleted": gone})
        out.line(f"deleted {gone} records of recalls")
        return Exit.OK
    with opened(args) as memory:
        rows = memory.recalls(subject=subject_of(args), limit=args.limit, since=args.since)
    out.value(list(rows))
    for view in rows:
        out.lines(_shown(view, out.paint))
        out.line()
    if not rows:
        out.note("no recalls are recorded")
    return Exit.OK


def feedback(args: argparse.Namespace) -> int:
    """Records what came of an answer."""
    out = Output(json=args.json)
    subject = subject_of(args)
    with opened(args) as memory:
        recall = _whole(memory, subject, args.recall)
        receipt = memory.feedback(recall, args.outcome, note=args.note, memories=args.memory, subject=subject)
    out.value({"recall_id": recall, "outcome": args.outcome, "ids": receipt.ids})
    out.line(f"{args.outcome} noted for {recall}")
    return Exit.OK


def _whole(memory: Memory, subject: str | None, given: str) -> str:
    """The id that `given` is or is the beginning of."""
    if len(given) < _SHORTEST or len(given) >= 36:
        return given
    known = [view.recall_id for view in memory.recalls(subject=subject, limit=_LOOKED_THROUGH)]
    found = [item for item in known if item.startswith(given)]
    if len(found) > 1:
        raise InvalidInput("RECALL", f"{given!r} is the beginning of {len(found)} ids", "give more of it")
    return found[0] if found else given


def _shown(view: RecallView, paint: Paint) -> Iterator[str]:
    who = view.agent + (f", session {view.session}" if view.session else "")
    yield paint(fold(view.question, _COLUMNS, "  ", ""), "bold")
    yield paint(f"  {view.recall_id}  {view.recalled_at[:19]}Z  {view.kind}  {who}", "dim")
    for place, memory in enumerate(view.memories, 1):
        by = f"  ({', '.join(memory.routes)})" if memory.routes else ""
        yield f"  {place:>2}. {memory.id}{by}"
    if not view.memories:
        yield "  nothing was found"
    for name, why in view.missing.items():
        yield paint(f"  without {name}: {why}", "yellow")
    for said in view.feedback:
        about = f" ({', '.join(said.memories)})" if said.memories else ""
        note = f": {said.note}" if said.note else ""
        yield paint(fold(f"{said.outcome}{note}{about}", _COLUMNS, "    ", "  "), "cyan")


HANDLERS: dict[str, Callable[[argparse.Namespace], int]] = {"recalls": recalls, "feedback": feedback}
