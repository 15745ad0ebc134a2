"""A decision applied to the state: it uses only the recorded decision and the input it decided, never decides anew, and gives
the same state whether decisions come one by one, in batches, or after the state was dropped and loaded."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

import msgspec

from ...schemas import changes as ch
from ...schemas.envelope import Envelope, Position
from ...schemas.inputs import Turn
from ...schemas.observations import Evidence
from .moments import DUPLICATE_WINDOW, event_time, micros, turn_digest
from .state import (
    ENDS,
    HOT,
    META,
    SEP,
    Edge,
    Form,
    Note,
    Pending,
    Place,
    ScopeState,
    Session,
    Version,
    index_place,
    place_key,
    slot_key,
)

__all__ = ["apply", "evolve", "use_changes"]

SESSIONS = 64
"""Sessions whose focus and recent turns are kept."""
RECENT = 256
"""Turns of a session that are remembered against repetition, however fast they come."""

Touched = dict[str, None]


class Cause(msgspec.Struct, frozen=True):
    """What the changes of one decision share."""

    input_id: str
    place: int
    """Dynamics offset."""
    session: str
    moment: str = ""
    """Event time; empty where it is not that of the words themselves."""


def evolve(
    state: ScopeState, decision: ch.Decision, envelope: Envelope, data: msgspec.Struct, position: Position, head: str
) -> ScopeState:
    """The state after a decision; `state` itself is left alone. The arguments are those of `apply`."""
    made = state.copy()
    apply(made, decision, envelope, data, position, head)
    return made


def apply(
    state: ScopeState, decision: ch.Decision, envelope: Envelope, data: msgspec.Struct, position: Position, head: str
) -> list[str]:
    """Moves `state` on in place and returns the keys of the records it touched, in order, for `dump`.

    envelope, data: the input that was decided; position: where it lies; head: hash of the decision as stored.
    """
    touched: Touched = {META: None}
    state.head = head
    state.applied = position.offset
    moment = event_time(envelope)
    if moment > state.latest:
        state.latest = moment
    if type(data) is Turn:
        _remember(state, decision, data, moment, touched)
    if decision.changes:
        said = moment if type(data) is Turn else ""
        use_changes(state, decision.changes, Cause(decision.input_id, position.offset, decision.session, said), touched)
    return list(touched)


def use_changes(state: ScopeState, changes: list[ch.Change], cause: Cause, touched: Touched) -> None:
    """Applies changes one after the other."""
    for change in changes:
        _HANDLERS[type(change)](state, change, cause, touched)


def _remember(state: ScopeState, decision: ch.Decision, turn: Turn, moment: str, touched: Touched) -> None:
    """The turn against repetition, and its session among those going on."""
    name = turn.session
    seen = state.session.pop(name, None)
    recent = () if seen is None else seen.recent
    if decision.outcome != "duplicate":
        now = micros(moment)
        if len(recent) >= 16:
            recent = tuple([item for item in recent if item[1] >= now - DUPLICATE_WINDOW])[1 - RECENT :]
        recent = (*recent, (turn_digest(turn), now))
    state.seq += 1
    state.session[name] = Session(state.seq, decision.input_id, recent, () if seen is None else seen.focus)
    touched[f"session{SEP}{name}"] = None
    if len(state.session) > SESSIONS:
        oldest = next(iter(state.session))
        del state.session[oldest]
        touched[f"session{SEP}{oldest}"] = None


def _focus(state: ScopeState, form_id: str, cause: Cause, touched: Touched) -> None:
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
        focus = (pair, *(item for item in seen.focus if item[0] != form.form_type))
        state.session[cause.session] = Session(seen.seq, seen.last, seen.recent, focus)
        touched[f"session{SEP}{cause.session}"] = None


def bounded(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    return evidence if len(evidence) <= 2 * ENDS else (*evidence[:ENDS], *evidence[-ENDS:])


# -- one function per kind of change ---------------------------------------------------------------------------------------


def _form_created(state: ScopeState, change: ch.FormCreated, cause: Cause, touched: Touched) -> None:
    state.seq += 1
    form_id, kind = change.form_id, change.form_type
    known = state.form.get(form_id)
    keys = () if known is None else known.keys
    state.form[form_id] = Form(form_id, kind, change.key, change.name, False, state.seq, (*keys, (change.key, state.seq)))
    state.keys[f"{kind}{SEP}{change.key}"] = form_id
    if known is None:
        state.forms_of[kind] = (*state.forms_of.get(kind, ()), form_id)
    _focus(state, form_id, cause, touched)


def _form_named(state: ScopeState, change: ch.FormNamed, cause: Cause, touched: Touched) -> None:
    form = state.form.get(change.form_id)
    if form is None:
        return
    state.seq += 1
    keys = (form.keys[0], *(item for item in form.keys[1:] if item[0] != change.key), (change.key, state.seq))
    state.form[form.form_id] = Form(form.form_id, form.form_type, form.key, change.name, form.retired, state.seq, keys)
    state.keys[f"{form.form_type}{SEP}{change.key}"] = form.form_id
    _focus(state, form.form_id, cause, touched)


def _slot_changed(state: ScopeState, change: ch.SlotChanged, cause: Cause, touched: Touched) -> None:
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
    if change.reason != "elapsed":
        _focus(state, form_id, cause, touched)


def _by_time(version: Version) -> tuple[str, int, int]:
    return version.valid_from, version.place, version.version


def _slot_reinforced(state: ScopeState, change: ch.SlotReinforced, cause: Cause, touched: Touched) -> None:
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
    _focus(state, change.form_id, cause, touched)


def _pending_opened(state: ScopeState, change: ch.PendingOpened, cause: Cause, touched: Touched) -> None:
    _drop_pending(state, change.pending_id, touched)
    state.seq += 1
    state.pending[change.pending_id] = Pending(
        change.pending_id,
        state.seq,
        cause.session,
        change.form_type,
        change.form_id,
        change.name,
        change.slot,
        change.op,
        change.value,
        change.authority,
        change.confidence,
        change.valid_from,
        bounded(tuple(change.evidence)),
        change.candidate,
    )
    at = slot_key(change.form_id, change.slot)
    state.pending_of[at] = (*state.pending_of.get(at, ()), change.pending_id)
    touched[f"pending{SEP}{change.pending_id}"] = None
    if change.form_id:
        _focus(state, change.form_id, cause, touched)


def _drop_pending(state: ScopeState, pending_id: str, touched: Touched) -> None:
    known = state.pending.pop(pending_id, None)
    if known is not None:
        _unlist(state.pending_of, slot_key(known.form_id, known.slot), pending_id)
        touched[f"pending{SEP}{pending_id}"] = None


def _unlist(index: MutableMapping[str, tuple[str, ...]], key: str, item: str) -> None:
    left = tuple([other for other in index.get(key, ()) if other != item])
    if left:
        index[key] = left
    else:
        index.pop(key, None)


def _pending_closed(state: ScopeState, change: ch.PendingClosed, cause: Cause, touched: Touched) -> None:
    _drop_pending(state, change.pending_id, touched)


def _form_retired(state: ScopeState, change: ch.FormRetired, cause: Cause, touched: Touched) -> None:
    form = state.form.get(change.form_id)
    if form is not None:
        state.form[form.form_id] = msgspec.structs.replace(form, retired=True)
        touched[f"form{SEP}{form.form_id}"] = None


def _edge_added(state: ScopeState, change: ch.EdgeAdded, cause: Cause, touched: Touched) -> None:
    _drop_edge(state, change.edge_id, touched)
    state.seq += 1
    edge = Edge(change.edge_id, state.seq, change.from_form, change.to_form, change.relation, cause.input_id)
    state.edge[edge.edge_id] = edge
    for end in dict.fromkeys((edge.from_form, edge.to_form)):
        state.edges_of[end] = (*state.edges_of.get(end, ()), edge.edge_id)
    touched[f"edge{SEP}{edge.edge_id}"] = None


def _drop_edge(state: ScopeState, edge_id: str, touched: Touched) -> None:
    edge = state.edge.pop(edge_id, None)
    if edge is not None:
        for end in dict.fromkeys((edge.from_form, edge.to_form)):
            _unlist(state.edges_of, end, edge_id)
        touched[f"edge{SEP}{edge_id}"] = None


def _edge_retired(state: ScopeState, change: ch.EdgeRetired, cause: Cause, touched: Touched) -> None:
    _drop_edge(state, change.edge_id, touched)


def _working_noted(state: ScopeState, change: ch.WorkingNoted, cause: Cause, touched: Touched) -> None:
    kept = state.working.get(change.session, ())[1 - NOTES :]
    state.working[change.session] = (*kept, Note(change.candidate, cause.input_id))
    touched[f"working{SEP}{change.session}"] = None


NOTES = 32
"""Working notes kept per session."""


def _working_cleared(state: ScopeState, change: ch.WorkingCleared, cause: Cause, touched: Touched) -> None:
    if state.working.pop(change.session, None) is not None:
        touched[f"working{SEP}{change.session}"] = None


def _deadline_set(state: ScopeState, change: ch.DeadlineSet, cause: Cause, touched: Touched) -> None:
    state.deadline[change.deadline_id] = change.due
    touched[f"deadline{SEP}{change.deadline_id}"] = None


def _deadline_done(state: ScopeState, change: ch.DeadlineDone, cause: Cause, touched: Touched) -> None:
    if state.deadline.pop(change.deadline_id, None) is not None:
        touched[f"deadline{SEP}{change.deadline_id}"] = None


def _nothing(state: ScopeState, change: ch.Change, cause: Cause, touched: Touched) -> None:
    """Episodes and refusals are for readers; deciding needs none of them."""


def _hidden(state: ScopeState, change: ch.Hidden, cause: Cause, touched: Touched) -> None:
    from .hide import hide

    hide(state, change, touched)


_HANDLERS: dict[type, Callable[[ScopeState, Any, Cause, Touched], None]] = {
    ch.FormCreated: _form_created,
    ch.FormNamed: _form_named,
    ch.SlotChanged: _slot_changed,
    ch.SlotReinforced: _slot_reinforced,
    ch.PendingOpened: _pending_opened,
    ch.PendingClosed: _pending_closed,
    ch.FormRetired: _form_retired,
    ch.EdgeAdded: _edge_added,
    ch.EdgeRetired: _edge_retired,
    ch.EpisodeSeen: _nothing,
    ch.WorkingNoted: _working_noted,
    ch.WorkingCleared: _working_cleared,
    ch.Rejected: _nothing,
    ch.DeadlineSet: _deadline_set,
    ch.DeadlineDone: _deadline_done,
    ch.Hidden: _hidden,
}
