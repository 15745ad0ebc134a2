"""What both date grammars need: spans, calendar arithmetic that never leaves the years 1..9999, and joining a day with a time
of day."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, datetime, timedelta

import msgspec

__all__ = ["WEEKDAYS", "Span", "Time", "add_days", "add_months", "day_text", "hour_of", "iso_week_of", "join", "valid_day"]

WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")


class Span(msgspec.Struct, frozen=True):
    """A date in the form of `Value` and where it stands."""

    start: int
    end: int
    iso: str


class Time(msgspec.Struct, frozen=True):
    """A time of day. `sure` is False where the hour may be of either half of the day."""

    hour: int
    minute: int = 0
    sure: bool = True


def valid_day(year: int, month: int, day: int) -> str | None:
    """`2026-05-07`, or None for a day that no calendar has."""
    if not (1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]):
        return None
    return f"{year:04d}-{month:02d}-{day:02d}"


def day_text(day: date) -> str:
    return f"{day.year:04d}-{day.month:02d}-{day.day:02d}"


def add_days(now: datetime, days: int) -> date | None:
    try:
        return (now + timedelta(days=days)).date()
    except OverflowError:
        return None


def add_months(now: datetime, months: int) -> str | None:
    """`2026-05`."""
    year, month = divmod(now.year * 12 + now.month - 1 + months, 12)
    return f"{year:04d}-{month + 1:02d}" if 1 <= year <= 9999 else None


def iso_week_of(day: date | None) -> str | None:
    if day is None:
        return None
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}"


def hour_of(hour: int, part: str) -> int | None:
    """The hour of 24 for a stated hour and a part of the day: am, noon, pm, night or none; None where they do not fit."""
    if hour > 24:
        return None
    if part == "pm" and hour < 12:
        return hour + 12
    if part == "night":  # at night: 8..11 before midnight, 12 and 1..5 behind it
        return 0 if hour == 12 else hour + 12 if 6 <= hour < 12 else hour
    if part == "noon":
        return hour + 12 if hour < 4 else hour
    if part == "am" and hour == 12:
        return 0
    return hour if hour < 24 else 0


def join(day: str, time: Time) -> str | None:
    """A day with a time. An hour of 1..5 without a part of the day is taken as afternoon, since people make appointments
    then; 6 stays open, and then only the day is kept."""
    if len(day) != 10 or day.startswith("R"):
        return None
    hour = time.hour
    if not time.sure:
        if hour == 6:
            return day
        if 1 <= hour <= 5:
            hour += 12
    return f"{day}T{hour:02d}:{time.minute:02d}"
