"""What an audit reads of the read models: rows as they lie there, hidden ones too, so that it can say of something that it is
hidden. Words are taken from rows alone that are not: what hiding has blanked there is blank in an audit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from ..projections.base import CHUNK
from ..projections.called import called
from ..projections.store import Store
from ..projections.summaries import open_week
from ..projections.tables import Tables
from ..schemas.scope import Scope
from ..schemas.values import Value

__all__ = ["Rows"]

_UNNAMED = ("self", "scope", "current")


class Rows:
    """The rows of one scope, in one snapshot."""

    def __init__(self, store: Store, scope: Scope, connection: sa.Connection, tables: Tables) -> None:
        self.store, self.scope, self.connection, self.tables = store, scope, connection, tables
        self.number = store.scope_number(connection, scope)
        self._hidden_slots: set[tuple[str, str]] | None = None
        self._names: dict[str, str] = {}

    def _first(self, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> Any:
        return self.connection.execute(sa.select(table).where(table.c.scope_id == self.number, *conditions).limit(1)).first()

    def version(self, form_id: str, slot: str, version: int) -> Any:
        v = self.tables.versions
        return self._first(v, v.c.form_id == form_id, v.c.slot == slot, v.c.version == version)

    def standing(self, form_id: str, slot: str | None = None) -> list[Any]:
        """(slot, version) of what stands, or is scheduled, in a Form's slots."""
        s = self.tables.slots
        query = sa.select(s.c.slot, s.c.version).where(s.c.scope_id == self.number, s.c.form_id == form_id)
        if slot is not None:
            query = query.where(s.c.slot == slot)
        return list(self.connection.execute(query.order_by(s.c.slot, s.c.element, s.c.lane)))

    def stands(self, form_id: str, slot: str, version: int) -> bool:
        """Whether a version is what holds now."""
        s = self.tables.slots
        return self._first(s, s.c.form_id == form_id, s.c.slot == slot, s.c.version == version, s.c.lane == 0) is not None

    def latest(self, form_id: str, slot: str) -> int | None:
        """The newest version of a slot that may be shown."""
        v = self.tables.versions
        mine = (v.c.scope_id == self.number, v.c.form_id == form_id, v.c.slot == slot)
        found: int | None = self.connection.execute(sa.select(sa.func.max(v.c.version)).where(*mine)).scalar_one()
        return found

    def slots(self, form_id: str) -> list[str]:
        """The slots of a Form that ever had a version."""
        v = self.tables.versions
        query = sa.select(v.c.slot).where(v.c.scope_id == self.number, v.c.form_id == form_id).distinct()
        return list(self.connection.execute(query.order_by(v.c.slot)).scalars())

    def evidence(self, form_id: str, slot: str, version: int) -> list[str]:
        """The turns that a version's evidence names."""
        e = self.tables.evidence
        mine = (e.c.scope_id == self.number, e.c.form_id == form_id, e.c.slot == slot, e.c.version == version)
        return list(dict.fromkeys(self.connection.execute(sa.select(e.c.turn_id).where(*mine).order_by(e.c.seq)).scalars()))

    def edge(self, edge_id: str) -> Any:
        return self._first(self.tables.edges, self.tables.edges.c.edge_id == edge_id)

    def pending(self, pending_id: str) -> Any:
        return self._first(self.tables.pending, self.tables.pending.c.pending_id == pending_id)

    def asked(self, pending_id: str) -> tuple[str, str] | None:
        """(form type, slot) of a question."""
        row = self.pending(pending_id)
        return None if row is None else (row.form_type, row.slot)

    def entry(self, entry_id: str) -> Any:
        return self._first(self.tables.timeline, self.tables.timeline.c.entry_id == entry_id)

    def form(self, form_id: str) -> Any:
        return self._first(self.tables.forms, self.tables.forms.c.form_id == form_id)

    def name(self, form_id: str) -> str:
        """What a Form is called, where it may be told: not where all who called it so are hidden."""
        if form_id not in self._names:
            self._names[form_id] = self._name(form_id)
        return self._names[form_id]

    def _name(self, form_id: str) -> str:
        row = self.form(form_id)
        if row is None or row.hidden:
            return ""
        if row.key in _UNNAMED and row.name in ("user", row.key, row.form_type):
            return str(row.name)  # nobody has called it so
        told, _ = called(self.connection, self.tables, self.number, [form_id]).form(row)
        return "" if told != row.name or self._is_hidden_value(form_id, row.name) else row.name or row.key

    def _is_hidden_value(self, form_id: str, name: str) -> bool:
        """Whether a name is a value of the Form that was hidden, and none that may be shown."""
        v = self.tables.versions
        query = sa.select(v.c.hidden, v.c.value).where(v.c.scope_id == self.number, v.c.form_id == form_id)
        named = [row.hidden for row in self.connection.execute(query) if row.value and _shown(row.value) == name]
        return bool(named) and all(named)

    def calls(self, text: str, form_ids: Iterable[str]) -> bool:
        """Whether a text calls one of some Forms by a name that may not be told."""
        for form_id in form_ids:
            row = self.form(form_id)
            if row is None or row.key in _UNNAMED or self.name(form_id):
                continue
            if any(word and word.casefold() in text.casefold() for word in (row.name, row.key)):
                return True
        return False

    def turn(self, offset: int) -> Any:
        return self._first(self.tables.turns, self.tables.turns.c.position == offset)

    def rejected(self, offset: int, place: int) -> Any:
        r = self.tables.rejected
        return self._first(r, r.c.position == offset, r.c.place == place)

    def summary(self, week: str) -> Any:
        """The newest revision of a week's summary that may be shown."""
        s, w = self.tables.summaries, self.tables.weeks
        joined = sa.and_(w.c.scope_id == s.c.scope_id, w.c.week == s.c.week)
        query = sa.select(s).select_from(s.join(w, joined)).where(s.c.scope_id == self.number, s.c.week == week)
        return self.connection.execute(
            query.where(s.c.position >= w.c.hidden_at).order_by(s.c.revision.desc()).limit(1)
        ).first()

    def weeks(self) -> list[str]:
        """The scope's weeks, in order."""
        w = self.tables.weeks
        query = sa.select(w.c.week).where(w.c.scope_id == self.number, w.c.inputs == 1).order_by(w.c.week)
        return list(self.connection.execute(query).scalars())

    def week_now(self) -> str | None:
        """The week that is going on."""
        return open_week(self.connection, self.tables, self.number)

    def hidden_since(self, week: str) -> int:
        """The dynamics offset at which something of a week was hidden last; -1 where nothing was."""
        row = self._first(self.tables.weeks, self.tables.weeks.c.week == week)
        return -1 if row is None else int(row.hidden_at)

    def inputs(self, event_ids: Iterable[str]) -> dict[str, list[tuple[int, str]]]:
        """(offset, source) of the inputs of these ids, the oldest first; several sources may have used one id."""
        i = self.tables.inputs
        found: dict[str, list[tuple[int, str]]] = {}
        wanted = sorted(set(event_ids))
        for start in range(0, len(wanted), CHUNK):
            part = wanted[start : start + CHUNK]
            query = sa.select(i.c.event_id, i.c.position, i.c.source).where(i.c.scope_id == self.number, i.c.event_id.in_(part))
            for event_id, position, source in self.connection.execute(query.order_by(i.c.position)):
                found.setdefault(event_id, []).append((position, source))
        return found

    def after(self, offset: int, limit: int) -> list[int]:
        """The offsets of the scope's next inputs."""
        i = self.tables.inputs
        query = sa.select(i.c.position).where(i.c.scope_id == self.number, i.c.position > offset).order_by(i.c.position)
        return list(self.connection.execute(query.limit(limit)).scalars())

    def heard_of(self, form_ids: Sequence[str], *, after: int = -1, limit: int | None = None) -> list[int]:
        """The offsets of the inputs in which all of these Forms were heard of, after an offset, in order."""
        m, i = self.tables.mentions, self.tables.inputs
        query = sa.select(i.c.position).where(i.c.scope_id == self.number, i.c.position > after)
        for form_id in form_ids:
            query = query.where(
                i.c.event_id.in_(sa.select(m.c.event_id).where(m.c.scope_id == self.number, m.c.form_id == form_id))
            )
        return list(self.connection.execute(query.order_by(i.c.position).limit(limit)).scalars())

    def answered(self, pending_id: str) -> list[int]:
        """The offsets of the inputs that closed a question."""
        m, i = self.tables.mentions, self.tables.inputs
        named = sa.select(m.c.event_id).where(m.c.scope_id == self.number, m.c.pending_id == pending_id)
        query = sa.select(i.c.position).where(i.c.scope_id == self.number, i.c.event_id.in_(named))
        return list(self.connection.execute(query.order_by(i.c.position)).scalars())

    def named(self, form_id: str) -> list[int]:
        """The offsets of the inputs that gave a Form its names."""
        n = self.tables.names
        query = sa.select(n.c.position).where(n.c.scope_id == self.number, n.c.form_id == form_id).distinct()
        return list(self.connection.execute(query.order_by(n.c.position)).scalars())

    def commands(self, after: int = -1, limit: int | None = None) -> list[int]:
        """The offsets of the scope's inputs that are no turns, behind an offset."""
        i, t = self.tables.inputs, self.tables.turns
        said = sa.exists().where(t.c.scope_id == i.c.scope_id, t.c.position == i.c.position)
        query = sa.select(i.c.position).where(i.c.scope_id == self.number, i.c.position > after, sa.not_(said))
        return list(self.connection.execute(query.order_by(i.c.position).limit(limit)).scalars())

    def hidden_slots(self) -> set[tuple[str, str]]:
        """(form type, slot) of every slot in which something is hidden."""
        if self._hidden_slots is None:
            v = self.tables.versions
            query = sa.select(v.c.form_type, v.c.slot).where(v.c.scope_id == self.number, v.c.hidden == 1).distinct()
            self._hidden_slots = {(form_type, slot) for form_type, slot in self.connection.execute(query)}
        return self._hidden_slots


def _shown(text: str) -> str:
    return msgspec.json.decode(text, type=Value).shown
