"""Typed values out of text: which language it is, where values stand in it, and what a whole text means as the value of a slot.
Pure and total: every text is accepted, nothing is ever guessed from the machine's clock, spans are exact code points."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal

import msgspec

from ...schemas.forms import Slot
from ...schemas.values import Value, ValueType
from .values_amounts import iter_money, iter_numbers
from .values_dates import iter_dates, wall_clock
from .values_durations import iter_durations
from .values_numbers import plain
from .values_text import NARROW, fits_shape, iter_bools, iter_enum, read_text

__all__ = ["Found", "detect_lang", "find_values", "parse_value"]

MAX_SCAN = 20_000
"""Values are looked for in at most this many characters of a text."""

_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_LATIN = re.compile(r"[A-Za-z]{2,}")


class Found(msgspec.Struct, frozen=True):
    """A value at `text[start:end]` (code points, half-open). `hedged`: words such as "about" or 左右 stand beside it."""

    start: int
    end: int
    value: Value
    hedged: bool = False


def detect_lang(text: str) -> str:
    """`zh` where Chinese characters outnumber Latin words, else `en`."""
    head = text[:2000]
    han = len(_HAN.findall(head))
    return "zh" if han and han >= len(_LATIN.findall(head)) else "en"


_BEFORE = re.compile(
    r"(?:(?:\b(?:about|around|roughly|approximately|approx\.?|maybe|perhaps|probably|possibly|nearly|almost|circa|some|say|like"
    r"|somewhere\s(?:around|near|between)|close\sto|more\sor\sless|up\sto|at\sleast|at\smost|over|under|more\sthan|less\sthan|i\s(?:think|guess|believe)|not\ssure|might\sbe|could\sbe|should\sbe)\b|~|≈)"
    r"[\s,]{0,2}(?:(?:it['’]?s|it\sis|is|be|in|on|at|by|the|a|an)\s{1,2}){0,2}"
    r"|(?:大概|大约|大致|约莫|约|差不多|可能|也许|估计|接近|将近|近|好像|应该|大抵|几乎|至少|最多|超过|不到|起码|或许|没准)"
    r"(?:是|有|在|要|会|得|花|就|也|共|一共|为|需要|能|年)?\s?)[$€£¥￥]?\s?$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\s?-?ish\b|\s{1,2}(?:or\sso|or\sthereabouts|give\sor\stake|more\sor\sless|maybe|perhaps|i\s(?:think|guess|believe)|at\s(?:least|most)|roughly|approximately|probably)\b"
    r"|,\s?(?:maybe|roughly|approximately|more\sor\sless|give\sor\stake|i\s(?:think|guess))\b|\+"
    r"|\s?(?:左右|上下|出头|不到|的样子|差不多|以上|以下|以内|吧(?!台)|多(?![少大久长么])|来(?=[块元个岁年天]))",
    re.IGNORECASE,
)


def _hedged(text: str, start: int, end: int) -> bool:
    return bool(_AFTER.match(text, end)) or bool(_BEFORE.search(text[max(0, start - 40) : start]))


def find_values(
    value_type: ValueType, text: str, *, at: str, utc_offset: int = 0, lang: str = "en", slot: Slot | None = None
) -> list[Found]:
    """The values of `value_type` inside `text`, in order, not overlapping.

    at: when it was said (fixed UTC form); utc_offset: the speaker's minutes east of UTC; lang: which currency ¥ is; slot: an
    enum's members and a number's unit come from it (an enum without a slot finds nothing, and so does `text`).
    """
    text = text[:MAX_SCAN].translate(NARROW)
    return [
        Found(start, end, Value(value_type, data, text[start:end]), _hedged(text, start, end))
        for start, end, data in _scan(value_type, text, at, utc_offset, lang, slot)
    ]


Data = str | dict[str, str]
_YEARLY = re.compile(
    r"^(?!.*(?:[12][0-9]{3}|[年上下这本]))(?=.*[0-9一二三四五六七八九十])(?=.*(?:月|[A-Za-z]{3})).*$", re.DOTALL
)
"""A day and a month without a year: May 7th, 5月7号."""


def _scan(
    value_type: ValueType, text: str, at: str, utc_offset: int, lang: str, slot: Slot | None
) -> Iterator[tuple[int, int, Data]]:
    if value_type == "date":
        yearly = slot is not None and slot.yearly
        for span in iter_dates(text, wall_clock(at, utc_offset)):
            comes_back = yearly and _YEARLY.match(text[span.start : span.end]) and len(span.iso) == 10
            yield span.start, span.end, f"R/{span.iso[5:]}" if comes_back else span.iso
    elif value_type == "duration":
        yield from iter_durations(text, lang)
    elif value_type == "money":
        yield from iter_money(text, lang, wall_clock(at, utc_offset))
    elif value_type == "number":
        yield from iter_numbers(text, slot.unit if slot is not None else None)
    elif value_type == "enum" and slot is not None:
        yield from iter_enum(text, slot)
    elif value_type == "bool":
        yield from iter_bools(text)


_OUTER = " \t\r\n.,;:!?\"'“”‘’「」『』。，；：！？、…"
_LEAD = re.compile(
    r"(?:(?:it['’]s|it\sis|is|are|was|to|at|on|in|by|for|until|till|before|from|since|of|the|a|an|about|around|roughly|approximately|maybe"
    r"|perhaps|probably|only|just|now|still|exactly|almost|nearly|over|under|up|back)\s{1,3}"
    r"|是|为|在|到|有|了|大概|大约|差不多|可能|约|也许|就|只|一共|共|从)",
    re.IGNORECASE,
)
_TRAIL = re.compile(
    r"(?:\s{0,2}(?:or\sso|ish|now|please|total|in\stotal|old|tall|each|per\s(?:month|year|hour|day|week)|a\s(?:month|year|week|day)|overall|instead|altogether)\b"
    r"|\s?(?:左右|上下|吧|了|的样子|的|钟|整|多|差不多|出头|以内|之前|前|每月|一个月|的话|啦|呢|啊|高|重|岁))+",
    re.IGNORECASE,
)


def parse_value(slot: Slot, text: str, *, at: str, utc_offset: int = 0, lang: str = "en") -> Value | None:
    """The value that the whole of `text` is, typed by `slot`; None when it is not of the slot's type. Hedges, prepositions and
    outer punctuation may stand around it."""
    if slot.type == "text":
        read = read_text(text)
        return Value("text", read) if read is not None and fits_shape(slot.shape, read, lang) else None
    narrow = text.translate(NARROW).strip(_OUTER)
    if not narrow or len(narrow) > 200:
        return None
    if slot.type == "date" and re.fullmatch(r"[12][0-9]{3}", narrow):
        return Value("date", narrow, narrow)
    found = find_values(slot.type, narrow, at=at, utc_offset=utc_offset, lang=lang, slot=slot)
    for hit in found:
        if _all_lead(narrow[: hit.start]) and _all_trail(narrow[hit.end :]):
            return hit.value
    if slot.type == "date":
        from .values_dateparser import read_date

        iso = read_date(narrow, wall_clock(at, utc_offset))
        return None if iso is None else Value("date", iso, narrow)
    return _canonical(slot, narrow)


def _canonical(slot: Slot, text: str) -> Value | None:
    """Data already in the form of `Value`: `P5Y`, `true`, `5000 USD`."""
    if slot.type == "duration" and re.fullmatch(r"P(?=.)(?:[0-9.]{1,9}[YMWD]){0,4}(?:T(?:[0-9.]{1,9}[HMS]){1,3})?", text):
        return Value("duration", text, text)
    if slot.type == "money":
        match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s([A-Z]{3})", text)
        if match is not None:
            return Value("money", {"amount": plain(Decimal(match[1])), "currency": match[2]}, text)
    return None


def _all_lead(text: str) -> bool:
    return _consumed(_LEAD.match, text.lstrip(_OUTER + "-~≈("))


def _all_trail(text: str) -> bool:
    rest = text.strip(_OUTER + ")")
    return not rest or bool(_TRAIL.fullmatch(text.rstrip(_OUTER + ")"))) or bool(_TRAIL.fullmatch(rest))


def _consumed(match_at: Callable[..., re.Match[str] | None], text: str) -> bool:
    text = text + " " if text and text[-1:].isascii() and not text.endswith(" ") else text
    at = 0
    while at < len(text):
        found = match_at(text, at)
        if found is None:
            return not text[at:].strip(_OUTER)
        at = found.end()
    return True
