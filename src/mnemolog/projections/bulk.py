"""One statement for many rows. SQLite runs it once for each row, which costs it nothing; for PostgreSQL, where every row would
be a message, the rows travel as arrays, one a column, and the statement reads them as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from .cells import Row
from .dialect import Update, on_conflict

__all__ = ["Given", "Write", "insert_rows"]


MESSAGE = 8_000_000
"""Characters and bytes after which a statement takes no further row."""


class Given:
    """The rows that a statement is run with, by column: `given.form` is `b_form` of a row."""

    def __init__(self, dialect: str, **types: sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]]) -> None:
        self.names = tuple(f"b_{name}" for name in types)
        self._bulk = dialect == "postgresql"
        columns = {f"b_{name}": kind for name, kind in types.items()}
        if self._bulk:
            self._columns = dict(_unnested(columns).c)
        else:
            self._columns = {name: sa.bindparam(name, type_=kind) for name, kind in columns.items()}

    def __getattr__(self, name: str) -> sa.ColumnElement[Any]:
        return self._columns[f"b_{name}"]

    def write(self, statement: sa.Update | sa.Delete, *key: str) -> Write:
        """`key`: what tells the rows apart that the statement changes."""
        return Write(statement, self.names, tuple(f"b_{name}" for name in key), self._bulk)


class Write:
    """A statement that is run with many rows, in order: as if each row had been written alone."""

    def __init__(self, statement: sa.Executable, names: Sequence[str], key: Sequence[str], bulk: bool) -> None:
        self._statement = statement
        self._names = names
        self._key = key
        self._bulk = bulk

    def run(self, connection: sa.Connection, rows: Sequence[Row]) -> None:
        if not self._bulk:
            connection.execute(self._statement, rows)
            return
        for part in self._distinct(rows):
            connection.execute(self._statement, {_array(name): [row[name] for row in part] for name in self._names})

    def _distinct(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        """Runs of rows of which no two concern the same: one statement changes a row once, and in no order. None of them is so
        long that a server would not take it."""
        part: dict[tuple[Any, ...], Row] = {}
        size = 0
        for row in rows:
            key = tuple(row[name] for name in self._key)
            if key in part or size > MESSAGE:
                yield list(part.values())
                part, size = {}, 0
            part[key] = row
            size += sum(len(value) for value in row.values() if isinstance(value, str | bytes))
        yield list(part.values())


def insert_rows(table: sa.Table, dialect: str, update: Update | None = None, *, keep: bool = False) -> Write:
    """INSERT of whole rows; `update` as for `upsert`, `keep` leaves a row alone whose key is there already."""
    names = [column.name for column in table.columns]
    key = [column.name for column in table.primary_key]
    if dialect != "postgresql":
        return Write(on_conflict(None, table, dialect, update, keep=keep), names, key, bulk=False)
    given = _unnested({column.name: column.type for column in table.columns})
    statement = postgresql.insert(table).from_select(names, sa.select(*given.c))
    return Write(on_conflict(statement, table, dialect, update, keep=keep), names, key, bulk=True)


def _array(name: str) -> str:
    return f"all_{name}"


def _unnested(columns: dict[str, Any]) -> sa.TableValuedAlias:
    arrays = [sa.bindparam(_array(name), type_=postgresql.ARRAY(kind)) for name, kind in columns.items()]
    named = [sa.column(name, kind) for name, kind in columns.items()]
    return sa.func.unnest(*arrays).table_valued(*named, name="given").render_derived()
