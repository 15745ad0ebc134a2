"""The join of changes, dynamics and observations."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.projections.reader import CHUNK, MissingInput, decided_inputs
from mnemolog.projections.store import Store
from mnemolog.schemas.errors import Undecodable
from replay.folder import STORY, Folder
from replay.hand import Writer
from replay.logged import bring_up, record
from replay.places import Place
from replay.stories import SCOPES, Step, tell


def test_every_decided_input_comes_with_its_decision_and_its_extractor() -> None:
    log = MemoryLog()
    items = tell(STORY)
    record(log, items)
    found = list(decided_inputs(log, 0))
    assert [(item.input.id, item.data, item.decision, item.hash) for item in found] == [
        (item.input.id, item.data, item.decision, item.hash) for item in items
    ]
    assert [item.extractor for item in found] == [f"offline/{item.offset % 3}" for item in items]
    assert [item.recorded for item in found] == [stored.recorded for stored in log.read("memory.dynamics.v1")]


@pytest.mark.parametrize("start", [1, 7, CHUNK + 3])
def test_it_goes_on_from_anywhere(tmp_path: Path, start: int) -> None:
    story: list[Step] = [(number % 3, "set", number % 5) for number in range(CHUNK * 2 + 10)]
    log = MemoryLog()
    items = tell(story)
    record(log, items)
    expected = [(item.offset, item.hash, f"offline/{item.offset % 3}") for item in items[start:]]
    found = [(item.offset, item.hash, item.extractor) for item in decided_inputs(log, start)]
    assert found == expected
    with Store(":memory:") as store:
        bring_up(log, store)
        assert list(decided_inputs(log, len(items), heads=store.heads)) == []
        assert store.heads() == {str(scope): log.head(scope) for scope in SCOPES}


def test_one_scope_and_an_end() -> None:
    log = MemoryLog()
    items = tell(STORY)
    record(log, items)
    mine = [item.offset for item in items if item.scope == str(SCOPES[1])]
    assert [item.offset for item in decided_inputs(log, 0, scope=SCOPES[1])] == mine
    assert [item.offset for item in decided_inputs(log, 3, 9)] == [3, 4, 5, 6, 7, 8]


def test_nothing_to_read_asks_for_no_heads() -> None:
    def heads() -> dict[str, str]:
        raise AssertionError("asked")

    assert list(decided_inputs(MemoryLog(), 0, heads=heads)) == []


def test_a_missing_input_is_named(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "memory.sqlite", Place(tmp_path / "memory.sqlite"))
    try:
        folder.alter("DELETE FROM log_dynamics WHERE offset = 4")
        with pytest.raises(MissingInput, match=r"acme/user:2.*'e4'.*offset 4") as caught:
            list(decided_inputs(folder.log, 0))
        assert (caught.value.scope, caught.value.input_id, caught.value.offset) == (str(SCOPES[1]), "e4", 4)
        told: list[tuple[str, Undecodable]] = []
        found = list(decided_inputs(folder.log, 0, on_broken=lambda scope, error: told.append((scope, error))))
        assert [item.offset for item in found] == [offset for offset in range(len(STORY)) if offset != 4]
        assert [scope for scope, _ in told] == [str(SCOPES[1])]
    finally:
        folder.close()


def test_a_scope_that_had_to_wait_is_joined_out_of_order(tmp_path: Path) -> None:
    """Its inputs are decided after later ones of other scopes."""
    log = SqliteLog(tmp_path / "log.sqlite")
    writer = Writer()
    for number in range(6):
        writer.add(scope=SCOPES[number % 2])
    for item in writer.items:
        log.append_inputs([item.input])
    from replay.logged import observation

    waited = [writer.items[offset] for offset in (0, 2, 4, 1, 3, 5)]
    for item in waited:
        log.append_processed([observation(item)], [item.decision_envelope])  # type: ignore[list-item]
    found = list(decided_inputs(log, 0))
    assert [(item.offset, item.input.id) for item in found] == [(item.offset, item.input.id) for item in waited]
    log.close()
