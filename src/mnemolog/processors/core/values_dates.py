"""Dates and times of day, resolved against the moment of the turn on the speaker's own wall clock and kept as fine as they
were said. The spans come from the grammars of `values_dates_en` and `values_dates_zh`; the machine's clock and time zone are
never read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ...schemas.times import from_text, local
from .values_dates_en import english_dates
from .values_dates_zh import chinese_dates
from .values_moments import Span

__all__ = ["iter_dates", "wall_clock"]


def wall_clock(at: str, utc_offset: int) -> datetime:
    """The naive local time of a turn; UTC where the offset leads out of the calendar."""
    try:
        return local(at, utc_offset).replace(tzinfo=None)
    except (OverflowError, ValueError):
        return from_text(at).replace(tzinfo=None)


def iter_dates(text: str, now: datetime) -> Iterator[Span]:
    """Every date or time in `text`, in order, none overlapping; the longer span wins."""
    found = sorted([*english_dates(text, now), *chinese_dates(text, now)], key=lambda span: (span.start, -span.end))
    end = -1
    for span in found:
        if span.start >= end:
            yield span
            end = span.end
