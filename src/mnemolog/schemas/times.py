"""Times as events carry them: UTC, microseconds, one fixed-width text form, so that text order is time order."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from .errors import InvalidInput

__all__ = ["FIXED_FORM", "MAX_TIME", "MIN_TIME", "add_seconds", "from_text", "iso_week", "local", "parse_time", "to_text"]

MIN_TIME = "0001-01-01T00:00:00.000000Z"
MAX_TIME = "9999-12-31T23:59:59.999999Z"
FIXED_FORM = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"
"""The regular expression of the fixed form, for schemas."""

_FIXED = re.compile(FIXED_FORM.strip("^$"))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_text(moment: datetime) -> str:
    """`2026-05-07T13:00:00.000000Z`. A naive `moment` is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def from_text(text: str) -> datetime:
    """The aware UTC datetime of a time in the fixed form; raises ValueError for any other text."""
    if not _FIXED.fullmatch(text):
        raise ValueError(f"{text!r} is not a time such as 2026-05-07T13:00:00.000000Z")
    # The hour 24 would be read by some Python versions only.
    if text[11:13] > "23":
        raise ValueError(f"{text!r}: hour must be in 0..23")
    return datetime.fromisoformat(text)


def parse_time(value: str | int | float | datetime, field: str = "occurred_at") -> tuple[str, int]:
    """Reads what a caller may give: a datetime, ISO 8601 text, or seconds since 1970 (a number).

    Returns the time in the fixed form and the original offset from UTC in whole minutes, towards zero (0 when the time was
    naive), which is what "yesterday" in that turn is resolved with. Raises InvalidInput naming `field`.
    """
    try:
        if isinstance(value, bool):
            raise TypeError("a boolean is not a time")
        if isinstance(value, int | float):
            # Not fromtimestamp(): it refuses times before 1970 on some systems.
            moment = _EPOCH + timedelta(seconds=value)
        elif isinstance(value, str):
            text = value.strip()
            if not text.isascii():
                raise ValueError("not ASCII")
            moment = from_text(text) if _FIXED.fullmatch(text) else datetime.fromisoformat(text)
        else:
            moment = value
        offset = moment.utcoffset() or timedelta(0)
        return to_text(moment), int(offset.total_seconds() / 60)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        far = isinstance(error, OverflowError)
        raise InvalidInput(
            field,
            f"{value!r} " + ("lies outside the years 1 to 9999, in UTC" if far else "is not a time"),
            "give ISO 8601 such as 2026-05-07T13:00:00+02:00, or a datetime",
        ) from None


def add_seconds(text: str, seconds: float) -> str:
    """The time `seconds` later, clamped to the years 1..9999."""
    try:
        return to_text(from_text(text) + timedelta(seconds=seconds))
    except OverflowError:
        return MAX_TIME if seconds > 0 else MIN_TIME


def local(text: str, offset_minutes: int) -> datetime:
    """The speaker's own wall-clock time: an aware datetime at the original offset, or UTC where that would leave the years
    1..9999."""
    moment = from_text(text)
    try:
        return moment.astimezone(timezone(timedelta(minutes=offset_minutes)))
    except OverflowError:
        return moment


def iso_week(text: str) -> str:
    """The ISO 8601 week in UTC, such as `2026-W19`; weeks start on Monday."""
    year, week, _ = from_text(text).isocalendar()
    return f"{year:04d}-W{week:02d}"
