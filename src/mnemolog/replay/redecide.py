"""Decides every input again from its recorded observation and compares with what was decided then: a difference says that the
rules or Form types have changed since, not that anything is wrong."""

from __future__ import annotations

from ..processors.core.decide import decide
from ..processors.core.evolve import apply
from ..processors.core.policy import Policy
from ..processors.core.ports import EventLog, SeenTurn
from ..processors.core.state import ScopeState
from ..projections.projector import DecidedInput
from ..schemas.codec import derived_id
from ..schemas.envelope import Position
from ..schemas.events import DYNAMICS, OBSERVATIONS, decode
from ..schemas.inputs import ReextractRequested, Turn
from ..schemas.observations import ExtractionFailed, Observation
from ..schemas.scope import Scope

__all__ = ["Redecide"]


class Redecide:
    """Called with each decided input in log order; keeps one state per scope, as it was decided then."""

    def __init__(self, log: EventLog, policy: Policy) -> None:
        self._log, self._policy = log, policy
        self._states: dict[str, ScopeState] = {}
        self._observations: dict[str, int] = {}
        self._next = 0

    def __call__(self, item: DecidedInput) -> str:
        """What differs from the recorded decision; empty where today's rules decide the same."""
        scope = Scope.parse(item.scope)
        state = self._states.setdefault(item.scope, ScopeState.empty(scope))
        position = Position(self._log.epoch, 0, item.offset)
        observation = self._observation(scope, item)
        if observation is None:
            difference = "its observation is not on the log"
        else:
            decision = decide(state, item.input, item.data, observation, self._policy, position, self._about(scope, item))
            then, now = item.decision, decision
            if (then.outcome, then.changes) == (now.outcome, now.changes):
                difference = ""
            else:
                difference = (
                    f"then {then.outcome} with {len(then.changes)} changes by {then.policy}, "
                    f"now {now.outcome} with {len(now.changes)} changes by {now.policy}"
                )
        apply(state, item.decision, item.input, item.data, position, item.hash)
        return difference

    def _observation(self, scope: Scope, item: DecidedInput) -> Observation | ExtractionFailed | None:
        """The first observation of the input: they lie in about the order of the decisions."""
        wanted = derived_id(scope.tenant, scope.subject, item.input.source, item.input.id, "observe", 0)
        while wanted not in self._observations:
            stored = next(iter(self._log.read(OBSERVATIONS, self._next, 1)), None)
            if stored is None:
                return None
            self._next = stored.offset + 1
            envelope, _ = decode(stored.value)
            self._observations.setdefault(envelope.id, stored.offset)
        offset = self._observations.pop(wanted)
        _, data = decode(next(iter(self._log.read(OBSERVATIONS, offset, 1))).value)
        return data if isinstance(data, Observation | ExtractionFailed) else None

    def _about(self, scope: Scope, item: DecidedInput) -> SeenTurn | None:
        if not isinstance(item.data, ReextractRequested):
            return None
        for stored in self._log.read(DYNAMICS, 0, scope=scope):
            envelope, data = decode(stored.value)
            if stored.offset >= item.offset:
                return None
            if envelope.id == item.data.turn_id and isinstance(data, Turn):
                return SeenTurn(envelope.id, data)
        return None
