"""Why, what came of it, and who changed what: `audit`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..schemas.errors import InvalidInput
from .codes import Exit
from .home import one_of, opened, subject_of
from .output import Output

if TYPE_CHECKING:
    from ..memory import Memory

__all__ = ["AUDIT", "HANDLERS", "add_audit"]

AUDIT = {"audit": "why something is believed, what a turn came to, who changed what"}

_ACTIONS = ("why", "influence", "extractor", "report")


def add_audit(made: Mapping[str, argparse.ArgumentParser]) -> None:
    """What it takes."""
    given = made["audit"]
    given.add_argument(
        "action",
        choices=_ACTIONS,
        help="why: from a memory to the words; influence: from a turn on; extractor: all of one; report: of a period",
    )
    given.add_argument(
        "id",
        nargs="?",
        metavar="ID",
        help="of a Form, hit, edge, question, entry, turn, decision, observation or recall; influence: the turn; "
        "extractor: its name",
    )
    given.add_argument("slot", nargs="?", metavar="SLOT", help="why: of a Form, what stands in this slot")
    given.add_argument("--version", dest="number", metavar="N", type=int, help="why: that version of the slot")
    given.add_argument("--week", metavar="WEEK", help="why: of a week's summary, such as 2026-W19")
    given.add_argument("--line", metavar="N", type=int, help="why: of one line of it, from 1")
    given.add_argument("--source", metavar="NAME", help="influence: the source of the turn (default: the first of that id)")
    given.add_argument("--model", metavar="NAME", default="", help="extractor: of this model")
    given.add_argument("--prompt-hash", metavar="HASH", default="", help="extractor: of this prompt (its beginning is enough)")
    given.add_argument("--since", metavar="TIME", help="report: recorded from then on")
    given.add_argument("--until", metavar="TIME", help="report: recorded before then (default: until now)")
    given.add_argument("--limit", metavar="N", type=int, help="at most so many are told one by one")


def audit(args: argparse.Namespace) -> int:
    """Tells one of the four."""
    return _TOLD[args.action](args, Output(json=args.json))


def _why(args: argparse.Namespace, out: Output) -> int:
    from . import show_audit

    if (args.id is None) == (args.week is None):
        raise InvalidInput(
            "ID", "or --week says what to audit", "give one of them; `mnemolog forms` lists Forms with their ids"
        )
    subject = subject_of(args)
    with opened(args) as memory:
        asked: dict[str, Any] = {"week": args.week, "line": args.line} if args.week else _asked(memory, subject, args)
        found = memory.audit(**asked, subject=subject, **_limit(args))
    out.value(found)
    out.lines(show_audit.audit(found, out.paint, show_audit.columns()))
    return Exit.OK


def _asked(memory: Memory, subject: str | None, args: argparse.Namespace) -> dict[str, Any]:
    if args.slot is None:
        if args.number is not None:
            raise InvalidInput("--version", "goes with a Form and a slot", "mnemolog audit why FORM SLOT --version 2")
        return {"id": args.id}
    forms = [form.form_id for form in memory.forms(subject=subject, retired=True)]
    # A Form that is hidden is listed nowhere, but is audited by its whole id.
    form_id = args.id if len(args.id) >= 36 else one_of("form", args.id, forms, "`mnemolog forms` lists them with their ids")
    return {"form_id": form_id, "slot": args.slot, "version": args.number}


def _influence(args: argparse.Namespace, out: Output) -> int:
    from . import show_audit

    if args.id is None:
        raise InvalidInput("ID", "is missing", "give the id of a turn: `mnemolog history` and `search` name them")
    with opened(args) as memory:
        found = memory.influence(args.id, source=args.source, subject=subject_of(args), **_limit(args))
    out.value(found)
    out.lines(show_audit.influence(found, out.paint, show_audit.columns()))
    return Exit.OK


def _extractor(args: argparse.Namespace, out: Output) -> int:
    from . import show_audit

    subject = subject_of(args, needed=False)
    with opened(args) as memory:
        found = memory.extractor_influence(
            args.id or "", model=args.model, prompt_hash=args.prompt_hash, subject=subject, **_limit(args)
        )
    out.value(found)
    out.lines(show_audit.extractor(found, out.paint, show_audit.columns()))
    return Exit.OK


def _report(args: argparse.Namespace, out: Output) -> int:
    from . import show_audit

    if args.since is None:
        raise InvalidInput("--since", "is missing", "say from when on: --since 2026-05-01")
    width = show_audit.columns()
    with opened(args) as memory:
        found = memory.audit_report(
            args.since,
            args.until,
            subject=subject_of(args, needed=False),
            limit=args.limit if args.limit is not None else 1000 if out.json else 0,
            each=None if out.json else lambda row: out.lines(show_audit.report_row(row, out.paint, width)),
        )
    out.value(found)
    out.lines(show_audit.totals(found, out.paint, width))
    return Exit.OK


def _limit(args: argparse.Namespace) -> dict[str, Any]:
    return {} if args.limit is None else {"limit": args.limit}


_TOLD: dict[str, Callable[[argparse.Namespace, Output], int]] = {
    "why": _why,
    "influence": _influence,
    "extractor": _extractor,
    "report": _report,
}
HANDLERS: dict[str, Callable[[argparse.Namespace], int]] = {"audit": audit}
