"""Fills a version of the tables that is not live from the log, up to where the live one stands.

Invariant: rows, states and the version's own offsets are written in one transaction each time, so a fill that is killed goes
on where it ended; a problem of the log is met before the offsets pass it. Others read and write the live tables throughout.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec
import sqlalchemy as sa

from ..processors.core.ports import EventLog
from ..projections.parked import parked_offsets
from ..projections.projector import DecidedInput, Projector
from ..projections.reader import records
from ..projections.store import Store
from ..projections.tables import Tables, tables
from ..schemas.errors import LogError
from ..schemas.events import SUMMARIES, decode
from ..schemas.inputs import Turn
from .fold import BATCH, Fold
from .states import NoStates, StateFolder

__all__ = ["CLOSE", "Filling", "Step", "Watch"]

CLOSE = 200
"""So few records behind the live tables, the rest is done under the write lock."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """How far a rebuild is."""

    part: int
    parts: int
    """Partitions on servers; 1 in a folder."""
    phase: str
    """fold | check | switch"""
    done: int
    """Records of the changes topic that are in the new tables, what an earlier run wrote included."""
    total: int
    """Those that the live tables hold."""
    per_second: float
    """Of this run."""
    seconds_left: float | None
    """Of the fold; None while that is not known."""

    @property
    def fraction(self) -> float:
        """Of the fold, 0..1."""
        return 1.0 if self.total <= 0 else min(self.done / self.total, 1.0)


Watch = Callable[[Step], None]


class Filling:
    """One version on its way to the live one's place. `states`: the resolver's state lies beside the read models."""

    def __init__(
        self,
        log: EventLog,
        store: Store,
        version: int,
        *,
        states: bool,
        progress: Callable[[int], None] | None = None,
        watch: Watch | None = None,
        part: tuple[int, int] = (0, 1),
    ) -> None:
        self._log, self._store, self._version = log, store, version
        self._progress, self._watch, self._part = progress, watch, part
        self._projector = Projector(store, version=version)
        self._states = StateFolder(store, version) if states else NoStates()
        self.fold = Fold(log, self._projector, self._states, seen=self._seen)
        self.touched: set[str] | None = None
        """While it is a set: the scopes that were written to."""
        self.turns = 0
        self.resumed = 0
        """Decided inputs that an earlier run had written."""
        self._began = time.monotonic()
        self._from = 0

    def resume(self, *, whole: bool = True) -> None:
        """Takes up what the tables hold already; `whole` as for `to_live`."""
        with self._store.reading(self._version) as (connection, t):
            start = self._store.read_offsets(connection, t)["changes"]
            if not whole:
                self.fold.resume(start, self._store.heads(self._version), ())
                self._from = start
                return
            self.turns = connection.execute(sa.select(sa.func.count()).select_from(t.turns)).scalar_one()
            places = connection.execution_options(yield_per=10_000).execute(sa.select(t.inputs.c.position)).scalars()
            self.fold.resume(start, self._store.heads(self._version), places)
        self.resumed, self._from = self.fold.inputs, start

    def to_live(self, *, whole: bool = True) -> None:
        """Up to so close behind the live tables that the rest is quickly done. `whole`: every input that the live tables have
        passed must have a decision on the log."""
        cursor = self._store.cursor()
        while cursor.next_changes > self.fold.next_changes:
            self._advance(cursor.next_changes)
            if whole:
                self._look(cursor.applied_input)
            cursor = self._store.cursor()
            if cursor.next_changes - self.fold.next_changes <= CLOSE:
                break
        self._summaries()
        self.refuse_a_broken_log()

    def finish(self, connection: sa.Connection, live: Tables, *, whole: bool = True) -> int:
        """The inputs and summaries that were projected meanwhile, inside the write transaction that switches: then both sets
        of tables stand at the same place. Returns how many inputs."""
        new = tables(self._version)
        offsets = self._store.read_offsets(connection, live)
        items = list(self.fold.read(offsets["changes"]))
        self._projector.apply_within(
            connection,
            new,
            items,
            states=self._states.fold(items, connection),
            next_changes=offsets["changes"],
            applied_input=offsets["dynamics"],
        )
        self.fold.note(items)
        if whole:
            self.fold.look_for_undecided(offsets["dynamics"], parked_offsets(connection))
        self.refuse_a_broken_log()
        start = self._store.read_offsets(connection, new)["summaries"]
        found = list(records(self._log, SUMMARIES, start, offsets["summaries"]))
        if found:
            self._projector.write_summaries_within(
                connection, new, [decode(record.value) for record in found], next_summaries=max(start, offsets["summaries"])
            )
            self._note({record.scope for record in found})
        return len(items)

    def refuse_a_broken_log(self) -> None:
        """Raises LogError where something is wrong with the log itself by which rows would be lost."""
        problems = self.fold.losses
        if problems:
            first = problems[0]
            raise LogError(
                f"the log is not whole in {len(problems)} scope(s), first {first.scope!r}: {first.kind}, input "
                f"{first.input_id!r} at dynamics offset {first.offset} ({first.detail}); the old tables stay live, "
                "restore the log from a backup"
            )

    def tell(self, phase: str) -> None:
        """Says how far it is."""
        if self._watch is None:
            return
        done, total = self.fold.next_changes, self._total
        speed = (done - self._from) / max(time.monotonic() - self._began, 1e-9)
        self._watch(
            Step(
                part=self._part[0],
                parts=self._part[1],
                phase=phase,
                done=done,
                total=max(total, done),
                per_second=speed,
                seconds_left=(max(total - done, 0) / speed) if speed > 0 else None,
            )
        )

    _total = 0

    def _advance(self, end: int) -> None:
        self._total = end
        for batch in _batches(self.fold.read(end)):
            self.refuse_a_broken_log()
            self._projector.apply(
                batch,
                states=self._states.fold(batch),
                next_changes=batch[-1].changes_offset + 1,
                applied_input=max([item.offset for item in batch]) + 1,
            )
            self.fold.next_changes = batch[-1].changes_offset + 1
            self.fold.note(batch)
            self.tell("fold")
        self.refuse_a_broken_log()
        self.fold.next_changes = end

    def _summaries(self) -> None:
        with self._store.reading(self._version) as (connection, t):
            start = self._store.read_offsets(connection, t)["summaries"]
        if self.touched is not None:
            self._note({record.scope for record in records(self._log, SUMMARIES, start)})
        self._projector.apply_summaries(self._log)

    def _look(self, end: int) -> None:
        with self._store.reading() as (connection, _):
            parked = parked_offsets(connection)
        self.fold.look_for_undecided(end, parked)

    def _note(self, scopes: set[str]) -> None:
        if self.touched is not None:
            self.touched |= scopes

    def _seen(self, batch: Sequence[DecidedInput]) -> None:
        self._note({item.scope for item in batch})
        self.turns += sum(isinstance(item.data, Turn) for item in batch)
        if self._progress is not None:
            self._progress(len(batch))


def _batches(items: Iterator[DecidedInput]) -> Iterator[list[DecidedInput]]:
    while batch := list(islice(items, BATCH)):
        yield batch
