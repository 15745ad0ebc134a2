"""Where the vectors go that the project worker computes: to a Qdrant server where there is one, else they stay in the database,
from which whoever answers questions fills an index of its own.

Invariant: what is of one embedder lies apart from what is of another, in the database by its name and on the server in a
collection of its own; a worker fills for the one that answers, whichever that is by now.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from ...projections.dialect import upsert
from ...projections.store import Store
from ...projections.tables import store_meta
from ...projections.vectors import VectorIndexer
from ...schemas.errors import InvalidInput
from ..core.ports import Embedder, VectorHit, VectorStore
from .installation import Installation, Partition
from .live_vectors import VECTORS, Embedders, LiveVectors, collection_base

if TYPE_CHECKING:
    from ...adapters.vectors.qdrant import QdrantVectors

__all__ = ["LOOK_SECONDS", "DatabaseVectors", "LiveIndexer", "PlaceOnly", "qdrant_of"]

_log = logging.getLogger("mnemolog.worker")

LOOK_SECONDS = 1.0
"""Between looks at whose vectors answer."""


class PlaceOnly:
    """A VectorStore that keeps nothing but a place, in this process: vectors that pass it lie in the database already."""

    def __init__(self, next_offset: int = 0) -> None:
        self._next = next_offset

    @property
    def next_offset(self) -> int:
        return self._next

    def upsert(self, scope: str, kind: str, points: Sequence[tuple[str, int, NDArray[np.float32]]]) -> None:
        """Nothing: they were put into the table when they were computed."""

    def delete(self, scope: str, point_ids: Sequence[str]) -> None:
        """Nothing: what is hidden is left out by whoever reads."""

    def search(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        raise InvalidInput("vectors", "are searched in an index that is filled from the database", "use one of those")

    def flush(self, next_offset: int) -> None:
        self._next = next_offset

    def close(self) -> None:
        """Nothing to free."""


class DatabaseVectors(PlaceOnly):
    """The same, but the place is kept in the database: how far the vectors table goes for one embedder."""

    def __init__(self, store: Store, embedder: str) -> None:
        self._store, self._name = store, VECTORS + embedder
        with store.reading() as (connection, _):
            noted = connection.execute(
                sa.select(store_meta.c.value).where(store_meta.c.name == self._name)
            ).scalar_one_or_none()
        super().__init__(int(noted or 0))

    def flush(self, next_offset: int) -> None:
        with self._store.writing() as (connection, _):
            row = {"name": self._name, "value": str(next_offset)}
            connection.execute(upsert(store_meta, connection.dialect.name), [row])
        super().flush(next_offset)


def qdrant_of(installation: Installation, embedder: Embedder, partition: int) -> QdrantVectors:
    """A partition's share of an embedder's collection on the Qdrant server that the settings name."""
    from ...adapters.vectors.qdrant import QdrantVectors, collection_of

    servers = installation.servers
    return QdrantVectors(
        servers.qdrant,
        collection_of(servers.qdrant, collection_base(installation), embedder.name),
        embedder.dim,
        embedder.name,
        partition=partition,
        log_id=installation.who.log_id,
    )


def _vectors_of(installation: Installation, partition: Partition, embedder: Embedder) -> VectorStore:
    """What a partition's vectors of an embedder are written to, and how far they go."""
    if installation.servers.qdrant:
        return qdrant_of(installation, embedder, partition.number)
    return DatabaseVectors(partition.store, embedder.name)


class LiveIndexer:
    """Keeps a partition's vectors current for the embedder that answers. Those of one that is being filled are computed too
    from here on, where this process has it: whoever fills finds them, and after the switch none is missing.

    `step` raises EmbedderMismatch once the process has not the embedder that answers, or was given one that is out of use.
    """

    def __init__(self, installation: Installation, partition: Partition, embedders: Embedders) -> None:
        self._installation, self._partition, self._embedders = installation, partition, embedders
        self._named = LiveVectors(installation)
        self._look_at = 0.0
        self._indexer: VectorIndexer | None = None
        self._vectors: VectorStore | None = None
        self._ahead: VectorIndexer | None = None
        self._live = self._filling = ""

    def step(self) -> int:
        """The next batch; returns how many turns there were."""
        if self._indexer is None or time.monotonic() >= self._look_at:
            self._indexer = self._look(self._indexer)
            self._look_at = time.monotonic() + LOOK_SECONDS
        return max(self._indexer.step(), self._step_ahead())

    def _step_ahead(self) -> int:
        """Of the embedder that is being filled. What it lacks here, such as a package, must not end the work of the one that
        answers: whoever fills computes the rest."""
        if self._ahead is None:
            return 0
        try:
            return self._ahead.step()
        except ImportError as error:
            _log.warning("the vectors of %s are not computed here, but by who fills them: %s", self._filling, error)
            self._ahead = None
            return 0

    def close(self) -> None:
        """Lets go of the server."""
        if self._vectors is not None:
            self._vectors.close()

    def _look(self, indexer: VectorIndexer | None) -> VectorIndexer:
        """Sees whose vectors answer by now, and whose are being filled."""
        named = self._named.named() if indexer is not None else self._named.claim(self._embedders.first())
        embedder = self._embedders.checked(named)
        if indexer is None or named.live != self._live:
            self.close()
            self._vectors = _vectors_of(self._installation, self._partition, embedder)
            indexer = VectorIndexer(self._partition.store, embedder, self._vectors)
            self._live, self._filling, self._ahead = named.live, "", None
        if named.filling != self._filling:
            other = self._embedders.named(named.filling) if named.filling not in ("", named.live) else None
            place = PlaceOnly(indexer.next_offset)
            self._ahead = None if other is None else VectorIndexer(self._partition.store, other, place)
            self._filling = named.filling
        return indexer
