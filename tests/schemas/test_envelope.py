"""The envelope is a CloudEvents 1.0 object; what is none, or does not fit, is refused with the attribute's name."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.expected import FOLDER
from mnemolog.schemas.envelope import DEFAULT_SOURCE, Envelope, Position, schema_uri
from mnemolog.schemas.errors import InvalidInput, Undecodable
from mnemolog.schemas.scope import Scope

TIME = "2026-03-02T09:30:00.000000Z"


def an_event(**changes: Any) -> Envelope:
    attributes = {
        "id": "1",
        "type": "turn.recorded",
        "subject": "user:42",
        "tenant": "acme",
        "time": TIME,
        "dataschema": schema_uri("turn.recorded", 2),
        "data": {"content": "hi", "occurred_at": TIME},
    }
    return Envelope(**{**attributes, **changes})


def test_the_bytes_are_a_cloudevent_in_structured_mode() -> None:
    written = orjson.loads(an_event().to_bytes())
    assert {"specversion", "id", "source", "type"} <= set(written), "the attributes that CloudEvents requires"
    assert (written["specversion"], written["source"], written["datacontenttype"]) == (
        "1.0",
        DEFAULT_SOURCE,
        "application/json",
    )
    assert None not in written.values()
    assert all(name.isascii() and name.isalnum() and name == name.lower() and len(name) <= 20 for name in written)
    assert written["dataschema"] == "urn:mnemolog:turn.recorded:2"


names = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=40).filter(lambda text: text.strip())
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), inner, max_size=4)
    ),
    max_leaves=12,
)
json_objects = st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=10), json_values, max_size=5)


@given(
    names,
    names,
    names,
    names.filter(lambda text: "/" not in text),
    st.none() | names,
    st.none() | st.builds(Position, *[st.integers(0, 10**18 - 1)] * 3),
    json_objects,
)
def test_what_is_written_is_read_back(
    identifier: str, source: str, subject: str, tenant: str, key: str | None, position: Position | None, data: dict[str, Any]
) -> None:
    event = an_event(
        id=identifier,
        source=source,
        subject=subject,
        tenant=tenant,
        keyid=key,
        position=str(position) if position else None,
        data=data,
    )
    event.check()
    assert Envelope.from_bytes(event.to_bytes()) == event == Envelope.from_outside(event.to_bytes())
    assert event.scope == Scope.parse(str(event.scope))
    assert position is None or Position.parse(str(position)) == position


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"specversion":"1.0"}',
        b"\xff\xfe",
        b"\x00\x01\x02",
        b'{"a":' * 2000 + b"1" + b"}" * 2000,
        b"[" * 100_000,
        b"NaN",
    ],
)
def test_bytes_that_are_no_event_are_undecodable(value: bytes) -> None:
    for read in (Envelope.from_bytes, Envelope.from_outside):
        with pytest.raises(Undecodable, match=r"not (an event|JSON)"):
            read(value)


def test_truncated_bytes_are_undecodable_wherever_they_are_cut() -> None:
    whole = (FOLDER / "turn.recorded.v2.json").read_bytes().strip()
    for length in range(len(whole)):
        with pytest.raises(Undecodable):
            Envelope.from_bytes(whole[:length])


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(value: bytes) -> None:
    with pytest.raises(Undecodable):
        Envelope.from_bytes(value)


@pytest.mark.parametrize("missing", ["id", "type", "subject", "tenant", "time", "dataschema", "data"])
def test_a_missing_attribute_is_named(missing: str) -> None:
    event = orjson.loads(an_event().to_bytes())
    del event[missing]
    with pytest.raises(Undecodable, match=missing):
        Envelope.from_bytes(orjson.dumps(event))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", ""),
        ("id", "  "),
        ("id", "x" * 257),
        ("id", "a\0b"),
        ("id", "a\nb"),
        ("source", ""),
        ("source", "\ud800"),
        ("type", ""),
        ("tenant", ""),
        ("tenant", "a/b"),
        ("subject", ""),
        ("subject", "\x7f"),
        ("specversion", "1.1"),
        ("datacontenttype", "application/xml"),
        ("time", "2026-03-02T09:30:00Z"),
        ("time", "2026-02-30T09:30:00.000000Z"),
        ("time", ""),
        ("recordedtime", "now"),
        ("recordedtime", ""),
        ("correlationid", ""),
        ("causationid", "x" * 257),
        ("keyid", "\x85"),
        ("dataschema", "urn:mnemolog:other:2"),
        ("dataschema", "urn:mnemolog:turn.recorded:0"),
        ("dataschema", "urn:mnemolog:turn.recorded:two"),
        ("dataschema", "urn:mnemolog:turn.recorded:²"),
    ],
)
def test_an_attribute_that_does_not_fit_is_named(field: str, value: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        an_event(**{field: value}).check()
    assert caught.value.field == field


@pytest.mark.parametrize("position", ["", "1", "1:2", "1:2:3:4", "-1:0:0", "a:b:c", "1:0:٣", " 1:0:0", "1:0:0\n"])
def test_what_is_no_position_is_undecodable(position: str) -> None:
    with pytest.raises(Undecodable, match="position"):
        Position.parse(position)
    with pytest.raises(Undecodable, match="position"):
        an_event(position=position).check()


@pytest.mark.parametrize(
    "dataschema", ["", "2", "urn:mnemolog:turn.recorded:", "urn:mnemolog:turn.recorded:²", "urn:mnemolog:session.ended:1"]
)
def test_a_dataschema_that_names_another_type_is_undecodable(dataschema: str) -> None:
    with pytest.raises(Undecodable, match=r"does not name 'turn\.recorded'"):
        _ = an_event(dataschema=dataschema).version


@pytest.mark.parametrize(
    "twice",
    [
        b'{"content":"a","content":"b"}',
        b'{"metadata":{"deep":[{"k":1,"k":1}]}}',
        b'{"importance":123456789012345678901234567890}',
    ],
)
def test_outside_data_that_readers_would_understand_differently_is_refused(twice: bytes) -> None:
    value = an_event().to_bytes()
    data = orjson.dumps(an_event().data)
    with pytest.raises(Undecodable, match=r"stands twice|64 bits"):
        Envelope.from_outside(value.replace(data, twice))


def test_what_json_cannot_hold_is_refused_before_it_is_written() -> None:
    for data in ({"text": "\ud800"}, {"number": 2**64}):
        with pytest.raises(InvalidInput, match="cannot be written as JSON"):
            an_event(data=data).to_bytes()


def test_content_is_data_alone() -> None:
    assert an_event().content_hash == an_event(id="2", time="2027-01-01T00:00:00.000000Z", recordedtime=TIME).content_hash
    assert an_event().content_hash != an_event(data={"content": "hi!", "occurred_at": TIME}).content_hash


def test_positions_are_in_order() -> None:
    assert Position(1, 0, 9) < Position(1, 0, 10) < Position(1, 1, 0) < Position(2, 0, 0)


def test_an_envelope_cannot_be_altered() -> None:
    with pytest.raises(AttributeError):
        setattr(an_event(), "id", "2")  # noqa: B010
    assert msgspec.structs.replace(an_event(), id="2").id == "2"
