"""The vector index as a projection: every turn's vector, from the cache where it was computed before, in dynamics order up to
the index's own `next_offset`. A vector is computed once for each (embedder, scope, content); what a memory had put into a turn
is no part of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, takewhile
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from ..processors.core.markers import said
from ..processors.core.ports import Embedder, VectorStore
from ..schemas.codec import sha256_hex
from .parked import parked_offsets
from .store import Store
from .tables import Tables, scopes

__all__ = ["TURN", "Vector", "VectorIndexer", "points_of", "read_points"]

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
    """Fills a vector store from the turns table. One at a time per store; the caller sees to that.

    The rows may come from any process. One that answers questions beside the process that projects takes `embeds=False`: its
    index then follows the vectors that are computed there, and computes and writes none.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        vectors: VectorStore,
        *,
        embeds: bool = True,
        flush_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """flush_seconds: so long at least lies between two flushes once all is indexed; whoever says so calls `flush` at the
        end. By default it is flushed each time."""
        self._store, self._embedder, self._vectors = store, embedder, vectors
        self._embeds = embeds
        self._flush_seconds, self._clock = flush_seconds, clock
        self._flushed_at = clock()
        self._next = vectors.next_offset
        self._flushed = self._next
        self._parked: dict[str, int] = {}

    @property
    def next_offset(self) -> int:
        """The dynamics offset from which turns are not in the index yet."""
        return self._next

    def step(self) -> int:
        """Indexes the next batch of turns; returns how many there were."""
        batch, found = self._with_vectors(self._read())
        for scope, turns in _by_scope(batch).items():
            self._vectors.upsert(scope, TURN, [(str(turn.offset), turn.offset, found[turn.offset]) for turn in turns])
        # What the tables have beyond the last turn are commands: nothing to index, and nothing comes before them any more.
        self._next = max((turn.offset for turn in batch), default=self._next - 1) + 1
        if self._next - self._flushed >= FLUSH_EVERY or (not batch and self._clock() - self._flushed_at >= self._flush_seconds):
            self.flush()
        return len(batch)

    def flush(self) -> None:
        """Makes durable what is in the index and not so yet."""
        if self._next > self._flushed:
            self._vectors.flush(min([self._next, *self._parked.values()]))
            self._flushed, self._flushed_at = self._next, self._clock()

    def vectors_of(self, scope: str, contents: list[str]) -> list[Vector]:
        """The vectors of texts of one scope: cached ones are read, the others computed and cached."""
        return self._vectors_of({scope: contents})[scope]

    def _vectors_of(self, contents: Mapping[str, Sequence[str]]) -> dict[str, list[Vector]]:
        """The same for several scopes, in one embedding and one write."""
        name = self._embedder.name
        keys = {scope: [_key(content) for content in texts] for scope, texts in contents.items()}
        with self._store.snapshot():
            known = {scope: self._store.vectors_get(name, scope, wanted) for scope, wanted in keys.items()}
        missing = {
            (scope, key): content
            for scope, texts in contents.items()
            for key, content in zip(keys[scope], texts, strict=True)
            if key not in known[scope]
        }
        if missing:
            fresh: dict[str, dict[str, bytes]] = {}
            for (scope, key), vector in zip(missing, self._embedder.embed(list(missing.values())), strict=True):
                fresh.setdefault(scope, {})[key] = vector.astype("<f4").tobytes()
            self._store.vectors_put_all(name, fresh)
            for scope, made in fresh.items():
                known[scope] |= made
        return {scope: [_vector(known[scope][key]) for key in wanted] for scope, wanted in keys.items()}

    def _with_vectors(self, batch: list[_Turn]) -> tuple[list[_Turn], dict[int, Vector]]:
        """The batch, without `embeds` only up to the first turn that has no vector yet, and the vectors by offset."""
        found: dict[int, Vector] = {}
        by_scope = _by_scope(batch)
        made = (
            self._vectors_of({scope: [said(turn.content) for turn in turns] for scope, turns in by_scope.items()})
            if self._embeds
            else {}
        )
        for scope, turns in by_scope.items():
            if self._embeds:
                found |= {turn.offset: vector for turn, vector in zip(turns, made[scope], strict=True)}
            else:
                cached = _cached(self._store, self._embedder.name, scope, [turn.content for turn in turns])
                found |= {turn.offset: vector for turn, vector in zip(turns, cached, strict=True) if vector is not None}
        return list(takewhile(lambda turn: turn.offset in found, batch)), found

    def _read(self) -> list[_Turn]:
        """The next turns, and which scopes stand still, as of one moment. Turns of such a scope reach the tables late, below
        what is indexed: once it goes on (or stands still further on), the index starts again from its place, and so does the
        next process, if it goes on there. What waited must be in the tables before the note of it goes."""
        with self._store.reading() as (connection, t):
            parked = parked_offsets(connection)
            moved = [offset for scope, offset in self._parked.items() if parked.get(scope) != offset]
            self._next = min([self._next, *moved])
            self._flushed = min(self._flushed, self._next)
            self._parked = parked
            return [_Turn(*row) for row in connection.execute(_turns_from(t), {"next": self._next})]


@lru_cache(maxsize=8)
def _turns_from(t: Tables) -> sa.Select[*tuple[Any, ...]]:
    """A batch of turns from dynamics offset `next` on; made once, since every question asks whether there are new ones."""
    c = t.turns.c
    return (
        sa.select(scopes.c.key, c.position, c.content)
        .join(scopes, scopes.c.scope_id == c.scope_id)
        .where(c.position >= sa.bindparam("next"), c.hidden == 0, c.folded == 0)
        .order_by(c.position)
        .limit(BATCH)
    )


def _by_scope(batch: list[_Turn]) -> dict[str, list[_Turn]]:
    found: dict[str, list[_Turn]] = {}
    for turn in batch:
        found.setdefault(turn.scope, []).append(turn)
    return found


def _cached(store: Store, embedder: str, scope: str, contents: Sequence[str]) -> list[Vector | None]:
    """The vectors of turns that are cached, under what was said in them or, before schema 3, under all that stood there."""
    keys = [(_key(said(content)), _key(content)) for content in contents]
    known = store.vectors_get(embedder, scope, chain.from_iterable(keys))
    blobs = [known.get(own) or known.get(whole) for own, whole in keys]
    return [None if blob is None else _vector(blob) for blob in blobs]


def _key(content: str) -> str:
    return sha256_hex(content.encode())


def _vector(blob: bytes) -> Vector:
    return np.frombuffer(blob, "<f4").astype(np.float32)


def read_points(store: Store, embedder: str, scope: str, kind: str, after: int) -> Iterator[tuple[str, int, Vector]]:
    """The points of a scope above a position whose vectors are cached: what a process that does not own the index scans."""
    return points_of(store, store, embedder, scope, kind, after)


def points_of(
    turns: Store, vectors: Store, embedder: str, scope: str, kind: str, after: int
) -> Iterator[tuple[str, int, Vector]]:
    """The same for the turns of one store, with the vectors that are cached in another."""
    if kind != TURN:
        return
    views = turns.turns(scope, after)
    for view, vector in zip(views, _cached(vectors, embedder, scope, [view.content for view in views]), strict=True):
        if vector is None:
            return  # the owner is not there yet; what follows comes with the next look, so that none is passed over
        yield str(view.offset), view.offset, vector
