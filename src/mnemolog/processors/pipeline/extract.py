"""Extraction: dynamics to observations, one record per input, in input order.

Invariants: the place to go on from is read off the last observation, so that neither a crash nor a consumer group's offsets can
leave an input out; the same input makes the same id again, and of an id the first observation counts.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from ...adapters.kafka.client import Outgoing
from ...adapters.kafka.log import PartitionLog, headers_of
from ...schemas.envelope import Envelope, Position
from ...schemas.errors import LogError, ModelUnavailable
from ...schemas.events import DYNAMICS, OBSERVATIONS, decode
from ...schemas.inputs import ErasureRequested, RetractionRequested
from ...schemas.times import to_text
from ..core.ports import Extractor, Stored
from ..observing import Observer, observation_envelope
from ..windows import IndexPlaces, Windows
from .core import BATCH
from .installation import Partition

__all__ = ["ExtractCore", "observed_until"]

_LONGEST = 0.5
"""Seconds after which what was understood so far is published, however slow the model is."""

_log = logging.getLogger("mnemolog.extract")


class ExtractCore:
    """Extracts one partition's inputs."""

    def __init__(self, partition: Partition, extractor: Extractor) -> None:
        self._partition, self._log = partition, partition.log
        self._windows = Windows(partition.log, IndexPlaces(partition.log.index), extractor.window)
        self._observer = Observer(extractor, self._windows)
        self._next: int | None = None

    @property
    def topic(self) -> str:
        return DYNAMICS

    @property
    def position(self) -> int:
        if self._next is None:
            self._next = observed_until(self._log)
        return self._next

    def step(self, timeout: float) -> int:
        start = self.position
        records, reached = self._log.follow(DYNAMICS, start, BATCH, timeout)
        if not records:
            self._next = reached
            return 0
        try:
            events, done, waits_for = self._observe(records)
            self._send(events)
        except BaseException:
            # What was sent is read off the topic again; what is loaded may be ahead of it.
            self._next = None
            self._windows.clear()
            raise
        self._next = reached if done is None else done
        self._windows.trim()
        if waits_for is not None:
            raise waits_for
        return len(records)

    def _observe(self, records: Sequence[Stored]) -> tuple[list[Envelope], int | None, ModelUnavailable | None]:
        """The observations of a batch; the offset to go on from, where that is not behind the batch; what has to be waited for,
        if anything."""
        until = time.monotonic() + _LONGEST
        firsts = self._log.first_offsets(records)
        events: list[Envelope] = []
        for record in records:
            if events and time.monotonic() > until:
                return events, record.offset, None
            if firsts.get(record.offset) is False:
                continue  # a repetition of an earlier record
            try:
                envelope, data = decode(record.value)
            except LogError as error:
                # The resolver lets its scope stand still there; everybody else goes on.
                _log.error("input at offset %d of partition %d cannot be read: %s", record.offset, record.partition, error)
                continue
            about = self._observer.about(record, data)
            try:
                observed = self._observer.observe(record, envelope, data, about)
            except ModelUnavailable as error:
                return events, record.offset, error
            position = Position(self._log.epoch, record.partition, record.offset)
            events.append(observation_envelope(record, envelope, observed, position))
            if isinstance(data, RetractionRequested | ErasureRequested):
                self._windows.forget(record.scope)
        return events, None, None

    def _send(self, events: Sequence[Envelope]) -> None:
        recorded = to_text(self._log.clock())
        self._partition.client.send(
            OBSERVATIONS,
            self._partition.number,
            [Outgoing(str(event.scope), event.to_bytes(), recorded, headers_of(event)) for event in events],
        )


def observed_until(log: PartitionLog) -> int:
    """The dynamics offset behind the last input that has an observation."""
    end = log.end(OBSERVATIONS)
    while end > 0:
        start = max(end - 1, 0)
        for record in reversed(list(log.read(OBSERVATIONS, start))):
            position = Envelope.from_bytes(record.value).position
            if position is not None:
                return Position.parse(position).offset + 1
        end = start
    return 0
