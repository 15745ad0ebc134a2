"""What only repeats a hidden value: a version that ends it or puts it back, a question whether it is over, what was there
before a change. Where nobody who is not hidden said a value, no row tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from ..schemas.observations import Evidence
from ..schemas.values import Value, normal_text
from .tables import Tables

__all__ = ["Repeats", "repeats"]

_UNSAID = ("rolled_back",)
"""Reasons of versions that nobody said in those words."""


class Repeats(NamedTuple):
    """Rows of one slot that repeat a value which is not to be told."""

    versions: list[int]
    before: list[int]
    """Versions that say that it was there before them."""
    entries: list[tuple[int, int]]
    """(position, place) in the timeline."""
    pending: list[str]


_NONE = Repeats([], [], [], [])


def repeats(
    connection: sa.Connection, t: Tables, scope_id: int, form_id: str, slot: str, element: str, value: Value
) -> Repeats:
    """What repeats a value of a slot that was just hidden; nothing where somebody still says it."""
    v, e = t.versions, t.evidence
    here = (v.c.scope_id == scope_id, v.c.form_id == form_id, v.c.slot == slot, v.c.element == element, v.c.hidden == 0)
    columns = (v.c.version, v.c.status, v.c.reason, v.c.value, v.c.before)
    rows = connection.execute(sa.select(*columns).where(*here)).all()
    quotes: dict[int, list[str]] = {}
    of = (e.c.scope_id == scope_id, e.c.form_id == form_id, e.c.slot == slot)
    for version, quote in connection.execute(sa.select(e.c.version, e.c.quote).where(*of)):
        quotes.setdefault(version, []).append(quote)
    same = [row for row in rows if _same(row.value, value)]
    for row in same:
        own = row.status != "retired" and row.reason not in _UNSAID
        if own or _says(quotes.get(row.version, []), value):
            return _NONE
    return Repeats(
        [row.version for row in same],
        [row.version for row in rows if _same(row.before, value)],
        _entries(connection, t, scope_id, form_id, slot, value),
        _pending(connection, t, scope_id, form_id, slot, value),
    )


def _entries(
    connection: sa.Connection, t: Tables, scope_id: int, form_id: str, slot: str, value: Value
) -> list[tuple[int, int]]:
    c = t.timeline.c
    mine = (c.scope_id == scope_id, c.form_id == form_id, c.slot == slot, c.after == value.shown, c.hidden == 0)
    rows = connection.execute(sa.select(c.position, c.place, c.evidence).where(*mine)).all()
    return [(row.position, row.place) for row in rows if not _says(_quotes(row), value)]


def _pending(connection: sa.Connection, t: Tables, scope_id: int, form_id: str, slot: str, value: Value) -> list[str]:
    c = t.pending.c
    mine = (c.scope_id == scope_id, c.form_id == form_id, c.slot == slot, c.hidden == 0)
    rows = connection.execute(sa.select(c.pending_id, c.value, c.evidence).where(*mine)).all()
    return [row.pending_id for row in rows if _same(row.value, value) and not _says(_quotes(row), value)]


def _quotes(row: Any) -> list[str]:
    return [piece.quote for piece in msgspec.json.decode(row.evidence, type=list[Evidence])]


def _same(text: str | None, value: Value) -> bool:
    return text is not None and msgspec.json.decode(text, type=Value).key == value.key


def _says(quotes: Sequence[str], value: Value) -> bool:
    words = normal_text(value.shown)
    return any(words in normal_text(quote) for quote in quotes)
