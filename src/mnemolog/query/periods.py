"""The stretch of time that a question speaks of. A question looks back: "in March" is the last one there was, unless its words
look ahead."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import msgspec

from ..processors.core.values import Found, find_values
from ..schemas.times import MAX_TIME, MIN_TIME, from_text, to_text

__all__ = ["Period", "find_period"]


class Period(msgspec.Struct, frozen=True):
    """From `since` on and before `until` (fixed UTC form), and the words of the question that said so."""

    since: str
    until: str
    words: str


_AHEAD = re.compile(
    r"\b(?:next|tomorrow|coming|upcoming|later|will|going to|plan(?:s|ned|ning)?|from now)\b|下|明|后天|将|打算|计划|接下来"
)
_LAST = re.compile(
    r"\b(?:in |over |during |within )?the (?:last|past|previous) (?P<n>\d{1,3}|two|three|four|five|six|seven|ten|few|couple of)"
    r" (?P<unit>day|week|month|year)s?\b"
    r"|(?:过去|最近|近|前)(?:的)?(?P<zn>\d{1,3}|[一二两三四五六七八十几])个?(?P<zunit>天|周|星期|月|年)(?!前)",
    re.IGNORECASE,
)
_LATELY = re.compile(r"\b(?:recently|lately|these days)\b|最近|近来|近期|这几天|这些天", re.IGNORECASE)
_NUMBERS = {"two": 2, "couple of": 2, "few": 3, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_NUMBERS |= {"一": 1, "二": 2, "两": 2, "三": 3, "几": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "十": 10}
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366, "天": 1, "周": 7, "星期": 7, "月": 31, "年": 366}
_LATELY_DAYS = 14
_SINCE = re.compile(r"(?:\bsince|\bafter|\bstarting(?: from| in| on)?|\bfrom|自从|自|从)\s*(?:the\s+)?$", re.IGNORECASE)
_UNTIL = re.compile(r"(?:\bbefore|\buntil|\btill|\bup to|\bprior to)\s*(?:the\s+)?$", re.IGNORECASE)
_SINCE_ZH = re.compile(r"^(?:以后|之后|以来|起|后)")
_UNTIL_ZH = re.compile(r"^(?:以前|之前|前|为止)")
_BETWEEN = re.compile(r"^\s*(?:and|to|until|till|through|-|–|—|到|至|和|与)\s*(?:the\s+)?$", re.IGNORECASE)


def find_period(question: str, now: str, utc_offset: int = 0) -> Period | None:
    """The period that `question`, asked at `now` (fixed UTC form), names; None where it names none."""
    lasting = _LAST.search(question)
    if lasting is not None:
        number = (lasting["n"] or lasting["zn"] or "1").lower()
        count = int(number) if number.isdigit() else _NUMBERS[number]
        return _back(now, count * _DAYS[(lasting["unit"] or lasting["zunit"]).lower()], lasting.group())
    found = [(date_, stretch) for date_ in find_values("date", question, at=now, utc_offset=utc_offset)
             if (stretch := _stretch(_as_text(date_), question, now, utc_offset)) is not None]  # fmt: skip
    if found:
        first, (since, until) = found[0]
        if len(found) > 1 and _BETWEEN.search(question[first.end : found[1][0].start]):
            second, (since_2, until_2) = found[1]
            return Period(min(since, since_2), max(until, until_2), question[first.start : second.end])
        words = question[first.start : first.end]
        before, behind = question[: first.start], question[first.end :]
        if _SINCE.search(before) or _SINCE_ZH.match(behind):
            return Period(since, MAX_TIME, words)
        if _UNTIL.search(before) or _UNTIL_ZH.match(behind):
            return Period(MIN_TIME, since, words)
        return Period(since, until, words)
    lately = _LATELY.search(question)
    return _back(now, _LATELY_DAYS, lately.group()) if lately else None


def _back(now: str, days: int, words: str) -> Period:
    try:
        since = to_text(from_text(now) - timedelta(days=days))
    except OverflowError:
        since = MIN_TIME
    # The turn that asks may carry the very moment `now`: it belongs to the period.
    return Period(since, MAX_TIME, words)


def _as_text(found: Found) -> str:
    data = found.value.data
    return data if isinstance(data, str) else ""


def _stretch(iso: str, question: str, now: str, utc_offset: int) -> tuple[str, str] | None:
    """The UTC bounds of a date as fine as it was said; a recurring day or a bare time of day has none."""
    bounds = _days(iso)
    if bounds is None:
        return None
    first, after = bounds
    today = (from_text(now) + timedelta(minutes=utc_offset)).date()
    if first > today and not re.search(r"\d{4}", question) and not _AHEAD.search(question):
        first, after = _moved_back(iso, first, after, today)
    return _utc(first, utc_offset), _utc(after, utc_offset)


def _days(iso: str) -> tuple[date, date] | None:
    """The first day and the day after the last one."""
    try:
        if week := re.fullmatch(r"(\d{4})-W(\d\d)", iso):
            first = date.fromisocalendar(int(week[1]), int(week[2]), 1)
            return first, first + timedelta(days=7)
        if month := re.fullmatch(r"(\d{4})-(\d\d)", iso):
            first = date(int(month[1]), int(month[2]), 1)
            return first, (first + timedelta(days=32)).replace(day=1)
        if re.fullmatch(r"\d{4}", iso):
            return date(int(iso), 1, 1), date(int(iso) + 1, 1, 1)
        if re.fullmatch(r"\d{4}-\d\d-\d\d(?:T.*)?", iso):
            first = date.fromisoformat(iso[:10])
            return first, first + timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return None


def _moved_back(iso: str, first: date, after: date, today: date) -> tuple[date, date]:
    """A day without a year, or a weekday, that lies ahead: the last one there was."""
    if len(iso) >= 10 and (first - today).days <= 7:
        return first - timedelta(days=7), after - timedelta(days=7)
    try:
        return first.replace(year=first.year - 1), after.replace(year=after.year - 1)
    except ValueError:  # 29 February
        return first - timedelta(days=366), after - timedelta(days=366)


def _utc(day: date, utc_offset: int) -> str:
    try:
        return to_text(datetime(day.year, day.month, day.day) - timedelta(minutes=utc_offset))  # noqa: DTZ001
    except OverflowError:
        return MIN_TIME if day.year < 2000 else MAX_TIME
