"""Reading three topics back from Kafka and folding them, beside a bare consumer that only decodes the same
records, in turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
from aiokafka import AIOKafkaConsumer, TopicPartition
from bench import Row, fold, timed
from copied import TRUTH, copy_turns
from serving import Site

from mnemolog.projections.projector import DecidedInput, Projector
from mnemolog.projections.reader import decided_inputs
from mnemolog.replay.rebuild import rebuild_one

__all__ = ["bare_decode", "bench_rebuild"]


def bench_rebuild(kafka: str, database: str, *, turns: int, rounds: int) -> list[Row]:
    """Events a second: of reading and folding alone, and of a whole rebuild."""
    with Site(kafka, database, partitions=1) as site, TemporaryDirectory(prefix="mnemolog-bench-") as folder:
        events = copy_turns(site.installation, Path(folder) / "memory", turns)
        partition = site.installation.partition(0)
        ours: list[float] = []
        bare: list[float] = []

        def read_and_fold() -> None:
            assert fold(partition.log) == turns

        def decode() -> None:
            assert asyncio.run(bare_decode(site)) == events

        measured: list[tuple[Callable[[], None], list[float]]] = [(read_and_fold, ours), (decode, bare)]
        for number in range(rounds):
            for work, into in measured if number % 2 == 0 else reversed(measured):
                into.append(timed(work))
        items = list(decided_inputs(partition.log, 0))
        projected = timed(lambda: _project(Projector(partition.store), items))
        rebuilt = timed(lambda: rebuild_one(partition.log, partition.store, states=False))
    speed, floor = events / min(ours), events / min(bare)
    note = f"{events:,} records"
    return [
        Row("rebuild, read and fold from Kafka", speed, "events/s", floor, floor / 4, "higher", "floor: bare consumer, orjson"),
        Row("read and fold as a share of its floor", speed / floor, "", None, 0.25, "higher", f"aim: 0.5; {note}"),
        Row("rebuild, rows written, digests compared", events / rebuilt, "events/s", floor, note=note),
        Row("project alone, rows written", events / projected, "events/s", floor, note="read before"),
    ]


async def bare_decode(site: Site) -> int:
    """Reads every record of the three topics and decodes it with orjson; returns how many."""
    places = [TopicPartition(site.servers.topic(topic), 0) for topic in TRUTH]
    consumer = AIOKafkaConsumer(
        bootstrap_servers=site.servers.kafka,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=4 * 1024 * 1024,
    )
    consumer.assign(places)
    await consumer.start()
    try:
        ends = await consumer.end_offsets(places)
        left, done = sum(ends.values()), 0
        while done < left:
            found = await consumer.getmany(timeout_ms=1000)
            for records in found.values():
                for record in records:
                    orjson.loads(record.value)
                done += len(records)
        return done
    finally:
        await consumer.stop()


def _project(projector: Projector, items: list[DecidedInput]) -> None:
    for start in range(0, len(items), 500):
        batch = items[start : start + 500]
        projector.apply(batch, states={}, next_changes=batch[-1].changes_offset + 1, applied_input=batch[-1].offset + 1)
