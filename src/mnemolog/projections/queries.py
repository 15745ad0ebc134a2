"""What readers ask of one scope again and again, each query made once: putting one together costs more than its answer. The
scope's number is the parameter `SEEN` of all of them; every condition of the reader's sight stands in the query itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from ..schemas.access import Sight
from .prepared import Prepared
from .shown import SCOPE, Shown, shown
from .tables import Tables

__all__ = ["Queries", "queries"]


class Queries:
    """The queries on one version of the tables, for one sight. A parameter that is asked for by a flag has its name."""

    def __init__(self, t: Tables, seen: Shown) -> None:
        self._t, self.shown = t, seen
        self._made: dict[tuple[object, ...], Prepared] = {}

    def _once(self, key: tuple[object, ...], make: Callable[[], sa.Select[*tuple[Any, ...]]]) -> Prepared:
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = Prepared(make())
        return made

    def forms(self, *, form_type: bool, form_id: bool, retired: bool) -> Prepared:
        """Forms, by (form type, key, id)."""

        def make() -> sa.Select[*tuple[Any, ...]]:
            f = self._t.forms
            query = sa.select(f).where(f.c.scope_id == SCOPE, *self.shown.forms_seen)
            if form_type:
                query = query.where(f.c.form_type == sa.bindparam("form_type"))
            if form_id:
                query = query.where(f.c.form_id == sa.bindparam("form_id"))
            if not retired:
                query = query.where(f.c.status == "current")
            return query.order_by(f.c.form_type, f.c.key, f.c.form_id)

        return self._once(("forms", form_type, form_id, retired), make)

    def slots(self, *, form_type: bool, form_id: bool) -> Prepared:
        """The version that stands in each slot. Where the newest one is not seen the slot is empty: an older one would pass for
        what holds."""

        def make() -> sa.Select[*tuple[Any, ...]]:
            s, v = self._t.slots, self._t.versions
            joined = sa.and_(
                v.c.scope_id == s.c.scope_id, v.c.form_id == s.c.form_id, v.c.slot == s.c.slot, v.c.version == s.c.version
            )
            query = (
                sa.select(v)
                .select_from(s.join(v, joined))
                .where(s.c.scope_id == SCOPE, *self.shown.versions_seen, v.c.value.is_not(None))
            )
            if form_id:
                query = query.where(s.c.form_id == sa.bindparam("form_id"))
            elif form_type:
                query = query.where(v.c.form_type == sa.bindparam("form_type"))
            return query.order_by(s.c.form_id, s.c.slot, s.c.element, s.c.lane)

        return self._once(("slots", form_type, form_id), make)

    def versions(self, *, form_id: bool, slot: bool) -> Prepared:
        """Every version, by (form type, form, slot, element, valid_from, position)."""

        def make() -> sa.Select[*tuple[Any, ...]]:
            v, s, f = self._t.versions, self._t.slots, self._t.forms
            joined = sa.and_(
                s.c.scope_id == v.c.scope_id,
                s.c.form_id == v.c.form_id,
                s.c.slot == v.c.slot,
                s.c.element == v.c.element,
                s.c.lane == 0,
            )
            form = sa.and_(f.c.scope_id == v.c.scope_id, f.c.form_id == v.c.form_id)
            tells = self.shown.tells_before.label("tells_before")
            query = (
                sa.select(v, s.c.version.label("standing"), f.c.status.label("form_status"), tells)
                .select_from(v.outerjoin(s, joined).outerjoin(f, form))
                .where(v.c.scope_id == SCOPE, *self.shown.versions_seen)
            )
            if form_id:
                query = query.where(v.c.form_id == sa.bindparam("form_id"))
            if slot:
                query = query.where(v.c.slot == sa.bindparam("slot"))
            order = (v.c.form_type, v.c.form_id, v.c.slot, v.c.element, v.c.valid_from, v.c.position, v.c.place)
            return query.order_by(*order)

        return self._once(("versions", form_id, slot), make)

    def evidence(self, *, form_id: bool, current: bool) -> Prepared:
        """(form id, slot, version, turn id, quote, start, end) of every piece; `current`: of what stands alone."""

        def make() -> sa.Select[*tuple[Any, ...]]:
            e, s = self._t.evidence, self._t.slots
            query = sa.select(e.c.form_id, e.c.slot, e.c.version, e.c.turn_id, e.c.quote, e.c.start, e.c.end)
            if current:
                joined = sa.and_(
                    s.c.scope_id == e.c.scope_id, s.c.form_id == e.c.form_id, s.c.slot == e.c.slot, s.c.version == e.c.version
                )
                query = query.select_from(s.join(e, joined))
            of = s if current else e
            query = query.where(of.c.scope_id == SCOPE)
            if form_id:
                query = query.where(of.c.form_id == sa.bindparam("form_id"))
            # The order by the pointers makes a database start from them, few, and not from the evidence, much.
            order = (s.c.form_id, s.c.slot, s.c.element, s.c.lane) if current else (e.c.form_id, e.c.slot, e.c.version)
            return query.where(*self.shown.evidence_seen).order_by(*order, e.c.seq)

        return self._once(("evidence", form_id, current), make)

    def entries(self, *, since: bool, until: bool, limit: bool, newest_first: bool) -> Prepared:
        """Entries of the timeline, by (occurred_at, position)."""

        def make() -> sa.Select[*tuple[Any, ...]]:
            table = self._t.timeline
            query = self.shown.entries.where(table.c.scope_id == SCOPE)
            if since:
                query = query.where(table.c.occurred_at >= sa.bindparam("since"))
            if until:
                query = query.where(table.c.occurred_at < sa.bindparam("until"))
            order = (table.c.occurred_at, table.c.position, table.c.place)
            query = query.order_by(*(column.desc() for column in order)) if newest_first else query.order_by(*order)
            return query.limit(sa.bindparam("limit", type_=sa.Integer)) if limit else query

        return self._once(("entries", since, until, limit, newest_first), make)

    def names_hidden(self, *, form_id: bool) -> Prepared:
        """The ids of the Forms some of whose names may not be told."""

        def make() -> sa.Select[*tuple[Any, ...]]:
            n = self._t.names
            query = sa.select(n.c.form_id).where(n.c.scope_id == SCOPE, n.c.hidden == sa.literal_column("1")).distinct()
            return query.where(n.c.form_id == sa.bindparam("form_id")) if form_id else query

        return self._once(("names_hidden", form_id), make)

    def edges(self, *, retired: bool) -> Prepared:
        """Relations between Forms, by id."""

        def make() -> sa.Select[*tuple[Any, ...]]:
            table = self._t.edges
            query = sa.select(table).where(table.c.scope_id == SCOPE, *self.shown.edges_seen)
            return (query if retired else query.where(table.c.status == "current")).order_by(table.c.edge_id)

        return self._once(("edges", retired), make)

    def pending(self) -> Prepared:
        """Open questions, oldest first."""

        def make() -> sa.Select[*tuple[Any, ...]]:
            table = self._t.pending
            query = sa.select(table).where(table.c.scope_id == SCOPE, *self.shown.pending_seen)
            return query.order_by(table.c.position, table.c.place)

        return self._once(("pending",), make)

    def turns_at(self) -> Prepared:
        """The turns at `offsets`."""

        def make() -> sa.Select[*tuple[Any, ...]]:
            row = self._t.turns
            offsets: sa.BindParameter[Any] = sa.bindparam("offsets", expanding=True)
            return sa.select(row).where(row.c.scope_id == SCOPE, row.c.position.in_(offsets), *self.shown.turns_seen)

        return self._once(("turns_at",), make)

    def turns_after(self) -> Prepared:
        """What a keyword index is filled from, of the turns behind `after`, in order."""

        def make() -> sa.Select[*tuple[Any, ...]]:
            c = self._t.turns.c
            return (
                sa.select(c.position, c.event_id, c.session, c.speaker, c.role, c.occurred_at, c.terms)
                .where(c.scope_id == SCOPE, c.position > sa.bindparam("after"), c.folded == 0, *self.shown.turns_seen)
                .order_by(c.position)
            )

        return self._once(("turns_after",), make)


@lru_cache(maxsize=64)
def queries(t: Tables, sight: Sight | None, dialect: str) -> Queries:
    """Those of a sight; of the ones that were asked lately they are kept."""
    return Queries(t, shown(t, sight, dialect))
