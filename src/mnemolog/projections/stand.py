"""What is read at every step, how far the tables are and which of them are live, in a few words of its own: to a server it is a
message less, and in a file making the query costs more than its answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ..schemas.errors import LogError, NewerVersion
from .postgres import run_text, schema_of
from .tables import SCHEMA_VERSION, active_versions, store_meta

__all__ = ["LIVE", "MEMORY", "ask_file", "find_live", "known_shape", "read_live", "read_numbers"]

MEMORY = "memory"
"""The name of the one set of projections."""

_SHAPE = f"(SELECT value FROM {{place}}{store_meta.name} WHERE name = 'schema_version')"  # noqa: S608 - names of ours
_LIVE_AND_SHAPE = f"SELECT version, {_SHAPE} FROM {{place}}{active_versions.name} WHERE projection = '{MEMORY}'"  # noqa: S608

LIVE = _LIVE_AND_SHAPE.replace("{place}", "{schema}.")
"""The live version and the shape of its tables, as PostgreSQL is asked for them, with `{schema}` for the schema."""

_LIVE_HERE = _LIVE_AND_SHAPE.replace("{place}", "")


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
    """The same; None where none is. Raises NewerVersion where a newer mnemolog has made it."""
    if connection.dialect.name == "postgresql":
        row: tuple[int, str | None] | None = run_text(connection, LIVE.format(schema=schema_of(connection)), {}).fetchone()
        return None if row is None else known_shape(row)
    rows = ask_file(connection, _LIVE_HERE)
    return known_shape(rows[0]) if rows else None


def known_shape(row: Sequence[Any]) -> int:
    """The version in a row of `LIVE`. A process may have been at work when a newer mnemolog made tables of another shape beside
    its own: it may neither read nor write them, and is told so (NewerVersion)."""
    version, shape = row
    if shape is not None and int(shape) > SCHEMA_VERSION:
        raise NewerVersion(
            f"a newer mnemolog has made read models of schema {shape}, this one knows {SCHEMA_VERSION}: upgrade it"
        )
    return int(version or 0)


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
