"""What answers questions in this process, made on first use: the process that processes has the vector index itself and fills
it, every other one scans the vectors that the owner computed."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..adapters.logs.folder import Folder
from ..processors.core.ports import Embedder, EventLog, VectorStore
from ..projections.live import LiveReader
from ..projections.store import Store
from ..projections.vectors import TURN, VectorIndexer, read_points
from ..projections.vectors_check import check_whole, points_in
from ..replay.versions import one_at_a_time
from ..schemas.access import Sight
from ..schemas.errors import Closed, FolderError, InvalidInput
from ..schemas.registry import Registry
from .counting import Counting
from .indexes import Indexes, IndexReport
from .seen_recalls import SeenRecalls

if TYPE_CHECKING:
    from ..adapters.vectors.edge import EdgeVectors
    from ..query.recall import Recall

__all__ = ["Finding", "IndexReport"]

_log = logging.getLogger("mnemolog.finding")

ROOM = 256 * 1024 * 1024
"""Bytes that must be free before the vector index makes or grows files."""


FLUSH_SECONDS = 5.0
"""Between two flushes of the vector index while turns keep coming: nothing else in the process runs meanwhile. What is lost
with the process is filled again from the vectors in the database."""


Watch = Callable[[int, int], None]
"""Told the dynamics offset below which every turn has its vector, and the one to reach."""


class _Made(NamedTuple):
    owner: bool
    recall: Recall
    indexer: VectorIndexer | None
    vectors: VectorStore | None
    embedder: str
    seen: SeenRecalls


def _has_room(folder: Folder) -> bool:
    """Whether the index can map its files: a write to a mapped page that the disk has no room for ends the process. Without
    room the vectors are kept in this process alone."""
    if shutil.disk_usage(folder.path).free >= ROOM:
        return True
    _log.warning("%s has less than %d MiB free: the vector index stays in memory", folder.path, ROOM >> 20)
    return False


class Finding:
    """Recall over the read models, and the vector index behind it. Thread-safe. Each call says whether this process is the
    owner of the folder by now."""

    def __init__(
        self,
        store: Store,
        log: EventLog,
        registry: Registry,
        embedder: Embedder | Literal[False] | None,
        folder: Folder | None,
    ) -> None:
        self._store, self._log, self._registry, self._folder = store, log, registry, folder
        self._embeds = embedder is not False
        self._embedder: Embedder | None = None if isinstance(embedder, bool) else embedder
        self._indexes = None if folder is None else Indexes(folder, store)
        self._lock = threading.RLock()
        self._index_lock = threading.RLock()
        self._made: _Made | None = None
        self._left: list[_Made | None] = []
        self._closed = False

    def embedder(self) -> Embedder | None:
        """The one that was given, or the default one; None where there are to be no vectors."""
        if not self._embeds:
            return None
        with self._lock:
            if self._embedder is None:
                from ..adapters.embedders import embedder_named

                # Nobody says which: the one that the vectors are of, where it is one of ours.
                held = "" if self._indexes is None else self._indexes.embedder()
                self._embedder = embedder_named(held) or embedder_named("use")
            return self._embedder

    def recall(self, owner: bool, sight: Sight | None = None) -> Recall:
        """What answers questions; as a sight lets them be answered."""
        made = self._of(owner)
        return made.recall if sight is None else made.seen.of(sight)

    def vectors(self, owner: bool) -> VectorStore | None:
        """The vector index; None where there is none."""
        return self._of(owner).vectors

    def index(self, give_way: Callable[[int], None] | None = None) -> None:
        """Brings the vector index up to the turns table; for the owner. `give_way` is called between batches."""
        with self._index_lock:
            indexer = self._of(True).indexer
            while indexer is not None and (done := indexer.step()):
                if give_way is not None:
                    give_way(done)

    def index_for(self, seconds: float) -> None:
        """The same for so long at most; what is left over is found by its words, and indexed in the background."""
        until = time.monotonic() + seconds
        if not self._index_lock.acquire(timeout=seconds):
            return
        try:
            indexer = self._of(True).indexer
            while indexer is not None and indexer.step() and time.monotonic() < until:
                pass
        finally:
            self._index_lock.release()

    def has_vector(self, owner: bool, scope: str, offset: int) -> bool:
        """Whether the turn at that dynamics offset is found by its vector, if it is ever to be."""
        made = self._of(owner)
        if made.vectors is None or not (turns := self._store.turns(scope, offset - 1, 1)) or turns[0].offset != offset:
            return True  # no vectors are wanted, or it is no turn, or one that is not shown
        if made.indexer is not None:
            return made.indexer.next_offset > offset
        first = next(iter(read_points(self._store, made.embedder, scope, TURN, offset - 1)), None)
        return first is not None and first[1] == offset

    def rebuild(self, embedder: Embedder | None, watch: Watch | None = None) -> IndexReport:
        """Fills the next vector index beside the one that answers, from the cache where the vectors are there, and lets it take
        its place; for the owner. With another embedder questions are embedded with that one from then on."""
        from ..adapters.vectors.edge import EdgeVectors

        indexes, wanted = self._indexes, embedder or self.embedder()
        if indexes is None or self._folder is None or wanted is None:
            raise InvalidInput("vectors", "are kept in no index here", "open a folder, with an embedder")
        if not _has_room(self._folder):
            raise FolderError(f"{self._folder.path} has less than {ROOM >> 20} MiB free: make room, nothing was begun")
        began, replaced, counting = time.monotonic(), indexes.embedder(), Counting(wanted)
        with one_at_a_time(self._store):
            number, resumed = indexes.following(wanted)
            vectors = EdgeVectors(indexes.path(number), wanted.dim, wanted.name)
            try:
                indexer, turns = VectorIndexer(self._store, counting, vectors), 0
                last = self._store.cursor().applied_input
                while done := indexer.step():
                    turns += done
                    if watch is not None:
                        watch(indexer.next_offset, last)
                checked, below = self._checked(vectors, indexer, 0), indexer.next_offset
                with self._index_lock, self._lock:
                    while done := indexer.step():
                        turns += done
                    checked += self._checked(vectors, indexer, below)
                    self._store.set_index(number)
                    self._left.append(self._made)
                    self._made, self._embedder = self._ready(wanted, vectors), wanted
            except BaseException:
                vectors.close()
                raise
        return IndexReport(
            index=number,
            embedder=wanted.name,
            replaced=replaced,
            turns=turns,
            computed=counting.computed,
            checked=checked,
            resumed=resumed,
            seconds=time.monotonic() - began,
        )

    def drop_old(self) -> list[str]:
        """Drops the cached vectors of other embedders than the one that answers; for the owner. Those of an index that is half
        filled stay."""
        embedder = self.embedder()
        if self._indexes is None or embedder is None:
            raise InvalidInput("vectors", "are kept in no index here", "open a folder, with an embedder")
        with one_at_a_time(self._store):
            return self._store.drop_vectors([self._indexes.embedder() or embedder.name, *self._indexes.begun()])

    def _checked(self, vectors: EdgeVectors, indexer: VectorIndexer, start: int) -> int:
        """Looks up every turn in an index that was filled; returns how many. What is missing is where the next run begins."""
        checked = check_whole(self._store, points_in(vectors.holds), indexer.next_offset, start)
        if checked.missing:
            vectors.flush(checked.first)
        checked.refuse("the new index")
        return checked.turns

    def _ready(self, embedder: Embedder, vectors: VectorStore) -> _Made:
        """What answers for the owner with an index that is filled."""
        from ..query.recall import Recall

        def recall(sight: Sight | None) -> Recall:
            return Recall(LiveReader(self._store, self._log, sight), embedder, vectors, self._registry)

        indexer = VectorIndexer(self._store, embedder, vectors, flush_seconds=FLUSH_SECONDS)
        return _Made(True, recall(None), indexer, vectors, embedder.name, SeenRecalls(recall))

    def close(self) -> None:
        with self._index_lock, self._lock:
            self._closed = True
            try:
                if self._made is not None and self._made.indexer is not None:
                    self._made.indexer.flush()
            finally:
                for made in (*self._left, self._made):
                    if made is not None and made.vectors is not None:
                        made.vectors.close()
                self._left, self._made = [], None

    def _of(self, owner: bool) -> _Made:
        with self._lock:
            if self._closed:
                raise Closed("this memory was closed: open it again")
            if self._made is None or self._made.owner != owner:
                # What was made before is left to whoever is searching in it right now, or, in a child made by fork, to the
                # parent.
                self._left.append(self._made)
                self._made = self._make(owner)
            return self._made

    def _make(self, owner: bool) -> _Made:
        from ..query.recall import Recall

        embedder = self.embedder()
        vectors: VectorStore | None = None

        def recall(sight: Sight | None) -> Recall:
            return Recall(LiveReader(self._store, self._log, sight), embedder, vectors, self._registry)

        if embedder is None:
            return _Made(owner, recall(None), None, None, "", SeenRecalls(recall))
        if self._indexes is not None:
            self._indexes.check(embedder)
        if owner and self._indexes is not None:
            self._indexes.tidy()
        if owner and self._folder is not None and _has_room(self._folder):
            from ..adapters.vectors.edge import EdgeVectors

            path = self._folder.vectors if self._indexes is None else self._indexes.path(self._indexes.active())
            vectors = EdgeVectors(path, embedder.dim, embedder.name, timeout=5.0)
        else:
            from ..adapters.vectors.scan import ScanVectors

            vectors = ScanVectors(embedder.dim, None if owner else partial(read_points, self._store, embedder.name))
        indexer = VectorIndexer(self._store, embedder, vectors, flush_seconds=FLUSH_SECONDS) if owner else None
        return _Made(owner, recall(None), indexer, vectors, embedder.name, SeenRecalls(recall))
