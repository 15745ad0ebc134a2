"""What an operator asks of an installation: which topics there are, how far each stage of each partition is behind, and whether
it moves. Nothing here changes anything."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import sqlalchemy as sa

from ...adapters.kafka.topics import TOPIC_SETTINGS
from ...projections.resolver_state import ResolverState
from ...projections.tables import store_meta
from ...projections.weeks import count_due
from ...schemas.errors import LogError
from ...schemas.events import CHANGES, DYNAMICS, INBOX, SUMMARIES, decode
from ...schemas.times import from_text, to_text
from .extract import observed_until
from .installation import Installation, Partition
from .live_vectors import VECTORS

__all__ = ["LagReport", "StageLag", "TopicView", "lag", "stages", "topics"]

_CLOSE = 1000
"""So few records behind, those that need no work (repetitions) are told from the others."""


class TopicView(msgspec.Struct, frozen=True, kw_only=True):
    """A topic as it is. `name`: on the broker; `retention`: days that a record is kept, None for ever; `ends`: the next offset
    of each partition."""

    name: str
    partitions: int
    retention: float | None
    ends: list[int]


class StageLag(msgspec.Struct, frozen=True, kw_only=True):
    """How far a stage of a partition is behind.

    position: where it stands (an offset of what it reads). behind: how many records wait for it. oldest: when the first of them
    was recorded (fixed UTC form), empty where none waits; age: seconds since then. stuck: it was behind and has not moved while
    it was watched.
    """

    stage: str
    partition: int
    position: int
    behind: int
    oldest: str = ""
    age: float = 0.0
    stuck: bool = False


class LagReport(msgspec.Struct, frozen=True, kw_only=True):
    """All stages, by partition. `watched`: seconds between the two looks, 0 where one was enough: nothing was behind."""

    stages: list[StageLag]
    watched: float

    @property
    def stuck(self) -> list[StageLag]:
        """Those that are behind and do not move."""
        return [item for item in self.stages if item.stuck]


def topics(installation: Installation) -> list[TopicView]:
    """Every topic. That they are set up as they must be was checked when the installation was opened."""
    client = installation.client
    found = []
    for settings in TOPIC_SETTINGS:
        count = 1 if settings.one_partition else installation.partitions
        found.append(
            TopicView(
                name=installation.servers.topic(settings.name),
                partitions=count,
                retention=None if settings.retention_ms < 0 else settings.retention_ms / 86_400_000,
                ends=[client.end(settings.name, number) for number in range(count)],
            )
        )
    return found


def lag(
    installation: Installation,
    *,
    watch: float = 5.0,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> LagReport:
    """How far everything is behind. Where anything is, it is looked at again `watch` seconds later: what has not moved by then
    is stuck."""
    first = _look(installation, now())
    if watch <= 0 or not any(item.behind for item in first):
        return LagReport(stages=first, watched=0.0)
    sleep(watch)
    before = {(item.stage, item.partition): item for item in first}
    second = [_judged(item, before.get((item.stage, item.partition))) for item in _look(installation, now())]
    return LagReport(stages=second, watched=watch)


def stages(partition: Partition, now: datetime | None = None) -> list[StageLag]:
    """The stages of one partition, in the order in which a turn passes them."""
    moment = datetime.now(UTC) if now is None else now
    with partition.log.index.reading() as view:
        taken = view.next_offset(INBOX)
    progress = ResolverState(partition.state).progress()
    with partition.store.reading() as (connection, current):
        projected = partition.store.read_offsets(connection, current)["changes"]
        indexed = _indexed(connection)
    observed = observed_until(partition.log)
    found = [
        _between(partition, "ingest", INBOX, taken, partition.log.end(INBOX)),
        _unobserved(partition, observed),
        _between(partition, "resolve", DYNAMICS, progress.applied_input, observed),
        _between(partition, "project", CHANGES, projected, partition.log.end(CHANGES)),
        _due(partition, to_text(moment)),
    ]
    if indexed is not None:
        found.append(_unindexed(partition, indexed))
    return [_aged(item, moment) for item in found]


def _look(installation: Installation, now: datetime) -> list[StageLag]:
    return [item for number in range(installation.partitions) for item in stages(installation.partition(number), now)]


def _judged(item: StageLag, before: StageLag | None) -> StageLag:
    stuck = before is not None and item.behind > 0 and before.behind > 0 and item.position == before.position
    return msgspec.structs.replace(item, stuck=stuck)


def _aged(item: StageLag, now: datetime) -> StageLag:
    age = (now - from_text(item.oldest)).total_seconds() if item.behind and item.oldest else 0.0
    return msgspec.structs.replace(item, age=max(age, 0.0))


def _between(partition: Partition, stage: str, topic: str, position: int, end: int) -> StageLag:
    """By the offsets of a topic."""
    behind = max(end - position, 0)
    # What nobody took in for a week is not in the inbox any more.
    start = max(position, partition.client.begin(topic, partition.number)) if behind else position
    first = next(iter(partition.log.read(topic, start, 1)), None) if behind else None
    oldest = "" if first is None else first.recorded
    return StageLag(stage=stage, partition=partition.number, position=position, behind=behind, oldest=oldest)


def _unobserved(partition: Partition, position: int) -> StageLag:
    """Extraction leaves no trace of an input that repeats an earlier one, or that cannot be read: none of those waits."""
    log = partition.log
    found = _between(partition, "extract", DYNAMICS, position, log.end(DYNAMICS))
    if not 0 < found.behind <= _CLOSE:
        return found
    records = list(log.read(DYNAMICS, position))
    firsts = log.first_offsets(records)
    waiting = [record for record in records if firsts.get(record.offset) and _readable(record.value)]
    return msgspec.structs.replace(found, behind=len(waiting), oldest=waiting[0].recorded if waiting else "")


def _readable(value: bytes) -> bool:
    try:
        decode(value)
    except LogError:
        return False
    return True


def _due(partition: Partition, now: str) -> StageLag:
    """Weeks to summarise, and deadlines that have passed."""
    store = partition.store
    deadlines = store.deadlines_due(now)
    return StageLag(
        stage="summarise",
        partition=partition.number,
        position=partition.log.end(SUMMARIES),
        behind=count_due(store) + len(deadlines),
        oldest=deadlines[0].due if deadlines else "",
    )


def _indexed(connection: sa.Connection) -> int | None:
    """The dynamics offset from which turns have no vector yet, where the vectors lie in the database and anybody makes them."""
    named = sa.select(store_meta.c.value).where(store_meta.c.name.startswith(VECTORS, autoescape=True))
    return max((int(value) for value in connection.execute(named).scalars()), default=None)


def _unindexed(partition: Partition, position: int) -> StageLag:
    with partition.store.reading() as (connection, t):
        waiting = (t.turns.c.position >= position, t.turns.c.hidden == 0, t.turns.c.folded == 0)
        query = sa.select(sa.func.count(), sa.func.min(t.turns.c.position)).where(*waiting)
        behind, first = connection.execute(query).one()
    record = None if first is None else next(iter(partition.log.read(DYNAMICS, first, 1)), None)
    return StageLag(
        stage="vectors",
        partition=partition.number,
        position=position,
        behind=behind,
        oldest="" if record is None else record.recorded,
    )
