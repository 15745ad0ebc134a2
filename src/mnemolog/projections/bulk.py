"""One statement for many rows. SQLite runs it once for each row, which costs it nothing; for PostgreSQL, where every row would
be a message, the rows travel as arrays, one a column, and the statement reads them as a table. A few rows, as they come while
turns trickle in, are written out as values instead: that is compiled once, and costs a quarter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from .cells import Row
from .dialect import Update, on_conflict
from .postgres import big_number, run_text, schema_of

__all__ = ["Given", "Write", "insert_rows"]


MESSAGE = 8_000_000
"""Characters and bytes after which a statement takes no further row."""


_FEW = 4
"""Rows that are written out at most: each number of them is a statement of its own to the server."""

_Kind = sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]]


class Given:
    """The rows that a statement is run with, by column: `given.form` is `b_form` of a row."""

    def __init__(self, dialect: str, **types: _Kind) -> None:
        self._bulk = dialect == "postgresql"
        columns: dict[str, _Kind] = {f"b_{name}": kind for name, kind in types.items()}
        self._types = columns
        if self._bulk:
            self._columns = dict(_unnested(columns).c)
        else:
            self._columns = {name: sa.bindparam(name, type_=kind) for name, kind in columns.items()}

    def __getattr__(self, name: str) -> sa.ColumnElement[Any]:
        return self._columns[f"b_{name}"]

    def write(self, statement: sa.Update | sa.Delete, *key: str) -> Write:
        """`key`: what tells the rows apart that the statement changes."""
        return Write(statement, self._types, tuple(f"b_{name}" for name in key), self._bulk)


class Write:
    """A statement that is run with many rows, in order: as if each row had been written alone."""

    def __init__(self, statement: sa.Executable, types: Mapping[str, _Kind], key: Sequence[str], bulk: bool) -> None:
        self._statement = statement
        self._types = types
        self._names = tuple(types)
        self._key = key
        self._bulk = bulk
        self._written: dict[tuple[str, int], _Written] = {}
        self._processors: list[tuple[str, Callable[[Any], Any] | None]] | None = None

    def run(self, connection: sa.Connection, rows: Sequence[Row]) -> None:
        if not self._bulk:
            connection.execute(self._statement, rows)
            return
        for part in self._distinct(rows):
            if len(part) <= _FEW:
                self._run_few(connection, part)
            else:
                connection.execute(self._statement, {_array(name): [row[name] for row in part] for name in self._names})

    def _run_few(self, connection: sa.Connection, rows: Sequence[Row]) -> None:
        key = (schema_of(connection), len(rows))
        written = self._written.get(key)
        if written is None:
            written = self._written[key] = _write_out(self._statement, self._types, connection.dialect, *key)
        parameters = dict(written.fixed)
        for names, row in zip(written.names, rows, strict=True):
            for (name, processed), given in zip(self._types_of(connection.dialect), names, strict=True):
                value = row[name]
                parameters[given] = value if processed is None else processed(value)
        run_text(connection, written.text, parameters)

    def _types_of(self, dialect: sa.Dialect) -> list[tuple[str, Callable[[Any], Any] | None]]:
        if self._processors is None:
            self._processors = [(name, _processor(kind, dialect)) for name, kind in self._types.items()]
        return self._processors

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
    types: dict[str, _Kind] = {column.name: column.type for column in table.columns}
    key = [column.name for column in table.primary_key]
    if dialect != "postgresql":
        return Write(on_conflict(None, table, dialect, update, keep=keep), types, key, bulk=False)
    given = _unnested(types)
    statement = postgresql.insert(table).from_select(list(types), sa.select(*given.c))
    return Write(on_conflict(statement, table, dialect, update, keep=keep), types, key, bulk=True)


class _Written(NamedTuple):
    """A statement in the words of the driver, with rows written out."""

    text: str
    names: list[list[str]]
    """Of the parameters, by row."""
    fixed: dict[str, Any]
    """The parameters that are no row's."""


def _write_out(statement: sa.Executable, types: Mapping[str, _Kind], dialect: sa.Dialect, schema: str, rows: int) -> _Written:
    compiled: Any = statement.compile(  # type: ignore[attr-defined]
        dialect=dialect, schema_translate_map={None: schema}, render_schema_translate=True
    )
    text = str(compiled)
    start = text.index("unnest(")
    end = text.index(") AS ", start)
    arrays = text[start + len("unnest(") : end].split(", ")
    names = [[f"{name}_{number}" for name in types] for number in range(rows)]
    lines = [
        ", ".join(
            array.replace("[]", "", 1).replace(f"%({_array(name)})s", f"%({given})s", 1)
            for array, name, given in zip(arrays, types, line, strict=True)
        )
        for line in names
    ]
    values = f"(VALUES {', '.join(f'({line})' for line in lines)}"
    arrays_ = {_array(name) for name in types}
    fixed = {name: value for name, value in compiled.params.items() if name not in arrays_}
    return _Written(text[:start] + values + text[end:], names, fixed)


def _processor(kind: _Kind, dialect: sa.Dialect) -> Callable[[Any], Any] | None:
    """What a value passes through on its way to the driver, which takes bytes as they are."""
    instance = kind() if isinstance(kind, type) else kind
    found: Callable[[Any], Any] | None = None
    if isinstance(instance, sa.Integer):
        return big_number
    if not isinstance(instance, sa.LargeBinary):
        found = instance.bind_processor(dialect)
    return found


def _array(name: str) -> str:
    return f"all_{name}"


def _unnested(columns: Mapping[str, Any]) -> sa.TableValuedAlias:
    arrays = [sa.bindparam(_array(name), type_=postgresql.ARRAY(kind)) for name, kind in columns.items()]
    named = [sa.column(name, kind) for name, kind in columns.items()]
    return sa.func.unnest(*arrays).table_valued(*named, name="given").render_derived()
