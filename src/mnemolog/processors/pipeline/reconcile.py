"""The sum that must hold: every record that came in is accounted for, exactly once, up to an end that is fixed when the count
begins. All of a partition's log is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ...projections.parked import parked_offsets
from ...projections.reader import records
from ...projections.resolver_state import Progress, ResolverState
from ...schemas.envelope import Position
from ...schemas.errors import Undecodable
from ...schemas.events import CHANGES, DYNAMICS
from ..core.chain import ValidDecision, valid_decisions
from .ingest import Counts, IngestCore
from .installation import Installation, Partition

__all__ = ["PartitionSum", "reconcile"]

_CHUNK = 1000
_TRIES = 3
"""A scope that begins to stand still, or goes on, during a count makes it wrong: it is done again."""


class PartitionSum(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a partition's records.

    dynamics: the inputs, each of them decided, a repetition of an earlier record, parked (its scope stands still) or waiting.
    difference: inputs that are in none of those, less those that are in two. inbox: what became of what was published;
    inbox_difference: records that are nowhere.
    """

    partition: int
    dynamics: int
    decided: int
    repeated: int
    parked: int
    waiting: int
    difference: int
    inbox: Counts
    inbox_difference: int

    @property
    def holds(self) -> bool:
        return self.difference == 0 and self.inbox_difference == 0


def reconcile(installation: Installation) -> list[PartitionSum]:
    """The sums of all partitions."""
    return [_settled(installation.partition(number)) for number in range(installation.partitions)]


def _settled(partition: Partition) -> PartitionSum:
    found = _count(partition)
    for _ in range(_TRIES - 1):
        if found.holds:
            break
        found = _count(partition)
    return found


def _count(partition: Partition) -> PartitionSum:
    inbox = IngestCore(partition).counts()
    progress = ResolverState(partition.state).progress()
    with partition.store.reading() as (connection, _):
        parked = parked_offsets(connection)
    end = partition.log.end(DYNAMICS)
    decided = _decided(partition, progress)
    counted: dict[str, int] = _sort_out(partition, end, progress, parked, decided)
    seen = inbox.appended + inbox.seen_again + inbox.dead_lettered + inbox.expired + inbox.blank + inbox.waiting
    total = counted.pop("dynamics")
    return PartitionSum(
        partition=partition.number,
        dynamics=total,
        difference=total - sum(counted.values()),
        inbox=inbox,
        inbox_difference=inbox.inbox - seen,
        **counted,
    )


def _decided(partition: Partition, progress: Progress) -> bytearray:
    """One byte an input: how many decisions about it count."""
    found = bytearray(progress.applied_input)
    for valid in _valid(partition, progress.next_changes):
        offset = Position.parse(valid.envelope.position).offset
        if offset >= len(found):
            found.extend(bytes(offset + _CHUNK - len(found)))
        found[offset] = min(found[offset] + 1, 255)
    return found


def _valid(partition: Partition, end: int) -> Iterator[ValidDecision]:
    """What cannot be read counts for nothing."""
    heads: dict[str, str] = {}
    for record in records(partition.log, CHANGES, 0, end):
        try:
            yield from valid_decisions((record,), heads)
        except Undecodable:
            continue


def _sort_out(
    partition: Partition, end: int, progress: Progress, parked: Mapping[str, int], decided: bytearray
) -> dict[str, int]:
    """Each input below `end` by what became of it: ideally one thing of four."""
    counted: dict[str, int] = dict.fromkeys(("dynamics", "decided", "repeated", "parked", "waiting"), 0)
    start = 0
    while start < end:
        chunk = [item for item in partition.log.read(DYNAMICS, start, _CHUNK) if item.offset < end]
        if not chunk:
            break
        firsts = partition.log.first_offsets(chunk)
        for item in chunk:
            counted["dynamics"] += 1
            decisions = decided[item.offset] if item.offset < len(decided) else 0
            repeated = firsts.get(item.offset) is False
            counted["decided"] += decisions
            counted["repeated"] += repeated
            if decisions or repeated:
                continue
            if item.offset >= parked.get(item.scope, end):
                counted["parked"] += 1
            elif item.offset >= progress.applied_input:
                counted["waiting"] += 1
        start = chunk[-1].offset + 1
    return counted
