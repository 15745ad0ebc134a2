"""Whatever is altered behind the engine's back, verify finds it and names that scope and no other."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from engine.talk import SCOPES, sqlite_rig
from mnemolog.replay.verify import VerifyReport
from mnemolog.schemas.errors import BrokenChain
from support.events import turn

VICTIM, OTHER, THIRD = SCOPES
SAID = (
    "I live in Lisbon.",
    "I like tea.",
    "The budget for the kitchen is 5000 euros.",
    "The budget for the kitchen is about 6000 euros.",
    "I moved to Porto because of the rent.",
    "My friend Jack lives in Rome.",
    "We raised the kitchen budget from 5000 euros to 8000 euros because the oven broke.",
)


class Folder:
    """A memory in one file, and a way to alter the file from outside."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def alter(self, statement: str, *values: object, rows: int = 1) -> None:
        with sqlite3.connect(self.path, timeout=30) as connection:
            assert connection.execute(statement, values).rowcount == rows
        connection.close()

    def look(self, query: str, *values: object) -> tuple[object, ...]:
        connection = sqlite3.connect(self.path, timeout=30)
        row = connection.execute(query, values).fetchone()
        connection.close()
        assert row is not None
        return tuple(row)

    def verify(self) -> VerifyReport:
        rig = sqlite_rig(self.path)
        try:
            return rig.verify()
        finally:
            rig.close()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("told") / "memory.db"
    rig = sqlite_rig(path)
    for number, said in enumerate(SAID):
        time = f"2026-03-{2 + 3 * number:02}T09:00:00.000000Z"
        rig.add([turn(f"{number}", said, scope, time=time) for scope in SCOPES])
    rig.check()
    rig.close()
    return path


@pytest.fixture
def folder(tmp_path: Path, told: Path) -> Folder:
    return Folder(Path(shutil.copy(told, tmp_path / "memory.db")))


def expect_only(report: VerifyReport, scope: object) -> None:
    assert not report.equal
    assert report.differing_scopes == [str(scope)]


ROW = "SELECT rowid FROM {0} WHERE scope_id = (SELECT scope_id FROM rm_scopes WHERE key = ?) ORDER BY rowid LIMIT 1 OFFSET {1}"


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("rm_versions_1", "value = replace(value, 'Lisbon', 'Lissabon')"),
        ("rm_versions_1", "confidence = confidence - 0.01"),
        ("rm_slots_1", "version = version + 7"),
        ("rm_forms_1", "name = name || 'x'"),
        ("rm_evidence_1", "quote = quote || 'x'"),
        ("rm_turns_1", "content = 'never said'"),
        ("rm_timeline_1", "text = text || 'x'"),
        ("rm_summaries_1", "lines = '[\"nothing happened\"]'"),
        ("rm_resolver_state_1", "blob = x'00'"),
    ],
)
def test_a_row_that_was_edited_by_hand(folder: Folder, table: str, change: str, scope: object) -> None:
    (row,) = folder.look(ROW.format(table, 0), str(scope))
    folder.alter(f"UPDATE {table} SET {change} WHERE rowid = ?", row)  # noqa: S608
    expect_only(folder.verify(), scope)


@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_change_that_was_deleted(folder: Folder, place: int) -> None:
    query = "SELECT offset FROM log_changes WHERE scope = ? ORDER BY offset LIMIT 1 OFFSET ?"
    (offset,) = folder.look(query, str(OTHER), place)
    folder.alter("DELETE FROM log_changes WHERE offset = ?", offset)
    report = folder.verify()
    expect_only(report, OTHER)
    assert [(problem.scope, problem.kind) for problem in report.problems] == [(str(OTHER), "undecided")]


@pytest.mark.parametrize("place", [0, 3, 6])
def test_an_input_that_was_deleted(folder: Folder, place: int) -> None:
    query = "SELECT offset FROM log_dynamics WHERE scope = ? ORDER BY offset LIMIT 1 OFFSET ?"
    (offset,) = folder.look(query, str(VICTIM), place)
    folder.alter("DELETE FROM log_dynamics WHERE offset = ?", offset)
    report = folder.verify()
    expect_only(report, VICTIM)
    assert [(problem.kind, problem.offset) for problem in report.problems] == [("missing", offset)]


@pytest.mark.parametrize("place", [0, 3])
@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"outcome":"changed"', b'"outcome":"nothing"'), (b'"prev":"', b'"prev":"0'), (b'"data"', b'"dat@"'), (b"{", b"[")],
)
def test_a_byte_of_a_change_that_was_altered(folder: Folder, place: int, old: bytes, new: bytes) -> None:
    query = "SELECT offset, value FROM log_changes WHERE scope = ? ORDER BY offset LIMIT 1 OFFSET ?"
    offset, value = folder.look(query, str(THIRD), place)
    assert isinstance(value, bytes)
    assert old in value
    folder.alter("UPDATE log_changes SET value = ? WHERE offset = ?", value.replace(old, new, 1), offset)
    expect_only(folder.verify(), THIRD)


def test_the_newest_change_of_a_scope_that_was_altered(folder: Folder) -> None:
    """Nothing links to it yet, but the live head names its hash."""
    query = "SELECT offset, value FROM log_changes WHERE scope = ? ORDER BY offset DESC LIMIT 1"
    offset, value = folder.look(query, str(THIRD))
    assert isinstance(value, bytes)
    altered = value.replace(b'"policy":"', b'"policy":"x', 1)
    assert altered != value
    folder.alter("UPDATE log_changes SET value = ? WHERE offset = ?", altered, offset)
    expect_only(folder.verify(), THIRD)


def test_the_words_of_an_input_that_were_altered(folder: Folder) -> None:
    query = "SELECT offset, value FROM log_dynamics WHERE scope = ? ORDER BY offset LIMIT 1"
    offset, value = folder.look(query, str(VICTIM))
    assert isinstance(value, bytes)
    folder.alter("UPDATE log_dynamics SET value = ? WHERE offset = ?", value.replace(b"Lisbon", b"Lisbom"), offset)
    expect_only(folder.verify(), VICTIM)


def test_two_changes_that_were_swapped(folder: Folder) -> None:
    query = "SELECT offset, value FROM log_changes WHERE scope = ? ORDER BY offset LIMIT 1 OFFSET ?"
    (first, a), (second, b) = folder.look(query, str(OTHER), 1), folder.look(query, str(OTHER), 2)
    folder.alter("UPDATE log_changes SET value = ? WHERE offset = ?", b, first)
    folder.alter("UPDATE log_changes SET value = ? WHERE offset = ?", a, second)
    expect_only(folder.verify(), OTHER)


@pytest.mark.parametrize("head", ["ab" * 32, ""])
def test_a_head_that_was_altered_ends_the_processing_and_names_the_scope(folder: Folder, head: str) -> None:
    """Nothing links to it, however often it is tried."""
    (own,) = folder.look("SELECT head FROM log_heads WHERE scope = ?", str(VICTIM))
    folder.alter("UPDATE log_heads SET head = ? WHERE scope = ?", head, str(VICTIM))
    rig = sqlite_rig(folder.path)
    rig.add([turn("more", "I live in Faro.", VICTIM, time="2026-04-02T09:00:00.000000Z")], process=False)
    for _ in range(2):
        with pytest.raises(BrokenChain, match="run `mnemolog verify`") as caught:
            rig.engine.process()
        assert caught.value.scope == str(VICTIM)
        noted = f"{str(own)[:12]!r}, and the log notes {head[:12] or 'nothing'!r}"
        assert caught.value.problem == f"its newest decision is {noted} as its head"
    folder.alter("UPDATE log_heads SET head = ? WHERE scope = ?", own, str(VICTIM))
    assert rig.engine.process() == 1
    rig.check()
    rig.close()


def test_nothing_altered_is_equal(folder: Folder) -> None:
    assert folder.verify().equal
