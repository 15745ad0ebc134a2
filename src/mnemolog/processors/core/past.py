"""How a scope stood at a past input, folded from its decisions one after the other, in the memory of two states. What was
hidden after that input is hidden in it too: a rollback brings nothing back that somebody took away."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

import msgspec

from ...schemas.changes import (
    Decision,
    EdgeAdded,
    EdgeRetired,
    FormCreated,
    FormNamed,
    FormRestored,
    Hidden,
    PendingClosed,
    PendingOpened,
    SlotChanged,
)
from ...schemas.envelope import Envelope, Position
from ...schemas.inputs import RollbackRequested
from ...schemas.scope import Scope
from .evolve import apply
from .hide import hide
from .moments import event_time
from .state import ScopeState

__all__ = ["PastFold", "PastState"]


class PastState(NamedTuple):
    """How the scope stood right after the last input that counts, but for what was hidden since."""

    state: ScopeState
    input_id: str
    """The last input that counts; empty where none does: nothing was there yet."""
    source: str
    at: str
    """Its event time."""
    pending: Mapping[str, PendingOpened]
    """The open questions, as they were asked."""
    asked_by: Mapping[str, str]
    """Question to the input that opened it."""
    edges: Mapping[str, EdgeAdded]
    names: Mapping[str, str]
    """Form to the input that gave it its name."""
    origins: Mapping[tuple[str, str, int], str]
    """(Form, slot, version) to the input behind it, of the versions that a rollback had put back."""
    hidden: Set[str]
    """Turns that are hidden by now."""


class PastFold:
    """Takes a scope's valid decisions in order, up to the one before the rollback; `found` is the past state then.

    `keep_current`: whether `current`, the state after all that was taken, is folded on as well, for whoever has none.
    """

    def __init__(self, scope: Scope, data: RollbackRequested, *, keep_current: bool = False) -> None:
        self._data, self._keep = data, keep_current
        self._state = ScopeState.empty(scope)
        self._current: ScopeState | None = None
        self._last = ("", "", "")
        self._reached = False
        self._pending: dict[str, PendingOpened] = {}
        self._asked_by: dict[str, str] = {}
        self._edges: dict[str, EdgeAdded] = {}
        self._names: dict[str, str] = {}
        self._origins: dict[tuple[str, str, int], str] = {}
        self._hidden: set[str] = set()

    def take(self, decision: Decision, envelope: Envelope, data: msgspec.Struct, offset: int, recorded: str, head: str) -> None:
        """One more. `recorded`: when its input was; `head`: hash of the decision as stored."""
        if not self._reached and self._data.to_time is not None and recorded > self._data.to_time:
            self._reach()
        self._hidden.discard(envelope.id)  # a hide takes what is there, not what comes later under that name
        position = Position(0, 0, offset)  # a state keeps no more of it than its offset
        if not self._reached:
            apply(self._state, decision, envelope, data, position, head)
            self._note(decision)
            self._last = (envelope.id, envelope.source, event_time(envelope))
            if self._data.to_time is None and (envelope.id, envelope.source) == (self._data.to, self._data.to_source):
                self._reach()
        else:
            for change in decision.changes:
                if isinstance(change, Hidden):
                    hide(self._state, change, {})
                    self._note_hidden(change)
            if self._current is not None:
                apply(self._current, decision, envelope, data, position, head)

    @property
    def found(self) -> PastState | None:
        """None where no input of that name was taken."""
        if not self._reached and self._data.to_time is None:
            return None
        return PastState(
            self._state,
            *self._last,
            self._pending,
            self._asked_by,
            self._edges,
            self._names,
            self._origins,
            frozenset(self._hidden),
        )

    @property
    def current(self) -> ScopeState:
        return self._state if self._current is None else self._current

    def _reach(self) -> None:
        self._reached = True
        if self._keep:
            self._current = self._state.copy()

    def _note(self, decision: Decision) -> None:
        for change in decision.changes:
            if isinstance(change, PendingOpened):
                self._pending[change.pending_id] = change
                self._asked_by[change.pending_id] = change.origin or decision.input_id
            elif isinstance(change, PendingClosed):
                self._pending.pop(change.pending_id, None)
                self._asked_by.pop(change.pending_id, None)
            elif isinstance(change, EdgeAdded):
                self._edges[change.edge_id] = change
            elif isinstance(change, EdgeRetired):
                self._edges.pop(change.edge_id, None)
            elif isinstance(change, FormCreated | FormNamed):
                self._names[change.form_id] = decision.input_id
            elif isinstance(change, FormRestored):
                self._names[change.form_id] = change.origin or decision.input_id
            elif isinstance(change, SlotChanged) and change.restores is not None:
                self._origins[change.form_id, change.slot, change.version] = change.origin
            elif isinstance(change, Hidden):
                self._note_hidden(change)

    def _note_hidden(self, change: Hidden) -> None:
        if change.target == "turn":
            self._hidden.add(change.target_id)
        elif change.target == "scope":
            for kept in (self._pending, self._asked_by, self._edges, self._names, self._origins):
                kept.clear()
