"""The log in this process's memory: for tests, for throw-away memories, and as the plainest statement of what a log does.

Invariant: what one call appends becomes visible to every reader at once, or not at all.
"""

from __future__ import annotations

import threading
import time
import uuid
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ...processors.core.ports import Placed, Stored
from ...schemas.envelope import Envelope, Position
from ...schemas.errors import Closed
from ...schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, TOPICS
from ...schemas.scope import Scope
from .plan import (
    EPOCH,
    Clock,
    Key,
    Known,
    NewRecord,
    check_derived,
    check_topic,
    plan_decisions,
    plan_derived,
    plan_inputs,
    stamp,
    utc_now,
)

__all__ = ["MemoryLog"]

T = TypeVar("T")


class MemoryLog:
    """An EventLog that lives and dies with its process. Thread-safe. `clock` gives the recorded time."""

    def __init__(self, *, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._log_id = uuid.uuid4().hex
        self._records: dict[str, list[Stored]] = {topic: [] for topic in TOPICS}
        self._by_scope: dict[str, dict[str, list[int]]] = {topic: {} for topic in TOPICS}
        self._seen: dict[str, dict[Key, Known]] = {topic: {} for topic in TOPICS}
        self._heads: dict[str, str] = {}
        self._latest = ""
        self._closed = False
        self._changed = threading.Condition(threading.RLock())

    @property
    def log_id(self) -> str:
        return self._log_id

    @property
    def epoch(self) -> int:
        return EPOCH

    @property
    def partitions(self) -> int:
        return 1

    # -- writing -------------------------------------------------------------------------------------------------------

    def append_inputs(self, events: Sequence[Envelope]) -> list[Placed]:
        with self._changed:
            self._check_open()
            recorded = stamp(self._clock, self._latest)
            placed, new = plan_inputs(events, self._seen[DYNAMICS].get, len(self._records[DYNAMICS]), recorded, EPOCH)
            self._store(DYNAMICS, new, recorded)
        return placed

    def append_derived(self, topic: str, events: Sequence[Envelope]) -> int:
        check_derived(topic)
        with self._changed:
            self._check_open()
            new = plan_derived(events, self._seen[topic].get)
            self._store(topic, new, stamp(self._clock, self._latest))
        return len(new)

    def append_decisions(self, events: Sequence[Envelope]) -> list[str]:
        return self.append_processed([], events)

    def append_processed(self, observations: Sequence[Envelope], decisions: Sequence[Envelope]) -> list[str]:
        with self._changed:
            self._check_open()
            observed = plan_derived(observations, self._seen[OBSERVATIONS].get)
            decided = plan_decisions(decisions, self._seen[CHANGES].get, lambda scope: self._heads.get(scope, ""))
            recorded = stamp(self._clock, self._latest)
            self._store(OBSERVATIONS, observed, recorded)
            self._store(CHANGES, [decision.record for decision in decided], recorded)
            self._heads.update((decision.record.key.scope, decision.record.content) for decision in decided)
        return [decision.record.content for decision in decided]

    def _store(self, topic: str, new: Sequence[NewRecord], recorded: str) -> None:
        if not new:
            return
        records, by_scope, seen = self._records[topic], self._by_scope[topic], self._seen[topic]
        for key, content, value in new:
            offset = len(records)
            records.append(Stored(topic, 0, offset, key.scope, value, recorded))
            by_scope.setdefault(key.scope, []).append(offset)
            seen[key] = Known(offset, content)
        self._latest = recorded
        self._changed.notify_all()

    # -- reading -------------------------------------------------------------------------------------------------------

    def read(
        self, topic: str, start: int = 0, limit: int | None = None, *, partition: int = 0, scope: Scope | None = None
    ) -> Iterator[Stored]:
        check_topic(topic, partition)
        with self._changed:
            self._check_open()
            records = self._records[topic]
            start = max(start, 0)
            count = len(records) if limit is None else max(limit, 0)
            if scope is None:
                return self._while_open(records[start : start + count])
            offsets = self._by_scope[topic].get(str(scope), [])
            first = bisect_left(offsets, start)
            return self._while_open([records[offset] for offset in offsets[first : first + count]])

    def _while_open(self, records: list[Stored]) -> Iterator[Stored]:
        for record in records:
            self._check_open()
            yield record

    def end(self, topic: str, *, partition: int = 0) -> int:
        return self._reading(topic, partition, lambda: len(self._records[topic]))

    def offset_at(self, topic: str, time: str, *, partition: int = 0) -> int:
        return self._reading(
            topic, partition, lambda: bisect_left(self._records[topic], time, key=lambda stored: stored.recorded)
        )

    def position_of(self, scope: Scope, source: str, event_id: str) -> Position | None:
        known = self._reading(DYNAMICS, 0, lambda: self._seen[DYNAMICS].get(Key(str(scope), source, event_id)))
        return None if known is None else Position(EPOCH, 0, known.offset)

    def derived_offset(self, topic: str, scope: Scope, source: str, event_id: str) -> int | None:
        """Where the record of that id lies on a topic of derived ones, or None."""
        known = self._reading(topic, 0, lambda: self._seen[topic].get(Key(str(scope), source, event_id)))
        return None if known is None else known.offset

    def last_input(self, scope: Scope) -> int | None:
        offsets = self._reading(DYNAMICS, 0, lambda: self._by_scope[DYNAMICS].get(str(scope), [])[-1:])
        return offsets[0] if offsets else None

    def head(self, scope: Scope) -> str:
        return self._reading(CHANGES, 0, lambda: self._heads.get(str(scope), ""))

    def wait(self, topic: str, after: int, timeout: float, *, partition: int = 0) -> bool:
        deadline = time.monotonic() + timeout
        while True:
            with self._changed:
                if self.end(topic, partition=partition) > after:
                    return True
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _reading(self, topic: str, partition: int, look: Callable[[], T]) -> T:
        check_topic(topic, partition)
        with self._changed:
            self._check_open()
            return look()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("the log was closed: open a new one")
