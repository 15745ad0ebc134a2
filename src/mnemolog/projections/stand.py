"""What is read at every step, how far the tables are and which of them are live: where that is a message to a server, in a few
words of its own."""

from __future__ import annotations

import sqlalchemy as sa

from .postgres import run_text, schema_of
from .tables import active_versions

__all__ = ["LIVE", "MEMORY", "find_live", "read_live", "read_numbers"]

MEMORY = "memory"
"""The name of the one set of projections."""

LIVE = f"SELECT version FROM {{schema}}.{active_versions.name} WHERE projection = '{MEMORY}'"  # noqa: S608 - names of ours
"""The live version, as PostgreSQL is asked for it, with `{schema}` for the schema."""

_LIVE = sa.select(active_versions.c.version).where(active_versions.c.projection == MEMORY)


def read_live(connection: sa.Connection) -> int:
    """The version of the tables that is live."""
    found = find_live(connection)
    if found is None:
        raise LookupError("no version of the read models is live")
    return found


def find_live(connection: sa.Connection) -> int | None:
    """The same; None where none is."""
    if connection.dialect.name == "postgresql":
        row: tuple[int] | None = run_text(connection, LIVE.format(schema=schema_of(connection)), {}).fetchone()
        return None if row is None else row[0]
    version: int | None = connection.execute(_LIVE).scalar_one_or_none()
    return version


def read_numbers(connection: sa.Connection, table: sa.Table) -> dict[str, int]:
    """The rows of a table of names and values."""
    if connection.dialect.name == "postgresql":
        query = f"SELECT name, value FROM {schema_of(connection)}.{table.name}"  # noqa: S608 - both are names of ours
        return dict(run_text(connection, query, {}).fetchall())
    return {str(name): int(value) for name, value in connection.execute(sa.select(table.c.name, table.c.value))}
