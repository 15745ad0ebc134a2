"""The log on Kafka does what every log does; and what only it can meet: strangers who write without the index's lock, an index
that is behind or gone, topics that are set up wrongly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from logs.contract import LogContract, ids
from mnemolog.adapters.kafka.client import KafkaClient, Outgoing, partition_of
from mnemolog.adapters.kafka.log import PartitionLog, headers_of, identity
from mnemolog.adapters.kafka.topics import IDENTITY, TOPIC_SETTINGS
from mnemolog.adapters.logs.plan import utc_now
from mnemolog.processors.core.ports import EventLog
from mnemolog.projections.log_index import SqlLogIndex
from mnemolog.schemas.codec import sha256_hex
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import (
    ConflictingContent,
    InvalidInput,
    LogError,
    Misconfigured,
    StaleDecision,
    Unavailable,
    UnknownLog,
)
from mnemolog.schemas.events import CHANGES, DYNAMICS, INBOX, make
from mnemolog.schemas.inputs import ErasureRequested, RetractionRequested
from mnemolog.schemas.times import to_text
from mnemolog.settings import Servers
from support.events import OTHER, SCOPE, START, ManualClock, decision, turn, turns
from support.services import Services


def servers(services: Services, prefix: str, partitions: int = 1) -> Servers:
    return Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=partitions)


def opened(client: KafkaClient, clock: Callable[[], object] | None = None, partition: int = 0) -> PartitionLog:
    who = identity(client)
    index = SqlLogIndex(client.servers.database, log_id=who.log_id, schema=client.servers.schema(partition, "log"))
    return PartitionLog(client, partition, index, who, clock=clock or ManualClock())  # type: ignore[arg-type]


def sent(client: KafkaClient, topic: str, event: Envelope, partition: int = 0) -> None:
    """What a writer does who knows nothing of the index."""
    client.send(topic, partition, [Outgoing(str(event.scope), event.to_bytes(), START, headers_of(event))])


class TestKafkaLogOverSqlite(LogContract):
    """The index in SQLite: quick, and every adapter's rules hold with any index."""

    @pytest.fixture(autouse=True)
    def _places(self, services: Services, prefix: str, tmp_path: Path) -> Iterator[None]:
        self._services, self._prefix, self._folder = services, prefix, tmp_path
        self._clients: list[KafkaClient] = []
        yield
        for client in self._clients:
            client.close()

    def make_log(self, clock: ManualClock) -> EventLog:
        client = KafkaClient(servers(self._services, f"{self._prefix}{len(self._clients)}"))
        self._clients.append(client)
        who = identity(client)
        return PartitionLog(client, 0, SqlLogIndex(self._folder / f"{who.log_id}.db", log_id=who.log_id), who, clock=clock)


class TestKafkaLog(TestKafkaLogOverSqlite):
    """As it is deployed: the index in PostgreSQL."""

    def make_log(self, clock: ManualClock) -> EventLog:
        client = KafkaClient(servers(self._services, f"{self._prefix}{len(self._clients)}"))
        self._clients.append(client)
        return opened(client, clock)


@pytest.fixture
def client(services: Services, prefix: str) -> Iterator[KafkaClient]:
    with closing(KafkaClient(servers(services, prefix))) as client:
        yield client


@pytest.fixture
def log(client: KafkaClient) -> Iterator[PartitionLog]:
    with closing(opened(client)) as log:
        yield log


def test_of_an_id_that_strangers_wrote_the_first_counts(client: KafkaClient, log: PartitionLog) -> None:
    log.append_inputs([turn("a", "first")])
    sent(client, DYNAMICS, turn("a", "second"))
    sent(client, DYNAMICS, turn("b", "theirs"))
    [placed] = log.append_inputs([turn("b", "theirs")])
    assert (placed.fresh, placed.position.offset) == (False, 2)
    with pytest.raises(ConflictingContent):
        log.append_inputs([turn("a", "second")])
    assert log.position_of(SCOPE, "mnemolog", "a") == log.append_inputs([turn("a", "first")])[0].position
    assert ids(log.read(DYNAMICS)) == ["a", "a", "b"]


def test_a_decision_of_a_stranger_counts_if_it_links_and_ours_is_stale_then(client: KafkaClient, log: PartitionLog) -> None:
    a, b, c = turns(3)
    [head] = log.append_decisions([decision(a, "")])
    theirs = decision(b, head)
    sent(client, CHANGES, theirs)
    with pytest.raises(StaleDecision) as caught:
        log.append_decisions([decision(c, head)])
    assert caught.value.expected == log.head(SCOPE) == sha256_hex(theirs.to_bytes())
    sent(client, CHANGES, decision(c, "0" * 64))
    assert log.head(SCOPE) == sha256_hex(theirs.to_bytes())


def test_what_links_to_a_dead_writers_decision_is_stale_once_and_not_for_ever(client: KafkaClient, log: PartitionLog) -> None:
    """He died between his send and his commit: the index stands where this log left it, the topic does not."""
    a, b, c = turns(3)
    [(_, head)] = log.append_linked([decision(a, "")])
    theirs = decision(b, head)
    sent(client, CHANGES, theirs)
    ours = decision(c, sha256_hex(theirs.to_bytes()))
    with pytest.raises(StaleDecision):
        log.append_linked([ours])
    [(offset, digest)] = log.append_linked([ours])
    assert offset == 2
    assert log.head(SCOPE) == digest


def test_a_decision_that_a_stranger_overtakes_is_void(client: KafkaClient, log: PartitionLog) -> None:
    """Between the look at the head and the send: the lock was lost, the other writer never had it."""
    a, b = turns(2)
    theirs, send = decision(a, ""), client.send

    def overtaken(topic: str, partition: int, records: object) -> list[int]:
        client.send = send  # type: ignore[method-assign]
        sent(client, CHANGES, theirs)
        return send(topic, partition, records)  # type: ignore[arg-type]

    client.send = overtaken  # type: ignore[assignment, method-assign]
    with pytest.raises(StaleDecision):
        log.append_decisions([decision(b, "")])
    assert log.head(SCOPE) == sha256_hex(theirs.to_bytes())
    assert len(list(log.read(CHANGES))) == 2


def test_an_index_that_was_lost_is_folded_again_from_the_topics(client: KafkaClient, log: PartitionLog, tmp_path: Path) -> None:
    log.append_inputs(turns(1500))
    heads = log.append_decisions([decision(turn("a"), ""), decision(turn("b", scope=OTHER), "")])
    who = identity(client)
    with closing(PartitionLog(client, 0, SqlLogIndex(tmp_path / "new.db", log_id=who.log_id), who)) as again:
        assert again.position_of(SCOPE, "mnemolog", "turn-1234") == log.position_of(SCOPE, "mnemolog", "turn-1234")
        assert [again.head(SCOPE), again.head(OTHER)] == heads
        assert again.last_input(SCOPE) == 1499
        assert [item.fresh for item in again.append_inputs(turns(1500))] == [False] * 1500


def test_windows_are_told_from_the_index(log: PartitionLog) -> None:
    log.append_inputs(turns(5))
    scope = str(SCOPE)
    taken_back = make(RetractionRequested(target="turn", target_id="turn-2"), scope=SCOPE, event_id="r", time=START)
    log.append_inputs([taken_back, turn("later")])
    with log.index.reading() as view:
        assert view.session_turns(scope, "default", 4, 3, as_of=4) == [1, 2, 3]
        assert view.session_turns(scope, "default", 2, 3, as_of=2) == [0, 1]
        assert view.session_turns(scope, "other", 4, 3, as_of=4) == []
        assert view.session_turns(str(OTHER), "default", 4, 3, as_of=4) == []
        # What was taken back at offset 5 is there for the input at 5, and gone for those behind it.
        assert view.session_turns(scope, "default", 5, 3, as_of=5) == [2, 3, 4]
        assert view.session_turns(scope, "default", 6, 3, as_of=6) == [1, 3, 4]
        assert view.turn_at(scope, "turn-2", as_of=5) == 2
        assert view.turn_at(scope, "turn-2", as_of=6) is None
        assert view.turn_at(scope, "nobody", as_of=6) is None
    log.append_inputs([make(ErasureRequested(), scope=SCOPE, event_id="e", time=START)])
    with log.index.reading() as view:
        assert view.session_turns(scope, "default", 7, 3, as_of=7) == [3, 4, 6]
        assert view.session_turns(scope, "default", 8, 3, as_of=8) == []


def test_a_record_lies_where_any_client_would_put_it_and_is_a_cloud_event(services: Services, prefix: str) -> None:
    scopes = [f"acme/user:{number}" for number in range(40)] + ["租户/用户:1", "acme/é"]
    with closing(KafkaClient(servers(services, prefix, 5))) as client:
        # Values of the hash as Kafka's own clients compute it.
        known = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536}
        assert {text: partition_of(text, 1000) for text in known} == {
            text: (number & 0x7FFFFFFF) % 1000 for text, number in known.items()
        }
        for scope in scopes:
            tenant, _, subject = scope.partition("/")
            event = turn("a", scope=type(SCOPE)(tenant, subject))
            [(partition, offset)] = client.send_by_scope(INBOX, [Outgoing(scope, event.to_bytes(), START, headers_of(event))])
            records, _ = client.fetch(INBOX, partition, offset, 1, 5.0)
            assert [record.scope for record in records] == [scope]
        assert len({partition_of(scope, 5) for scope in scopes}) == 5
        assert dict(headers_of(turn("a")))["ce_type"] == b"turn.recorded"


def test_a_log_keeps_its_id_and_a_foreign_index_is_refused(services: Services, prefix: str, tmp_path: Path) -> None:
    with closing(KafkaClient(servers(services, prefix))) as client, closing(opened(client)) as log:
        first = log.log_id
    with closing(KafkaClient(servers(services, prefix))) as client:
        assert identity(client).log_id == first
        SqlLogIndex(tmp_path / "x.db", log_id="other").close()
        with pytest.raises(UnknownLog, match="belongs to log other"):
            SqlLogIndex(tmp_path / "x.db", log_id=first)


async def _make(bootstrap: str, topics: list[NewTopic]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics(topics)
        while not {topic.name for topic in topics} <= set(await admin.list_topics()):
            await asyncio.sleep(0.05)
    finally:
        await admin.close()


def test_topics_that_lose_or_mix_up_what_they_hold_are_refused_in_one_line(services: Services, prefix: str) -> None:
    wrong = {
        "a": ({"cleanup.policy": "compact"}, 2, "cleanup.policy=compact, it must be delete"),
        "b": ({"retention.ms": "604800000"}, 2, "retention.ms=604800000, it must be -1"),
        "c": ({"retention.ms": "-1"}, 3, "has 2 partitions, it must have 3"),
    }
    for letter, (configs, partitions, said) in wrong.items():
        given = servers(services, prefix + letter, 2)
        topics = [NewTopic(given.topic(DYNAMICS), partitions, 1, topic_configs=configs)]
        topics += [NewTopic(given.topic(INBOX), 2, 1)]
        asyncio.run(_make(services.kafka, topics))
        with pytest.raises(Misconfigured) as caught:
            KafkaClient(given)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)


def test_what_comes_in_is_kept_from_its_arrival_on_whatever_time_it_bears(client: KafkaClient) -> None:
    """The inbox is kept for a week; an agent that puts the time of an old conversation on its records loses none of them."""
    before = to_text(utc_now())
    client.send(INBOX, 0, [Outgoing(str(SCOPE), b"{}", "2024-03-04T09:00:00.000000Z")])
    consumed = client.fetch(INBOX, 0, 0, 1, 5.0)[0]
    assert client.offset_for(INBOX, 0, before) == 0
    assert [record.recorded >= before[:-4] for record in consumed] == [True]


def test_missing_topics_are_made_with_the_partitions_of_the_others(services: Services, prefix: str) -> None:
    given = servers(services, prefix, 2)
    asyncio.run(_make(services.kafka, [NewTopic(given.topic(DYNAMICS), 3, 1, topic_configs={"retention.ms": "-1"})]))
    with closing(KafkaClient(given)) as client:
        assert client.partitions == 3
    assert len(TOPIC_SETTINGS) == 8


def test_a_log_whose_partitions_were_added_to_is_refused(services: Services, prefix: str) -> None:
    with closing(KafkaClient(servers(services, prefix, 2))) as client:
        who = {"log_id": "x", "epoch": 1, "partitions": 1}
        client.send(IDENTITY, 0, [Outgoing("log", json.dumps(who).encode(), START)])
        with pytest.raises(LogError, match="made with 1 partitions and has 2 now"):
            identity(client)


def test_a_broker_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(Unavailable, match=r"no Kafka broker answers at 127\.0\.0\.1:1"):
        KafkaClient(Servers(kafka="127.0.0.1:1", database="postgresql+psycopg://nobody@127.0.0.1:1/none"))


def test_a_record_that_is_too_large_is_refused(log: PartitionLog) -> None:
    huge = Envelope(
        id="a", type="turn.recorded", tenant="acme", subject="user:1", time=START,
        dataschema="urn:mnemolog:turn.recorded:2", data={"content": "x" * (17 * 1024 * 1024)},
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="too large"):
        log.append_inputs([huge])
    assert list(log.read(DYNAMICS)) == []
    assert log.append_inputs([turn("a", "x")])[0].fresh
