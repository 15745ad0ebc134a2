"""Dates in forms that the grammars do not know, read by `dateparser` from a short text that is nothing but a date. Only a date
with day, month and year in it is taken, always against a given base, never against the machine's clock."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

__all__ = ["read_date"]

_YEAR = re.compile(r"(?<![0-9])(?:1[89]|20|21)[0-9]{2}(?![0-9])")
_CLOCK = re.compile(r"[0-9]{1,2}[:.h][0-9]{2}|[0-9]\s?[ap]\.?m", re.IGNORECASE)


def read_date(text: str, now: datetime) -> str | None:
    """ISO form of a full date with its year written out, such as `7. Mai 2026`; None where it is none."""
    if len(text) > 60 or not _YEAR.search(text):
        return None
    return _parse(text, now.replace(second=0, microsecond=0))


@lru_cache(maxsize=1024)
def _parse(text: str, now: datetime) -> str | None:
    import dateparser  # imported late: it costs 0.2 s

    try:
        found = dateparser.parse(
            text,
            settings={
                "RELATIVE_BASE": now,
                "TIMEZONE": "UTC",
                "TO_TIMEZONE": "UTC",
                "RETURN_AS_TIMEZONE_AWARE": False,
                "REQUIRE_PARTS": ["day", "month", "year"],
                "DATE_ORDER": "DMY",
                "PARSERS": ["absolute-time"],
            },
        )
    except (ValueError, OverflowError, TypeError, AttributeError, IndexError, KeyError, RecursionError):
        return None  # dateparser trips over some texts; such a text is no date
    if found is None:
        return None
    day = f"{found.year:04d}-{found.month:02d}-{found.day:02d}"
    return f"{day}T{found.hour:02d}:{found.minute:02d}" if _CLOCK.search(text) else day
