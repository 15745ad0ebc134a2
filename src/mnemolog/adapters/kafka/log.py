"""One partition of the log on Kafka, as an event log of its own.

Invariants: the truth is the topics; the index beside them is folded on from them before anything is decided, under its lock, so
that writers who share it take turns. A writer who does not (or whose lock was lost) does no harm: of an id the first record
counts, and of the decisions those that link, for every reader alike. A call that fails half way may have stored a part of its
batch; the same call again completes it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from ...processors.core.ports import IndexStep, LogIndex, Placed, Stored
from ...schemas.envelope import Envelope, Position, headers_of
from ...schemas.errors import Closed, ConflictingContent, StaleDecision
from ...schemas.events import CHANGES, DEAD_LETTERS, DYNAMICS, OBSERVATIONS
from ...schemas.scope import Scope
from ..logs.plan import (
    Clock,
    Key,
    Known,
    Lookup,
    NewRecord,
    check_derived,
    check_topic,
    plan_decisions,
    plan_derived,
    plan_each_input,
    stamp,
    utc_now,
)
from .client import KafkaClient, Outgoing
from .identity import Identity, identity
from .tail import Firsts

__all__ = ["Identity", "PartitionLog", "headers_of", "identity", "outgoing"]

_CHUNK = 1000
"""Records fetched at a time."""
_POLL = 0.25
"""Seconds of one wait for new records; closing is noticed in between."""


class _Head(msgspec.Struct):
    id: str
    source: str


_READ_HEAD = msgspec.json.Decoder(_Head).decode


class PartitionLog:
    """An EventLog of one partition: `read` and `end` know it as partition 0, records and positions carry its number.
    Thread-safe; the client is shared and closed by whoever made it."""

    def __init__(self, client: KafkaClient, partition: int, index: LogIndex, who: Identity, *, clock: Clock = utc_now) -> None:
        self._client, self._partition, self._index, self._who, self._clock = client, partition, index, who, clock
        self._closed = threading.Event()
        self._left: dict[str, int] = {}
        self._firsts = Firsts()

    @property
    def log_id(self) -> str:
        return self._who.log_id

    @property
    def epoch(self) -> int:
        return self._who.epoch

    @property
    def partitions(self) -> int:
        return 1

    @property
    def partition(self) -> int:
        """Its number on Kafka."""
        return self._partition

    @property
    def clock(self) -> Clock:
        """What tells the recorded time."""
        return self._clock

    @property
    def index(self) -> LogIndex:
        return self._index

    # -- writing -------------------------------------------------------------------------------------------------------

    def append_inputs(self, events: Sequence[Envelope]) -> list[Placed]:
        self._check_open()
        if not events:
            return []
        with self._index.step() as step:
            placed = [_placed(item) for item in self._append(step, events, whole=True)]
        self.settled()
        return placed

    def append_in(self, step: IndexStep, events: Sequence[Envelope]) -> list[Placed | ConflictingContent]:
        """As `append_inputs`, as a part of the caller's step, who calls `settled` after it; an input that conflicts is answered
        with its error, and the others are appended."""
        self._check_open()
        return self._append(step, events, whole=False) if events else []

    def settled(self) -> None:
        """The step of `append_in` is committed: what it appended needs not be looked up again."""
        self._firsts.settle()

    def _append(self, step: IndexStep, events: Sequence[Envelope], *, whole: bool) -> list[Placed | ConflictingContent]:
        if whole:
            self._fold(step, DYNAMICS)
        else:
            self._fold_others(step, DYNAMICS)
        recorded = stamp(self._clock, step.latest())
        keys = [_key(event) for event in events]
        lookup = _lookup(step, DYNAMICS, keys)
        planned, new = plan_each_input(events, lookup, step.next_offset(DYNAMICS), recorded, self.epoch)
        if whole:
            for item in planned:
                _placed(item)
        self._send(step, DYNAMICS, [outgoing(record, recorded) for record in new])
        places = step.known(DYNAMICS, keys)
        mine = [(key, item.position.offset) for key, item in zip(keys, planned, strict=True) if isinstance(item, Placed)]
        self._firsts.appended([offset for key, offset in mine if offset == places[key][0]])
        return [
            Placed(item.event_id, Position(self.epoch, self._partition, places[key][0]), item.fresh)
            if isinstance(item, Placed)
            else item
            for key, item in zip(keys, planned, strict=True)
        ]

    def append_rejected(self, step: IndexStep, letters: Sequence[tuple[str, Envelope]]) -> None:
        """Dead letters, each under its key, as a part of the caller's step. The same one again is there twice: the first
        counts."""
        recorded = stamp(self._clock, step.latest())
        stamped = [(key, msgspec.structs.replace(letter, recordedtime=recorded)) for key, letter in letters]
        records = [Outgoing(key, letter.to_bytes(), recorded, headers_of(letter)) for key, letter in stamped]
        self._client.send(DEAD_LETTERS, self._partition, records)

    def append_derived(self, topic: str, events: Sequence[Envelope]) -> int:
        check_derived(topic)
        self._check_open()
        if not events:
            return 0
        with self._index.step() as step:
            self._fold(step, topic)
            new = plan_derived(events, _lookup(step, topic, [_key(event) for event in events]))
            self._send(step, topic, self._outgoing(step, new))
        return len(new)

    def append_decisions(self, events: Sequence[Envelope]) -> list[str]:
        self._left.pop(CHANGES, None)
        return [link for _, link in self.append_linked(events)]

    def append_linked(self, events: Sequence[Envelope]) -> list[tuple[int, str]]:
        """`append_decisions` that also tells the offsets: (offset, hash) of each. Who has the index's lock seldom finds a
        stranger's record on the topic, and then its own decision is void, and found to be."""
        self._check_open()
        if not events:
            return []
        with self._index.step() as step:
            self._fold_others(step, CHANGES)
            heads = step.heads(list(dict.fromkeys(str(event.scope) for event in events)))
            keys = [_key(event) for event in events]
            try:
                new = plan_decisions(events, _lookup(step, CHANGES, keys), lambda scope: heads.get(scope, ""))
            except StaleDecision:
                # They may link to what somebody sent who died before his commit: the next try looks at the topic's end.
                self._left.pop(CHANGES, None)
                raise
            self._send(step, CHANGES, self._outgoing(step, [decision.record for decision in new]))
            # Only what links in the topic itself counts, whatever came in between.
            valid = step.known(CHANGES, keys)
            for event, decision in zip(events, new, strict=True):
                if valid.get(decision.record.key, (0, ""))[1] != decision.record.content:
                    scope = decision.record.key.scope
                    raise StaleDecision(scope, step.heads([scope]).get(scope, ""), str(event.data.get("prev")))
        return [valid[key] for key in keys]

    def append_processed(self, observations: Sequence[Envelope], decisions: Sequence[Envelope]) -> list[str]:
        """First the observations, then the decisions; where the decisions are stale, nothing of either is sent."""
        if decisions:
            with self._index.step() as step:
                self._fold(step, CHANGES)
                keys = [_key(event) for event in decisions]
                heads = step.heads(list(dict.fromkeys(key.scope for key in keys)))
                plan_decisions(decisions, _lookup(step, CHANGES, keys), lambda scope: heads.get(scope, ""))
        self.append_derived(OBSERVATIONS, observations)
        return self.append_decisions(decisions)

    def _outgoing(self, step: IndexStep, records: Sequence[NewRecord]) -> list[Outgoing]:
        recorded = stamp(self._clock, step.latest())
        return [outgoing(record, recorded) for record in records]

    def _send(self, step: IndexStep, topic: str, records: Sequence[Outgoing]) -> None:
        """Appends, and folds the index on over what was appended (and whatever a stranger put in between)."""
        if not records:
            return
        offsets = self._client.send(topic, self._partition, records)
        first = step.next_offset(topic)
        if offsets == list(range(first, first + len(records))):
            stored = [
                Stored(topic, self._partition, offset, record.key, record.value, record.recorded)
                for offset, record in zip(offsets, records, strict=True)
            ]
            step.fold(topic, stored, offsets[-1] + 1)
        else:
            # An acknowledgement may come without a place, where the broker had the records from a try before.
            self._fold(step, topic, offsets[-1] + 1 if min(offsets) >= 0 else None)
        self._left[topic] = step.next_offset(topic)

    def _fold_others(self, step: IndexStep, topic: str) -> None:
        """The index up to the topic's end, which is not asked for where the index stands as this object left it. If somebody
        has died since, between his send and his commit, that shows in the place of what is sent next, and what was his
        counts before it."""
        if self._left.get(topic) != step.next_offset(topic):
            self._fold(step, topic)

    def _fold(self, step: IndexStep, topic: str, end: int | None = None) -> None:
        """The index up to the topic's end."""
        stands = step.next_offset(topic)
        target = self._client.end(topic, self._partition) if end is None else end
        while stands < target:
            records, reached = self._client.fetch(topic, self._partition, stands, _CHUNK, _POLL)
            if reached == stands:
                self._check_open()
                continue
            step.fold(topic, records, reached)
            stands = reached

    def fold_index(self, topic: str) -> None:
        """Brings the index up to the topic's end; a lock is taken only where there is something to do."""
        end = self._client.end(topic, self._partition)
        with self._index.reading() as view:
            stands = view.next_offset(topic)
        if stands < end:
            with self._index.step() as step:
                self._fold(step, topic, end)

    def first_offsets(self, records: Sequence[Stored]) -> dict[int, bool]:
        """Whether each of some dynamics records is the first of its id, by offset. Bytes that are no event have no id, and no
        entry."""
        keys: dict[int, Key] = {}
        for record in records:
            try:
                head = _READ_HEAD(record.value)
            except msgspec.DecodeError:
                continue
            keys[record.offset] = Key(record.scope, head.source, head.id)
        ours = dict.fromkeys(self._firsts.among(keys), True)
        for offset in ours:
            del keys[offset]
        if not keys:
            return ours
        with self._index.reading() as view:
            current = view.next_offset(DYNAMICS) > max(keys)
            known = view.known(DYNAMICS, list(keys.values())) if current else {}
        if not current:
            with self._index.step() as step:
                self._fold(step, DYNAMICS, max(keys) + 1)
                known = step.known(DYNAMICS, list(keys.values()))
        return ours | {offset: key in known and known[key][0] == offset for offset, key in keys.items()}

    # -- reading -------------------------------------------------------------------------------------------------------

    def read(
        self, topic: str, start: int = 0, limit: int | None = None, *, partition: int = 0, scope: Scope | None = None
    ) -> Iterator[Stored]:
        check_topic(topic, partition)
        self._check_open()
        start, found = max(start, 0), list[Stored]()
        if limit is not None and scope is None:
            # As many as are asked for need no look at the topic's end, and most of the time they were fetched ahead.
            found, start = self._client.fetch(topic, self._partition, start, min(limit, _CHUNK))
            limit -= len(found)
            if not limit:
                return iter(found)
        end = self._client.end(topic, self._partition)
        return chain(found, self._records(topic, start, end, limit, None if scope is None else str(scope)))

    def _records(self, topic: str, start: int, end: int, limit: int | None, scope: str | None) -> Iterator[Stored]:
        left = end if limit is None else limit
        while start < end and left > 0:
            self._check_open()
            most = _CHUNK if scope is not None or limit is None else min(_CHUNK, left)
            records, reached = self._client.fetch(topic, self._partition, start, most, _POLL)
            for record in records:
                if record.offset >= end or left <= 0:
                    return
                if scope is None or record.scope == scope:
                    left -= 1
                    yield record
            start = reached

    def follow(self, topic: str, start: int, most: int = _CHUNK, timeout: float = 0.0) -> tuple[list[Stored], int]:
        """Up to `most` records from `start` on and the offset to go on from, without asking for the topic's end first; waits up
        to `timeout` seconds for the first."""
        self._check_open()
        return self._client.fetch(topic, self._partition, start, most, timeout)

    def end(self, topic: str, *, partition: int = 0) -> int:
        check_topic(topic, partition)
        self._check_open()
        return self._client.end(topic, self._partition)

    def offset_at(self, topic: str, time: str, *, partition: int = 0) -> int:
        end = self.end(topic, partition=partition)
        first = self._client.offset_for(topic, self._partition, time)
        if first is None:
            return end
        for record in self.read(topic, first):
            if record.recorded >= time:
                return record.offset
        return end

    def position_of(self, scope: Scope, source: str, event_id: str) -> Position | None:
        self._check_open()
        key = (str(scope), source, event_id)
        with self._index.reading() as view:
            found = view.known(DYNAMICS, [key]).get(key)
        if found is None and self._behind(DYNAMICS):
            self.fold_index(DYNAMICS)
            with self._index.reading() as view:
                found = view.known(DYNAMICS, [key]).get(key)
        return None if found is None else Position(self.epoch, self._partition, found[0])

    def last_input(self, scope: Scope) -> int | None:
        self._check_open()
        self.fold_index(DYNAMICS)
        with self._index.reading() as view:
            return view.last_input(str(scope))

    def head(self, scope: Scope) -> str:
        self._check_open()
        self.fold_index(CHANGES)
        with self._index.reading() as view:
            return view.heads([str(scope)]).get(str(scope), "")

    def wait(self, topic: str, after: int, timeout: float, *, partition: int = 0) -> bool:
        deadline = time.monotonic() + timeout
        if self.end(topic, partition=partition) > after:
            return True
        while (left := deadline - time.monotonic()) > 0:
            self._check_open()
            records, reached = self._client.fetch(topic, self._partition, after, _CHUNK, min(left, _POLL))
            if records or reached > after:
                return True
        self._check_open()
        return False

    def _behind(self, topic: str) -> bool:
        end = self._client.end(topic, self._partition)
        with self._index.reading() as view:
            return view.next_offset(topic) < end

    def close(self) -> None:
        self._closed.set()
        self._index.close()

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise Closed("this log was closed: open it again")


def _placed(item: Placed | ConflictingContent) -> Placed:
    if isinstance(item, ConflictingContent):
        raise item
    return item


def outgoing(record: NewRecord, recorded: str) -> Outgoing:
    """A planned record as it is sent."""
    return Outgoing(record.key.scope, record.value, recorded, headers_of(Envelope.from_bytes(record.value)))


def _key(event: Envelope) -> Key:
    return Key(str(event.scope), event.source, event.id)


def _lookup(step: IndexStep, topic: str, keys: Sequence[Key]) -> Lookup:
    known = step.known(topic, keys)

    def lookup(key: Key) -> Known | None:
        found = known.get(key)
        return None if found is None else Known(*found)

    return lookup
