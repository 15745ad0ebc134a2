"""What readers ask: the read models as views. Isolation and hiding sit in each query here, so that no path can forget them:
every read names its scope, and nothing hidden is returned."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import sqlalchemy as sa

from ..schemas.changes import WeekSummarised
from ..schemas.observations import Evidence
from ..schemas.scope import Scope
from ..schemas.views import EdgeView, FormView, PendingView, SummaryView, TimelineEntry, TurnView, VersionView
from .base import CHUNK, Cursor, StoreBase
from .columns import StoredText, same_text
from .summaries import closed_weeks, latest_revision, make_summary, open_week
from .tables import Tables, scopes
from .views import EvidenceKey, pieces, slot_view, timeline_entry, turn_view, value

__all__ = ["Cursor", "DueDeadline", "Store", "TurnRow"]

TurnRow = tuple[int, str, str, str, str, str, str]
"""(offset, event id, session, speaker, role, occurred_at, terms)."""


class DueDeadline(NamedTuple):
    """A deadline whose time has come."""

    scope: str
    deadline_id: str
    kind: str
    due: str
    form_id: str
    slot: str
    version: int


class Store(StoreBase):
    """The read models. Thread-safe; several processes may read and write one database.

    Every method takes a Scope or its text `tenant/subject`; an unknown scope is an empty one.
    """

    # -- Forms ---------------------------------------------------------------------------------------------------------

    def forms(self, scope: Scope | str, form_type: str | None = None, include_retired: bool = False) -> list[FormView]:
        """Forms as they stand now, sorted by (form type, key, id)."""
        return self._forms(scope, form_type=form_type, include_retired=include_retired)

    def form(self, scope: Scope | str, form_id: str) -> FormView | None:
        """One Form, retired or not; None where there is none (or it is hidden)."""
        found = self._forms(scope, form_id=form_id, include_retired=True)
        return found[0] if found else None

    def _forms(
        self, scope: Scope | str, *, form_type: str | None = None, form_id: str | None = None, include_retired: bool
    ) -> list[FormView]:
        with self.reading() as (connection, t):
            scope_id = self.scope_number(connection, scope)
            f, s, v = t.forms, t.slots, t.versions
            query = sa.select(f).where(f.c.scope_id == scope_id, f.c.hidden == 0)
            if form_type is not None:
                query = query.where(f.c.form_type == form_type)
            if form_id is not None:
                query = query.where(f.c.form_id == form_id)
            if not include_retired:
                query = query.where(f.c.status == "current")
            forms = connection.execute(query.order_by(f.c.form_type, f.c.key, f.c.form_id)).all()
            if not forms:
                return []
            joined = sa.and_(
                v.c.scope_id == s.c.scope_id, v.c.form_id == s.c.form_id, v.c.slot == s.c.slot, v.c.version == s.c.version
            )
            slots = (
                sa.select(v)
                .select_from(s.join(v, joined))
                .where(s.c.scope_id == scope_id, v.c.hidden == 0, v.c.value.is_not(None))
            )
            if form_id is not None:
                slots = slots.where(s.c.form_id == form_id)
            elif form_type is not None:
                slots = slots.where(v.c.form_type == form_type)
            by_form: dict[str, list[Any]] = {}
            for row in connection.execute(slots.order_by(s.c.form_id, s.c.slot, s.c.element, s.c.lane)):
                by_form.setdefault(row.form_id, []).append(row)
            evidence = self._evidence(connection, t, scope_id, form_id=form_id, current=True)
        return [
            FormView(
                scope=str(scope),
                form_id=form.form_id,
                form_type=form.form_type,
                key=form.key,
                name=form.name,
                status=form.status,
                slots=[slot_view(row, evidence, retired=form.status == "retired") for row in by_form.get(form.form_id, [])],
                updated_at=form.updated_at,
            )
            for form in forms
        ]

    def history(self, scope: Scope | str, form_id: str | None = None, slot: str | None = None) -> list[VersionView]:
        """Every version, by (form type, form, slot, element, valid_from, position); where one begins the one before it ends."""
        with self.reading() as (connection, t):
            scope_id = self.scope_number(connection, scope)
            v, s, f = t.versions, t.slots, t.forms
            joined = sa.and_(
                s.c.scope_id == v.c.scope_id,
                s.c.form_id == v.c.form_id,
                s.c.slot == v.c.slot,
                s.c.element == v.c.element,
                s.c.lane == 0,
            )
            form = sa.and_(f.c.scope_id == v.c.scope_id, f.c.form_id == v.c.form_id)
            query = (
                sa.select(v, s.c.version.label("standing"), f.c.status.label("form_status"))
                .select_from(v.outerjoin(s, joined).outerjoin(f, form))
                .where(v.c.scope_id == scope_id, v.c.hidden == 0)
            )
            if form_id is not None:
                query = query.where(v.c.form_id == form_id)
            if slot is not None:
                query = query.where(v.c.slot == slot)
            order = (v.c.form_type, v.c.form_id, v.c.slot, v.c.element, v.c.valid_from, v.c.position, v.c.place)
            rows = connection.execute(query.order_by(*order)).all()
            evidence = self._evidence(connection, t, scope_id, form_id=form_id)
        views: list[VersionView] = []
        for row, following in zip_longest(rows, rows[1:]):
            goes_on = following is not None and (following.form_id, following.slot, following.element) == (
                row.form_id,
                row.slot,
                row.element,
            )
            views.append(
                VersionView(
                    form_id=row.form_id,
                    form_type=row.form_type,
                    slot=row.slot,
                    element=row.element,
                    version=row.version,
                    value=value(row.value),
                    status=row.status,
                    current=row.standing == row.version and row.form_status != "retired",
                    reason=row.reason,
                    confidence=row.confidence,
                    authority=row.authority,
                    valid_from=row.valid_from,
                    valid_to=following.valid_from if following is not None and goes_on else None,
                    supersedes=row.supersedes,
                    before=value(row.before),
                    cause=row.cause,
                    count=row.pieces,
                    evidence=evidence.get((row.form_id, row.slot, row.version), []),
                    input_id=row.input_id,
                    session=row.session,
                    recorded_at=row.recorded_at,
                )
            )
        return views

    @staticmethod
    def _evidence(
        connection: sa.Connection, t: Tables, scope_id: int, *, form_id: str | None, current: bool = False
    ) -> dict[EvidenceKey, list[Evidence]]:
        e, s = t.evidence, t.slots
        query = sa.select(e.c.form_id, e.c.slot, e.c.version, e.c.turn_id, e.c.quote, e.c.start, e.c.end)
        if current:
            joined = sa.and_(
                s.c.scope_id == e.c.scope_id, s.c.form_id == e.c.form_id, s.c.slot == e.c.slot, s.c.version == e.c.version
            )
            query = query.select_from(s.join(e, joined)).where(s.c.scope_id == scope_id)
            if form_id is not None:
                query = query.where(s.c.form_id == form_id)
        else:
            query = query.where(e.c.scope_id == scope_id)
            if form_id is not None:
                query = query.where(e.c.form_id == form_id)
        # The order by the pointers makes a database start from them, few, and not from the evidence, much.
        order = (s.c.form_id, s.c.slot, s.c.element, s.c.lane) if current else (e.c.form_id, e.c.slot, e.c.version)
        found: dict[EvidenceKey, list[Evidence]] = {}
        for form, slot, version, *piece in connection.execute(query.order_by(*order, e.c.seq)):
            found.setdefault((form, slot, version), []).append(Evidence(*piece))
        return found

    # -- what happened -------------------------------------------------------------------------------------------------

    def timeline(
        self,
        scope: Scope | str,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[TimelineEntry]:
        """What happened from `since` on and before `until` (fixed UTC form), by (occurred_at, position)."""
        with self.reading() as (connection, t):
            table = t.timeline
            query = sa.select(table).where(table.c.scope_id == self.scope_number(connection, scope), table.c.hidden == 0)
            if since is not None:
                query = query.where(table.c.occurred_at >= since)
            if until is not None:
                query = query.where(table.c.occurred_at < until)
            order = (table.c.occurred_at, table.c.position, table.c.place)
            query = query.order_by(*(column.desc() for column in order)) if newest_first else query.order_by(*order)
            return [timeline_entry(row) for row in connection.execute(query.limit(limit))]

    def edges(self, scope: Scope | str, include_retired: bool = False) -> list[EdgeView]:
        """Relations between Forms, sorted by id."""
        with self.reading() as (connection, t):
            table = t.edges
            query = sa.select(table).where(table.c.scope_id == self.scope_number(connection, scope), table.c.hidden == 0)
            if not include_retired:
                query = query.where(table.c.status == "current")
            return [
                EdgeView(
                    edge_id=row.edge_id,
                    from_form=row.from_form,
                    to_form=row.to_form,
                    relation=row.relation,
                    weight=row.weight,
                    status=row.status,
                    valid_from=row.valid_from,
                    evidence=pieces(row.evidence),
                )
                for row in connection.execute(query.order_by(table.c.edge_id))
            ]

    def pending(self, scope: Scope | str) -> list[PendingView]:
        """Open questions, oldest first."""
        with self.reading() as (connection, t):
            table = t.pending
            query = sa.select(table).where(
                table.c.scope_id == self.scope_number(connection, scope), table.c.hidden == 0, table.c.closed == ""
            )
            return [
                PendingView(
                    pending_id=row.pending_id,
                    form_id=row.form_id,
                    form_type=row.form_type,
                    name=row.name,
                    slot=row.slot,
                    value=value(row.value),
                    why=row.why,
                    question=row.question,
                    confidence=row.confidence,
                    authority=row.authority,
                    opened_at=row.opened_at,
                    evidence=pieces(row.evidence),
                )
                for row in connection.execute(query.order_by(table.c.position, table.c.place))
            ]

    def closed_summaries(self, scope: Scope | str) -> list[SummaryView]:
        """The newest revision of each week that was summarised, in order of weeks."""
        with self.reading() as (connection, t):
            return closed_weeks(connection, t, self.scope_number(connection, scope))

    def summaries(self, scope: Scope | str) -> list[SummaryView]:
        """The weeks in order: the newest revision of each closed one, and the one that is still going on as it looks now."""
        with self.reading() as (connection, t):
            scope_id = self.scope_number(connection, scope)
            closed = closed_weeks(connection, t, scope_id)
            week = open_week(connection, t, scope_id)
            if week is None:
                return closed
            now = make_summary(connection, t, scope_id, week, 0)
        if now.turns or now.lines:
            view = SummaryView(week=week, revision=0, closed=False, turns=now.turns, sessions=now.sessions, lines=now.lines)
            closed = [view_ for view_ in closed if view_.week < week] + [view]
        return closed

    def week_summary(self, scope: Scope | str, week: str) -> tuple[WeekSummarised, WeekSummarised | None, bool]:
        """(the next revision of a week's summary, the newest one there is, whether that may be shown)."""
        with self.reading() as (connection, t):
            scope_id = self.scope_number(connection, scope)
            latest, shown = latest_revision(connection, t, scope_id, week)
            revision = 1 if latest is None else latest.revision + 1
            return make_summary(connection, t, scope_id, week, revision), latest, shown

    def settle_weeks(self, settled: Sequence[tuple[str, str, int]]) -> None:
        """Notes that the newest summary of (scope, week) already says everything up to a dynamics offset."""
        if not settled:
            return
        with self.writing() as (connection, t):
            for scope, week, covered in settled:
                here = (t.weeks.c.scope_id == self.scope_number(connection, scope), t.weeks.c.week == week)
                connection.execute(sa.update(t.weeks).where(*here, t.weeks.c.summarised < covered).values(summarised=covered))

    # -- turns ---------------------------------------------------------------------------------------------------------

    def turns(self, scope: Scope | str, after_offset: int = -1, limit: int | None = None) -> list[TurnView]:
        """Turns behind a dynamics offset, in order; repetitions within ten minutes are left out."""
        with self.reading() as (connection, t):
            query = self._turns(connection, t, scope).where(t.turns.c.position > after_offset, t.turns.c.folded == 0)
            return [turn_view(row) for row in connection.execute(query.order_by(t.turns.c.position).limit(limit))]

    def turn(self, scope: Scope | str, event_id: str) -> TurnView | None:
        """The turn with that id (the first one, where two sources used the same)."""
        with self.reading() as (connection, t):
            query = self._turns(connection, t, scope).where(t.turns.c.event_id == event_id)
            row = connection.execute(query.order_by(t.turns.c.position).limit(1)).first()
            return None if row is None else turn_view(row)

    def turns_by_offset(self, scope: Scope | str, offsets: Sequence[int]) -> list[TurnView]:
        """The turns at these dynamics offsets, in the order asked for; those that are not there are left out."""
        found: dict[int, TurnView] = {}
        with self.reading() as (connection, t):
            for start in range(0, len(offsets), CHUNK):
                wanted = t.turns.c.position.in_(offsets[start : start + CHUNK])
                for row in connection.execute(self._turns(connection, t, scope).where(wanted)):
                    found[row.position] = turn_view(row)
        return [found[offset] for offset in offsets if offset in found]

    def session_turns(self, scope: Scope | str, session: str, before_offset: int, limit: int) -> list[TurnView]:
        """The last `limit` turns of a session before a dynamics offset, repetitions included, oldest first."""
        with self.reading() as (connection, t):
            mine = same_text(t.turns.c.session, sa.literal(session, StoredText), connection.dialect.name)
            query = self._turns(connection, t, scope).where(mine, t.turns.c.position < before_offset)
            rows = connection.execute(query.order_by(t.turns.c.position.desc()).limit(limit)).all()
            return [turn_view(row) for row in reversed(rows)]

    def turn_index(self, scope: Scope | str, after_offset: int = -1) -> list[TurnRow]:
        """What a keyword index is filled from: (offset, event id, session, speaker, role, occurred_at, terms), in order."""
        with self.reading() as (connection, t):
            c = t.turns.c
            query = sa.select(c.position, c.event_id, c.session, c.speaker, c.role, c.occurred_at, c.terms).where(
                c.scope_id == self.scope_number(connection, scope), c.position > after_offset, c.hidden == 0, c.folded == 0
            )
            return [tuple(row) for row in connection.execute(query.order_by(c.position))]

    def _turns(self, connection: sa.Connection, t: Tables, scope: Scope | str) -> sa.Select[Any]:
        return sa.select(t.turns).where(t.turns.c.scope_id == self.scope_number(connection, scope), t.turns.c.hidden == 0)

    # -- the whole store -----------------------------------------------------------------------------------------------

    def deadlines_due(self, now: str, scope: Scope | str | None = None) -> list[DueDeadline]:
        """Deadlines at or before `now`, by (due, scope, id)."""
        with self.reading() as (connection, t):
            d = t.deadlines
            query = (
                sa.select(scopes.c.key, d.c.deadline_id, d.c.deadline, d.c.due, d.c.form_id, d.c.slot, d.c.version)
                .join(scopes, scopes.c.scope_id == d.c.scope_id)
                .where(d.c.due <= now)
                .order_by(d.c.due, scopes.c.key, d.c.deadline_id)
            )
            if scope is not None:
                query = query.where(d.c.scope_id == self.scope_number(connection, scope))
            return [DueDeadline(*row) for row in connection.execute(query)]

    def scopes(self, tenant: str | None = None) -> list[str]:
        """The scopes that hold anything that may be shown, sorted; with `tenant` only that tenant's."""
        with self.reading() as (connection, t):
            shown = sa.or_(
                *(sa.exists().where(table.c.scope_id == scopes.c.scope_id, table.c.hidden == 0) for table in (t.turns, t.forms))
            )
            query = sa.select(scopes.c.key).where(shown).order_by(scopes.c.key)
            if tenant is not None:
                query = query.where(scopes.c.tenant == tenant)
            return list(connection.execute(query).scalars())

    def stats(self, scope: Scope | str | None = None) -> dict[str, int]:
        """How many rows may be shown, by kind; of one scope or of all."""
        with self.reading() as (connection, t):
            shown: dict[str, tuple[sa.Table, tuple[sa.ColumnElement[bool], ...]]] = {
                "turns": (t.turns, (t.turns.c.hidden == 0,)),
                "forms": (t.forms, (t.forms.c.hidden == 0, t.forms.c.status == "current")),
                "versions": (t.versions, (t.versions.c.hidden == 0,)),
                "timeline": (t.timeline, (t.timeline.c.hidden == 0,)),
                "edges": (t.edges, (t.edges.c.hidden == 0, t.edges.c.status == "current")),
                "pending": (t.pending, (t.pending.c.hidden == 0, t.pending.c.closed == "")),
                "rejected": (t.rejected, (t.rejected.c.hidden == 0,)),
                "deadlines": (t.deadlines, ()),
            }
            counts: dict[str, int] = {}
            scope_id = None if scope is None else self.scope_number(connection, scope)
            for name, (table, conditions) in shown.items():
                query = sa.select(sa.func.count()).select_from(table).where(*conditions)
                if scope_id is not None:
                    query = query.where(table.c.scope_id == scope_id)
                counts[name] = connection.execute(query).scalar_one()
            return counts
