"""What became of dead letters. This is no projection: no topic says it, so nothing can be rebuilt from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec
import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, Text

from ..schemas.errors import InvalidInput
from .dialect import Database

__all__ = ["How", "Resolution", "Resolutions", "Resolving"]

How = Literal["requeued", "dismissed"]

_metadata = MetaData()
_resolved = Table(
    "letters_resolved",
    _metadata,
    Column("id", Text, primary_key=True),
    Column("how", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("inbox_partition", Integer),
    Column("inbox_offset", BigInteger),
)


class Resolution(msgspec.Struct, frozen=True):
    """How a dead letter was resolved, and when (fixed UTC form); what was published anew lies at `partition`, `offset` of the
    inbox."""

    id: str
    how: How
    time: str
    note: str = ""
    partition: int | None = None
    offset: int | None = None


class Resolutions:
    """The resolutions of one partition's dead letters. Thread-safe."""

    def __init__(self, database: Path | str, *, schema: str | None = None) -> None:
        self._database = Database.with_tables(database, _metadata, schema=schema)

    def all(self) -> dict[str, Resolution]:
        """By the dead letter's id."""
        with self._database.reading() as connection:
            return {row[0]: _resolution(row) for row in connection.execute(sa.select(_resolved))}

    @contextmanager
    def resolving(self, identifier: str) -> Iterator[Resolving]:
        """One atomic step in which nobody else resolves anything here. Raises InvalidInput for what is resolved already."""
        with self._database.writing() as connection:
            row = connection.execute(sa.select(_resolved).where(_resolved.c.id == identifier)).one_or_none()
            if row is not None:
                there = _resolution(row)
                raise InvalidInput("id", f"dead letter {identifier} was {there.how} at {there.time}", "nothing is left to do")
            yield Resolving(connection)

    def close(self) -> None:
        self._database.close()


class Resolving:
    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def write(self, resolution: Resolution) -> None:
        """It is resolved once the step ends."""
        names = [column.name for column in _resolved.columns]
        row = dict(zip(names, msgspec.structs.astuple(resolution), strict=True))
        self._connection.execute(sa.insert(_resolved), [row])


def _resolution(row: sa.Row[Any]) -> Resolution:
    return Resolution(row.id, row.how, row.time, row.note, row.inbox_partition, row.inbox_offset)
