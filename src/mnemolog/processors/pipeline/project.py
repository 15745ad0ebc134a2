"""Projection: changes and summaries to the read models, rows and cursor in one transaction; then the new turns' vectors.

Invariants: what lies below the stored cursor is in the tables exactly once, whoever wrote it; the vectors follow the rows, and
what a crash leaves out is due again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ...projections.projector import Projector, TablesBehind
from ...projections.reader import DecidedReader
from ...projections.resolver_state import ResolverState
from ...schemas.errors import Closed, Unavailable
from ...schemas.events import CHANGES
from ..core.ports import Stored
from .core import BATCH
from .indexing import LiveIndexer
from .inputs import pass_over
from .installation import Partition
from .lanes import Pause

__all__ = ["ProjectCore", "VectorsCore"]

_LOOK_EVERY = 0.25
"""Seconds between looks at the summaries topic, and at the resolver's place, while changes flow."""


class VectorsCore:
    """Keeps the vectors of one partition's turns current, after their rows: `written` is set where there are new ones."""

    def __init__(
        self, partition: Partition, make_indexer: Callable[[], LiveIndexer], written: threading.Event | None = None
    ) -> None:
        self._store, self._make_indexer = partition.store, make_indexer
        self._indexer: LiveIndexer | None = None
        self._pause = Pause(f"vectors of partition {partition.number}")
        self._again = 0.0
        self._written = threading.Event() if written is None else written

    @property
    def topic(self) -> str:
        return CHANGES

    @property
    def position(self) -> int:
        return self._store.cursor().next_changes

    def step(self, timeout: float) -> int:
        """A vector store that is down holds up no rows; one that was removed is made and filled anew."""
        self._written.clear()
        done = self._index()
        if not done and timeout > 0:
            self._written.wait(timeout)
        return done

    def _index(self) -> int:
        if time.monotonic() < self._again:
            return 0
        try:
            if self._indexer is None:
                self._indexer = self._make_indexer()
            done = self._indexer.step()
            self._pause.works()
        except (Unavailable, Closed) as error:
            if self._indexer is not None:
                self._indexer.close()
            self._indexer = None
            self._again = time.monotonic() + self._pause.after(error)
            return 0
        return done


class ProjectCore:
    """Keeps one partition's read models current; with `vectors` also these. `written` is set where there are new rows, for
    somebody else who looks after the vectors."""

    def __init__(
        self, partition: Partition, vectors: VectorsCore | None = None, written: threading.Event | None = None
    ) -> None:
        self._log, self._store, self._vectors, self._written = partition.log, partition.store, vectors, written
        self._projector = Projector(partition.store)
        self._state = ResolverState(partition.state)
        self._reader: DecidedReader | None = None
        self._looked = 0.0

    @property
    def topic(self) -> str:
        return CHANGES

    @property
    def position(self) -> int:
        reader = self._reader  # looked at once: whoever asks may be in another thread
        return self._store.cursor().next_changes if reader is None else reader.next_changes

    def step(self, timeout: float) -> int:
        try:
            return self._step(timeout)
        except TablesBehind:
            self._reader = None  # other tables answer now: on from where they stand
            return 0
        except BaseException:
            self._reader = None  # it may have read what was not written
            raise

    def _step(self, timeout: float) -> int:
        if self._reader is None:
            start = self._store.cursor().next_changes
            self._reader = DecidedReader(self._log, start, heads=self._store.heads, on_broken=pass_over)
        records, reached = self._log.follow(CHANGES, self._reader.next_changes, BATCH, timeout)
        self._apply(self._reader, records, reached)
        if not records or time.monotonic() - self._looked > _LOOK_EVERY:
            self._pass_undecided(self._reader)
            self._projector.apply_summaries(self._log)
            self._looked = time.monotonic()
        if self._written is not None and records:
            self._written.set()
        if self._vectors is not None and len(records) < BATCH:
            self._vectors.step(0.0)
        return len(records)

    def _pass_undecided(self, reader: DecidedReader) -> None:
        """Inputs that get no decision (repetitions, those of scopes that stand still) lie below where the resolver stands, once
        all that it decided up to there is in the tables."""
        stands = self._state.progress()
        if stands.next_changes <= reader.next_changes and stands.applied_input > self._store.cursor().applied_input:
            here = reader.next_changes
            self._projector.apply([], states={}, next_changes=here, applied_input=stands.applied_input, first=here)

    def _apply(self, reader: DecidedReader, records: list[Stored], reached: int) -> None:
        first = reader.next_changes
        items = reader.take_all(records)
        reader.next_changes = reached
        if not records:
            return
        applied = max((item.offset + 1 for item in items), default=0)
        self._projector.apply(items, states={}, next_changes=reached, applied_input=applied, first=first)
