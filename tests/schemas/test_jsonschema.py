"""The packaged JSON Schemas say what the Structs say, and refuse what the decoder refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import mnemolog.schemas.jsonschema as schemas
from golden.expected import FOLDER
from mnemolog.schemas.codec import sha256_hex
from mnemolog.schemas.events import EVENTS

PACKAGED = Path(schemas.__file__).with_name("json")

OLD = {"turn.recorded.v1.json": "de32f8338981559a48563fc44eb1a38f03ce751217720be6cb6eed59f97a688f"}
"""Schemas of versions that are written no more, pinned: they describe records that exist."""


def test_no_schema_is_stale() -> None:
    assert schemas.stale(PACKAGED) == [], "run: python -m mnemolog.schemas.jsonschema"


def test_older_versions_are_kept_as_they_were() -> None:
    assert {name: sha256_hex((PACKAGED / name).read_bytes()) for name in OLD} == OLD


def test_no_schema_is_there_without_an_event() -> None:
    named = {schemas.file_name(event.name, version) for event in EVENTS.values() for version in range(1, event.version + 1)}
    assert {path.name for path in PACKAGED.glob("*.json")} == named


def test_a_missing_and_a_changed_file_are_found_stale(tmp_path: Path) -> None:
    assert len(schemas.stale(tmp_path)) == len(EVENTS)
    for path in PACKAGED.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    changed = tmp_path / "session.ended.v1.json"
    changed.write_bytes(changed.read_bytes() + b" ")
    assert schemas.stale(tmp_path) == [changed]


def turn(**changes: Any) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((FOLDER / "turn.recorded.v2.json").read_bytes())
    data = {key: value for key, value in changes.items() if key in event["data"] or key == "surprise"}
    return {**event, **{key: value for key, value in changes.items() if key not in data}, "data": {**event["data"], **data}}


@pytest.mark.parametrize(
    "changes",
    [
        {"id": ""},
        {"id": " "},
        {"id": "x" * 257},
        {"id": "a\nb"},
        {"tenant": "a/b"},
        {"subject": ""},
        {"source": ""},
        {"type": "turn.forgotten"},
        {"specversion": "0.3"},
        {"time": "2026-03-02T09:30:00Z"},
        {"dataschema": "urn:mnemolog:turn.recorded:1"},
        {"datacontenttype": "text/plain"},
        {"position": "1:2"},
        {"role": "king"},
        {"content": 7},
        {"occurred_at": "yesterday"},
        {"utc_offset": 1440},
        {"importance": 1.01},
        {"metadata": []},
        {"surprise": 1},
    ],
    ids=str,
)
def test_the_schema_refuses(changes: dict[str, Any]) -> None:
    validator = Draft202012Validator(schemas.read_schema("turn.recorded", 2))
    assert validator.is_valid(turn())
    assert not validator.is_valid(turn(**changes))
