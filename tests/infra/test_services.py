"""The servers of a test run: they answer, they keep data over kill -9 and a restart, and they leave nothing behind."""

from __future__ import annotations

import asyncio

import psycopg
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from support.services import Services


def plain(url: str) -> str:
    return url.replace("+psycopg", "", 1)


async def produce(bootstrap: str, topic: str, values: list[bytes]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])
    await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, acks="all") as producer:
        for value in values:
            await producer.send_and_wait(topic, value)


async def consume(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False
    ) as consumer:
        return [(await consumer.getone()).value for _ in range(count)]


def test_the_servers_of_the_run_answer(services: Services, prefix: str) -> None:
    topic = f"{prefix}greetings"
    asyncio.run(produce(services.kafka, topic, [b"one", b"two"]))
    assert asyncio.run(asyncio.wait_for(consume(services.kafka, topic, 2), 30)) == [b"one", b"two"]
    with psycopg.connect(plain(services.database)) as link:
        encoding, collation = link.execute(
            "SELECT pg_encoding_to_char(encoding), datlocale FROM pg_database WHERE datname = current_database()"
        ).fetchone() or (None, None)
        assert (encoding, collation) == ("UTF8", "C.UTF-8")
        link.execute(f"CREATE SCHEMA {prefix}one".encode())
