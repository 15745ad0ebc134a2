"""What readers ask: the read models as views. Isolation and hiding sit in each query here, so that no path can forget them:
every read names its scope, nothing hidden is returned, and nothing that the reader's sight does not let through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import zip_longest
from typing import Any

import sqlalchemy as sa

from ..schemas.access import Sight
from ..schemas.errors import NotAllowed
from ..schemas.observations import Evidence
from ..schemas.scope import Scope
from ..schemas.views import EdgeView, FormView, PendingView, SummaryView, TimelineEntry, TurnView, VersionView
from .base import CHUNK
from .called import Called, called
from .columns import StoredText, same_text
from .queries import Queries, queries
from .shown import SEEN, Shown
from .shown import shown as shown_of
from .summaries import closed_weeks, make_summary, open_week, seen_names, seen_weeks
from .tables import Tables
from .views import EvidenceKey, edge_view, form_view, pending_view, timeline_entry, turn_view, version_view

__all__ = ["ReadModels", "TurnRow"]

TurnRow = tuple[int, str, str, str, str, str, str]
"""(offset, event id, session, speaker, role, occurred_at, terms)."""


class ReadModels(ABC):
    """Reads scopes, whole or as `sight` lets them be seen. Every method takes a Scope or its text `tenant/subject`; an unknown
    scope is an empty one."""

    @property
    def sight(self) -> Sight | None:
        """What is seen; None for everything."""
        return None

    @abstractmethod
    def reading(self, version: int | None = None) -> AbstractContextManager[tuple[sa.Connection, Tables]]:
        """One snapshot of the live tables."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """All reads of this thread inside it see one state."""

    @abstractmethod
    def scope_number(self, connection: sa.Connection, scope: Scope | str) -> int:
        """The number of a scope; -1, which no row has, for one that is not known. Raises NotAllowed for one outside the
        sight."""

    @abstractmethod
    def stand(self, scope: Scope | str) -> tuple[int, str, int]:
        """How far a scope's rows are."""

    def _shown(self, connection: sa.Connection, t: Tables) -> Shown:
        return shown_of(t, self.sight, connection.dialect.name)

    def _queries(self, connection: sa.Connection, t: Tables) -> Queries:
        return queries(t, self.sight, connection.dialect.name)

    def _of(self, connection: sa.Connection, scope: Scope | str) -> dict[str, int]:
        """What the conditions of a sight are asked with."""
        return {SEEN: self.scope_number(connection, scope)}

    # -- Forms ---------------------------------------------------------------------------------------------------------

    def forms(self, scope: Scope | str, form_type: str | None = None, include_retired: bool = False) -> list[FormView]:
        """Forms as they stand now, sorted by (form type, key, id). Raises NotAllowed for a Form type outside the sight."""
        if self.sight is not None and form_type is not None:
            self.sight.check_form_type(form_type)
        return self._forms(scope, form_type=form_type, include_retired=include_retired)

    def form(self, scope: Scope | str, form_id: str) -> FormView | None:
        """One Form, retired or not; None where there is none (or it is not shown)."""
        found = self._forms(scope, form_id=form_id, include_retired=True)
        return found[0] if found else None

    def _forms(
        self, scope: Scope | str, *, form_type: str | None = None, form_id: str | None = None, include_retired: bool
    ) -> list[FormView]:
        given = {"form_type": form_type, "form_id": form_id}
        typed, one = form_type is not None, form_id is not None
        with self.reading() as (connection, t):
            scope_id = self.scope_number(connection, scope)
            values, ask = {SEEN: scope_id, **given}, self._queries(connection, t)
            forms = ask.forms(form_type=typed, form_id=one, retired=include_retired).all(connection, values)
            if not forms:
                return []
            by_form: dict[str, list[Any]] = {}
            for row in ask.slots(form_type=typed, form_id=one).all(connection, values):
                by_form.setdefault(row.form_id, []).append(row)
            evidence = self._evidence(connection, ask, values, one=one, current=True)
            names = None if ask.shown.sources is None else seen_names(connection, t, ask.shown, scope_id, form_id)
            told = self._called(connection, t, scope_id, form_id)
        return [
            form_view(str(scope), form, by_form.get(form.form_id, []), evidence, names, told.form(form))
            for form in forms
            if form.form_id in by_form or not told.is_nothing(form.form_id)
        ]

    def _called(self, connection: sa.Connection, t: Tables, scope_id: int, form_id: str | None = None) -> Called:
        """What may be told of names."""
        marked = self._queries(connection, t).names_hidden(form_id=form_id is not None)
        rows = marked.all(connection, {SEEN: scope_id, "form_id": form_id})
        return called(connection, t, scope_id, [row.form_id for row in rows])

    def history(self, scope: Scope | str, form_id: str | None = None, slot: str | None = None) -> list[VersionView]:
        """Every version, by (form type, form, slot, element, valid_from, position); where one begins the one before it ends."""
        one = form_id is not None
        with self.reading() as (connection, t):
            values = {**self._of(connection, scope), "form_id": form_id, "slot": slot}
            ask = self._queries(connection, t)
            rows = ask.versions(form_id=one, slot=slot is not None).all(connection, values)
            evidence = self._evidence(connection, ask, values, one=one)
        whole = ask.shown.sources is None
        return [version_view(row, following, evidence, whole=whole) for row, following in zip_longest(rows, rows[1:])]

    def _evidence(
        self, connection: sa.Connection, ask: Queries, values: Mapping[str, Any], *, one: bool, current: bool = False
    ) -> dict[EvidenceKey, list[Evidence]]:
        found: dict[EvidenceKey, list[Evidence]] = {}
        for form, slot, version, *piece in ask.evidence(form_id=one, current=current).all(connection, values):
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
            values = {**self._of(connection, scope), "since": since, "until": until, "limit": limit}
            query = self._queries(connection, t).entries(
                since=since is not None, until=until is not None, limit=limit is not None, newest_first=newest_first
            )
            told = self._called(connection, t, self.scope_number(connection, scope))
            return [told.entry(timeline_entry(row)) for row in query.all(connection, values)]

    def entry(self, scope: Scope | str, entry_id: str) -> TimelineEntry | None:
        """One entry of the timeline; None where there is none (or it is not shown)."""
        with self.reading() as (connection, t):
            of = self._of(connection, scope)
            mine = (t.timeline.c.scope_id == of[SEEN], t.timeline.c.entry_id == entry_id)
            row = connection.execute(self._shown(connection, t).entries.where(*mine).limit(1), of).first()
            return None if row is None else self._called(connection, t, of[SEEN]).entry(timeline_entry(row))

    def edges(self, scope: Scope | str, include_retired: bool = False) -> list[EdgeView]:
        """Relations between Forms, sorted by id."""
        with self.reading() as (connection, t):
            query = self._queries(connection, t).edges(retired=include_retired)
            return [edge_view(row) for row in query.all(connection, self._of(connection, scope))]

    def pending(self, scope: Scope | str) -> list[PendingView]:
        """Open questions, oldest first."""
        with self.reading() as (connection, t):
            query = self._queries(connection, t).pending()
            of = self._of(connection, scope)
            told = self._called(connection, t, of[SEEN])
            return [told.pending(pending_view(row)) for row in query.all(connection, of)]

    def closed_summaries(self, scope: Scope | str) -> list[SummaryView]:
        """The newest revision of each week that was summarised, in order of weeks; of a scope that is seen in part, made from
        what is seen."""
        with self.reading() as (connection, t):
            scope_id, shown = self.scope_number(connection, scope), self._shown(connection, t)
            told = self._called(connection, t, scope_id)
            closed = closed_weeks(connection, t, scope_id) if shown.whole else seen_weeks(connection, t, shown, scope_id)
            return [told.summary(week) for week in closed]

    def summaries(self, scope: Scope | str) -> list[SummaryView]:
        """The weeks in order: the newest revision of each closed one, and the one that is still going on as it looks now."""
        with self.reading() as (connection, t):
            scope_id, shown = self.scope_number(connection, scope), self._shown(connection, t)
            closed = closed_weeks(connection, t, scope_id) if shown.whole else seen_weeks(connection, t, shown, scope_id)
            told = self._called(connection, t, scope_id)
            closed = [told.summary(one) for one in closed]
            week = open_week(connection, t, scope_id)
            if week is None:
                return closed
            now = make_summary(connection, t, scope_id, week, 0, shown)
        if now.turns or now.lines:
            view = SummaryView(week=week, revision=0, closed=False, turns=now.turns, sessions=now.sessions, lines=now.lines)
            closed = [view_ for view_ in closed if view_.week < week] + [told.summary(view)]
        return closed

    # -- turns ---------------------------------------------------------------------------------------------------------

    def turns(self, scope: Scope | str, after_offset: int = -1, limit: int | None = None) -> list[TurnView]:
        """Turns behind a dynamics offset, in order; repetitions within ten minutes are left out."""
        with self.reading() as (connection, t):
            query = self._turns(connection, t, scope).where(t.turns.c.position > after_offset, t.turns.c.folded == 0)
            return [
                turn_view(row)
                for row in connection.execute(query.order_by(t.turns.c.position).limit(limit), self._of(connection, scope))
            ]

    def turn(self, scope: Scope | str, event_id: str, source: str | None = None) -> TurnView | None:
        """The turn with that id (of that source; the first one, where two sources used the same and none is named)."""
        with self.reading() as (connection, t):
            query = self._turns(connection, t, scope).where(t.turns.c.event_id == event_id)
            if source is not None:
                query = query.where(t.turns.c.source == source)
            row = connection.execute(query.order_by(t.turns.c.position).limit(1), self._of(connection, scope)).first()
            return None if row is None else turn_view(row)

    def turns_by_offset(self, scope: Scope | str, offsets: Sequence[int]) -> list[TurnView]:
        """The turns at these dynamics offsets, in the order asked for; those that are not there are left out."""
        found: dict[int, TurnView] = {}
        with self.reading() as (connection, t):
            query, of = self._queries(connection, t).turns_at(), self._of(connection, scope)
            for start in range(0, len(offsets), CHUNK):
                for row in query.all(connection, {**of, "offsets": list(offsets[start : start + CHUNK])}):
                    found[row.position] = turn_view(row)
        return [found[offset] for offset in offsets if offset in found]

    def session_turns(self, scope: Scope | str, session: str, before_offset: int, limit: int) -> list[TurnView]:
        """The last `limit` turns of a session before a dynamics offset, repetitions included, oldest first."""
        with self.reading() as (connection, t):
            mine = same_text(t.turns.c.session, sa.literal(session, StoredText), connection.dialect.name)
            query = self._turns(connection, t, scope).where(mine, t.turns.c.position < before_offset)
            rows = connection.execute(query.order_by(t.turns.c.position.desc()).limit(limit), self._of(connection, scope)).all()
            return [turn_view(row) for row in reversed(rows)]

    def turn_index(self, scope: Scope | str, after_offset: int = -1) -> list[TurnRow]:
        """What a keyword index is filled from: (offset, event id, session, speaker, role, occurred_at, terms), in order."""
        with self.reading() as (connection, t):
            query = self._queries(connection, t).turns_after()
            return [tuple(row) for row in query.all(connection, {**self._of(connection, scope), "after": after_offset})]

    def _turns(self, connection: sa.Connection, t: Tables, scope: Scope | str) -> sa.Select[Any]:
        mine = t.turns.c.scope_id == self.scope_number(connection, scope)
        return sa.select(t.turns).where(mine, *self._shown(connection, t).turns_seen)

    # -- counts --------------------------------------------------------------------------------------------------------

    def stats(self, scope: Scope | str | None = None) -> dict[str, int]:
        """How many rows may be shown, by kind; of one scope or of all."""
        with self.reading() as (connection, t):
            seen = self._shown(connection, t)
            shown: dict[str, tuple[sa.Table, list[sa.ColumnElement[bool]]]] = {
                "turns": (t.turns, seen.turns()),
                "forms": (t.forms, [*seen.forms(), t.forms.c.status == "current"]),
                "versions": (t.versions, seen.versions()),
                "timeline": (t.timeline, seen.timeline()),
                "edges": (t.edges, [*seen.edges(), t.edges.c.status == "current"]),
                "pending": (t.pending, seen.pending()),
                "rejected": (t.rejected, seen.rejected()),
                "deadlines": (t.deadlines, seen.deadlines()),
            }
            if scope is None and self.sight is not None:
                raise NotAllowed("scope", "all", self.sight.name, "name one")
            scope_id = None if scope is None else self.scope_number(connection, scope)
            counts: dict[str, int] = {}
            for name, (table, conditions) in shown.items():
                query = sa.select(sa.func.count()).select_from(table).where(*conditions)
                if scope_id is not None:
                    query = query.where(table.c.scope_id == scope_id)
                counts[name] = connection.execute(query, {SEEN: scope_id}).scalar_one()
            return counts
