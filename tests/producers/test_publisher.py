"""Publishing from an agent: a result for each turn, in time, in order, in bounded memory, whatever the broker does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import OutOfOrderSequenceNumber

from mnemolog.adapters.kafka.client import KafkaClient, partition_of
from mnemolog.processors.core.ports import Stored
from mnemolog.producers.publisher import Published, TurnPublisher
from mnemolog.schemas.envelope import Envelope, headers_of
from mnemolog.schemas.errors import Closed, InvalidInput, LogError, Misconfigured, Unavailable
from mnemolog.schemas.events import INBOX, decode, make
from mnemolog.schemas.inputs import RetractionRequested, Turn
from mnemolog.schemas.observations import Observation
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.tokens import InboxToken, parse_token
from mnemolog.settings import Servers
from support.events import SCOPE, START, turns
from support.services import Services

PARTITIONS = 3


@pytest.fixture
def client(services: Services, prefix: str) -> Iterator[KafkaClient]:
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=PARTITIONS)
    with closing(KafkaClient(servers)) as client:
        yield client


@pytest.fixture
def publish(services: Services, prefix: str, client: KafkaClient) -> Callable[..., TurnPublisher]:
    def make_one(**settings: Any) -> TurnPublisher:
        return TurnPublisher(services.kafka, tenant="acme", prefix=prefix, **settings)

    return make_one


def inbox(client: KafkaClient) -> list[Stored]:
    found: list[Stored] = []
    for partition in range(PARTITIONS):
        at, end = 0, client.end(INBOX, partition)
        while at < end:
            records, at = client.fetch(INBOX, partition, at, 1000, 1.0)
            found += records
    return found


def said(client: KafkaClient) -> list[str]:
    return [Envelope.from_bytes(record.value).data["content"] for record in inbox(client)]


def test_a_turn_lies_where_its_result_says_with_all_that_was_said_of_it(
    client: KafkaClient, publish: Callable[..., TurnPublisher]
) -> None:
    async def run() -> Published:
        async with publish() as publisher:
            return await publisher.publish(
                "I prefer oat milk.", user_id=42, run_id="s1", agent_id="shop", speaker="Ann", occurred_at=START,
                id="m1", source="order-service", metadata={"page": 3}, importance=0.5, expires_at="2027-01-01",
            )  # fmt: skip

    done = asyncio.run(run())
    scope = Scope("acme", "user:42")
    assert (done.id, done.partition, done.offset) == ("m1", partition_of(str(scope), PARTITIONS), 0)
    assert parse_token(done.token) == InboxToken(scope, "order-service", "m1")
    [record] = inbox(client)
    event, data = decode(record.value)
    assert (record.partition, record.scope, event.source, event.time) == (done.partition, str(scope), "order-service", START)
    assert data == Turn(
        content="I prefer oat milk.", session="s1", agent="shop", speaker="Ann", occurred_at=START,
        metadata={"page": 3}, importance=0.5, expires_at="2027-01-01T00:00:00.000000Z",
    )  # fmt: skip
    assert dict(headers_of(event))["ce_id"] == b"m1"


def test_each_turn_has_its_own_result_and_a_scope_its_order(client: KafkaClient, publish: Callable[..., TurnPublisher]) -> None:
    async def run() -> list[Published]:
        async with publish(buffer=40) as publisher:
            results = [await publisher.send(f"{n}", user_id=n % 7, id=f"t{n}") for n in range(500)]
            return [await result for result in results]

    done = asyncio.run(run())
    assert [item.id for item in done] == [f"t{n}" for n in range(500)]
    lying = {(record.partition, record.offset): record for record in inbox(client)}
    assert len(lying) == 500
    for number, item in enumerate(done):
        record = lying[item.partition, item.offset]
        assert (record.scope, Envelope.from_bytes(record.value).id) == (f"acme/user:{number % 7}", f"t{number}")
    for user in range(7):
        offsets = [item.offset for number, item in enumerate(done) if number % 7 == user]
        assert offsets == sorted(offsets)


def test_many_tasks_publish_and_close_flushes(client: KafkaClient, publish: Callable[..., TurnPublisher]) -> None:
    async def run() -> None:
        publisher = publish(buffer=10, linger=0.01)
        await publisher.start()
        tasks = [asyncio.create_task(publisher.send(f"{n}", user_id=1)) for n in range(100)]
        while not any(task.done() for task in tasks):
            await asyncio.sleep(0)
        await publisher.close()  # while most of them wait for a place in the buffer
        assert len(said(client)) == 100
        assert [(await task).done() for task in tasks] == [True] * 100
        with pytest.raises(Closed):
            await publisher.publish("late", user_id=1)
        await publisher.close()

    asyncio.run(run())
    assert sorted(said(client), key=int) == said(client)


def test_messages_and_commands(client: KafkaClient, publish: Callable[..., TurnPublisher]) -> None:
    async def run() -> tuple[list[Published], list[Published]]:
        async with publish() as publisher:
            messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
            first = await publisher.publish_all(messages, subject="user:1", id="m")
            data = RetractionRequested(target="turn", target_id="m:0")
            command = make(data, scope=SCOPE, event_id="c", time=START)
            return first, await publisher.publish_envelopes([command, *turns(2)])

    messages, commands = asyncio.run(run())
    assert [item.id for item in messages + commands] == ["m:0", "m:1", "c", "turn-0", "turn-1"]
    kinds = [Envelope.from_bytes(record.value).type for record in inbox(client)]
    assert kinds == ["turn.recorded"] * 2 + ["retraction.requested"] + ["turn.recorded"] * 2


def test_what_cannot_be_a_turn_is_refused_by_name_and_the_next_one_goes(
    client: KafkaClient, publish: Callable[..., TurnPublisher]
) -> None:
    async def run() -> None:
        async with publish() as publisher:
            for field, given in {
                "content": publisher.publish("  ", user_id=1),
                "subject": publisher.publish("x"),
                "session": publisher.publish("x", user_id=1, session="a", run_id="b"),
                "message": publisher.publish([{"content": "x"}], user_id=1),  # type: ignore[arg-type]
                "type": publisher.publish_envelopes(
                    [make(Observation(input_id="a", input_type="b", extractor="c"), scope=SCOPE, event_id="o", time=START)]
                ),
            }.items():
                with pytest.raises(InvalidInput) as caught:
                    await given
                assert caught.value.field == field
            with pytest.raises(TypeError, match="has no 'usr'"):
                await publisher.publish("x", usr=1)  # type: ignore[call-arg]
            huge = Envelope(
                id="a", type="turn.recorded", tenant="acme", subject="user:1", time=START,
                dataschema="urn:mnemolog:turn.recorded:2", data={"content": "x" * (17 * 1024 * 1024)},
            )  # fmt: skip
            with pytest.raises(InvalidInput, match="too large"):
                await publisher.publish_envelopes([*turns(1), huge])
            await publisher.publish("goes on", user_id=1)

    asyncio.run(run())
    assert said(client) == ["this is turn-0", "goes on"]
    for settings in ({"buffer": 0}, {"timeout": 0}, {"linger": -1}):
        with pytest.raises(InvalidInput):
            TurnPublisher("127.0.0.1:1", **settings)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="tenant"):
        TurnPublisher("127.0.0.1:1", tenant="a/b")


def test_an_inbox_that_is_not_there_is_not_made(services: Services, prefix: str) -> None:
    async def run() -> None:
        async with TurnPublisher(services.kafka, prefix=f"{prefix}none_", timeout=20):
            raise AssertionError("there is no such inbox")

    with pytest.raises(Misconfigured, match=f"no topic {prefix}none_memory.inbox.v1"):
        asyncio.run(run())
    with closing(KafkaClient(Servers(kafka=services.kafka, database=services.database, prefix=f"{prefix}none_"))) as client:
        assert client.partitions == 4, "made with its own settings, not by the broker's defaults"


class Broker:
    """How the broker takes what is produced: while `takes` is not set, it does not answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.takes = asyncio.Event()
        self.takes.set()
        self.asked = asyncio.Event()
        send = AIOKafkaClient.send

        async def held(client: AIOKafkaClient, node: int, request: Any, **rest: Any) -> Any:
            if type(request).__name__.startswith("Produce"):
                self.asked.set()
                await self.takes.wait()
            return await send(client, node, request, **rest)

        monkeypatch.setattr(AIOKafkaClient, "send", held)


def test_who_publishes_faster_than_the_broker_takes_it_waits(
    client: KafkaClient, publish: Callable[..., TurnPublisher], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        broker = Broker(monkeypatch)
        async with publish(buffer=4) as publisher:
            broker.takes.clear()
            first = [await publisher.send(f"{n}", user_id=1) for n in range(2)]
            large = await publisher.send("x" * 30_000, user_id=1)  # takes two places
            more = asyncio.create_task(publisher.send("waits", user_id=1))
            await broker.asked.wait()
            for _ in range(100):
                await asyncio.sleep(0)
            assert not more.done()
            assert not any(result.done() for result in first)
            broker.takes.set()
            await (await more)
            assert [(await result).offset for result in (*first, large)] == [0, 1, 2]
            # A turn larger than the whole buffer goes alone.
            assert (await publisher.publish("y" * 200_000, user_id=1)).offset == 4

    asyncio.run(run())
    assert [len(text) for text in said(client)] == [1, 1, 30_000, 5, 200_000]


def test_a_broker_that_stops_answering_fails_each_turn_in_time_and_a_retry_is_the_same(
    client: KafkaClient, publish: Callable[..., TurnPublisher], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a turn that says no time: it happened when it was first tried."""

    async def run() -> None:
        broker = Broker(monkeypatch)
        loop = asyncio.get_running_loop()
        async with publish(timeout=4.0, buffer=3) as publisher:
            await publisher.publish("before", user_id=1)
            broker.takes.clear()
            begun = loop.time()
            tries = [asyncio.create_task(publisher.publish("hello", user_id=n, id=f"m{n}")) for n in range(6)]
            errors = await asyncio.gather(*tries, return_exceptions=True)
            assert loop.time() - begun < 60
            assert [type(error) for error in errors] == [Unavailable] * 6
            assert "publish it again with the same id" in str(errors[0])
            broker.takes.set()
            for n in range(6):
                await publisher.publish("hello", user_id=n, id=f"m{n}")

    asyncio.run(run())
    hashes: dict[str, set[str]] = {}
    for record in inbox(client):
        event = Envelope.from_bytes(record.value)
        hashes.setdefault(event.id, set()).add(event.content_hash)
    del hashes[next(name for name in hashes if not name.startswith("m"))]
    assert sorted(hashes) == [f"m{n}" for n in range(6)]
    assert all(len(contents) == 1 for contents in hashes.values())


def test_an_await_that_is_cancelled_leaves_nothing_behind(
    client: KafkaClient, publish: Callable[..., TurnPublisher], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        broker = Broker(monkeypatch)
        async with publish(buffer=2) as publisher:
            broker.takes.clear()
            under_way = [asyncio.create_task(publisher.publish(f"sent {n}", user_id=1)) for n in range(2)]
            waiting = [asyncio.create_task(publisher.publish("never sent", user_id=1)) for _ in range(3)]
            several = asyncio.create_task(publisher.publish_all([{"role": "user", "content": "never sent"}] * 3, user_id=1))
            await broker.asked.wait()
            tasks: list[asyncio.Task[Any]] = [*under_way, *waiting, several]
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(error) for error in ended] == [asyncio.CancelledError] * 6
            broker.takes.set()
            results = [await publisher.send(f"after {n}", user_id=1) for n in range(10)]
            await publisher.flush()
            assert [result.result().offset for result in results] == list(range(2, 12))

    asyncio.run(run())
    assert said(client) == ["sent 0", "sent 1", *(f"after {n}" for n in range(10))]


def test_a_producer_that_the_broker_refuses_is_replaced(
    client: KafkaClient, publish: Callable[..., TurnPublisher], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with publish() as publisher:
            await publisher.publish("before", user_id=1)
            with monkeypatch.context() as patch:

                async def refuse(*_: object, **__: object) -> None:
                    raise OutOfOrderSequenceNumber

                patch.setattr(AIOKafkaProducer, "send", refuse)
                with pytest.raises(LogError, match="OutOfOrderSequenceNumber"):
                    await publisher.publish("refused", user_id=1)
            await publisher.publish("after", user_id=1)

    asyncio.run(run())
    assert said(client) == ["before", "after"]


@asynccontextmanager
async def serving(handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[str]:
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes what comes and never answers."""
    while await reader.read(65536):
        pass
    writer.close()


def test_a_broker_that_is_not_there_or_does_not_answer_is_unavailable_in_time() -> None:
    async def run() -> None:
        with pytest.raises(Unavailable, match=r"no Kafka broker answers at 127\.0\.0\.1:1"):
            await TurnPublisher("127.0.0.1:1", timeout=5).start()
        async with serving(silent) as address:
            publisher = TurnPublisher(address, timeout=0.5)
            with pytest.raises(Unavailable):
                await publisher.publish("x", user_id=1)
            await publisher.close()

    asyncio.run(asyncio.wait_for(run(), 60))
