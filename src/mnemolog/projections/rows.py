"""From decisions to rows: a batch of decided inputs becomes, per table, the few bulk statements that write it.

The mapping keeps no state between batches and reads nothing it could get wrong: every statement is keyed by what the change
itself says, so any batch size gives the same rows. Order matters only inside one table, and there the last writer of a key
wins, exactly as if each change had been written alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import get_args

import sqlalchemy as sa

from ..processors.core.markers import said
from ..processors.core.moments import event_time
from ..schemas import changes as ch
from ..schemas.inputs import Turn
from ..schemas.observations import Evidence
from ..schemas.times import iso_week
from . import hiding
from .bulk import Write
from .cells import BOUND, ENDS, DecidedInput, Key, Row, episode_line, evidence_json, value_json, week_row
from .origins import origins
from .postgres import pipelined
from .statements import Statements

__all__ = ["RowBatch"]


class RowBatch:
    """Collects the row operations of a batch, then writes them with `flush`."""

    def __init__(
        self,
        connection: sa.Connection,
        statements: Statements,
        scope_ids: dict[str, int],
        terms: Callable[[str], list[str]],
    ) -> None:
        self._connection = connection
        self._sql = statements
        self._scope_ids = scope_ids
        self._terms = terms
        # Per table, operations in order; tables do not depend on each other.
        self._queues: dict[str, list[tuple[Write, Row]]] = {}
        # Operations of which only the last per key counts.
        self._pointers: dict[Key, Row | None] = {}
        self._touched_forms: dict[Key, Row] = {}
        self._reinforced: dict[Key, Row] = {}
        self._evidence: dict[Key, Row] = {}
        self._crowded: dict[Key, Row] = {}
        self._weeks: dict[Key, Row] = {}
        self._heads: dict[int, str] = {}
        self.touched_weeks: set[tuple[int, str]] = set()

    def add(self, item: DecidedInput) -> None:
        """Maps one decided input."""
        scope_id = self._scope_ids[item.scope]
        moment = event_time(item.input)
        self._week(scope_id, iso_week(moment), item.offset, inputs=1)
        if isinstance(item.data, Turn):
            self._turn(scope_id, item, item.data, moment)
        for table, row in origins(self._sql.tables, scope_id, item):
            self._queue(table.name, self._sql.origin_set[table], row)
        for place, change in enumerate(item.decision.changes):
            handler = _HANDLERS.get(type(change))
            if handler is not None:
                handler(self, scope_id, item, place, moment, change)
        self._heads[scope_id] = item.hash

    def flush(self) -> None:
        """Writes everything collected so far."""
        sql = self._sql
        for queue in self._queues.values():
            for _, group in groupby(queue, key=lambda operation: id(operation[0])):
                operations = list(group)
                operations[0][0].run(self._connection, [row for _, row in operations])
        self._queues = {}
        self._write_pointers()
        last: tuple[tuple[Write, dict[Key, Row]], ...] = (
            (sql.form_touched, self._touched_forms),
            (sql.version_reinforced, self._reinforced),
            (sql.evidence_set, self._evidence),
            (sql.evidence_dropped, self._crowded),
            (sql.week_touched, self._weeks),
        )
        for statement, rows in last:
            if rows:
                statement.run(self._connection, list(rows.values()))
                rows.clear()
        if self._heads:
            rows_ = [{"scope_id": scope_id, "head": head} for scope_id, head in self._heads.items()]
            sql.head_set.run(self._connection, rows_)
            self._heads.clear()

    def _write_pointers(self) -> None:
        kept = [row for row in self._pointers.values() if row is not None]
        dropped = [
            {"b_scope": key[0], "b_form": key[1], "b_slot": key[2], "b_element": key[3], "b_lane": key[4]}
            for key, row in self._pointers.items()
            if row is None
        ]
        if kept:
            self._sql.pointer_set.run(self._connection, kept)
        if dropped:
            self._sql.pointer_dropped.run(self._connection, dropped)
        self._pointers.clear()

    def _queue(self, table: str, statement: Write, row: Row) -> None:
        self._queues.setdefault(table, []).append((statement, row))

    def _week(self, scope_id: int, week: str, offset: int, *, inputs: int = 0, hidden_at: int = -1) -> None:
        self.touched_weeks.add((scope_id, week))
        row = self._weeks.get((scope_id, week))
        if row is None:
            row = self._weeks[scope_id, week] = week_row(scope_id, week)
        row["touched"] = max(row["touched"], offset)
        row["inputs"] = max(row["inputs"], inputs)
        row["hidden_at"] = max(row["hidden_at"], hidden_at)

    def _turn(self, scope_id: int, item: DecidedInput, turn: Turn, moment: str) -> None:
        self._queue(
            "turns",
            self._sql.turn_set,
            {
                "scope_id": scope_id,
                "position": item.offset,
                "event_id": item.input.id,
                "source": item.input.source,
                "session": turn.session,
                "agent": turn.agent,
                "role": turn.role,
                "speaker": turn.speaker,
                "content": turn.content,
                "occurred_at": turn.occurred_at,
                "event_time": moment,
                "expires_at": turn.expires_at,
                "terms": " ".join(self._terms(said(turn.content))),
                "folded": int(item.decision.outcome == "duplicate"),
                "hidden": 0,
            },
        )

    # -- one method per kind of change ---------------------------------------------------------------------------------

    def _form_created(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.FormCreated) -> None:
        row = {
            "scope_id": scope_id,
            "form_id": change.form_id,
            "form_type": change.form_type,
            "key": change.key,
            "name": change.name,
            "status": "current",
            "updated_at": moment,
            "hidden": 0,
        }
        self._queue("forms", self._sql.form_created, row)

    def _form_named(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.FormNamed) -> None:
        self._queue("forms", self._sql.form_named, {"b_scope": scope_id, "b_form": change.form_id, "b_name": change.name})
        self._touch(scope_id, change.form_id, moment)

    def _form_restored(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.FormRestored) -> None:
        row = {"b_scope": scope_id, "b_form": change.form_id, "b_name": change.name}
        self._queue("forms", self._sql.form_restored, row)
        self._touch(scope_id, change.form_id, moment)

    def _touch(self, scope_id: int, form_id: str, moment: str, *, show: bool = False) -> None:
        """The Form's last change; with `show` a hidden Form is there again, because something new was said about it."""
        row = self._touched_forms.setdefault(
            (scope_id, form_id), {"b_scope": scope_id, "b_form": form_id, "b_time": moment, "b_keep": 1}
        )
        row["b_time"] = max(row["b_time"], moment)
        row["b_keep"] = 0 if show else row["b_keep"]

    def _slot_changed(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.SlotChanged) -> None:
        key = (scope_id, change.form_id, change.slot, change.version)
        row = {
            "scope_id": scope_id,
            "form_id": change.form_id,
            "form_type": change.form_type,
            "slot": change.slot,
            "element": change.element,
            "version": change.version,
            "value": value_json(change.value),
            "status": change.status,
            "reason": change.reason,
            "confidence": change.confidence,
            "authority": change.authority,
            "valid_from": change.valid_from,
            "supersedes": change.supersedes,
            "before": value_json(change.before),
            "cause": change.cause,
            "pieces": change.count,
            "position": item.offset,
            "place": place,
            "input_id": item.input.id,
            "event_time": moment,
            "session": item.decision.session,
            "extractor": item.extractor,
            "recorded_at": item.recorded,
            "hidden": 0,
        }
        statement = self._sql.version_elapsed if change.reason == "elapsed" else self._sql.version_set
        self._queue("versions", statement, row)
        self._reinforced.pop(key, None)
        self._evidence_of(key, change.evidence, change.count)
        self._point(scope_id, change)
        self._touch(scope_id, change.form_id, moment, show=change.reason not in _UNSAID)

    def _point(self, scope_id: int, change: ch.SlotChanged) -> None:
        """What stands in the slot (or element) after this change."""
        place = (scope_id, change.form_id, change.slot, change.element)
        if change.status == "scheduled":
            self._pointers[(*place, change.version)] = self._pointer(place, change.version, change.version)
            return
        # What was scheduled under this number is scheduled no more.
        self._pointers[(*place, change.version)] = None
        if change.status == "confirmed":
            self._pointers[(*place, 0)] = self._pointer(place, 0, change.version)
        elif change.status == "retired":
            if change.supersedes is None:
                self._pointers[(*place, 0)] = None
            else:
                # Only what it ends goes: a scheduled version that is called off leaves the standing one alone.
                self._write_pointers()
                there = {"b_scope": scope_id, "b_form": change.form_id, "b_slot": change.slot, "b_element": change.element}
                self._sql.pointer_ended.run(self._connection, [{**there, "b_version": change.supersedes}])

    @staticmethod
    def _pointer(place: tuple[int, str, str, str], lane: int, version: int) -> Row:
        names = ("scope_id", "form_id", "slot", "element")
        return {**dict(zip(names, place, strict=True)), "lane": lane, "version": version}

    def _slot_reinforced(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.SlotReinforced) -> None:
        key = (scope_id, change.form_id, change.slot, change.version)
        self._reinforced[key] = {
            "b_scope": scope_id,
            "b_form": change.form_id,
            "b_slot": change.slot,
            "b_version": change.version,
            "b_pieces": change.count,
            "b_confidence": change.confidence,
        }
        self._evidence_of(key, change.evidence, change.count)
        self._touch(scope_id, change.form_id, moment)

    def _evidence_of(self, key: Key, evidence: list[Evidence], count: int) -> None:
        """Numbers the evidence so that the last piece is `count - 1`; a list that was cut holds both ends."""
        scope_id, form_id, slot, version = key
        first = count - len(evidence)
        for index, piece in enumerate(evidence):
            seq = index if len(evidence) == BOUND and index < ENDS else first + index
            self._evidence[(*key, seq)] = {
                "scope_id": scope_id,
                "form_id": form_id,
                "slot": slot,
                "version": version,
                "seq": seq,
                "turn_id": piece.turn_id,
                "quote": piece.quote,
                "start": piece.start,
                "end": piece.end,
            }
        if count > BOUND:
            self._crowded[key] = {
                "b_scope": scope_id,
                "b_form": form_id,
                "b_slot": slot,
                "b_version": version,
                "b_below": count - ENDS,
            }

    def _pending_opened(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.PendingOpened) -> None:
        row = {
            "scope_id": scope_id,
            "pending_id": change.pending_id,
            "form_id": change.form_id,
            "form_type": change.form_type,
            "name": change.name,
            "slot": change.slot,
            "value": value_json(change.value),
            "why": change.why,
            "question": change.question,
            "confidence": change.confidence,
            "authority": change.authority,
            "opened_at": moment,
            "position": item.offset,
            "place": place,
            "input_id": item.input.id,
            "evidence": evidence_json(change.evidence),
            "closed": "",
            "hidden": 0,
        }
        self._queue("pending", self._sql.pending_set, row)

    def _pending_closed(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.PendingClosed) -> None:
        row = {"b_scope": scope_id, "b_pending": change.pending_id, "b_how": change.how}
        self._queue("pending", self._sql.pending_closed, row)

    def _form_retired(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.FormRetired) -> None:
        self._queue("forms", self._sql.form_retired, {"b_scope": scope_id, "b_form": change.form_id})
        self._touch(scope_id, change.form_id, moment)

    def _edge_added(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.EdgeAdded) -> None:
        row = {
            "scope_id": scope_id,
            "edge_id": change.edge_id,
            "from_form": change.from_form,
            "to_form": change.to_form,
            "relation": change.relation,
            "weight": change.weight,
            "status": "current",
            "valid_from": change.valid_from,
            "position": item.offset,
            "place": place,
            "input_id": item.input.id,
            "evidence": evidence_json(change.evidence),
            "hidden": 0,
        }
        self._queue("edges", self._sql.edge_set, row)

    def _edge_retired(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.EdgeRetired) -> None:
        self._queue("edges", self._sql.edge_retired, {"b_scope": scope_id, "b_edge": change.edge_id})

    def _episode_seen(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.EpisodeSeen) -> None:
        row = {
            "scope_id": scope_id,
            "position": item.offset,
            "place": place,
            "entry_id": change.episode_id,
            "occurred_at": change.occurred_at,
            "kind": change.episode,
            "text": episode_line(change),
            "actor": change.actor,
            "action": change.action,
            "object": change.object,
            "before": change.before,
            "after": change.after,
            "cause": change.cause,
            "form_id": change.form_id,
            "slot": change.slot,
            "input_id": item.input.id,
            "session": item.decision.session,
            "evidence": evidence_json(change.evidence),
            "hidden": 0,
        }
        self._queue("timeline", self._sql.timeline_set, row)
        self._week(scope_id, iso_week(change.occurred_at), item.offset)

    def _rejected(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.Rejected) -> None:
        row = {
            "scope_id": scope_id,
            "position": item.offset,
            "place": place,
            "input_id": item.input.id,
            "reason": change.reason,
            "form_type": change.form_type,
            "slot": change.slot,
            "quote": change.quote,
            "hidden": 0,
        }
        self._queue("rejected", self._sql.rejected_set, row)

    def _deadline_set(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.DeadlineSet) -> None:
        row = {
            "scope_id": scope_id,
            "deadline_id": change.deadline_id,
            "deadline": change.deadline,
            "due": change.due,
            "form_id": change.form_id,
            "slot": change.slot,
            "version": change.version,
        }
        self._queue("deadlines", self._sql.deadline_set, row)

    def _deadline_done(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.DeadlineDone) -> None:
        self._queue("deadlines", self._sql.deadline_done, {"b_scope": scope_id, "b_deadline": change.deadline_id})

    def _hidden(self, scope_id: int, item: DecidedInput, place: int, moment: str, change: ch.Hidden) -> None:
        """The rare change that concerns rows of many tables: what came before is written first, then looked through."""
        with pipelined(self._connection):
            self.flush()
        for week in hiding.hide(self._connection, self._sql.tables, scope_id, item.offset, change):
            self._week(scope_id, week, item.offset, hidden_at=item.offset)


_UNSAID = ("elapsed", "rolled_back")
"""Nobody said anything about the Form: hidden as it may be, it stays so."""
_WITHOUT_ROWS = (ch.WorkingNoted, ch.WorkingCleared, ch.RolledBack)
"""Working memory lives in the resolver's state alone; what a rollback was asked for stands on the log."""


_HANDLERS: dict[type, Callable[..., None]] = {
    kind: getattr(RowBatch, f"_{kind.__struct_config__.tag}") for kind in get_args(ch.Change) if kind not in _WITHOUT_ROWS
}
