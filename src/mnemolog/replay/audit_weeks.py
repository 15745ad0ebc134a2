"""Which rows the lines of a week's summary tell of: a summary keeps its lines alone; they are found again in the rows that it
was made from."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from ..projections.summaries import make_summary, version_line, week_bounds
from ..schemas.values import normal_text
from .audit_items import HIDDEN
from .audit_links import audit_id
from .audit_rows import Rows

__all__ = ["Week", "week_of"]

_TAIL = re.compile(r"(?: on \d+ days|, \d+ times|（\d+[天次]）)$")
_DAY = 11
"""Characters of `2026-05-07 ` before a line's words."""


class Week(NamedTuple):
    """A week's summary, as it is shown. `revision` 0: it is still going on. `rests`: of each line, the memories that it tells
    of."""

    week: str
    revision: int
    turns: int
    sessions: int
    lines: list[str]
    input_ids: list[str]
    rests: list[list[str]]


class _Told(NamedTuple):
    id: str
    text: str
    group: tuple[str, ...]
    form_id: str


def week_of(rows: Rows, week: str) -> Week | None:
    """The summary of a week; None where there is none that may be shown."""
    if week not in rows.weeks():
        return None
    row = rows.summary(week) if week != rows.week_now() else None
    if row is not None:
        lines = msgspec.json.decode(row.lines, type=list[str])
        inputs = msgspec.json.decode(row.input_ids, type=list[str])
        made = (row.revision, row.turns, row.sessions)
    else:
        now = make_summary(rows.connection, rows.tables, rows.number, week, 0)
        lines, inputs, made = now.lines, now.input_ids, (0, now.turns, now.sessions)
    if not lines and not inputs:
        return None
    told = [*_entries(rows, week), *_versions(rows, week)]
    rests = [_rests(line, told) for line in lines]
    shown = [
        HIDDEN if rows.calls(line, {one.form_id for one in found}) else line for line, found in zip(lines, rests, strict=True)
    ]
    return Week(week, *made, shown, inputs, [[one.id for one in found] for found in rests])


def _rests(line: str, told: list[_Told]) -> list[_Told]:
    words = normal_text(_TAIL.sub("", line[_DAY:]))
    cut = words.endswith("…")
    found = [one for one in told if (one.text.startswith(words[:-1]) if cut else one.text == words)]
    ids, groups = {one.id for one in found}, {one.group for one in found if one.group}
    return [one for one in told if one.id in ids or one.group in groups]


def _entries(rows: Rows, week: str) -> list[_Told]:
    t = rows.tables.timeline
    return [
        _Told(audit_id("event", rows.scope, row.entry_id), normal_text(row.text), _group(row), row.form_id)
        for row in _of_week(rows, t, t.c.occurred_at, week)
    ]


def _group(row: Any) -> tuple[str, ...]:
    """What happens on many days is told once."""
    if row.kind in ("decision", "cancelled") or not (row.action or row.object):
        return ()
    return (row.kind, *(normal_text(part) for part in (row.actor, row.action, row.object)))


def _versions(rows: Rows, week: str) -> list[_Told]:
    v = rows.tables.versions
    found: list[_Told] = []
    for row in _of_week(rows, v, v.c.event_time, week):
        form = rows.form(row.form_id)
        text = version_line(row, "" if form is None else form.key)
        found.append(
            _Told(audit_id("slot", rows.scope, row.form_id, row.slot, row.version), normal_text(text), (), row.form_id)
        )
    return found


def _of_week(rows: Rows, table: sa.Table, moment: sa.Column[Any], week: str) -> list[Any]:
    start, end = week_bounds(week)
    query = sa.select(table, sa.true().label("tells_before")).where(table.c.scope_id == rows.number, table.c.hidden == 0)
    return list(rows.connection.execute(query.where(moment >= start, moment < end).order_by(moment)))
