"""Dead letters, as an operator meets them: what could not be taken in, why, and publishing it again once it is put right.

Invariants: the topic keeps every dead letter for ever, and of an id the first counts; that one is resolved is a row of its own.
One that is published again is resolved in the same step: cut short, it can be done again, and the inbox drops what it knows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Literal

import msgspec

from ...adapters.kafka.client import Outgoing, partition_of
from ...adapters.logs.plan import Clock, utc_now
from ...projections.resolutions import Resolution, Resolutions
from ...schemas.envelope import Envelope, headers_of
from ...schemas.errors import InvalidInput, LogError, NotFound
from ...schemas.events import DEAD_LETTERS, INBOX, decode
from ...schemas.rejections import InputRejected
from ...schemas.times import to_text
from .accept import NOBODY, accept
from .installation import Installation

__all__ = ["DeadLetter", "DeadLetters", "Which"]

Which = Literal["open", "resolved", "all"]
_CHUNK = 100

logger = logging.getLogger(__name__)


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """One of them. `scope` is None where the record does not say whose it is; `recorded` when it was refused, `published` when
    the broker got it."""

    id: str
    scope: str | None
    published: str
    recorded: str
    rejected: InputRejected
    resolution: Resolution | None = None


class DeadLetters:
    """Those of an installation. Thread-safe."""

    def __init__(self, installation: Installation, *, clock: Clock = utc_now) -> None:
        self._installation = installation
        self._client = installation.client
        self._clock = clock
        self._resolutions: dict[int, Resolutions] = {}

    def list(self, which: Which = "open", *, partition: int | None = None, limit: int | None = None) -> list[DeadLetter]:
        """The oldest first, by partition; of one `partition` or of all, at most `limit`."""
        if which not in ("open", "resolved", "all"):
            raise InvalidInput("which", f"is {which!r}", "open, resolved or all")
        if limit is not None and limit < 1:
            raise InvalidInput("limit", f"is {limit}", "give at least 1")
        found: list[DeadLetter] = []
        for number in self._numbers(partition):
            for letter in self._letters(number):
                if which == "all" or (letter.resolution is None) == (which == "open"):
                    found.append(letter)
                    if len(found) == limit:
                        return found
        return found

    def show(self, identifier: str) -> DeadLetter:
        """One, by its id. Raises NotFound."""
        for number in self._numbers(None):
            for letter in self._letters(number):
                if letter.id == identifier:
                    return letter
        raise NotFound("dead letter", identifier, "`mnemolog dead-letters list` shows them with their ids", "in this memory")

    def requeue(self, identifier: str, value: bytes | None = None) -> Resolution:
        """Publishes a dead letter to the inbox again, under its scope's key; with `value` (a CloudEvents object as JSON) that
        instead of what was published.

        Raises NotFound; InvalidInput where it was resolved already; Undecodable, NewerVersion or InvalidInput where it would
        be refused again.
        """
        letter = self.show(identifier)
        given = self._kept(letter) if value is None else value
        event = accept(given)
        scope = str(event.scope)
        with self._resolved(letter.rejected.partition).resolving(identifier) as step:
            number = partition_of(scope, self._installation.partitions)
            now = to_text(self._clock())
            [offset] = self._client.send(INBOX, number, [Outgoing(scope, given, now, headers_of(event))])
            note = "" if value is None else "corrected"
            done = Resolution(identifier, "requeued", now, note, number, offset)
            step.write(done)
        return done

    def dismiss(self, identifier: str, note: str = "") -> Resolution:
        """Says that nothing is to be done about one. Raises NotFound; InvalidInput where it was resolved already."""
        letter = self.show(identifier)
        with self._resolved(letter.rejected.partition).resolving(identifier) as step:
            done = Resolution(identifier, "dismissed", to_text(self._clock()), note)
            step.write(done)
        return done

    def close(self) -> None:
        """Leaves the installation open. May be called twice."""
        for resolutions in self._resolutions.values():
            resolutions.close()
        self._resolutions.clear()

    def _numbers(self, partition: int | None) -> range:
        count = self._installation.partitions
        if partition is None:
            return range(count)
        if not 0 <= partition < count:
            raise InvalidInput("partition", f"there is no partition {partition}", f"this log has {count}, from 0")
        return range(partition, partition + 1)

    def _resolved(self, number: int) -> Resolutions:
        if number not in self._resolutions:
            servers = self._installation.servers
            self._resolutions[number] = Resolutions(servers.database, schema=servers.schema(number, "letters"))
        return self._resolutions[number]

    def _letters(self, number: int) -> Iterator[DeadLetter]:
        """Of a partition, each once; a dead letter lies where its record lay."""
        resolved = self._resolved(number).all()
        seen: set[str] = set()
        at, end = self._client.begin(DEAD_LETTERS, number), self._client.end(DEAD_LETTERS, number)
        while at < end:
            records, at = self._client.fetch(DEAD_LETTERS, number, at, _CHUNK, 0.25)
            for record in records:
                try:
                    event, data = decode(record.value)
                except LogError as error:
                    event, data = None, error
                if event is None or not isinstance(data, InputRejected) or event.recordedtime is None:
                    logger.warning(
                        "%s, partition %d, offset %d is no dead letter: %s", DEAD_LETTERS, number, record.offset, data
                    )
                elif event.id not in seen:
                    seen.add(event.id)
                    yield _letter(event, event.recordedtime, data, resolved.get(event.id))

    def _kept(self, letter: DeadLetter) -> bytes:
        kept = letter.rejected.value
        if kept is None or kept.cut:
            what = "had no value" if kept is None else f"was too large to be kept whole ({kept.size:,} bytes)"
            raise InvalidInput("value", f"is missing: dead letter {letter.id} {what}", "give the value to publish")
        return kept.to_bytes()


def _letter(event: Envelope, recorded: str, data: InputRejected, resolution: Resolution | None) -> DeadLetter:
    return DeadLetter(
        id=event.id,
        scope=None if event.tenant == NOBODY else str(event.scope),
        published=event.time,
        recorded=recorded,
        rejected=data,
        resolution=resolution,
    )
