"""The weeks' summaries, for a question after what a stretch of time brought. What a summary says was so in its week; that it
may have changed since stands on it."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from ..schemas.times import MAX_TIME, MIN_TIME, to_text
from ..schemas.views import SummaryView
from .hits import Hit
from .ids import memory_id
from .periods import Period
from .ports import MemoryReader

__all__ = ["find_overviews"]

_AS_OF = {"en": "as of week {week}", "zh": "截至{week}周"}
_MOST = 8
"""Weeks, the newest of the period."""


def find_overviews(reader: MemoryReader, scope: str, period: Period, lang: str) -> list[Hit]:
    """The summarised weeks that lie in the period at least in part, the newest first."""
    weeks = [(view, *_days(view.week)) for view in reader.closed_summaries(scope)]
    inside = [(view, since, until) for view, since, until in weeks if since < period.until and until > period.since]
    return [_hit(scope, view, since, until, lang) for view, since, until in reversed(inside[-_MOST:])]


def _days(week: str) -> tuple[str, str]:
    """The first moment of an ISO week (`2026-W20`) and the first one after it."""
    first = date.fromisocalendar(int(week[:4]), int(week[6:]), 1)
    start = datetime(first.year, first.month, first.day)  # noqa: DTZ001
    try:
        return to_text(start), to_text(start + timedelta(days=7))
    except OverflowError:
        return MIN_TIME, MAX_TIME


def _hit(scope: str, view: SummaryView, since: str, until: str, lang: str) -> Hit:
    mark = _AS_OF[lang].format(week=view.week)
    return Hit(
        kind="summary",
        id=memory_id("summary", scope, view.week),
        text=f"[{mark}] " + "; ".join(view.lines),
        score=1.0,
        scope=scope,
        event_ids=[],
        occurred_at=since,
        until=until,
        status="summary",
        confidence=1.0,
        routes=["summaries"],
        why={"period": 1.0},
    )
