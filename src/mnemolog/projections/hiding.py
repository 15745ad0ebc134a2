"""Hiding: what is no longer to be answered with. The rows stay (the log still holds the events) but no read returns them,
and what other rows quote of a hidden turn is blanked, so that its content survives in no read model."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from ..schemas.changes import Hidden
from ..schemas.observations import Evidence
from ..schemas.times import iso_week
from ..schemas.values import Value
from .called import forget_names
from .repeats import repeats
from .tables import Tables

__all__ = ["hide"]


def hide(connection: sa.Connection, tables: Tables, scope_id: int, offset: int, change: Hidden) -> list[str]:
    """Hides the target's rows and returns the ISO weeks whose summaries may have told of them, sorted.

    `offset` is the dynamics offset of the input that asked for it.
    """
    work = _Hiding(connection, tables, scope_id)
    if change.target == "scope":
        work.scope(offset)
    elif change.target == "form":
        work.form(change.target_id)
    elif change.target == "slot":
        work.slot(change.target_id, change.slot)
    else:
        work.turn(change.target_id)
    return sorted(work.weeks)


class _Hiding:
    def __init__(self, connection: sa.Connection, tables: Tables, scope_id: int) -> None:
        self._connection = connection
        self._t = tables
        self._scope_id = scope_id
        self.weeks: set[str] = set()

    def scope(self, offset: int) -> None:
        t = self._t
        for table in (t.forms, t.versions, t.timeline, t.edges, t.pending, t.turns, t.rejected, t.names):
            self._connection.execute(sa.update(table).where(table.c.scope_id == self._scope_id).values(hidden=1))
        for table in (t.slots, t.evidence, t.deadlines):
            self._connection.execute(sa.delete(table).where(table.c.scope_id == self._scope_id))
        # No new revision of an empty week: it is due again only when something new falls into it. One that nothing has fallen
        # into is known from a summary that came early; what that tells of is newer than this.
        self._connection.execute(
            sa.update(t.weeks)
            .where(t.weeks.c.scope_id == self._scope_id, t.weeks.c.touched >= 0)
            .values(hidden_at=offset, touched=-1, inputs=0)
        )

    def form(self, form_id: str) -> None:
        t = self._t
        self._mark(t.forms, t.forms.c.form_id == form_id)
        self._versions(t.versions.c.form_id == form_id)
        self._timeline(t.timeline.c.form_id == form_id)
        self._mark(t.pending, t.pending.c.form_id == form_id)
        self._mark(t.edges, sa.or_(t.edges.c.from_form == form_id, t.edges.c.to_form == form_id))
        self._mark(t.names, t.names.c.form_id == form_id)

    def slot(self, form_id: str, slot: str) -> None:
        t = self._t
        here = sa.and_(t.versions.c.form_id == form_id, t.versions.c.slot == slot)
        self._versions(here)
        self._names_of_values(here)
        self._timeline(sa.and_(t.timeline.c.form_id == form_id, t.timeline.c.slot == slot))
        self._mark(t.pending, sa.and_(t.pending.c.form_id == form_id, t.pending.c.slot == slot))

    def turn(self, event_id: str) -> None:
        """The turn, what was said in it, and every version that rests on it alone."""
        t = self._t
        said = t.turns.c.event_id == event_id
        for (moment,) in self._connection.execute(
            sa.select(t.turns.c.event_time).where(t.turns.c.scope_id == self._scope_id, said)
        ):
            self.weeks.add(iso_week(moment))
        self._mark(t.turns, said)
        self._connection.execute(sa.update(t.turns).where(t.turns.c.scope_id == self._scope_id, said).values(terms=""))
        self._mark(t.rejected, t.rejected.c.input_id == event_id)
        self._timeline(t.timeline.c.input_id == event_id)
        for table in (t.timeline, t.edges, t.pending):
            self._strip_json(table, event_id)
        self._unsupported(event_id)
        forget_names(self._connection, t, self._scope_id, event_id=event_id)

    def _unsupported(self, event_id: str) -> None:
        t = self._t
        e, v = t.evidence, t.versions
        rows = self._connection.execute(
            sa.select(e.c.form_id, e.c.slot, e.c.version, sa.func.count())
            .where(e.c.scope_id == self._scope_id, e.c.turn_id == event_id)
            .group_by(e.c.form_id, e.c.slot, e.c.version)
            .order_by(e.c.form_id, e.c.slot, e.c.version)
        ).all()
        self._connection.execute(sa.delete(e).where(e.c.scope_id == self._scope_id, e.c.turn_id == event_id))
        for form_id, slot, version, pieces in rows:
            one = sa.and_(v.c.form_id == form_id, v.c.slot == slot, v.c.version == version)
            self._connection.execute(sa.update(v).where(v.c.scope_id == self._scope_id, one).values(pieces=v.c.pieces - pieces))
            self._versions(sa.and_(one, v.c.pieces <= 0))
        self._versions(v.c.input_id == event_id)

    def _versions(self, condition: sa.ColumnElement[bool]) -> None:
        """Hides versions, takes them out of their slots, and blanks what their successors quote of them."""
        v, s, t = self._t.versions, self._t.slots, self._t.timeline
        rows = self._connection.execute(
            sa.select(v.c.form_id, v.c.slot, v.c.element, v.c.version, v.c.value, v.c.event_time).where(
                v.c.scope_id == self._scope_id, condition
            )
        ).all()
        self._mark(v, condition)
        for form_id, slot, element, version, value, moment in rows:
            self.weeks.add(iso_week(moment))
            self._connection.execute(
                sa.delete(s).where(
                    s.c.scope_id == self._scope_id,
                    s.c.form_id == form_id,
                    s.c.slot == slot,
                    s.c.element == element,
                    s.c.version == version,
                )
            )
            self._connection.execute(
                sa.update(v)
                .where(v.c.scope_id == self._scope_id, v.c.form_id == form_id, v.c.slot == slot, v.c.supersedes == version)
                .values(before=None)
            )
            if value is not None:
                self._ended_by_hand(form_id, slot, element, version, value)
                shown = msgspec.json.decode(value, type=Value).shown
                same = sa.and_(t.c.form_id == form_id, t.c.slot == slot, t.c.before == shown)
                self._timeline_before(same, shown)
                self._repeats(form_id, slot, element, msgspec.json.decode(value, type=Value))

    def _ended_by_hand(self, form_id: str, slot: str, element: str, version: int, value: str) -> None:
        """Whatever ended a hidden value without words of its own goes with it, and what took its place at once forgets it."""
        v, e = self._t.versions, self._t.evidence
        here = sa.and_(v.c.form_id == form_id, v.c.slot == slot)
        own = (e.c.scope_id == v.c.scope_id, e.c.form_id == v.c.form_id, e.c.slot == v.c.slot, e.c.version == v.c.version)
        ended = sa.and_(v.c.element == element, v.c.supersedes == version, v.c.status == "retired", v.c.value == value)
        rows = self._connection.execute(
            sa.select(v.c.version, v.c.position).where(
                v.c.scope_id == self._scope_id, here, ended, v.c.hidden == 0, ~sa.exists().where(*own)
            )
        ).all()
        for number, position in rows:
            self._versions(sa.and_(here, v.c.version == number))
            self._connection.execute(
                sa.update(v)
                .where(v.c.scope_id == self._scope_id, here, v.c.position == position, v.c.before == value)
                .values(before=None)
            )

    def _repeats(self, form_id: str, slot: str, element: str, value: Value) -> None:
        """What only repeats a value that nobody says any more goes with it."""
        t, v = self._t, self._t.versions
        found = repeats(self._connection, t, self._scope_id, form_id, slot, element, value)
        here = sa.and_(v.c.form_id == form_id, v.c.slot == slot)
        if found.before:
            blanked = sa.update(v).where(v.c.scope_id == self._scope_id, here, v.c.version.in_(found.before))
            self._connection.execute(blanked.values(before=None))
        for position, place in found.entries:
            self._timeline(sa.and_(t.timeline.c.position == position, t.timeline.c.place == place))
        if found.pending:
            self._mark(t.pending, t.pending.c.pending_id.in_(found.pending))
        if found.versions:
            self._versions(sa.and_(here, v.c.version.in_(found.versions)))

    def _names_of_values(self, condition: sa.ColumnElement[bool]) -> None:
        """Names that were values which are hidden now."""
        v = self._t.versions
        query = sa.select(v.c.form_id, v.c.position, v.c.value).where(
            v.c.scope_id == self._scope_id, v.c.value.is_not(None), condition
        )
        names: list[tuple[str, int, str]] = []
        for form_id, position, text in self._connection.execute(query).all():
            value = msgspec.json.decode(text, type=Value)
            names += [(form_id, position, name) for name in (value.shown, value.data) if isinstance(name, str)]
        forget_names(self._connection, self._t, self._scope_id, values=names)

    def _timeline_before(self, condition: sa.ColumnElement[bool], shown: str) -> None:
        """Entries that tell the change away from a hidden value keep only what it changed to."""
        t = self._t.timeline
        rows = self._connection.execute(
            sa.select(t.c.position, t.c.place, t.c.text, t.c.occurred_at).where(t.c.scope_id == self._scope_id, condition)
        ).all()
        for position, place, text, moment in rows:
            self.weeks.add(iso_week(moment))
            self._connection.execute(
                sa.update(t)
                .where(t.c.scope_id == self._scope_id, t.c.position == position, t.c.place == place)
                .values(before="", text=text.replace(shown, "…"))
            )

    def _timeline(self, condition: sa.ColumnElement[bool]) -> None:
        t = self._t.timeline
        for (moment,) in self._connection.execute(sa.select(t.c.occurred_at).where(t.c.scope_id == self._scope_id, condition)):
            self.weeks.add(iso_week(moment))
        self._mark(t, condition)

    def _strip_json(self, table: sa.Table, event_id: str) -> None:
        """Rows that quote the turn: hidden where it is all they rest on, else without its quotes."""
        keys = list(table.primary_key)
        quoted = msgspec.json.encode(event_id).decode()
        rows = self._connection.execute(
            sa.select(*keys, table.c.evidence).where(
                table.c.scope_id == self._scope_id,
                table.c.hidden == 0,
                sa.or_(table.c.input_id == event_id, table.c.evidence.contains(quoted, autoescape=True)),
            )
        ).all()
        for row in rows:
            pieces = msgspec.json.decode(row[-1], type=list[Evidence])
            kept = [piece for piece in pieces if piece.turn_id != event_id]
            here = sa.and_(*(column == value for column, value in zip(keys, row[:-1], strict=True)))
            if kept and len(kept) < len(pieces):
                self._connection.execute(sa.update(table).where(here).values(evidence=msgspec.json.encode(kept).decode()))
            elif not kept:
                if table is self._t.timeline:
                    self._timeline(here)
                else:
                    self._mark(table, here)

    def _mark(self, table: sa.Table, condition: sa.ColumnElement[bool]) -> None:
        self._connection.execute(sa.update(table).where(table.c.scope_id == self._scope_id, condition).values(hidden=1))
