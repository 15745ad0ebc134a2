"""What a week's summary is made from, and which revision of it is the newest. A summary is a function of the rows that may be
shown of that week, in an order that does not depend on when they came."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import sqlalchemy as sa

from ..processors.core.summarise import summarise_week
from ..schemas.changes import WeekSummarised
from ..schemas.times import MAX_TIME, to_text
from ..schemas.values import Value
from ..schemas.views import SummaryView, TimelineEntry
from .cells import because
from .shown import SEEN, Shown
from .shown import shown as shown_of
from .tables import Tables
from .views import timeline_entry

__all__ = [
    "closed_weeks",
    "latest_revision",
    "make_summary",
    "open_week",
    "seen_names",
    "seen_weeks",
    "week_bounds",
]


CHUNK = 500
"""Keys per IN list."""


def week_bounds(week: str) -> tuple[str, str]:
    """The first moment of an ISO week and the first one after it, UTC (the end of time for the last one there is)."""
    year, number = week.split("-W")
    monday = datetime.fromisocalendar(int(year), int(number), 1).replace(tzinfo=UTC)
    try:
        return to_text(monday), to_text(monday + timedelta(days=7))
    except OverflowError:
        return to_text(monday), MAX_TIME


def open_week(connection: sa.Connection, t: Tables, scope_id: int) -> str | None:
    """The scope's latest week by event time: the one that is still going on."""
    w = t.weeks
    query = sa.select(sa.func.max(w.c.week)).where(w.c.scope_id == scope_id, w.c.inputs == 1)
    week: str | None = connection.execute(query).scalar_one()
    return week


def closed_weeks(connection: sa.Connection, t: Tables, scope_id: int) -> list[SummaryView]:
    """The newest revision of each summarised week, in order of weeks; none that tells of what was hidden since."""
    latest: dict[str, SummaryView] = {}
    for row in connection.execute(_shown(t, scope_id)):
        latest.pop(row.week, None)
        if row.turns or row.lines != "[]":
            latest[row.week] = _view(row)
    return list(latest.values())


def _view(row: Any) -> SummaryView:
    return SummaryView(
        week=row.week,
        revision=row.revision,
        closed=True,
        turns=row.turns,
        sessions=row.sessions,
        lines=msgspec.json.decode(row.lines, type=list[str]),
    )


def latest_revision(connection: sa.Connection, t: Tables, scope_id: int, week: str) -> tuple[WeekSummarised | None, bool]:
    """The newest revision of a week's summary, and whether it may be shown."""
    s = t.summaries
    query = sa.select(s).where(s.c.scope_id == scope_id, s.c.week == week).order_by(s.c.revision.desc()).limit(1)
    row = connection.execute(query).first()
    if row is None:
        return None, False
    summary = WeekSummarised(
        week=week,
        revision=row.revision,
        turns=row.turns,
        sessions=row.sessions,
        lines=msgspec.json.decode(row.lines, type=list[str]),
        input_ids=msgspec.json.decode(row.input_ids, type=list[str]),
    )
    shown = connection.execute(_shown(t, scope_id).where(s.c.week == week, s.c.revision == row.revision)).first()
    return summary, shown is not None


def _shown(t: Tables, scope_id: int) -> sa.Select[Any]:
    s, w = t.summaries, t.weeks
    joined = sa.and_(w.c.scope_id == s.c.scope_id, w.c.week == s.c.week)
    query = sa.select(s).select_from(s.join(w, joined))
    return query.where(s.c.scope_id == scope_id, s.c.position >= w.c.hidden_at).order_by(s.c.week, s.c.revision)


def seen_weeks(connection: sa.Connection, t: Tables, shown: Shown, scope_id: int) -> list[SummaryView]:
    """The closed weeks of a scope that is seen in part, in order: made from the rows that are seen, as the summary of that week
    was made from all."""
    w = t.weeks
    last = open_week(connection, t, scope_id)
    if last is None:
        return []
    weeks = connection.execute(
        sa.select(w.c.week).where(w.c.scope_id == scope_id, w.c.week < last).order_by(w.c.week)
    ).scalars()
    made = [make_summary(connection, t, scope_id, week, 1, shown) for week in list(weeks)]
    return [
        SummaryView(week=one.week, revision=1, closed=True, turns=one.turns, sessions=one.sessions, lines=one.lines)
        for one in made
        if one.turns or one.lines
    ]


def seen_names(connection: sa.Connection, t: Tables, shown: Shown, scope_id: int, form_id: str | None = None) -> dict[str, str]:
    """What the Forms of a scope are called by those who are seen: the newest name of each."""
    n = t.names
    query = sa.select(n.c.form_id, n.c.name).where(n.c.scope_id == scope_id, *shown.names_seen)
    if form_id is not None:
        query = query.where(n.c.form_id == form_id)
    found = connection.execute(query.order_by(n.c.form_id, n.c.position, n.c.place), {SEEN: scope_id}).all()
    return {form: name for form, name in found}  # noqa: C416 - rows are no pairs


def make_summary(
    connection: sa.Connection, t: Tables, scope_id: int, week: str, revision: int, shown: Shown | None = None
) -> WeekSummarised:
    """What the week brought: every change of a slot and every episode, oldest first, one line each; of what is `shown`.

    Nothing here may depend on what a later week changes in the same rows (a Form's newest name, whether a scheduled version
    has become current), or a week would read differently whenever it is summarised again.
    """
    shown = shown_of(t, None, connection.dialect.name) if shown is None else shown
    turns_of = sa.select(t.turns).where(t.turns.c.folded == 0, *shown.turns_seen)
    turns = _of_week(connection, turns_of, t.turns, t.turns.c.event_time, scope_id, week)
    found = _of_week(connection, shown.entries, t.timeline, t.timeline.c.occurred_at, scope_id, week)
    entries = [timeline_entry(row) for row in found]
    changes = sa.select(t.versions, shown.tells_before.label("tells_before")).where(*shown.versions_seen)
    versions = _of_week(connection, changes, t.versions, t.versions.c.event_time, scope_id, week)
    keys = _form_keys(connection, t, scope_id, [row.form_id for row in versions])
    if shown.sources is not None:
        names = seen_names(connection, t, shown, scope_id)
        keys = {form_id: key if key in ("self", "scope") else names.get(form_id, "") for form_id, key in keys.items()}
    told = {(entry.input_id, entry.form_id, entry.slot) for entry in entries if entry.slot}
    lines = [_entry(entry.entry_id, entry.occurred_at, entry.kind, entry.text, entry.input_id, entry) for entry in entries]
    lines += [
        _entry(
            f"{row.form_id}:{row.slot}:{row.version}",
            row.event_time,
            "statement",
            version_line(row, keys.get(row.form_id, "")),
            row.input_id,
        )
        for row in versions
        if (row.input_id, row.form_id, row.slot) not in told
    ]
    return summarise_week(
        week,
        lines,
        turns=len(turns),
        sessions=len({row.session for row in turns}),
        revision=revision,
        input_ids=[event_id for _, event_id in sorted((row.event_time, row.event_id) for row in turns)],
    )


def _entry(entry_id: str, moment: str, kind: str, text: str, input_id: str, row: Any = None) -> TimelineEntry:
    return TimelineEntry(
        entry_id=entry_id,
        occurred_at=moment,
        kind=kind,
        text=text,
        actor=row.actor if row is not None else "",
        action=row.action if row is not None else "",
        object=row.object if row is not None else "",
        before="",
        after="",
        cause="",
        form_id="",
        slot="",
        input_id=input_id,
        session="",
        evidence=[],
    )


def version_line(row: Any, key: str) -> str:
    """`apollo budget: 5000 USD → 8000 USD (because of a new vendor)`; the user's own slots go without a name."""
    # A person known by relation alone has the key `relation:sister`.
    about = {"": row.form_type, "scope": row.form_type, "self": ""}.get(key, key.removeprefix("relation:"))
    before, after = _shown_value(row.before if row.tells_before else None), _shown_value(row.value)
    if row.status == "retired":
        change = f"no longer {after or before}" if after or before else "emptied"
    elif before:
        change = f"{before} → {after}"
    else:
        change = after
    since = f" from {row.valid_from[:10]}" if row.valid_from > row.event_time else ""
    return because(f"{about} {row.slot}: {change}{since}".strip(), row.cause)


def _shown_value(text: str | None) -> str:
    return "" if text is None else msgspec.json.decode(text, type=Value).shown


def _of_week(
    connection: sa.Connection, query: sa.Select[Any], table: sa.Table, moment: sa.Column[Any], scope_id: int, week: str
) -> list[Any]:
    start, end = week_bounds(week)
    inside = query.where(table.c.scope_id == scope_id, moment >= start, moment < end)
    return list(connection.execute(inside, {SEEN: scope_id}))


def _form_keys(connection: sa.Connection, t: Tables, scope_id: int, form_ids: Sequence[str]) -> dict[str, str]:
    wanted = sorted(set(form_ids))
    keys: dict[str, str] = {}
    for start in range(0, len(wanted), CHUNK):
        query = sa.select(t.forms.c.form_id, t.forms.c.key).where(
            t.forms.c.scope_id == scope_id, t.forms.c.form_id.in_(wanted[start : start + CHUNK])
        )
        keys |= {form_id: key for form_id, key in connection.execute(query).all()}  # noqa: C416 - rows are no pairs
    return keys
