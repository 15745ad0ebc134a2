"""From publishing a turn to its Forms being visible, at a steady rate, in slices that take turns with a bare chain of three
hops.

A turn counts as visible when the cursor of its partition, which is committed with the rows, is found behind the turn's own
place on dynamics; where that is, is read afterwards. It is timed from the moment when it was due to be published, not when
the publisher came to it.
"""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from bench import Row, event_of, percentile
from psycopg import sql
from serving import HERE, Program, Site, until, worker
from turns import made_turns

from mnemolog.producers.publisher import TurnPublisher
from mnemolog.projections.tables import tables
from mnemolog.schemas.envelope import Envelope

__all__ = ["bench_latency"]

PARTITIONS = 2
HOPS = 3
EVERY = 0.002
"""Seconds between two looks at the cursors."""
KINDS = ("ingest", "extract", "resolve", "project", "summarise")


WAYS: dict[str, tuple[str, ...]] = {
    "all in one process": ("all",),
    "all in a process per partition": ("all",) * PARTITIONS,
    "a process per kind": KINDS,
}


def bench_latency(
    kafka: str, database: str, *, rate: float, seconds: float, slices: int, ways: Sequence[str] = tuple(WAYS)
) -> Iterator[Row]:
    """`seconds` of turns at `rate` a second for each of the ways to run the workers, after a warm-up."""
    for name in ways:
        kinds = WAYS[name]
        with Site(kafka, database, partitions=PARTITIONS) as site, ExitStack() as stack:
            bare = _Chain(site)
            programs = [stack.enter_context(worker(site.servers, kind, *_options(kind))) for kind in kinds]
            programs += [stack.enter_context(program) for program in bare.programs(1 if len(kinds) == 1 else HOPS)]
            for program in programs:
                program.wait()
            ours, floor = asyncio.run(_measure(site, bare, rate, seconds, slices))
        load = f"{rate:g} turns/s"
        note = f"floor: {HOPS} bare hops"
        yield Row(f"publish to visible, {name}, p50", statistics.median(ours), "ms", statistics.median(floor), 40.0, note=note)
        yield Row(f"publish to visible, {name}, p95", percentile(ours, 0.95), "ms", percentile(floor, 0.95), note=load)
        yield Row(f"publish to visible, {name}, p99", percentile(ours, 0.99), "ms", percentile(floor, 0.99), 250.0, note=load)


def _options(kind: str) -> tuple[str, ...]:
    return ("--no-vectors",) if kind in ("all", "project") else ()


async def _measure(site: Site, bare: _Chain, rate: float, seconds: float, slices: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each turn, ours and the bare chain's."""
    each = max(int(rate * seconds / slices), 1)
    warm = max(each // 2, 2 * PARTITIONS)
    events = _events(2 * warm + 2 * each * slices)
    ours, floor = _Ours(site), bare
    await ours.start()
    await floor.start()
    try:
        taken = iter(events)
        sides: tuple[_Ours | _Chain, ...] = (ours, floor)
        for side in sides:
            await side.run([next(taken) for _ in range(warm)], rate)
        found: tuple[list[float], list[float]] = ([], [])
        for number in range(slices):
            pairs: list[tuple[_Ours | _Chain, list[float]]] = [(ours, found[0]), (floor, found[1])]
            for side, into in pairs if number % 2 == 0 else reversed(pairs):
                into += await side.run([next(taken) for _ in range(each)], rate)
    finally:
        await ours.close()
        await floor.close()
    return found


def _events(count: int) -> list[Envelope]:
    """Turns of 50 people who speak by turns, each in the order of time."""
    made = [event_of(turn, index) for index, turn in enumerate(made_turns(-(-count // 1000) * 1000, subjects=50))]
    blocks = [made[start : start + 1000] for start in range(0, len(made), 1000)]
    return [event for block in blocks for place in range(20) for event in block[place::20]][:count]


async def _at_rate(events: Sequence[Envelope], rate: float) -> AsyncIterator[tuple[Envelope, float]]:
    """Yields each event with the time that it is due at, then."""
    start = time.perf_counter()
    for number, event in enumerate(events):
        due = start + number / rate
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        yield event, due


class _Ours:
    """The pipeline, seen from a publisher and from a reader of the read models."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._publisher = TurnPublisher(site.servers.kafka, prefix=site.servers.prefix)

    async def start(self) -> None:
        await self._publisher.start()

    async def close(self) -> None:
        await self._publisher.close()

    async def run(self, events: Sequence[Envelope], rate: float) -> list[float]:
        before = self._site.applied()
        end = before + len(events)
        watch = _Watch(self._site) if before else None  # the tables come with the first rows
        due: dict[str, float] = {}
        sending: list[asyncio.Task[object]] = []
        async for event, at in _at_rate(events, rate):
            due[event.id] = at
            sending.append(asyncio.create_task(self._publisher.publish_envelopes([event])))
        await asyncio.gather(*sending)
        await asyncio.to_thread(until, lambda: self._site.applied() >= end, "what was published is visible")
        if watch is None:
            return []
        watch.stop()
        return [(watch.visible(*place) - due[name]) * 1e3 for name, place in self._places().items() if name in due]

    def _places(self) -> dict[str, tuple[int, int]]:
        """Partition and dynamics offset of every turn."""
        found: dict[str, tuple[int, int]] = {}
        with self._site.connect() as link:
            for number in range(PARTITIONS):
                name = sql.Identifier(self._site.servers.schema(number), tables(1).turns.name)
                for identifier, offset in link.execute(sql.SQL("SELECT event_id, position FROM {}").format(name)):
                    found[str(identifier)] = number, int(str(offset))
        return found


class _Watch:
    """Looks at the cursors all the time, and remembers when each was first seen where."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._seen: list[list[tuple[float, int]]] = [[] for _ in range(PARTITIONS)]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def visible(self, partition: int, offset: int) -> float:
        """When the input at that place was first seen to be in the tables."""
        return next(moment for moment, applied in self._seen[partition] if applied > offset)

    def _look(self) -> None:
        columns = sql.SQL(", ").join(
            sql.SQL("(SELECT value FROM {} WHERE name = 'dynamics')").format(
                sql.Identifier(self._site.servers.schema(number), tables(1).offsets.name)
            )
            for number in range(PARTITIONS)
        )
        query = sql.SQL("SELECT {}").format(columns)
        with self._site.connect() as link:
            while not self._ended.is_set():
                found = link.execute(query).fetchone()
                now = time.perf_counter()
                for seen, applied in zip(self._seen, found or (), strict=True):
                    stands = int(str(applied or 0))
                    if not seen or seen[-1][1] < stands:
                        seen.append((now, stands))
                time.sleep(EVERY)


class _Chain:
    """Topics of its own beside the installation's, and whoever publishes to the first and reads the last of them."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._topics = [f"{site.servers.prefix}bare-{number}" for number in range(HOPS + 1)]
        site.make_topics(self._topics)
        self._due: dict[bytes, float] = {}
        self._took: list[float] = []

    def programs(self, processes: int) -> list[Program]:
        """The hops, in one process or in one each."""
        kafka, group = self._site.servers.kafka, f"{self._site.servers.prefix}bare"
        common = [str(HERE / "chain.py"), "--kafka", kafka, "--group", group, "--topics", *self._topics]
        return [Program(common)] if processes == 1 else [Program([*common, "--hops", str(hop)]) for hop in range(HOPS)]

    async def start(self) -> None:
        self._producer = AIOKafkaProducer(bootstrap_servers=self._site.servers.kafka, acks="all", enable_idempotence=True)
        self._consumer = AIOKafkaConsumer(bootstrap_servers=self._site.servers.kafka, auto_offset_reset="earliest")
        self._consumer.assign([TopicPartition(self._topics[-1], number) for number in range(PARTITIONS)])
        await self._producer.start()
        await self._consumer.start()
        self._reading = asyncio.create_task(self._read())

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.wait({self._reading})
        await self._consumer.stop()
        await self._producer.stop()

    async def run(self, events: Sequence[Envelope], rate: float) -> list[float]:
        self._took.clear()
        sending = []
        async for event, at in _at_rate(events, rate):
            value = event.to_bytes()
            self._due[value] = at
            number = self._site.installation.number_of(event.scope)
            sending.append(await self._producer.send(self._topics[0], value, str(event.scope).encode(), number))
        await asyncio.gather(*sending)
        deadline = time.monotonic() + 60
        while len(self._took) < len(events):
            if time.monotonic() > deadline:
                raise TimeoutError("the bare chain stands still")
            await asyncio.sleep(0.01)
        return list(self._took)

    async def _read(self) -> None:
        async for record in self._consumer:
            self._took.append((time.perf_counter() - self._due.pop(record.value)) * 1e3)
