"""The statements that write one version of the tables, made once and compiled once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Float, Integer

from .bulk import Given, insert_rows
from .cells import ENDS
from .columns import StoredText, same_text
from .tables import Tables

__all__ = ["Statements"]


class Statements:
    """The statements of one version of the tables, made once and compiled once."""

    def __init__(self, tables: Tables, dialect: str) -> None:
        t = tables
        self.tables = tables
        same = partial(same_text, dialect=dialect)
        insert = partial(insert_rows, dialect=dialect)
        given = partial(Given, dialect, scope=BigInteger)
        later: Callable[[Any, Any], Any] = lambda old, new: sa.case((new > old, new), else_=old)  # noqa: E731

        # A Form that is seen again after it was hidden or called off is there again.
        self.form_created = insert(
            t.forms,
            update={
                "form_type": lambda old, new: new,
                "key": lambda old, new: new,
                "name": lambda old, new: new,
                "status": lambda old, new: new,
                "updated_at": later,
                "hidden": 0,
            },
        )
        f = t.forms.c
        b = given(form=StoredText, name=StoredText)
        form = (f.scope_id == b.scope, f.form_id == b.form)
        self.form_named = b.write(sa.update(t.forms).where(*form).values(name=b.name), "scope", "form")
        restored = sa.update(t.forms).where(*form).values(name=b.name, status="current")
        self.form_restored = b.write(restored, "scope", "form")
        b = given(form=StoredText)
        form = (f.scope_id == b.scope, f.form_id == b.form)
        self.form_retired = b.write(sa.update(t.forms).where(*form).values(status="retired"), "scope", "form")
        b = given(form=StoredText, time=StoredText, keep=Integer)
        form = (f.scope_id == b.scope, f.form_id == b.form)
        newer = {"updated_at": later(f.updated_at, b.time), "hidden": f.hidden * b.keep}
        self.form_touched = b.write(sa.update(t.forms).where(*form).values(newer), "scope", "form")

        s = t.slots.c
        self.pointer_set = insert(t.slots)
        b = given(form=StoredText, slot=StoredText, element=StoredText, lane=BigInteger)
        place = (s.scope_id == b.scope, s.form_id == b.form, same(s.slot, b.slot), same(s.element, b.element))
        self.pointer_dropped = b.write(sa.delete(t.slots).where(*place, s.lane == b.lane), *_PLACE, "lane")
        b = given(form=StoredText, slot=StoredText, element=StoredText, version=BigInteger)
        place = (s.scope_id == b.scope, s.form_id == b.form, same(s.slot, b.slot), same(s.element, b.element))
        self.pointer_ended = b.write(sa.delete(t.slots).where(*place, s.version == b.version), *_PLACE, "version")

        v = t.versions.c
        self.version_set = insert(t.versions)
        # A scheduled version whose time has come is the same version: where it came from stays.
        self.version_elapsed = insert(t.versions, update=("status", "reason", "confidence", "pieces"))
        b = given(form=StoredText, slot=StoredText, version=BigInteger, pieces=BigInteger, confidence=Float)
        version = (v.scope_id == b.scope, v.form_id == b.form, same(v.slot, b.slot), v.version == b.version)
        reinforced = sa.update(t.versions).where(*version).values(pieces=b.pieces, confidence=b.confidence)
        self.version_reinforced = b.write(reinforced, *_VERSION)

        e = t.evidence.c
        self.evidence_set = insert(t.evidence)
        b = given(form=StoredText, slot=StoredText, version=BigInteger, below=BigInteger)
        version = (e.scope_id == b.scope, e.form_id == b.form, same(e.slot, b.slot), e.version == b.version)
        crowded = sa.delete(t.evidence).where(*version, e.seq >= ENDS, e.seq < b.below)
        self.evidence_dropped = b.write(crowded, *_VERSION)

        self.timeline_set = insert(t.timeline)
        self.edge_set = insert(t.edges)
        b = given(edge=StoredText)
        edge = (t.edges.c.scope_id == b.scope, t.edges.c.edge_id == b.edge)
        self.edge_retired = b.write(sa.update(t.edges).where(*edge).values(status="retired"), "scope", "edge")

        self.pending_set = insert(t.pending)
        b = given(pending=StoredText, how=StoredText)
        pending = (t.pending.c.scope_id == b.scope, t.pending.c.pending_id == b.pending)
        self.pending_closed = b.write(sa.update(t.pending).where(*pending).values(closed=b.how), "scope", "pending")

        self.turn_set = insert(t.turns, keep=True)
        self.deadline_set = insert(t.deadlines)
        b = given(deadline=StoredText)
        deadline = (t.deadlines.c.scope_id == b.scope, t.deadlines.c.deadline_id == b.deadline)
        self.deadline_done = b.write(sa.delete(t.deadlines).where(*deadline), "scope", "deadline")

        self.rejected_set = insert(t.rejected)
        self.origin_set = {table: insert(table, keep=True) for table in (t.inputs, t.rests, t.mentions, t.names)}
        self.week_touched = insert(t.weeks, update={"touched": later, "inputs": later, "hidden_at": later})
        self.week_summarised = insert(t.weeks, update={"summarised": later})
        self.summary_set = insert(t.summaries, keep=True)
        self.state_set = insert(t.resolver_state)
        b = given(key=StoredText)
        state = (t.resolver_state.c.scope_id == b.scope, t.resolver_state.c.key == b.key)
        self.state_dropped = b.write(sa.delete(t.resolver_state).where(*state), "scope", "key")
        self.head_set = insert(t.heads)
        self.offset_set = insert(t.offsets)


_PLACE = ("scope", "form", "slot", "element")
_VERSION = ("scope", "form", "slot", "version")
