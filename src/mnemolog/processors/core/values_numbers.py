"""Numerals of both languages to exact decimals: digits, number words, Chinese numerals, magnitudes (`5k`, 3万). Nothing here
rounds, and no number ever has an exponent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

import msgspec

__all__ = ["EN_NUMBER", "HAN_DIGITS", "NUMBER", "ZH_NUMERAL", "Numeral", "han_number", "iter_numerals", "plain", "read_numeral"]

_UNITS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90,
}  # fmt: skip
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_SUFFIX = {"k": 1000, "grand": 1000, "m": 10**6, "mn": 10**6, "mil": 10**6, "bn": 10**9, "b": 10**9, **_SCALES}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
HAN_DIGITS = {**{char: value for value, char in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}

_DIGITS = r"[0-9]{1,3}(?:,[0-9]{3}){1,5}(?:\.[0-9]{1,9})?|[0-9]{1,15}(?:\.[0-9]{1,9})?"
_WORD = "|".join(sorted(_UNITS, key=len, reverse=True))
_WORDS = (
    rf"(?:half\s{{1,3}}a\s{{1,3}}(?:million|billion|thousand|hundred|dozen)|a\s{{1,3}}couple(?:\s{{1,3}}of)?"
    rf"|(?:a|one|two|three|four|five|six|half\s{{1,3}}a)\s{{1,3}}dozen"
    rf"|(?:(?:{_WORD})|an?\s{{1,3}}(?=(?:hundred|thousand|million|billion)\b))"
    rf"(?:(?:\s{{1,3}}|-)(?:and\s{{1,3}}(?=(?:{_WORD})\b))?(?:{_WORD}|hundred|thousand|million|billion)\b){{0,12}}"
    rf"|an?\s{{1,3}}(?:hundred|thousand|million|billion)"
    rf"(?:(?:\s{{1,3}}|-)(?:and\s{{1,3}}(?=(?:{_WORD})\b))?(?:{_WORD}|hundred|thousand|million|billion)\b){{0,12}})"
)
_MAGNITUDE = (
    r"(?:\s{0,2}(?:thousand|million|billion|hundred|grand)\b|(?:\s{0,1}(?:mil|mn|bn)|[kKmMbB])(?![A-Za-z]{1})|[kK](?=ish\b))"
)
EN_NUMBER = rf"(?:(?<![\w.])(?:{_DIGITS})(?:{_MAGNITUDE})?|\b(?:{_WORDS})\b)"
_HAN = "零〇一二两三四五六七八九十百千万亿"
ZH_NUMERAL = (
    rf"(?:(?<![0-9.,A-Za-z])(?:{_DIGITS})\s?[百千万亿]{{1,3}}(?:[0-9]{{1,4}}[千百十]?)?|[{_HAN}]{{1,20}}(?:点[{_HAN}]{{1,9}})?)"
)
NUMBER = re.compile(rf"(?P<zh>{ZH_NUMERAL})|(?P<en>{EN_NUMBER})|(?P<bare>(?<![0-9.,A-Za-z])(?:{_DIGITS}))", re.IGNORECASE)
_PARTS = re.compile(rf"({_DIGITS})\s*([A-Za-z]*)")


class Numeral(msgspec.Struct, frozen=True):
    """A number and where it stands."""

    start: int
    end: int
    value: Decimal


def plain(value: Decimal) -> str:
    """`5000`, `5.5`: no exponent, no trailing zeros."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def iter_numerals(text: str) -> Iterator[Numeral]:
    """Every numeral of `text` in order."""
    for match in NUMBER.finditer(text):
        value = read_numeral(match.group())
        if value is not None:
            yield Numeral(match.start(), match.end(), value)


def read_numeral(text: str) -> Decimal | None:
    """The value of one numeral that fills `text`; None when it is none."""
    text = text.strip()
    if not text:
        return None
    if any(char in _HAN for char in text):
        return _han(text)
    if text[0].isdigit():
        match = _PARTS.fullmatch(text)
        if match is None:
            return None
        scale = _SUFFIX.get(match.group(2).lower()) if match.group(2) else 1
        return None if scale is None else Decimal(match.group(1).replace(",", "")) * scale
    return _words(text.lower())


def _words(text: str) -> Decimal | None:
    words = [word for word in re.split(r"[\s-]+", text) if word not in ("and", "of")]
    if "couple" in words:
        return Decimal(2)
    if "dozen" in words:
        lead = words[: words.index("dozen")]
        return Decimal(6) if "half" in lead else Decimal(12) * _UNITS.get(lead[0] if lead else "one", 1)
    if words[:2] == ["half", "a"] and len(words) == 3:
        return Decimal(_SCALES[words[2]]) / 2
    total = group = 0
    for word in words:
        if word in ("a", "an"):
            group = 1
        elif word in _UNITS:
            group += _UNITS[word]
        elif word == "hundred":
            group = (group or 1) * 100
        elif word in _SCALES:
            total, group = total + (group or 1) * _SCALES[word], 0
        else:
            return None
    return Decimal(total + group)


def han_number(text: str) -> int | None:
    """A whole number in Chinese numerals or digits; None when it is none."""
    value = read_numeral(text)
    return int(value) if value is not None and value == value.to_integral_value() else None


def _han(text: str) -> Decimal | None:
    match = re.match(rf"({_DIGITS})\s?([百千万亿]{{1,3}})(?:([0-9]{{1,4}})([千百十]?))?$", text)
    if match is not None:
        scale = 1
        for char in match.group(2):
            scale *= _HAN_SCALES[char]
        value = Decimal(match.group(1).replace(",", "")) * scale
        if match.group(3):
            # 3万5 is 35000: a digit without a scale counts the next lower one
            lower = _HAN_SCALES.get(match.group(4) or "", scale // 10 if len(match.group(3)) == 1 else 1)
            value += Decimal(match.group(3)) * lower
        return value
    whole, _, fraction = text.partition("点")
    if fraction and any(char not in HAN_DIGITS for char in fraction):
        return None
    base = _han_whole(whole)
    if base is None:
        return None
    return Decimal(f"{base}.{''.join(str(HAN_DIGITS[char]) for char in fraction)}") if fraction else Decimal(base)


def _han_whole(text: str) -> int | None:
    if not text:
        return None
    if all(char in HAN_DIGITS for char in text):
        if len(text) > 1 and "两" in text:
            return None
        return int("".join(str(HAN_DIGITS[char]) for char in text))
    if text in ("百", "千", "万", "亿", "百万", "千万", "万亿"):
        return None  # "hundreds of", no number
    import cn2an  # imported late: it costs 0.2 s

    try:
        found = cn2an.cn2an(text, "smart")
    except (ValueError, KeyError):  # the second for units in an order that it does not know, such as 万十五
        return None
    return found if isinstance(found, int) else None
