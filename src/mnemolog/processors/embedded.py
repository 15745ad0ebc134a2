"""The embedded runner: turns inputs into observations, decisions and projected rows, in dynamics order, one batch at a time.

Invariants: extraction happens outside every transaction; an input's observation and decision become durable together; the
projections' cursor moves in the transaction that writes their rows; after a crash at any point the next start first projects
what was decided and then goes on with the first undecided input.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

import msgspec

from ..projections.projector import DecidedInput, Projector
from ..projections.reader import decided_inputs
from ..projections.store import Store
from ..projections.weeks import summarise_due
from ..schemas.codec import derived_id, encode, sha256_hex
from ..schemas.envelope import Envelope, Position
from ..schemas.errors import Closed, LogError, ModelOutputInvalid, ModelUnavailable, StaleDecision
from ..schemas.events import CHANGES, DYNAMICS, decode, make
from ..schemas.inputs import ErasureRequested, ReextractRequested, RetractionRequested, Turn
from ..schemas.observations import ExtractionFailed, Observation
from ..schemas.scope import Scope
from .core.chain import decision_envelope
from .core.decide import decide
from .core.evolve import apply
from .core.policy import Policy
from .core.ports import EventLog, Extraction, Extractor, SeenTurn, Stored
from .core.state import ScopeState, dump, load
from .parking import Parked, ParkingLot
from .windows import Windows

__all__ = ["Engine"]

_log = logging.getLogger("mnemolog.processor")

TRIES = 3
"""How often an extractor is asked before its bad output is recorded as `extraction.failed`."""
BATCH = 64
"""Inputs per batch: one pair of commits each. More saves little, and holds the write lock longer."""
_SCOPES = 256
"""Scopes whose state stays loaded."""

_Touched = dict[str, dict[str, None]]
"""Scope to the keys of its state that were touched, in order."""


class _Input(NamedTuple):
    stored: Stored
    envelope: Envelope
    data: msgspec.Struct
    observed: Observation | ExtractionFailed
    observation: Envelope
    about: SeenTurn | None
    """For a `reextract.requested`: the turn that it names, if it is there."""


class Engine:
    """Processes the log's backlog. One at a time per folder: the caller holds the processor lock. Thread-safe."""

    def __init__(self, log: EventLog, store: Store, projector: Projector, extractor: Extractor, policy: Policy) -> None:
        self._log, self._store, self._projector = log, store, projector
        self._extractor, self._policy = extractor, policy
        self._states: OrderedDict[str, ScopeState] = OrderedDict()
        self._windows = Windows(log, store, extractor.window)
        self._parking = ParkingLot(store)
        self._weeks: dict[tuple[str, str], None] = {}
        self._lock = threading.RLock()
        self._stopped = False
        self.started = False
        """Whether what an earlier run left behind has been taken up."""
        self.waiting_for: str = ""
        """Why the processor is paused (a model server that is down); empty while all is well."""

    def process(self, until: int | None = None, progress: Callable[[int], None] | None = None) -> int:
        """Processes inputs below dynamics offset `until` (default: all there is now) and returns how many.

        Stops early, without an error, where a model is unavailable; `waiting_for` then says why.
        """
        done = 0
        with self._lock:
            if self._stopped:
                raise Closed("the memory was closed: open it again")
            self._catch_up()
            end = self._log.end(DYNAMICS) if until is None else until
            while (start := self._store.cursor().applied_input) < end and not self._stopped:
                records = list(self._log.read(DYNAMICS, start, min(BATCH, end - start)))
                if not records:
                    break
                inputs, reached = self._observe(records)
                if reached > start:
                    self._decide(inputs, reached)
                    done += len(inputs)
                    if progress is not None:
                        progress(len(inputs))
                self._trim()
                if self.waiting_for:
                    break
            self._summarise()
        return done

    def stop(self) -> None:
        """Ends for good what is being processed, after the input that is being understood; returns when it has ended."""
        self._stopped = True
        with self._lock:
            pass

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is processed meanwhile; the state is loaded anew afterwards."""
        with self._lock:
            yield
            self.forget_loaded()

    @property
    def parked(self) -> Mapping[str, Parked]:
        """The scopes that stand still, each with its place and the error."""
        return self._parking.scopes

    def forget_loaded(self) -> None:
        """Drops what is kept in memory, after somebody else has processed in between."""
        with self._lock:
            self._states.clear()
            self._windows.clear()

    # -- observing -----------------------------------------------------------------------------------------------------

    def _observe(self, records: Sequence[Stored]) -> tuple[list[_Input], int]:
        """Observations of a batch, in order, and the offset that they reach: that of the first turn whose model is
        unavailable, or of the first input that has to see the ones before it in the tables."""
        inputs: list[_Input] = []
        self.waiting_for = ""
        reached = records[0].offset
        for stored in records:
            if self._stopped:
                break
            if stored.scope not in self._parking.scopes:
                try:
                    envelope, data = decode(stored.value)
                except LogError as error:
                    if inputs:
                        break  # those before it first
                    self._parking.park(stored.scope, stored.offset, "", error)
                    reached = stored.offset + 1
                    continue
                if isinstance(data, ReextractRequested) and inputs:
                    break  # the turn that it names may be one of them
                # A record that lies there twice counts once, whoever wrote it.
                first = self._log.position_of(envelope.scope, envelope.source, envelope.id)
                if first is None or first.offset == stored.offset:
                    try:
                        inputs.append(self._input(stored, envelope, data))
                    except ModelUnavailable as error:
                        self.waiting_for = str(error)
                        _log.warning("extraction waits: %s", error)
                        break
                    if isinstance(data, RetractionRequested | ErasureRequested):
                        # What it hides is in no later turn's window.
                        self._windows.forget(stored.scope)
                        return inputs, stored.offset + 1
            reached = stored.offset + 1
        return inputs, reached

    def _input(self, stored: Stored, envelope: Envelope, data: msgspec.Struct) -> _Input:
        about = self._windows.turn(stored.scope, data.turn_id) if isinstance(data, ReextractRequested) else None
        observed = self._observation(stored, envelope, data, about)
        return _Input(stored, envelope, data, observed, self._observation_envelope(stored, envelope, observed), about)

    def _observation(
        self, stored: Stored, envelope: Envelope, data: msgspec.Struct, about: SeenTurn | None
    ) -> Observation | ExtractionFailed:
        if isinstance(data, Turn):
            seen = SeenTurn(envelope.id, data)
            observed = self._extract(envelope, seen, self._windows.before(stored, data.session))
            self._windows.add(stored, seen)
            return observed
        if about is not None:
            return self._extract(envelope, about, self._windows.before_turn(stored.scope, about))
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

    def _observation_envelope(self, stored: Stored, envelope: Envelope, observed: Observation | ExtractionFailed) -> Envelope:
        scope = Scope.parse(stored.scope)
        return make(
            observed,
            scope=scope,
            event_id=derived_id(scope.tenant, scope.subject, envelope.source, envelope.id, "observe", 0),
            time=envelope.time,
            position=str(self._position(stored)),
            causation=envelope.id,
            recorded=stored.recorded,
        )

    # -- deciding ------------------------------------------------------------------------------------------------------

    def _decide(self, inputs: Sequence[_Input], reached: int) -> None:
        """Decides a batch and makes it durable; where another processor got in between, what it decided is read back."""
        touched: _Touched = {}
        decided, records = self._speculate(inputs, touched)
        try:
            offsets = {item.offset for item in decided}
            hashes = self._log.append_processed(
                [given.observation for given in inputs if given.stored.offset in offsets],
                records,
            )
        except BaseException as error:
            # The loaded states are ahead of the log now.
            self.forget_loaded()
            if isinstance(error, StaleDecision):
                self._catch_up()
                return
            raise
        if hashes != [item.hash for item in decided]:
            raise RuntimeError("the log stored other bytes than were decided")
        self._project(decided, touched, self._log.end(CHANGES), reached)

    def _speculate(self, inputs: Sequence[_Input], touched: _Touched) -> tuple[list[DecidedInput], list[Envelope]]:
        """Decisions of a batch, each made on the state that the one before left behind; nothing is written yet."""
        decided: list[DecidedInput] = []
        records: list[Envelope] = []
        start = self._log.end(CHANGES)
        for given in inputs:
            scope = given.stored.scope
            if scope in self._parking.scopes:
                continue
            state = self._state(scope)
            position = self._position(given.stored)
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
                    changes_offset=start + len(decided),
                    hash=digest,
                    recorded=given.stored.recorded,
                    extractor=given.observed.extractor,
                )
            )
        return decided, records

    def _project(self, decided: Sequence[DecidedInput], touched: _Touched, next_changes: int, applied: int) -> None:
        states = {(scope, key): blob for scope, keys in touched.items() for key, blob in dump(self._state(scope), keys).items()}
        weeks = self._projector.apply(decided, states=states, next_changes=next_changes, applied_input=applied)
        self._weeks.update(dict.fromkeys(weeks))

    def _summarise(self) -> None:
        """The weeks that the last batches closed or touched; once at the end of a run, since a later batch may touch them
        again. What a crash leaves out is due again at the next start."""
        if self._weeks:
            summarise_due(self._log, self._store, self._projector, list(self._weeks))
            self._weeks.clear()

    def _catch_up(self) -> None:
        """Projects what was decided but not projected: by a run that was killed, or by another processor."""
        cursor = self._store.cursor()
        if self._log.end(CHANGES) > cursor.next_changes:
            self.forget_loaded()
            items = decided_inputs(self._log, cursor.next_changes, heads=self._store.heads)
            while batch := list(islice(items, BATCH)):
                touched: _Touched = {}
                for item in batch:
                    keys = apply(
                        self._state(item.scope),
                        item.decision,
                        item.input,
                        item.data,
                        Position(self._log.epoch, 0, item.offset),
                        item.hash,
                    )
                    touched.setdefault(item.scope, {}).update(dict.fromkeys(keys))
                self._project(batch, touched, batch[-1].changes_offset + 1, batch[-1].offset + 1)
        if not self.started:
            summarise_due(self._log, self._store, self._projector)
            self._parking.reload()
            settled = [self._try_again(scope, parked) for scope, parked in list(self._parking.scopes.items())]
            self.started = all(settled)

    def _try_again(self, scope: str, parked: Parked) -> bool:
        """The waiting inputs of a parked scope, below the cursor; it is parked again where it still cannot be decided. Returns
        whether that is settled: it is not while a model is unavailable."""
        self._parking.take_up(scope)
        self._windows.forget(scope)
        end = self._store.cursor().applied_input
        # Some may be decided: by a run that died on the way.
        start = max(parked.offset, self._state(scope).applied + 1)
        while start < end:
            records = [item for item in self._log.read(DYNAMICS, start, BATCH, scope=Scope.parse(scope)) if item.offset < end]
            if not records:
                break
            inputs, reached = self._observe(records)
            if inputs:
                self._decide(inputs, reached)
            if scope in self._parking.scopes:
                return True
            if self.waiting_for or self._stopped:
                self._parking.put_back(scope, msgspec.structs.replace(parked, offset=reached))
                return False
            start = reached
        self._parking.release(scope)
        return True

    def _state(self, scope: str) -> ScopeState:
        state = self._states.get(scope)
        if state is None:
            state = load(Scope.parse(scope), self._store.load_state(scope))
            self._states[scope] = state
        self._states.move_to_end(scope)
        return state

    def _trim(self) -> None:
        """Between batches only: a state that is being changed must stay the one that is looked up."""
        while len(self._states) > _SCOPES:
            self._states.popitem(last=False)
        self._windows.trim()

    def _position(self, stored: Stored) -> Position:
        return Position(self._log.epoch, stored.partition, stored.offset)
