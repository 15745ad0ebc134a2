"""Writes the read models: a batch's rows, the resolver's state, the scopes' heads and the cursor, in one transaction.

Invariant: what lies below the cursor is in the tables exactly once. A batch that was applied before, in whole or in part,
changes nothing the second time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import sqlalchemy as sa

from ..processors.core.ports import EventLog, Stored
from ..schemas.changes import WeekSummarised
from ..schemas.envelope import Envelope, Position
from ..schemas.errors import Undecodable
from ..schemas.events import SUMMARIES, decode
from ..schemas.scope import Scope
from .base import StoreBase
from .cells import DecidedInput, Row, summary_row, week_row
from .postgres import pipelined
from .rows import RowBatch
from .statements import Statements
from .tables import Tables

__all__ = ["DecidedInput", "Projector", "TablesBehind"]

_log = logging.getLogger("mnemolog.projections")

SUMMARY_BATCH = 1000


class TablesBehind(Exception):
    """The tables do not reach where a batch begins: others went live meanwhile, and are to be filled from where they stand."""


class Projector:
    """Applies decisions to a store. Thread-safe; several of them may write one store, each input is applied once.

    `version` names the tables to write; by default the live ones.
    """

    def __init__(
        self, store: StoreBase, *, version: int | None = None, terms: Callable[[str], list[str]] | None = None
    ) -> None:
        self._store = store
        self._version = version
        if terms is None:
            from ..processors.core.text import terms as default_terms

            terms = default_terms
        self._terms = terms

    def apply(
        self,
        batch: Sequence[DecidedInput],
        *,
        states: Mapping[tuple[str, str], bytes | None],
        next_changes: int,
        applied_input: int,
        first: int | None = None,
    ) -> list[tuple[str, str]]:
        """Writes a batch, in log order.

        `states` is the resolver's state after the batch, by (scope, key); None deletes a key. `next_changes` is the offset of
        the changes topic to go on from, `applied_input` the dynamics offset below which every input is decided. What lies
        below the stored cursor is dropped. `first`: the offset of the changes topic that the batch was read from; raises
        TablesBehind, and writes nothing, where the tables do not reach it. Returns the (scope, ISO week) pairs that the batch
        touched, sorted.
        """
        with self._store.writing(self._version) as (connection, current):
            if first is not None and self._store.read_offsets(connection, current)["changes"] < first:
                raise TablesBehind
            return self.apply_within(
                connection, current, batch, states=states, next_changes=next_changes, applied_input=applied_input
            )

    def apply_within(
        self,
        connection: sa.Connection,
        current: Tables,
        batch: Sequence[DecidedInput],
        *,
        states: Mapping[tuple[str, str], bytes | None],
        next_changes: int,
        applied_input: int,
    ) -> list[tuple[str, str]]:
        """`apply` as a part of a write transaction that is already open."""
        cursor = self._store.read_offsets(connection, current)
        if next_changes <= cursor["changes"] and applied_input <= cursor["dynamics"]:
            return []
        fresh = [item for item in batch if item.changes_offset >= cursor["changes"]]
        statements = self._store.statements(current)
        names = {item.scope for item in fresh} | {scope for scope, _ in states}
        scope_ids = self._store.scope_ids(connection, sorted(names))
        rows = RowBatch(connection, statements, scope_ids, self._terms)
        for item in fresh:
            rows.add(item)
        offsets = {"changes": max(next_changes, cursor["changes"]), "dynamics": max(applied_input, cursor["dynamics"])}
        with pipelined(connection):
            rows.flush()
            self._write_states(connection, statements, scope_ids, states)
            statements.offset_set.run(connection, [{"name": name, "value": value} for name, value in offsets.items()])
        by_id = {scope_id: scope for scope, scope_id in scope_ids.items()}
        return sorted((by_id[scope_id], week) for scope_id, week in rows.touched_weeks)

    def apply_summaries(self, log: EventLog, end: int | None = None, *, scope: Scope | None = None) -> int:
        """Projects the summaries topic (of one scope) from where the store stands up to `end` (default: all there is); returns
        how many records were read."""
        done = 0
        while True:
            with self._store.reading(self._version) as (connection, current):
                start = self._store.read_offsets(connection, current)["summaries"]
            records = list(log.read(SUMMARIES, start, SUMMARY_BATCH, scope=scope))
            records = [record for record in records if end is None or record.offset < end]
            if not records:
                return done
            self.write_summaries(_summaries(records), first=start, next_summaries=records[-1].offset + 1)
            done += len(records)

    def write_summaries(self, batch: Sequence[tuple[Envelope, WeekSummarised]], *, first: int, next_summaries: int) -> None:
        """Writes summary events that were read from offset `first` on; nothing happens where the store is not there."""
        with self._store.writing(self._version) as (connection, current):
            if self._store.read_offsets(connection, current)["summaries"] == first:
                self.write_summaries_within(connection, current, batch, next_summaries=next_summaries)

    def write_summaries_within(
        self,
        connection: sa.Connection,
        current: Tables,
        batch: Sequence[tuple[Envelope, WeekSummarised]],
        *,
        next_summaries: int,
    ) -> None:
        """Writes summary events as a part of a write transaction that is already open."""
        statements = self._store.statements(current)
        scope_ids = self._store.scope_ids(connection, sorted({str(envelope.scope) for envelope, _ in batch}))
        summaries: list[Row] = []
        weeks: list[Row] = []
        for envelope, summary in batch:
            covered = -1 if envelope.position is None else Position.parse(envelope.position).offset
            scope_id = scope_ids[str(envelope.scope)]
            summaries.append(summary_row(scope_id, covered, summary))
            weeks.append({**week_row(scope_id, summary.week), "summarised": covered})
        if summaries:
            statements.summary_set.run(connection, summaries)
            statements.week_summarised.run(connection, weeks)
        statements.offset_set.run(connection, [{"name": "summaries", "value": next_summaries}])

    @staticmethod
    def _write_states(
        connection: sa.Connection,
        statements: Statements,
        scope_ids: Mapping[str, int],
        states: Mapping[tuple[str, str], bytes | None],
    ) -> None:
        kept = [
            {"scope_id": scope_ids[scope], "key": key, "blob": blob}
            for (scope, key), blob in states.items()
            if blob is not None
        ]
        dropped = [{"b_scope": scope_ids[scope], "b_key": key} for (scope, key), blob in states.items() if blob is None]
        if kept:
            statements.state_set.run(connection, kept)
        if dropped:
            statements.state_dropped.run(connection, dropped)


def _summaries(records: Sequence[Stored]) -> list[tuple[Envelope, WeekSummarised]]:
    """What is no summary counts for nothing; the alarm is raised."""
    found: list[tuple[Envelope, WeekSummarised]] = []
    for record in records:
        try:
            envelope, data = decode(record.value)
            if not isinstance(data, WeekSummarised) or str(envelope.scope) != record.scope:
                raise Undecodable(f"{envelope.type} of {envelope.tenant}/{envelope.subject} is not a summary of this scope")
        except Undecodable as error:
            _log.error(
                "%s, partition %d, offset %d counts for nothing: %s", record.topic, record.partition, record.offset, error
            )
            continue
        found.append((envelope, data))
    return found
