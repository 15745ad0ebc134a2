"""What became of the first record that is not as it was sealed. Looked for only once a seal is broken: how often the two
contents (the one that should be there, the one that is) lie on the rest of the topic, and how often they should."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from ..processors.core.ports import EventLog, Stored
from ..schemas.envelope import Envelope, Position
from ..schemas.errors import LogError, Undecodable
from ..schemas.events import CHANGES, DYNAMICS, OBSERVATIONS
from .seal_chain import MARK, Place, Sealed, mark_of

__all__ = ["Break", "Found", "Wanted", "name_break"]


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """Where the chain of a topic is broken."""

    partition: int
    topic: str
    kind: str
    """altered | deleted | inserted | reordered: the record at `offset`; of several that were, the first. seal: a seal that is
    not as it was made; `offset` is where it begins."""
    offset: int
    scope: str = ""
    """Whose the record is; empty where nothing says so any more."""
    event_id: str = ""
    """Empty where it cannot be read."""
    detail: str = ""


class Found(NamedTuple):
    """A record that is there."""

    record: Stored
    mark: bytes


class Wanted(NamedTuple):
    """A record that was sealed."""

    offset: int
    mark: bytes
    scope: str


def name_break(
    log: EventLog, place: Place, wanted: Sequence[Wanted], found: Sequence[Found], later: Iterable[Sealed], end: int
) -> Break:
    """Names the first of `wanted` and `found`, which differ in it. `later`: the seals behind; `end`: where they begin."""
    want = wanted[0] if wanted else None
    have = found[0] if found else None
    if want is not None and have is not None and want.offset != have.record.offset:
        # One of the two places is empty.
        want, have = (want, None) if want.offset < have.record.offset else (None, have)
    due, there = _counted({item.mark for item in (want, have) if item is not None}, log, place, wanted, found, later, end)
    gone = want is not None and there[want.mark] < due[want.mark]
    strange = have is not None and there[have.mark] > due[have.mark]
    detail = ""
    if gone and not strange:
        kind = "deleted"
        if log.end(place.topic) <= wanted[0].offset:
            detail = f"the topic ends at offset {log.end(place.topic)}: all behind it that was sealed is gone"
    elif strange:
        kind = "altered" if gone else "inserted"
    else:
        kind = "reordered"
        if have is None:
            detail = "it lies elsewhere now"
        elif want is None:
            detail = "it lay elsewhere"
        else:
            detail = "another sealed record lies in its place"
    offset = want.offset if want is not None else found[0].record.offset
    shown = None if have is None or kind == "deleted" else have.record
    scope = want.scope if want is not None and kind in ("altered", "deleted") else ""
    event_id = "" if shown is None else _id_of(shown)
    if not event_id and place.topic == DYNAMICS and kind in ("altered", "deleted"):
        scope, event_id = _remembered(log, offset, scope)
    return Break(
        partition=place.partition,
        topic=place.topic,
        kind=kind,
        offset=offset,
        scope=scope or ("" if shown is None else shown.scope),
        event_id=event_id,
        detail=detail,
    )


def _counted(
    marks: set[bytes],
    log: EventLog,
    place: Place,
    wanted: Sequence[Wanted],
    found: Sequence[Found],
    later: Iterable[Sealed],
    end: int,
) -> tuple[dict[bytes, int], dict[bytes, int]]:
    """How often each mark should lie, and lies, on the topic from here on."""
    due = {mark: sum(item.mark == mark for item in wanted) for mark in sorted(marks)}
    there = {mark: sum(item.mark == mark for item in found) for mark in sorted(marks)}
    for sealed in later:
        for at in range(0, len(sealed.marks), MARK):
            mark = sealed.marks[at : at + MARK]
            if mark in due:
                due[mark] += 1
    for record in _read(log, place.topic, end):
        mark = mark_of(record)[:MARK]
        if mark in there:
            there[mark] += 1
    return due, there


def _id_of(record: Stored) -> str:
    try:
        return Envelope.from_bytes(record.value).id
    except Undecodable:
        return ""


def _remembered(log: EventLog, offset: int, scope: str) -> tuple[str, str]:
    """The scope and the id of an input that is gone, as what was derived from it tells them."""
    for topic in (OBSERVATIONS, CHANGES):
        for envelope in _readable(log, topic):
            try:
                position = None if envelope.position is None else Position.parse(envelope.position)
            except Undecodable:
                continue
            if position is not None and position.offset == offset and (not scope or scope == str(envelope.scope)):
                return str(envelope.scope), envelope.causationid or ""
    return scope, ""


def _readable(log: EventLog, topic: str) -> Iterator[Envelope]:
    for record in _read(log, topic):
        try:
            yield Envelope.from_bytes(record.value)
        except Undecodable:
            continue


def _read(log: EventLog, topic: str, start: int = 0) -> Iterator[Stored]:
    """The records from an offset on; none where the topic does not reach back, or on, so far."""
    try:
        yield from log.read(topic, start)
    except LogError:
        return
