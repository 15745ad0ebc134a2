"""Times have one form, whose text order is time order; whatever else a caller gives is converted or refused by name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.schemas.errors import InvalidInput
from mnemolog.schemas.times import MAX_TIME, MIN_TIME, add_seconds, from_text, iso_week, local, parse_time, to_text

utc_moments = st.datetimes(timezones=st.just(UTC))


@given(utc_moments, utc_moments)
def test_text_order_is_time_order_and_nothing_is_lost(first: datetime, second: datetime) -> None:
    assert from_text(to_text(first)) == first
    assert (to_text(first) < to_text(second)) == (first < second)
    assert len(to_text(first)) == 27


@given(utc_moments, st.integers(-1439, 1439))
def test_an_offset_is_kept_and_the_instant_too(moment: datetime, minutes: int) -> None:
    try:
        there = moment.astimezone(timezone(timedelta(minutes=minutes)))
    except OverflowError:
        return
    for given_form in (there, there.isoformat()):
        text, offset = parse_time(given_form)
        assert (text, offset) == (to_text(moment), minutes)
    assert local(to_text(moment), minutes) == there
    assert local(to_text(moment), minutes).utcoffset() == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("value", "text", "offset"),
    [
        ("2026-05-07T13:00:00.000000Z", "2026-05-07T13:00:00.000000Z", 0),
        ("2026-05-07T13:00:00Z", "2026-05-07T13:00:00.000000Z", 0),
        ("2026-05-07T13:00:00+02:00", "2026-05-07T11:00:00.000000Z", 120),
        ("2026-05-07T13:00:00-03:30", "2026-05-07T16:30:00.000000Z", -210),
        ("2026-05-07T13:00:00+02:00:30", "2026-05-07T10:59:30.000000Z", 120),
        ("2026-05-07T13:00:00-23:59:59", "2026-05-08T12:59:59.000000Z", -1439),
        ("2026-05-07 13:00", "2026-05-07T13:00:00.000000Z", 0),
        ("2026-05-07", "2026-05-07T00:00:00.000000Z", 0),
        (" 2026-05-07T13:00:00 ", "2026-05-07T13:00:00.000000Z", 0),
        ("2026-05-07T13:00:00.1234567Z", "2026-05-07T13:00:00.123456Z", 0),
        ("0987-01-02T03:04:05", "0987-01-02T03:04:05.000000Z", 0),
        (datetime(1, 1, 1), "0001-01-01T00:00:00.000000Z", 0),  # noqa: DTZ001
        (datetime(9999, 12, 31, 23, 59, 59, 999999), MAX_TIME, 0),  # noqa: DTZ001
        (0, "1970-01-01T00:00:00.000000Z", 0),
        (-1, "1969-12-31T23:59:59.000000Z", 0),
        (1778158800.25, "2026-05-07T13:00:00.250000Z", 0),
        (-62135596800, MIN_TIME, 0),
    ],
    ids=str,
)
def test_what_a_caller_may_give(value: Any, text: str, offset: int) -> None:
    assert parse_time(value) == (text, offset)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "yesterday",
        "2026-13-01",
        "2026-02-29",
        "2026-02-29T00:00:00.000000Z",
        "2026-05-07T23:59:60",
        "2016-12-31T23:59:60.000000Z",
        "2026-05-07T24:00:00.000000Z",
        "10000-01-01",
        "10000-01-01T00:00:00.000000Z",
        "-0001-01-01",
        "0000-01-01T00:00:00.000000Z",
        "0001-01-01T00:00:00+02:00",
        "9999-12-31T23:59:59-02:00",
        "２０２６-05-07T13:00:00.000000Z",
        "2026-05-07T13:00:00.000000Z\n2",
        "1778158800",
        float("nan"),
        float("inf"),
        1e18,
        1_778_158_800_000,
        True,
        None,
        [],
        b"2026-05-07",
    ],
    ids=repr,
)
def test_what_is_no_time_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_time(value, "expires_at")
    assert caught.value.field == "expires_at"
    assert "ISO 8601" in caught.value.hint


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+02:00", "9999-12-31T23:59:59-02:00", 1e18])
def test_what_lies_outside_the_calendar_is_told_so(value: Any) -> None:
    with pytest.raises(InvalidInput, match="lies outside the years 1 to 9999, in UTC"):
        parse_time(value, "as_of")


@pytest.mark.parametrize("text", ["2026-05-07T13:00:00Z", "2026-05-07", "", "2026-05-07T24:00:00.000000Z", MAX_TIME + "\n"])
def test_only_the_fixed_form_is_read_back(text: str) -> None:
    with pytest.raises(ValueError):
        from_text(text)


def test_adding_stays_within_the_calendar() -> None:
    assert add_seconds("2026-12-31T23:59:59.500000Z", 0.5) == "2027-01-01T00:00:00.000000Z"
    assert add_seconds(MAX_TIME, 1) == MAX_TIME
    assert add_seconds(MIN_TIME, -1) == MIN_TIME
    assert local(MAX_TIME, 60) == from_text(MAX_TIME)


@pytest.mark.parametrize(
    ("text", "week"),
    [
        ("2026-05-07T13:00:00.000000Z", "2026-W19"),
        ("2027-01-01T00:00:00.000000Z", "2026-W53"),
        ("2024-12-30T00:00:00.000000Z", "2025-W01"),
        (MIN_TIME, "0001-W01"),
    ],
)
def test_weeks_are_iso_weeks(text: str, week: str) -> None:
    assert iso_week(text) == week
