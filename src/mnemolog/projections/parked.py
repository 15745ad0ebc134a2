"""Which scopes stand still, and where: noted beside the read models, so that every process that opens them knows it."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from ..schemas.scope import Scope
from .dialect import upsert
from .prepared import Prepared
from .store import Store
from .tables import store_meta

__all__ = ["Parked", "applied_and_parked", "note_parked", "parked_offsets", "parked_scopes", "undecided_from"]

_KIND = "parked:"
_NOTE = Prepared(sa.select(store_meta.c.value).where(store_meta.c.name == sa.bindparam("name")))
_ALL = Prepared(
    sa.select(store_meta.c.name, store_meta.c.value)
    .where(store_meta.c.name.startswith(_KIND, autoescape=True))
    .order_by(store_meta.c.name)
)


class Parked(msgspec.Struct, frozen=True):
    """Where a scope stands still and why. `tries`: how many starts of a processor have met it there."""

    offset: int
    input_id: str
    error: str
    tries: int


def parked_scopes(connection: sa.Connection) -> dict[str, Parked]:
    """All that stand still, by scope."""
    rows = _ALL.all(connection, {})
    return {name.removeprefix(_KIND): msgspec.json.decode(value, type=Parked) for name, value in rows}


def parked_offsets(connection: sa.Connection) -> dict[str, int]:
    """The scopes that stand still, and the dynamics offset of the input that each waits at."""
    return {scope: parked.offset for scope, parked in parked_scopes(connection).items()}


def undecided_from(store: Store, scope: Scope | str) -> int:
    """The dynamics offset from which the scope's inputs may not be in the tables: the cursor, or, below it, where the scope
    stands still."""
    with store.snapshot(), store.reading() as (connection, _):
        cursor = store.cursor().applied_input
        notes = _NOTE.all(connection, {"name": f"{_KIND}{scope}"})
    return min([cursor, *(msgspec.json.decode(note.value, type=Parked).offset for note in notes)])


def applied_and_parked(store: Store) -> tuple[int, dict[str, int]]:
    """The dynamics offset below which every input is decided but for those of scopes that stand still, and the offset that each
    of these waits at; as of one moment."""
    with store.snapshot(), store.reading() as (connection, _):
        return store.cursor().applied_input, parked_offsets(connection)


def note_parked(store: Store, scope: str, parked: Parked | None) -> None:
    """Notes that a scope stands still; with None that it goes on."""
    with store.writing() as (connection, _):
        if parked is None:
            connection.execute(sa.delete(store_meta).where(store_meta.c.name == _KIND + scope))
        else:
            row = {"name": _KIND + scope, "value": msgspec.json.encode(parked).decode()}
            connection.execute(upsert(store_meta, connection.dialect.name), [row])
