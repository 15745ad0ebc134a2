"""Joins the topics: each valid decision with the input it decides and the observation it rests on, in step and in constant
memory. Decisions keep dynamics order and are one to one with inputs, so each topic is read once, from front to back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from typing import Generic, TypeVar

import msgspec

from ..processors.core.chain import ValidDecision, valid_decisions
from ..processors.core.ports import EventLog, Stored
from ..schemas.envelope import Position
from ..schemas.errors import Undecodable
from ..schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, decode
from ..schemas.scope import Scope
from .cells import DecidedInput

__all__ = ["DecidedInput", "MissingInput", "Observations", "decided_inputs", "records"]

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
    ahead = records(log, CHANGES, start_changes, end_changes, scope=scope)
    first = next(ahead, None)
    if first is None:
        return
    known = _heads_before(log, start_changes, scope) if heads is None else heads()
    inputs: _Inputs | None = None
    observations: Observations[str] | None = None
    for valid in _valid(_again(first, ahead), known, on_broken):
        where = Position.parse(valid.envelope.position)
        if inputs is None or observations is None:
            inputs = _Inputs(log, where.offset, scope)
            observations = Observations(log, where.offset, scope, _extractor_name)
        key = valid.stored.scope
        stored = inputs.at(where.offset)
        try:
            if stored is None or stored.scope != key:
                raise MissingInput(key, valid.decision.input_id, where.offset)
            envelope, data = decode(stored.value)
            if envelope.id != valid.decision.input_id:
                raise MissingInput(key, valid.decision.input_id, where.offset)
        except Undecodable as error:
            if on_broken is None:
                raise
            on_broken(key, error)
            continue
        yield DecidedInput(
            input=envelope,
            data=data,
            offset=stored.offset,
            decision_envelope=valid.envelope,
            decision=valid.decision,
            changes_offset=valid.stored.offset,
            hash=valid.hash,
            recorded=stored.recorded,
            extractor=observations.of(key, envelope.id, where.offset) or "",
        )


def _again(first: Stored, rest: Iterator[Stored]) -> Iterator[Stored]:
    yield first
    yield from rest


def _valid(
    given: Iterator[Stored], heads: MutableMapping[str, str], on_broken: Callable[[str, Undecodable], None] | None
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


class _Inputs:
    """Dynamics, read forward; a decision that comes out of order is looked up where it lies."""

    def __init__(self, log: EventLog, start: int, scope: Scope | None) -> None:
        self._log = log
        self._ahead = records(log, DYNAMICS, start, scope=scope)
        self._next: Stored | None = next(self._ahead, None)

    def at(self, offset: int) -> Stored | None:
        while self._next is not None and self._next.offset < offset:
            self._next = next(self._ahead, None)
        if self._next is not None and self._next.offset == offset:
            return self._next
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
        self._ahead = records(log, OBSERVATIONS, self._place(log, input_offset), scope=scope)
        self._passed: OrderedDict[tuple[str, str], _T] = OrderedDict()
        self._next = self._read()

    def of(self, scope: str, input_id: str, offset: int) -> _T | None:
        """The first observation of an input; None where it has none."""
        while self._next is not None and self._next[1] <= offset:
            key, _, wanted = self._next
            self._passed.setdefault(key, wanted)
            if len(self._passed) > _REMEMBERED:
                self._passed.popitem(last=False)
            self._next = self._read()
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

    def _read(self) -> tuple[tuple[str, str], int, _T] | None:
        record = next(self._ahead, None)
        if record is None:
            return None
        input_id, offset, wanted = self._decode(record)
        return (record.scope, input_id), offset, wanted

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
