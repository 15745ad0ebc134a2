"""`mnemolog rollback`: what would change is shown first; it is written once somebody has said yes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..schemas.errors import InvalidInput
from .codes import Exit
from .home import one_of, opened, subject_of
from .output import Output

if TYPE_CHECKING:
    from ..memory import Memory
    from ..replay.rollback import FormDifference, RollbackReport, SlotDifference
    from .terminal import Paint

__all__ = ["HANDLERS", "ROLLBACK", "add_rollback", "differences"]

ROLLBACK = {"rollback": "put a slot, a Form or all that is believed back to how it stood"}


def add_rollback(made: Mapping[str, argparse.ArgumentParser]) -> None:
    """What it takes."""
    parser = made["rollback"]
    parser.add_argument(
        "--to", metavar="ID|TIME", required=True, help="right after this input (the start of its id is enough), or at this time"
    )
    parser.add_argument("--form", metavar="FORM", help="only this Form (the start of its id is enough)")
    parser.add_argument("--slot", metavar="SLOT", help="of the Form, only this slot")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why, for the history")
    parser.add_argument("--actor", metavar="NAME", default="operator", help="who wants it (default: operator)")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and write nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def rollback(args: argparse.Namespace) -> int:
    """Shows what would change, asks, and does it; 1 where the answer is no."""
    if args.slot is not None and args.form is None:
        raise InvalidInput("--slot", "goes with --form", "mnemolog rollback --to ID --form FORM --slot SLOT")
    if not args.dry_run and not args.yes and not (sys.stdin is not None and sys.stdin.isatty()):
        raise InvalidInput("--yes", "is needed where nobody can be asked", "look first, with --dry-run; then give --yes")
    out = Output(json=args.json)
    with opened(args) as memory:
        form_id = None if args.form is None else _form(memory, args)
        report = _run(memory, args, form_id, dry_run=True)
        if args.dry_run or report.outcome == "nothing":
            return _told(out, report)
        if not args.yes:
            out.lines(differences(report, out.paint))
            if not _agreed():
                out.note("nothing was changed")
                return Exit.NO
        return _told(out, _run(memory, args, form_id, dry_run=False), shown=not args.yes)


def _run(memory: Memory, args: argparse.Namespace, form_id: str | None, *, dry_run: bool) -> RollbackReport:
    return memory.rollback(
        args.to,
        form_id=form_id,
        slot=args.slot,
        reason=args.reason,
        actor=args.actor,
        dry_run=dry_run,
        subject=subject_of(args),
    )


def _form(memory: Memory, args: argparse.Namespace) -> str:
    forms = memory.forms(subject=subject_of(args), retired=True)
    return one_of("form", args.form, [form.form_id for form in forms], "`mnemolog forms --retired` shows them with their ids")


def _agreed() -> bool:
    sys.stderr.write("mnemolog: put this back? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _told(out: Output, report: RollbackReport, *, shown: bool = False) -> int:
    out.value(report)
    if report.outcome == "nothing":
        out.note(f"nothing changes: {report.note}")
        return Exit.OK
    if not shown:
        out.lines(differences(report, out.paint))
    if report.dry_run:
        out.note("nothing was written (--dry-run)")
    else:
        subject = report.scope.partition("/")[2]
        out.note(f"rolled back; `mnemolog rollback --subject {subject} --to {report.before_input}` undoes it")
    return Exit.OK


def differences(report: RollbackReport, paint: Paint) -> Iterator[str]:
    """What a rollback changes, a line each."""
    yield paint(f"to how it stood at {report.at[:19]}Z, after {report.to}", "dim")
    for form in report.forms:
        yield f"{paint(form.after or form.before, 'bold')} ({form.form_type}): {_form_words(form)}"
    for slot in report.slots:
        yield f"{paint(slot.form, 'bold')} ({slot.form_type}) {_slot_words(slot, paint)}"
    for item in report.pending:
        value = "" if item.value is None else f" {item.value.shown}"
        state = "the question is open as it was then" if item.after else "the question is closed"
        yield f"{paint(item.form or '?', 'bold')} {item.slot}{value}: {state}"
    for edge in report.edges:
        state = "related again" if edge.after else "no longer related"
        yield f"{paint(edge.from_name, 'bold')} {edge.relation} {edge.to_name}: {state}"


def _form_words(form: FormDifference) -> str:
    if not form.after:
        return "called off: it was not there"
    if not form.before:
        return "stands again"
    return f"called so again, not {form.before}" if form.before != form.after else "found by the names that it had"


def _slot_words(slot: SlotDifference, paint: Paint) -> str:
    before = "nothing" if slot.before is None else slot.before.shown
    after = "nothing" if slot.after is None else slot.after.shown
    if slot.scheduled:
        what = paint(before, "red") if slot.after is None and slot.before is not None else paint(after, "green")
        state = "not scheduled any more" if slot.restores is None else "scheduled again"
        return f"{slot.slot}: {what} from {slot.valid_from[:10]} on is {state}"
    more = ""
    if slot.before == slot.after and slot.confidence_before is not None and slot.confidence_after is not None:
        more = f" (confidence {slot.confidence_before:.2f} → {slot.confidence_after:.2f}, as it was supported then)"
    return f"{slot.slot}: {paint(before, 'red')} → {paint(after, 'green')}{more}"


HANDLERS = {"rollback": rollback}
