"""Ingest: one partition of the inbox becomes the same partition of dynamics.

Invariants: a record of the inbox is appended, known already, or a dead letter, and nothing behind it waits for it; the position
in the inbox moves in the same transaction as what the log knows of what was appended, after the broker has acknowledged it and
every dead letter. So a crash at any point repeats a batch and adds nothing to the logical log, and any number of processes may
take one partition in: they take turns, and drop what others have done.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ...schemas.envelope import Envelope
from ...schemas.errors import ConflictingContent, LogError, MnemologError
from ...schemas.events import INBOX, make
from ...schemas.rejections import MAX_KEY, InputRejected, Published, rejection_id
from ...schemas.scope import Scope
from ..core.ports import IndexStep, Stored
from .accept import NOBODY, accept, check_place, readable_scope, reason_of
from .installation import Partition

__all__ = ["Counts", "IngestCore", "letter_of"]

_BATCH = 500
"""Records taken in one step at most."""
_MOST_BYTES = 8 * 1024 * 1024
"""Bytes of records taken in one step at most, but for a single one."""
_DETAIL = 2000
"""Characters of an error's text that a dead letter keeps."""

logger = logging.getLogger(__name__)


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a partition of the inbox: `inbox` offsets in all, each in one of the others.

    seen_again: known already, among them those that were appended just before a crash, and came again; expired: gone from the
    inbox before they were taken in; blank: offsets that hold no record, but what a transaction left there.
    """

    inbox: int
    appended: int = 0
    seen_again: int = 0
    dead_lettered: int = 0
    expired: int = 0
    blank: int = 0
    waiting: int = 0


class _Judged(NamedTuple):
    record: Stored
    event: Envelope | None
    error: MnemologError | None


class IngestCore:
    """Takes in one partition; used by one thread. Raises Unavailable where a server is down: call again later."""

    topic = INBOX
    """What it reads."""

    def __init__(self, partition: Partition) -> None:
        self._number = partition.number
        self._client = partition.client
        self._log = partition.log
        with self._log.index.reading() as view:
            self._position = view.next_offset(INBOX)

    @property
    def position(self) -> int:
        """The next offset of the inbox, as far as this object knows."""
        return self._position

    def step(self, timeout: float) -> int:
        """Takes in what lies in the inbox, at most a batch; waits up to `timeout` seconds for the first. Returns how many
        records were read."""
        asked = self._position
        try:
            records, reached = self._log.follow(INBOX, asked, _BATCH, timeout)
        except LogError:
            if self._client.begin(INBOX, self._number) <= asked:
                raise
            self._expire()
            return self.step(timeout)
        self._take(asked, records, reached)
        return len(records)

    def take(self, records: Sequence[Stored]) -> int:
        """Takes in records of this partition, in order, that somebody else has read: what was done already is dropped, what is
        missing before them is read. Returns how many records were read."""
        left = [record for record in records if record.offset >= self._position]
        read = 0
        while left:
            run = _run(left, self._position)
            if run:
                self._take(self._position, run, run[-1].offset + 1)
                read += len(run)
            elif self._client.end(INBOX, self._number) > left[0].offset:
                read += self.step(1.0)
            else:
                raise LogError(f"partition {self._number} of the inbox has no record {left[0].offset}")
            left = [record for record in left if record.offset >= self._position]
        return read

    def counts(self) -> Counts:
        """As of now; while a batch is taken in, it is waiting."""
        with self._log.index.reading() as view:
            stands, counts = view.next_offset(INBOX), view.counts()
        end = max(self._client.end(INBOX, self._number), stands)
        known = {name: number for name, number in counts.items() if name in Counts.__struct_fields__}
        return Counts(inbox=end, waiting=end - stands, **known)

    def _take(self, asked: int, records: Sequence[Stored], reached: int) -> None:
        """One batch, which was read from `asked` on up to `reached`, in steps of a bearable size."""
        part: list[_Judged] = []
        size = 0
        for record in records:
            if part and size + len(record.value) > _MOST_BYTES:
                self._commit(asked, part, record.offset)
                if self._position < record.offset:
                    return
                asked, part, size = record.offset, [], 0
            part.append(self._judge(record))
            size += len(record.value)
        if reached > asked:
            self._commit(asked, part, reached)

    def _judge(self, record: Stored) -> _Judged:
        event: Envelope | None = None
        try:
            event = accept(record.value)
            check_place(event, record.scope, self._number, self._client.partitions)
        except MnemologError as error:
            return _Judged(record, event, error)
        return _Judged(record, event, None)

    def _commit(self, asked: int, judged: Sequence[_Judged], reached: int) -> None:
        """Makes one batch durable and moves the position behind it."""
        with self._log.index.step() as step:
            stands = step.next_offset(INBOX)
            if asked <= stands < reached:
                self._append(step, [item for item in judged if item.record.offset >= stands], stands, reached)
                stands = reached
            # Else others were faster, or the index was made anew and what lies before has to be read first.
        self._log.settled()
        self._position = stands

    def _append(self, step: IndexStep, judged: Sequence[_Judged], start: int, reached: int) -> None:
        good = [item for item in judged if item.error is None and item.event is not None]
        answers = self._log.append_in(step, [item.event for item in good if item.event is not None])
        refused = [(item, item.error) for item in judged if item.error is not None]
        refused += [
            (item, answer) for item, answer in zip(good, answers, strict=True) if isinstance(answer, ConflictingContent)
        ]
        if refused:
            refused.sort(key=lambda pair: pair[0].record.offset)
            letters = [
                letter_of(item.record, error, None if item.event is None else item.event.id, self._log.log_id)
                for item, error in refused
            ]
            self._log.append_rejected(step, letters)
        fresh = sum(not isinstance(answer, ConflictingContent) and answer.fresh for answer in answers)
        counts = {
            "appended": fresh,
            "seen_again": len(judged) - fresh - len(refused),
            "dead_lettered": len(refused),
            "blank": reached - start - len(judged),
        }
        step.count(INBOX, reached, counts)

    def _expire(self) -> None:
        """The inbox does not hold its next record any more: nobody took it in for longer than it is kept there."""
        with self._log.index.step() as step:
            begin, stands = self._client.begin(INBOX, self._number), step.next_offset(INBOX)
            if stands < begin:
                logger.error(
                    "partition %d: the inbox begins at %d; the records from %d on expired before they were taken in",
                    *(self._number, begin, stands),
                )
                step.count(INBOX, begin, {"expired": begin - stands})
        self._position = max(begin, stands)


def letter_of(record: Stored, error: MnemologError, causation: str | None, log_id: str) -> tuple[str, Envelope]:
    """The dead letter of a record, and the key that it goes under: its scope, else the record's own key, if it is not so long
    that both would not fit."""
    scope = readable_scope(record.value, record.scope)
    key = record.scope.encode("utf-8", "surrogateescape")
    data = InputRejected(
        topic=INBOX,
        partition=record.partition,
        offset=record.offset,
        reason=reason_of(error),
        detail=str(error)[:_DETAIL],
        key=Published.of(key, MAX_KEY) if key else None,
        value=Published.of(record.value) if record.value else None,
    )
    letter = make(
        data,
        scope=scope or Scope(NOBODY, f"inbox:{record.partition}"),
        event_id=rejection_id(log_id, INBOX, record.partition, record.offset),
        time=record.recorded,
        causation=causation,
    )
    return record.scope if scope is None and len(key) <= MAX_KEY else str(letter.scope), letter


def _run(records: Sequence[Stored], start: int) -> list[Stored]:
    """The records from `start` on, as far as none is missing between them, and at most a batch."""
    run: list[Stored] = []
    for record in records[:_BATCH]:
        if record.offset != start + len(run):
            break
        run.append(record)
    return run
