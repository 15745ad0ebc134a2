"""What is read at every step, how far the tables are and which of them are live, in a few words of its own: to a server it is a
message less, and in a file making the query costs more than its answer."""

from __future__ import annotations

import sqlite3
from typing import Any

import sqlalchemy as sa

from ..schemas.errors import LogError
from .postgres import run_text, schema_of
from .tables import active_versions

__all__ = ["LIVE", "MEMORY", "ask_file", "find_live", "read_live", "read_numbers"]

MEMORY = "memory"
"""The name of the one set of projections."""

LIVE = f"SELECT version FROM {{schema}}.{active_versions.name} WHERE projection = '{MEMORY}'"  # noqa: S608 - names of ours
"""The live version, as PostgreSQL is asked for it, with `{schema}` for the schema."""

_LIVE_HERE = f"SELECT version FROM {active_versions.name} WHERE projection = '{MEMORY}'"  # noqa: S608 - names of ours


def read_live(connection: sa.Connection) -> int:
    """The version of the tables that is live."""
    found = find_live(connection)
    if found is None:
        raise LogError(
            f"no version of the read models is noted as live in {active_versions.name}: somebody edited it; put a backup of "
            "the folder (or of the database) in its place"
        )
    return found


def find_live(connection: sa.Connection) -> int | None:
    """The same; None where none is."""
    if connection.dialect.name == "postgresql":
        row: tuple[int] | None = run_text(connection, LIVE.format(schema=schema_of(connection)), {}).fetchone()
        return None if row is None else row[0]
    rows = ask_file(connection, _LIVE_HERE)
    return int(rows[0][0]) if rows else None


def read_numbers(connection: sa.Connection, table: sa.Table) -> dict[str, int]:
    """The rows of a table of names and values."""
    if connection.dialect.name == "postgresql":
        query = f"SELECT name, value FROM {schema_of(connection)}.{table.name}"  # noqa: S608 - both are names of ours
        return dict(run_text(connection, query, {}).fetchall())
    rows = ask_file(connection, f"SELECT name, value FROM {table.name}")  # noqa: S608 - a name of ours
    return {str(name): int(value) for name, value in rows}


def ask_file(connection: sa.Connection, query: str, *values: str | int) -> list[tuple[Any, ...]]:
    """The rows of a query to an SQLite file, in its own words, inside the connection's transaction."""
    raw: Any = connection.connection.dbapi_connection
    try:
        rows: list[tuple[Any, ...]] = raw.execute(query, values).fetchall()
    except sqlite3.Error:
        # Asked again in the long way, what goes wrong is raised as everywhere else.
        return [tuple(row) for row in connection.exec_driver_sql(query, values)]
    return rows
