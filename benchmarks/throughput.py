"""How many turns a second each kind of worker gets through alone, from a backlog, and all of them together, as processes.

The rate of one alone is taken between a tenth of the backlog and its end, so that neither the start of a process nor the
joining of its group counts; workers that are up already are timed from the first turn that is published. The processor time is
that of the same stretch.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import sqlalchemy as sa
from aiokafka import AIOKafkaProducer
from bench import Row, event_of
from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import TopicPartition
from serving import HERE, Program, Site, until, worker
from turns import made_turns

from mnemolog.adapters.kafka.client import Outgoing
from mnemolog.projections.tables import store_meta
from mnemolog.projections.weeks import count_due
from mnemolog.schemas.envelope import Envelope, headers_of
from mnemolog.schemas.events import CHANGES, DYNAMICS, INBOX, OBSERVATIONS

__all__ = ["backlog", "bench_throughput", "drained"]

PARTITIONS = 2
SUBJECTS = 50


class Rate(NamedTuple):
    """`speed`: turns a second; `cpu`: milliseconds of processor time for each."""

    speed: float
    cpu: float


def bench_throughput(kafka: str, database: str, *, turns: int) -> Iterator[Row]:
    """Each kind alone on what the ones before it left, then all together, without and with vectors."""
    with Site(kafka, database, partitions=PARTITIONS) as site:
        backlog(site, 0, turns)
        stages: list[tuple[str, tuple[str, ...], Callable[[], int]]] = [
            ("ingest", (), lambda: site.end(DYNAMICS)),
            ("extract", (), lambda: site.end(OBSERVATIONS)),
            ("resolve", (), lambda: site.end(CHANGES)),
            ("project", ("--no-vectors",), site.applied),
            ("project", (), lambda: indexed(site)),
        ]
        for kind, options, progress in stages:
            name = f"{kind}, alone" if kind != "project" else "project, alone, rows" if options else "vectors, alone"
            floor = bare(site, turns, 1) if kind in ("ingest", "extract", "resolve") else None
            with worker(site.servers, kind, *options) as program:
                rate = drained(program, progress, turns, name)
            yield _row(name, rate, floor, "floor: a bare hop" if floor else "")
        due = sum(count_due(site.installation.partition(number).store) for number in range(PARTITIONS))
        if due:
            with worker(site.servers, "summarise") as program:
                program.wait()
                started = time.perf_counter()
                until(lambda: site.end("memory.summaries.v1") >= due, "weeks are summarised")
            yield Row("summarise, alone", due / (time.perf_counter() - started), "weeks/s", note=f"{due} weeks")
    for name, options in (("all, without vectors", ("--no-vectors",)), ("all, with vectors", ())):
        with Site(kafka, database, partitions=PARTITIONS) as site:
            rate = together(site, turns, 1, *options)
            floor = bare(site, turns, 3) if options else None
        yield _row(name, rate, floor, "floor: three bare hops" if floor else "")


def _row(name: str, rate: Rate, floor: Rate | None, note: str) -> Row:
    cpu = f"{rate.cpu:.2f} ms CPU a turn" + (f" (floor {floor.cpu:.2f})" if floor else "")
    return Row(name, rate.speed, "turns/s", floor.speed if floor else None, note=f"{cpu}; {note}".rstrip("; "))


def together(site: Site, turns: int, workers: int, *options: str) -> Rate:
    """So many `all` workers that are up already, on a backlog that is published at once."""
    programs = [worker(site.servers, "all", *options) for _ in range(workers)]
    try:
        for program in programs:
            program.wait()
        warm = 20 * PARTITIONS
        backlog(site, 0, warm)
        until(lambda: site.applied() >= warm, "the first turns are visible")
        done = site.applied if options else partial(indexed, site)
        at, used = time.perf_counter(), _cpu(programs)
        backlog(site, warm, turns)
        until(lambda: _cpu(programs) > 0 and done() >= warm + turns, "all turns are visible")
        return Rate(turns / (time.perf_counter() - at), (_cpu(programs) - used) / turns * 1e3)
    finally:
        for program in programs:
            program.stop()


def backlog(site: Site, first: int, count: int) -> None:
    """Publishes made turns, from number `first` on, to the inbox."""
    events: list[Envelope] = []
    for index, turn in enumerate(made_turns(first + count, subjects=SUBJECTS)):
        if index >= first:
            events.append(event_of(turn, index))
    for start in range(0, count, 500):
        part = events[start : start + 500]
        site.installation.client.send_by_scope(
            INBOX, [Outgoing(str(event.scope), event.to_bytes(), event.time, headers_of(event)) for event in part]
        )


def indexed(site: Site) -> int:
    """Inputs behind which every turn that gets a vector has one, over all partitions."""
    done = 0
    for number in range(PARTITIONS):
        store = site.installation.partition(number).store
        with store.reading() as (connection, t):
            noted = connection.execute(sa.select(store_meta.c.value).where(store_meta.c.name.startswith("vectors:"))).scalar()
            wanted = sa.select(sa.func.max(t.turns.c.position)).where(t.turns.c.hidden == 0, t.turns.c.folded == 0)
            last = connection.execute(wanted).scalar()
            stands = int(noted or 0)
            done += stands if last is None or stands <= last else store.read_offsets(connection, t)["dynamics"]
    return done


def _cpu(programs: Sequence[Program]) -> float:
    return sum(program.cpu() for program in programs)


def drained(program: Program, progress: Callable[[], int], count: int, what: str) -> Rate:
    """The rate at which a worker that is starting gets through `count` turns."""
    return _rate([program], progress, 0, count, what)


def _rate(programs: Sequence[Program], progress: Callable[[], int], start: int, end: int, what: str) -> Rate:
    began = start + (end - start) // 10
    first, at, used = start, time.perf_counter(), 0.0

    def under_way() -> bool:
        """The last look before a tenth is done is what the rate counts from."""
        nonlocal first, at, used
        moment, cpu, done = time.perf_counter(), _cpu(programs), progress()
        if done <= began:
            first, at, used = done, moment, cpu
        return done > began

    until(under_way, f"{what} begins")
    until(lambda: _cpu(programs) > 0 and progress() >= end, f"{what} is done")
    took, used = time.perf_counter() - at, _cpu(programs) - used
    return Rate((end - first) / took, used / (end - first) * 1e3)


def bare(site: Site, count: int, hops: int) -> Rate:
    """What lies in the inbox, through so many bare hops in one process."""
    topics = [f"{site.servers.prefix}bare-{secrets.token_hex(3)}-{number}" for number in range(hops + 1)]
    site.make_topics(topics)
    asyncio.run(_fill(site, topics[0]))
    arguments = ["--kafka", site.servers.kafka, "--topics", *topics, "--group", topics[0]]
    consumer = KafkaConsumer({"bootstrap.servers": site.servers.kafka, "group.id": topics[-1]})

    def arrived() -> int:
        places = [TopicPartition(topics[-1], number) for number in range(PARTITIONS)]
        return sum(consumer.get_watermark_offsets(place, timeout=10)[1] for place in places)

    try:
        with Program([str(HERE / "chain.py"), *arguments]) as program:
            return _rate([program], arrived, 0, count, f"{hops} bare hops")
    finally:
        consumer.close()


async def _fill(site: Site, topic: str) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=site.servers.kafka, acks="all", enable_idempotence=True)
    await producer.start()
    try:
        for number in range(PARTITIONS):
            log = site.installation.partition(number).log
            sent = [await producer.send(topic, record.value, record.scope.encode(), number) for record in log.read(INBOX)]
            await asyncio.gather(*sent)
    finally:
        await producer.stop()
