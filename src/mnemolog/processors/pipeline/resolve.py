"""Resolution: observations to decisions, each linked to its scope's head.

Invariants: an input is decided on the state that all valid decisions before it made; a decision counts only once it lies on the
topic and links there, and only then does the stored state move on. Two resolvers on one partition cannot both be right: the one
that finds its decision stale, or the stored state moved, forgets what it has loaded and reads on from what counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice

import msgspec

from ...projections.reader import DecidedReader, records
from ...projections.resolver_state import Progress, ResolverState
from ...schemas.envelope import Position
from ...schemas.errors import LogError, StaleDecision, Undecodable
from ...schemas.events import DYNAMICS, OBSERVATIONS
from ...schemas.observations import ExtractionFailed, Observation
from ...schemas.scope import Scope
from ..about import ALONE, Lookup
from ..core.policy import Policy
from ..core.ports import Stored
from ..deciding import Decider, ObservedInput, Touched
from ..parking import Parked, ParkingLot
from ..windows import IndexPlaces, Windows
from .core import BATCH
from .inputs import is_scope, pass_over, read_input, read_observation
from .installation import Partition

__all__ = ["ResolveCore"]


_REFOLDED = 2000
"""Decisions made elsewhere that are taken over in one write of the state: most of them are of the same scopes."""


class Moved(Exception):
    """The stored state or the topic moved on by somebody else's hand."""


_Observed = Observation | ExtractionFailed


class _Place(msgspec.Struct):
    position: str


_READ_PLACE = msgspec.json.Decoder(_Place).decode


def _is_of(observation: Stored, before: int) -> bool:
    """Whether it is of an input below that dynamics offset; the rest of it is not read."""
    try:
        return Position.parse(_READ_PLACE(observation.value).position).offset < before
    except (msgspec.DecodeError, Undecodable):
        return False


class ResolveCore:
    """Decides one partition's inputs."""

    def __init__(self, partition: Partition, policy: Policy) -> None:
        self._log, self._store = partition.log, partition.store
        self._state = ResolverState(partition.state)
        self._parking = ParkingLot(partition.store)
        self._decider = Decider(self._state.load, policy, self._parking, partition.log.epoch)
        self._lookup = Lookup(partition.log, Windows(partition.log, IndexPlaces(partition.log.index), 0))
        self._at: Progress | None = None
        self._inputs: deque[Stored] = deque()
        self._next_input = 0
        self._observed: dict[int, tuple[int, _Observed]] = {}
        self._next_observation = 0
        self._firsts: dict[int, bool] = {}
        self._settling: dict[str, tuple[int, Parked | None]] = {}
        self._unobserved: set[str] = set()
        """Scopes that stand still until extraction, which passed them over, comes back to them."""

    @property
    def topic(self) -> str:
        return OBSERVATIONS

    @property
    def position(self) -> int:
        at = self._at  # looked at once: whoever asks may be in another thread
        return (self._state.progress() if at is None else at).next_observations

    @property
    def parked(self) -> dict[str, Parked]:
        """The scopes that stand still."""
        return dict(self._parking.scopes)

    def step(self, timeout: float) -> int:
        try:
            if self._at is None:
                self._begin()
            self._settle()
            return self._step(timeout)
        except (StaleDecision, Moved):
            self._forget()
            return 1
        except BaseException:
            self._forget()
            raise

    # -- where it stands -----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """From the stored state, over what was decided behind it, to the first input that is not decided."""
        self._at = self._state.progress()
        self._catch_up()
        self._parking.reload()
        for scope, parked in list(self._parking.scopes.items()):
            if is_scope(scope):  # else nothing but unreadable records lies there
                self._try_again(scope, parked)

    def _forget(self) -> None:
        """What is loaded may be ahead of what counts, or behind it."""
        self._at = None
        self._decider.forget()
        self._inputs.clear()
        self._observed.clear()
        self._firsts.clear()
        self._settling.clear()
        self._unobserved.clear()

    def _catch_up(self) -> None:
        """Applies the decisions behind the stored state: those of a resolver that died, or of another one."""
        at = self._now()
        reader = DecidedReader(self._log, at.next_changes, heads=self._state.heads, on_broken=pass_over)
        items = reader.read()
        while batch := list(islice(items, _REFOLDED)):
            touched: Touched = {}
            for item in batch:
                if self._decider.state(item.scope).applied >= item.offset:
                    raise Moved
                self._decider.apply(item, touched)
            at = self._now()
            after = Progress(
                batch[-1].changes_offset + 1,
                max(at.applied_input, batch[-1].offset + 1),
                at.next_observations,
            )
            self._write(touched, {item.scope: item.hash for item in batch}, after)
            self._decider.trim()
        self._next_input = self._now().applied_input
        self._next_observation = self._now().next_observations

    def _now(self) -> Progress:
        if self._at is None:
            raise RuntimeError("the resolver has not begun")
        return self._at

    def _write(self, touched: Touched, heads: dict[str, str], after: Progress) -> None:
        before = self._now()
        if not self._state.write(self._decider.states(touched), heads, before=before, after=after):
            raise Moved
        self._at = after

    # -- deciding ------------------------------------------------------------------------------------------------------

    def _step(self, timeout: float) -> int:
        took = self._read(timeout)
        inputs, reached, observed = self._match()
        at = self._now()
        if not inputs and reached == at.applied_input:
            return took
        self._decide(inputs, reached, observed)
        self._decider.trim()
        return max(took, len(inputs))

    def _read(self, timeout: float) -> int:
        """Takes what lies on both topics; waits only where nothing is left to do."""
        self._take_inputs()
        waiting = any(record.offset in self._observed for record in islice(self._inputs, 1))
        found, reached = self._log.follow(OBSERVATIONS, self._next_observation, BATCH, 0.0 if waiting else timeout)
        late: set[str] = set()
        for record in found:
            if _is_of(record, before=self._now().applied_input):
                if record.scope in self._unobserved:
                    late.add(record.scope)
                continue  # decided long ago: it is read again where the state was folded anew
            known = read_observation(record)
            if known is not None:
                self._observed.setdefault(known[0], (record.offset, known[1]))
        self._next_observation = reached
        for scope in sorted(late):
            self._try_again(scope, self._parking.scopes[scope])
        if found:
            self._take_inputs()
        return len(found)

    def _take_inputs(self) -> None:
        if len(self._inputs) < BATCH:
            found, reached = self._log.follow(DYNAMICS, self._next_input, BATCH, 0.0)
            self._inputs.extend(found)
            self._next_input = reached

    def _match(self) -> tuple[list[ObservedInput], int, int]:
        """The inputs whose turn it is and that are observed; the dynamics offset that they reach; the observations' offset."""
        batch = list(islice(self._inputs, BATCH))
        reached, observed = self._now().applied_input, self._now().next_observations
        if not batch:
            return [], reached, observed
        firsts = self._first_of(batch)
        inputs: list[ObservedInput] = []
        for stored in batch:
            if stored.scope not in self._parking.scopes and firsts.get(stored.offset) is not False:
                try:
                    envelope, data = read_input(stored)
                except LogError as error:
                    if inputs:
                        break  # those before it first
                    self._parking.park(stored.scope, stored.offset, "", error)
                else:
                    known = self._observed.get(stored.offset)
                    if known is None:
                        break  # extraction is not there yet
                    if isinstance(data, ALONE) and inputs:
                        break  # what it names may be one of them
                    about = self._lookup.about(stored, data)
                    inputs.append(ObservedInput(stored, envelope, data, known[1], about))
            known = self._observed.pop(stored.offset, None)
            if known is not None:
                observed = known[0] + 1
            reached = stored.offset + 1
            self._firsts.pop(stored.offset, None)
            self._inputs.popleft()
        # One that came late lies behind those of later inputs, which are still to be read after a restart.
        return inputs, reached, min([observed, *(place for place, _ in self._observed.values())])

    def _first_of(self, batch: Sequence[Stored]) -> Mapping[int, bool]:
        """Which of them repeat an earlier record. What is observed does not; the others are looked up, once."""
        unknown = [record for record in batch if record.offset not in self._observed and record.offset not in self._firsts]
        if unknown:
            self._firsts |= self._log.first_offsets(unknown)
        return self._firsts

    def _decide(self, inputs: Sequence[ObservedInput], reached: int, observed: int) -> None:
        at = self._now()
        self._check_current(inputs)
        touched: Touched = {}
        decided, events = self._decider.speculate(inputs, touched, at.next_changes)
        placed = self._log.append_linked(events)
        expected = list(range(at.next_changes, at.next_changes + len(placed)))
        if [offset for offset, _ in placed] != expected:
            # Somebody else's records lie in between, and some of them may count: everything is read back in order.
            raise Moved
        if [digest for _, digest in placed] != [item.hash for item in decided]:
            raise RuntimeError("the log stored other bytes than were decided")
        after = Progress(at.next_changes + len(placed), reached, observed)
        self._write(touched, {item.scope: item.hash for item in decided}, after)

    def _check_current(self, inputs: Sequence[ObservedInput]) -> None:
        """A state that was loaded just now may know of decisions that this resolver does not: another one made them. To decide
        their inputs again on top of them would link."""
        firsts: dict[str, int] = {}
        for given in inputs:
            firsts.setdefault(given.stored.scope, given.stored.offset)
        if any(self._decider.state(scope).applied >= offset for scope, offset in firsts.items()):
            raise Moved

    # -- scopes that stood still ---------------------------------------------------------------------------------------

    def _try_again(self, scope: str, parked: Parked) -> None:
        """Decides what waited for it, or lets it stand still again. Its place stays noted until what was decided is projected:
        readers and the vectors look from there for what comes late."""
        self._parking.take_up(scope)
        self._unobserved.discard(scope)
        end = self._now().applied_input
        start = max(parked.offset, self._decider.state(scope).applied + 1)
        self._decide_waiting(scope, list(records(self._log, DYNAMICS, start, end, scope=Scope.parse(scope))), end)
        stands = self._parking.scopes.get(scope)
        if stands is not None:
            self._parking.note(scope, msgspec.structs.replace(stands, offset=parked.offset))
        self._settling[scope] = (self._now().next_changes, stands)

    def _decide_waiting(self, scope: str, waiting: Sequence[Stored], end: int) -> None:
        firsts = self._log.first_offsets(waiting)
        observed = self._observations_of(scope) if waiting else {}
        for stored in waiting:
            if firsts.get(stored.offset) is False:
                continue
            try:
                envelope, data = read_input(stored)
            except LogError as error:
                self._parking.park(scope, stored.offset, "", error)
                return
            if stored.offset not in observed:
                self._unobserved.add(scope)
                self._parking.put_back(scope, Parked(stored.offset, envelope.id, "waits for its observation", 1))
                return
            given = ObservedInput(stored, envelope, data, observed[stored.offset], self._lookup.about(stored, data))
            self._decide([given], end, self._now().next_observations)
            if scope in self._parking.scopes:
                return

    def _settle(self) -> None:
        """Notes where scopes that were taken up stand now, once the read models have what was decided."""
        if not self._settling:
            return
        projected = self._store.cursor().next_changes
        for scope, (decided, stands) in list(self._settling.items()):
            if projected >= decided:
                del self._settling[scope]
                if stands is None:
                    self._parking.release(scope)
                else:
                    self._parking.note(scope, stands)

    def _observations_of(self, scope: str) -> dict[int, _Observed]:
        found: dict[int, _Observed] = {}
        for record in records(self._log, OBSERVATIONS, 0, self._log.end(OBSERVATIONS), scope=Scope.parse(scope)):
            known = read_observation(record)
            if known is not None:
                found.setdefault(*known)
        return found
