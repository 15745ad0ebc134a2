"""An input with all that was recorded about it: each record is looked up by its id where it lies, and what is read is what is
asked for. Nothing here knows what any of it means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ..processors.core.ports import EventLog, LogIndex, Stored
from ..projections.reader import records
from ..schemas.changes import Decision
from ..schemas.codec import derived_id
from ..schemas.envelope import DEFAULT_SOURCE, Envelope, Position
from ..schemas.errors import LogError, NewerVersion, Undecodable
from ..schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, decode
from ..schemas.observations import ExtractionFailed, Observation
from ..schemas.scope import Scope

__all__ = ["Recorded", "Records"]

CHUNK = 256
"""Inputs looked up at a time."""
_UNREADABLE = (Undecodable, NewerVersion)
_GAP = 32
"""Records that lie no farther apart are read in one go."""

Broken = Callable[[Stored, LogError], None]
Key = tuple[str, str, str]
"""(scope, source, id)"""


class Recorded(NamedTuple):
    """An input, what was understood of it and what was decided; both None while it waits."""

    stored: Stored
    input: Envelope
    data: Any
    observed: Envelope | None
    observation: Observation | ExtractionFailed | None
    decided: Stored | None
    decision: Decision | None
    decision_id: str
    hash: str
    """SHA-256 of the decision's bytes as stored: what the scope's next decision links to."""

    @property
    def scope(self) -> Scope:
        return Scope.parse(self.stored.scope)


@runtime_checkable
class _KnowsDerived(Protocol):
    """A log that can say itself where a derived record lies."""

    def derived_offset(self, topic: str, scope: Scope, source: str, event_id: str) -> int | None: ...


@runtime_checkable
class _HasIndex(Protocol):
    """A log beside which an index says so."""

    @property
    def index(self) -> LogIndex: ...

    def fold_index(self, topic: str) -> None: ...


class Records:
    """Looks records up on one log. Raises Undecodable for a record that cannot be read."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def find(self, scope: Scope, source: str, event_id: str) -> Recorded | None:
        """The input of that id."""
        place = self._log.position_of(scope, source, event_id)
        return None if place is None else self.at(place.offset)

    def about(self, topic: str, scope: Scope, event_id: str) -> Recorded | None:
        """The input that a record of that id in a topic of derived records is about."""
        key = (str(scope), DEFAULT_SOURCE, event_id)
        place = self._places(topic, [key]).get(key)
        stored = None if place is None else next(iter(self._read(topic, [place]).values()), None)
        if stored is None:
            return None
        envelope, _ = decode(stored.value)
        return self.at(Position.parse(envelope.position or "").offset)

    def at(self, offset: int) -> Recorded | None:
        """The input at a dynamics offset."""
        return next(iter(self.at_all([offset])), None)

    def at_all(self, offsets: Iterable[int]) -> list[Recorded]:
        """The inputs at some dynamics offsets, in order."""
        found = self._read(DYNAMICS, offsets)
        return self.join([found[offset] for offset in sorted(found)])

    def between(self, start: int, end: int, *, scope: Scope | None = None, broken: Broken | None = None) -> Iterator[Recorded]:
        """The inputs (of one scope) from a dynamics offset on and below another; `broken` is told of records that cannot be
        read, which are left out."""
        return self._joined(records(self._log, DYNAMICS, start, end, scope=scope), broken)

    def _joined(self, inputs: Iterator[Stored], broken: Broken | None) -> Iterator[Recorded]:
        while chunk := list(islice(inputs, CHUNK)):
            yield from self.join(chunk, broken)

    def join(self, inputs: Sequence[Stored], broken: Broken | None = None) -> list[Recorded]:
        """Inputs with what was recorded about them; a record that repeats an earlier one is none."""
        read: list[tuple[Stored, Envelope, Any]] = []
        for stored in inputs:
            try:
                read.append((stored, *decode(stored.value)))
            except _UNREADABLE as error:
                if broken is None:
                    raise
                broken(stored, error)
        observed = self._derived(OBSERVATIONS, "observe", read)
        decided = self._derived(CHANGES, "decide", read)
        found: list[Recorded] = []
        for (stored, envelope, data), about, choice in zip(read, observed, decided, strict=True):
            try:
                item = _recorded(stored, envelope, data, about, choice)
            except _UNREADABLE as error:
                if broken is None:
                    raise
                broken(stored, error)
                continue
            if not self._repeats(item):
                found.append(item)
        return found

    def _repeats(self, item: Recorded) -> bool:
        first = self._log.position_of(item.input.scope, item.input.source, item.input.id)
        return first is not None and first.offset != item.stored.offset

    def _derived(self, topic: str, handler: str, read: Sequence[tuple[Stored, Envelope, Any]]) -> list[Stored | None]:
        keys = [
            (stored.scope, DEFAULT_SOURCE, derived_id(given.tenant, given.subject, given.source, given.id, handler, 0))
            for stored, given, _ in read
        ]
        places = self._places(topic, keys)
        found = self._read(topic, places.values())
        return [found.get(places[key]) if key in places else None for key in keys]

    def _places(self, topic: str, keys: Sequence[Key]) -> dict[Key, int]:
        log = self._log
        if isinstance(log, _KnowsDerived):
            looked = {key: log.derived_offset(topic, Scope.parse(key[0]), key[1], key[2]) for key in keys}
            return {key: offset for key, offset in looked.items() if offset is not None}
        assert isinstance(log, _HasIndex)  # noqa: S101 - every log is one of the two
        known = self._known(log, topic, keys)
        if len(known) < len(set(keys)):
            log.fold_index(topic)
            known = self._known(log, topic, keys)
        return known

    @staticmethod
    def _known(log: _HasIndex, topic: str, keys: Sequence[Key]) -> dict[Key, int]:
        with log.index.reading() as view:
            return {key: offset for key, (offset, _) in view.known(topic, keys).items()}

    def _read(self, topic: str, offsets: Iterable[int]) -> dict[int, Stored]:
        """The records at some offsets; those that lie close together are read in one go."""
        found: dict[int, Stored] = {}
        for run in _runs(sorted(set(offsets))):
            wanted = set(run)
            for record in self._log.read(topic, run[0], run[-1] - run[0] + 1):
                if record.offset > run[-1]:
                    break
                if record.offset in wanted:
                    found[record.offset] = record
        return found


def _runs(offsets: Sequence[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for offset in offsets:
        if run and offset - run[-1] > _GAP:
            yield run
            run = []
        run.append(offset)
    if run:
        yield run


def _recorded(stored: Stored, given: Envelope, data: Any, about: Stored | None, choice: Stored | None) -> Recorded:
    observed = observation = decision = None
    decision_id = link = ""
    if about is not None:
        observed, observation = decode(about.value)
    if choice is not None:
        envelope, decision = decode(choice.value)
        decision_id, link = envelope.id, sha256(choice.value).hexdigest()
        if not isinstance(decision, Decision) or Position.parse(envelope.position or "").offset != stored.offset:
            decision, choice, decision_id, link = None, None, "", ""  # of the first record of this id, which this is not
    return Recorded(stored, given, data, observed, observation, choice, decision, decision_id, link)
