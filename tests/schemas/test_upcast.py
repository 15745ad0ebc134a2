"""Upcasters chain step by step, and what cannot be read says so."""

from __future__ import annotations

from typing import Any

import pytest

from golden.expected import FOLDER
from mnemolog.schemas.envelope import Envelope, schema_uri
from mnemolog.schemas.errors import NewerVersion, Undecodable
from mnemolog.schemas.events import EVENTS, decode_data
from mnemolog.schemas.inputs import Turn
from mnemolog.schemas.upcast import UPCASTERS, Steps, upcast


def split_name(data: dict[str, Any]) -> dict[str, Any]:
    first, _, last = data["name"].partition(" ")
    return {"first": first, "last": last}


MADE_UP: Steps = {
    **UPCASTERS,
    ("greeting.sent", 1): lambda data: {"name": data["who"]},
    ("greeting.sent", 2): split_name,
    ("greeting.sent", 3): lambda data: {**data, "polite": True},
}


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (1, {"who": "Ann Lee"}),
        (2, {"name": "Ann Lee"}),
        (3, {"first": "Ann", "last": "Lee"}),
        (4, {"first": "Ann", "last": "Lee", "polite": True}),
    ],
)
def test_three_steps_chain_from_any_version(version: int, data: dict[str, Any]) -> None:
    assert upcast("greeting.sent", version, 4, data, MADE_UP) == {"first": "Ann", "last": "Lee", "polite": True}


def test_the_given_data_is_not_altered() -> None:
    given = {"role": "user", "text": "hi", "occurred_at": "2026-03-02T09:30:00.000000Z"}
    before = dict(given)
    upcast("turn.recorded", 1, 2, given)
    assert given == before


def test_a_missing_step_names_itself() -> None:
    steps = {key: step for key, step in MADE_UP.items() if key != ("greeting.sent", 2)}
    with pytest.raises(Undecodable, match=r"greeting\.sent v2 cannot be read: there is no upcaster to v3"):
        upcast("greeting.sent", 1, 4, {"who": "Ann"}, steps)


@pytest.mark.parametrize("data", [{}, {"who": 7}, {"who": None}])
def test_old_data_of_another_shape_is_undecodable(data: dict[str, Any]) -> None:
    with pytest.raises(Undecodable, match="does not have the shape of that version"):
        upcast("greeting.sent", 1, 4, data, MADE_UP)


def test_every_old_version_has_its_step_and_no_step_is_left_over() -> None:
    assert set(UPCASTERS) == {(event.name, version) for event in EVENTS.values() for version in range(1, event.version)}


def turn_v1(**data: Any) -> Envelope:
    return Envelope(
        id="1",
        type="turn.recorded",
        subject="user:42",
        tenant="acme",
        time="2026-03-02T09:30:00.000000Z",
        dataschema=schema_uri("turn.recorded", 1),
        data={"occurred_at": "2026-03-02T09:30:00.000000Z", **data},
    )


def test_the_first_real_step() -> None:
    assert decode_data(turn_v1(text="我喜欢茶", role="user", session="s")) == Turn(
        content="我喜欢茶", role="user", session="s", occurred_at="2026-03-02T09:30:00.000000Z"
    )


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"text": 5},
        {"text": "a", "content": "b"},
        {"text": "a", "utc_offset": 60},
        {"text": "a", "surprise": 1},
        {"content": "a"},
    ],
)
def test_a_malformed_v1_turn_is_undecodable(data: dict[str, Any]) -> None:
    with pytest.raises(Undecodable, match=r"turn\.recorded|event '1'"):
        decode_data(turn_v1(**data))


def test_a_newer_version_is_refused_and_says_what_to_do() -> None:
    envelope = Envelope.from_bytes((FOLDER / "turn.recorded.v2.json").read_bytes().replace(b"recorded:2", b"recorded:3"))
    with pytest.raises(NewerVersion, match=r"turn\.recorded v3 but this mnemolog knows v2: upgrade mnemolog"):
        decode_data(envelope)
