"""Where seals lie: two tables beside the log, in a folder's own file, on servers in the schema of each partition's index.

Invariant: seals are only ever appended, each in the transaction that also notes how many there are; who comes second with a
seal that somebody else has made meanwhile appends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import msgspec
import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, PrimaryKeyConstraint, Table, Text

from ..processors.core.ports import EventLog
from ..projections.dialect import Database, upsert
from ..projections.log_index import SqlLogIndex
from ..projections.store import Store
from ..schemas.codec import canonical
from ..schemas.errors import LogError
from .seal_chain import Place, Seal, Sealed, SigningKey

__all__ = ["SealStore", "Stand"]

_metadata = MetaData()
_seals = Table(
    "log_seals",
    _metadata,
    Column("epoch", Integer, nullable=False),
    Column("topic", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("seal", LargeBinary, nullable=False),
    Column("hash", Text, nullable=False),
    Column("marks", LargeBinary, nullable=False),
    Column("scopes", LargeBinary, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("signature", Text, nullable=False),
    PrimaryKeyConstraint("epoch", "topic", "number"),
)
# How many seals a topic has, and the hash of the last one.
_ends = Table(
    "log_seal_ends",
    _metadata,
    Column("epoch", Integer, nullable=False),
    Column("topic", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
    PrimaryKeyConstraint("epoch", "topic"),
)

_PAGE = 64
"""Seals read at a time; no transaction stays open in between."""


class Stand(NamedTuple):
    """How many seals a place has, and the hash of the last one."""

    number: int
    hash: str


class SealStore:
    """The seals of one partition. Thread-safe; any number of processes may use it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._made = False

    @classmethod
    def beside(cls, log: EventLog, store: Store) -> Self:
        """The seals of a log, in its own place: what a crash takes from an index can be made again, a seal cannot, so that its
        commits wait for the disk."""
        index = getattr(log, "index", None)
        if isinstance(index, SqlLogIndex):
            return cls(index.beside())
        if store.path is None:
            raise LogError("a memory without a file has no place for seals")
        return cls(Database(store.path))

    def stand(self, place: Place) -> Stand | None:
        """None where nothing was ever sealed."""
        with self._database.reading() as connection:
            return self._stand(connection, place)

    def newest(self, place: Place) -> tuple[Stand | None, Sealed | str | None]:
        """The stand and the newest seal as they were at one moment, whoever seals beside; what is wrong with the seal where it
        cannot be read."""
        with self._database.reading() as connection:
            if not self._there(connection):
                return None, None
            query = sa.select(_seals).where(*_at(_seals, place)).order_by(_seals.c.number.desc()).limit(1)
            row = connection.execute(query).one_or_none()
            last = None if row is None else _sealed(row)
            if row is not None and isinstance(last, Sealed) and last.seal.number != row.number:
                last = f"is kept as number {row.number} and says {last.seal.number}"
            return self._stand(connection, place), last

    def read(self, place: Place, start: int = 0) -> Iterator[tuple[int, Sealed | str]]:
        """(number, seal) from number `start` on, in order; what is wrong where a row cannot be read as a seal."""
        while True:
            with self._database.reading() as connection:
                if not self._there(connection):
                    return
                here = (*_at(_seals, place), _seals.c.number >= start)
                rows = connection.execute(sa.select(_seals).where(*here).order_by(_seals.c.number).limit(_PAGE)).all()
            yield from ((row.number, _sealed(row)) for row in rows)
            if len(rows) < _PAGE:
                return
            start = rows[-1].number + 1

    def append(self, place: Place, seals: Sequence[Sealed]) -> bool:
        """Appends seals that follow on the last one. False, and nothing is appended, where somebody else was quicker."""
        with self._database.writing() as connection:
            self._make(connection)
            number, last = self._stand(connection, place) or Stand(0, "")
            if (number, last) != (seals[0].seal.number, seals[0].seal.previous):
                return False
            rows = [
                {
                    "epoch": place.epoch,
                    "topic": place.topic,
                    "number": item.seal.number,
                    "seal": canonical(item.seal),
                    "hash": item.hash,
                    "marks": item.marks,
                    "scopes": item.scopes,
                    "key_id": item.key,
                    "signature": item.signature,
                }
                for item in seals
            ]
            connection.execute(sa.insert(_seals), rows)
            end = {"epoch": place.epoch, "topic": place.topic, "number": number + len(seals), "hash": seals[-1].hash}
            connection.execute(upsert(_ends, connection.dialect.name), [end])
            return True

    def sign(self, place: Place, key: SigningKey) -> bool:
        """Signs the last seal, and with it all before it that it is linked to; False where this key has done so."""
        with self._database.writing() as connection:
            self._make(connection)
            query = sa.select(_seals).where(*_at(_seals, place)).order_by(_seals.c.number.desc()).limit(1)
            row = connection.execute(query).one_or_none()
            last = None if row is None else _sealed(row)
            if not isinstance(last, Sealed) or key.signed(last):
                return False
            signed = key.sign(last)
            here = (*_at(_seals, place), _seals.c.number == signed.seal.number)
            connection.execute(sa.update(_seals).where(*here).values(key_id=signed.key, signature=signed.signature))
            return True

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stand(self, connection: sa.Connection, place: Place) -> Stand | None:
        if not self._there(connection):
            return None
        row = connection.execute(sa.select(_ends.c.number, _ends.c.hash).where(*_at(_ends, place))).one_or_none()
        return None if row is None else Stand(row.number, row.hash)

    def _there(self, connection: sa.Connection) -> bool:
        self._made = self._made or all(self._database.has_table(connection, table.name) for table in (_seals, _ends))
        return self._made

    def _make(self, connection: sa.Connection) -> None:
        if not self._made:
            _metadata.create_all(connection)


def _at(table: Table, place: Place) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    return table.c.epoch == place.epoch, table.c.topic == place.topic


def _sealed(row: sa.Row[Any]) -> Sealed | str:
    try:
        seal = msgspec.json.decode(bytes(row.seal), type=Seal, strict=True)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        return str(error)
    return Sealed(
        seal=seal,
        hash=row.hash,
        marks=bytes(row.marks),
        scopes=bytes(row.scopes),
        key=row.key_id,
        signature=row.signature,
    )
