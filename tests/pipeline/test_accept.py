"""What may come in: the reasons that the documents list, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mnemolog.processors.pipeline.accept import NOBODY, REFUSALS, accept, readable_scope, reason_of
from mnemolog.schemas.errors import ConflictingContent, InvalidInput, MnemologError, NewerVersion, Undecodable, UnknownField
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
    ],
)
def test_whose_a_refused_record_is(value: bytes, key: str, scope: Scope | None) -> None:
    assert readable_scope(value, key) == scope
