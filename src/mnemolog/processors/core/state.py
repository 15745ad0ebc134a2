"""What deciding needs to know of one scope, and nothing more: immutable records in flat dicts, each record kept under its own
key, so that a write costs only what was touched. The indexes beside them follow from the records and are never stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

import msgspec

from ...schemas.scope import Scope
from ...schemas.times import MIN_TIME
from .overlay import Overlay
from .records import META, SEP, Edge, Form, Meta, Note, Pending, Place, Retired, Session, Version, place_key, slot_key

__all__ = ["ScopeState", "dump", "index_place", "load"]

_STORED = ("form", "place", "count", "pending", "edge", "deadline", "session", "working", "retired", "rollback", "parted")


class ScopeState:
    """The resolver's state of one scope. Make one with `empty` or `load`; `decide` reads it, `evolve` and `apply` move it."""

    __slots__ = (
        "applied",
        "count",
        "deadline",
        "edge",
        "edges_of",
        "elements",
        "form",
        "forms_of",
        "head",
        "keys",
        "latest",
        "parted",
        "pending",
        "pending_of",
        "place",
        "places_of",
        "retired",
        "rollback",
        "scheduled",
        "scope",
        "seq",
        "session",
        "subject",
        "tenant",
        "working",
    )

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.tenant, self.subject = scope.tenant, scope.subject
        self.head = ""
        """Hash of the newest applied decision."""
        self.applied = -1
        """Dynamics offset of the newest applied input."""
        self.latest = MIN_TIME
        """The latest event time so far: what was due by then has happened."""
        self.seq = 0
        # Stored, each record by its own key.
        self.form: MutableMapping[str, Form] = {}
        self.place: MutableMapping[str, Place] = {}
        self.count: MutableMapping[str, int] = {}
        """`slot_key` to its highest version."""
        self.pending: MutableMapping[str, Pending] = {}
        self.edge: MutableMapping[str, Edge] = {}
        self.deadline: MutableMapping[str, str] = {}
        """Deadline id to the time it is due."""
        self.session: MutableMapping[str, Session] = {}
        self.working: MutableMapping[str, tuple[Note, ...]] = {}
        self.retired: MutableMapping[str, Retired] = {}
        """Form that is called off to when that was."""
        self.rollback: MutableMapping[str, str] = {}
        """(event time from which a rollback holds SEP what it covers) to its own event time, which may be earlier."""
        self.parted: MutableMapping[str, str] = {}
        """(Form SEP Form SEP relation) that a rollback ended to the event time of that."""
        # Derived.
        self.keys: MutableMapping[str, str] = {}
        """(form type SEP key) to the Form that is called so."""
        self.forms_of: MutableMapping[str, tuple[str, ...]] = {}
        """Form type to its Forms, in order of creation."""
        self.elements: MutableMapping[str, tuple[str, ...]] = {}
        """`slot_key` to the place keys in it, in order of appearance."""
        self.places_of: MutableMapping[str, tuple[str, ...]] = {}
        """Form to its slot keys."""
        self.scheduled: MutableMapping[str, str] = {}
        """Place key of what is scheduled to the earliest due time."""
        self.pending_of: MutableMapping[str, tuple[str, ...]] = {}
        """`slot_key` to the questions about it."""
        self.edges_of: MutableMapping[str, tuple[str, ...]] = {}

    @classmethod
    def empty(cls, scope: Scope) -> ScopeState:
        return cls(scope)

    def copy(self) -> ScopeState:
        """An independent state with the same content."""
        made = self._bare()
        for name in _DICTS:
            setattr(made, name, dict(getattr(self, name)))
        return made

    def fork(self) -> ScopeState:
        """The same state to try changes on: cheap at any size, and this one must not change while it is in use."""
        made = self._bare()
        for name in _DICTS:
            setattr(made, name, Overlay(getattr(self, name)))
        return made

    def _bare(self) -> ScopeState:
        made = ScopeState.__new__(ScopeState)
        for name in ("scope", "tenant", "subject", "head", "applied", "latest", "seq"):
            setattr(made, name, getattr(self, name))
        return made

    def clear(self) -> None:
        """Forgets every record; where the state stands in the log it keeps."""
        for name in _DICTS:
            getattr(self, name).clear()

    def keys_in_use(self) -> list[str]:
        """The key of every stored record, sorted: what `dump` takes to write the whole state."""
        used = [f"{kind}{SEP}{key}" for kind in _STORED for key in getattr(self, kind)]
        return [META, *sorted(used)]

    # -- looking things up ---------------------------------------------------------------------------------------------

    def place_of(self, form_id: str, slot: str, element: str = "") -> Place | None:
        return self.place.get(place_key(form_id, slot, element))

    def current(self, form_id: str, slot: str, element: str = "") -> Version | None:
        found = self.place.get(place_key(form_id, slot, element))
        return None if found is None else found.current

    def standing_elements(self, form_id: str, slot: str) -> list[Place]:
        """The places of a slot that hold a current value, in order of appearance."""
        places = (self.place[key] for key in self.elements.get(slot_key(form_id, slot), ()))
        return [place for place in places if place.current is not None]

    def form_called(self, form_type: str, key: str) -> Form | None:
        """The living Form of that type called `key`."""
        found = self.form.get(self.keys.get(f"{form_type}{SEP}{key}", ""))
        return found if found is not None and not found.retired else None

    def since_called_off(self, form_id: str, moment: str) -> Form | None:
        """The Form, where it was called off after `moment` and is so still."""
        found = self.form.get(form_id)
        at = self.retired.get(form_id)
        return found if found is not None and found.retired and at is not None and moment < at.when else None

    def former(self, form_type: str, key: str, moment: str, found: Form | None) -> Form | None:
        """Who was called so at `moment`, and was called off since, before `found` (who is called so now, if anybody) was."""
        former: list[tuple[str, int, Form]] = []
        for form_id, at in self.retired.items():
            form = self.form[form_id]
            if moment < at.when and form.form_type == form_type and any(held == key for held, _ in form.keys):
                called = found is None or dict(found.keys).get(key, found.keys[0][1]) > at.seq
                if called and (found is None or form.keys[0][1] < found.keys[0][1]):
                    former.append((at.when, at.seq, form))
        return min(former, key=lambda item: item[:2])[2] if former else None

    def rolled_back(self, since: str, form_id: str, slot: str) -> str | None:
        """The own event time of the rollback that has held since then in a slot; None where there is none."""
        covering = ("", form_id, slot_key(form_id, slot))
        found = [asked for part in covering if (asked := self.rollback.get(f"{since}{SEP}{part}")) is not None]
        return min(found) if found else None

    def undone_since(self, form_id: str, moment: str) -> bool:
        """Whether all of the Form was rolled back after `moment`."""
        return any(moment < asked and key.partition(SEP)[2] in ("", form_id) for key, asked in self.rollback.items())

    def last_touched(self, form_type: str, session: str) -> Form | None:
        """The living Form of that type that was last talked about: in the session, else in the scope."""
        seen = self.session.get(session)
        if seen is not None:
            for name, form_id in seen.focus:
                if name == form_type and not self.form[form_id].retired:
                    return self.form[form_id]
        living = [form for form_id in self.forms_of.get(form_type, ()) if not (form := self.form[form_id]).retired]
        return max(living, key=lambda form: form.touched) if living else None


_DICTS = (*_STORED, "keys", "forms_of", "elements", "places_of", "scheduled", "pending_of", "edges_of")

_TYPES: dict[str, Any] = {
    "form": Form,
    "place": Place,
    "count": tuple[str, int],
    "pending": Pending,
    "edge": Edge,
    "deadline": tuple[str, str],
    "session": tuple[str, Session],
    "working": tuple[str, tuple[Note, ...]],
    "retired": tuple[str, Retired],
    "rollback": tuple[str, str],
    "parted": tuple[str, str],
    "meta": Meta,
}
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {kind: msgspec.json.Decoder(of) for kind, of in _TYPES.items()}
_ENCODE = msgspec.json.Encoder().encode
_KEYED = ("count", "deadline", "session", "working", "retired", "rollback", "parted")
"""Kinds whose record does not say its own key."""


def _stored_name(kind: str, key: str) -> str:
    # Values and session names may be long; a digest keeps the key of a row short in every database.
    return f"{kind}:{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}" if kind != "meta" else "meta"


def dump(state: ScopeState, keys: Iterable[str]) -> dict[str, bytes | None]:
    """The rows to write for the touched `keys` (as `apply` returns them): row name to its bytes, None where it is gone."""
    rows: dict[str, bytes | None] = {}
    for full in keys:
        kind, _, key = full.partition(SEP)
        if kind == "meta":
            rows["meta"] = _ENCODE(Meta(state.head, state.applied, state.latest, state.seq))
            continue
        record = getattr(state, kind).get(key)
        if record is not None and kind in _KEYED:
            record = (key, record)
        rows[_stored_name(kind, key)] = None if record is None else _ENCODE(record)
    return rows


def load(scope: Scope, blobs: Mapping[str, bytes]) -> ScopeState:
    """The state that was dumped row by row; the order of `blobs` does not matter."""
    state = ScopeState(scope)
    read: dict[str, list[tuple[str, object]]] = {kind: [] for kind in _STORED}
    for name in sorted(blobs):
        kind = name.partition(":")[0]
        record = _DECODERS[kind].decode(blobs[name])
        if isinstance(record, Meta):
            state.head, state.applied, state.latest, state.seq = record.head, record.applied, record.latest, record.seq
        elif kind in _KEYED:
            read[kind].append(record)
        elif isinstance(record, Place):
            read[kind].append((place_key(record.form_id, record.slot, record.element), record))
        else:
            read[kind].append(
                (record[0] if isinstance(record, tuple) else getattr(record, record.__struct_fields__[0]), record)
            )
    state.form.update(sorted(read["form"], key=lambda item: item[1].keys[0][1]))  # type: ignore[attr-defined, arg-type]
    state.place.update(sorted(read["place"], key=lambda item: item[1].born))  # type: ignore[attr-defined, arg-type]
    for kind in ("count", "deadline", "working", "retired", "rollback", "parted"):
        getattr(state, kind).update(sorted(read[kind], key=lambda item: item[0]))
    for kind in ("pending", "edge", "session"):
        getattr(state, kind).update(sorted(read[kind], key=lambda item: item[1].seq))  # type: ignore[attr-defined]
    _index(state)
    return state


def _index(state: ScopeState) -> None:
    called = [(seq, form.form_type, key, form.form_id) for form in state.form.values() for key, seq in form.keys]
    for _, form_type, key, form_id in sorted(called):
        state.keys[f"{form_type}{SEP}{key}"] = form_id
    for form in state.form.values():
        state.forms_of[form.form_type] = (*state.forms_of.get(form.form_type, ()), form.form_id)
    for key, place in state.place.items():
        index_place(state, key, place)
        if place.scheduled:
            state.scheduled[key] = min(version.valid_from for version in place.scheduled)
    for pending in state.pending.values():
        at = slot_key(pending.form_id, pending.slot)
        state.pending_of[at] = (*state.pending_of.get(at, ()), pending.pending_id)
    for edge in state.edge.values():
        for end in dict.fromkeys((edge.from_form, edge.to_form)):
            state.edges_of[end] = (*state.edges_of.get(end, ()), edge.edge_id)


def index_place(state: ScopeState, key: str, place: Place) -> None:
    """Enters a new place into the indexes."""
    at = slot_key(place.form_id, place.slot)
    before = state.elements.get(at)
    if before is None:
        state.places_of[place.form_id] = (*state.places_of.get(place.form_id, ()), at)
    state.elements[at] = (key,) if before is None else (*before, key)
