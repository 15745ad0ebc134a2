from __future__ import annotations

import pytest

from mnemolog.producers.mapping import Mapper
from mnemolog.schemas.errors import InvalidInput, UnknownField


def test_without_a_mapping_our_own_fields_pass_and_others_are_refused() -> None:
    mapper = Mapper.of()
    assert mapper.apply({"content": "a", "session": 3, "speaker": None}) == {"content": "a", "session": "3"}
    with pytest.raises(UnknownField, match="did you mean 'occurred_at'") as caught:
        mapper.apply({"content": "a", "occured_at": "2026-01-01"})
    assert caught.value.field == "occured_at"
    with pytest.raises(UnknownField, match="--rest ignore"):
        mapper.apply({"content": "a", "colour": "red"})


def test_fields_templates_and_constants() -> None:
    mapper = Mapper.of(
        ["content=text", "id={sample_id}:{dia_id}", "subject=user:{sample_id}", "occurred_at=meta.time"], ["agent=support=1"]
    )
    mapped = mapper.apply(
        {"sample_id": 7, "dia_id": "D1:2", "text": "hi", "meta": {"time": "2026-01-01", "x": 1}, "mood": "ok"}
    )
    assert mapped == {
        "content": "hi",
        "id": "7:D1:2",
        "subject": "user:7",
        "occurred_at": "2026-01-01",
        "agent": "support=1",
        "metadata": {"meta": {"time": "2026-01-01", "x": 1}, "mood": "ok"},
    }


def test_a_field_whose_own_name_has_a_dot_goes_before_a_nested_one() -> None:
    assert Mapper.of(["content=a.b"]).apply({"a.b": "flat", "a": {"b": "deep"}})["content"] == "flat"


def test_what_a_mapped_field_replaces_is_kept_beside_it() -> None:
    mapped = Mapper.of(["session=chat"]).apply({"chat": "c1", "session": "old", "content": "a"})
    assert mapped == {"session": "c1", "content": "a", "metadata": {"session": "old"}}


def test_the_rest_goes_where_it_is_told() -> None:
    record = {"content": "a", "mood": "ok"}
    assert Mapper.of(["speaker=who"]).apply(record) == {"content": "a", "metadata": {"mood": "ok"}}
    assert Mapper.of(["speaker=who"], rest="ignore").apply(record) == {"content": "a"}
    assert Mapper.of(rest="metadata").apply({**record, "metadata": {"k": 1}})["metadata"] == {"k": 1, "mood": "ok"}
    assert Mapper.of(["metadata.m=mood"], rest="refuse").apply(record) == {"content": "a", "metadata": {"m": "ok"}}
    with pytest.raises(UnknownField):
        Mapper.of(["speaker=who"], rest="refuse").apply(record)
    with pytest.raises(InvalidInput, match="must be an object"):
        Mapper.of(rest="metadata").apply({**record, "metadata": "text"})


def test_a_missing_field_is_left_out_but_not_in_a_template() -> None:
    assert Mapper.of(["speaker=who", "content=text"]).apply({"text": "a"}) == {"content": "a"}
    with pytest.raises(InvalidInput, match="content: field 'text' is missing"):
        Mapper.of(["content=text"]).apply({"content": "a"})
    with pytest.raises(InvalidInput, match="id: field 'n' is missing"):
        Mapper.of(["id={chat}:{n}"]).apply({"chat": 1})
    with pytest.raises(InvalidInput, match="id: field 'n' is bool"):
        Mapper.of(["id={n}"]).apply({"n": True})


@pytest.mark.parametrize("entry", ["content", "=text", "content=", "content={", "content={}", "id={a}}", "id=x}{a"])
def test_a_mapping_that_cannot_be_read_is_refused(entry: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Mapper.of([entry])
    assert caught.value.field == "map"


def test_an_unknown_field_of_ours_or_one_given_twice_is_refused() -> None:
    with pytest.raises(UnknownField, match="no field 'contents'"):
        Mapper.of(["contents=text"])
    with pytest.raises(InvalidInput, match="twice"):
        Mapper.of(["content=text"], ["content=a"])
