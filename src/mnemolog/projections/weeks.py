"""Weekly summaries: which closed weeks are due, and what their next revision says.

A week is due when something fell into it after what its newest summary covers, and it is closed: the scope has an input in a
later week. What is due lies in the tables, so a crash forgets nothing; and a summary is made from the rows alone, so neither
batch sizes nor the order of arrival show in the last revision.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import sqlalchemy as sa

from ..processors.core.ports import EventLog
from ..schemas.changes import WeekSummarised
from ..schemas.codec import derived_id
from ..schemas.envelope import DEFAULT_SOURCE, Envelope, Position
from ..schemas.events import SUMMARIES, make
from ..schemas.scope import Scope
from .projector import Projector
from .store import Store
from .summaries import week_bounds
from .tables import scopes

__all__ = ["DueWeek", "count_due", "due_weeks", "summarise_due", "summary_events"]


class DueWeek(msgspec.Struct, frozen=True, kw_only=True):
    """The next revision of a week's summary, and the last input it takes in."""

    scope: str
    summary: WeekSummarised
    covered: int
    """Dynamics offset."""


def due_weeks(store: Store, touched: Iterable[tuple[str, str]] | None = None) -> list[DueWeek]:
    """The revisions that are to be written, sorted by (scope, week).

    `touched` limits the search to the scopes named there (as `Projector.apply` returns them); by default all are looked at. A
    week whose summary would say the same again is marked as done.
    """
    names = None if touched is None else sorted({scope for scope, _ in touched})
    due: list[DueWeek] = []
    settled: list[tuple[str, str, int]] = []
    for scope, week, covered in _closed_and_touched(store, names):
        made, latest, shown = store.week_summary(scope, week)
        if shown:
            wanted = latest is None or msgspec.structs.replace(made, revision=latest.revision) != latest
        else:
            wanted = bool(made.turns or made.lines)
        if wanted:
            due.append(DueWeek(scope=scope, summary=made, covered=covered))
        else:
            settled.append((scope, week, covered))
    store.settle_weeks(settled)
    return due


def count_due(store: Store) -> int:
    """How many weeks are to be looked at; some of them may say what their summary says already."""
    return len(_closed_and_touched(store, None))


def summary_events(due: Sequence[DueWeek], *, epoch: int = 0, partition: int = 0) -> list[Envelope]:
    """The `week.summarised` events to append to the summaries topic."""
    events: list[Envelope] = []
    for item in due:
        scope = Scope.parse(item.scope)
        week, revision = item.summary.week, item.summary.revision
        events.append(
            make(
                item.summary,
                scope=scope,
                event_id=derived_id(scope.tenant, scope.subject, DEFAULT_SOURCE, week, "week.summarised", revision),
                time=week_bounds(week)[1],
                position=str(Position(epoch, partition, item.covered)),
            )
        )
    return events


def summarise_due(log: EventLog, store: Store, projector: Projector, touched: Iterable[tuple[str, str]] | None = None) -> int:
    """Appends and projects what is due; returns how many revisions were appended. Safe to repeat after a crash anywhere:
    what another process or an earlier run appended first is projected, and what it left out is due again."""
    appended = 0
    projector.apply_summaries(log)
    wanted = None if touched is None else list(touched)
    while due := due_weeks(store, wanted):
        appended += log.append_derived(SUMMARIES, summary_events(due, epoch=log.epoch))
        if not projector.apply_summaries(log):
            break
    return appended


def _closed_and_touched(store: Store, names: Sequence[str] | None) -> list[tuple[str, str, int]]:
    """(scope, week, last input) of the weeks that are closed and changed since their summary."""
    with store.reading() as (connection, t):
        w = t.weeks
        later = w.alias("later")
        query = (
            sa.select(scopes.c.key, w.c.week, w.c.touched)
            .join(scopes, scopes.c.scope_id == w.c.scope_id)
            .where(
                w.c.touched > w.c.summarised,
                sa.exists().where(later.c.scope_id == w.c.scope_id, later.c.week > w.c.week, later.c.inputs == 1),
            )
        )
        if names is None:
            rows = connection.execute(query).all()
        else:
            ids = [store.scope_number(connection, name) for name in names]
            rows = [row for number in ids for row in connection.execute(query.where(w.c.scope_id == number))]
        return sorted((key, week, covered) for key, week, covered in rows)
