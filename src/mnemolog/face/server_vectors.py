"""The vectors of an installation on servers, made anew beside those that answer: of every partition, then checked, then one row
switches.

Invariant: until the switch nobody asks the new vectors anything, after it nobody is answered from the old ones; what ends in
between has filled what it has filled, and the next run goes on from there, partition by partition.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from ..processors.core.ports import Embedder, VectorHit, VectorStore
from ..processors.pipeline.indexing import DatabaseVectors, PlaceOnly, qdrant_of
from ..processors.pipeline.installation import Installation, Partition
from ..processors.pipeline.live_vectors import VECTORS, LiveVectors, collection_base, mismatch
from ..projections.tables import store_meta
from ..projections.vectors import VectorIndexer
from ..projections.vectors_check import Checked, Found, cached_in, check_whole, points_in
from ..replay.versions import one_at_a_time
from ..schemas.errors import InvalidInput
from .counting import Counting
from .indexes import IndexReport
from .partitions import PartitionFinding

__all__ = ["ServerVectors"]


class _FromStart(PlaceOnly):
    """Writes to the vectors that answer already, once more from the first turn on; their own place stays as it is."""

    def __init__(self, inner: VectorStore) -> None:
        super().__init__()
        self._inner = inner

    def upsert(self, scope: str, kind: str, points: Sequence[tuple[str, int, NDArray[np.float32]]]) -> None:
        self._inner.upsert(scope, kind, points)

    def search(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        return self._inner.search(scopes, kind, vector, limit)

    def close(self) -> None:
        self._inner.close()


class _Filling(NamedTuple):
    """One partition on its way."""

    partition: Partition
    vectors: VectorStore
    indexer: VectorIndexer
    found: Found

    def checked(self, start: int) -> Checked:
        """Looks up what was filled from a dynamics offset on; what is missing is where the next run begins."""
        checked = check_whole(self.partition.store, self.found, self.indexer.next_offset, start)
        if checked.missing:
            self.vectors.flush(checked.first)
        checked.refuse(f"partition {self.partition.number}")
        return checked


class ServerVectors:
    """Makes them anew, and drops those that are out of use."""

    def __init__(self, installation: Installation, finding: PartitionFinding) -> None:
        self._installation, self._finding = installation, finding
        self._live = LiveVectors(installation)

    def rebuild(self, embedder: Embedder | None, watch: Callable[[int, int], None] | None) -> IndexReport:
        """As `Memory.rebuild_vectors`. Of the embedder that answers what is missing is filled."""
        began, before = time.monotonic(), self._live.named().live
        wanted = embedder or self._finding.embedder_for(before)
        if wanted is None:
            raise (
                mismatch(before, "") if before else InvalidInput("embedder", "is not given", "say whose vectors it is to hold")
            )
        counting, fillings = Counting(wanted), list[_Filling]()
        with one_at_a_time(self._installation.partition(0).store):
            resumed = self._live.begin(wanted.name)
            try:
                for number in range(self._installation.partitions):
                    fillings.append(self._filling(number, wanted, counting, anew=wanted.name == before))
                turns = self._fill(fillings, watch)
                ends, checked = [filling.indexer.next_offset for filling in fillings], 0
                for filling in fillings:
                    checked += filling.checked(0).turns
                turns += self._fill(fillings, watch)
                for filling, end in zip(fillings, ends, strict=True):
                    checked += filling.checked(end).turns
                    filling.indexer.flush()
                self._live.switch(wanted.name)
            finally:
                for filling in fillings:
                    filling.vectors.close()
        self._finding.use(wanted)
        return IndexReport(
            index=0,
            embedder=wanted.name,
            replaced=before,
            turns=turns,
            computed=counting.computed,
            checked=checked,
            resumed=resumed,
            seconds=time.monotonic() - began,
        )

    def drop_old(self) -> list[str]:
        """As `Memory.drop_old_vectors`."""
        servers = self._installation.servers
        with one_at_a_time(self._installation.partition(0).store):
            kept = [name for name in self._live.named() if name]
            if not kept:
                return []
            gone: set[str] = set()
            for number in range(self._installation.partitions):
                store = self._installation.partition(number).store
                gone |= set(store.drop_vectors(kept))
                places = store_meta.c.name.startswith(VECTORS, autoescape=True)
                with store.writing() as (connection, _):
                    connection.execute(
                        sa.delete(store_meta).where(places, store_meta.c.name.not_in([VECTORS + name for name in kept]))
                    )
            if servers.qdrant:
                from ..adapters.vectors.qdrant import drop_collections

                gone |= set(drop_collections(servers.qdrant, collection_base(self._installation), kept))
        return sorted(gone)

    def _filling(self, number: int, embedder: Embedder, counting: Counting, *, anew: bool) -> _Filling:
        partition = self._installation.partition(number)
        vectors: VectorStore
        if self._installation.servers.qdrant:
            vectors = points = qdrant_of(self._installation, embedder, number)
            found = points_in(points.holds)
        else:
            vectors, found = DatabaseVectors(partition.store, embedder.name), cached_in(partition.store, embedder.name)
        if anew:
            vectors = _FromStart(vectors)
        return _Filling(partition, vectors, VectorIndexer(partition.store, counting, vectors), found)

    @staticmethod
    def _fill(fillings: Sequence[_Filling], watch: Callable[[int, int], None] | None) -> int:
        """Each partition up to its last turn; returns how many turns there were."""
        turns, last = 0, sum(filling.partition.store.cursor().applied_input for filling in fillings)
        for filling in fillings:
            while done := filling.indexer.step():
                turns += done
                if watch is not None:
                    watch(min(sum(item.indexer.next_offset for item in fillings), last), last)
        return turns
