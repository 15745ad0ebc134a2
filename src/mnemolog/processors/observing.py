"""From an input to its observation: asks the extractor, tries again, and records what cannot be understood as such. What comes
out is decoded from the very bytes that are stored, so that deciding now and deciding in a replay see the same."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from ..schemas.codec import derived_id, encode
from ..schemas.envelope import Envelope, Position
from ..schemas.errors import ModelOutputInvalid, ModelUnavailable
from ..schemas.events import make
from ..schemas.inputs import ReextractRequested, Turn
from ..schemas.observations import ExtractionFailed, Observation
from ..schemas.scope import Scope
from .core.past import PastState
from .core.ports import Extraction, Extractor, SeenTurn, Stored
from .windows import Windows

__all__ = ["Observer", "observation_envelope"]

_log = logging.getLogger("mnemolog.processor")

TRIES = 3
"""How often an extractor is asked before its bad output is recorded as `extraction.failed`."""


class Observer:
    """Observes inputs in dynamics order. Raises ModelUnavailable where the model's server is down; nothing is noted then."""

    def __init__(self, extractor: Extractor, windows: Windows) -> None:
        self._extractor, self._windows = extractor, windows

    def about(self, stored: Stored, data: msgspec.Struct) -> SeenTurn | None:
        """For a `reextract.requested`: the turn that it names, if it is there."""
        return self._windows.turn(stored, data.turn_id) if isinstance(data, ReextractRequested) else None

    def observe(
        self, stored: Stored, envelope: Envelope, data: msgspec.Struct, about: SeenTurn | PastState | None
    ) -> Observation | ExtractionFailed:
        """The observation of the input that lies at `stored`."""
        if isinstance(data, Turn):
            seen = SeenTurn(envelope.id, data)
            observed = self._extract(envelope, seen, self._windows.before(stored, data.session))
            self._windows.add(stored, seen)
            return observed
        if isinstance(about, SeenTurn):
            return self._extract(envelope, about, self._windows.before_turn(stored, about))
        return Observation(input_id=envelope.id, input_type=envelope.type, extractor="command/1", command=envelope.type)

    def _extract(self, envelope: Envelope, seen: SeenTurn, window: Sequence[SeenTurn]) -> Observation | ExtractionFailed:
        error = raw = ""
        for _ in range(TRIES):
            try:
                extraction: Extraction = self._extractor.extract(seen, window)
                observation = Observation(
                    input_id=envelope.id,
                    input_type=envelope.type,
                    extractor=self._extractor.name,
                    model=extraction.model,
                    prompt_hash=extraction.prompt_hash,
                    context_ids=extraction.context_ids,
                    raw=extraction.raw,
                    candidates=extraction.candidates,
                )
                return msgspec.json.decode(encode(msgspec.to_builtins(observation)), type=Observation)
            except ModelUnavailable:
                raise
            except ModelOutputInvalid as problem:
                error, raw = str(problem), problem.raw
            except Exception as problem:  # an extractor is somebody's plug-in: its bugs are recorded like bad output
                error, raw = f"{type(problem).__name__}: {problem}", ""
        _log.warning("turn %s: no usable extraction after %d tries: %s", seen.id, TRIES, error)
        return ExtractionFailed(
            input_id=envelope.id,
            input_type=envelope.type,
            extractor=self._extractor.name,
            error=error,
            tries=TRIES,
            raw=raw,
        )


def observation_envelope(
    stored: Stored, envelope: Envelope, observed: Observation | ExtractionFailed, position: Position
) -> Envelope:
    """The record of an observation: the same id whenever it is made again."""
    scope = Scope.parse(stored.scope)
    return make(
        observed,
        scope=scope,
        event_id=derived_id(scope.tenant, scope.subject, envelope.source, envelope.id, "observe", 0),
        time=envelope.time,
        position=str(position),
        causation=envelope.id,
        recorded=stored.recorded,
    )
