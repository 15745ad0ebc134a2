"""What becomes due with time: summaries of weeks that closed or changed, and deadlines that passed.

Invariants: what is due lies in the read models, so that a crash forgets nothing; a revision and a deadline have ids of their
own, so that however often they are published each counts once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from ...adapters.kafka.client import Outgoing
from ...adapters.kafka.log import headers_of
from ...projections.deadlines import deadline_event
from ...projections.store import Cursor
from ...projections.weeks import due_weeks, summary_events
from ...schemas.envelope import Envelope
from ...schemas.events import INBOX, SUMMARIES
from ...schemas.times import to_text
from .core import BATCH
from .installation import Partition

__all__ = ["SummariseCore"]

_EVERY, _LONGEST = 1.0, 5.0
"""Seconds between two looks, and at most: what is due becomes so with the time of day."""
_SHARE = 20
"""So many times as long as a look took, the next one waits: it reads whole tables, and the rows move all the time."""
_AGAIN = 60.0
"""Seconds after which a deadline that was published is published again, if it is still due."""


class SummariseCore:
    """Publishes what is due on one partition. It works through no topic: it looks again and again."""

    def __init__(self, partition: Partition, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._partition, self._now = partition, now
        self._published: dict[str, float] = {}
        self._looked: tuple[int, Cursor] | None = None
        self._next_look = 0.0

    @property
    def topic(self) -> str:
        return SUMMARIES

    @property
    def position(self) -> int:
        with self._partition.store.reading() as (connection, current):
            return self._partition.store.read_offsets(connection, current)["summaries"]

    def step(self, timeout: float) -> int:
        """With a `timeout` it may be too early for a look; without one it looks at once."""
        begun = time.monotonic()
        if timeout > 0 and begun < self._next_look:
            time.sleep(min(timeout, self._next_look - begun))
            return 0
        done = self._weeks() + self._deadlines()
        if not done:
            ended = time.monotonic()
            self._next_look = ended + min(max(_EVERY, _SHARE * (ended - begun)), _LONGEST)
        return done

    def _weeks(self) -> int:
        log, store = self._partition.log, self._partition.store
        # Looking reads whole tables; nothing new falls due before the rows have moved.
        stand = (store.live_version(), store.cursor())
        if stand == self._looked:
            return 0
        due = due_weeks(store)
        if not due:
            self._looked = stand
            return 0
        return log.append_derived(SUMMARIES, summary_events(due, epoch=log.epoch, partition=self._partition.number))

    def _deadlines(self) -> int:
        """To the inbox, like everybody's inputs; the same due time gives the same id."""
        now, moment = to_text(self._now()), time.monotonic()
        self._published = {key: at for key, at in self._published.items() if moment - at < _AGAIN}
        events: dict[str, Envelope] = {}
        for due in self._partition.store.deadlines_due(now)[: 4 * BATCH]:
            event = deadline_event(due)
            if event.id not in self._published:
                events[event.id] = event
        self._partition.client.send(
            INBOX,
            self._partition.number,
            [Outgoing(str(event.scope), event.to_bytes(), now, headers_of(event)) for event in events.values()],
        )
        self._published |= dict.fromkeys(events, moment)
        return len(events)
