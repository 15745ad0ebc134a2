"""What a view lets through, as conditions on rows: they stand in the query itself, so that what is not seen is never read.

A row rests on the input that its change was decided at, on every other input that the change quotes, and, where it ends or
restates a value, on the version that had it: all of their sources must be seen. Whatever cannot be told is not shown.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import sqlalchemy as sa

from ..schemas.access import Sight
from .tables import Tables

__all__ = ["SCOPE", "SEEN", "Shown", "shown"]

Condition = sa.ColumnElement[bool]
SEEN = "seen_scope"
SCOPE: sa.BindParameter[int] = sa.bindparam(SEEN, type_=sa.BigInteger)
"""The number of the scope that is read: named in each subquery, so that none looks through other scopes' rows."""
_LINKS = 3
"""Versions that restate versions are followed so far; beyond it they are not shown."""
_UNNAMED = ("self", "scope")


class Shown:
    """The conditions on the rows of one version of the tables; without a sight only what was hidden is left out."""

    def __init__(self, t: Tables, sight: Sight | None, dialect: str) -> None:
        self._t = t
        self._dialect = dialect
        self.form_types = None if sight is None or sight.form_types is None else sorted(sight.form_types)
        self.sources = None if sight is None or sight.sources is None else sorted(sight.sources)

    @property
    def whole(self) -> bool:
        """Nothing but what was hidden is left out."""
        return self.form_types is None and self.sources is None

    # Made once: what is made of many parts takes longer to make than to ask.
    @cached_property
    def forms_seen(self) -> list[Condition]:
        return self.forms()

    @cached_property
    def versions_seen(self) -> list[Condition]:
        return self.versions()

    @cached_property
    def tells_before(self) -> Condition:
        """Of versions."""
        return self.before(self._t.versions)

    @cached_property
    def evidence_seen(self) -> list[Condition]:
        return self.evidence(self._t.evidence)

    @cached_property
    def edges_seen(self) -> list[Condition]:
        return self.edges()

    @cached_property
    def pending_seen(self) -> list[Condition]:
        return self.pending()

    @cached_property
    def turns_seen(self) -> list[Condition]:
        return self.turns()

    @cached_property
    def names_seen(self) -> list[Condition]:
        return self.names(self._t.names)

    @cached_property
    def entries(self) -> sa.Select[Any]:
        """Entries of the timeline that are seen, each with whether it may tell what was there before."""
        t = self._t.timeline
        tells = self.before(t)
        if self.sources is not None:
            # What was there before a change that came true by itself, nobody can tell any more: it is not told.
            tells = sa.and_(tells, sa.or_(t.c.form_id == "", self.has_version(t)))
        return sa.select(t, tells.label("tells_before")).where(*self.timeline())

    # -- rows by table -------------------------------------------------------------------------------------------------

    def forms(self, f: sa.FromClause | None = None) -> list[Condition]:
        """A Form that somebody seen has called by a name, or said something about."""
        f = self._t.forms if f is None else f
        found = [f.c.hidden == 0]
        if self.form_types is not None:
            found.append(f.c.form_type.in_(self.form_types))
        if self.sources is not None:
            v, n = self._t.versions.alias(), self._t.names.alias()
            said = sa.exists().where(v.c.scope_id == SCOPE, v.c.form_id == f.c.form_id, *self.versions(v))
            called = sa.exists().where(n.c.scope_id == SCOPE, n.c.form_id == f.c.form_id, *self.names(n))
            found.append(sa.or_(called, said))
        return found

    def versions(self, v: sa.FromClause | None = None, links: int = _LINKS) -> list[Condition]:
        v = self._t.versions if v is None else v
        return [v.c.hidden == 0, *self._version(v, links)]

    def _version(self, v: sa.FromClause, links: int) -> list[Condition]:
        found: list[Condition] = []
        if self.form_types is not None:
            found.append(v.c.form_type.in_(self.form_types))
        if self.sources is not None:
            restated = sa.and_(v.c.before.is_not(None), v.c.value.is_not(None), v.c.before == v.c.value)
            alone = sa.or_(v.c.supersedes.is_(None), sa.not_(sa.or_(v.c.status == "retired", restated)))
            found += self._change(v)
            found.append(sa.or_(alone, self._superseded(v, links - 1)) if links else alone)
        return found

    def _superseded(self, v: sa.FromClause, links: int) -> Condition:
        """What the version took the place of is seen."""
        old = self._t.versions.alias()
        same = (old.c.scope_id == SCOPE, old.c.form_id == v.c.form_id, old.c.slot == v.c.slot)
        return sa.exists().where(*same, old.c.version == v.c.supersedes, *self._version(old, links))

    def before(self, row: sa.FromClause) -> Condition:
        """Whether what was there before the change of a version or timeline entry may be told: everything that the same
        decision replaced in that slot is seen."""
        if self.sources is None:
            return sa.true()
        v = self._t.versions.alias()
        here = (v.c.scope_id == SCOPE, v.c.form_id == row.c.form_id, v.c.slot == row.c.slot)
        unseen = sa.exists().where(
            *here, v.c.position == row.c.position, v.c.supersedes.is_not(None), sa.not_(self._superseded(v, _LINKS))
        )
        return sa.not_(unseen)

    def has_version(self, row: sa.FromClause) -> Condition:
        """Whether the same decision made a version of the entry's slot; one that came true by itself was made before."""
        v = self._t.versions.alias()
        here = (v.c.scope_id == SCOPE, v.c.form_id == row.c.form_id, v.c.slot == row.c.slot)
        return sa.exists().where(*here, v.c.position == row.c.position)

    def evidence(self, e: sa.FromClause) -> list[Condition]:
        """Quotes of inputs that are seen; where several sources used one id, all of them must be."""
        if self.sources is None:
            return []
        return [self._known(e.c.turn_id, seen=True), sa.not_(self._known(e.c.turn_id, seen=False))]

    def timeline(self, row: sa.FromClause | None = None) -> list[Condition]:
        row = self._t.timeline if row is None else row
        found = [row.c.hidden == 0]
        if self.form_types is not None:
            f = self._t.forms.alias()
            form = (f.c.scope_id == SCOPE, f.c.form_id == row.c.form_id)
            typed = sa.exists().where(*form, f.c.form_type.in_(self.form_types))
            spoken = sa.and_(row.c.form_id == "", sa.not_(self._mentions(row.c.input_id)))
            found.append(sa.or_(typed, spoken))
        if self.sources is not None:
            found += [*self._change(row), self._unnamed(row, row.c.text)]
        return found

    def edges(self) -> list[Condition]:
        """Both ends must be seen."""
        e = self._t.edges
        found = [e.c.hidden == 0]
        if self.form_types is not None or self.sources is not None:
            for end in (e.c.from_form, e.c.to_form):
                f = self._t.forms.alias()
                found.append(sa.exists().where(f.c.scope_id == SCOPE, f.c.form_id == end, *self.forms(f)))
        return found if self.sources is None else [*found, *self._change(e)]

    def pending(self) -> list[Condition]:
        """Open questions."""
        p = self._t.pending
        found = [p.c.hidden == 0, p.c.closed == ""]
        if self.form_types is not None:
            found.append(p.c.form_type.in_(self.form_types))
        if self.sources is not None:
            found += [*self._change(p), self._unnamed(p, p.c.question)]
        return found

    def turns(self, row: sa.FromClause | None = None) -> list[Condition]:
        """Turns of the sources that are seen, in which no Form was heard of that is of another type than those that are."""
        row = self._t.turns if row is None else row
        found = [row.c.hidden == 0]
        if self.form_types is not None:
            found.append(sa.not_(self._mentions(row.c.event_id)))
        if self.sources is not None:
            found.append(row.c.source.in_(self.sources))
        return found

    def names(self, n: sa.FromClause) -> list[Condition]:
        """Names that Forms were given by somebody who is seen, and by nobody else before (a Form may be called again what it is
        called already)."""
        if self.sources is None:
            return [n.c.hidden == 0]
        first = self._t.names.alias()
        same = (first.c.scope_id == SCOPE, first.c.form_id == n.c.form_id, first.c.name == n.c.name)
        unseen = sa.exists().where(*same, first.c.position < n.c.position, sa.not_(sa.and_(*self._change(first))))
        return [n.c.hidden == 0, *self._change(n), sa.not_(unseen)]

    def rejected(self) -> list[Condition]:
        r = self._t.rejected
        found = [r.c.hidden == 0]
        if self.form_types is not None:
            found.append(sa.not_(self._mentions(r.c.input_id)))
        return found if self.sources is None else [*found, *self._change(r)]

    def deadlines(self) -> list[Condition]:
        """Those of versions that are seen."""
        if self.form_types is None and self.sources is None:
            return []
        d, v = self._t.deadlines, self._t.versions.alias()
        same = (v.c.scope_id == SCOPE, v.c.form_id == d.c.form_id, v.c.slot == d.c.slot, v.c.version == d.c.version)
        return [sa.exists().where(*same, *self.versions(v))]

    # -- what they rest on ---------------------------------------------------------------------------------------------

    def _change(self, row: sa.FromClause) -> list[Condition]:
        """The change's input, and whatever else it quotes, is of sources that are seen."""
        own, rests, quoted = self._t.inputs.alias(), self._t.rests.alias(), self._t.inputs.alias()
        seen = sa.exists().where(
            own.c.scope_id == SCOPE, own.c.position == row.c.position, own.c.source.in_(self.sources or [])
        )
        joined = sa.and_(quoted.c.scope_id == SCOPE, quoted.c.event_id == rests.c.event_id)
        unseen = (
            sa.exists()
            .select_from(rests.join(quoted, joined))
            .where(
                rests.c.scope_id == SCOPE,
                rests.c.position == row.c.position,
                rests.c.place == row.c.place,
                quoted.c.source.not_in(self.sources or []),
            )
        )
        return [seen, sa.not_(unseen)]

    def _known(self, event_id: Any, *, seen: bool) -> Condition:
        i = self._t.inputs.alias()
        wanted = i.c.source.in_(self.sources or []) if seen else i.c.source.not_in(self.sources or [])
        return sa.exists().where(i.c.scope_id == SCOPE, i.c.event_id == event_id, wanted)

    def _mentions(self, event_id: Any) -> Condition:
        """Something of another type than those that are seen was heard of in that input."""
        m, f, p = self._t.mentions.alias(), self._t.forms.alias(), self._t.pending.alias()
        joined = m.outerjoin(f, sa.and_(f.c.scope_id == SCOPE, f.c.form_id == m.c.form_id)).outerjoin(
            p, sa.and_(p.c.scope_id == SCOPE, p.c.pending_id == m.c.pending_id)
        )
        form_type = sa.func.coalesce(f.c.form_type, p.c.form_type, m.c.form_type)
        return (
            sa.exists()
            .select_from(joined)
            .where(m.c.scope_id == SCOPE, m.c.event_id == event_id, form_type.not_in(self.form_types or []))
        )

    def _unnamed(self, row: sa.FromClause, text: sa.ColumnElement[str]) -> Condition:
        """The text does not call the row's Form by a name that only somebody unseen has given it (or its own words say it)."""
        n, f = self._t.names.alias(), self._t.forms.alias()
        plain = sa.exists().where(f.c.scope_id == SCOPE, f.c.form_id == row.c.form_id, f.c.key.in_(_UNNAMED))
        unseen = sa.exists().where(
            n.c.scope_id == SCOPE,
            n.c.form_id == row.c.form_id,
            n.c.position <= row.c.position,
            self._holds(text, n.c.name),
            sa.not_(self._holds(row.c.evidence, n.c.name)),
            sa.not_(sa.and_(*self.names(n))),
        )
        return sa.or_(row.c.form_id == "", plain, sa.not_(unseen))

    def _holds(self, text: sa.ColumnElement[str], part: sa.ColumnElement[str]) -> Condition:
        find = sa.func.strpos if self._dialect == "postgresql" else sa.func.instr
        found: Condition = find(sa.func.lower(text), sa.func.lower(part)) > 0
        return found


@lru_cache(maxsize=256)
def shown(t: Tables, sight: Sight | None, dialect: str) -> Shown:
    """The conditions of a sight; made once, so that compiled statements are found again."""
    return Shown(t, sight, dialect)
