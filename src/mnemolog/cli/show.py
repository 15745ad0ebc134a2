"""Views as text for people: 80 columns, the newest truth first in the eye, every value with where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .terminal import Paint, fold

if TYPE_CHECKING:
    from ..face.indexes import IndexReport
    from ..query.context import Context
    from ..query.hits import Hit
    from ..replay.fall_back import FallBackReport
    from ..replay.rebuild import RebuildReport
    from ..replay.verify import VerifyReport
    from ..schemas.observations import Evidence
    from ..schemas.values import Value
    from ..schemas.views import FormView, PendingView, SlotView, SummaryView, TimelineEntry, VersionView

__all__ = [
    "COLUMNS",
    "context",
    "counts",
    "day",
    "form",
    "hit",
    "pending",
    "quoted",
    "reason",
    "report",
    "summary",
    "timeline",
    "value",
    "versions",
]

COLUMNS = 80
_QUOTE = 60
_WHY = {
    "hedged": "only roughly said",
    "threshold": "not clear enough",
    "conflict": "it contradicts what is confirmed",
    "unresolved": "not clear what is meant",
}
_NOT_FIRST_HAND = {
    "hearsay": "hearsay",
    "speculated": "only a guess",
    "quoted": "somebody else's words",
    "hypothetical": "hypothetical",
    "joke": "perhaps a joke",
    "question": "only asked",
    "model": "a model's inference",
    "assistant": "said by the assistant",
    "tool": "said by a tool",
}


def day(time: str) -> str:
    """`2026-05-07`."""
    return time[:10]


def value(given: Value | None) -> str:
    """What a person reads; an emptied slot is a dash."""
    return "-" if given is None else given.shown


def quoted(evidence: Sequence[Evidence]) -> str:
    """The newest piece of evidence: `"the words" (event id)`."""
    if not evidence:
        return "(no evidence)"
    last = evidence[-1]
    return f'"{_short(last.quote)}" ({last.turn_id})'


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _QUOTE else words[: _QUOTE - 1] + "…"


def form(view: FormView, paint: Paint, past: Sequence[VersionView] = ()) -> Iterator[str]:
    """A Form with its slots; below each the words it rests on and, of `past`, the values that it had before."""
    state = "" if view.status == "current" else f" ({view.status})"
    yield paint(f"{view.form_type}: {view.name or view.key}", "bold") + state + paint(f"  {view.form_id}", "dim")
    for slot in view.slots:
        yield fold(_slot(slot), COLUMNS, "      ", "  ")
        yield paint(fold(f"from {quoted(slot.evidence)}", COLUMNS, "      ", "      "), "dim")
        for row in past:
            if (row.slot, row.element) == (slot.slot, slot.element) and row.status != "retired":
                because = f" because {row.cause}" if row.cause else ""
                was = (
                    f"before: v{row.version} {value(row.value)}  [{day(row.valid_from)} to {day(row.valid_to or '')}]{because}"
                )
                yield paint(fold(was, COLUMNS, "        ", "      "), "yellow")


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
        if until == "confirmed":  # it stood when its Form was called off
            until = "called off"
        if row.status == "retired":
            until = "no longer"
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
    yield paint(view.week, "bold") + f"  {_count(view.turns, 'turn')} in {_count(view.sessions, 'session')}{state}"
    for line in view.lines:
        yield fold(line, COLUMNS, "    ", "  - ")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def reason(view: PendingView) -> str:
    """Why it is not believed, in words."""
    if view.why == "authority":
        return _NOT_FIRST_HAND.get(view.authority, f"said by {view.authority}")
    return _WHY.get(view.why, view.why)


def pending(view: PendingView, paint: Paint) -> Iterator[str]:
    """A question, what it is about, why it is open."""
    yield paint(fold(view.question, COLUMNS, "  "), "yellow")
    whose = f"{view.form_type}: {view.name}, " if view.name else f"{view.form_type}: "
    yield fold(f"{whose}{view.slot} = {value(view.value)}; {reason(view)}", COLUMNS, "    ", "  ")
    yield paint(fold(f"from {quoted(view.evidence)}", COLUMNS, "    ", "  "), "dim")
    yield paint(f"  {view.pending_id}", "dim")


def hit(found: Hit, paint: Paint) -> Iterator[str]:
    """What was found, where it is from, how it was found."""
    marks = [found.kind] if found.status in ("current", "said", "happened") else [found.kind, found.status]
    who = f"{found.speaker or found.role}: " if found.kind == "turn" else ""
    yield fold(f"{who}{found.text}", COLUMNS, "    ", "  ")
    how = f"by {', '.join(found.routes)}" if found.routes else "a weak match"
    yield paint(
        fold(
            f"{', '.join(marks)}; {day(found.occurred_at)}; {how}; from {', '.join(found.event_ids)}",
            COLUMNS,
            "    ",
            "    ",
        ),
        "dim",
    )


def context(found: Context, quotes: Mapping[tuple[str, str, str], str], paint: Paint) -> Iterator[str]:
    """The prompt text line by line, below each the turns it rests on and their words. `quotes` by (form id, slot, turn id)."""
    rest = iter(found.lines)
    line = next(rest, None)
    for row in found.text.splitlines():
        if line is None or row != line.text:
            yield paint(fold(row, COLUMNS, "    ", "  "), "bold")
            continue
        yield fold(row, COLUMNS, "    ", "  ")
        for turn_id in line.event_ids:
            words = "" if line.block == "excerpts" else quotes.get((line.form_id, line.slot, turn_id), "")
            yield paint(fold(f"from {turn_id}" + (f': "{_short(words)}"' if words else ""), COLUMNS, "      ", "      "), "dim")
        line = next(rest, None)
    size = f"{found.tokens} of {found.budget} tokens" + (", cut to fit" if found.truncated else "")
    yield paint(f"({size})" if found.text else "(nothing is known about that)", "dim")


def report(found: VerifyReport | RebuildReport | FallBackReport | IndexReport) -> Iterator[str]:
    """A verification, a rebuild or a fall back, field by field."""
    import msgspec

    yield from counts(msgspec.to_builtins(found))


def counts(given: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Names and values, nested ones indented; empty lists are left out."""
    flat = [name for name, item in given.items() if not isinstance(item, dict | list)]
    room = max((len(name) for name in flat), default=0)
    for name, item in given.items():
        title = name.replace("_", " ")
        if isinstance(item, dict):
            if item:
                yield f"{indent}{title}"
                yield from counts(item, indent + "  ")
        elif isinstance(item, list):
            for entry in item:
                yield fold(f"{title}: {_entry(entry)}", COLUMNS, indent + "  ", indent)
        else:
            shown = f"{item:,}" if isinstance(item, int) and not isinstance(item, bool) else str(item)
            shown = {"True": "yes", "False": "no"}.get(shown, shown)
            yield f"{indent}{title:<{room}} {shown}"


def _entry(entry: Any) -> str:
    if isinstance(entry, dict):
        return ", ".join(f"{name} {item}" for name, item in entry.items() if item not in ("", None))
    return str(entry)
