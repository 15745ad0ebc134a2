"""What an append will store, decided before anything is stored: every log adapter asks these functions and then writes exactly
what they return, so that the first record per (scope, source, id) wins and decisions link to their scope's head everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from ...processors.core.ports import Placed
from ...schemas.codec import sha256_hex
from ...schemas.envelope import Envelope, Position
from ...schemas.errors import ConflictingContent, InvalidInput, StaleDecision
from ...schemas.events import CHANGES, DYNAMICS, TOPICS
from ...schemas.times import to_text

__all__ = [
    "EPOCH",
    "Clock",
    "Key",
    "Known",
    "Lookup",
    "NewDecision",
    "NewRecord",
    "check_derived",
    "check_topic",
    "plan_decisions",
    "plan_derived",
    "plan_each_input",
    "plan_inputs",
    "stamp",
    "utc_now",
]

EPOCH = 1
"""The epoch of a log that was never copied."""

Clock = Callable[[], datetime]
"""Tells the time; a naive one is taken as UTC."""


class Key(NamedTuple):
    """What identifies a record within its topic."""

    scope: str
    source: str
    event_id: str


class Known(NamedTuple):
    """A record that is on the topic already."""

    offset: int
    content: str
    """The content hash of an input, the hash of a decision's bytes; empty on other topics."""


class NewRecord(NamedTuple):
    """One record to append."""

    key: Key
    content: str
    value: bytes


class NewDecision(NamedTuple):
    """One decision to append; `record.content` is the hash that the scope's next decision links to."""

    record: NewRecord
    prev: str


Lookup = Callable[[Key], Known | None]


def utc_now() -> datetime:
    """The machine's time."""
    return datetime.now(UTC)


def stamp(clock: Clock, latest: str) -> str:
    """The time to record: the clock's, but never earlier than `latest`, the newest time that the log holds."""
    return max(to_text(clock()), latest)


def check_topic(topic: str, partition: int) -> None:
    """Raises InvalidInput for a topic or a partition that a log of one partition does not have."""
    if topic not in TOPICS:
        raise InvalidInput("topic", f"there is no topic {topic!r}", f"known: {', '.join(TOPICS)}")
    if partition != 0:
        raise InvalidInput("partition", f"there is no partition {partition}", "this log has one, 0")


def check_derived(topic: str) -> None:
    """Raises InvalidInput for a topic whose records have rules of their own."""
    check_topic(topic, 0)
    if topic in (DYNAMICS, CHANGES):
        method = "append_inputs" if topic == DYNAMICS else "append_decisions"
        raise InvalidInput("topic", f"{topic} does not take derived records", f"use {method}")


def plan_inputs(
    events: Sequence[Envelope], known: Lookup, first_offset: int, recorded: str, epoch: int
) -> tuple[list[Placed], list[NewRecord]]:
    """Where each input lies, and the records to append at `first_offset` and following, stamped with `recorded`.

    Raises ConflictingContent where an id is known, or came earlier in the batch, with other content.
    """
    planned, new = plan_each_input(events, known, first_offset, recorded, epoch)
    placed: list[Placed] = []
    for item in planned:
        if isinstance(item, ConflictingContent):
            raise item
        placed.append(item)
    return placed, new


def plan_each_input(
    events: Sequence[Envelope], known: Lookup, first_offset: int, recorded: str, epoch: int
) -> tuple[list[Placed | ConflictingContent], list[NewRecord]]:
    """As `plan_inputs`, but an input that conflicts is answered with its error, and the others go on."""
    planned: list[Placed | ConflictingContent] = []
    new: list[NewRecord] = []
    batch: dict[Key, Known] = {}
    for event in events:
        key = _key(event)
        content = event.content_hash
        there = batch.get(key) or known(key)
        fresh = there is None
        if there is None:
            there = batch[key] = Known(first_offset + len(new), content)
            value = msgspec.structs.replace(event, recordedtime=recorded).to_bytes()
            new.append(NewRecord(key, content, value))
        if there.content == content:
            planned.append(Placed(event.id, Position(epoch, 0, there.offset), fresh))
        else:
            planned.append(ConflictingContent(*key, recorded_hash=there.content, given_hash=content))
    return planned, new


def plan_derived(events: Sequence[Envelope], known: Lookup) -> list[NewRecord]:
    """The records to append: the first of each key that is not known."""
    new: dict[Key, NewRecord] = {}
    for event in events:
        key = _key(event)
        if key not in new and known(key) is None:
            new[key] = NewRecord(key, "", event.to_bytes())
    return list(new.values())


def plan_decisions(events: Sequence[Envelope], known: Lookup, head: Callable[[str], str]) -> list[NewDecision]:
    """The decisions to append, each linked to the one before it in its scope.

    Raises StaleDecision for one that does not link to its scope's head, ConflictingContent for a second decision under one id.
    """
    new: list[NewDecision] = []
    heads: dict[str, str] = {}
    batch: dict[Key, str] = {}
    for event in events:
        key = _key(event)
        prev = event.data.get("prev")
        if not isinstance(prev, str):
            raise InvalidInput("prev", f"of decision {event.id!r} is missing", "give the head's hash, or empty text")
        expected = heads[key.scope] if key.scope in heads else head(key.scope)
        if prev != expected:
            raise StaleDecision(key.scope, expected, prev)
        value = event.to_bytes()
        link = sha256_hex(value)
        there = known(key)
        if key in batch or there is not None:
            recorded = batch[key] if there is None else there.content
            raise ConflictingContent(*key, recorded_hash=recorded, given_hash=link)
        heads[key.scope] = batch[key] = link
        new.append(NewDecision(NewRecord(key, link, value), prev))
    return new


def _key(event: Envelope) -> Key:
    return Key(str(event.scope), event.source, event.id)
