"""Sums of money and counted or measured numbers inside a text. A marked amount ($5k, 五千块) is money; a bare number is
money only where the text has no marked one and the number is no date, no length of time and no count of something else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from .values_dates import iter_dates
from .values_durations import iter_durations
from .values_numbers import EN_NUMBER, ZH_NUMERAL, iter_numerals, plain, read_numeral

__all__ = ["iter_money", "iter_numbers"]

_SYMBOLS = {
    "$": "USD", "US$": "USD", "USD": "USD", "HK$": "HKD", "A$": "AUD", "AU$": "AUD", "C$": "CAD", "CA$": "CAD",
    "S$": "SGD", "€": "EUR", "EUR": "EUR", "£": "GBP", "GBP": "GBP", "￥": "CNY", "RMB": "CNY", "CNY": "CNY",
    "JPY": "JPY", "₹": "INR", "INR": "INR", "₩": "KRW", "KRW": "KRW", "₽": "RUB", "CHF": "CHF", "HKD": "HKD",
    "TWD": "TWD", "NT$": "TWD", "AUD": "AUD", "CAD": "CAD", "SGD": "SGD",
}  # fmt: skip
_WORDS = {
    "dollar": "USD", "us dollar": "USD", "buck": "USD", "usd": "USD", "euro": "EUR", "eur": "EUR", "pound": "GBP",
    "pound sterling": "GBP", "quid": "GBP", "gbp": "GBP", "yuan": "CNY", "rmb": "CNY", "cny": "CNY",
    "renminbi": "CNY", "kuai": "CNY", "yen": "JPY", "jpy": "JPY", "won": "KRW", "krw": "KRW", "rupee": "INR",
    "inr": "INR", "ruble": "RUB", "swiss franc": "CHF", "franc": "CHF", "chf": "CHF", "hong kong dollar": "HKD",
    "hkd": "HKD", "canadian dollar": "CAD", "cad": "CAD", "australian dollar": "AUD", "aud": "AUD",
    "singapore dollar": "SGD", "sgd": "SGD", "twd": "TWD", "块": "CNY", "块钱": "CNY", "元": "CNY", "元人民币": "CNY",
    "人民币": "CNY", "元钱": "CNY", "圆": "CNY", "美元": "USD", "美金": "USD", "刀": "USD", "欧元": "EUR",
    "英镑": "GBP", "镑": "GBP", "日元": "JPY", "日圆": "JPY", "港币": "HKD", "港元": "HKD", "台币": "TWD",
    "新台币": "TWD", "韩元": "KRW", "韩币": "KRW", "卢布": "RUB", "瑞士法郎": "CHF", "澳元": "AUD", "加元": "CAD",
    "新元": "SGD", "卢比": "INR", "€": "EUR", "£": "GBP", "$": "USD", "￥": "CNY",
}  # fmt: skip
_SYMBOL = (
    r"(?:(?:US|HK|AU|CA|NT|A|C|S)?\$|[€£¥￥₹₩₽]"
    r"|(?:USD|EUR|GBP|RMB|CNY|JPY|CHF|HKD|INR|KRW|TWD|AUD|CAD|SGD)(?=[\s0-9])|人民币|港币|美金)"
)
_EN_WORD = (
    r"(?:(?:US|hong\skong|canadian|australian|singapore)\s{1,2}dollars?|dollars?|bucks?|euros?|pounds?(?:\ssterling)?|quid|yuan|renminbi|kuai"
    r"|yen|won|rupees?|rubles?|swiss\sfrancs?|francs?|usd|eur|gbp|rmb|cny|jpy|krw|inr|chf|hkd|cad|aud|sgd|twd)\b"
)
_ZH_WORD = (
    r"(?:元人民币|人民币|块钱?|元钱?|圆|美元|美金|刀(?!具|子|片)|欧元|英镑|镑|日元|日圆"
    r"|港币|港元|新?台币|韩元|韩币|卢布|瑞士法郎|澳元|加元|新元|卢比)"
)
_AMOUNT = rf"(?:{ZH_NUMERAL}|{EN_NUMBER}|(?<![0-9.,])[0-9]{{1,15}}(?:\.[0-9]{{1,9}})?)"
_MARKED = re.compile(
    rf"(?P<sym>{_SYMBOL})\s{{0,2}}(?P<a>{_AMOUNT})(?:\s{{0,2}}(?P<a2>{_EN_WORD}|{_ZH_WORD}))?"
    rf"|(?P<b>{_AMOUNT})\s{{0,2}}(?:多|来|几)?\s{{0,1}}(?P<word>{_ZH_WORD}|{_EN_WORD}|[€£](?![0-9])|\$(?!\s?[0-9]))(?:(?P<mao>[0-9一二三四五六七八九])毛?(?![0-9一二三四五六七八九十百千万个]))?",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\s{0,2}(?:(?:people|persons?|members?|engineers?|developers?|employees?|users?|customers?|kids?|children|times?|percent|per\scent|units?"
    r"|pieces?|items?|pages?|km|kg|cm|mm|lbs?|pounds?|miles?|meters?|metres?|years?|months?|weeks?|days?|hours?|minutes?|am|pm|th|st|nd|rd|x)\b"
    r"|[%％年月日号天周点分秒岁个人次位名台件张只条辆套本度米斤]|公里|公斤|小时|星期)",
    re.IGNORECASE,
)
_NOT_MONEY = re.compile(
    r"(?:\b(?:version|v|no|number|room|chapter|phase|step|page|section|floor|option|plan|level|q|top|room)\.?\s?|第|#)$",
    re.IGNORECASE,
)


def iter_money(text: str, lang: str, now: datetime) -> Iterator[tuple[int, int, dict[str, str]]]:
    """Marked amounts; where there is none, bare numbers (currency empty)."""
    any_marked = False
    for match in _MARKED.finditer(text):
        amount = read_numeral(match["a"] or match["b"])
        if amount is None:
            continue
        sign = (match["sym"] or "").strip()
        word = re.sub(r"\s+", " ", (match["a2"] or match["word"] or "").lower())
        currency = _WORDS.get(word) or _WORDS.get(word.removesuffix("s")) or _WORDS.get(word.replace("dollars", "dollar")) or ""
        if sign and not currency:
            currency = ("CNY" if lang == "zh" else "JPY") if sign == "¥" else _SYMBOLS.get(sign.upper()) or _WORDS.get(sign, "")
        if match["mao"] and word in ("块", "元", "块钱"):
            digit = read_numeral(match["mao"])
            amount += (digit or Decimal(0)) / 10
        any_marked = True
        yield match.start(), match.end(), {"amount": plain(amount), "currency": currency}
    if any_marked:
        return
    taken = [(span.start, span.end) for span in iter_dates(text, now)]
    taken += [(start, end) for start, end, _ in iter_durations(text, lang)]
    for numeral in iter_numerals(text):
        said = text[numeral.start : numeral.end]
        if len(said) == 1 and not said.isdigit():
            continue  # 一 in 一起, "a"
        if any(start < numeral.end and numeral.start < end for start, end in taken):
            continue
        if _COUNTED.match(text, numeral.end) or _NOT_MONEY.search(text[max(0, numeral.start - 10) : numeral.start]):
            continue
        yield numeral.start, numeral.end, {"amount": plain(numeral.value), "currency": ""}


_UNITS = {
    "kg": "kg", "kgs": "kg", "kilo": "kg", "kilos": "kg", "kilogram": "kg", "kilograms": "kg", "公斤": "kg",
    "千克": "kg", "斤": "jin", "g": "g", "gram": "g", "grams": "g", "克": "g", "lb": "lb", "lbs": "lb", "pound": "lb",
    "pounds": "lb", "磅": "lb", "cm": "cm", "centimeters": "cm", "centimetres": "cm", "厘米": "cm", "公分": "cm",
    "mm": "mm", "毫米": "mm", "m": "m", "meter": "m", "meters": "m", "metre": "m", "metres": "m", "米": "m",
    "km": "km", "kilometers": "km", "kilometres": "km", "公里": "km", "千米": "km", "mile": "mi", "miles": "mi",
    "英里": "mi", "ft": "ft", "foot": "ft", "feet": "ft", "英尺": "ft", "inch": "in", "inches": "in", "in": "in",
    "英寸": "in", "%": "%", "percent": "%", "per cent": "%", "％": "%",
}  # fmt: skip
_UNIT_WORD = "|".join(sorted((re.escape(word) for word in _UNITS if word != "in"), key=len, reverse=True))
_UNIT = re.compile(rf"\s{{0,2}}(?P<unit>{_UNIT_WORD})(?![A-Za-z])", re.IGNORECASE)
_FEET = re.compile(
    r"(?<![\w.])(?P<ft>[3-8])\s?(?:['’′]|ft\.?|feet|foot)\s?(?P<inch>1[01]|[0-9])\s?(?:[\"”″]|''|inches|inch|in\b)?(?![0-9])",
    re.IGNORECASE,
)
_METRES = re.compile(r"(?P<m>[12一两])\s?米\s?(?P<cm>[0-9]{1,2}|[零一二三四五六七八九十]{1,3})(?![0-9])")
_PERCENT = re.compile(rf"百分之(?P<n>{ZH_NUMERAL}|[0-9]{{1,3}}(?:\.[0-9]{{1,4}})?)")
_CLASSIFIER = re.compile(r"\s?[个人岁位名只条口台件张辆套本次倍层间家块元天年月周号点度克吨斤米]|\s?(?:多|几)?[个岁]")


_KINDS_OF_UNIT = ({"kg", "jin", "g", "lb"}, {"cm", "mm", "m", "km", "mi", "ft", "in"}, {"%"})


def _fits(said: str, declared: str | None) -> bool:
    """Whether a measure may fill a slot: one without a unit counts, and takes no measures; kg does not fill a length."""
    if declared is None or not said or said == declared:
        return True
    return bool(declared) and any(said in kind and declared in kind for kind in _KINDS_OF_UNIT)


def iter_numbers(text: str, unit: str | None) -> Iterator[tuple[int, int, dict[str, str]]]:
    """Numbers with the unit that was said, or with the slot's `unit` where none was; with a `unit` (empty: a mere count) only
    those that it fits."""
    special: list[tuple[int, int, dict[str, str]]] = []
    for match in _FEET.finditer(text):
        inches = Decimal(match["ft"]) * 12 + Decimal(match["inch"])
        special.append((match.start(), match.end(), {"number": plain(inches), "unit": "in"}))
    for match in _METRES.finditer(text):
        whole, part = read_numeral(match["m"]), read_numeral(match["cm"])
        if whole is not None and part is not None:
            # 1米8 is 1.8, 1米75 is 1.75
            metres = whole + (part / 10 if len(match["cm"]) == 1 else part / 100)
            special.append((match.start(), match.end(), {"number": plain(metres), "unit": "m"}))
    for match in _PERCENT.finditer(text):
        value = read_numeral(match["n"])
        if value is not None:
            special.append((match.start(), match.end(), {"number": plain(value), "unit": "%"}))
    found = list(special)
    for numeral in iter_numerals(text):
        start, end = numeral.start, numeral.end
        if any(start < other_end and other_start < end for other_start, other_end, _ in special):
            continue
        said = text[start:end]
        if len(said) == 1 and not said.isascii() and not _lone(text, start, end):
            continue
        value = numeral.value
        if said[-1] == "m" and said[-2].isdigit():  # 1.75m are metres, 5M are millions
            end, value = end - 1, value / 10**6
        measured = _UNIT.match(text, end)
        data = {"number": plain(value)}
        if measured is not None:
            end = measured.end()
            data["unit"] = _UNITS[measured["unit"].lower()]
        elif unit:
            data["unit"] = unit
        found.append((start, end, data))
    fitting = (item for item in found if _fits(item[2].get("unit", ""), unit))
    yield from sorted(fitting, key=lambda item: item[:2])


def _lone(text: str, start: int, end: int) -> bool:
    """Whether a single Chinese numeral counts something: 六个, or stands alone; not 一起, 星期一, 第一."""
    before = text[:start].rstrip()[-1:]
    if before in ("第", "期", "周", "拜", "初", "唯", "统", "万", "每"):
        return False
    counts = _CLASSIFIER.match(text, end)
    return counts is not None or (not text[end:].strip(" 。，！？.,!?") and not text[:start].strip(" 是有大概约共"))
