"""When a round is over: nothing waits in any topic or table, and stays so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import sqlalchemy as sa

from mnemolog.processors.pipeline.installation import Installation, Partition
from mnemolog.projections.parked import parked_offsets
from mnemolog.projections.resolver_state import ResolverState
from mnemolog.projections.tables import scopes
from mnemolog.schemas.errors import Unavailable
from mnemolog.schemas.events import CHANGES, DYNAMICS, INBOX, SUMMARIES
from mnemolog.schemas.times import to_text

__all__ = ["parked", "wait_until_settled"]

_LOOK = 0.25


def wait_until_settled(installation: Installation, seconds: float, look: Callable[[], None]) -> None:
    """Returns once nothing waits, seen twice in a row. `look` is called again and again and may raise. Raises TimeoutError that
    says what waits."""
    deadline = time.monotonic() + seconds
    before: list[int] | None = None
    while True:
        look()
        try:
            waiting, ends = _waiting(installation)
        except Unavailable as error:
            waiting, ends = [str(error)], []
        if not waiting and ends == before:
            return
        before = None if waiting else ends
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {seconds:g} s there still waits: {'; '.join(waiting) or 'more and more'}")
        time.sleep(_LOOK)


def parked(partition: Partition) -> dict[str, int]:
    """The scopes that stand still, and the dynamics offset of what each waits at."""
    with partition.store.reading() as (connection, _):
        return parked_offsets(connection)


def _waiting(installation: Installation) -> tuple[list[str], list[int]]:
    waiting: list[str] = []
    ends: list[int] = []
    for number in range(installation.partitions):
        partition = installation.partition(number)
        for what, reached, end in _places(partition):
            ends.append(end)
            if reached < end:
                waiting.append(f"partition {number}: {what} is at {reached} of {end}")
        still = parked(partition)
        now = to_text(datetime.now(UTC))
        due = [item for item in partition.store.deadlines_due(now) if item.scope not in still]
        if due:
            waiting.append(f"partition {number}: {len(due)} deadlines, such as {due[0]}")
        weeks = _weeks(partition)
        if weeks:
            waiting.append(f"partition {number}: summaries of {len(weeks)} weeks, such as {weeks[0]}")
    return waiting, ends


def _places(partition: Partition) -> Iterator[tuple[str, int, int]]:
    """What works through which topic: how far it is, and how far there is to go."""
    log = partition.log
    with log.index.reading() as view:
        yield "ingest", view.next_offset(INBOX), partition.client.end(INBOX, partition.number)
    yield "the resolver", ResolverState(partition.state).progress().applied_input, log.end(DYNAMICS)
    cursor = partition.store.cursor()
    yield "the projector", cursor.next_changes, log.end(CHANGES)
    with partition.store.reading() as (connection, current):
        offsets = partition.store.read_offsets(connection, current)
    yield "the projector of summaries", offsets["summaries"], log.end(SUMMARIES)


def _weeks(partition: Partition) -> list[tuple[str, str]]:
    """The closed weeks that changed after what their summaries cover."""
    with partition.store.reading() as (connection, t):
        w = t.weeks
        later = w.alias("later")
        query = (
            sa.select(scopes.c.key, w.c.week)
            .join(scopes, scopes.c.scope_id == w.c.scope_id)
            .where(
                w.c.touched > w.c.summarised,
                sa.exists().where(later.c.scope_id == w.c.scope_id, later.c.week > w.c.week, later.c.inputs == 1),
            )
        )
        return [(key, week) for key, week in connection.execute(query)]
