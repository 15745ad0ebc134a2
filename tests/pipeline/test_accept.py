"""What may come in: the reasons that the documents list, and no others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.adapters.kafka.reader import stored
from mnemolog.processors.pipeline.accept import NOBODY, REFUSALS, accept, check_place, readable_scope, reason_of
from mnemolog.processors.pipeline.ingest import letter_of
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import ConflictingContent, InvalidInput, MnemologError, NewerVersion, Undecodable, UnknownField
from mnemolog.schemas.events import INBOX, decode
from mnemolog.schemas.scope import Scope
from support.events import turn

PAGE = Path(__file__).resolve().parent.parent.parent / "docs/reference/events.md"


def test_the_page_lists_every_reason() -> None:
    part = PAGE.read_text("utf-8").partition("## Dead letters")[2].partition("## Limits")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)) == REFUSALS
    assert f"`{NOBODY}`" in part


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Undecodable("x"), "undecodable"),
        (InvalidInput("type", "is unknown"), "type"),
        (NewerVersion("x"), "version"),
        (InvalidInput("content", "is empty"), "invalid"),
        (UnknownField("type", "no such field"), "invalid"),
        (InvalidInput("key", "x"), "key"),
        (InvalidInput("partition", "x"), "partition"),
        (ConflictingContent("s", "s", "i", "a", "b"), "conflict"),
    ],
)
def test_each_error_has_a_reason(error: MnemologError, reason: str) -> None:
    assert reason_of(error) == reason
    assert reason in REFUSALS


def test_what_we_write_ourselves_is_accepted_as_it_is() -> None:
    event = turn("a")
    assert accept(event.to_bytes()) == event


@pytest.mark.parametrize(
    ("value", "key", "scope"),
    [
        (b'{"tenant": "acme", "subject": "user:1", "more": [1]}', "x/y", Scope("acme", "user:1")),
        (b'{"tenant": "a/b", "subject": "user:1"}', "x/y", Scope("x", "y")),
        (b'{"tenant": 7}', "x/y", Scope("x", "y")),
        (b"\xff", "x/y", Scope("x", "y")),
        (b"", "x", None),
        (b"", "", None),
        (b"", "x/\udcff", None),
        (b'{"tenant": "\\ud800", "subject": "user:1"}', "x", None),
        (b'{"more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "x", None),
    ],
)
def test_whose_a_refused_record_is(value: bytes, key: str, scope: Scope | None) -> None:
    assert readable_scope(value, key) == scope


WHOLE = turn("a").to_bytes()
ANY = st.recursive(st.none() | st.text() | st.integers(), st.lists)
VALUES = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda at, put: WHOLE[:at] + put + WHOLE[at:], st.integers(0, len(WHOLE)), st.binary(max_size=4)),
    st.builds(lambda at, put: WHOLE[:at] + put + WHOLE[at + len(put) :], st.integers(0, len(WHOLE)), st.binary(max_size=4)),
    st.dictionaries(st.sampled_from(Envelope.__struct_fields__), ANY).map(
        lambda given: json.dumps({**json.loads(WHOLE), **given}).encode()
    ),
)
DEEP = [b"[" * 100_000, b'{"data":' * 5000 + b"1" + b"}" * 5000, b'{"a":' * 500 + b"1" + b"}" * 500]


@pytest.mark.parametrize("value", DEEP, ids=range(3))
def test_what_is_nested_without_end_is_a_dead_letter(value: bytes) -> None:
    is_an_input_or_a_dead_letter(value, b"acme/user:1")


@given(VALUES, st.binary(max_size=20))
def test_whatever_is_published_is_an_input_or_a_dead_letter(value: bytes, key: bytes) -> None:
    is_an_input_or_a_dead_letter(value, key)


def is_an_input_or_a_dead_letter(value: bytes, key: bytes) -> None:
    """Any other error would stop the worker, again and again."""
    record = stored(INBOX, 0, 7, key, value, 0)
    try:
        event = accept(record.value)
        check_place(event, record.scope, 0, 1)
    except MnemologError as error:
        under, letter = letter_of(record, error, None, "log")
        assert under.encode("utf-8", "surrogateescape") is not None
        _, data = decode(letter.to_bytes())
        assert data.reason in REFUSALS
        assert (b"" if data.value is None else data.value.to_bytes()) == value
        assert (b"" if data.key is None else data.key.to_bytes()) == key
    else:
        assert decode(event.to_bytes())[0] == event
        assert (event.position, event.recordedtime) == (None, None)
