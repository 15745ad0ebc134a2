"""Times as events carry them: UTC, microseconds, one fixed-width text form, so that text order is time order."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from .errors import InvalidInput

__all__ = ["MAX_TIME", "MIN_TIME", "add_seconds", "from_text", "iso_week", "local", "parse_time", "to_text"]

MIN_TIME = "0001-01-01T00:00:00.000000Z"
MAX_TIME = "9999-12-31T23:59:59.999999Z"

_FIXED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def to_text(moment: datetime) -> str:
    """`2026-05-07T13:00:00.000000Z`. A naive `moment` is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def from_text(text: str) -> datetime:
    """The aware UTC datetime of a time in the fixed form."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def parse_time(value: str | int | float | datetime, field: str = "occurred_at") -> tuple[str, int]:
    """Reads what a caller may give: a datetime, ISO 8601 text, or seconds since 1970 (a number).

    Returns the time in the fixed form and the original offset from UTC in minutes (0 when the time was naive),
    which is what "yesterday" in that turn is resolved with. Raises InvalidInput naming `field`.
    """
    if isinstance(value, str) and _FIXED.fullmatch(value):
        try:
            from_text(value)
        except ValueError as error:
            raise InvalidInput(field, f"{value!r} is not a time", str(error)) from None
        return value, 0
    try:
        if isinstance(value, bool):
            raise TypeError("a boolean is not a time")
        if isinstance(value, int | float):
            moment = datetime.fromtimestamp(value, UTC)
        elif isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
        else:
            moment = value
        offset = moment.utcoffset() or timedelta(0)
        return to_text(moment), int(offset.total_seconds() // 60)
    except (ValueError, TypeError, AttributeError, OverflowError, OSError):
        raise InvalidInput(
            field, f"{value!r} is not a time", "give ISO 8601 such as 2026-05-07T13:00:00+02:00, or a datetime"
        ) from None


def add_seconds(text: str, seconds: float) -> str:
    """The time `seconds` later, clamped to the years 1..9999."""
    try:
        return to_text(from_text(text) + timedelta(seconds=seconds))
    except OverflowError:
        return MAX_TIME if seconds > 0 else MIN_TIME


def local(text: str, offset_minutes: int) -> datetime:
    """The speaker's own wall-clock time: an aware datetime at the original offset."""
    return from_text(text).astimezone(timezone(timedelta(minutes=offset_minutes)))


def iso_week(text: str) -> str:
    """The ISO 8601 week in UTC, such as `2026-W19`; weeks start on Monday."""
    year, week, _ = from_text(text).isocalendar()
    return f"{year:04d}-W{week:02d}"
