"""Whatever column of whatever projected table is edited by hand, verify names the scope, the table, the row, the column and
both values."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.projections.columns import StoredText
from mnemolog.projections.compare import COMPARED, Difference, compare_scope
from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.projections.tables import PROJECTED, scopes, tables
from mnemolog.replay.fold import Fold
from mnemolog.replay.states import StateFolder
from mnemolog.replay.verify import verify
from replay.folder import STORY
from replay.logged import bring_up, record
from replay.stories import SCOPES, tell
from support.homes import home_of

VICTIM = str(SCOPES[1])
SAID = (
    "I live in Lisbon.",
    "My friend Jack lives in Rome.",
    "The budget for the kitchen is about 6000 euros.",
    "We raised the kitchen budget from 5000 euros to 8000 euros because the oven broke.",
    "No, the budget for the kitchen is 7000 euros.",
)
UNCOMPARED = {"offsets": {"name", "value"}, "weeks": {"summarised"}}
"""How far the work has come, which is no part of what is remembered."""


class Edited:
    """Two memories in files, each with the fold of its log beside it, and somebody who edits rows."""

    def __init__(self, folder: Path, number: int, path: Path, victim: str) -> None:
        self.path, self.victim = path, victim
        self._log = SqliteLog(path)
        self._store = Store(path)
        self._fresh = Store(folder / f"fresh-{number}.db", durable=False)
        fold = Fold(self._log, Projector(self._fresh), StateFolder(self._fresh))
        offsets = self._offsets()
        fold.advance(offsets["changes"])
        Projector(self._fresh).apply_summaries(self._log, offsets["summaries"])
        self._connection = sqlite3.connect(path, timeout=30, isolation_level=None)

    def _offsets(self) -> dict[str, int]:
        with self._store.reading() as (connection, current):
            return self._store.read_offsets(connection, current)

    def rows(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM rm_{table}_1 {self._mine}").fetchone()[0])  # noqa: S608

    @property
    def _mine(self) -> str:
        return f"WHERE scope_id = (SELECT scope_id FROM rm_scopes WHERE key = '{self.victim}')"  # noqa: S608

    def edit(self, table: str, column: str, change: str) -> tuple[object, object]:
        """Edits the last row; returns the cell before and after."""
        name, last = f"rm_{table}_1", "ORDER BY rowid DESC LIMIT 1"
        rowid = self._connection.execute(f"SELECT rowid FROM {name} {self._mine} {last}").fetchone()[0]  # noqa: S608
        cell = f'SELECT "{column}" FROM {name} WHERE rowid = {rowid}'  # noqa: S608
        before = self._connection.execute(cell).fetchone()[0]
        self._connection.execute("BEGIN")
        self._connection.execute(f'UPDATE {name} SET "{column}" = {change} WHERE rowid = {rowid}')  # noqa: S608
        after = self._connection.execute(cell).fetchone()[0]
        self._connection.execute("COMMIT")
        self._undo = (f'UPDATE {name} SET "{column}" = ? WHERE rowid = {rowid}', before)  # noqa: S608
        return before, after

    def copy(self, folder: Path) -> Path:
        """A copy of the file as it is now."""
        with sqlite3.connect(folder / "memory.db") as other:
            self._connection.backup(other)
        other.close()
        return folder / "memory.db"

    def undo(self) -> None:
        statement, before = self._undo
        self._connection.execute(statement, (before,))

    def compare(self) -> Difference | None:
        with self._store.reading() as live, self._fresh.reading() as fresh:
            sides = [(*side, dict(side[0].execute(sa.select(scopes.c.key, scopes.c.scope_id)).all())) for side in (live, fresh)]
            mine, theirs = ((connection, current, numbers[self.victim]) for connection, current, numbers in sides)
            return compare_scope(self.victim, mine, theirs)

    def close(self) -> None:
        self._connection.close()
        self._fresh.close()
        self._store.close()
        self._log.close()


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Edited]]:
    """One memory of hand-made decisions, and one that was told something: together they have rows in every table."""
    from mnemolog import Memory

    folder = tmp_path_factory.mktemp("edited")
    made = folder / "made.db"
    log, store = SqliteLog(made), Store(made)
    record(log, tell(STORY))
    bring_up(log, store)
    store.close()
    log.close()
    with Memory(folder / "told", embedder=False) as memory:
        for number, said in enumerate(SAID):
            memory.add(said, user_id=1, occurred_at=f"2026-03-{2 + 3 * number:02}T09:00:00Z")
        [asked, *_] = memory.pending(user_id=1)
        memory.confirm(asked.pending_id, user_id=1)
        memory.process()
        told = home_of(memory).store.path
    assert told is not None
    both = [Edited(folder, 0, made, VICTIM), Edited(folder, 1, told, "default/user:1")]
    assert [item.compare() for item in both] == [None, None]
    yield both
    for item in both:
        item.close()


def test_every_table_is_compared() -> None:
    assert set(PROJECTED) - set(COMPARED) - {"resolver_state"} == {"offsets"}


@pytest.mark.parametrize("table", [name for name in PROJECTED if name != "offsets"])
def test_an_edit_of_any_column_is_named(edited: list[Edited], table: str) -> None:
    memory = next((item for item in edited if item.rows(table)), None)
    assert memory is not None, f"no row in {table}"
    columns = tables(1).metadata.tables[f"rm_{table}_1"].columns
    keys = [column.name for column in columns if column.primary_key and column.name != "scope_id"]
    tried = 0
    for column in columns:
        if column.name in {"scope_id", *UNCOMPARED.get(table, ())}:
            continue
        kind = str if isinstance(column.type, StoredText) else column.type.python_type
        change = {str: f"coalesce(\"{column.name}\", '') || 'x'", int: f'coalesce("{column.name}", 0) + 1000'}.get(kind)
        if kind is float:
            change = f'"{column.name}" - 0.25'
        elif kind is bytes:
            change = "x'00'"
        assert change is not None, column
        before, after = memory.edit(table, column.name, change)
        assert before != after
        found = memory.compare()
        memory.undo()
        assert found is not None, f"{table}.{column.name} was edited, and nothing was found"
        assert (found.scope, found.table) == (memory.victim, table)
        if column.name in keys:
            assert (found.live == "") != (found.replayed == "")
            assert str(before) in found.key or str(after) in found.key
            assert found.columns == []
        else:
            assert found.columns == [column.name]
            if kind is not bytes:
                assert json.loads(found.live)[column.name] == after
                assert json.loads(found.replayed)[column.name] == before
        tried += 1
    assert tried
    assert memory.compare() is None


@pytest.mark.parametrize(("column", "change"), [("value", "'{no json'"), ("confidence", "'much'"), ("value", "x'ff'")])
def test_what_cannot_be_read_any_more_is_named_too(edited: list[Edited], tmp_path: Path, column: str, change: str) -> None:
    memory = edited[0]
    memory.edit("versions", column, change)
    path = memory.copy(tmp_path)
    memory.undo()
    log, store = SqliteLog(path), Store(path)
    report = verify(log, store)
    store.close()
    log.close()
    assert (report.equal, report.differing_scopes) == (False, [VICTIM])
    [found] = report.differences
    assert (found.table, found.columns) == ("versions", [column])
    assert report.live_digest != report.replayed_digest


def test_a_head_that_is_gone_is_named_itself(edited: list[Edited], tmp_path: Path) -> None:
    path = edited[0].copy(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM rm_heads_1 WHERE scope_id = 2")
    connection.close()
    log, store = SqliteLog(path), Store(path)
    [found] = verify(log, store).differences
    store.close()
    log.close()
    assert (found.scope, found.table, found.live) == (VICTIM, "heads", "")
