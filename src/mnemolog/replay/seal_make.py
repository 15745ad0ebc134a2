"""Sealing: what was appended since the last seal gets seals of its own, a thousand records each.

Invariant: nothing that is sealed is read or written again; each step is one transaction over what the log already holds for
good, so that a sealer that is killed, called twice or overtaken by another one leaves the same chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec

from ..processors.core.ports import EventLog, Stored
from ..schemas.errors import LogError
from .seal_chain import BLOCK, SEALED, Place, Seal, Sealed, SigningKey, make_seal
from .seal_store import SealStore

__all__ = ["SealReport", "SealedTopic", "places_of", "seal_log"]

_STEP = 16
"""Seals appended in one transaction."""


class SealedTopic(msgspec.Struct, frozen=True, kw_only=True):
    """One topic of one partition."""

    topic: str
    partition: int
    sealed: int
    """Records that were sealed now."""
    seals: int
    """Seals that were made now."""
    end: int
    """The offset up to which all is sealed."""
    signed: bool
    """Whether the last seal bears the signature that was asked for."""


class SealReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a sealing did."""

    sealed: int
    """Records that were sealed now."""
    seals: int
    topics: list[SealedTopic]


def places_of(log: EventLog, partition: int) -> list[Place]:
    """What is sealed of a partition."""
    return [Place(log.log_id, log.epoch, partition, topic) for topic in SEALED]


def seal_log(
    log: EventLog,
    store: SealStore,
    partition: int,
    now: Callable[[], str],
    key: SigningKey | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    block: int = BLOCK,
) -> list[SealedTopic]:
    """Seals what is on a partition's topics and not sealed yet, up to `block` records in a seal. With `key` the last seal of
    each is signed, whoever made it.

    Raises LogError, and seals nothing more of that topic, where the log ends below what was sealed, or the last seal cannot be
    read: something was altered, and a new seal must not cover it up.
    """
    return [_seal_topic(log, store, place, now, key, progress, block) for place in places_of(log, partition)]


def _seal_topic(
    log: EventLog,
    store: SealStore,
    place: Place,
    now: Callable[[], str],
    key: SigningKey | None,
    progress: Callable[[int], None] | None,
    size: int,
) -> SealedTopic:
    records = seals = 0
    while True:
        last = _last(log, store, place)
        made = 0
        for batch in _batches(log, place, last, now, key, size):
            if not store.append(place, batch):
                break  # somebody else sealed meanwhile: what is left is looked at again
            made += len(batch)
            count = sum(item.seal.records for item in batch)
            records, seals = records + count, seals + len(batch)
            last = batch[-1].seal
            if progress is not None:
                progress(count)
        else:
            break
    if key is not None and last is not None:
        store.sign(place, key)
    return SealedTopic(
        topic=place.topic,
        partition=place.partition,
        sealed=records,
        seals=seals,
        end=0 if last is None else last.end,
        signed=key is not None and last is not None,
    )


def _last(log: EventLog, store: SealStore, place: Place) -> Seal | None:
    stand, last = store.newest(place)
    if stand is None and last is None:
        return None
    where = f"{place.topic}, partition {place.partition}"
    if not isinstance(last, Sealed) or stand is None or last.hash != stand.hash or not last.is_whole(place):
        raise LogError(f"{where}: the last seal was altered or deleted: `verify` says more; nothing more is sealed")
    end = log.end(place.topic)
    if end < last.seal.end:
        raise LogError(f"{where}: ends at offset {end}, but it is sealed up to {last.seal.end}: records were deleted")
    return last.seal


def _batches(
    log: EventLog, place: Place, last: Seal | None, now: Callable[[], str], key: SigningKey | None, size: int
) -> Iterator[Sequence[Sealed]]:
    """What follows on a seal, as seals, some at a time."""
    start = 0 if last is None else last.end
    if log.end(place.topic) <= start:
        return
    records = log.read(place.topic, start)
    batch: list[Sealed] = []
    while block := list[Stored](islice(records, size)):
        made = make_seal(place, last, block, now())
        last = made.seal
        batch.append(made if key is None else key.sign(made))
        if len(batch) == _STEP:
            yield batch
            batch = []
    if batch:
        yield batch
