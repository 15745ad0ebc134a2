"""The vector index as a projection: every turn's vector, from the cache where it was computed before, in dynamics order up to
the index's own `next_offset`. A vector is computed once for each (embedder, scope, content)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from ..processors.core.ports import Embedder, VectorStore
from ..schemas.codec import sha256_hex
from .parked import parked_offsets
from .store import Store
from .tables import scopes

__all__ = ["TURN", "VectorIndexer", "read_points"]

TURN = "turn"
"""The kind of point; its id is the turn's dynamics offset in decimal."""
BATCH = 64
"""Turns embedded at once."""
FLUSH_EVERY = 1024
"""Turns between two flushes of the index: what a crash makes the next start look up again (not embed again)."""

Vector = NDArray[np.float32]


class _Turn(NamedTuple):
    scope: str
    offset: int
    content: str


class VectorIndexer:
    """Fills a vector store from the turns table. One at a time per store; the caller sees to that."""

    def __init__(self, store: Store, embedder: Embedder, vectors: VectorStore) -> None:
        self._store, self._embedder, self._vectors = store, embedder, vectors
        self._next = vectors.next_offset
        self._flushed = self._next
        self._parked: dict[str, int] = {}

    @property
    def next_offset(self) -> int:
        """The dynamics offset from which turns are not in the index yet."""
        return self._next

    def step(self) -> int:
        """Indexes the next batch of turns; returns how many there were."""
        self._look_at_parked()
        batch = self._read()
        for scope, turns in groupby(sorted(batch), key=lambda turn: turn.scope):
            group = list(turns)
            vectors = self.vectors_of(scope, [turn.content for turn in group])
            points = [(str(turn.offset), turn.offset, vector) for turn, vector in zip(group, vectors, strict=True)]
            self._vectors.upsert(scope, TURN, points)
        # What the tables have beyond the last turn are commands: nothing to index, and nothing comes before them any more.
        self._next = max((turn.offset for turn in batch), default=self._next - 1) + 1
        if self._next > self._flushed and (not batch or self._next - self._flushed >= FLUSH_EVERY):
            self._vectors.flush(min([self._next, *self._parked.values()]))
            self._flushed = self._next
        return len(batch)

    def _look_at_parked(self) -> None:
        """Turns of a scope that stands still reach the tables late, below what is indexed: once it goes on, the index starts
        again from its place, and so does the next process, if it goes on there."""
        with self._store.reading() as (connection, _):
            parked = parked_offsets(connection)
        self._next = min([self._next, *(offset for scope, offset in self._parked.items() if scope not in parked)])
        self._parked = parked

    def vectors_of(self, scope: str, contents: list[str]) -> list[Vector]:
        """The vectors of texts of one scope: cached ones are read, the others computed and cached."""
        keys = [sha256_hex(content.encode()) for content in contents]
        name = self._embedder.name
        known = self._store.vectors_get(name, scope, keys)
        missing = {key: content for key, content in zip(keys, contents, strict=True) if key not in known}
        if missing:
            made = self._embedder.embed(list(missing.values()))
            fresh = {key: vector.astype("<f4").tobytes() for key, vector in zip(missing, made, strict=True)}
            self._store.vectors_put(name, scope, fresh)
            known |= fresh
        return [np.frombuffer(known[key], "<f4").astype(np.float32) for key in keys]

    def _read(self) -> list[_Turn]:
        with self._store.reading() as (connection, t):
            query = (
                sa.select(scopes.c.key, t.turns.c.position, t.turns.c.content)
                .join(scopes, scopes.c.scope_id == t.turns.c.scope_id)
                .where(t.turns.c.position >= self._next, t.turns.c.hidden == 0, t.turns.c.folded == 0)
                .order_by(t.turns.c.position)
                .limit(BATCH)
            )
            return [_Turn(*row) for row in connection.execute(query)]


def read_points(store: Store, embedder: str, scope: str, kind: str, after: int) -> Iterator[tuple[str, int, Vector]]:
    """The points of a scope above a position whose vectors are cached: what a process that does not own the index scans."""
    if kind != TURN:
        return
    views = store.turns(scope, after)
    keys = [sha256_hex(view.content.encode()) for view in views]
    known = store.vectors_get(embedder, scope, keys)
    for view, key in zip(views, keys, strict=True):
        if key not in known:
            return  # the owner is not there yet; what follows comes with the next look, so that none is passed over
        yield str(view.offset), view.offset, np.frombuffer(known[key], "<f4").astype(np.float32)
