"""Queries that are asked again and again, put into the database's words once. An SQLite file is then asked directly: there the
way through SQLAlchemy costs several times what the answer does. Rows are the same either way, with their columns by name."""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

__all__ = ["Prepared"]

_EXPANDING = "__[POSTCOMPILE_"
_NOTHING = "SELECT 1 FROM (SELECT 1) WHERE 1 != 1"
"""In the place of no values: nothing is among them, and everything is not."""


class _Plan(NamedTuple):
    """`text`: with a question mark for each of `names`, and a mark of its own for those that stand for many values."""

    text: str
    names: list[str]
    given: dict[str, Any]
    """The values that stand in the query itself."""
    many: dict[str, str]
    """Name to its mark, of those that stand for many values."""
    row: Callable[[Sequence[Any]], Any]
    converted: list[tuple[int, Callable[[Any], Any]]]
    """Columns whose cells are read otherwise than they lie there."""


class Prepared:
    """A SELECT whose parameters are all named. Thread-safe; for one dialect."""

    def __init__(self, query: sa.Select[*tuple[Any, ...]]) -> None:
        self.query = query
        self._plan: _Plan | None = None

    def all(self, connection: sa.Connection, values: Mapping[str, Any]) -> Sequence[Any]:
        """The rows, inside the connection's transaction."""
        if connection.dialect.name != "sqlite":
            return connection.execute(self.query, values).all()
        plan = self._plan
        if plan is None:
            plan = self._plan = _planned(self.query, connection.dialect)
        text, asked = _asked(plan, values)
        raw: Any = connection.connection.dbapi_connection
        try:
            rows = raw.execute(text, asked).fetchall()
        except sqlite3.Error:
            # Asked again in the long way, what goes wrong is raised as everywhere else.
            return connection.execute(self.query, values).all()
        for at, convert in plan.converted:
            rows = [(*row[:at], convert(row[at]), *row[at + 1 :]) for row in rows]
        return list(map(plan.row, rows))


def _asked(plan: _Plan, values: Mapping[str, Any]) -> tuple[str, list[Any]]:
    text, asked = plan.text, []
    for name in plan.names:
        value = values[name] if name in values else plan.given[name]
        if name in plan.many:
            text = text.replace(plan.many[name], ", ".join("?" * len(value)) or _NOTHING, 1)
            asked += value
        else:
            asked.append(value)
    return text, asked


def _planned(query: sa.Select[*tuple[Any, ...]], dialect: sa.Dialect) -> _Plan:
    compiled: Any = query.compile(dialect=dialect)
    columns = list(query.selected_columns)
    processors = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
    text, names = str(compiled), list(compiled.positiontup)
    made: Callable[..., Any] = namedtuple  # of columns that only the query knows
    row = made("Row", [column.key for column in columns], rename=True)
    marks = {name: f"{_EXPANDING}{name}]" for name in names}
    return _Plan(
        text=text,
        names=names,
        given=dict(compiled.params),
        many={name: mark for name, mark in marks.items() if mark in text},
        row=row._make,
        converted=[(at, convert) for at, convert in enumerate(processors) if convert is not None],
    )
