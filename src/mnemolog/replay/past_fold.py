"""One scope as it was: its decisions below an offset folded into rows of their own, by the projector that makes the live ones,
so that every reader of today reads them. What was hidden since is hidden in them too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import sqlalchemy as sa

from ..processors.core.chain import valid_decisions
from ..processors.core.ports import EventLog
from ..projections.base import CHUNK
from ..projections.cells import Row, week_row
from ..projections.dialect import insert_new
from ..projections.hiding import hide
from ..projections.origins import origins
from ..projections.projector import DecidedInput, Projector
from ..projections.reader import DecidedReader, records
from ..projections.store import Store
from ..projections.tables import Tables
from ..projections.weeks import due_weeks, summary_events
from ..schemas.changes import Change, Hidden, WeekSummarised
from ..schemas.envelope import Envelope, Position
from ..schemas.errors import Undecodable
from ..schemas.events import CHANGES, SUMMARIES, decode
from ..schemas.scope import Scope
from ..schemas.times import iso_week
from .past_cut import Cut

__all__ = ["PastFold"]

BATCH = 500
"""Decided inputs per write."""


class PastFold:
    """The rows of `scope` as its inputs below `offset` left them, in the file `path`; with `as_of` cut at that moment of event
    time. Used by one thread until it is made; then its `store` is read by any."""

    def __init__(
        self, log: EventLog, scope: Scope, offset: int, as_of: str | None, path: Path | str, *, partition: int = 0
    ) -> None:
        self._log, self._scope, self._offset, self._partition = log, scope, offset, partition
        self._cut = None if as_of is None else Cut(as_of)
        self._heads: dict[str, str] = {}
        self._next_changes = 0
        self._later: list[tuple[int, Hidden]] = []
        self._hidden_at: dict[tuple[str, str, int], int] = {}
        self._applied = 0
        self.store = Store(path, durable=False)
        try:
            self._make()
        except BaseException:
            self.store.close()
            raise

    def still_holds(self) -> bool:
        """Whether nothing was decided since that shows here: an input from before the offset, or something hidden."""
        for valid in valid_decisions(records(self._log, CHANGES, self._next_changes, scope=self._scope), self._heads):
            self._next_changes = valid.stored.offset + 1
            before = Position.parse(valid.envelope.position).offset < self._offset
            if before or any(isinstance(change, Hidden) for change in valid.decision.changes):
                return False
        return True

    # -- made once -----------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        projector = Projector(self.store)
        batch: list[DecidedInput] = []
        for item in self._decided():
            batch.append(item)
            if len(batch) == BATCH or _hides(item):
                self._write(projector, batch)
                batch = []
        self._write(projector, batch)
        with self.store.writing() as (connection, t):
            scope_id = self.store.scope_ids(connection, [str(self._scope)])[str(self._scope)]
            for offset, change in self._later:
                self._hide(connection, t, scope_id, offset, change)
            if self._cut is not None:
                self._cut.finish(connection, t, scope_id, self._hidden_at)
        self._summarise(projector)

    def _decided(self) -> Iterator[DecidedInput]:
        """The decided inputs that count; what was hidden later is kept in mind."""
        reader = DecidedReader(self._log, 0, scope=self._scope, heads=lambda: self._heads)
        reached = False
        for item in reader.read():
            reached = item.offset >= self._offset
            if reached:
                self._note(item.offset, item.decision.changes)
                break
            yield item
        self._next_changes = reader.next_changes
        if not reached:
            return  # what is decided from now on may be about an input that counts: `still_holds` looks
        for valid in valid_decisions(records(self._log, CHANGES, self._next_changes, scope=self._scope), self._heads):
            self._next_changes = valid.stored.offset + 1
            self._note(Position.parse(valid.envelope.position).offset, valid.decision.changes)

    def _note(self, offset: int, changes: Sequence[Change]) -> None:
        self._later += [(offset, change) for change in changes if isinstance(change, Hidden)]

    def _write(self, projector: Projector, batch: list[DecidedInput]) -> None:
        if not batch:
            return
        cut = self._cut
        kept = batch if cut is None else [found for item in batch if (found := cut.item(item)) is not None]
        last = batch[-1]
        with self.store.writing() as (connection, t):
            scope_id = self.store.scope_ids(connection, [str(self._scope)])[str(self._scope)]
            projector.apply_within(
                connection, t, kept, states={}, next_changes=last.changes_offset + 1, applied_input=last.offset + 1
            )
            if cut is not None:
                self._origins(connection, t, scope_id, batch)
            if _hides(last):
                self._note_hidden(connection, t, scope_id, last.offset)

    def _hide(self, connection: sa.Connection, t: Tables, scope_id: int, offset: int, change: Hidden) -> None:
        """What was hidden after the offset: its rows, and the summaries that may tell of it."""
        weeks = hide(connection, t, scope_id, offset, change)
        rows = [{**week_row(scope_id, week), "touched": offset, "hidden_at": offset} for week in weeks]
        if rows:
            self.store.statements(t).week_touched.run(connection, rows)
        self._note_hidden(connection, t, scope_id, offset)

    def _note_hidden(self, connection: sa.Connection, t: Tables, scope_id: int, offset: int) -> None:
        if self._cut is None:
            return
        v = t.versions.c
        for row in connection.execute(sa.select(v.form_id, v.slot, v.version).where(v.scope_id == scope_id, v.hidden == 1)):
            self._hidden_at.setdefault((row.form_id, row.slot, row.version), offset)

    @staticmethod
    def _origins(connection: sa.Connection, t: Tables, scope_id: int, batch: list[DecidedInput]) -> None:
        """What every input rests on and speaks of: views are decided from it, also where its changes are about later."""
        rows: dict[sa.Table, list[Row]] = {t.inputs: [], t.rests: [], t.mentions: []}
        for table, row in chain.from_iterable(origins(t, scope_id, item) for item in batch):
            if table in rows:
                rows[table].append(row)
        for table, some in rows.items():
            if some:
                connection.execute(insert_new(table, connection.dialect.name), some)

    # -- weeks ---------------------------------------------------------------------------------------------------------

    def _summarise(self, projector: Projector) -> None:
        """The summaries as they stood, and those that were due."""
        found: list[tuple[Envelope, WeekSummarised]] = []
        for record in records(self._log, SUMMARIES, 0, scope=self._scope):
            try:
                envelope, data = decode(record.value)
            except Undecodable:
                continue  # it counts for nothing in the live tables either, and there the alarm was raised
            if isinstance(data, WeekSummarised) and self._told(envelope, data):
                found.append((envelope, data))
        for start in range(0, len(found), CHUNK):
            projector.write_summaries(found[start : start + CHUNK], first=0, next_summaries=0)
        if self._cut is not None:
            self._close_weeks(self._cut.end)
        while due := due_weeks(self.store):
            events = summary_events(due, epoch=self._log.epoch, partition=self._partition)
            made = [(event, item.summary) for event, item in zip(events, due, strict=True)]
            projector.write_summaries(made, first=0, next_summaries=0)

    def _told(self, envelope: Envelope, summary: WeekSummarised) -> bool:
        covered = -1 if envelope.position is None else Position.parse(envelope.position).offset
        return covered < self._offset and (self._cut is None or summary.week < iso_week(self._cut.end))

    def _close_weeks(self, end: str) -> None:
        """The week of the moment itself is the one that goes on, whether anything was said in it or not."""
        with self.store.writing() as (connection, t):
            scope_id = self.store.scope_ids(connection, [str(self._scope)])[str(self._scope)]
            row = {**week_row(scope_id, iso_week(end)), "inputs": 1}
            self.store.statements(t).week_touched.run(connection, [row])


def _hides(item: DecidedInput) -> bool:
    return any(isinstance(change, Hidden) for change in item.decision.changes)
