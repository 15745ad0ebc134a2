"""Where the vectors go that the project worker computes: to a Qdrant server where there is one, else they stay in the database,
from which whoever answers questions fills an index of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from ...projections.dialect import upsert
from ...projections.store import Store
from ...projections.tables import store_meta
from ...projections.vectors import VectorIndexer
from ...schemas.errors import EmbedderMismatch, InvalidInput
from ..core.ports import Embedder, VectorHit
from .installation import Installation, Partition

if TYPE_CHECKING:
    from ...adapters.vectors.qdrant import QdrantVectors

__all__ = ["VECTORS", "DatabaseVectors", "indexer_of", "qdrant_of"]


VECTORS = "vectors:"
"""Before an embedder's name: how far the vectors in the database go, among the facts about the store."""


class DatabaseVectors:
    """A VectorStore that keeps only how far the vectors table goes: the vectors themselves lie there.

    Raises EmbedderMismatch where another embedder filled it; with `replace` this one takes its place (the old vectors stay in
    the table, and count no more).
    """

    def __init__(self, store: Store, embedder: str, *, replace: bool = False) -> None:
        self._store, self._name = store, VECTORS + embedder
        query = sa.select(store_meta.c.name, store_meta.c.value).where(store_meta.c.name.startswith(VECTORS, autoescape=True))
        with store.reading() as (connection, _):
            noted = {str(name): int(value) for name, value in connection.execute(query)}
        self._next = noted.pop(self._name, 0)
        if noted and replace:
            with store.writing() as (connection, _):
                connection.execute(sa.delete(store_meta).where(store_meta.c.name.in_(noted)))
        elif noted:
            other = min(noted).removeprefix(VECTORS)
            raise EmbedderMismatch(
                f"the database holds vectors of {other!r}, but the embedder is {embedder!r}: start the project worker with "
                "that one, or once with --replace-vectors, and every turn gets a vector of the new one"
            )

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
        with self._store.writing() as (connection, _):
            row = {"name": self._name, "value": str(next_offset)}
            connection.execute(upsert(store_meta, connection.dialect.name), [row])
        self._next = next_offset

    def close(self) -> None:
        """Nothing to free."""


def qdrant_of(installation: Installation, embedder: Embedder, partition: int) -> QdrantVectors:
    """A partition's share of the collection on the Qdrant server that the settings name."""
    from ...adapters.vectors.qdrant import QdrantVectors

    servers = installation.servers
    return QdrantVectors(
        servers.qdrant,
        f"{servers.prefix}mnemolog",
        embedder.dim,
        embedder.name,
        partition=partition,
        log_id=installation.who.log_id,
    )


def indexer_of(installation: Installation, partition: Partition, embedder: Embedder, *, replace: bool = False) -> VectorIndexer:
    """What keeps a partition's vectors current. `replace`: as for DatabaseVectors."""
    if installation.servers.qdrant:
        return VectorIndexer(partition.store, embedder, qdrant_of(installation, embedder, partition.number))
    return VectorIndexer(partition.store, embedder, DatabaseVectors(partition.store, embedder.name, replace=replace))
