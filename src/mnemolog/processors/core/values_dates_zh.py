"""Chinese dates and times: one pattern finds the day, one the time of day; what stands side by side is joined. A bare weekday
or day of the month lies ahead unless the clause speaks of the past (了, 过)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from .values_moments import WEEKDAYS, Span, Time, add_days, add_months, day_text, hour_of, iso_week_of, join, valid_day
from .values_numbers import HAN_DIGITS, han_number

__all__ = ["chinese_dates"]

_N = r"(?:[0-9]{1,4}|[零〇一二两三四五六七八九十百]{1,5})"
_D = r"(?:[0-9]{1,2}|[一二三四五六七八九十]{1,3})"
_Y = r"(?:[0-9]{4}|[零〇一二三四五六七八九]{4})"
_WEEK = r"(?:周|星期|礼拜)"
_NEAR = {
    "大前天": -3, "前天": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "今天": 0, "今日": 0, "今晚": 0,
    "今早": 0, "今夜": 0, "今儿": 0, "明天": 1, "明日": 1, "明晚": 1, "明早": 1, "明儿": 1, "后天": 2, "大后天": 3,
    "前晚": -2,
}  # fmt: skip
_YEARS = {"前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_PARTS = {
    "凌晨": "early", "清晨": "am", "早晨": "am", "清早": "am", "一早": "am", "早上": "am", "上午": "am",
    "中午": "noon", "正午": "noon", "下午": "pm", "午后": "pm", "傍晚": "pm", "晚上": "night", "晚间": "night",
    "夜里": "night", "半夜": "night", "深夜": "night", "早": "am", "晚": "night",
}  # fmt: skip
_PART = r"(?:凌晨|清晨|早晨|清早|一早|早上|上午|中午|正午|下午|午后|傍晚|晚上|晚间|夜里|半夜|深夜)"

_DAY = re.compile(
    "|".join(
        (
            rf"(?P<ymd>(?P<ymd_y>{_Y})\s?年\s?(?P<ymd_m>{_D})\s?月\s?(?P<ymd_d>{_D})\s?[日号]?)",
            rf"(?P<ym>(?P<ym_y>{_Y})\s?年\s?(?P<ym_m>{_D})\s?月份?)",
            rf"(?P<rymd>(?P<rymd_y>前年|去年|今年|本年|明年|后年)的?\s?(?P<rymd_m>{_D})\s?月份?(?:\s?(?P<rymd_d>{_D})\s?[日号])?)",
            rf"(?P<md>(?<![0-9])(?P<md_m>{_D})\s?月\s?(?P<md_d>{_D})\s?[日号])",
            rf"(?P<rmd>(?P<rmd_w>上上|下下|上|下|这|本)个?月\s?(?P<rmd_d>{_D})\s?[日号])",
            rf"(?P<every>每个?{_WEEK}(?P<every_d>[一二三四五六日天末])|每逢{_WEEK}(?P<every_e>[一二三四五六日天]))",
            rf"(?P<wd>(?P<wd_w>上上|下下|上|下|这|本|这个|上个|下个)?(?:个)?{_WEEK}(?P<wd_d>[一二三四五六日天])(?![天个月年]))",
            r"(?P<weekend>(?P<weekend_w>上上|下下|上|下|这|本|这个|上个|下个)?(?:个)?周末)",
            r"(?P<week>(?P<week_w>上上|下下|上|下|这|本)个?(?:周|星期|礼拜)(?![一二三四五六日天末]))",
            r"(?P<month>(?P<month_w>上上|下下|上|下|这|本)个?月(?P<month_e>底|初|末|中旬)?)",
            r"(?P<eom>(?<![0-9一二三四五六七八九十])(?:月底|月末))",
            r"(?P<near>大前天|前天|昨天|昨日|昨晚|昨夜|今天|今日|今晚|今早|今夜|今儿|明天|明日|明晚|明早|明儿|大后天|后天(?!性)|前晚)",
            rf"(?P<yearonly>(?P<yearonly_y>{_Y})\s?年(?!前|后|来|级))",
            r"(?P<ryear>(?P<ryear_y>前年|去年|今年|明年|后年)(?:底|初|年底|年初)?)",
            rf"(?P<ago>(?P<ago_n>半|{_N})\s?(?P<ago_u>分钟|个?小时|个?钟头|天|周|个?星期|个?礼拜|个月|年)(?P<ago_w>以前|之前|前|以后|之后|后)(?![面天年来人]))",
            r"(?P<mon>(?<![0-9零〇一二三四五六七八九十个])(?P<mon_m>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])\s?月份?(?![0-9]|底薪))",
            rf"(?P<nth>(?<![0-9零〇一二三四五六七八九十第])(?P<nth_d>3[01]|[12][0-9]|[1-9]|[一二]?十[一二三四五六七八九]?|三十一?)\s?号(?![线楼院码门])|(?<=每月)(?P<nth_e>{_D})号)",
        )
    )
)
_CLOCK = re.compile(
    rf"(?P<part>{_PART})?的?\s?(?:"
    rf"(?P<h>2[0-4]|1[0-9]|[0-9]|二十[一二三四]?|十[一二三四五六七八九]?|[零一二两三四五六七八九])\s?[点點](?!心|评|击|赞|餐|菜|滴|[零一二三四五六七八九](?![分刻十]))"
    rf"(?:钟|整|(?P<half>半)|(?P<quarter>[一三])刻|(?P<m>[0-5]?[0-9]|[二三四五]?十[一二三四五六七八九]?|[零〇]?[一二三四五六七八九])分?)?"
    rf"|(?P<h24>(?<![0-9.:])(?:2[0-3]|[01]?[0-9]))[:：](?P<m24>[0-5][0-9])(?![0-9:])"
    rf"|(?P<han>[一二三四五六七八九十]{{1,2}}点(?P<hanm>[二三四五]?十[一二三四五六七八九]?)分?))"
)
_HINT = re.compile(r"[年月日号周期拜天晚早夜点後后前末昨今明點儿]")
_GAP = re.compile(r"[\s,，的]{0,2}(?:在|大概|大约)?\s?")
_PAST = re.compile(r"[了过]|刚才|已经")
_AHEAD = re.compile(r"要|会|将|打算|计划|准备|约|定|想|得")
_END = re.compile(r"[。！？!?；;\n]")


def chinese_dates(text: str, now: datetime) -> Iterator[Span]:
    """The Chinese dates and times of `text`."""
    if not _HINT.search(text):
        return
    days: list[tuple[int, int, str]] = []
    for match in _DAY.finditer(text):
        kind = next(name for name in _KINDS if match[name] is not None)
        iso = _KINDS[kind](match, text, now)
        if iso is not None:
            days.append((match.start(), match.end(), iso))
    clocks = [(found, time) for found in _CLOCK.finditer(text) if (time := _read_clock(found))]
    used = -1
    for start, end, iso in days:
        for index, (found, time) in enumerate(clocks):
            if index <= used:
                continue
            if found.start() >= end and _GAP.fullmatch(text, end, found.start()):
                part = "" if time.sure else {"早": "am", "晚": "night", "夜": "night"}.get(text[end - 1], "")
                hour = hour_of(time.hour, part) if part else time.hour
                whole = join(iso, Time(time.hour if hour is None else hour, time.minute, sure=time.sure or bool(part)))
                if whole is not None:
                    iso, end, used = whole, found.end(), index
                break
        else:
            end = _with_part(text, end)
        yield Span(start, end, iso)
    for index, (found, time) in enumerate(clocks):
        start = found.start()
        if index > used and not any(day_start < found.end() and start < day_end for day_start, day_end, _ in days):
            yield Span(
                start + len(found.group()) - len(found.group().lstrip()), found.end(), f"T{time.hour:02d}:{time.minute:02d}"
            )


_PART_AFTER = re.compile(rf"\s?{_PART}")


def _with_part(text: str, end: int) -> int:
    """明天下午: the part of the day belongs to the words of the date, though the date is no finer for it."""
    found = _PART_AFTER.match(text, end)
    return found.end() if found is not None else end


def _read_clock(match: re.Match[str]) -> Time | None:
    part = _PARTS.get(match["part"] or "", "")
    if match["h24"]:
        hour, minute = int(match["h24"]), int(match["m24"])
    elif match["han"]:
        stated, minutes = han_number(match["han"].partition("点")[0]), han_number(match["hanm"])
        if stated is None or minutes is None or stated > 24 or minutes > 59:
            return None
        hour, minute = stated, minutes
    else:
        stated = han_number(match["h"])
        if stated is None:
            return None
        hour, minute = stated, 0
        if match["half"]:
            minute = 30
        elif match["quarter"]:
            minute = 15 if match["quarter"] == "一" else 45
        elif match["m"]:
            minutes = han_number(match["m"])
            if minutes is None or minutes > 59:
                return None
            minute = minutes
    if hour == 24 and minute:
        return None
    full = hour if part == "early" and hour < 12 else 0 if part == "early" else hour_of(hour, part)
    return None if full is None else Time(full, minute, sure=bool(part) or hour > 12 or hour == 0)


def _number(text: str) -> int:
    if text and all(char in HAN_DIGITS for char in text) and len(text) == 4:
        return int("".join(str(HAN_DIGITS[char]) for char in text))
    found = han_number(text)
    return -1 if found is None else found


def _past(text: str, start: int, end: int) -> bool:
    stop = _END.search(text, end, end + 40)
    after = text[end : stop.start() if stop else end + 40]
    return bool(_PAST.search(after)) and not _AHEAD.search(text[max(0, start - 10) : start] + after)


def _day(year: int, month_text: str, day_text_: str) -> str | None:
    return valid_day(year, _number(month_text), _number(day_text_))


def _month(year: int, month_text: str) -> str | None:
    month = _number(month_text)
    return f"{year:04d}-{month:02d}" if 1 <= year <= 9999 and 1 <= month <= 12 else None


def _relative(word: str) -> int:
    return {"上上": -2, "上": -1, "上个": -1, "下": 1, "下个": 1, "下下": 2}.get(word, 0)


def _month_day(match: re.Match[str], text: str, now: datetime) -> str | None:
    month, day = _number(match["md_m"]), _number(match["md_d"])
    past = _past(text, match.start(), match.end())
    year = now.year
    if (month, day) < (now.month, now.day) and not past:
        year += 1
    elif (month, day) > (now.month, now.day) and past:
        year -= 1
    return valid_day(year, month, day)


def _relative_year(match: re.Match[str], text: str, now: datetime) -> str | None:
    year = now.year + _YEARS[match["rymd_y"]]
    return _day(year, match["rymd_m"], match["rymd_d"]) if match["rymd_d"] else _month(year, match["rymd_m"])


def _relative_month_day(match: re.Match[str], text: str, now: datetime) -> str | None:
    month = add_months(now, _relative(match["rmd_w"]))
    return None if month is None else valid_day(int(month[:4]), int(month[5:]), _number(match["rmd_d"]))


def _weekday(char: str) -> int:
    return "一二三四五六日".index("日" if char == "天" else char)


def _every(match: re.Match[str], text: str, now: datetime) -> str | None:
    char = match["every_d"] or match["every_e"]
    return None if char == "末" else f"R/{WEEKDAYS[_weekday(char)]}"


def _week_day(match: re.Match[str], text: str, now: datetime) -> str | None:
    wanted, today, word = _weekday(match["wd_d"]), now.weekday(), match["wd_w"] or ""
    days = wanted - today
    if word:
        days += 7 * _relative(word)
    elif _past(text, match.start(), match.end()):
        days = -(-days % 7)
    else:
        days %= 7
    day = add_days(now, days)
    return None if day is None else day_text(day)


def _ago(match: re.Match[str], text: str, now: datetime) -> str | None:
    sign = -1 if "前" in match["ago_w"] else 1
    unit = match["ago_u"].removeprefix("个")
    if match["ago_n"] == "半":
        if unit == "年":
            return add_months(now, 6 * sign)
        return _clock_shift(30 * sign, now) if unit in ("小时", "钟头") else None
    count = _number(match["ago_n"])
    if count < 0:
        return None
    if unit == "月":
        return add_months(now, count * sign)
    if unit == "年":
        year = now.year + count * sign
        return f"{year:04d}" if 1 <= year <= 9999 and count < 1000 else None
    if unit in ("分钟", "小时", "钟头"):
        return _clock_shift(count * sign * (1 if unit == "分钟" else 60), now)
    day = add_days(now, count * sign * (1 if unit == "天" else 7))
    return None if day is None else day_text(day)


def _clock_shift(minutes: int, now: datetime) -> str | None:
    try:
        moment = now + timedelta(minutes=minutes)
    except OverflowError:
        return None
    return f"{day_text(moment.date())}T{moment.hour:02d}:{moment.minute:02d}"


def _near(match: re.Match[str], text: str, now: datetime) -> str | None:
    day = add_days(now, _NEAR[match["near"]])
    return None if day is None else day_text(day)


def _month_only(match: re.Match[str], text: str, now: datetime) -> str | None:
    month, past = _number(match["mon_m"]), _past(text, match.start(), match.end())
    year = now.year - 1 if past and month > now.month else now.year + 1 if not past and month < now.month else now.year
    return _month(year, match["mon_m"])


def _nth(match: re.Match[str], text: str, now: datetime) -> str | None:
    if match["nth_e"]:
        return None
    day, past = _number(match["nth_d"]), _past(text, match.start(), match.end())
    step = -1 if past and day > now.day else 1 if not past and day < now.day else 0
    month = add_months(now, step)
    return None if month is None else valid_day(int(month[:4]), int(month[5:]), day)


def _year(year: int) -> str | None:
    return f"{year:04d}" if 1 <= year <= 9999 else None


_KINDS: dict[str, Callable[[re.Match[str], str, datetime], str | None]] = {
    "ymd": lambda match, text, now: _day(_number(match["ymd_y"]), match["ymd_m"], match["ymd_d"]),
    "ym": lambda match, text, now: _month(_number(match["ym_y"]), match["ym_m"]),
    "rymd": _relative_year,
    "md": _month_day,
    "rmd": _relative_month_day,
    "every": _every,
    "wd": _week_day,
    "weekend": lambda match, text, now: iso_week_of(add_days(now, 7 * _relative(match["weekend_w"] or ""))),
    "week": lambda match, text, now: iso_week_of(add_days(now, 7 * _relative(match["week_w"]))),
    "month": lambda match, text, now: add_months(now, _relative(match["month_w"])),
    "eom": lambda match, text, now: add_months(now, 0),
    "near": _near,
    "yearonly": lambda match, text, now: _year(_number(match["yearonly_y"])),
    "ryear": lambda match, text, now: _year(now.year + _YEARS[match["ryear_y"]]),
    "ago": _ago,
    "mon": _month_only,
    "nth": _nth,
}
