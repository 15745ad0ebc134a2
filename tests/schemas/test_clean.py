"""What enters the log can be stored anywhere and read back unaltered; what cannot is refused with its path."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.schemas.clean import (
    MAX_CONTENT,
    MAX_DEPTH,
    MAX_METADATA,
    check_content,
    check_metadata,
    check_plain,
    check_text,
)
from mnemolog.schemas.errors import InvalidInput


@given(st.text())
def test_text_is_taken_as_it_is_or_refused(text: str) -> None:
    storable = "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
    if storable:
        assert check_text("x", text) == text
        assert orjson.loads(orjson.dumps(text)) == text
    else:
        with pytest.raises(InvalidInput, match=r"NUL|lone surrogate"):
            check_text("x", text)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "is empty"),
        (" \n\t\u3000", "is empty"),
        ("a\0b", "contains a NUL at character 1"),
        ("ab\udc00", r"contains the lone surrogate U\+DC00 at character 2"),
        (b"bytes", "must be text, not bytes"),
        (None, "must be text, not NoneType"),
        ("x" * (MAX_CONTENT + 1), "is 1,048,577 bytes long; at most 1,048,576"),
        ("文" * 349_526, "is 1,048,578 bytes long; at most 1,048,576"),
        ("🙂" * 262_145, "is 1,048,580 bytes long; at most 1,048,576"),
        ("\ud800" * 400_000, "bytes long"),
    ],
)
def test_content_that_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        check_content("content", value)
    assert caught.value.field == "content"


@pytest.mark.parametrize("value", ["x" * MAX_CONTENT, "文" * 349_525, "🙂" * 262_144, "a", "\u2028a", "\ufeffa", "\uffff"])
def test_content_up_to_the_limit_in_bytes(value: str) -> None:
    assert check_content("content", value) is value


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth - 1):
        value = [value]
    return {"a": value}


@pytest.mark.parametrize(
    ("value", "field", "problem"),
    [
        ([], "metadata", "must be an object, not list"),
        ({"n": float("nan")}, "metadata.n", "is nan, which JSON does not have"),
        ({"n": [0, float("-inf")]}, "metadata.n[1]", "is -inf"),
        ({"n": 2**63}, "metadata.n", "more than 64 bits"),
        ({"n": -(2**63) - 1}, "metadata.n", "more than 64 bits"),
        ({"a": {"b": "x\0"}}, "metadata.a.b", "contains a NUL"),
        ({"a": {"b": "\ud800"}}, "metadata.a.b", "lone surrogate"),
        ({"k\0": 1}, "metadata key", "contains a NUL"),
        ({1: "a"}, "metadata", "has the key 1, which is not text"),
        ({"a": {1, 2}}, "metadata.a", "is a set, which JSON does not have"),
        ({"a": b"x"}, "metadata.a", "is a bytes, which JSON does not have"),
        ({"a": object()}, "metadata.a", "is a object"),
        (nested(MAX_DEPTH + 1), "metadata.a" + "[0]" * (MAX_DEPTH - 1), "nested more than 32 levels deep"),
        (nested(100_000), "metadata.a" + "[0]" * (MAX_DEPTH - 1), "nested more than 32 levels deep"),
        ({"a": "x" * MAX_METADATA}, "metadata", "bytes long as JSON; at most 65,536"),
    ],
    ids=range(15),
)
def test_metadata_that_is_refused(value: Any, field: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        check_metadata("metadata", value)
    assert caught.value.field == field


def test_a_cycle_is_refused() -> None:
    value: dict[str, Any] = {}
    value["self"] = value
    with pytest.raises(InvalidInput, match="nested more than"):
        check_metadata("metadata", value)


@pytest.mark.parametrize(
    "value",
    [{}, {"a": "\\u0000"}, {"": None}, nested(MAX_DEPTH), {"n": [2**63 - 1, -(2**63), 0.1, True]}, {"文": {"键": "值"}}],
    ids=range(6),
)
def test_metadata_is_kept_as_it_is(value: dict[str, Any]) -> None:
    copy = check_metadata("metadata", value)
    assert copy == value
    assert copy is not value


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_what_is_accepted_survives_json_unaltered(value: Any) -> None:
    try:
        check_plain("x", value)
    except InvalidInput:
        return
    assert orjson.loads(orjson.dumps(value)) == value
