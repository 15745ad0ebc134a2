"""Whether an index of vectors is whole: every turn that is to have a vector is looked up in it before it answers. What it has
beyond them (turns that were hidden since) does no harm: no reader shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

import sqlalchemy as sa

from ..processors.core.markers import said
from ..schemas.codec import sha256_hex
from ..schemas.errors import LogError
from .base import CHUNK
from .store import Store
from .tables import scopes, vectors
from .vectors import TURN

__all__ = ["Checked", "Found", "cached_in", "check_whole", "points_in"]

_BATCH = 1024

Found = Callable[[str, Sequence[tuple[int, str]]], set[int]]
"""Of a scope's turns (dynamics offset, content): the offsets of those that have their vector."""


class Checked(NamedTuple):
    """What was looked at."""

    turns: int
    missing: int
    first: int
    """The dynamics offset of the first turn without its vector; -1 where none is missing."""

    def refuse(self, where: str) -> None:
        """Raises LogError where any is missing."""
        if self.missing:
            raise LogError(
                f"{where}: {self.missing} of {self.turns} turns have no vector, the first at dynamics offset {self.first}: the "
                "one that answers stays; run it again, it fills them from there"
            )


def check_whole(store: Store, found: Found, below: int, start: int = 0) -> Checked:
    """Looks up every turn that is shown, of dynamics offsets from `start` to `below` (exclusive)."""
    turns, missing, first = 0, 0, -1
    while start < below:
        batch = _turns(store, start, below)
        if not batch:
            break
        there: set[int] = set()
        for scope, mine in groupby(sorted(batch), key=lambda turn: turn[0]):
            there |= found(scope, [(offset, content) for _, offset, content in mine])
        lacking = [offset for _, offset, _ in batch if offset not in there]
        turns, missing = turns + len(batch), missing + len(lacking)
        first = lacking[0] if lacking and first < 0 else first
        start = batch[-1][1] + 1
    return Checked(turns, missing, first)


def cached_in(store: Store, embedder: str) -> Found:
    """Looks in the vectors that the store keeps."""

    def found(scope: str, turns: Sequence[tuple[int, str]]) -> set[int]:
        keys = {offset: {_key(said(content)), _key(content)} for offset, content in turns}
        wanted, held = sorted(set[str]().union(*keys.values())), set[str]()
        with store.reading() as (connection, _):
            mine = (vectors.c.embedder == embedder, vectors.c.scope_id == store.scope_number(connection, scope))
            for at in range(0, len(wanted), CHUNK):
                query = sa.select(vectors.c.content_key).where(*mine, vectors.c.content_key.in_(wanted[at : at + CHUNK]))
                held |= set(connection.execute(query).scalars())
        return {offset for offset, mine_keys in keys.items() if mine_keys & held}

    return found


def points_in(holds: Callable[[str, str, Sequence[str]], set[str]]) -> Found:
    """Looks for the points themselves; `holds`: of a scope, kind and ids, the ids that are there."""

    def found(scope: str, turns: Sequence[tuple[int, str]]) -> set[int]:
        return {int(name) for name in holds(scope, TURN, [str(offset) for offset, _ in turns])}

    return found


def _turns(store: Store, start: int, below: int) -> list[tuple[str, int, str]]:
    """The next turns that are shown, by offset."""
    with store.reading() as (connection, t):
        c = t.turns.c
        query = (
            sa.select(scopes.c.key, c.position, c.content)
            .join(scopes, scopes.c.scope_id == c.scope_id)
            .where(c.position >= start, c.position < below, c.hidden == 0, c.folded == 0)
            .order_by(c.position)
            .limit(_BATCH)
        )
        return [(str(scope), int(position), str(content)) for scope, position, content in connection.execute(query)]


def _key(content: str) -> str:
    return sha256_hex(content.encode())
