"""The commands that read and write one memory; each is a few lines over a method of Memory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict

from ..schemas.errors import InvalidInput
from . import show
from .codes import Exit
from .home import one_of, opened, subject_of
from .output import Output
from .past import When, now_only, when_of
from .terminal import fold
from .traced import note_missing, traced
from .understood import NOTHING, understood

if TYPE_CHECKING:
    from ..memory import Memory

__all__ = ["HANDLERS", "names_of", "quotes_of", "understood_of"]


def add(args: argparse.Namespace) -> int:
    """Records one text and says what was understood."""
    subject = subject_of(args)
    text = _stdin() if args.text == "-" else args.text
    given: dict[str, Any] = {
        "session": args.session,
        "role": args.role,
        "speaker": args.speaker,
        "agent_id": args.agent,
        "occurred_at": args.occurred_at,
        "id": args.id,
        "metadata": _object("--metadata", args.metadata),
        "expires_at": args.expires_at,
        "importance": args.importance,
    }
    if args.source is not None:
        given["source"] = args.source
    out = Output(json=args.json)
    with opened(args, make=True) as memory:
        receipt = memory.add(text, subject=subject, **given)
        behind = memory.forms(subject=subject).behind
        lines = [] if behind else understood_of(memory, subject, receipt.ids[0])
    out.value({"ids": receipt.ids, "position": receipt.position, "fresh": receipt.fresh, "understood": lines})
    out.line(f"{receipt.ids[0]}" + ("" if receipt.fresh else "  (was there already)"))
    out.lines(
        fold(line, show.COLUMNS, "    ", "  ")
        for line in lines or [f"recorded; not processed yet ({behind} behind)" if behind else NOTHING]
    )
    return Exit.OK


NOW: When = {"as_of": None, "known_at": None}


def names_of(memory: Memory, subject: str | None, when: When = NOW) -> dict[str, str]:
    """The names of all Forms, by id."""
    return {form.form_id: form.name or form.key for form in memory.forms(subject=subject, retired=True, **when)}


def understood_of(memory: Memory, subject: str | None, turn_id: str) -> list[str]:
    """What came of one turn, in short lines."""
    return understood(
        turn_id,
        memory.history(subject=subject),
        memory.pending(subject=subject),
        memory.timeline(subject=subject),
        names_of(memory, subject),
    )


def quotes_of(memory: Memory, subject: str | None, when: When = NOW) -> dict[tuple[str, str, str], str]:
    """The exact words that slots, events and open questions rest on, by (form id, slot, turn id); the longest of several."""
    found: dict[tuple[str, str, str], str] = {}
    read = (memory.history, memory.timeline, memory.pending)
    for rows in (one(subject=subject, **when) for one in read):
        for row in rows:
            for piece in row.evidence:
                key = (row.form_id, row.slot, piece.turn_id)
                found[key] = max(found.get(key, ""), piece.quote, key=len)
    return found


def forms(args: argparse.Namespace) -> int:
    """What is true now."""
    out = Output(json=args.json)
    with opened(args) as memory:
        rows = memory.forms(subject=subject_of(args), form_type=args.form_type, retired=args.retired, **when_of(args))
    out.value(list(rows))
    for view in rows:
        out.lines(show.form(view, out.paint))
        out.line()
    if not rows:
        out.note("no Forms yet; `mnemolog search` finds what was said all the same")
    return Exit.OK


def history(args: argparse.Namespace) -> int:
    """Every version of the slots."""
    out = Output(json=args.json)
    subject, when = subject_of(args), when_of(args)
    with opened(args) as memory:
        names = names_of(memory, subject, when)
        wanted = args.form_id and one_of("form", args.form_id, list(names), "`forms --retired` lists them with their ids")
        rows = memory.history(wanted, args.slot, subject=subject, **when)
        known = sorted({row.slot for row in memory.history(wanted, subject=subject, **when)}) if args.slot and not rows else []
    out.value(list(rows))
    out.lines(show.versions(rows, names, out.paint))
    if not rows:
        hint = f" (this Form has: {', '.join(known)})" if known else ""
        out.note("no versions" + (f" of a slot {args.slot!r}{hint}" if args.slot else ""))
        return Exit.NO if args.form_id else Exit.OK
    return Exit.OK


def timeline(args: argparse.Namespace) -> int:
    """What happened and what was decided."""
    out = Output(json=args.json)
    with opened(args) as memory:
        rows = memory.timeline(subject=subject_of(args), since=args.since, until=args.until, limit=args.limit, **when_of(args))
    out.value(list(rows))
    out.lines(show.timeline(entry, out.paint) for entry in rows)
    if not rows:
        out.note("nothing on the timeline")
    return Exit.OK


def summaries(args: argparse.Namespace) -> int:
    """What each week brought."""
    out = Output(json=args.json)
    with opened(args) as memory:
        rows = memory.summaries(subject=subject_of(args), **when_of(args))
    out.value(list(rows))
    for view in rows:
        out.lines(show.summary(view, out.paint))
    if not rows:
        out.note("no summaries yet")
    return Exit.OK


def pending(args: argparse.Namespace) -> int:
    """Lists the open questions, or answers one."""
    out = Output(json=args.json)
    subject = subject_of(args)
    if args.action != "list":
        now_only(args, args.action)
    with opened(args) as memory:
        rows = memory.pending(subject=subject, **when_of(args))
        if args.action != "list":
            ids = [row.pending_id for row in rows]
            chosen = one_of("pending question", args.pending_id, ids, "`pending` lists them with their ids")
            if args.action == "confirm":
                receipt = memory.confirm(chosen, args.value, subject=subject)
            else:
                receipt = memory.reject(chosen, subject=subject)
            lines = understood_of(memory, subject, receipt.ids[0])
            out.value({"pending_id": chosen, "action": args.action, "ids": receipt.ids, "understood": lines})
            out.line(f"{args.action}ed {chosen}")
            out.lines(fold(line, show.COLUMNS, "    ", "  ") for line in lines)
            return Exit.OK
    out.value(list(rows))
    for view in rows:
        out.lines(show.pending(view, out.paint))
        out.line()
    if not rows:
        out.note("nothing is open")
    return Exit.OK


def search(args: argparse.Namespace) -> int:
    """The memories that bear on a question."""
    out = Output(json=args.json)
    with opened(args) as memory:
        hits = memory.search(args.query, subject=subject_of(args), history=args.history, **_asked(args))
    note_missing(out, hits.missing)
    out.value({"hits": hits, "missing": hits.missing, "trace": hits.trace} if args.trace else list(hits))
    for hit in hits:
        out.lines(show.hit(hit, out.paint))
    if hits.trace is not None:
        out.lines(traced(hits.trace, out.paint))
    if not hits:
        out.note("nothing found")
        return Exit.NO
    return Exit.OK


def context(args: argparse.Namespace) -> int:
    """The prompt text for a question."""
    out = Output(json=args.json)
    with opened(args) as memory:
        subject = subject_of(args)
        found = memory.context(args.query, subject=subject, budget=args.budget, **_asked(args))
        quotes = quotes_of(memory, subject, when_of(args)) if args.sources else {}
    note_missing(out, found.missing)
    out.value(found)
    if args.sources:
        out.lines(show.context(found, quotes, out.paint))
    elif str(found):
        out.line(str(found))
    else:
        out.note("nothing is known that bears on that")
    if found.trace is not None:
        out.lines(traced(found.trace, out.paint))
    return Exit.OK


class _Asked(TypedDict):
    also: list[str]
    limit: int | None
    now: str | None
    profile: str | None
    time_budget: float | None
    trace: bool
    as_of: str | None
    known_at: str | None


def _asked(args: argparse.Namespace) -> _Asked:
    """How a question is asked, for `search` and `context` alike."""
    return {
        "also": args.also,
        "limit": args.limit,
        "now": args.now,
        "profile": args.profile,
        "time_budget": args.time_budget,
        "trace": args.trace,
        **when_of(args),
    }


def stats(args: argparse.Namespace) -> int:
    """Counts, of one scope or of the folder."""
    out = Output(json=args.json)
    with opened(args) as memory:
        counts = memory.stats(subject=subject_of(args, needed=False))
    out.value(counts)
    out.lines(show.counts(counts))
    return Exit.OK


def _stdin() -> str:
    """All of stdin, which must be UTF-8."""
    if sys.stdin is None:
        raise InvalidInput("TEXT", "is to come from stdin, which is closed", "give the text as an argument, or a pipe")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("TEXT", f"is not UTF-8: byte 0x{error.object[error.start]:02X} at byte {error.start}") from None


def _object(field: str, text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(field, f"is not JSON that can be read: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput(field, "is not a JSON object", 'for example {"channel": "mail"}')
    return found


HANDLERS: dict[str, Callable[[argparse.Namespace], int]] = {
    "add": add,
    "context": context,
    "search": search,
    "forms": forms,
    "history": history,
    "timeline": timeline,
    "summaries": summaries,
    "pending": pending,
    "stats": stats,
}
