"""A decision applied to the state: it uses only the recorded decision and the input it decided, never decides anew, and gives
the same state whether decisions come one by one, in batches, or after the state was dropped and loaded."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

import msgspec

from ...schemas import changes as ch
from ...schemas.envelope import Envelope, Position
from ...schemas.inputs import Turn
from .evolve_slots import Cause, Touched, bounded, focus, form_created, form_named, form_restored, slot_changed, slot_reinforced
from .moments import DUPLICATE_WINDOW, event_time, micros, turn_digest
from .records import META, SEP, Edge, Note, Pending, Retired, Session, slot_key
from .state import ScopeState

__all__ = ["apply", "evolve", "use_changes"]

SESSIONS = 64
"""Sessions whose focus and recent turns are kept."""
RECENT = 256
"""Turns of a session that are remembered against repetition, however fast they come."""


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
        recent = (*recent, (turn_digest(turn), now, decision.input_id))
    state.seq += 1
    state.session[name] = Session(state.seq, decision.input_id, recent, () if seen is None else seen.focus)
    touched[f"session{SEP}{name}"] = None
    if len(state.session) > SESSIONS:
        oldest = next(iter(state.session))
        del state.session[oldest]
        touched[f"session{SEP}{oldest}"] = None


def _pending_opened(state: ScopeState, change: ch.PendingOpened, cause: Cause, touched: Touched) -> None:
    _drop_pending(state, change.pending_id, touched)
    state.seq += 1
    state.pending[change.pending_id] = Pending(
        change.pending_id,
        state.seq,
        change.session or cause.session,
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
        focus(state, change.form_id, cause, touched)


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
        state.retired[form.form_id] = Retired(change.valid_from, state.seq)
        touched[f"form{SEP}{form.form_id}"] = None
        touched[f"retired{SEP}{form.form_id}"] = None


def _edge_added(state: ScopeState, change: ch.EdgeAdded, cause: Cause, touched: Touched) -> None:
    _drop_edge(state, change.edge_id, touched)
    state.seq += 1
    turns = tuple(dict.fromkeys([piece.turn_id for piece in change.evidence]))
    edge = Edge(change.edge_id, state.seq, change.from_form, change.to_form, change.relation, cause.input_id, turns)
    state.edge[edge.edge_id] = edge
    if state.parted.pop(parted := SEP.join((edge.from_form, edge.to_form, edge.relation)), None) is not None:
        touched[f"parted{SEP}{parted}"] = None
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


def _rolled_back(state: ScopeState, change: ch.RolledBack, cause: Cause, touched: Touched) -> None:
    """What stands is affirmed by a rollback, put back or not: what comes to light later about the time before is older news."""
    if not change.since:
        return  # decided before it was told from when on it holds
    asked, covered = change.asked or change.since, ""
    if change.target == "slot":
        covered = slot_key(change.target_id, change.slot)
        places = list(state.elements.get(covered, ()))
    elif change.target == "form":
        covered = change.target_id
        places = [key for at in state.places_of.get(change.target_id, ()) for key in state.elements.get(at, ())]
    else:
        places = list(state.place)
    for key in places:
        place = state.place[key]
        standing = place.standing
        if standing is None or standing.since >= change.since:
            continue
        affirmed = msgspec.structs.replace(standing, affirmed=change.since)
        hot = tuple([affirmed if item.version == standing.version else item for item in place.hot])
        state.place[key] = msgspec.structs.replace(place, standing=affirmed, hot=hot)
        touched[f"place{SEP}{key}"] = None
    for stood in change.forms:
        at = state.retired.get(stood.form_id)
        if at is not None and asked < at.when:
            state.retired[stood.form_id] = Retired(asked, at.seq)
            touched[f"retired{SEP}{stood.form_id}"] = None
    for edge in change.edges:
        parted = SEP.join((edge.from_form, edge.to_form, edge.relation))
        state.parted[parted] = asked
        touched[f"parted{SEP}{parted}"] = None
    key = f"{change.since}{SEP}{covered}"
    state.rollback[key] = asked
    touched[f"rollback{SEP}{key}"] = None


def _nothing(state: ScopeState, change: ch.Change, cause: Cause, touched: Touched) -> None:
    """Episodes and refusals are for readers; deciding needs none of them."""


def _hidden(state: ScopeState, change: ch.Hidden, cause: Cause, touched: Touched) -> None:
    from .hide import hide

    hide(state, change, touched)


_HANDLERS: dict[type, Callable[[ScopeState, Any, Cause, Touched], None]] = {
    ch.FormCreated: form_created,
    ch.FormNamed: form_named,
    ch.SlotChanged: slot_changed,
    ch.SlotReinforced: slot_reinforced,
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
    ch.FormRestored: form_restored,
    ch.RolledBack: _rolled_back,
}
