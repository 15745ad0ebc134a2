"""Extraction: dynamics to observations, one record per input, in input order.

Invariants: the place to go on from is read off the last observation, so that neither a crash nor a consumer group's offsets can
leave an input out; the same input makes the same id again, and of an id the first observation counts.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import msgspec

from ...adapters.kafka.client import Outgoing
from ...adapters.kafka.log import PartitionLog, headers_of
from ...schemas.envelope import Envelope, Position
from ...schemas.errors import LogError, ModelUnavailable
from ...schemas.events import DYNAMICS, OBSERVATIONS
from ...schemas.inputs import ErasureRequested, RetractionRequested, Turn
from ...schemas.times import to_text
from ..core.ports import Extractor, SeenTurn, Stored
from ..observing import Observer, observation_envelope
from ..windows import IndexPlaces, Windows
from .core import BATCH
from .inputs import read_input
from .installation import Partition
from .skipped import skipped

__all__ = ["ExtractCore", "observed_until"]

_LONGEST = 0.5
"""Seconds after which what was understood so far is published, however slow the model is."""

_log = logging.getLogger("mnemolog.extract")


class _Readable(NamedTuple):
    stored: Stored
    envelope: Envelope
    data: msgspec.Struct


class _Round:
    """What one step has come to. The input at `first` is tried however late it is."""

    def __init__(self, first: int, until: float) -> None:
        self.first, self.until = first, until
        self.made: dict[int, Envelope] = {}
        self.waits_for: dict[int, ModelUnavailable] = {}


class ExtractCore:
    """Extracts one partition's inputs. An extractor with a `concurrency` of more than 1 is asked about so many scopes at once,
    about the turns of each one after the other."""

    def __init__(self, partition: Partition, extractor: Extractor) -> None:
        self._partition, self._log = partition, partition.log
        self._windows = Windows(partition.log, IndexPlaces(partition.log.index), extractor.window)
        self._observer = Observer(extractor, self._windows)
        self._next: int | None = None
        self._owed: list[Stored] = []
        self._ahead: dict[int, Envelope] = {}
        at_once: int = getattr(extractor, "concurrency", 1)
        self._pool = None if at_once < 2 else ThreadPoolExecutor(at_once, thread_name_prefix="mnemolog-extract")

    @property
    def topic(self) -> str:
        return DYNAMICS

    @property
    def position(self) -> int:
        if self._next is None:
            reached = observed_until(self._log)
            self._owed = skipped(self._partition, reached)
            self._next = reached
        return self._next

    def step(self, timeout: float) -> int:
        start = self.position
        owed = self._owed[:BATCH]
        records, reached = (owed, start) if owed else self._log.follow(DYNAMICS, start, BATCH, timeout)
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
            self._ahead.clear()
            raise
        if owed:
            behind = owed[-1].offset + 1 if done is None else done
            self._owed = [record for record in self._owed if record.offset >= behind]
        else:
            self._next = reached if done is None else done
        self._windows.trim()
        if waits_for is not None:
            raise waits_for
        return len(records)

    def _observe(self, records: Sequence[Stored]) -> tuple[list[Envelope], int | None, ModelUnavailable | None]:
        """The observations of a batch; the offset to go on from, where that is not behind the batch; what has to be waited for,
        if anything."""
        work = self._readable(records)
        round_ = _Round(work[0].stored.offset if work else -1, time.monotonic() + _LONGEST)
        if self._pool is None:
            self._observe_all(work, round_)
        else:
            # Scopes side by side, each in its own order.
            for _ in self._pool.map(lambda lane: self._observe_all(lane, round_), _by_scope(work)):
                pass
        events: list[Envelope] = []
        for number, item in enumerate(work):
            offset = item.stored.offset
            if offset not in round_.made:
                self._keep(work[number:], round_.made)
                return events, offset, round_.waits_for.get(offset)
            events.append(round_.made[offset])
        self._ahead.clear()
        return events, None, None

    def _readable(self, records: Sequence[Stored]) -> list[_Readable]:
        """Without repetitions of earlier records, and without what cannot be read: the resolver lets its scope stand still
        there; everybody else goes on."""
        firsts = self._log.first_offsets(records)
        found: list[_Readable] = []
        for record in records:
            if firsts.get(record.offset) is False:
                continue
            try:
                found.append(_Readable(record, *read_input(record)))
            except LogError as error:
                _log.error("input at offset %d of partition %d cannot be read: %s", record.offset, record.partition, error)
        return found

    def _observe_all(self, work: Sequence[_Readable], round_: _Round) -> None:
        """In order, until the time is over or the model does not answer."""
        for stored, envelope, data in work:
            if stored.offset != round_.first and time.monotonic() > round_.until:
                return
            made = self._ahead.get(stored.offset)
            if made is None:
                try:
                    about = self._observer.about(stored, data)
                    observed = self._observer.observe(stored, envelope, data, about)
                except ModelUnavailable as error:
                    round_.waits_for[stored.offset] = error
                    return
                position = Position(self._log.epoch, stored.partition, stored.offset)
                made = observation_envelope(stored, envelope, observed, position)
            elif isinstance(data, Turn):
                self._windows.add(stored, SeenTurn(envelope.id, data))
            round_.made[stored.offset] = made
            if isinstance(data, RetractionRequested | ErasureRequested):
                self._windows.forget(stored.scope)

    def _keep(self, left: Sequence[_Readable], made: dict[int, Envelope]) -> None:
        """What was understood beyond an input that was not is published after it, and not asked for again."""
        self._ahead = {item.stored.offset: made[item.stored.offset] for item in left if item.stored.offset in made}
        for item in left:
            self._windows.forget(item.stored.scope)

    def _send(self, events: Sequence[Envelope]) -> None:
        recorded = to_text(self._log.clock())
        self._partition.client.send(
            OBSERVATIONS,
            self._partition.number,
            [Outgoing(str(event.scope), event.to_bytes(), recorded, headers_of(event)) for event in events],
        )


def _by_scope(work: Sequence[_Readable]) -> list[list[_Readable]]:
    lanes: dict[str, list[_Readable]] = {}
    for item in work:
        lanes.setdefault(item.stored.scope, []).append(item)
    return list(lanes.values())


def observed_until(log: PartitionLog) -> int:
    """The dynamics offset behind the last input that has an observation. Some of the last records may be of earlier inputs:
    observed late, or twice."""
    end, reached = log.end(OBSERVATIONS), 0
    while end > 0 and not reached:
        start = max(end - BATCH, 0)
        for record in log.read(OBSERVATIONS, start, end - start):
            try:
                position = Envelope.from_bytes(record.value).position
            except LogError:
                continue
            if position is not None:
                reached = max(reached, Position.parse(position).offset + 1)
        end = start
    return reached
