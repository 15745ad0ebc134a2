"""English dates and times: one pattern finds a phrase, small functions read it. A bare weekday or day of the month lies ahead,
unless the words before it are in the past tense."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from .values_moments import WEEKDAYS, Span, Time, add_days, add_months, day_text, hour_of, iso_week_of, join, valid_day
from .values_numbers import EN_NUMBER, read_numeral

__all__ = ["english_dates"]

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH = (
    r"(?:(?i:january|february|april|june|july|august|september|october|november|december|jan|feb|apr|jun|jul|aug|sept?|oct|nov|dec)"
    r"|March|Mar|May|MARCH|MAY|march(?=\s\d)|may(?=\s\d))\b\.?"
)
_DAYS = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|wed|thurs?|fri|sat|sun)"
_FULL_DAYS = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_S = r"\s{1,3}"
_NTH = r"(?:(?:[12][0-9]|3[01]|0?[1-9])(?:st|nd|rd|th)?)"
_YEAR = r"(?:19|20)[0-9]{2}"
_UNIT = r"(?:minutes?|mins?|hours?|days?|weeks?|months?|years?)"
_COUNT = rf"(?:{EN_NUMBER}|half{_S}an?|an?|a{_S}few|several)"

_DAY = re.compile(
    "|".join(
        (
            r"(?P<iso>(?<![\w/.-])(?:19|20)[0-9]{2}[-/.](?:1[0-2]|0?[1-9])[-/.](?:3[01]|[12][0-9]|0?[1-9])(?![0-9]))",
            r"(?P<isomonth>(?<![\w/.-])(?:19|20)[0-9]{2}-(?:1[0-2]|0[1-9])(?![\w-]))",
            r"(?P<slash>(?<![\w/.-])[0-9]{1,2}[/.][0-9]{1,2}[/.](?:19|20)[0-9]{2}(?![0-9]))",
            rf"(?P<md>\b(?P<md_m>{_MONTH}){_S}(?:the{_S})?(?P<md_d>{_NTH})\b(?![:.][0-9]|\s?(?:am|pm|percent|%|k\b))(?:,?{_S}(?P<md_y>{_YEAR})\b)?)",
            rf"(?P<dm>(?<![\w.,:])(?:the{_S})?(?P<dm_d>{_NTH}){_S}(?:of{_S})?(?P<dm_m>{_MONTH})(?:,?{_S}(?P<dm_y>{_YEAR})\b)?)",
            rf"(?P<my>\b(?P<my_m>{_MONTH}),?{_S}(?:of{_S})?(?P<my_y>{_YEAR})\b)",
            rf"(?P<mrel>\b(?P<mrel_w>(?i:next|last|this|coming|past)){_S}(?P<mrel_m>{_MONTH}))",
            rf"(?P<mon>\b(?P<mon_m>{_MONTH})(?<!\bSun)(?<!\bSat))",
            rf"(?P<near>(?i:\b(?:the{_S})?day{_S}after{_S}tomorrow|\b(?:the{_S})?day{_S}before{_S}yesterday|\btoday|\btonight|\btomorrow|\btmrw|\byesterday|\blast{_S}night|\bthis{_S}(?:morning|afternoon|evening)|\bthe{_S}other{_S}day)\b)",
            rf"(?P<every>(?i:\b(?:every|each){_S}(?P<every_d>{_DAYS})\b|\bon{_S}(?P<every_s>{_FULL_DAYS})s\b|\b(?P<every_t>{_FULL_DAYS})s\b))",
            rf"(?P<wd>(?i:\b(?:(?P<wd_w>next|last|this|coming|this{_S}coming|past|this{_S}past){_S})?(?P<wd_d>{_FULL_DAYS}|(?<=on\s)(?:mon|tues?|wed|thurs?|fri|sat|sun))\b(?:{_S}(?P<wd_after>next|last){_S}week)?))",
            rf"(?P<unit>(?i:\b(?:by{_S})?(?:the{_S})?(?:(?:end|beginning|start|middle){_S}of{_S})?(?:the{_S})?(?P<unit_w>next|last|this|past|coming){_S}(?P<unit_u>week|weekend|month|year)\b))",
            rf"(?P<eom>(?i:\b(?:the{_S})?end{_S}of{_S}(?:the{_S}|this{_S})(?P<eom_u>week|month|year)\b))",
            rf"(?P<ago>(?i:\b(?P<ago_n>{_COUNT})(?:{_S}of)?{_S}(?P<ago_u>{_UNIT}){_S}(?:ago|back|earlier)\b))",
            rf"(?P<later>(?i:\b(?:in|within){_S}(?:the{_S}next{_S})?(?P<later_n>{_COUNT})(?:{_S}of)?{_S}(?P<later_u>{_UNIT})(?:['’]{_S}time)?\b|\b(?P<hence_n>{_COUNT}){_S}(?P<hence_u>{_UNIT}){_S}(?:from{_S}now|later|hence)\b))",
            rf"(?P<year>(?i:(?<=\bin\s)|(?<=\bsince\s)|(?<=\bby\s)|(?<=\buntil\s)|(?<=\btill\s)|(?<=\bfrom\s)|(?<=\bof\s)|(?<=\byear\s))(?P<year_y>{_YEAR})(?![\w,.-]?[0-9]|\s?(?:dollars|euros|people|%)))",
            rf"(?P<nth>(?i:\b(?:on{_S})?the{_S}(?P<nth_d>(?:[12][0-9]|3[01]|[1-9])(?:st|nd|rd|th)))(?!{_S}(?:of|floor|time|anniversary|century|birthday|grade|place)\b|{_S}[a-z]+day)\b)",
        )
    )
)
_PART = r"(?:in{s}the{s}(?P<{p}part>morning|afternoon|evening)|at{s}(?P<{p}night>night))"
_CLOCK = re.compile(
    rf"(?:(?:at|around|about|by|from|until|till|@),?{_S})?(?:"
    rf"(?P<h>(?<![\w.:,$€£/-])(?:2[0-3]|[01]?[0-9]))(?:[:.](?P<m>[0-5][0-9])(?![0-9]))?\s{{0,2}}(?P<ap>(?i:a\.m\.|p\.m\.|am|pm))(?![A-Za-z])"
    rf"|(?P<h24>(?<![\w.:,$€£/-])(?:2[0-4]|[01]?[0-9])):(?P<m24>[0-5][0-9])(?![0-9:])"
    rf"|(?i:(?P<half>half{_S}past|quarter{_S}past|quarter{_S}to|a{_S}quarter{_S}past|a{_S}quarter{_S}to){_S}(?P<hh>[0-9]{{1,2}}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)"
    rf"|(?i:(?P<oc>[0-9]{{1,2}}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\s{{0,2}}o['’]?clock\b)"
    rf"|(?P<word>(?i:\bnoon|\bmidday|\bmidnight)\b)"
    rf")(?:{_S}(?:in{_S}the{_S}(?P<part>morning|afternoon|evening)|at{_S}(?P<night>night)))?"
)
_BARE_HOUR = re.compile(
    rf"(?i:\bat{_S}(?P<h>1[0-2]|[1-9]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b(?![.,:/-]?[0-9]|\s?(?:%|percent|dollars|euros|years|people)))"
    rf"(?:{_S}(?i:in{_S}the{_S}(?P<part>morning|afternoon|evening)|at{_S}(?P<night>night)))?"
)
_DAYPART = re.compile(rf"{_S}(?:in{_S}the{_S})?(?P<part>morning|afternoon|evening|night)\b", re.IGNORECASE)
_GAP = re.compile(r"(?:\s{0,3},?\s{0,3}(?:(?:at|on|around|about|by|from|for)\s{1,3})?)")
_PAST = re.compile(
    r"\b(?:was|were|went|did|had|saw|met|got|came|took|ate|bought|made|ran|flew|left|began|spent|said|told|gave|found|lost|won|broke|quit|sold|woke|fell|bought|moved"
    r"|since|ago|[a-z]{3,20}ed)\b(?!\s+to\s+be\b)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[^.!?;\n]*")
_AHEAD = re.compile(
    r"\b(?:will|going to|gonna|shall|plan|planned|planning|scheduled|booked|due|['’]ll|must|should|"
    r"next|need|getting married)\b",
    re.IGNORECASE,
)
_HINT = re.compile(
    r"[0-9]|day|night|morrow|tmrw|week|month|year|ago|morning|afternoon|evening|noon|o['’]?clock|quarter|half|later|hour|minute"
    r"|from now|"
    r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|at\s",
    re.IGNORECASE,
)


def english_dates(text: str, now: datetime) -> Iterator[Span]:
    """The English dates and times of `text`."""
    if not _HINT.search(text):
        return
    days: list[Span] = []
    for match in _DAY.finditer(text):
        iso = _read_day(match, text, now)
        if iso is not None:
            days.append(Span(match.start(), match.end(), iso))
    clocks = [(found.start(), found.end(), time) for found in _CLOCK.finditer(text) if (time := _read_clock(found))]
    taken = [(start, end) for start, end, _ in clocks]
    for found in _BARE_HOUR.finditer(text):
        if not any(start < found.end() and found.start() < end for start, end in taken):
            hour = _hour(found["h"])
            if hour is not None:
                part = _part_of(found["part"], found["night"])
                full = hour_of(hour, part)
                if full is not None:
                    clocks.append((found.start(), found.end(), Time(full, 0, sure=bool(part))))
    yield from _merged(text, days, sorted(clocks, key=lambda clock: clock[:2]))


def _merged(text: str, days: list[Span], clocks: list[tuple[int, int, Time]]) -> Iterator[Span]:
    used: list[int] = []
    for day in days:
        start, end, iso = day.start, day.end, day.iso
        part = _DAYPART.match(text, end)
        said = text[start:end].lower()
        half = ""
        if part is not None and not iso.startswith("R"):
            end = part.end()
            half = {"morning": "am", "night": "night"}.get(part["part"].lower(), "pm")
        elif "morning" in said:
            half = "am"
        elif "afternoon" in said or "evening" in said:
            half = "pm"
        elif "night" in said:
            half = "night"
        for index, (clock_start, clock_end, time) in enumerate(clocks):
            if index in used:
                continue
            ahead = clock_start >= end and _GAP.fullmatch(text, end, clock_start)
            behind = clock_end <= start and _GAP.fullmatch(text, clock_end, start)
            if not ahead and not behind:
                continue
            if half and time.hour <= 12 and (not time.sure or time.hour < 12):
                full = hour_of(time.hour, half)
                time = time if full is None else Time(full, time.minute)
            whole = join(iso, time)
            if whole is None:
                continue
            iso = whole
            start, end = min(start, clock_start), max(end, clock_end)
            used.append(index)
            break
        yield Span(_trim(text, start, end), end, iso)
    for index, (start, end, time) in enumerate(clocks):
        inside = any(day.start <= start < day.end or start <= day.start < end for day in days)
        if index not in used and not inside:
            yield Span(_trim(text, start, end), end, f"T{time.hour:02d}:{time.minute:02d}")


def _trim(text: str, start: int, end: int) -> int:
    """Where the value begins behind a leading preposition."""
    found = re.compile(r"(?:at|on|around|about|by|from|until|till|@)\b,?\s{1,3}|@\s{0,3}", re.IGNORECASE).match(
        text, start, end
    )
    return found.end() if found is not None else start


def _hour(text: str) -> int | None:
    value = read_numeral(text)
    return int(value) if value is not None and 0 <= value <= 24 else None


def _part_of(part: str | None, night: str | None) -> str:
    if night:
        return "night"
    return {"morning": "am", "afternoon": "pm", "evening": "pm"}.get((part or "").lower(), "")


def _read_clock(match: re.Match[str]) -> Time | None:
    part = _part_of(match["part"], match["night"])
    minute = 0
    if match["word"]:
        return Time(0 if match["word"].lower() == "midnight" else 12)
    if match["ap"]:
        hour, minute = int(match["h"]), int(match["m"] or 0)
        if not 1 <= hour <= 12:
            return None
        part = match["ap"].lower().replace(".", "")
    elif match["h24"]:
        hour, minute = int(match["h24"]), int(match["m24"])
        if hour == 24 and minute:
            return None
        full = hour_of(hour, part)
        return None if full is None else Time(full, minute, sure=bool(part) or hour > 12 or hour == 0 or match["h24"][0] == "0")
    else:
        stated = _hour(match["hh"] or match["oc"])
        if stated is None:
            return None
        hour = stated
        words = (match["half"] or "").lower()
        if words:
            minute = 30 if "half" in words else 15 if "past" in words else 45
            if words.endswith("to"):
                hour = hour - 1 or 12
    full = hour_of(hour, part)
    return None if full is None else Time(full, minute, sure=bool(part))


def _month(text: str) -> int:
    short = text.lower().rstrip(".")[:3]
    return next(index for index, name in enumerate(_MONTHS, 1) if name.startswith(short))


def _weekday(text: str) -> int:
    return [name.lower() for name in WEEKDAYS].index(text.lower()[:3])


def _past(text: str, start: int) -> bool:
    before = text[max(0, start - 80) : start]
    if _AHEAD.search(before):
        return False
    if _PAST.search(before):
        return True
    clause = _CLAUSE.match(text, start, start + 80)  # "On Friday we went ..."
    after = clause.group() if clause is not None and before.strip(" ,").lower() in ("", "on") else ""
    return bool(_PAST.search(after)) and not _AHEAD.search(after)


def _read_day(match: re.Match[str], text: str, now: datetime) -> str | None:
    kind = next(name for name in _KINDS if match[name] is not None)
    return _KINDS[kind](match, text, now)


def _iso(match: re.Match[str], text: str, now: datetime) -> str | None:
    year, month, day = re.split(r"[-/.]", match["iso"])
    return valid_day(int(year), int(month), int(day))


def _slash(match: re.Match[str], text: str, now: datetime) -> str | None:
    first, second, year = (int(part) for part in re.split(r"[/.]", match["slash"]))
    if "." in match["slash"] or first > 12:  # 7.5.2026 and 25/12/2026: the day comes first
        return valid_day(year, second, first)
    return valid_day(year, first, second)


def _month_day(match: re.Match[str], text: str, now: datetime, prefix: str) -> str | None:
    month, day = _month(match[f"{prefix}_m"]), int(re.sub(r"\D", "", match[f"{prefix}_d"]))
    if match[f"{prefix}_y"]:
        return valid_day(int(match[f"{prefix}_y"]), month, day)
    past = _past(text, match.start())
    year = now.year
    if (month, day) < (now.month, now.day) and not past:
        year += 1
    elif (month, day) > (now.month, now.day) and past:
        year -= 1
    return valid_day(year, month, day)


def _month_only(match: re.Match[str], text: str, now: datetime) -> str | None:
    month, past = _month(match["mon_m"]), _past(text, match.start())
    year = now.year - 1 if past and month > now.month else now.year + 1 if not past and month < now.month else now.year
    return f"{year:04d}-{month:02d}" if 1 <= year <= 9999 else None


def _month_relative(match: re.Match[str], text: str, now: datetime) -> str | None:
    month, word = _month(match["mrel_m"]), match["mrel_w"].lower()
    year = now.year
    if word in ("next", "coming"):
        year += month <= now.month
    elif word in ("last", "past"):
        year -= month >= now.month
    return f"{year:04d}-{month:02d}" if 1 <= year <= 9999 else None


def _near(match: re.Match[str], text: str, now: datetime) -> str | None:
    words = re.sub(r"\s+", " ", match["near"].lower()).removeprefix("the ")
    shift = {"day after tomorrow": 2, "day before yesterday": -2, "tomorrow": 1, "tmrw": 1, "yesterday": -1, "last night": -1}
    if words == "other day":
        return None
    day = add_days(now, shift.get(words, 0))
    return None if day is None else day_text(day)


def _every(match: re.Match[str], text: str, now: datetime) -> str | None:
    return f"R/{WEEKDAYS[_weekday(match['every_d'] or match['every_s'] or match['every_t'])]}"


def _week_day(match: re.Match[str], text: str, now: datetime) -> str | None:
    wanted, today = _weekday(match["wd_d"]), now.weekday()
    word = re.sub(r"\s+", " ", (match["wd_w"] or "").lower())
    after = (match["wd_after"] or "").lower()
    if after or word == "next":  # the day in the week that follows (or went before)
        days = wanted - today + (-7 if after == "last" else 7)
    elif word in ("last", "past", "this past"):
        days = -((today - wanted) % 7 or 7)
    elif not word and _past(text, match.start()):
        days = -((today - wanted) % 7)
    else:
        days = (wanted - today) % 7
    day = add_days(now, days)
    return None if day is None else day_text(day)


def _unit(match: re.Match[str], text: str, now: datetime) -> str | None:
    step = {"next": 1, "coming": 1, "this": 0}.get(match["unit_w"].lower(), -1)
    unit = match["unit_u"].lower()
    if unit in ("week", "weekend"):
        if unit == "weekend" and match["unit_w"].lower() == "coming":
            step = 0
        return iso_week_of(add_days(now, 7 * step))
    if unit == "month":
        return add_months(now, step)
    return f"{now.year + step:04d}" if 1 <= now.year + step <= 9999 else None


def _end_of(match: re.Match[str], text: str, now: datetime) -> str | None:
    unit = match["eom_u"].lower()
    return iso_week_of(now.date()) if unit == "week" else add_months(now, 0) if unit == "month" else f"{now.year:04d}"


def _shifted(count_text: str, unit: str, sign: int, now: datetime) -> str | None:
    words = re.sub(r"\s+", " ", count_text.lower())
    if words in ("a few", "several"):
        return None
    half = words.startswith("half a") and words in ("half a", "half an")
    count = None if half else 1 if words in ("a", "an") else read_numeral(words)
    unit = unit.lower().removesuffix("s")
    if half:
        if unit == "hour":
            return _clock_shift(30 * sign, now)
        return add_months(now, 6 * sign) if unit == "year" else None
    if count is None or count > 10**6:
        return None
    whole = int(count)
    if whole != count and unit not in ("hour",):
        return None
    if unit in ("minute", "min"):
        return _clock_shift(whole * sign, now)
    if unit == "hour":
        return _clock_shift(int(count * 60) * sign, now)
    if unit == "month":
        return add_months(now, whole * sign)
    if unit == "year":
        year = now.year + whole * sign
        return f"{year:04d}" if 1 <= year <= 9999 else None
    day = add_days(now, whole * sign * (7 if unit == "week" else 1))
    return None if day is None else day_text(day)


def _clock_shift(minutes: int, now: datetime) -> str | None:
    try:
        moment = now + timedelta(minutes=minutes)
    except OverflowError:
        return None
    return f"{day_text(moment.date())}T{moment.hour:02d}:{moment.minute:02d}"


def _ago(match: re.Match[str], text: str, now: datetime) -> str | None:
    return _shifted(match["ago_n"], match["ago_u"], -1, now)


def _later(match: re.Match[str], text: str, now: datetime) -> str | None:
    if match["hence_n"] and _past(text, match.start()) and "later" in match.group().lower():
        return None  # "three days later" in a story counts from that story
    return _shifted(match["later_n"] or match["hence_n"], match["later_u"] or match["hence_u"], 1, now)


def _nth(match: re.Match[str], text: str, now: datetime) -> str | None:
    day, past = int(re.sub(r"\D", "", match["nth_d"])), _past(text, match.start())
    step = -1 if past and day > now.day else 1 if not past and day < now.day else 0
    month = add_months(now, step)
    return None if month is None else valid_day(int(month[:4]), int(month[5:]), day)


_KINDS: dict[str, Callable[[re.Match[str], str, datetime], str | None]] = {
    "iso": _iso,
    "isomonth": lambda match, text, now: match["isomonth"],
    "slash": _slash,
    "md": lambda match, text, now: _month_day(match, text, now, "md"),
    "dm": lambda match, text, now: _month_day(match, text, now, "dm"),
    "my": lambda match, text, now: f"{int(match['my_y']):04d}-{_month(match['my_m']):02d}",
    "mrel": _month_relative,
    "mon": _month_only,
    "near": _near,
    "every": _every,
    "wd": _week_day,
    "unit": _unit,
    "eom": _end_of,
    "ago": _ago,
    "later": _later,
    "year": lambda match, text, now: match["year_y"],
    "nth": _nth,
}
