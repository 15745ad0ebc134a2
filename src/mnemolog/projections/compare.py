"""The first row in which two sets of tables differ, scope by scope: what the digest covers, and beyond it the turns, what was
rejected, deadlines and the resolver's state (which on servers lies in tables of its own, and is compared by itself)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec
import sqlalchemy as sa

from ..schemas.codec import canonical
from .digest import digested_rows
from .tables import Tables

__all__ = ["Difference", "Side", "compare_scope", "compare_state"]

Side = tuple[sa.Connection, Tables, int]
"""A connection, a version of the tables and the scope's number there."""

_Rows = Iterator[tuple[str, str, bytes]]
"""(table, key, row as canonical JSON)."""

_KEYS = {
    "forms": ("form_id",),
    "versions": ("form_id", "slot", "version"),
    "edges": ("edge_id",),
    "pending": ("pending_id",),
    "timeline": ("occurred_at", "entry_id"),
    "summaries": ("week",),
}
_OTHERS: dict[str, Callable[[Tables], sa.Table]] = {
    "turns": lambda t: t.turns,
    "rejected": lambda t: t.rejected,
    "deadlines": lambda t: t.deadlines,
}
_STATE: dict[str, Callable[[Tables], sa.Table]] = {"resolver_state": lambda t: t.resolver_state}
_KEPT: dict[str, Callable[[Tables], sa.Table]] = {**_STATE, "heads": lambda t: t.heads}


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A row that is not the same on both sides."""

    scope: str
    table: str
    key: str
    live: str
    """The row as canonical JSON; empty where there is none."""
    replayed: str


def compare_scope(scope: str, live: Side, replayed: Side, *, state: bool = True) -> Difference | None:
    """The first difference (by table, then key) of a scope's rows, or None where all are equal. `state`: the resolver's state
    lies beside them."""
    others = _OTHERS | _STATE if state else _OTHERS
    return _compare(scope, live, replayed, (_digested, partial(_rows, others)))


def compare_state(scope: str, live: Side, replayed: Side) -> Difference | None:
    """The same for what a resolver keeps in tables of its own: its state and the scope's head."""
    return _compare(scope, live, replayed, (partial(_rows, _KEPT),))


def _compare(scope: str, live: Side, replayed: Side, parts: Sequence[Callable[[Side], _Rows]]) -> Difference | None:
    for rows in parts:
        left, right = _fingerprint(rows(live)), _fingerprint(rows(replayed))
        if left != right:
            return _first(scope, rows(live), rows(replayed))
    return None


def _fingerprint(rows: _Rows) -> str:
    digest = hashlib.sha256()
    for table, key, row in rows:
        digest.update(f"{table}\t{key}\t".encode() + row + b"\n")
    return digest.hexdigest()


def _first(scope: str, left: _Rows, right: _Rows) -> Difference | None:
    """Rows come sorted by table and key on both sides, so the first mismatch is found in step."""
    mine = {(table, key): row for table, key, row in left}
    theirs = {(table, key): row for table, key, row in right}
    for table, key in [*mine, *(place for place in theirs if place not in mine)]:
        live, replayed = mine.get((table, key), b""), theirs.get((table, key), b"")
        if live != replayed:
            return Difference(scope=scope, table=table, key=key, live=live.decode(), replayed=replayed.decode())
    return None


def _digested(side: Side) -> _Rows:
    for part, row in digested_rows(*side):
        yield part, "/".join(str(row[name]) for name in _KEYS[part]), canonical(row)


def _rows(wanted: Mapping[str, Callable[[Tables], sa.Table]], side: Side) -> _Rows:
    connection, tables, scope_id = side
    for name, table_of in wanted.items():
        table = table_of(tables)
        keys = [column for column in table.primary_key if column.name != "scope_id"]
        query = sa.select(table).where(table.c.scope_id == scope_id).order_by(*keys)
        for row in connection.execute(query):
            plain = {
                column: hashlib.sha256(value).hexdigest() if isinstance(value, bytes) else value
                for column, value in row._mapping.items()
                if column != "scope_id"
            }
            yield name, "/".join(str(plain[column.name]) for column in keys), canonical(plain)
