"""Tokens come back as what they were made of, and nothing else is taken for one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.schemas.envelope import Position
from mnemolog.schemas.errors import InvalidInput
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.tokens import InboxToken, PositionToken, inbox_token, parse_token, position_token

NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=40).filter(str.strip)


@given(NAMES.filter(lambda name: "/" not in name), NAMES, NAMES, NAMES)
def test_a_token_of_an_input_names_it(tenant: str, subject: str, source: str, event_id: str) -> None:
    token = inbox_token(Scope(tenant, subject), source, event_id)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", token)
    assert parse_token(token) == InboxToken(Scope(tenant, subject), source, event_id)


def test_a_token_of_the_log_names_a_position() -> None:
    assert position_token("0a1b", Position(1, 3, 42)) == "0a1b@1:3:42"
    assert parse_token("0a1b@1:3:42") == PositionToken("0a1b", Position(1, 3, 42))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@",
        "x",
        "@1:0:2",
        "log@",
        "log@1:2",
        "log@1:2:x",
        "inbox.",
        "inbox.%%",
        "inbox.W10",
        "inbox.WyJhIl0",
        "lög@1",
        7,
        None,
    ],
)
def test_other_texts_are_none(text: object) -> None:
    with pytest.raises(InvalidInput, match="is not a token") as caught:
        parse_token(text)  # type: ignore[arg-type]
    assert caught.value.field == "token"
