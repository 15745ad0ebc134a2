"""Property 10, first half: every event version that was ever written still decodes, to exactly what it meant."""

from __future__ import annotations

from pathlib import Path

import msgspec
import orjson
import pytest
from jsonschema import Draft202012Validator

from golden.digests import DIGESTS
from golden.expected import EXPECTED, FOLDER
from mnemolog.schemas.codec import canonical, sha256_hex
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import EVENTS, decode, make
from mnemolog.schemas.jsonschema import read_schema

GOLDEN = sorted(FOLDER.glob("*.json"))


def name_of(path: Path) -> str:
    return path.name.removesuffix(".json")


def version_of(name: str) -> tuple[str, int]:
    event_type, _, version = name.rpartition(".v")
    return event_type, int(version)


def test_no_golden_file_was_deleted_or_left_unpinned() -> None:
    assert sorted(DIGESTS) == [name_of(path) for path in GOLDEN] == sorted(EXPECTED)


def test_every_version_of_every_event_has_a_golden_file_and_a_schema() -> None:
    for event in EVENTS.values():
        for version in range(1, event.version + 1):
            assert f"{event.name}.v{version}" in EXPECTED, "add a golden file, its expected data and its digests"
            assert read_schema(event.name, version)["$id"] == f"urn:mnemolog:{event.name}:{version}"


@pytest.mark.parametrize("path", GOLDEN, ids=name_of)
def test_a_golden_file_is_as_it_was_written(path: Path) -> None:
    assert sha256_hex(path.read_bytes()) == DIGESTS[name_of(path)][0]


@pytest.mark.parametrize("path", GOLDEN, ids=name_of)
def test_a_golden_file_decodes_to_what_it_meant(path: Path) -> None:
    envelope, data = decode(path.read_bytes())
    event_type, version = version_of(name_of(path))
    assert (envelope.type, envelope.version) == (event_type, version)
    assert (envelope.tenant, envelope.subject, envelope.recordedtime) == ("acme", "user:42", "2026-03-02T09:30:01.250000Z")
    assert data == EXPECTED[name_of(path)]
    assert sha256_hex(canonical(data)) == DIGESTS[name_of(path)][1]


@pytest.mark.parametrize("path", GOLDEN, ids=name_of)
def test_a_golden_file_fits_the_schema_of_its_version(path: Path) -> None:
    schema = read_schema(*version_of(name_of(path)))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(orjson.loads(path.read_bytes()))


@pytest.mark.parametrize("path", GOLDEN, ids=name_of)
def test_what_a_golden_file_means_is_written_today_at_the_current_version(path: Path) -> None:
    envelope, data = decode(path.read_bytes())
    again = make(
        data,
        scope=envelope.scope,
        event_id=envelope.id,
        time=envelope.time,
        recorded=envelope.recordedtime,
        correlation=envelope.correlationid,
        causation=envelope.causationid,
        position=envelope.position,
    )
    current = EVENTS[envelope.type].version
    assert again.version == current
    Draft202012Validator(read_schema(envelope.type, current)).validate(orjson.loads(again.to_bytes()))
    assert decode(again.to_bytes())[1] == data
    if envelope.version == current:
        assert Envelope.from_bytes(again.to_bytes()) == msgspec.structs.replace(envelope, data=again.data)
