"""Joins the topics: each valid decision with the input it decides and the observation it rests on, in step and in constant
memory. Decisions keep dynamics order and are one to one with inputs, so each topic is read once, from front to back."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from typing import Generic, TypeVar

import msgspec

from ..processors.core.chain import ValidDecision, valid_decisions
from ..processors.core.ports import EventLog, Stored
from ..schemas.envelope import Position
from ..schemas.errors import Undecodable
from ..schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, decode
from ..schemas.scope import Scope
from .cells import DecidedInput

__all__ = ["DecidedInput", "DecidedReader", "MissingInput", "Observations", "decided_inputs", "records"]

CHUNK = 512
"""Records read at a time; no read of the log stays open between two chunks."""
_REMEMBERED = 4096
"""Observations kept for decisions that come later than their place (of scopes that had to wait)."""
_INDEXED = 16
"""Scopes whose observations are kept by input, where some lie far from their place."""


class MissingInput(Undecodable):
    """A decision whose input is not on the log any more."""

    def __init__(self, scope: str, input_id: str, offset: int) -> None:
        self.scope = scope
        self.input_id = input_id
        self.offset = offset
        super().__init__(
            f"scope {scope!r}: the input {input_id!r} at dynamics offset {offset} is decided but not on the log: "
            "the log was altered; restore it from a backup"
        )


def records(log: EventLog, topic: str, start: int, end: int | None = None, *, scope: Scope | None = None) -> Iterator[Stored]:
    """The records of a topic (of one scope) from `start` on and below `end`, read in chunks."""
    while end is None or start < end:
        chunk = list(log.read(topic, start, CHUNK, scope=scope))
        for record in chunk:
            if end is not None and record.offset >= end:
                return
            yield record
        if not chunk:
            return
        start = chunk[-1].offset + 1


def decided_inputs(
    log: EventLog,
    start_changes: int,
    end_changes: int | None = None,
    *,
    scope: Scope | None = None,
    heads: Callable[[], MutableMapping[str, str]] | None = None,
    on_broken: Callable[[str, Undecodable], None] | None = None,
) -> Iterator[DecidedInput]:
    """The decided inputs (of one scope) from offset `start_changes` of the changes topic to `end_changes` (default: its end).

    `heads` gives the scopes' heads at `start_changes` (pass `store.heads` with the store's cursor); without it the chain is
    followed from the beginning of the topic. Both are looked at only if there is something to read. A decision whose input is
    gone raises MissingInput, one whose records cannot be read Undecodable; with `on_broken` these are told there, with their
    scope, and left out.
    """
    return DecidedReader(log, start_changes, scope=scope, heads=heads, on_broken=on_broken).read(end_changes)


class DecidedReader:
    """The same for somebody who goes on reading as the log grows: every topic stays where it was read to.

    `next_changes` is the offset below which everything was looked at once `read` came to its end. Void decisions (those that
    do not link) are passed over.
    """

    def __init__(
        self,
        log: EventLog,
        start_changes: int,
        *,
        scope: Scope | None = None,
        heads: Callable[[], MutableMapping[str, str]] | None = None,
        on_broken: Callable[[str, Undecodable], None] | None = None,
    ) -> None:
        self._log, self._scope, self._on_broken = log, scope, on_broken
        self._start = start_changes
        self._given = heads
        self._heads: MutableMapping[str, str] | None = None
        self._inputs: _Inputs | None = None
        self._observations: Observations[str] | None = None
        self._ahead = CHUNK
        self.next_changes = start_changes

    def read(self, end_changes: int | None = None) -> Iterator[DecidedInput]:
        """What follows, up to `end_changes` (default: the end of the topic)."""
        for record in records(self._log, CHANGES, self.next_changes, end_changes, scope=self._scope):
            yield from self.take(record)

    def take_all(self, batch: Sequence[Stored]) -> list[DecidedInput]:
        """What some records of the changes topic decide; no more is read of the other topics than goes with them."""
        self._ahead = max(min(len(batch), CHUNK), 1)
        return [item for record in batch for item in self.take(record)]

    def take(self, record: Stored) -> Iterator[DecidedInput]:
        """What a record of the changes topic decides: nothing where it does not count. Records are given in log order."""
        self.next_changes = record.offset + 1
        if self._heads is None:
            self._heads = _heads_before(self._log, self._start, self._scope) if self._given is None else self._given()
        for valid in _valid((record,), self._heads, self._on_broken):
            item = self._joined(valid)
            if item is not None:
                yield item

    def _joined(self, valid: ValidDecision) -> DecidedInput | None:
        where = Position.parse(valid.envelope.position)
        if self._inputs is None or self._observations is None:
            self._inputs = _Inputs(self._log, where.offset, self._scope)
            self._observations = Observations(self._log, where.offset, self._scope, _extractor_name)
        self._inputs.ahead = self._observations.ahead = self._ahead
        key = valid.stored.scope
        stored = self._inputs.at(where.offset)
        try:
            if stored is None or stored.scope != key:
                raise MissingInput(key, valid.decision.input_id, where.offset)
            envelope, data = decode(stored.value)
            if envelope.id != valid.decision.input_id:
                raise MissingInput(key, valid.decision.input_id, where.offset)
        except Undecodable as error:
            if self._on_broken is None:
                raise
            self._on_broken(key, error)
            return None
        return DecidedInput(
            input=envelope,
            data=data,
            offset=stored.offset,
            decision_envelope=valid.envelope,
            decision=valid.decision,
            changes_offset=valid.stored.offset,
            hash=valid.hash,
            recorded=stored.recorded,
            extractor=self._observations.of(key, envelope.id, where.offset) or "",
        )


def _valid(
    given: Iterable[Stored], heads: MutableMapping[str, str], on_broken: Callable[[str, Undecodable], None] | None
) -> Iterator[ValidDecision]:
    """The valid decisions; with `on_broken` a record that cannot be read is told and counts as not there."""
    if on_broken is None:
        yield from valid_decisions(given, heads)
        return
    for record in given:
        try:
            yield from valid_decisions((record,), heads)
        except Undecodable as error:
            on_broken(record.scope, error)


def _heads_before(log: EventLog, end: int, scope: Scope | None) -> dict[str, str]:
    heads: dict[str, str] = {}
    for _ in valid_decisions(records(log, CHANGES, 0, end, scope=scope), heads):
        pass
    return heads


class _Ahead:
    """The records of a topic from an offset on, one looked at before it is taken; at the end it asks again when asked."""

    def __init__(self, log: EventLog, topic: str, start: int, scope: Scope | None) -> None:
        self._log, self._topic, self._scope = log, topic, scope
        self._at = start
        self._chunk: deque[Stored] = deque()

    def peek(self, ahead: int) -> Stored | None:
        """`ahead`: how many to read at a time."""
        if not self._chunk:
            self._chunk.extend(self._log.read(self._topic, self._at, ahead, scope=self._scope))
            if not self._chunk:
                return None
            self._at = self._chunk[-1].offset + 1
        return self._chunk[0]

    def drop(self) -> None:
        self._chunk.popleft()


class _Inputs:
    """Dynamics, read forward; a decision that comes out of order is looked up where it lies."""

    def __init__(self, log: EventLog, start: int, scope: Scope | None) -> None:
        self._log = log
        self._ahead = _Ahead(log, DYNAMICS, start, scope)
        self._reached = start
        self.ahead = CHUNK

    def at(self, offset: int) -> Stored | None:
        while self._reached <= offset and (record := self._ahead.peek(self.ahead)) is not None and record.offset <= offset:
            self._reached = record.offset + 1
            self._ahead.drop()
            if record.offset == offset:
                return record
        found = next(iter(self._log.read(DYNAMICS, offset, 1)), None)
        return found if found is not None and found.offset == offset else None


_T = TypeVar("_T")


class Observations(Generic[_T]):
    """The observations topic read forward, beside decisions in log order. `read` gives (input id, dynamics offset of the input,
    whatever is wanted) of a record; `input_offset` is the first input that will be asked for."""

    def __init__(
        self, log: EventLog, input_offset: int, scope: Scope | None, read: Callable[[Stored], tuple[str, int, _T]]
    ) -> None:
        self._log = log
        self._scope = scope
        self._decode = read
        self._indexed: OrderedDict[str, tuple[int, dict[str, _T]]] = OrderedDict()
        self._ahead = _Ahead(log, OBSERVATIONS, self._place(log, input_offset), scope)
        self.ahead = CHUNK
        self._passed: OrderedDict[tuple[str, str], _T] = OrderedDict()
        self._next: tuple[tuple[str, str], int, _T] | None = None

    def of(self, scope: str, input_id: str, offset: int) -> _T | None:
        """The first observation of an input; None where it has none."""
        while (scope, input_id) not in self._passed and (item := self._look()) is not None and item[1] <= offset:
            key, _, wanted = item
            self._passed.setdefault(key, wanted)
            if len(self._passed) > _REMEMBERED:
                self._passed.popitem(last=False)
            self._next = None
        found = self._passed.pop((scope, input_id), None)
        return self._elsewhere(scope, input_id) if found is None else found

    def _elsewhere(self, scope: str, input_id: str) -> _T | None:
        """The observation of an input that was decided late, which lies far behind its place: looked for among all of its
        scope's."""
        if self._scope not in (None, Scope.parse(scope)):
            return None
        index = self._indexed.get(scope)
        end = self._log.end(OBSERVATIONS)
        if index is None or (input_id not in index[1] and index[0] < end):
            known: dict[str, _T] = {}
            for record in records(self._log, OBSERVATIONS, 0, end, scope=Scope.parse(scope)):
                other, _, wanted = self._decode(record)
                known.setdefault(other, wanted)
            index = self._indexed[scope] = (end, known)
            while len(self._indexed) > _INDEXED:
                self._indexed.popitem(last=False)
        return index[1].get(input_id)

    def _look(self) -> tuple[tuple[str, str], int, _T] | None:
        """The next observation, still to be taken."""
        if self._next is None:
            record = self._ahead.peek(self.ahead)
            if record is None:
                return None
            self._ahead.drop()
            input_id, offset, wanted = self._decode(record)
            self._next = (record.scope, input_id), offset, wanted
        return self._next

    def _place(self, log: EventLog, input_offset: int) -> int:
        """An offset at or before the observation of that input: they lie in the order of their inputs."""
        low, high = 0, log.end(OBSERVATIONS)
        while high - low > CHUNK:
            middle = (low + high) // 2
            record = next(iter(log.read(OBSERVATIONS, middle, 1)), None)
            if record is None or record.offset >= high or self._decode(record)[1] >= input_offset:
                high = middle
            else:
                low = record.offset + 1
        return low


class _ObservationData(msgspec.Struct):
    input_id: str
    extractor: str


class _ObservationHead(msgspec.Struct):
    """As much of an observation's record as is needed here; the rest is not decoded."""

    data: _ObservationData
    position: str


_DECODE_HEAD = msgspec.json.Decoder(_ObservationHead).decode


def _extractor_name(record: Stored) -> tuple[str, int, str]:
    """A record that is damaged names nobody: the decision that was made on it stands all the same."""
    try:
        head = _DECODE_HEAD(record.value)
        return head.data.input_id, Position.parse(head.position).offset, head.data.extractor
    except (msgspec.DecodeError, ValueError):
        return "", -1, ""
