"""The embedded runner: turns inputs into observations, decisions and projected rows, in dynamics order, one batch at a time.

Invariants: extraction happens outside every transaction; an input's observation and decision become durable together; the
projections' cursor moves in the transaction that writes their rows; after a crash at any point the next start first projects
what was decided and then goes on with the first undecided input.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

import msgspec

from ..projections.projector import DecidedInput, Projector
from ..projections.reader import decided_inputs
from ..projections.store import Store
from ..projections.weeks import summarise_due
from ..schemas.envelope import Envelope
from ..schemas.errors import BrokenChain, Closed, ConflictingContent, LogError, ModelUnavailable, StaleDecision
from ..schemas.events import CHANGES, DYNAMICS, decode
from ..schemas.inputs import ErasureRequested, RetractionRequested
from ..schemas.scope import Scope
from .about import ALONE, Lookup
from .core.policy import Policy
from .core.ports import EventLog, Extractor, Stored
from .deciding import Decider, ObservedInput, Touched
from .observing import Observer, observation_envelope
from .parking import Parked, ParkingLot
from .windows import StorePlaces, Windows

__all__ = ["Engine"]

_log = logging.getLogger("mnemolog.processor")

BATCH = 64
"""Inputs per batch: one pair of commits each. More saves little, and holds the write lock longer."""
_Input = tuple[ObservedInput, Envelope]
"""With the record of its observation."""


class Engine:
    """Processes the log's backlog. One at a time per folder: the caller holds the processor lock. Thread-safe."""

    def __init__(self, log: EventLog, store: Store, projector: Projector, extractor: Extractor, policy: Policy) -> None:
        self._log, self._store, self._projector = log, store, projector
        self._windows = Windows(log, StorePlaces(store), extractor.window)
        self._observer = Observer(extractor, self._windows)
        self._lookup = Lookup(log, self._windows)
        self._parking = ParkingLot(store)
        self._decider = Decider(store.load_state, policy, self._parking, log.epoch)
        self._weeks: dict[tuple[str, str], None] = {}
        self._lock = threading.RLock()
        self._stopped = False
        self._version = 0
        self._stale: tuple[str, str, str] | None = None
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
            self._look_at_version()
            self._catch_up()
            end = self._log.end(DYNAMICS) if until is None else until
            while (start := self._store.cursor().applied_input) < end and not self._stopped:
                records = list(self._log.read(DYNAMICS, start, min(BATCH, end - start)))
                if not records:
                    break
                inputs, reached = self._observe(records)
                if reached > start and self._decide(inputs, reached):
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
            self._decider.forget()
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
                if isinstance(data, ALONE) and inputs:
                    break  # what it names may be one of them
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

    def _input(self, stored: Stored, envelope: Envelope, data: msgspec.Struct) -> tuple[ObservedInput, Envelope]:
        about = self._lookup.about(stored, data)
        observed = self._observer.observe(stored, envelope, data, about)
        record = observation_envelope(stored, envelope, observed, self._decider.position(stored))
        return ObservedInput(stored, envelope, data, observed, about), record

    # -- deciding ------------------------------------------------------------------------------------------------------

    def _decide(self, inputs: Sequence[_Input], reached: int) -> bool:
        """Decides a batch and makes it durable; where another processor got in between, what it decided is read back, and it
        is not done. Raises BrokenChain where there was nothing to read back."""
        touched: Touched = {}
        decided, records = self._decider.speculate([given for given, _ in inputs], touched, self._log.end(CHANGES))
        try:
            offsets = {item.offset for item in decided}
            hashes = self._log.append_processed([record for given, record in inputs if given.stored.offset in offsets], records)
        except BaseException as error:
            # The loaded states are ahead of the log now.
            self.forget_loaded()
            if isinstance(error, StaleDecision):
                # The same again, on what was loaded anew: nobody else is at work, the chain itself leads nowhere.
                stale = (error.scope, error.expected, error.given)
                if stale == self._stale:
                    raise BrokenChain(error.scope, _wrong_head(error)) from error
                self._stale = stale
                self._catch_up()
                return False
            if isinstance(error, ConflictingContent):  # ids follow from the input, whose record was the first of its id
                raise BrokenChain(error.scope, _decided_before(inputs, error.scope)) from error
            raise
        self._stale = None
        if hashes != [item.hash for item in decided]:
            raise RuntimeError("the log stored other bytes than were decided")
        self._project(decided, touched, self._log.end(CHANGES), reached)
        return True

    def _project(self, decided: Sequence[DecidedInput], touched: Touched, next_changes: int, applied: int) -> None:
        states = self._decider.states(touched)
        weeks = self._projector.apply(decided, states=states, next_changes=next_changes, applied_input=applied)
        self._weeks.update(dict.fromkeys(weeks))

    def _summarise(self) -> None:
        """The weeks that the last batches closed or touched; once at the end of a run, since a later batch may touch them
        again. What a crash leaves out is due again at the next start."""
        if self._weeks:
            summarise_due(self._log, self._store, self._projector, list(self._weeks))
            self._weeks.clear()

    def _look_at_version(self) -> None:
        """What is kept in memory was loaded from one version of the tables; another one may be live by now."""
        live = self._store.live_version()
        if live != self._version:
            self._version = live
            self.forget_loaded()

    def _catch_up(self) -> None:
        """Projects what was decided but not projected: by a run that was killed, or by another processor."""
        cursor = self._store.cursor()
        if self._log.end(CHANGES) > cursor.next_changes:
            self.forget_loaded()
            items = decided_inputs(self._log, cursor.next_changes, heads=self._store.heads)
            while batch := list(islice(items, BATCH)):
                touched: Touched = {}
                for item in batch:
                    self._decider.apply(item, touched)
                # Of a scope that stood still, an early input may have been decided last.
                reached = max([item.offset for item in batch]) + 1
                self._project(batch, touched, batch[-1].changes_offset + 1, reached)
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
        start = max(parked.offset, self._decider.state(scope).applied + 1)
        while start < end:
            records = [item for item in self._log.read(DYNAMICS, start, BATCH, scope=Scope.parse(scope)) if item.offset < end]
            if not records:
                break
            inputs, reached = self._observe(records)
            if inputs and not self._decide(inputs, reached):
                start = max(start, self._decider.state(scope).applied + 1)
                continue
            if scope in self._parking.scopes:
                return True
            if self.waiting_for or self._stopped:
                self._parking.put_back(scope, msgspec.structs.replace(parked, offset=reached))
                return False
            start = reached
        self._parking.release(scope)
        return True

    def _trim(self) -> None:
        self._decider.trim()
        self._windows.trim()


def _wrong_head(stale: StaleDecision) -> str:
    own, noted = stale.given[:12] or "nothing", stale.expected[:12] or "nothing"
    return f"its newest decision is {own!r}, and the log notes {noted!r} as its head"


def _decided_before(inputs: Sequence[_Input], scope: str) -> str:
    offset = next(given.stored.offset for given, _ in inputs if given.stored.scope == scope)
    return f"by the read models no input from dynamics offset {offset} on is decided, and the log holds decisions of them"
