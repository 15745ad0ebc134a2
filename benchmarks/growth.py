"""What grows with the work: a second worker, the time of an event behind a hundred times as many, the start of a worker with a
long history behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from bench import Row, fold, timed
from copied import TENANT, write_nothing_decided
from serving import Site
from throughput import together

from mnemolog.processors.pipeline.installation import Installation, Partition
from mnemolog.processors.pipeline.project import ProjectCore
from mnemolog.processors.pipeline.resolve import ResolveCore
from mnemolog.projections.projector import Projector
from mnemolog.schemas.events import CHANGES, DYNAMICS

__all__ = ["bench_growth", "bench_history"]

PARTITIONS = 2


def bench_growth(kafka: str, database: str, *, turns: int, changes: int) -> Iterator[Row]:
    """One and two workers on a backlog of `turns`; a partition with `changes` decisions behind it."""
    yield from _workers(kafka, database, turns)
    yield from bench_history(kafka, database, changes=changes)


def _workers(kafka: str, database: str, turns: int) -> list[Row]:
    speeds: list[float] = []
    for workers in (1, 2):
        with Site(kafka, database, partitions=PARTITIONS) as site:
            speeds.append(together(site, turns, workers, "--no-vectors").speed)
    return [
        Row("all, one worker", speeds[0], "turns/s", note=f"{PARTITIONS} partitions, no vectors"),
        Row("all, two workers", speeds[1], "turns/s"),
        Row("two workers over one", speeds[1] / speeds[0], "x"),
    ]


def bench_history(kafka: str, database: str, *, changes: int) -> list[Row]:
    """Figures of a partition with so many decisions, beside those of one with a hundredth of them."""
    few = max(changes // 100, 1)
    with Site(kafka, database, partitions=1) as short, Site(kafka, database, partitions=1) as long:
        less, more = _Past(short, few).measured(), _Past(long, changes).measured()
    behind = f"behind {changes:,} changes; floor: {few:,}"
    return [
        Row("read and fold, an event", more.fold, "us", less.fold, note=behind),
        Row("log's index made anew, a record", more.indexed, "us", less.indexed, note=behind),
        Row("resolver's state folded anew, then one turn", more.refold, "s", less.refold, note=behind),
        Row("resolver starts with its state, one turn", more.resolver, "s", less.resolver, note=behind),
        Row("projector starts with its cursor, one turn", more.projector, "s", less.projector, note=behind),
    ]


class _Figures(NamedTuple):
    fold: float
    indexed: float
    refold: float
    resolver: float
    projector: float


class _Past:
    """A partition with a history in which nothing was found."""

    def __init__(self, site: Site, changes: int) -> None:
        self._site, self._changes = site, changes
        self._heads: dict[str, str] = {}

    def measured(self) -> _Figures:
        write_nothing_decided(self._site.installation, self._changes, heads=self._heads)
        log = self._site.installation.partition(0).log
        folded = timed(lambda: fold(log))
        indexed = sum(timed(partial(log.fold_index, topic)) for topic in (DYNAMICS, CHANGES))
        self._say_one()
        refolded = self._timed(self._resolve)
        self._say_one()
        resolved = self._timed(self._resolve)
        self._stand_at(self._changes)
        projected = self._timed(self._project)
        return _Figures(folded / (3 * self._changes) * 1e6, indexed / (2 * self._changes) * 1e6, refolded, resolved, projected)

    def _timed(self, work: Callable[[Partition], None]) -> float:
        """Seconds, with everything opened anew as in a process that starts."""
        installation = Installation(self._site.servers)
        try:
            return timed(lambda: work(installation.partition(0)))
        finally:
            installation.close()

    def _say_one(self) -> None:
        """One more turn that is observed and waits to be decided."""
        said = self._site.end(DYNAMICS)
        write_nothing_decided(self._site.installation, 1, start=said, heads=self._heads, decided=False)

    def _resolve(self, partition: Partition) -> None:
        core = ResolveCore(partition, self._site.installation.policy)
        wanted = self._site.end(DYNAMICS)
        while self._site.end(CHANGES) < wanted:
            core.step(0.1)

    def _project(self, partition: Partition) -> None:
        core = ProjectCore(partition)
        wanted = self._site.end(CHANGES)
        while core.position < wanted:
            core.step(0.1)

    def _stand_at(self, changes: int) -> None:
        """As if everything up to there were in the tables: a projector that starts looks at the cursor and the heads."""
        store = self._site.installation.partition(0).store
        with store.writing() as (connection, current):
            heads = {f"{TENANT}/{subject}": head for subject, head in self._heads.items()}
            ids = store.scope_ids(connection, list(heads))
            connection.execute(current.heads.insert(), [{"scope_id": ids[key], "head": head} for key, head in heads.items()])
        Projector(store).apply([], states={}, next_changes=changes, applied_input=changes)
