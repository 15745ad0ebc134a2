"""What came of one turn: the changes of Forms, the questions it opened, what it was taken for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .show import reason, value

if TYPE_CHECKING:
    from ..schemas.views import PendingView, TimelineEntry, VersionView

__all__ = ["NOTHING", "understood"]

NOTHING = "kept, searchable, no Form"


def understood(
    turn_id: str,
    versions: Iterable[VersionView],
    questions: Iterable[PendingView],
    timeline: Iterable[TimelineEntry],
    names: dict[str, str],
) -> list[str]:
    """Short lines: `home = Lisbon`, `budget = 5,500 (was 4,000) because ...`, `not sure yet: ...`; empty for nothing."""
    lines = [_changed(row, names) for row in versions if row.input_id == turn_id]
    lines += [_again(row, names) for row in versions if row.input_id != turn_id and _said_in(row, turn_id)]
    lines += [
        f"not sure yet: {question.slot} = {value(question.value)} ({reason(question)})"
        for question in questions
        if any(piece.turn_id == turn_id for piece in question.evidence)
    ]
    shown = {(row.form_id, row.slot) for row in versions if row.input_id == turn_id}
    lines += [
        f"{entry.kind}: {entry.text}"
        for entry in timeline
        if entry.input_id == turn_id and (entry.form_id, entry.slot) not in shown
    ]
    return list(_once(lines))


def _changed(row: VersionView, names: dict[str, str]) -> str:
    if row.status == "retired":
        return f"{names.get(row.form_id) or row.form_type}: {row.slot} = {value(row.value)} no longer"
    before = f" (was {row.before.shown})" if row.before is not None else ""
    because = f" because {row.cause}" if row.cause else ""
    later = f" from {row.valid_from[:10]}" if row.status == "scheduled" else ""
    return f"{names.get(row.form_id) or row.form_type}: {row.slot} = {value(row.value)}{before}{later}{because}"


def _again(row: VersionView, names: dict[str, str]) -> str:
    return f"{names.get(row.form_id) or row.form_type}: {row.slot} = {value(row.value)} again"


def _said_in(row: VersionView, turn_id: str) -> bool:
    return any(piece.turn_id == turn_id for piece in row.evidence)


def _once(lines: Sequence[str]) -> Iterator[str]:
    seen = set()
    for line in lines:
        if line not in seen:
            seen.add(line)
            yield line
