"""Views as text for people: 80 columns, the newest truth first in the eye, every value with where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .terminal import Paint, fold

if TYPE_CHECKING:
    from ..schemas.observations import Evidence
    from ..schemas.values import Value
    from ..schemas.views import FormView, PendingView, SlotView, SummaryView, TimelineEntry, VersionView

__all__ = ["COLUMNS", "day", "form", "moment", "pending", "quoted", "summary", "timeline", "value", "versions"]

COLUMNS = 80
_QUOTE = 60


def day(time: str) -> str:
    """`2026-05-07`."""
    return time[:10]


def moment(time: str) -> str:
    """`2026-05-07 13:00` (UTC)."""
    return time[:16].replace("T", " ")


def value(given: Value | None) -> str:
    """What a person reads; an emptied slot is a dash."""
    return "-" if given is None else given.shown


def quoted(evidence: Sequence[Evidence]) -> str:
    """The newest piece of evidence: `"the words" (event id)`."""
    if not evidence:
        return "(no evidence)"
    last = evidence[-1]
    words = " ".join(last.quote.split())
    if len(words) > _QUOTE:
        words = words[: _QUOTE - 1] + "…"
    return f'"{words}" ({last.turn_id})'


def form(view: FormView, paint: Paint) -> Iterator[str]:
    """A Form with its slots, and below each the words it rests on."""
    state = "" if view.status == "current" else f" ({view.status})"
    yield paint(f"{view.form_type}: {view.name or view.key}", "bold") + state + paint(f"  {view.form_id}", "dim")
    for slot in view.slots:
        yield fold(_slot(slot), COLUMNS, "      ", "  ")
        yield paint(fold(f"from {quoted(slot.evidence)}", COLUMNS, "      ", "      "), "dim")


def _slot(slot: SlotView) -> str:
    notes = [f"v{slot.version}", f"since {day(slot.valid_from)}"]
    if slot.status != "confirmed":
        notes.insert(0, slot.status)
    if slot.count > 1:
        notes.append(f"said {slot.count} times")
    because = f" because {slot.cause}" if slot.cause else ""
    return f"{slot.slot} = {slot.value.shown}  [{', '.join(notes)}]{because}"


def versions(rows: Iterable[VersionView], names: dict[str, str], paint: Paint) -> Iterator[str]:
    """Histories: a heading per slot, its versions oldest first. `names` are the Forms' names by id."""
    heading = ("", "", "")
    for row in rows:
        if (row.form_id, row.slot, row.element) != heading:
            heading = (row.form_id, row.slot, row.element)
            yield paint(f"{row.form_type}: {names.get(row.form_id, '')}  {row.slot}", "bold") + paint(f"  {row.form_id}", "dim")
        until = f"until {day(row.valid_to)}" if row.valid_to else ("now" if row.current else row.status)
        because = f" because {row.cause}" if row.cause else ""
        yield fold(f"v{row.version}  {value(row.value)}  [{day(row.valid_from)}, {until}]{because}", COLUMNS, "      ", "  ")
        yield paint(fold(f"{row.reason}; from {quoted(row.evidence)}", COLUMNS, "      ", "      "), "dim")


def timeline(entry: TimelineEntry, paint: Paint) -> str:
    """One line: when, what kind, what."""
    colour = {"decision": "cyan", "cancelled": "red", "plan": "yellow"}.get(entry.kind)
    text = fold(f"{entry.text}  ({entry.input_id})", COLUMNS, " " * 23, f"{day(entry.occurred_at)}  {entry.kind:<9}  ")
    if colour is None:
        return text
    head, kind, rest = text.partition(entry.kind)
    return head + paint(kind, colour) + rest


def summary(view: SummaryView, paint: Paint) -> Iterator[str]:
    """A week and its lines."""
    state = "" if view.closed else ", still going on"
    yield paint(view.week, "bold") + f"  {view.turns} turns in {view.sessions} sessions{state}"
    for line in view.lines:
        yield fold(line, COLUMNS, "    ", "  - ")


def pending(view: PendingView, paint: Paint) -> Iterator[str]:
    """A question, what it is about, why it is open."""
    yield paint(fold(view.question, COLUMNS, "  "), "yellow")
    yield fold(f"{view.form_type}: {view.name}, {view.slot} = {value(view.value)}; {view.why}", COLUMNS, "    ", "  ")
    yield paint(fold(f"from {quoted(view.evidence)}", COLUMNS, "    ", "  "), "dim")
    yield paint(f"  {view.pending_id}", "dim")
