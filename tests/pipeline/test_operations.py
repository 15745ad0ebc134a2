"""What an operator sees: what lags and does not move, and that every record is accounted for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemolog.adapters.kafka.client import Outgoing
from mnemolog.adapters.kafka.log import headers_of
from mnemolog.processors.core.extract import OfflineExtractor
from mnemolog.processors.pipeline.ingest import Counts
from mnemolog.processors.pipeline.installation import Installation, Partition
from mnemolog.processors.pipeline.operations import LagReport, lag, stages, topics
from mnemolog.processors.pipeline.reconcile import PartitionSum, reconcile
from mnemolog.processors.pipeline.worker import KINDS, core_of
from mnemolog.projections.resolver_state import Progress, ResolverState
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import CHANGES, DYNAMICS, INBOX
from mnemolog.settings import Servers
from support.events import OTHER, SCOPE, START, turn, turns
from support.services import Services


@pytest.fixture
def installation(services: Services, prefix: str) -> Iterator[Installation]:
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=1)
    opened = Installation(servers)
    yield opened
    opened.close()


def send(installation: Installation, *events: Envelope, topic: str = INBOX) -> None:
    records = [Outgoing(str(event.scope), event.to_bytes(), START, headers_of(event)) for event in events]
    installation.client.send_by_scope(topic, records)


def work(installation: Installation, *kinds: str) -> None:
    """Each kind in turn, until it finds nothing to do several times in a row: what it looks up it may get at the next step."""
    for kind in kinds:
        core = core_of(kind, installation, OfflineExtractor(installation.registry), None)(0)
        idle = 0
        while idle < 3:
            idle = 0 if core.step(0.2) else idle + 1


def behind(report: LagReport) -> dict[str, int]:
    return {item.stage: item.behind for item in report.stages if item.behind}


def test_lag_is_told_by_stage_and_who_does_not_move(installation: Installation) -> None:
    assert behind(lag(installation)) == {}
    send(installation, *turns(3))
    slept: list[float] = []
    report = lag(installation, watch=7.0, sleep=slept.append)
    assert behind(report) == {"ingest": 3}
    assert slept == [7.0]
    assert [(item.stage, item.oldest[:4], item.age > 0) for item in report.stuck] == [("ingest", "2026", True)]
    for kind, left in zip(KINDS, ({"extract": 3}, {"resolve": 3}, {"project": 3}, {}, {}), strict=True):
        work(installation, kind)
        assert behind(lag(installation, watch=0.0)) == left, kind
    assert lag(installation).watched == 0.0


def test_what_moves_is_not_stuck(installation: Installation) -> None:
    send(installation, *turns(3))
    work(installation, "ingest")

    def meanwhile(_: float) -> None:
        work(installation, "extract")
        send(installation, *turns(2, prefix="more"))
        work(installation, "ingest")

    report = lag(installation, sleep=meanwhile)
    assert behind(report) == {"extract": 2, "resolve": 3}
    assert report.stuck == []


def test_what_needs_no_work_does_not_wait_for_it(installation: Installation) -> None:
    """A repetition and bytes that cannot be read leave no observation, however long one waits."""
    send(installation, *turns(2))
    work(installation, *KINDS)
    send(installation, *turns(2), topic=DYNAMICS)
    installation.client.send_by_scope(DYNAMICS, [Outgoing(str(OTHER), b"\xff", START)])
    work(installation, *KINDS)
    assert [item.stage for item in stages(installation.partition(0)) if item.behind] == []


def test_the_topics_are_shown_with_their_ends(installation: Installation) -> None:
    send(installation, *turns(2))
    found = {item.name: item for item in topics(installation)}
    prefix = installation.servers.prefix
    inbox, dynamics = found[f"{prefix}memory.inbox.v1"], found[f"{prefix}memory.dynamics.v1"]
    assert (inbox.ends, inbox.retention, dynamics.ends, dynamics.retention) == ([2], 7.0, [0], None)
    assert found[f"{prefix}memory.log.v1"].partitions == 1


def test_every_record_is_accounted_for(installation: Installation) -> None:
    send(installation, turn("a"), turn("a"), turn("b", scope=OTHER), turn("a", "other content"))
    installation.client.send_by_scope(INBOX, [Outgoing(str(SCOPE), b"no event", START)])
    work(installation, *KINDS)
    send(installation, turn("a"), topic=DYNAMICS)  # a stranger's
    installation.client.send_by_scope(DYNAMICS, [Outgoing(str(OTHER), b"\xff", START)])
    work(installation, *KINDS)
    send(installation, turn("c"), turn("d", scope=OTHER))
    work(installation, "ingest")
    send(installation, turn("e"))
    [found] = reconcile(installation)
    assert found == PartitionSum(
        partition=0,
        dynamics=6,
        decided=2,
        repeated=1,
        parked=2,
        waiting=1,
        difference=0,
        inbox=Counts(inbox=8, appended=4, seen_again=1, dead_lettered=2, waiting=1),
        inbox_difference=0,
    )
    assert found.holds
    work(installation, *KINDS)
    [found] = reconcile(installation)
    assert (found.decided, found.parked, found.waiting, found.holds) == (4, 2, 0, True)


def test_a_lost_input_shows(installation: Installation) -> None:
    send(installation, *turns(3))
    work(installation, *KINDS)
    send(installation, turn("lost"))
    work(installation, "ingest")
    partition: Partition = installation.partition(0)
    state = ResolverState(partition.state)
    before = state.progress()
    passed = Progress(before.next_changes, partition.log.end(DYNAMICS), before.next_observations)
    assert state.write({}, {}, before=before, after=passed)
    [found] = reconcile(installation)
    assert (found.difference, found.holds) == (1, False)
    assert partition.log.end(CHANGES) == 3
