"""The timeline route: what happened in the time that the question names, and how what it asks about came to be."""

from __future__ import annotations

from collections.abc import Sequence

from ..processors.core.text import terms
from ..schemas.views import TimelineEntry
from .hits import Hit
from .ids import memory_id
from .ports import MemoryReader
from .understand import Question
from .wording import day

__all__ = ["event_hit", "find_events"]

_READ = 500
"""Entries looked at, the newest first."""


def find_events(reader: MemoryReader, scope: str, question: Question, slots: Sequence[Hit]) -> list[Hit]:
    """Entries inside the question's period, or, for a question about how something changed, those of the slots found; those
    that share the question's words first, then in order of time."""
    period = question.period
    if period is not None:
        entries = reader.timeline(scope, period.since, period.until, limit=_READ, newest_first=True)
    elif slots:
        wanted = {(hit.form_id, hit.slot) for hit in slots}
        entries = reader.timeline(scope, limit=_READ, newest_first=True)
        entries = [entry for entry in entries if (entry.form_id, entry.slot) in wanted]
    else:
        return []
    said = frozenset(terms(period.words)) if period is not None else frozenset[str]()
    asked = frozenset(question.terms) - said
    scored = [(_share(entry, asked), entry) for entry in reversed(entries)]
    scored.sort(key=lambda found: -found[0])
    return [_hit(scope, entry, share) for share, entry in scored]


def _share(entry: TimelineEntry, asked: frozenset[str]) -> float:
    if not asked:
        return 0.0
    quotes = " ".join(piece.quote for piece in entry.evidence)
    return len(asked & frozenset(terms(f"{entry.text}\n{quotes}"))) / len(asked)


def _hit(scope: str, entry: TimelineEntry, share: float) -> Hit:
    return event_hit(
        scope,
        entry,
        text=f"{day(entry.occurred_at)} {entry.text}",
        score=share,
        route="timeline",
        why={"words": round(share, 4)},
    )


def event_hit(scope: str, entry: TimelineEntry, *, text: str, score: float, route: str, why: dict[str, float]) -> Hit:
    """An entry of the timeline as a memory that `route` found."""
    return Hit(
        kind="event",
        id=memory_id("event", scope, entry.entry_id),
        text=text,
        score=score,
        scope=scope,
        event_ids=list(dict.fromkeys([piece.turn_id for piece in entry.evidence] or [entry.input_id])),
        occurred_at=entry.occurred_at,
        status="happened",
        confidence=1.0,
        routes=[route],
        session=entry.session,
        speaker=entry.actor,
        quote=entry.evidence[0].quote if entry.evidence else "",
        form_id=entry.form_id,
        slot=entry.slot,
        before=entry.before,
        cause=entry.cause,
        why=why,
    )
