"""A topic on Kafka cannot be edited in place; who can write to the broker puts doctored copies in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from mnemolog.adapters.kafka.client import KafkaClient, Outgoing
from mnemolog.adapters.kafka.log import PartitionLog, identity
from mnemolog.processors.core.ports import Stored
from mnemolog.projections.log_index import SqlLogIndex
from mnemolog.projections.store import Store
from mnemolog.replay.seal_chain import SEALED
from mnemolog.replay.seal_check import check_log
from mnemolog.replay.seal_make import seal_log
from mnemolog.replay.seal_store import SealStore
from mnemolog.schemas.errors import LogError
from mnemolog.schemas.events import CHANGES, DEAD_LETTERS, DYNAMICS, OBSERVATIONS, SUMMARIES
from mnemolog.settings import Servers
from replay.sealed import NOW
from support.events import START, decision, observation, turns
from support.services import Services

COUNT = 9


def client_of(services: Services, prefix: str) -> KafkaClient:
    return KafkaClient(Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=1))


def index_of(client: KafkaClient, log_id: str) -> SqlLogIndex:
    return SqlLogIndex(client.servers.database, log_id=log_id, schema=client.servers.schema(0, "log"))


@pytest.fixture
def client(services: Services, prefix: str) -> Iterator[KafkaClient]:
    with closing(client_of(services, prefix)) as client:
        yield client


@pytest.fixture
def log(client: KafkaClient) -> Iterator[PartitionLog]:
    """One with records on every sealed topic, sealed."""
    who = identity(client)
    with closing(PartitionLog(client, 0, index_of(client, who.log_id), who)) as log:
        inputs = turns(COUNT)
        log.append_inputs(inputs)
        log.append_derived(OBSERVATIONS, [observation(event) for event in inputs])
        head = ""
        for event in inputs:
            [head] = log.append_decisions([decision(event, head)])
        for topic in (SUMMARIES, DEAD_LETTERS):  # nobody has to be able to read them
            client.send(topic, 0, [Outgoing("acme/user:1", f"{topic} {number}".encode(), START, ()) for number in range(COUNT)])
        yield log


def altered(records: list[Stored], at: int) -> list[Stored]:
    old = records[at]
    return [*records[:at], Stored(old.topic, 0, at, old.scope, old.value + b" ", old.recorded), *records[at + 1 :]]


def deleted(records: list[Stored], at: int) -> list[Stored]:
    return [*records[:at], *records[at + 1 :]]


def inserted(records: list[Stored], at: int) -> list[Stored]:
    return [*records[:at], Stored(records[at].topic, 0, at, "acme/user:1", b"{}", START), *records[at:]]


def swapped(records: list[Stored], at: int) -> list[Stored]:
    one, two = (at, at + 1) if at + 1 < len(records) else (at - 1, at)
    return [*records[:one], records[two], records[one], *records[two + 1 :]]


def cut(records: list[Stored], at: int) -> list[Stored]:
    return records[:at]


DOCTORS: dict[str, list[Callable[[list[Stored], int], list[Stored]]]] = {
    "altered": [altered],
    "deleted": [deleted, cut],
    "inserted": [inserted],
    "reordered": [swapped],
}


def test_the_chain_of_a_partition(services: Services, log: PartitionLog, client: KafkaClient, prefix: str) -> None:
    """Each tampering in another copy, where every topic is doctored at another place: first, middle, last."""
    with (
        Store(client.servers.database, schema=client.servers.schema(0), log_id=log.log_id) as store,
        SealStore.beside(log, store) as seals,
    ):
        assert sum(item.sealed for item in seal_log(log, seals, 0, lambda: NOW, block=4)) == COUNT * len(SEALED)
        found = check_log(log, seals, 0)
        assert (found.intact, found.checked, found.unsealed) == (True, COUNT * len(SEALED), 0)
        original = {topic: list(log.read(topic)) for topic in SEALED}
        places = {topic: (0, COUNT // 2, COUNT - 1)[number % 3] for number, topic in enumerate(SEALED)}
        copies = [(kind, doctor) for kind, doctors in DOCTORS.items() for doctor in doctors]
        for number, (kind, doctor) in enumerate([("", lambda records, at: records), *copies]):
            with closing(client_of(services, f"{prefix}c{number}_")) as other:
                for topic in SEALED:
                    records = doctor(original[topic], places[topic])
                    other.send(topic, 0, [Outgoing(item.scope, item.value, item.recorded, ()) for item in records])
                index = index_of(client, log.log_id)
                with closing(PartitionLog(other, 0, index, identity(client))) as copy:
                    found = check_log(copy, seals, 0)
                    if kind != "deleted":
                        seal_log(copy, seals, 0, lambda: NOW) if not kind else None
                    else:
                        with pytest.raises(LogError, match="deleted"):
                            seal_log(copy, seals, 0, lambda: NOW)
            named = {item.topic: (item.kind, item.offset) for item in found.breaks}
            first = {topic: min(at, COUNT - 2) if kind == "reordered" else at for topic, at in places.items()}
            assert named == ({topic: (kind, first[topic]) for topic in SEALED} if kind else {}), (kind, found.breaks)
            assert all(item.scope == "acme/user:1" for item in found.breaks)
            if kind in ("altered", "deleted"):
                told = {item.topic: item.event_id for item in found.breaks}
                assert told[DYNAMICS] == "turn-0"
                assert bool(told[CHANGES]) == (kind == "altered")
