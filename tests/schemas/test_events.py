"""The registry of events: inputs are checked before they can reach a log, and problems name the field."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest

from golden.expected import EXPECTED, FOLDER
from mnemolog.schemas.errors import InvalidInput, NewerVersion, Undecodable, UnknownField
from mnemolog.schemas.events import DYNAMICS, EVENTS, RESERVED, TOPICS, decode, make, type_of, validate
from mnemolog.schemas.inputs import CorrectionRequested, SessionEnded, Turn
from mnemolog.schemas.scope import Scope

TIME = "2026-03-02T09:30:00.000000Z"
SCOPE = Scope("acme", "user:42")


def test_reserved_names_are_free_and_every_topic_is_known() -> None:
    assert not set(RESERVED) & set(EVENTS)
    assert {event.topic for event in EVENTS.values()} <= set(TOPICS)
    assert all(topic.startswith("memory.") and topic.endswith(".v1") for topic in TOPICS)


def test_an_unknown_type_is_undecodable() -> None:
    with pytest.raises(Undecodable, match=r"unknown event type 'turn\.lost'; known: confirmation\.given"):
        type_of("turn.lost")
    value = (FOLDER / "session.ended.v1.json").read_bytes().replace(b"session.ended", b"session.fudged")
    with pytest.raises(Undecodable, match="unknown event type"):
        decode(value)


@pytest.mark.parametrize(
    ("name", "data", "field", "kind"),
    [
        ("turn.recorded", {}, "content", InvalidInput),
        ("turn.recorded", {"content": "a", "occurred_at": TIME, "user": "x"}, "user", UnknownField),
        ("turn.recorded", {"content": 1, "occurred_at": TIME}, "content", InvalidInput),
        ("turn.recorded", {"content": "a", "occurred_at": "now"}, "occurred_at", InvalidInput),
        ("turn.recorded", {"content": "a", "occurred_at": TIME, "role": "king"}, "role", InvalidInput),
        ("turn.recorded", {"content": "a", "occurred_at": TIME, "utc_offset": 5000}, "utc_offset", InvalidInput),
        ("turn.recorded", {"content": "a", "occurred_at": TIME, "importance": 2}, "importance", InvalidInput),
        ("turn.recorded", {"content": "a", "occurred_at": TIME, "metadata": [1]}, "metadata", InvalidInput),
        ("session.ended", {"session": None}, "session", InvalidInput),
        ("deadline.passed", {"kind": "x", "due": "soon"}, "due", InvalidInput),
    ],
)
def test_validation_names_the_field(name: str, data: dict[str, Any], field: str, kind: type[InvalidInput]) -> None:
    with pytest.raises(kind) as caught:
        validate(name, data)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("data", "attributes", "field"),
    [
        (SessionEnded(session="\ud800"), {}, "session"),
        (SessionEnded(session="a\0"), {}, "session"),
        (SessionEnded(session=7), {}, "session"),  # type: ignore[arg-type]
        (CorrectionRequested(form_id="f", slot="s", value="x\udc00"), {}, "value"),
        (Turn(content="x" * 1_048_577, occurred_at=TIME), {}, "content"),
        (Turn(content="x", occurred_at="today"), {}, "occurred_at"),
        (Turn(content="x", occurred_at=TIME, metadata={"a": [float("nan")]}), {}, "metadata.a[0]"),
        (Turn(content="x", occurred_at=TIME, metadata={"a": 2**70}), {}, "metadata.a"),
        (SessionEnded(session="s"), {"event_id": ""}, "id"),
        (SessionEnded(session="s"), {"source": "x" * 300}, "source"),
        (SessionEnded(session="s"), {"time": "2026-03-02"}, "time"),
        (SessionEnded(session="s"), {"correlation": ""}, "correlationid"),
    ],
    ids=range(12),
)
def test_no_bad_input_becomes_an_event(data: msgspec.Struct, attributes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make(data, **{"scope": SCOPE, "event_id": "1", "time": TIME, **attributes})
    assert caught.value.field == field


@pytest.mark.parametrize("name", sorted(name for name, event in EVENTS.items() if event.topic == DYNAMICS))
def test_unknown_fields_in_stored_inputs_are_refused_not_dropped(name: str) -> None:
    event = EVENTS[name]
    value = (FOLDER / f"{name}.v{event.version}.json").read_bytes().replace(b'"data":{', b'"data":{"surprise":1,')
    with pytest.raises(Undecodable, match="surprise"):
        decode(value)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_damaged_data_is_undecodable_never_another_error(name: str) -> None:
    value = (FOLDER / f"{name}.json").read_bytes().strip()
    for place in range(0, len(value), 7):
        damaged = value[:place] + b"7" + value[place + 1 :]
        with contextlib.suppress(Undecodable, NewerVersion):
            decode(damaged)
