"""Dates and times of day: against the moment of the turn, on the speaker's own clock, as fine as they were said."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, datetime, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.processors.core.values import detect_lang, find_values, parse_value
from mnemolog.schemas.forms import Slot
from mnemolog.schemas.times import to_text

SUNDAY = "2023-05-07T13:00:00.000000Z"
DATE = Slot(type="date")


def dates(text: str, at: str = SUNDAY, utc_offset: int = 0) -> list[tuple[str, object]]:
    hits = find_values("date", text, at=at, utc_offset=utc_offset, lang=detect_lang(text))
    return [(text[hit.start : hit.end], hit.value.data) for hit in hits]


@pytest.mark.parametrize(
    ("text", "said", "iso"),
    [
        ("I went shopping yesterday", "yesterday", "2023-05-06"),
        ("see you the day after tomorrow", "the day after tomorrow", "2023-05-09"),
        ("let's talk next Friday", "next Friday", "2023-05-12"),
        ("it was last Tuesday", "last Tuesday", "2023-05-02"),
        ("due in two weeks", "in two weeks", "2023-05-21"),
        ("two weeks ago", "two weeks ago", "2023-04-23"),
        ("a couple of weeks ago", "a couple of weeks ago", "2023-04-23"),
        ("in half an hour", "in half an hour", "2023-05-07T13:30"),
        ("three months ago", "three months ago", "2023-02"),
        ("five years ago", "five years ago", "2018"),
        ("next month", "next month", "2023-06"),
        ("last year", "last year", "2022"),
        ("next week", "next week", "2023-W19"),
        ("this weekend", "this weekend", "2023-W18"),
        ("by the end of the month", "the end of the month", "2023-05"),
        ("on 2026-05-07", "2026-05-07", "2026-05-07"),
        ("May 7th", "May 7th", "2023-05-07"),
        ("On May 3rd we moved", "May 3rd", "2023-05-03"),
        ("we moved on May 3rd", "May 3rd", "2023-05-03"),
        ("the 15th of June", "the 15th of June", "2023-06-15"),
        ("June 15, 2024", "June 15, 2024", "2024-06-15"),
        ("7 Sep 2022", "7 Sep 2022", "2022-09-07"),
        ("September 2022", "September 2022", "2022-09"),
        ("in March", "March", "2024-03"),
        ("I was there in March", "March", "2023-03"),
        ("last June", "last June", "2022-06"),
        ("since 2019", "2019", "2019"),
        ("25/12/2023", "25/12/2023", "2023-12-25"),
        ("5/7/2023", "5/7/2023", "2023-05-07"),
        ("I saw him on Friday", "Friday", "2023-05-05"),
        ("On Friday we went home", "Friday", "2023-05-05"),
        ("I will see him on Friday", "Friday", "2023-05-12"),
        ("every Monday", "every Monday", "R/MON"),
        ("on Sundays I rest", "Sundays", "R/SUN"),
        ("on the 15th", "the 15th", "2023-05-15"),
        ("tomorrow at 3", "tomorrow at 3", "2023-05-08T15:00"),
        ("tomorrow at 6", "tomorrow at 6", "2023-05-08"),
        ("3pm tomorrow", "3pm tomorrow", "2023-05-08T15:00"),
        ("tomorrow morning at 9", "tomorrow morning at 9", "2023-05-08T09:00"),
        ("tonight at 8", "tonight at 8", "2023-05-07T20:00"),
        ("May 7, 2024 at 3:30 pm", "May 7, 2024 at 3:30 pm", "2024-05-07T15:30"),
        ("2026-05-07 15:00", "2026-05-07 15:00", "2026-05-07T15:00"),
        ("at 7 in the morning", "7 in the morning", "T07:00"),
        ("at 7:30 pm", "7:30 pm", "T19:30"),
        ("half past six", "half past six", "T06:30"),
        ("quarter to six", "quarter to six", "T05:45"),
        ("at noon", "noon", "T12:00"),
        ("12 am", "12 am", "T00:00"),
        ("Feb 30, 2024 or Feb 29, 2024", "Feb 29, 2024", "2024-02-29"),
    ],
)
def test_english(text: str, said: str, iso: str) -> None:
    assert dates(text) == [(said, iso)]


@pytest.mark.parametrize(
    ("text", "said", "iso"),
    [
        ("我昨天去逛街了", "昨天", "2023-05-06"),
        ("大后天见", "大后天", "2023-05-10"),
        ("上周三", "上周三", "2023-04-26"),
        ("下周三", "下周三", "2023-05-10"),
        ("下下周一", "下下周一", "2023-05-15"),
        ("周五去了北京", "周五", "2023-05-05"),
        ("周五要去北京", "周五", "2023-05-12"),
        ("上周很忙", "上周", "2023-W17"),
        ("这周末", "这周末", "2023-W18"),
        ("明天下午三点", "明天下午三点", "2023-05-08T15:00"),
        ("明天三点开会", "明天三点", "2023-05-08T15:00"),
        ("今晚8点半", "今晚8点半", "2023-05-07T20:30"),
        ("明早七点", "明早七点", "2023-05-08T07:00"),
        ("下周三晚上七点一刻", "下周三晚上七点一刻", "2023-05-10T19:15"),
        ("5月7号", "5月7号", "2023-05-07"),
        ("五月二十号", "五月二十号", "2023-05-20"),
        ("2026年5月7日", "2026年5月7日", "2026-05-07"),
        ("二〇二六年五月", "二〇二六年五月", "2026-05"),
        ("2025年", "2025年", "2025"),
        ("去年五月", "去年五月", "2022-05"),
        ("明年", "明年", "2024"),
        ("下个月15号", "下个月15号", "2023-06-15"),
        ("下个月", "下个月", "2023-06"),
        ("月底", "月底", "2023-05"),
        ("三天前", "三天前", "2023-05-04"),
        ("两周后", "两周后", "2023-05-21"),
        ("半年前", "半年前", "2022-11"),
        ("三年前", "三年前", "2020"),
        ("每周三", "每周三", "R/WED"),
        ("每个星期天", "每个星期天", "R/SUN"),
        ("晚上八点", "晚上八点", "T20:00"),
        ("早上7点", "早上7点", "T07:00"),
        ("十点二十分", "十点二十分", "T10:20"),
        ("凌晨两点", "凌晨两点", "T02:00"),
        ("中午十二点", "中午十二点", "T12:00"),
        ("15号", "15号", "2023-05-15"),
        ("十二月", "十二月", "2023-12"),
    ],
)
def test_chinese(text: str, said: str, iso: str) -> None:
    assert dates(text) == [(said, iso)]


@pytest.mark.parametrize(
    "text",
    [
        "I may go", "the march was long", "sat down", "a second chance", "the second time", "version 1.2.3",
        "two days after that", "the other day",
        "吃点心", "三点五", "周围", "3号线", "五年级", "2月30日", "a few days ago", "at 5 dollars",
    ],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    assert dates(text) == []


@pytest.mark.parametrize(
    ("text", "iso"),
    [("March 12th", "R/03-12"), ("5月20号", "R/05-20"), ("the 7th of May", "R/05-07"), ("March 12, 1990", "1990-03-12"),
     ("1990年3月12日", "1990-03-12"), ("tomorrow", "2023-05-08"), ("in March", "2024-03")],
)  # fmt: skip
def test_a_day_that_comes_back_every_year(text: str, iso: str) -> None:
    (hit,) = find_values("date", text, at=SUNDAY, slot=Slot(type="date", yearly=True))
    assert hit.value.data == iso


def test_several_in_one_text() -> None:
    assert [iso for _, iso in dates("From June 1 until July 4, every Monday at 9am")] == [
        "2023-06-01",
        "2023-07-04",
        "R/MON",
        "T09:00",
    ]


def test_the_speakers_own_clock_decides_which_day_it_is() -> None:
    late = "2023-05-07T23:30:00.000000Z"
    assert dates("yesterday", late, 0) == [("yesterday", "2023-05-06")]
    assert dates("yesterday", late, 60) == [("yesterday", "2023-05-07")]
    assert dates("昨天", "2023-05-07T00:30:00.000000Z", -60) == [("昨天", "2023-05-05")]


def test_the_edges_of_the_calendar() -> None:
    assert dates("yesterday", "0001-01-01T00:00:00.000000Z") == []
    assert dates("tomorrow", "9999-12-31T23:00:00.000000Z", 120) == []
    assert dates("100000 weeks ago") == [("100000 weeks ago", "0106-10-24")]
    assert dates("900000 weeks ago") == []
    assert dates("下个月", "9999-12-31T23:00:00.000000Z") == []


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("by next Friday", "2023-05-12"),
        ("on May 20th.", "2023-05-20"),
        ("下周三之前", "2023-05-10"),
        ("2026", "2026"),
        ("7. Mai 2026", "2026-05-07"),
        ("07.05.2026", "2026-05-07"),
        ("cats", None),
        ("tomorrow I fly", None),
        ("31 février 2026", None),
    ],
)
def test_a_whole_text_as_a_date(text: str, iso: str | None) -> None:
    read = parse_value(DATE, text, at=SUNDAY, lang=detect_lang(text))
    assert (read.data if read is not None else None) == iso


def test_the_machines_time_zone_and_clock_are_never_read() -> None:
    code = (
        "from mnemolog.processors.core.values import find_values, parse_value;"
        "from mnemolog.schemas.forms import Slot;"
        f"at = {SUNDAY!r};"
        "print([find_values('date', text, at=at, utc_offset=60) for text in ('tomorrow at 3', '下周三', 'in March')],"
        " parse_value(Slot(type='date'), '7. Mai 2026', at=at), parse_value(Slot(type='date'), '3 mars 2026 14:30', at=at))"
    )
    seen = set()
    for zone in ("UTC", "Pacific/Auckland", "America/Los_Angeles"):
        env = {**os.environ, "TZ": zone, "PYTHONUTF8": "1"}
        seen.add(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout)
    assert len(seen) == 1
    assert "2026-03-03T14:30" in seen.pop()


@given(st.dates(date(1000, 1, 1), date(9999, 12, 28)), st.times(), st.integers(-840, 840))
def test_yesterday_and_tomorrow_are_two_days_apart(day: date, time: time, offset: int) -> None:
    at = to_text(datetime.combine(day, time))
    ((_, before),), ((_, after),) = dates("yesterday", at, offset), dates("明天", at, offset)
    assert (date.fromisoformat(str(after)) - date.fromisoformat(str(before))).days == 2


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_iso_dates_read_as_themselves(day: date) -> None:
    assert dates(f"on {day.isoformat()}") == [(day.isoformat(), day.isoformat())]
