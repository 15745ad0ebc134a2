"""Where a test keeps its read models: a file, or a schema on the PostgreSQL server of the run."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from mnemolog.projections.dialect import Database
from mnemolog.projections.store import Store

__all__ = ["KINDS", "Place", "place_of"]

KINDS = ("sqlite", "postgres")


class Place:
    """One database, empty at first, and ways to look at it from outside."""

    def __init__(self, target: Path | str, schema: str | None = None) -> None:
        self.target = target
        self.schema = schema
        self.kind = KINDS[schema is not None]

    def open(self, **more: Any) -> Store:
        return Store(self.target, schema=self.schema, **more)

    def execute(self, statement: str, *values: object) -> int:
        """Runs a statement as SQLite writes it; returns how many rows it changed."""
        with self._raw() as (connection, _):
            if self.schema is not None:
                statement = statement.replace("?", "%s").replace("rowid", "ctid")
            return connection.exec_driver_sql(statement, values).rowcount

    def tables(self) -> dict[str, list[Any]]:
        """Every table of ours and its rows, in some order that depends on the rows alone."""
        with self._raw() as (connection, names):
            return {
                name: sorted((tuple(row) for row in connection.exec_driver_sql(f"SELECT * FROM {name}")), key=repr)  # noqa: S608
                for name in names
                if name.startswith("rm_")
            }

    @contextmanager
    def _raw(self) -> Iterator[tuple[sa.Connection, list[str]]]:
        database = Database(self.target, schema=self.schema)
        try:
            with database.writing() as connection:
                if self.schema is not None:
                    connection.exec_driver_sql(f"SET LOCAL search_path TO {self.schema}")
                yield connection, database.table_names(connection)
        finally:
            database.close()

    def remove(self) -> None:
        if self.schema is not None:
            with self._raw() as (connection, _):
                connection.execute(sa.schema.DropSchema(self.schema, cascade=True))


@contextmanager
def place_of(request: pytest.FixtureRequest, kind: str, path: Path) -> Iterator[Place]:
    """A fresh place of a kind; what a server holds of it is removed afterwards."""
    if kind == "sqlite":
        yield Place(path)
        return
    place = Place(request.getfixturevalue("services").database, f"t{secrets.token_hex(6)}_mnemolog")
    try:
        yield place
    finally:
        place.remove()
