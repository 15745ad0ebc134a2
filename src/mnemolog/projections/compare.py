"""The first row in which two sets of tables differ, scope by scope: every column of every projected table but what only says
how far the work has come. The resolver's state lies in tables of its own on servers, and is compared by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import msgspec
import orjson
import sqlalchemy as sa

from ..schemas.codec import canonical
from .tables import PROJECTED, Tables

__all__ = ["COMPARED", "Difference", "Side", "compare_scope", "compare_state"]

Side = tuple[sa.Connection, Tables, int]
"""A connection, a version of the tables and the scope's number there."""

_Rows = Iterator[tuple[str, str, bytes]]
"""(table, key, row as canonical JSON)."""

_STATE = ("resolver_state",)
_PROGRESS = {"scope_id", "summarised"}
"""Columns that differ from database to database: a number that each gives, and up to where a week was looked at."""
COMPARED = tuple(name for name in PROJECTED if name not in (*_STATE, "offsets"))
"""The tables that a fold of the log makes the same again, row for row."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A row that is not the same on both sides."""

    scope: str
    table: str
    key: str
    live: str
    """The row as canonical JSON; empty where there is none."""
    replayed: str
    columns: list[str] = []
    """The columns that differ, sorted; empty where the row is missing on one side."""


def compare_scope(scope: str, live: Side, replayed: Side, *, state: bool = True) -> Difference | None:
    """The first difference (by table, then key) of a scope's rows, or None where all are equal. `state`: the resolver's state
    lies beside them."""
    return _compare(scope, live, replayed, (*COMPARED, *_STATE) if state else COMPARED)


def compare_state(scope: str, live: Side, replayed: Side) -> Difference | None:
    """The same for what a resolver keeps in tables of its own: its state and the scope's head."""
    return _compare(scope, live, replayed, (*_STATE, "heads"))


def _compare(scope: str, live: Side, replayed: Side, names: Sequence[str]) -> Difference | None:
    for name in names:
        if _fingerprint(_rows(name, live)) != _fingerprint(_rows(name, replayed)):
            found = _first(scope, _rows(name, live), _rows(name, replayed))
            if found is not None:
                return found
    return None


def _fingerprint(rows: _Rows) -> str:
    digest = hashlib.sha256()
    for table, key, row in rows:
        digest.update(f"{table}\t{key}\t".encode("utf-8", "surrogatepass") + row + b"\n")
    return digest.hexdigest()


def _first(scope: str, left: _Rows, right: _Rows) -> Difference | None:
    """Rows come sorted by key on both sides, so the first mismatch is found in step."""
    mine = {(table, key): row for table, key, row in left}
    theirs = {(table, key): row for table, key, row in right}
    for table, key in [*mine, *(place for place in theirs if place not in mine)]:
        live, replayed = mine.get((table, key), b""), theirs.get((table, key), b"")
        if live != replayed:
            return Difference(
                scope=scope,
                table=table,
                key=key,
                live=live.decode(),
                replayed=replayed.decode(),
                columns=_columns(live, replayed) if live and replayed else [],
            )
    return None


def _columns(live: bytes, replayed: bytes) -> list[str]:
    mine, theirs = orjson.loads(live), orjson.loads(replayed)
    return sorted(name for name in mine if mine[name] != theirs.get(name))


def _rows(name: str, side: Side) -> _Rows:
    connection, tables, scope_id = side
    table = tables.metadata.tables[tables.name(name)]
    keys = [column for column in table.primary_key if column.name != "scope_id"]
    query = sa.select(table).where(table.c.scope_id == scope_id).order_by(*keys)
    for row in connection.execute(query):
        plain = {column: _plain(value) for column, value in row._mapping.items() if column not in _PROGRESS}
        yield name, "/".join(str(plain[column.name]) for column in keys), canonical(plain)


def _plain(value: object) -> object:
    """A cell as JSON has it; bytes by their hash."""
    return hashlib.sha256(value).hexdigest() if isinstance(value, bytes) else value
