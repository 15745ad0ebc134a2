"""From observed inputs to decisions, on states that stay loaded: each decision is made on what the one before left behind, and
what was decided elsewhere is applied in the same way. Nothing is written here; the caller makes it durable, or forgets it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ..projections.projector import DecidedInput
from ..schemas.codec import sha256_hex
from ..schemas.envelope import Envelope, Position
from ..schemas.observations import ExtractionFailed, Observation
from ..schemas.scope import Scope
from .core.chain import decision_envelope
from .core.decide import decide
from .core.evolve import apply
from .core.past import PastState
from .core.policy import Policy
from .core.ports import SeenTurn, Stored
from .core.state import ScopeState, dump, load
from .parking import ParkingLot

__all__ = ["Decider", "ObservedInput", "Touched"]

_SCOPES = 256
"""Scopes whose state stays loaded."""

Touched = dict[str, dict[str, None]]
"""Scope to the keys of its state that were touched, in order."""


class ObservedInput(NamedTuple):
    """An input and what was understood of it."""

    stored: Stored
    envelope: Envelope
    data: msgspec.Struct
    observed: Observation | ExtractionFailed
    about: SeenTurn | PastState | None
    """Of a `reextract.requested` the turn, of a `rollback.requested` the past that it names, if it is there."""


class Decider:
    """Decides inputs in dynamics order. `load_state` reads a scope's stored state; a scope whose input raises is parked."""

    def __init__(
        self, load_state: Callable[[str], Mapping[str, bytes]], policy: Policy, parking: ParkingLot, epoch: int
    ) -> None:
        self._load, self._policy, self._parking, self._epoch = load_state, policy, parking, epoch
        self._states: OrderedDict[str, ScopeState] = OrderedDict()

    def position(self, stored: Stored) -> Position:
        return Position(self._epoch, stored.partition, stored.offset)

    def state(self, scope: str) -> ScopeState:
        """The scope's state as it stands after everything that was decided or applied here."""
        state = self._states.get(scope)
        if state is None:
            state = load(Scope.parse(scope), self._load(scope))
            self._states[scope] = state
        self._states.move_to_end(scope)
        return state

    def speculate(
        self, inputs: Sequence[ObservedInput], touched: Touched, next_changes: int
    ) -> tuple[list[DecidedInput], list[Envelope]]:
        """Decisions of a batch and their records, as if the first were stored at offset `next_changes`."""
        decided: list[DecidedInput] = []
        records: list[Envelope] = []
        for given in inputs:
            scope = given.stored.scope
            if scope in self._parking.scopes:
                continue
            state = self.state(scope)
            position = self.position(given.stored)
            try:
                decision = decide(state, given.envelope, given.data, given.observed, self._policy, position, given.about)
            except Exception as error:  # a bug of ours: `decide` raises nothing on purpose
                self._parking.park(scope, given.stored.offset, given.envelope.id, error)
                continue
            envelope = decision_envelope(decision, given.envelope, position)
            digest = sha256_hex(envelope.to_bytes())
            keys = apply(state, decision, given.envelope, given.data, position, digest)
            touched.setdefault(scope, {}).update(dict.fromkeys(keys))
            records.append(envelope)
            decided.append(
                DecidedInput(
                    input=given.envelope,
                    data=given.data,
                    offset=given.stored.offset,
                    decision_envelope=envelope,
                    decision=decision,
                    changes_offset=next_changes + len(decided),
                    hash=digest,
                    recorded=given.stored.recorded,
                    extractor=given.observed.extractor,
                )
            )
        return decided, records

    def apply(self, item: DecidedInput, touched: Touched) -> None:
        """Takes over a decision that lies on the log."""
        position = Position.parse(item.decision_envelope.position or "")
        keys = apply(self.state(item.scope), item.decision, item.input, item.data, position, item.hash)
        touched.setdefault(item.scope, {}).update(dict.fromkeys(keys))

    def states(self, touched: Touched) -> dict[tuple[str, str], bytes | None]:
        """What of the states is to be stored, by (scope, key); None: to be deleted."""
        return {(scope, key): blob for scope, keys in touched.items() for key, blob in dump(self.state(scope), keys).items()}

    def forget(self) -> None:
        """Loads every state anew: the stored ones have moved on without these, or these are ahead of the log."""
        self._states.clear()

    def trim(self) -> None:
        """Between batches only: a state that is being changed must stay the one that is looked up."""
        while len(self._states) > _SCOPES:
            self._states.popitem(last=False)
