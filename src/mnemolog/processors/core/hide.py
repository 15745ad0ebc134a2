"""What deciding forgets when something is hidden: a hidden value takes no part any more, so that the same said again is news;
version numbers go on, so that no version is ever written twice."""

from __future__ import annotations

import msgspec

from ...schemas.changes import Hidden
from .records import META, SEP, Place, Version, slot_key
from .state import ScopeState

__all__ = ["hide"]


def hide(state: ScopeState, change: Hidden, touched: dict[str, None]) -> None:
    """Applies `Hidden` to the state in place and notes the touched keys."""
    if change.target == "scope":
        _scope(state, touched)
    elif change.target == "turn":
        _turn(state, change.target_id, touched)
    elif change.target == "form":
        for at in state.places_of.get(change.target_id, ()):
            _slot(state, at, touched)
        for edge_id in state.edges_of.get(change.target_id, ()):
            _edge(state, edge_id, touched)
    else:
        _slot(state, slot_key(change.target_id, change.slot), touched)


def _scope(state: ScopeState, touched: dict[str, None]) -> None:
    for key in state.keys_in_use():
        touched[key] = None
    state.clear()
    touched[META] = None


def _slot(state: ScopeState, at: str, touched: dict[str, None]) -> None:
    for key in state.elements.get(at, ()):
        _place(state, key, state.place[key], None, touched)
    for pending_id in state.pending_of.pop(at, ()):
        del state.pending[pending_id]
        touched[f"pending{SEP}{pending_id}"] = None


def _edge(state: ScopeState, edge_id: str, touched: dict[str, None]) -> None:
    edge = state.edge.pop(edge_id)
    for end in dict.fromkeys((edge.from_form, edge.to_form)):
        state.edges_of[end] = tuple([other for other in state.edges_of.get(end, ()) if other != edge_id])
        if not state.edges_of[end]:
            del state.edges_of[end]
    touched[f"edge{SEP}{edge_id}"] = None


def _turn(state: ScopeState, turn_id: str, touched: dict[str, None]) -> None:
    for key in list(state.place):
        _place(state, key, state.place[key], turn_id, touched)
    for pending in list(state.pending.values()):
        if pending.evidence and all(piece.turn_id == turn_id for piece in pending.evidence):
            del state.pending[pending.pending_id]
            at = slot_key(pending.form_id, pending.slot)
            left = tuple([other for other in state.pending_of[at] if other != pending.pending_id])
            if left:
                state.pending_of[at] = left
            else:
                del state.pending_of[at]
            touched[f"pending{SEP}{pending.pending_id}"] = None
    for edge in list(state.edge.values()):
        rests = edge.turns or (edge.input_id,)
        left_turns = tuple([other for other in rests if other != turn_id])
        if not left_turns:
            _edge(state, edge.edge_id, touched)
        elif len(left_turns) < len(rests):
            state.edge[edge.edge_id] = msgspec.structs.replace(edge, turns=left_turns)
            touched[f"edge{SEP}{edge.edge_id}"] = None
    # Said again, it is news.
    for name, seen in state.session.items():
        recent = tuple([item for item in seen.recent if item[2] != turn_id])
        if len(recent) < len(seen.recent):
            state.session[name] = msgspec.structs.replace(seen, recent=recent)
            touched[f"session{SEP}{name}"] = None
    for session, notes in list(state.working.items()):
        kept = tuple([note for note in notes if note.input_id != turn_id])
        if kept != notes:
            if kept:
                state.working[session] = kept
            else:
                del state.working[session]
            touched[f"working{SEP}{session}"] = None


def _place(state: ScopeState, key: str, place: Place, turn_id: str | None, touched: dict[str, None]) -> None:
    """Hides the versions of a place that rest on the turn alone, or all of them."""

    def without(version: Version) -> Version:
        if turn_id is None or version.input_id == turn_id:
            return msgspec.structs.replace(version, hidden=True)
        gone = sum(piece.turn_id == turn_id for piece in version.evidence)
        if not gone:
            return version
        left = tuple([piece for piece in version.evidence if piece.turn_id != turn_id])
        count = version.count - gone
        return msgspec.structs.replace(version, evidence=left, count=max(count, 0), hidden=version.hidden or count <= 0)

    standing = None if place.standing is None else without(place.standing)
    scheduled = tuple([item for item in map(without, place.scheduled) if not item.hidden])
    hot = tuple([without(item) for item in place.hot])
    made = Place(place.form_id, place.slot, place.element, place.born, standing, scheduled, hot)
    if made != place:
        state.place[key] = made
        if scheduled:
            state.scheduled[key] = min([item.valid_from for item in scheduled])
        else:
            state.scheduled.pop(key, None)
        touched[f"place{SEP}{key}"] = None
