"""What one scope's ISO week brought, in few lines: decisions each with their cause, the same event on many days once. The
result depends on the week's entries alone, never on the order in which they arrived."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ...schemas.changes import WeekSummarised
from ...schemas.times import iso_week
from ...schemas.values import normal_text
from ...schemas.views import TimelineEntry
from .values import detect_lang

__all__ = ["MAX_LINE", "MAX_LINES", "summarise_week", "week_lines"]

MAX_LINES = 40
MAX_LINE = 240
"""Characters of one line."""

_WEIGHT = {"decision": 0, "cancelled": 1, "plan": 2, "event": 3, "statement": 4}
"""What stays longest where there is too much."""
_KEPT_APART = ("decision", "cancelled")


class _Line(msgspec.Struct, frozen=True):
    weight: int
    days: tuple[str, ...]
    """The days it happened on, sorted."""
    moment: str
    """Of the first time."""
    text: str
    times: int


def summarise_week(
    week: str,
    entries: Iterable[TimelineEntry],
    *,
    turns: int,
    sessions: int,
    revision: int = 1,
    input_ids: Sequence[str] = (),
    limit: int = MAX_LINES,
) -> WeekSummarised:
    """The summary of `week` (such as `2026-W19`, UTC) from its timeline; entries of other weeks are left out.

    turns, sessions: how many there were; input_ids: of the inputs it rests on; limit: at most so many lines.
    """
    own = [entry for entry in entries if iso_week(entry.occurred_at) == week]
    return WeekSummarised(
        week=week,
        revision=revision,
        turns=turns,
        sessions=sessions,
        lines=week_lines(own, limit),
        input_ids=list(input_ids),
    )


def week_lines(entries: Iterable[TimelineEntry], limit: int = MAX_LINES) -> list[str]:
    """One line for each decision and for each kind of event, oldest first, each in the language it was said in."""
    lines = _folded(sorted(entries, key=lambda entry: (entry.occurred_at, entry.input_id, entry.entry_id)))
    if len(lines) > limit:
        # What happened more often says more about the week than what happened once.
        ranked = sorted(lines, key=lambda line: (line.weight, -line.times, line.moment, line.text))
        kept, dropped = ranked[: limit - 1], ranked[limit - 1 :]
    else:
        kept, dropped = lines, []
    shown = [_shown(line) for line in sorted(kept, key=lambda line: (line.moment, line.weight, line.text))]
    if dropped:
        shown.append(_more(dropped))
    return shown


def _folded(entries: Sequence[TimelineEntry]) -> list[_Line]:
    groups: dict[tuple[str, ...], list[TimelineEntry]] = {}
    for entry in entries:
        if entry.kind in _KEPT_APART:
            key: tuple[str, ...] = (entry.kind, entry.entry_id)
        elif entry.action or entry.object:
            key = (entry.kind, *(normal_text(part) for part in (entry.actor, entry.action, entry.object)))
        else:
            key = (entry.kind, normal_text(entry.text))
        groups.setdefault(key, []).append(entry)
    return [
        _Line(
            _WEIGHT.get(group[0].kind, len(_WEIGHT)),
            tuple(sorted({entry.occurred_at[:10] for entry in group})),
            group[0].occurred_at,
            group[0].text,
            len(group),
        )
        for group in groups.values()
    ]


def _shown(line: _Line) -> str:
    text = " ".join(line.text.split())
    tail = ""
    if line.times > 1:
        chinese = detect_lang(line.text) == "zh"
        days = len(line.days)
        if days > 1:
            tail = f"（{days}天）" if chinese else f" on {days} days"
        else:
            tail = f"（{line.times}次）" if chinese else f", {line.times} times"
    room = MAX_LINE - len(tail) - 11
    if len(text) > room:
        text = f"{text[: room - 1]}…"
    return f"{line.days[0]} {text}{tail}"


def _more(dropped: Sequence[_Line]) -> str:
    chinese = sum(detect_lang(line.text) == "zh" for line in dropped) * 2 > len(dropped)
    return f"另有{len(dropped)}件事" if chinese else f"and {len(dropped)} more"
