"""Decides every input again, from its recorded observation and the recorded decisions before it, and says where today's policy
would decide otherwise. No extractor and no model is asked; what was decided stands."""

from __future__ import annotations

from ..processors.about import look_back
from ..processors.core.decide import decide
from ..processors.core.evolve import apply
from ..processors.core.past import PastState
from ..processors.core.policy import Policy
from ..processors.core.ports import EventLog, SeenTurn, Stored
from ..processors.core.state import ScopeState
from ..projections.projector import DecidedInput
from ..projections.reader import Observations, records
from ..schemas.changes import Decision, Hidden
from ..schemas.codec import canonical
from ..schemas.envelope import Position
from ..schemas.errors import Undecodable
from ..schemas.events import DYNAMICS, decode
from ..schemas.inputs import ReextractRequested, RollbackRequested, Turn
from ..schemas.observations import ExtractionFailed, Observation

__all__ = ["Redecide"]

Observed = Observation | ExtractionFailed


class Redecide:
    """Called with each decided input in log order, from the first one on; returns what differs, empty where nothing does.

    Keeps the state of every scope that it meets.
    """

    def __init__(self, log: EventLog, policy: Policy) -> None:
        self._log = log
        self._policy = policy
        self._states: dict[str, ScopeState] = {}
        self._hidden: dict[str, set[str]] = {}
        self._erased: dict[str, int] = {}
        self._observations: Observations[Observed] | None = None

    def __call__(self, item: DecidedInput) -> str:
        if self._observations is None:
            self._observations = Observations(self._log, item.offset, None, _observed)
        observed = self._observations.of(item.scope, item.input.id, item.offset)
        state = self._states.get(item.scope)
        if state is None:
            state = self._states[item.scope] = ScopeState.empty(item.input.scope)
        position = Position(self._log.epoch, 0, item.offset)
        if observed is None:
            difference = "its observation is not on the log"
        else:
            again = decide(state, item.input, item.data, observed, self._policy, position, self._about(item))
            difference = _difference(item.decision, again)
        apply(state, item.decision, item.input, item.data, position, item.hash)
        self._note_hidden(item)
        return difference

    def _about(self, item: DecidedInput) -> SeenTurn | PastState | None:
        """The turn that a request to understand again is about, the first with that id that was not hidden by then; or how the
        scope stood at what a rollback names."""
        if isinstance(item.data, RollbackRequested):
            return look_back(self._log, item.input.scope, item.data, item.offset).found
        if not isinstance(item.data, ReextractRequested) or item.data.turn_id in self._hidden.get(item.scope, ()):
            return None
        start = self._erased.get(item.scope, -1) + 1
        for record in records(self._log, DYNAMICS, start, item.offset, scope=item.input.scope):
            envelope, data = decode(record.value)
            if envelope.id == item.data.turn_id and isinstance(data, Turn):
                return SeenTurn(envelope.id, data)
        return None

    def _note_hidden(self, item: DecidedInput) -> None:
        for change in item.decision.changes:
            if isinstance(change, Hidden) and change.target == "turn":
                self._hidden.setdefault(item.scope, set()).add(change.target_id)
            elif isinstance(change, Hidden) and change.target == "scope":
                self._erased[item.scope] = item.offset


def _observed(record: Stored) -> tuple[str, int, Observed]:
    envelope, data = decode(record.value)
    if not isinstance(data, Observation | ExtractionFailed) or envelope.position is None:
        raise Undecodable(f"offset {record.offset} of {record.topic}: {envelope.type} is not an observation of an input")
    return data.input_id, Position.parse(envelope.position).offset, data


def _difference(recorded: Decision, again: Decision) -> str:
    """What is not the same, in a few words; the policy's name alone is no difference."""
    if recorded.outcome != again.outcome:
        return f"outcome {again.outcome}, recorded {recorded.outcome}"
    for number, (old, new) in enumerate(zip(recorded.changes, again.changes, strict=False)):
        if canonical(old) != canonical(new):
            now, then = type(new).__name__, type(old).__name__
            return f"change {number}: {now}" if now == then else f"change {number}: {now}, recorded {then}"
    if len(recorded.changes) != len(again.changes):
        return f"{len(again.changes)} changes, recorded {len(recorded.changes)}"
    return ""
