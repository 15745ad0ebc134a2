"""Forms and their slots in the state, moved on by one change at a time: the hot path of every replay."""

from __future__ import annotations

import msgspec

from ...schemas import changes as ch
from ...schemas.observations import Evidence
from .records import ENDS, HOT, SEP, Form, Place, Session, Version, place_key, slot_key
from .state import ScopeState, index_place

__all__ = [
    "Cause",
    "Touched",
    "bounded",
    "focus",
    "form_created",
    "form_named",
    "form_restored",
    "slot_changed",
    "slot_reinforced",
]

Touched = dict[str, None]
"""Keys of touched records, in order."""


class Cause(msgspec.Struct, frozen=True):
    """What the changes of one decision share."""

    input_id: str
    place: int
    """Dynamics offset."""
    session: str
    moment: str = ""
    """Event time; empty where it is not that of the words themselves."""


def focus(state: ScopeState, form_id: str, cause: Cause, touched: Touched) -> None:
    """A Form was talked about."""
    form = state.form.get(form_id)
    if form is None:
        return
    state.seq += 1
    state.form[form_id] = Form(form_id, form.form_type, form.key, form.name, form.retired, state.seq, form.keys)
    touched[f"form{SEP}{form_id}"] = None
    seen = state.session.get(cause.session)
    if seen is None:
        return
    pair = (form.form_type, form_id)
    if not seen.focus or seen.focus[0] != pair:
        latest = (pair, *(item for item in seen.focus if item[0] != form.form_type))
        state.session[cause.session] = Session(seen.seq, seen.last, seen.recent, latest)
        touched[f"session{SEP}{cause.session}"] = None


def bounded(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    return evidence if len(evidence) <= 2 * ENDS else (*evidence[:ENDS], *evidence[-ENDS:])


def form_created(state: ScopeState, change: ch.FormCreated, cause: Cause, touched: Touched) -> None:
    state.seq += 1
    form_id, kind = change.form_id, change.form_type
    known = state.form.get(form_id)
    keys = () if known is None else known.keys
    state.form[form_id] = Form(form_id, kind, change.key, change.name, False, state.seq, (*keys, (change.key, state.seq)))
    state.keys[f"{kind}{SEP}{change.key}"] = form_id
    if known is None:
        state.forms_of[kind] = (*state.forms_of.get(kind, ()), form_id)
    focus(state, form_id, cause, touched)


def form_named(state: ScopeState, change: ch.FormNamed, cause: Cause, touched: Touched) -> None:
    form = state.form.get(change.form_id)
    if form is None:
        return
    state.seq += 1
    keys = (form.keys[0], *(item for item in form.keys[1:] if item[0] != change.key), (change.key, state.seq))
    state.form[form.form_id] = Form(form.form_id, form.form_type, form.key, change.name, form.retired, state.seq, keys)
    state.keys[f"{form.form_type}{SEP}{change.key}"] = form.form_id
    focus(state, form.form_id, cause, touched)


def form_restored(state: ScopeState, change: ch.FormRestored, cause: Cause, touched: Touched) -> None:
    form = state.form.get(change.form_id)
    if form is None:
        return
    kind, had = form.form_type, dict(form.keys)
    # The first key stays first: its number says when the Form came to be.
    kept = [form.keys[0]]
    kept += [(key, had.get(key, 0)) for key in change.aliases if key != form.keys[0][0]]
    for key in change.keys:
        if state.keys.get(f"{kind}{SEP}{key}") != form.form_id:
            state.seq += 1
            kept.append((key, state.seq))
        elif key != form.keys[0][0] or had[key] != form.keys[0][1]:
            kept.append((key, had.get(key, 0)))
    state.form[form.form_id] = Form(form.form_id, kind, form.key, change.name, False, form.touched, tuple(kept))
    touched[f"form{SEP}{form.form_id}"] = None
    if state.retired.pop(form.form_id, None) is not None:
        touched[f"retired{SEP}{form.form_id}"] = None
    for key in dict.fromkeys([*had, *change.keys, *change.aliases]):
        _found_by(state, kind, key)


def _found_by(state: ScopeState, kind: str, key: str) -> None:
    """The Form that was last called so is found by it, as where the state is loaded."""
    holders = [
        (seq, form_id) for form_id in state.forms_of.get(kind, ()) for held, seq in state.form[form_id].keys if held == key
    ]
    if holders:
        state.keys[f"{kind}{SEP}{key}"] = max(holders)[1]
    else:
        state.keys.pop(f"{kind}{SEP}{key}", None)


def slot_changed(state: ScopeState, change: ch.SlotChanged, cause: Cause, touched: Touched) -> None:
    form_id, slot = change.form_id, change.slot
    key = place_key(form_id, slot, change.element)
    at = slot_key(form_id, slot)
    version = Version(
        change.version,
        change.value,
        change.status,
        change.reason,
        change.confidence,
        change.authority,
        change.valid_from,
        cause.place,
        cause.input_id,
        bounded(tuple(change.evidence)),
        change.count,
    )
    place = state.place.get(key)
    if place is None:
        state.seq += 1
        place = Place(form_id, slot, change.element, state.seq, None)
        index_place(state, key, place)
    standing, scheduled, hot = place.standing, place.scheduled, place.hot
    if change.status == "scheduled":
        scheduled = (*scheduled, version)
    else:
        # Calling off what was only scheduled leaves what stands alone.
        called_off = change.status == "retired" and any(item.version == change.supersedes for item in scheduled)
        if scheduled:
            gone = change.supersedes if called_off else change.version
            scheduled = tuple([item for item in scheduled if item.version != gone])
        if not called_off:
            if change.status != "history":
                standing = version
            hot = tuple(sorted((*(item for item in hot if item.version != change.version), version), key=_by_time))[-HOT:]
    state.place[key] = Place(form_id, slot, change.element, place.born, standing, scheduled, hot)
    if scheduled:
        state.scheduled[key] = min([item.valid_from for item in scheduled])
    elif place.scheduled:
        state.scheduled.pop(key, None)
    if change.version > state.count.get(at, 0):
        state.count[at] = change.version
        touched[f"count{SEP}{at}"] = None
    touched[f"place{SEP}{key}"] = None
    if change.reason not in ("elapsed", "rolled_back"):
        focus(state, form_id, cause, touched)


def _by_time(version: Version) -> tuple[str, int, int]:
    return version.valid_from, version.place, version.version


def slot_reinforced(state: ScopeState, change: ch.SlotReinforced, cause: Cause, touched: Touched) -> None:
    key = place_key(change.form_id, change.slot, change.element)
    place = state.place.get(key)
    if place is None:
        return

    def more(version: Version) -> Version:
        if version.version != change.version:
            return version
        evidence = bounded((*version.evidence, *change.evidence))
        affirmed = max(version.affirmed, cause.moment)
        return msgspec.structs.replace(
            version, evidence=evidence, count=change.count, confidence=change.confidence, affirmed=affirmed
        )

    state.place[key] = Place(
        place.form_id,
        place.slot,
        place.element,
        place.born,
        None if place.standing is None else more(place.standing),
        tuple([more(item) for item in place.scheduled]),
        tuple([more(item) for item in place.hot]),
    )
    touched[f"place{SEP}{key}"] = None
    focus(state, change.form_id, cause, touched)
