"""The whole store: all read models of a database, with what only those ask who keep them current. What agents read of it, whole
or through a view, is `ReadModels`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from ..schemas.access import Sight
from ..schemas.changes import WeekSummarised
from ..schemas.scope import Scope
from .base import Cursor
from .read_models import ReadModels, TurnRow
from .summaries import latest_revision, make_summary
from .tables import Tables, scopes
from .versions import Versions

__all__ = ["Cursor", "DueDeadline", "SeenStore", "Store", "TurnRow"]


class DueDeadline(NamedTuple):
    """A deadline whose time has come."""

    scope: str
    deadline_id: str
    kind: str
    due: str
    form_id: str
    slot: str
    version: int


class Store(Versions, ReadModels):
    """The read models. Thread-safe; several processes may read and write one database.

    Every method takes a Scope or its text `tenant/subject`; an unknown scope is an empty one.
    """

    def seen_by(self, sight: Sight) -> SeenStore:
        """What a sight lets through."""
        return SeenStore(self, sight)

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

    # -- the whole store -----------------------------------------------------------------------------------------------

    def deadlines_due(self, now: str, scope: Scope | str | None = None) -> list[DueDeadline]:
        """Deadlines at or before `now`, by (due, scope, id)."""
        with self.reading() as (connection, t):
            values: dict[str, str | int] = {"now": now}
            if scope is not None:
                values["number"] = self.scope_number(connection, scope)
            return [DueDeadline(*row) for row in connection.execute(_due(t, scope is not None), values)]

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


@lru_cache(maxsize=16)
def _due(t: Tables, of_scope: bool) -> sa.Select[*tuple[Any, ...]]:
    """Deadlines at or before `now`, of scope number `number`; made once, since every read asks."""
    d = t.deadlines
    query = (
        sa.select(scopes.c.key, d.c.deadline_id, d.c.deadline, d.c.due, d.c.form_id, d.c.slot, d.c.version)
        .join(scopes, scopes.c.scope_id == d.c.scope_id)
        .where(d.c.due <= sa.bindparam("now"))
        .order_by(d.c.due, scopes.c.key, d.c.deadline_id)
    )
    return query.where(d.c.scope_id == sa.bindparam("number")) if of_scope else query


class SeenStore(ReadModels):
    """What a sight lets through of a store: it reads, and nothing else. Every scope outside raises NotAllowed."""

    def __init__(self, store: Store, sight: Sight) -> None:
        self._store, self._sight = store, sight

    @property
    def sight(self) -> Sight:
        return self._sight

    @contextmanager
    def reading(self, version: int | None = None) -> Iterator[tuple[sa.Connection, Tables]]:
        with self._store.reading(version) as opened:
            yield opened

    def snapshot(self) -> AbstractContextManager[None]:
        return self._store.snapshot()

    def scope_number(self, connection: sa.Connection, scope: Scope | str) -> int:
        self.sight.check(scope)
        return self._store.scope_number(connection, scope)

    def stand(self, scope: Scope | str) -> tuple[int, str, int]:
        self.sight.check(scope)
        return self._store.stand(scope)
