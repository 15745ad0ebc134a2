"""From decisions to rows: a batch of decided inputs becomes, per table, the few bulk statements that write it.

The mapping keeps no state between batches and reads nothing it could get wrong: every statement is keyed by what the change
itself says, so any batch size gives the same rows. Order matters only inside one table, and there the last writer of a key
wins, exactly as if each change had been written alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy import bindparam

from ..processors.core.chain import DecisionHead
from ..processors.core.moments import event_time
from ..processors.core.values import detect_lang
from ..schemas import changes as ch
from ..schemas.envelope import Envelope
from ..schemas.inputs import Turn
from ..schemas.observations import Evidence
from ..schemas.times import iso_week
from ..schemas.values import Value
from . import hiding
from .dialect import insert_new, upsert
from .tables import Tables

__all__ = ["BOUND", "ENDS", "DecidedInput", "Row", "RowBatch", "Statements", "summary_row", "week_row"]

ENDS = 5
"""Of a version's evidence the first and the last so many pieces are kept."""
BOUND = 2 * ENDS

Row = dict[str, Any]
Key = tuple[Any, ...]


class DecidedInput(msgspec.Struct, frozen=True, kw_only=True):
    """One input with the decision about it: all that projections are made from."""

    input: Envelope
    data: msgspec.Struct
    """The input's typed data."""
    offset: int
    """Of the input on dynamics."""
    decision_envelope: Envelope | DecisionHead
    decision: ch.Decision
    changes_offset: int
    hash: str
    """SHA-256 of the decision's value bytes as stored."""
    recorded: str
    """When the input was appended."""
    extractor: str = ""
    """Name and version of the extractor that observed the input."""

    @property
    def scope(self) -> str:
        return f"{self.input.tenant}/{self.input.subject}"


def evidence_json(evidence: list[Evidence]) -> str:
    return _ENCODE(_bounded(evidence)).decode()


def because(said: str, cause: str) -> str:
    """A line with its reason, in the reason's own language."""
    if not cause or cause in said:
        return said
    return f"{said}（因为{cause}）" if detect_lang(cause) == "zh" else f"{said} (because {cause})"


def value_json(value: Value | None) -> str | None:
    return None if value is None else _ENCODE(value).decode()


_ENCODE = msgspec.json.Encoder().encode


def week_row(scope_id: int, week: str) -> Row:
    """A week of which nothing is known yet."""
    return {"scope_id": scope_id, "week": week, "touched": -1, "summarised": -1, "inputs": 0, "hidden_at": -1}


def summary_row(scope_id: int, covered: int, summary: ch.WeekSummarised) -> Row:
    """A revision of a week's summary that covers the inputs up to dynamics offset `covered`."""
    return {
        "scope_id": scope_id,
        "week": summary.week,
        "revision": summary.revision,
        "turns": summary.turns,
        "sessions": summary.sessions,
        "lines": _ENCODE(summary.lines).decode(),
        "input_ids": _ENCODE(summary.input_ids).decode(),
        "position": covered,
    }


def _bounded(evidence: list[Evidence]) -> list[Evidence]:
    return evidence if len(evidence) <= BOUND else [*evidence[:ENDS], *evidence[-ENDS:]]


def episode_line(change: ch.EpisodeSeen) -> str:
    """One readable line, from the turn's own words: what was done, from what to what, and why."""
    said = " ".join(part for part in (change.actor, change.action, change.object) if part)
    if not said and change.evidence:
        said = change.evidence[0].quote
    if change.before and change.after:
        said = f"{said}: {change.before} → {change.after}" if said else f"{change.before} → {change.after}"
    elif change.after and change.after not in said:
        said = f"{said}: {change.after}" if said else change.after
    elif change.before and change.before not in said:
        said = f"{said}: {change.before} →" if said else f"{change.before} →"
    return because(said, change.cause)


class Statements:
    """The statements of one version of the tables, made once and compiled once."""

    def __init__(self, tables: Tables, dialect: str) -> None:
        t = tables
        self.tables = tables
        later: Callable[[Any, Any], Any] = lambda old, new: sa.case((new > old, new), else_=old)  # noqa: E731
        self.scoped_form = (t.forms.c.scope_id == bindparam("b_scope"), t.forms.c.form_id == bindparam("b_form"))
        # A Form that is seen again after it was hidden or called off is there again.
        self.form_created = upsert(
            t.forms,
            dialect,
            {
                "form_type": lambda old, new: new,
                "key": lambda old, new: new,
                "name": lambda old, new: new,
                "status": lambda old, new: new,
                "updated_at": later,
                "hidden": 0,
            },
        )
        self.form_named = sa.update(t.forms).where(*self.scoped_form).values(name=bindparam("b_name"))
        self.form_retired = sa.update(t.forms).where(*self.scoped_form).values(status="retired")
        moment = bindparam("b_time", type_=sa.Text)
        self.form_touched = (
            sa.update(t.forms)
            .where(*self.scoped_form)
            .values(
                updated_at=sa.case((moment > t.forms.c.updated_at, moment), else_=t.forms.c.updated_at),
                hidden=t.forms.c.hidden * bindparam("b_keep"),
            )
        )
        self.pointer_set = upsert(t.slots, dialect)
        slot = (
            t.slots.c.scope_id == bindparam("b_scope"),
            t.slots.c.form_id == bindparam("b_form"),
            t.slots.c.slot == bindparam("b_slot"),
            t.slots.c.element == bindparam("b_element"),
        )
        self.pointer_dropped = sa.delete(t.slots).where(*slot, t.slots.c.lane == bindparam("b_lane"))
        self.pointer_ended = sa.delete(t.slots).where(*slot, t.slots.c.version == bindparam("b_version"))
        self.version_set = upsert(t.versions, dialect)
        # A scheduled version whose time has come is the same version: where it came from stays.
        self.version_elapsed = upsert(t.versions, dialect, ("status", "reason", "confidence", "pieces"))
        self.version_reinforced = (
            sa.update(t.versions)
            .where(
                t.versions.c.scope_id == bindparam("b_scope"),
                t.versions.c.form_id == bindparam("b_form"),
                t.versions.c.slot == bindparam("b_slot"),
                t.versions.c.version == bindparam("b_version"),
            )
            .values(pieces=bindparam("b_pieces"), confidence=bindparam("b_confidence"))
        )
        self.evidence_set = upsert(t.evidence, dialect)
        self.evidence_dropped = sa.delete(t.evidence).where(
            t.evidence.c.scope_id == bindparam("b_scope"),
            t.evidence.c.form_id == bindparam("b_form"),
            t.evidence.c.slot == bindparam("b_slot"),
            t.evidence.c.version == bindparam("b_version"),
            t.evidence.c.seq >= ENDS,
            t.evidence.c.seq < bindparam("b_below"),
        )
        self.timeline_set = upsert(t.timeline, dialect)
        self.edge_set = upsert(t.edges, dialect)
        self.edge_retired = (
            sa.update(t.edges)
            .where(t.edges.c.scope_id == bindparam("b_scope"), t.edges.c.edge_id == bindparam("b_edge"))
            .values(status="retired")
        )
        self.pending_set = upsert(t.pending, dialect)
        self.pending_closed = (
            sa.update(t.pending)
            .where(t.pending.c.scope_id == bindparam("b_scope"), t.pending.c.pending_id == bindparam("b_pending"))
            .values(closed=bindparam("b_how"))
        )
        self.turn_set = insert_new(t.turns, dialect)
        self.deadline_set = upsert(t.deadlines, dialect)
        self.deadline_done = sa.delete(t.deadlines).where(
            t.deadlines.c.scope_id == bindparam("b_scope"), t.deadlines.c.deadline_id == bindparam("b_deadline")
        )
        self.rejected_set = upsert(t.rejected, dialect)
        self.week_touched = upsert(t.weeks, dialect, {"touched": later, "inputs": later, "hidden_at": later})
        self.week_summarised = upsert(t.weeks, dialect, {"summarised": later})
        self.summary_set = insert_new(t.summaries, dialect)
        self.state_set = upsert(t.resolver_state, dialect)
        self.state_dropped = sa.delete(t.resolver_state).where(
            t.resolver_state.c.scope_id == bindparam("b_scope"), t.resolver_state.c.key == bindparam("b_key")
        )
        self.head_set = upsert(t.heads, dialect)
        self.offset_set = upsert(t.offsets, dialect)


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
        self._queues: dict[str, list[tuple[sa.Executable, Row]]] = {}
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
        for place, change in enumerate(item.decision.changes):
            handler = _HANDLERS.get(type(change))
            if handler is not None:
                handler(self, scope_id, item, place, moment, change)
        self._heads[scope_id] = item.hash

    def flush(self) -> None:
        """Writes everything collected so far."""
        sql = self._sql
        for queue in self._queues.values():
            for _, group in groupby(queue, key=_identity):
                operations = list(group)
                self._connection.execute(operations[0][0], [row for _, row in operations])
        self._queues = {}
        self._write_pointers()
        last: tuple[tuple[sa.Executable, dict[Key, Row]], ...] = (
            (sql.form_touched, self._touched_forms),
            (sql.version_reinforced, self._reinforced),
            (sql.evidence_set, self._evidence),
            (sql.evidence_dropped, self._crowded),
            (sql.week_touched, self._weeks),
        )
        for statement, rows in last:
            if rows:
                self._connection.execute(statement, list(rows.values()))
                rows.clear()
        if self._heads:
            rows_ = [{"scope_id": scope_id, "head": head} for scope_id, head in self._heads.items()]
            self._connection.execute(sql.head_set, rows_)
            self._heads.clear()

    def _write_pointers(self) -> None:
        kept = [row for row in self._pointers.values() if row is not None]
        dropped = [
            {"b_scope": key[0], "b_form": key[1], "b_slot": key[2], "b_element": key[3], "b_lane": key[4]}
            for key, row in self._pointers.items()
            if row is None
        ]
        if kept:
            self._connection.execute(self._sql.pointer_set, kept)
        if dropped:
            self._connection.execute(self._sql.pointer_dropped, dropped)
        self._pointers.clear()

    def _queue(self, table: str, statement: sa.Executable, row: Row) -> None:
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
                "terms": " ".join(self._terms(turn.content)),
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
        self._touch(scope_id, change.form_id, moment, show=change.reason != "elapsed")

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
                self._connection.execute(
                    self._sql.pointer_ended,
                    {
                        "b_scope": scope_id,
                        "b_form": change.form_id,
                        "b_slot": change.slot,
                        "b_element": change.element,
                        "b_version": change.supersedes,
                    },
                )

    @staticmethod
    def _pointer(place: tuple[int, str, str, str], lane: int, version: int) -> Row:
        scope_id, form_id, slot, element = place
        return {
            "scope_id": scope_id,
            "form_id": form_id,
            "slot": slot,
            "element": element,
            "lane": lane,
            "version": version,
        }

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
        self.flush()
        for week in hiding.hide(self._connection, self._sql.tables, scope_id, item.offset, change):
            self._week(scope_id, week, item.offset, hidden_at=item.offset)


def _identity(operation: tuple[sa.Executable, Row]) -> int:
    return id(operation[0])


_HANDLERS: dict[type, Callable[..., None]] = {
    ch.FormCreated: RowBatch._form_created,
    ch.FormNamed: RowBatch._form_named,
    ch.SlotChanged: RowBatch._slot_changed,
    ch.SlotReinforced: RowBatch._slot_reinforced,
    ch.PendingOpened: RowBatch._pending_opened,
    ch.PendingClosed: RowBatch._pending_closed,
    ch.FormRetired: RowBatch._form_retired,
    ch.EdgeAdded: RowBatch._edge_added,
    ch.EdgeRetired: RowBatch._edge_retired,
    ch.EpisodeSeen: RowBatch._episode_seen,
    ch.Rejected: RowBatch._rejected,
    ch.DeadlineSet: RowBatch._deadline_set,
    ch.DeadlineDone: RowBatch._deadline_done,
    ch.Hidden: RowBatch._hidden,
}
"""Working memory lives in the resolver's state alone and has no rows."""
