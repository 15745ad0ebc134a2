"""Lengths of time to ISO 8601 durations: `5 years`, `a year and a half`, 两个月, 一个半小时. Halves become the next
smaller unit where that is exact."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from .values_numbers import EN_NUMBER, ZH_NUMERAL, plain, read_numeral

__all__ = ["EN_UNITS", "ZH_UNITS", "iso_duration", "iter_durations"]

EN_UNITS = {
    "year": "Y", "yr": "Y", "month": "M", "week": "W", "day": "D", "night": "D", "hour": "H", "hr": "H", "h": "H",
    "minute": "m", "min": "m", "second": "S", "sec": "S",
}  # fmt: skip
ZH_UNITS = {
    "年": "Y", "个月": "M", "个星期": "W", "星期": "W", "个礼拜": "W", "礼拜": "W", "周": "W", "天": "D", "日": "D",
    "晚": "D", "个小时": "H", "个钟头": "H", "小时": "H", "钟头": "H", "分钟": "m", "分": "m", "秒钟": "S", "秒": "S",
}  # fmt: skip
_FINER = {"Y": ("M", 12), "D": ("H", 24), "H": ("m", 60), "m": ("S", 60)}
_EN_UNIT = r"(?:years?|yrs?|months?|weeks?|days?|nights?|hours?|hrs?|minutes?|mins?|seconds?|secs?)"
_EN_COUNT = rf"(?:{EN_NUMBER}(?:\s{{1,3}}and\s{{1,3}}a\s{{1,3}}half)?|half\s{{1,3}}an?|an?)"
_EN_PART = rf"{_EN_COUNT}(?:\s{{0,3}}|-){_EN_UNIT}\b(?:\s{{1,3}}and\s{{1,3}}a\s{{1,3}}half\b)?"
_EN = re.compile(
    rf"(?<![\w.]){_EN_PART}(?:\s{{0,2}},?\s{{0,2}}(?:and\s{{1,3}})?{_EN_PART}){{0,4}}|(?<![\w.])[0-9]{{1,3}}h(?:[0-9]{{1,2}}m?)?\b",
    re.IGNORECASE,
)
_EN_SPLIT = re.compile(rf"(?P<count>{_EN_COUNT})(?:\s*|-)(?P<unit>{_EN_UNIT})\b(?P<half>\s+and\s+a\s+half\b)?", re.IGNORECASE)
_ZH_UNIT = r"(?:年|个月|个?星期|个?礼拜|周|天|日|晚|个?小时|个?钟头|分钟|分|秒钟|秒)"
_ZH_COUNT = rf"(?:{ZH_NUMERAL}|[0-9]{{1,6}}(?:\.[0-9]{{1,3}})?)"
_ZH_PART = (
    rf"(?:(?:{_ZH_COUNT}\s?个半(?:月|星期|小时|钟头))|(?:{_ZH_COUNT}\s?多?{_ZH_UNIT}半?)"
    rf"|半\s?(?:年|个月|天|个?小时|个?钟头|分钟))"
)
_ZH = re.compile(rf"{_ZH_PART}(?:零?又?{_ZH_PART}){{0,4}}")
_ZH_SPLIT = re.compile(
    rf"(?:(?P<count>{_ZH_COUNT})\s?多?(?:个半(?P<hunit>月|星期|小时|钟头)|(?P<unit>{_ZH_UNIT})(?P<half>半)?)|半\s?(?P<only>年|个月|天|个?小时|个?钟头|分钟))"
)


def iso_duration(parts: list[tuple[Decimal, str]]) -> str | None:
    """ISO 8601 from (count, unit) with units Y M W D H m S; None where it cannot be written (weeks beside others become
    days)."""
    if len(parts) > 1:
        parts = [(count * 7, "D") if unit == "W" else (count, unit) for count, unit in parts]
    sums: dict[str, Decimal] = {}
    for count, unit in parts:
        while count != count.to_integral_value() and unit in _FINER:
            finer, times = _FINER[unit]
            whole = count.to_integral_value(rounding="ROUND_FLOOR")
            rest = (count - whole) * times
            if rest != rest.to_integral_value() and finer not in _FINER:
                break
            if whole:
                sums[unit] = sums.get(unit, Decimal(0)) + whole
            count, unit = rest, finer
        sums[unit] = sums.get(unit, Decimal(0)) + count
    if not sums or any(value < 0 for value in sums.values()):
        return None
    date = "".join(f"{plain(sums[unit])}{unit}" for unit in "YMWD" if unit in sums)
    time = "".join(f"{plain(sums[unit])}{unit.upper()}" for unit in "HmS" if unit in sums)
    return f"P{date}{'T' if time else ''}{time}"


def _en_unit(word: str) -> str:
    word = word.lower()
    return EN_UNITS[word.removesuffix("s")] if word != "s" else "S"


def _count(text: str) -> Decimal | None:
    lower = re.sub(r"\s+", " ", text.lower())
    half = Decimal(0)
    if lower.endswith(" and a half"):
        lower, half = lower[: -len(" and a half")], Decimal("0.5")
    if lower in ("a", "an"):
        return Decimal(1) + half
    if lower in ("half a", "half an"):
        return Decimal("0.5")
    found = read_numeral(lower)
    return None if found is None else found + half


def iter_durations(text: str, lang: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, ISO 8601) of every length of time in `text`, in order."""
    spans: list[tuple[int, int, str]] = []
    for match in _EN.finditer(text):
        parts: list[tuple[Decimal, str]] = []
        short = re.fullmatch(r"([0-9]{1,3})h([0-9]{1,2})?m?", match.group(), re.IGNORECASE)
        if short is not None:
            parts = [(Decimal(short.group(1)), "H"), *([(Decimal(short.group(2)), "m")] if short.group(2) else [])]
        else:
            for part in _EN_SPLIT.finditer(match.group()):
                count = _count(part["count"])
                if count is not None:
                    parts.append((count + (Decimal("0.5") if part["half"] else 0), _en_unit(part["unit"])))
        iso = iso_duration(parts)
        if iso is not None:
            spans.append((match.start(), match.end(), iso))
    for match in _ZH.finditer(text):
        iso = _zh_iso(match.group())
        if iso is not None:
            spans.append((match.start(), match.end(), iso))
    return iter(sorted(spans))


def _zh_iso(text: str) -> str | None:
    parts: list[tuple[Decimal, str]] = []
    for part in _ZH_SPLIT.finditer(text):
        if part["only"]:
            parts.append((Decimal("0.5"), ZH_UNITS[part["only"]]))
            continue
        count = read_numeral(part["count"])
        if count is None:
            return None
        unit = ZH_UNITS[part["unit"]] if part["unit"] else ZH_UNITS[f"个{part['hunit']}"]
        if part["unit"] in ("年", "日", "分") and count > 200 and part["unit"] == "年":
            return None  # 2026年 is a year, not a length
        if part["unit"] == "日":
            return None  # 7日 is a day of the month
        parts.append((count + (Decimal("0.5") if part["hunit"] or part["half"] else 0), unit))
    return iso_duration(parts)
