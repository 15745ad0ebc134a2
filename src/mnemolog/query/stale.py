"""Values that may have gone stale: by the decay class that their slot declares, by the kind of value it is, and by a date in
them that is over. What is computed here is only how a value looks at a time; nothing is changed."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from ..schemas.forms import Slot
from ..schemas.views import SlotView

__all__ = ["gone_stale", "is_over", "limit_days"]

_DAYS: dict[str, int | None] = {"rule": None, "preference": 365, "fact": 365}
"""Days after which a value of a decay class is asked about again. A rule stands until it is taken back."""
_VOLATILE_DAYS = 120
"""The same for facts that move by themselves: an amount, a number, how far something is."""
_VOLATILE = ("money", "number", "enum", "duration")


def limit_days(declared: Slot) -> int | None:
    """After how many days without a word of it a value is stale; None for never."""
    if declared.identity or declared.yearly or declared.type in ("date", "bool"):
        return None
    days = _DAYS[declared.decay]
    if days is None or declared.decay != "fact":
        return days
    return _VOLATILE_DAYS if declared.type in _VOLATILE else days


def gone_stale(slot: SlotView, declared: Slot, heard: str, now: str) -> Literal["passed", "long_ago"] | None:
    """Whether a value is stale at `now`, having last been heard at `heard` (fixed UTC forms)."""
    if slot.status != "confirmed":
        return None
    if declared.type == "date" and not declared.yearly:
        return "passed" if is_over(slot, declared, now) else None
    days = limit_days(declared)
    return "long_ago" if days is not None and _days(heard, now) > days else None


def is_over(slot: SlotView, declared: Slot | None, now: str) -> bool:
    """Whether the value was a coming day when it was said and is over: a birthday is not, and neither is a signing date."""
    if declared is None or declared.type != "date" or declared.yearly or slot.status != "confirmed":
        return False
    date = slot.value.data
    if not isinstance(date, str) or not date[:4].isdigit() or "W" in date:
        return False
    shown = date[:10]
    return slot.valid_from[: len(shown)] <= shown < now[: len(shown)]


def _days(since: str, now: str) -> float:
    return (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds() / 86400
