"""The statements that write one version of the tables, made once and compiled once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from .cells import ENDS
from .columns import StoredText, same_text
from .dialect import insert_new, upsert
from .tables import Tables

__all__ = ["Statements"]


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
        moment = bindparam("b_time", type_=StoredText)
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
            same_text(t.slots.c.slot, bindparam("b_slot", type_=StoredText), dialect),
            same_text(t.slots.c.element, bindparam("b_element", type_=StoredText), dialect),
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
                same_text(t.versions.c.slot, bindparam("b_slot", type_=StoredText), dialect),
                t.versions.c.version == bindparam("b_version"),
            )
            .values(pieces=bindparam("b_pieces"), confidence=bindparam("b_confidence"))
        )
        self.evidence_set = upsert(t.evidence, dialect)
        self.evidence_dropped = sa.delete(t.evidence).where(
            t.evidence.c.scope_id == bindparam("b_scope"),
            t.evidence.c.form_id == bindparam("b_form"),
            same_text(t.evidence.c.slot, bindparam("b_slot", type_=StoredText), dialect),
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
