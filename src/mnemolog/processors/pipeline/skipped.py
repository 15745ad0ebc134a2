"""Inputs that extraction passed over because it could not read them, and now can: of a newer version, they came before the
newer mnemolog did. Their observations come late, after those of later inputs; their scopes stand still until then."""

from __future__ import annotations

from ...projections.parked import parked_offsets
from ...projections.reader import records
from ...projections.resolver_state import ResolverState
from ...schemas.envelope import Envelope, Position
from ...schemas.errors import LogError
from ...schemas.events import DYNAMICS, OBSERVATIONS
from ...schemas.scope import Scope
from ..core.ports import Stored
from .inputs import is_scope
from .installation import Partition

__all__ = ["skipped"]


def skipped(partition: Partition, end: int) -> list[Stored]:
    """The dynamics records below `end`, which is where extraction stands, that are neither decided nor observed, in order.
    Repetitions and what cannot be read are among them."""
    progress = ResolverState(partition.state).progress()
    with partition.store.reading() as (connection, _):
        parked = parked_offsets(connection)
    found: dict[int, Stored] = {}
    if progress.applied_input < end:
        observed = _observed(partition, progress.next_observations, None)
        found |= _without(partition, progress.applied_input, end, None, observed)
    for key, offset in parked.items():
        if is_scope(key):
            scope = Scope.parse(key)
            below = min(end, progress.applied_input)
            found |= _without(partition, offset, below, scope, _observed(partition, 0, scope))
    return [found[offset] for offset in sorted(found)]


def _without(partition: Partition, start: int, end: int, scope: Scope | None, observed: set[int]) -> dict[int, Stored]:
    there = records(partition.log, DYNAMICS, start, end, scope=scope)
    return {record.offset: record for record in there if record.offset not in observed}


def _observed(partition: Partition, start: int, scope: Scope | None) -> set[int]:
    """The dynamics offsets that have an observation at offset `start` or behind it."""
    found: set[int] = set()
    for record in records(partition.log, OBSERVATIONS, start, partition.log.end(OBSERVATIONS), scope=scope):
        try:
            position = Envelope.from_bytes(record.value).position
        except LogError:
            continue
        if position is not None:
            found.add(Position.parse(position).offset)
    return found
