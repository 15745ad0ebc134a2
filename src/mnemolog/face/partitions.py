"""What answers questions on servers, one partition at a time, made on first use. Vectors are computed by the project worker:
they lie on a Qdrant server, or in the database, from which an index in a cache folder of this machine is filled."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..processors.core.ports import Embedder, VectorStore
from ..processors.pipeline.indexing import LOOK_SECONDS, qdrant_of
from ..processors.pipeline.installation import Installation, Partition
from ..processors.pipeline.live_vectors import Embedders, LiveVectors, Named
from ..projections.live import LiveReader
from ..projections.store import Store
from ..projections.vectors import TURN, VectorIndexer, read_points
from ..schemas.access import Sight
from ..schemas.codec import sha256_hex
from ..schemas.errors import Busy, Closed, NotOurs
from .seen_recalls import SeenRecalls

if TYPE_CHECKING:
    from ..query.recall import Recall

__all__ = ["PartitionFinding", "cache_folder"]

_log = logging.getLogger("mnemolog.finding")


class _Made(NamedTuple):
    recall: Recall
    vectors: VectorStore | None
    follows: VectorIndexer | None
    """Fills the index of this process from the database; one thread at a time, which holds `following`."""
    following: threading.Lock
    seen: SeenRecalls


def cache_folder() -> Path:
    """Linux: $XDG_CACHE_HOME/mnemolog or ~/.cache/mnemolog; macOS: ~/Library/Caches/mnemolog; Windows:
    %LOCALAPPDATA%\\mnemolog\\cache."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "mnemolog" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mnemolog"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mnemolog"


class PartitionFinding:
    """Recall over the partitions of an installation. Thread-safe.

    Every call may raise EmbedderMismatch where the vectors that answer are of another embedder than the one that questions
    would be embedded with. Who was given none follows: after a switch questions are embedded with the one that answers by then.
    """

    def __init__(self, installation: Installation, embedder: Embedder | Literal[False] | None) -> None:
        self._installation = installation
        self._embedders = None if isinstance(embedder, bool) else Embedders("live" if embedder is None else embedder)
        self._named = LiveVectors(installation)
        self._lock = threading.RLock()
        self._embedder: Embedder | None = None
        self._look_at = 0.0
        self._made: dict[int, _Made] = {}
        self._left: list[_Made] = []
        self._closed = False

    def check(self) -> None:
        """Opens every partition, which checks whose it is. Raises EmbedderMismatch where no question would find a vector."""
        for number in range(self._installation.partitions):
            self._installation.partition(number)
        self._current()

    def embedder_for(self, name: str) -> Embedder | None:
        """The one of a name where this process has it, else the one that it would use; None where there is none."""
        embedders = self._embedders or Embedders("live")
        return embedders.given or embedders.named(name or embedders.first())

    def use(self, embedder: Embedder) -> None:
        """Questions are embedded with that one from now on, where they were embedded at all. Who follows goes on to follow,
        where it is one that comes along."""
        with self._lock:
            self._look_at = 0.0
            if self._embedders is not None and (self._embedders.given or self._embedders.named(embedder.name) is None):
                self._embedders = Embedders(embedder)

    def recall(self, number: int, sight: Sight | None = None) -> Recall:
        """What answers questions about the scopes of a partition; as a sight lets them be answered."""
        made = self._of(number)
        return made.recall if sight is None else made.seen.of(sight)

    def refresh(self, number: int, seconds: float) -> None:
        """Takes over what was indexed meanwhile, for so long at most; what is left over is found by its words."""
        made = self._of(number)
        if made.follows is None or not made.following.acquire(timeout=seconds):
            return
        try:
            until = time.monotonic() + seconds
            while made.follows.step() and time.monotonic() < until:
                pass
        finally:
            made.following.release()

    def has_vector(self, number: int, scope: str, offset: int) -> bool:
        """Whether the turn at that dynamics offset is found by its vector, if it is ever to be."""
        partition, embedder = self._installation.partition(number), self._current()
        turns = partition.store.turns(scope, offset - 1, 1)
        if embedder is None or not turns or turns[0].offset != offset:
            return True  # no vectors are wanted, or it is no turn, or one that is not shown
        if self._installation.servers.qdrant:
            vectors = qdrant_of(self._installation, embedder, number)
            try:
                return vectors.next_offset > offset
            finally:
                vectors.close()
        made = self._of(number)
        if made.follows is not None:
            self.refresh(number, 1.0)
            return made.follows.next_offset > offset
        first = next(iter(read_points(partition.store, embedder.name, scope, TURN, offset - 1)), None)
        return first is not None and first[1] == offset

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for made in (*self._left, *self._made.values()):
                if made.vectors is not None:
                    made.vectors.close()
            self._left.clear()
            self._made.clear()

    def _current(self) -> Embedder | None:
        """The embedder of questions: the one that answers, looked up now and then. What was made for another one is left to
        whoever is asking it right now."""
        with self._lock:
            if self._embedders is None or (self._embedder is not None and time.monotonic() < self._look_at):
                return self._embedder
            named = self._named.named()
            found = self._embedders.checked(Named(named.live, "")) if named.live else self._embedders.default()
            if self._embedder is not None and found.name != self._embedder.name:
                self._left += self._made.values()
                self._made.clear()
            self._embedder, self._look_at = found, time.monotonic() + LOOK_SECONDS
            return found

    def _of(self, number: int) -> _Made:
        with self._lock:
            if self._closed:
                raise Closed("this memory was closed: open it again")
            embedder = self._current()
            if number not in self._made:
                self._made[number] = self._make(self._installation.partition(number), embedder)
            return self._made[number]

    def _make(self, partition: Partition, embedder: Embedder | None) -> _Made:
        from ..query.recall import Recall

        registry = self._installation.registry
        vectors: VectorStore | None = None
        follows: VectorIndexer | None = None

        def recall(sight: Sight | None) -> Recall:
            return Recall(LiveReader(partition.store, partition.log, sight), embedder, vectors, registry)

        if embedder is not None and self._installation.servers.qdrant:
            vectors = qdrant_of(self._installation, embedder, partition.number)
        elif embedder is not None:
            vectors, follows = self._local(partition.store, partition.number, embedder)
        return _Made(recall(None), vectors, follows, threading.Lock(), SeenRecalls(recall))

    def _local(self, store: Store, number: int, embedder: Embedder) -> tuple[VectorStore, VectorIndexer | None]:
        """An index in the cache folder; where another process has it, or there can be none, the vectors are scanned."""
        who = self._installation.who.log_id
        folder = cache_folder() / "vectors" / who / sha256_hex(embedder.name.encode())[:16] / f"p{number}"
        try:
            from ..adapters.vectors.edge import EdgeVectors

            folder.mkdir(parents=True, exist_ok=True)
            kept = EdgeVectors(folder, embedder.dim, embedder.name)
        except (Busy, NotOurs, OSError) as error:
            _log.info("vectors are scanned: %s", error)
            from ..adapters.vectors.scan import ScanVectors

            return ScanVectors(embedder.dim, partial(read_points, store, embedder.name)), None
        return kept, VectorIndexer(store, embedder, kept, embeds=False)
