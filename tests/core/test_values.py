"""Values out of text: money, numbers, durations, words; hedges; whole texts as values; and that no text breaks anything."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.processors.core.values import detect_lang, find_values, parse_value
from mnemolog.processors.core.values_numbers import plain, read_numeral
from mnemolog.schemas.forms import Slot
from mnemolog.schemas.registry import Registry
from mnemolog.schemas.values import Value, ValueType

AT = "2023-05-07T13:00:00.000000Z"
DIET = Registry.load().slot("person", "diet")
TYPES: list[ValueType] = ["text", "number", "money", "date", "duration", "bool", "enum"]


def found(value_type: ValueType, text: str, slot: Slot | None = None) -> list[tuple[str, object]]:
    hits = find_values(value_type, text, at=AT, lang=detect_lang(text), slot=slot)
    return [(text[hit.start : hit.end], hit.value.data) for hit in hits]


def money(amount: str, currency: str = "") -> dict[str, str]:
    return {"amount": amount, "currency": currency}


@pytest.mark.parametrize(
    ("text", "said", "data"),
    [
        ("It costs $5,000 in all", "$5,000", money("5000", "USD")),
        ("we have 5k", "5k", money("5000")),
        ("5000 dollars please", "5000 dollars", money("5000", "USD")),
        ("五千块就够了", "五千块", money("5000", "CNY")),
        ("一共3万元", "3万元", money("30000", "CNY")),
        ("1.5 million euros", "1.5 million euros", money("1500000", "EUR")),
        ("给了￥200", "￥200", money("200", "CNY")),
        ("200 RMB", "200 RMB", money("200", "CNY")),
        ("预算是两百五十万", "两百五十万", money("2500000")),
        ("三块五", "三块五", money("3.5", "CNY")),
        ("花了1200多块钱", "1200多块钱", money("1200", "CNY")),
        ("eight hundred thousand dollars", "eight hundred thousand dollars", money("800000", "USD")),
        ("€3.5m raised", "€3.5m", money("3500000", "EUR")),
        ("人民币三百", "人民币三百", money("300", "CNY")),
        ("in 2024 we have 12000", "12000", money("12000")),
        ("2 people and 300", "300", money("300")),
        ("£19.99!", "£19.99", money("19.99", "GBP")),
    ],
)
def test_money(text: str, said: str, data: dict[str, str]) -> None:
    assert found("money", text) == [(said, data)]


@pytest.mark.parametrize("text", ["一起去吧", "version 3 is out", "see you at 3pm", "for 5 years", "it is 20% off", "第一次"])
def test_what_is_no_money(text: str) -> None:
    assert found("money", text) == []


@pytest.mark.parametrize(
    ("text", "said", "data"),
    [
        ("six", "six", {"number": "6"}),
        ("我有两个孩子", "两", {"number": "2"}),
        ("我今年三十五岁", "三十五", {"number": "35"}),
        ("I am thirty-five", "thirty-five", {"number": "35"}),
        ("three hundred and five", "three hundred and five", {"number": "305"}),
        ("half a million", "half a million", {"number": "500000"}),
        ("two dozen eggs", "two dozen", {"number": "24"}),
        ("72kg", "72kg", {"number": "72", "unit": "kg"}),
        ("I am 1.75m tall", "1.75m", {"number": "1.75", "unit": "m"}),
        ("我身高1米75", "1米75", {"number": "1.75", "unit": "m"}),
        ("I'm 5'10\" tall", "5'10\"", {"number": "70", "unit": "in"}),
        ("百分之二十", "百分之二十", {"number": "20", "unit": "%"}),
        ("we grew 20%", "20%", {"number": "20", "unit": "%"}),
        ("1.50", "1.50", {"number": "1.5"}),
        ("３５", "３５", {"number": "35"}),
    ],
)
def test_numbers(text: str, said: str, data: dict[str, str]) -> None:
    assert found("number", text) == [(said, data)]


def test_a_slots_unit() -> None:
    height, count = Slot(type="number", unit="cm"), Slot(type="number")
    assert found("number", "178", height) == [("178", {"number": "178", "unit": "cm"})]
    assert found("number", "1.78m", height) == [("1.78m", {"number": "1.78", "unit": "m"})]
    assert found("number", "70kg", height) == []
    assert found("number", "70kg", count) == []
    assert found("number", "70", count) == [("70", {"number": "70"})]


@pytest.mark.parametrize("text", ["一起", "星期一", "第一", "万一", "H2O", "千万别忘"])
def test_what_is_no_number(text: str) -> None:
    assert found("number", text) == []


@pytest.mark.parametrize(
    ("text", "said", "data"),
    [
        ("I've been there 5 years", "5 years", "P5Y"),
        ("two months", "two months", "P2M"),
        ("两个月", "两个月", "P2M"),
        ("90 minutes", "90 minutes", "PT90M"),
        ("a year and a half", "a year and a half", "P1Y6M"),
        ("two and a half years", "two and a half years", "P2Y6M"),
        ("一个半小时", "一个半小时", "PT1H30M"),
        ("两年半", "两年半", "P2Y6M"),
        ("半年", "半年", "P6M"),
        ("a 2-year contract", "2-year", "P2Y"),
        ("1 hour and 30 minutes", "1 hour and 30 minutes", "PT1H30M"),
        ("half an hour", "half an hour", "PT30M"),
        ("三周", "三周", "P3W"),
        ("1年6个月", "1年6个月", "P1Y6M"),
        ("3h30", "3h30", "PT3H30M"),
    ],
)
def test_durations(text: str, said: str, data: str) -> None:
    assert found("duration", text) == [(said, data)]


def test_a_year_and_a_day_of_the_month_are_no_durations() -> None:
    assert found("duration", "2026年") == []
    assert found("duration", "5月7日") == []


@pytest.mark.parametrize(
    ("text", "member"),
    [
        ("I'm vegetarian", "vegetarian"),
        ("I eat steak now", "omnivore"),
        ("I don’t eat meat", "vegetarian"),
        ("I dont eat meat", "vegetarian"),
        ("我现在吃牛排", "omnivore"),
        ("我吃素", "vegetarian"),
        ("Strictly VEGAN here", "vegan"),
    ],
)
def test_enum_members_by_their_words(text: str, member: str) -> None:
    assert [data for _, data in found("enum", text, DIET)] == [member]


def test_enum_words_stand_alone() -> None:
    assert found("enum", "veganism", DIET) == []
    assert found("enum", "steaks", None) == []


@pytest.mark.parametrize(
    ("value_type", "text", "hedged"),
    [
        ("money", "about $5000", True),
        ("money", "maybe 5000ish", True),
        ("money", "roughly 5k", True),
        ("money", "it is around 5000", True),
        ("money", "预算大概五千", True),
        ("money", "预算五千左右", True),
        ("money", "差不多5万", True),
        ("money", "约200元", True),
        ("money", "5000 or so", True),
        ("money", "5000, I think", True),
        ("duration", "about ten years", True),
        ("date", "maybe on Friday", True),
        ("date", "大概下周三", True),
        ("number", "thirty or so", True),
        ("money", "exactly $5000", False),
        ("money", "预算五千", False),
        ("money", "we talked about the budget: 5000", False),
        ("number", "I have 3 kids", False),
    ],
)
def test_hedges(value_type: ValueType, text: str, hedged: bool) -> None:
    hits = find_values(value_type, text, at=AT, lang=detect_lang(text))
    assert [hit.hedged for hit in hits] == [hedged]


@pytest.mark.parametrize(
    ("slot", "text", "data"),
    [
        (Slot(type="money"), "about 5000", money("5000")),
        (Slot(type="money"), "大概五千块左右", money("5000", "CNY")),
        (Slot(type="money"), "5000 CHF", money("5000", "CHF")),
        (Slot(type="money"), "5000 dollars for the project", None),
        (Slot(type="duration"), "P5Y", "P5Y"),
        (Slot(type="duration"), "PT", None),
        (Slot(type="duration"), "for two years now", "P2Y"),
        (Slot(type="number"), "six", {"number": "6"}),
        (Slot(type="number"), "六个", None),
        (Slot(type="number"), "many", None),
        (Slot(type="bool"), "yes", "true"),
        (Slot(type="bool"), "没有", "false"),
        (Slot(type="bool"), "purple", None),
        (DIET, "a vegetarian", "vegetarian"),
        (DIET, "stones", None),
        (Slot(), "  “Green Lane 5”. ", "Green Lane 5"),
        (Slot(), "it", None),
        (Slot(), "这个", None),
        (Slot(), "...", None),
        (Slot(shape="name"), "Anna", "Anna"),
        (Slot(shape="name"), "王芳", "王芳"),
        (Slot(shape="name"), "later", None),
        (Slot(shape="name"), "a doctor", None),
        (Slot(shape="name"), "医生", None),
        (Slot(shape="name"), "Dr. Jean-Luc O'Neil", "Dr. Jean-Luc O'Neil"),
        (Slot(shape="place"), "Green Lane 5, Berlin", "Green Lane 5, Berlin"),
        (Slot(shape="place"), "new york", "new york"),
        (Slot(shape="place"), "fear", None),
        (Slot(shape="place"), "a small flat", None),
        (Slot(shape="email"), "anna@example.com", "anna@example.com"),
        (Slot(shape="email"), "anna at example", None),
        (Slot(shape="phone"), "+49 30 1234567", "+49 30 1234567"),
        (Slot(shape="phone"), "12", None),
        (Slot(shape="time_zone"), "Europe/Berlin", "Europe/Berlin"),
        (Slot(shape="time_zone"), "UTC+8", "UTC+8"),
        (Slot(shape="time_zone"), "trouble", None),
    ],
)
def test_a_whole_text_as_a_value(slot: Slot, text: str, data: object) -> None:
    read = parse_value(slot, text, at=AT, lang=detect_lang(text))
    assert (read.data if read is not None else None) == data


@pytest.mark.parametrize(
    ("text", "lang"),
    [("I like 茶 very much", "en"), ("我用 Vim 写代码", "zh"), ("", "en"), ("123", "en"), ("你好 world", "zh")],
)
def test_language(text: str, lang: str) -> None:
    assert detect_lang(text) == lang


@given(st.integers(min_value=0, max_value=10**12), st.integers(min_value=0, max_value=6))
def test_numerals_keep_every_digit(whole: int, places: int) -> None:
    value = Decimal(whole) / 10**places
    assert read_numeral(plain(value)) == value
    assert "E" not in plain(value).upper()


@given(st.integers(min_value=0, max_value=10**9), st.sampled_from(["", " dollars", " euros", "元", " RMB"]))
def test_what_was_shown_reads_the_same_again(amount: int, currency: str) -> None:
    slot = Slot(type="money")
    first = parse_value(slot, f"{amount:,}{currency}" if currency != "元" else f"{amount}{currency}", at=AT, lang="en")
    assert first is not None
    again = parse_value(slot, first.shown, at=AT, lang="en")
    assert again is not None
    assert again.key == first.key


WORDS = st.sampled_from(
    """
    five million and a half $ € k 5,000 3.14 年 月 号 周三 下 上个 三十五 两 万 亿 点 半 左右 大概 about next Friday
    May 7th at 3
    pm ago in two weeks every 每周 of the 12/12/2012 2026-05-07 T15:00 :30 ' " ％ 公斤 don’t eat meat 不 吃素 one dozen a couple
    """.split()  # noqa: SIM905
)
TEXTS = st.one_of(st.text(max_size=120), st.lists(WORDS, max_size=14).map(" ".join), st.lists(WORDS, max_size=14).map("".join))


@given(TEXTS, st.sampled_from(TYPES), st.sampled_from([-720, 0, 840]))
def test_any_text_is_read_without_error_and_spans_are_exact(text: str, value_type: ValueType, offset: int) -> None:
    slot = DIET if value_type == "enum" else None
    hits = find_values(value_type, text, at=AT, utc_offset=offset, lang=detect_lang(text), slot=slot)
    end = 0
    for hit in hits:
        assert end <= hit.start < hit.end <= len(text)
        assert len(hit.value.text) == hit.end - hit.start
        assert hit.value.type == value_type
        if isinstance(hit.value.data, dict):
            Decimal(hit.value.data.get("amount") or hit.value.data["number"])
            assert "E" not in hit.value.data.get("amount", "")
        end = hit.end
    assert hits == find_values(value_type, text, at=AT, utc_offset=offset, lang=detect_lang(text), slot=slot)


@given(TEXTS, st.sampled_from(TYPES), st.sampled_from(["0001-01-01T00:00:00.000000Z", AT, "9999-12-31T23:59:59.999999Z"]))
def test_any_text_may_be_offered_as_a_value(text: str, value_type: ValueType, at: str) -> None:
    slot = DIET if value_type == "enum" else Slot(type=value_type)
    read = parse_value(slot, text, at=at, utc_offset=600, lang="zh")
    assert read is None or (isinstance(read, Value) and read.type == value_type and read.key)
    find_values("date", text, at=at, utc_offset=-600, lang="en")


@pytest.mark.parametrize(
    "piece", ["5,", "five ", "and a half ", "一", "半", "in ", "May ", "年", "$", "at ", "1年", "a couple of ", "\t"]
)
def test_a_megabyte_of_anything_ends(piece: str) -> None:
    text = piece * (1_048_576 // len(piece))
    for value_type in TYPES:
        find_values(value_type, text, at=AT, lang="en", slot=DIET if value_type == "enum" else None)


def test_slow_libraries_are_not_imported_for_nothing() -> None:
    code = (
        "import sys; from mnemolog.processors.core.values import find_values;"
        f"find_values('date', 'I went on May 7th at 3pm', at={AT!r});"
        "print([name for name in ('dateparser', 'cn2an') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_chinese_units_in_no_known_order_are_no_number() -> None:
    assert parse_value(Slot(type="number"), "万十五", at=AT, utc_offset=0, lang="zh") is None
