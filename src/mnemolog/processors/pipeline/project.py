"""Projection: changes and summaries to the read models, rows and cursor in one transaction; then the new turns' vectors.

Invariants: what lies below the stored cursor is in the tables exactly once, whoever wrote it; the vectors follow the rows, and
what a crash leaves out is due again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ...projections.projector import Projector
from ...projections.reader import DecidedReader
from ...projections.resolver_state import ResolverState
from ...projections.vectors import VectorIndexer
from ...schemas.errors import Closed, Unavailable
from ...schemas.events import CHANGES
from ..core.ports import Stored
from .core import BATCH
from .inputs import pass_over
from .installation import Partition
from .lanes import Pause

__all__ = ["ProjectCore"]

_LOOK_EVERY = 0.25
"""Seconds between looks at the summaries topic, and at the resolver's place, while changes flow."""


class ProjectCore:
    """Keeps one partition's read models current; with `make_indexer` also its vectors."""

    def __init__(self, partition: Partition, make_indexer: Callable[[], VectorIndexer] | None = None) -> None:
        self._log, self._store, self._make_indexer = partition.log, partition.store, make_indexer
        self._indexer: VectorIndexer | None = None
        self._vectors_pause = Pause(f"vectors of partition {partition.number}")
        self._vectors_again = 0.0
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
        if len(records) < BATCH:
            self._index()
        return len(records)

    def _pass_undecided(self, reader: DecidedReader) -> None:
        """Inputs that get no decision (repetitions, those of scopes that stand still) lie below where the resolver stands, once
        all that it decided up to there is in the tables."""
        stands = self._state.progress()
        if stands.next_changes <= reader.next_changes and stands.applied_input > self._store.cursor().applied_input:
            self._projector.apply([], states={}, next_changes=reader.next_changes, applied_input=stands.applied_input)

    def _index(self) -> None:
        """Vectors of new turns. A vector store that is down holds up no rows; one that was removed is made and filled anew."""
        if self._make_indexer is None or time.monotonic() < self._vectors_again:
            return
        try:
            if self._indexer is None:
                self._indexer = self._make_indexer()
            self._indexer.step()
            self._vectors_pause.works()
        except (Unavailable, Closed) as error:
            self._indexer = None
            self._vectors_again = time.monotonic() + self._vectors_pause.after(error)

    def _apply(self, reader: DecidedReader, records: list[Stored], reached: int) -> None:
        items = reader.take_all(records)
        reader.next_changes = reached
        if not records:
            return
        applied = max((item.offset + 1 for item in items), default=0)
        self._projector.apply(items, states={}, next_changes=reached, applied_input=applied)
