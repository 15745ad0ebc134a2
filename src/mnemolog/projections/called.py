"""What Forms are called, where it may be told: a name that nothing but hidden inputs gave is told nowhere. Hiding marks the
names that rested on what is hidden; readers tell a Form by another name that it has, or by none, and put neutral words where a
text calls it so, unless the text's own words do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from ..processors.core.wording import self_name
from ..schemas.observations import Evidence
from ..schemas.values import Value, normal_text
from ..schemas.views import PendingView, SummaryView, TimelineEntry
from .tables import Tables

__all__ = ["Called", "called", "forget_names"]

PLAIN = ("self", "scope", "current")
"""Keys that say nothing, each also with a number behind it."""
_NEUTRAL = frozenset(self_name(lang) for lang in ("en", "zh"))


def forget_names(
    connection: sa.Connection, t: Tables, scope_id: int, *, event_id: str = "", values: Iterable[tuple[str, int, str]] = ()
) -> None:
    """Marks the names that an input gave which is hidden now, or that were (form id, position, name) hidden values of the
    input there, and the same names where they are only repeated."""
    n, i, r = t.names, t.inputs, t.rests
    mine = n.c.scope_id == scope_id
    gone: set[tuple[str, str]] = set()
    if event_id:
        given = sa.exists().where(i.c.scope_id == scope_id, i.c.event_id == event_id, i.c.position == n.c.position)
        rests = (r.c.scope_id == scope_id, r.c.event_id == event_id, r.c.position == n.c.position, r.c.place == n.c.place)
        query = sa.select(n.c.form_id, n.c.name).where(mine, sa.or_(given, sa.exists().where(*rests)))
        gone |= {(form_id, name) for form_id, name in connection.execute(query)}
        connection.execute(sa.update(n).where(mine, given).values(hidden=1))
    for form_id, position, name in values:
        here = sa.and_(n.c.form_id == form_id, n.c.position == position, n.c.name == name)
        if connection.execute(sa.update(n).where(mine, here).values(hidden=1)).rowcount:
            gone.add((form_id, name))
    for form_id, name in sorted(gone):
        same = (mine, n.c.form_id == form_id, n.c.name == name, n.c.hidden == 0)
        for row in connection.execute(sa.select(n).where(*same)).all():
            if not _gave(connection, t, row):
                where = (n.c.position == row.position, n.c.place == row.place)
                connection.execute(sa.update(n).where(*same, *where).values(hidden=1))


def _gave(connection: sa.Connection, t: Tables, row: Any) -> bool:
    """Whether somebody who is not hidden said the name there; a command without sources of its own did."""
    own = connection.execute(
        sa.select(t.turns).where(t.turns.c.scope_id == row.scope_id, t.turns.c.position == row.position)
    ).first()
    rests = sa.select(t.rests.c.event_id).where(
        t.rests.c.scope_id == row.scope_id, t.rests.c.position == row.position, t.rests.c.place == row.place
    )
    quoted = connection.execute(
        sa.select(t.turns).where(t.turns.c.scope_id == row.scope_id, t.turns.c.event_id.in_(rests))
    ).all()
    if own is None and not quoted:
        return True
    return any(not turn.hidden and _says(turn, row.name) for turn in (*(() if own is None else (own,)), *quoted))


def _says(turn: Any, name: str) -> bool:
    return _within(name, f"{turn.speaker}\n{turn.content}")


def _within(name: str, text: str) -> bool:
    return name.casefold() in text.casefold() or normal_text(name) in normal_text(text)


class _Form(NamedTuple):
    name: str
    key: str
    nothing: bool
    """Neither a name nor a key that may be told."""


class Called:
    """The Forms of one scope some of whose names may not be told; empty where there are none."""

    def __init__(self, forms: Mapping[str, _Form], words: Mapping[str, str]) -> None:
        self._forms = forms
        longest = sorted(words, key=lambda word: (-len(word), word))
        self._words = {word.casefold(): neutral for word, neutral in words.items()}
        self._found = re.compile("|".join(map(_whole, longest)), re.IGNORECASE) if longest else None

    def form(self, row: Any) -> tuple[str, str]:
        """(name, key) that may be told of a Form's row."""
        known = self._forms.get(row.form_id)
        return (row.name, row.key) if known is None else (known.name, known.key)

    def is_nothing(self, form_id: str) -> bool:
        """Whether there is no way left to call the Form."""
        return form_id in self._forms and self._forms[form_id].nothing

    def clean(self, text: str, quotes: Sequence[Evidence] = ()) -> str:
        """A text with neutral words in place of names that may not be told, unless its own quotes say them."""
        if self._found is None or not text:
            return text
        said = "\n".join(piece.quote for piece in quotes).casefold()

        def neutral(match: re.Match[str]) -> str:
            word = match[0].casefold()
            return match[0] if word in said else self._words.get(word, "…")

        return self._found.sub(neutral, text)

    def entry(self, view: TimelineEntry) -> TimelineEntry:
        if self._found is None:
            return view
        told = {name: self.clean(getattr(view, name), view.evidence) for name in _OF_ENTRIES}
        return msgspec.structs.replace(view, **told)

    def pending(self, view: PendingView) -> PendingView:
        if self._found is None:
            return view
        name, question = (self.clean(text, view.evidence) for text in (view.name, view.question))
        return msgspec.structs.replace(view, name=name, question=question)

    def summary(self, view: SummaryView) -> SummaryView:
        if self._found is None:
            return view
        return msgspec.structs.replace(view, lines=[self.clean(line) for line in view.lines])


_OF_ENTRIES = ("text", "actor", "action", "object", "before", "after", "cause")


def _whole(word: str) -> str:
    """The word as one: no part of a longer one, where its script has gaps between words."""
    before, after = (r"\b" if end.isascii() and end.isalnum() else "" for end in (word[0], word[-1]))
    return f"{before}{re.escape(word)}{after}"


def called(connection: sa.Connection, t: Tables, scope_id: int, form_ids: Iterable[str]) -> Called:
    """What may be told of the names of Forms some of which are marked."""
    n, f = t.names, t.forms
    forms: dict[str, _Form] = {}
    words: dict[str, str] = {}
    for one in sorted(form_ids):
        form = connection.execute(sa.select(f).where(f.c.scope_id == scope_id, f.c.form_id == one)).first()
        rows = connection.execute(
            sa.select(n).where(n.c.scope_id == scope_id, n.c.form_id == one).order_by(n.c.position, n.c.place)
        ).all()
        if form is not None:
            forms[one] = _called(connection, t, form, rows, words)
    return Called(forms, words)


def _called(connection: sa.Connection, t: Tables, form: Any, rows: Sequence[Any], words: dict[str, str]) -> _Form:
    plain = form.key.rstrip("0123456789").rstrip("-") in PLAIN
    # What it was called before anybody gave it a name.
    neutral = {rows[0].name} & _NEUTRAL if form.key == "self" else {rows[0].name} if plain else set()
    told = [row.name for row in rows if not row.hidden or row.name in neutral]
    turns: list[Any] | None = None
    for name in dict.fromkeys([*(row.name for row in rows), "" if plain else form.key.removeprefix("relation:")]):
        if not name or name in told:
            continue
        if name == form.key.removeprefix("relation:") and (not rows[0].hidden or any(_within(name, one) for one in told)):
            continue
        if turns is None:
            turns = _heard(connection, t, form)
        if any(_says(turn, name) for turn in turns if turn.event_id not in _of_hidden(connection, t, form, name)):
            told.append(name)
        else:
            words.setdefault(name, "")
    name = form.name if form.name in told else next((row.name for row in reversed(rows) if row.name in told), "")
    bare = form.key.removeprefix("relation:")
    key = form.key if plain or not rows[0].hidden or any(_within(bare, one) for one in told) else ""
    label = name or form.form_type.replace("_", " ")
    for word, there in words.items():
        words[word] = there or label
    return _Form(name, key, not name and not key)


def _heard(connection: sa.Connection, t: Tables, form: Any) -> list[Any]:
    """The turns that something rests on which is known of a Form."""
    e, v, turns = t.evidence, t.versions, t.turns
    version = (v.c.scope_id == e.c.scope_id, v.c.form_id == e.c.form_id, v.c.slot == e.c.slot, v.c.version == e.c.version)
    shown = sa.exists().where(*version, v.c.hidden == 0)
    heard = sa.select(e.c.turn_id).where(e.c.scope_id == form.scope_id, e.c.form_id == form.form_id, shown)
    mine = (turns.c.scope_id == form.scope_id, turns.c.hidden == 0, turns.c.event_id.in_(heard))
    return list(connection.execute(sa.select(turns).where(*mine).order_by(turns.c.position)))


def _of_hidden(connection: sa.Connection, t: Tables, form: Any, name: str) -> set[str]:
    """The turns that a name was heard in as a value which is hidden."""
    e, v = t.evidence, t.versions
    mine = (v.c.scope_id == form.scope_id, v.c.form_id == form.form_id, v.c.hidden == 1, v.c.value.is_not(None))
    found: set[str] = set()
    for row in connection.execute(sa.select(v.c.slot, v.c.version, v.c.value, v.c.input_id).where(*mine)).all():
        value = msgspec.json.decode(row.value, type=Value)
        if name in (value.shown, value.data):
            here = (e.c.scope_id == form.scope_id, e.c.form_id == form.form_id)
            of = sa.select(e.c.turn_id).where(*here, e.c.slot == row.slot, e.c.version == row.version)
            found |= {row.input_id, *connection.execute(of).scalars()}
    return found
