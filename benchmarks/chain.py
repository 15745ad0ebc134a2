"""The floor of the pipeline: bare hops that consume a topic and produce each record to the next one, with acks=all, an
idempotent producer and a commit of the group after every batch, and nothing in between.

    python benchmarks/chain.py --kafka HOST:PORT --topics A B [C ...] --group NAME [--hops 0 1 ...]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

BATCH = 500


async def hop(kafka: str, source: str, target: str, group: str, assigned: asyncio.Event) -> None:
    """One hop; it keeps each record's partition."""
    consumer = AIOKafkaConsumer(
        source, bootstrap_servers=kafka, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    producer = AIOKafkaProducer(bootstrap_servers=kafka, acks="all", enable_idempotence=True)
    await consumer.start()
    await producer.start()
    try:
        while not consumer.assignment():
            await consumer.getmany(timeout_ms=50)
        assigned.set()
        while True:
            found = await consumer.getmany(timeout_ms=500, max_records=BATCH)
            sent = [
                await producer.send(target, record.value, record.key, record.partition)
                for records in found.values()
                for record in records
            ]
            if sent:
                await asyncio.gather(*sent)
                await consumer.commit()
    finally:
        await producer.stop()
        await consumer.stop()


async def chain(kafka: str, topics: list[str], group: str, hops: list[int]) -> None:
    """Runs the hops until SIGTERM."""
    ready = [asyncio.Event() for _ in hops]
    tasks = [
        asyncio.create_task(hop(kafka, topics[number], topics[number + 1], f"{group}-{number}", event))
        for number, event in zip(hops, ready, strict=True)
    ]
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: [task.cancel() for task in tasks])
    for event in ready:
        await event.wait()
    print("ready", file=sys.stderr, flush=True)
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(*tasks)
    await asyncio.gather(*tasks, return_exceptions=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", required=True)
    parser.add_argument("--topics", nargs="+", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--hops", nargs="*", type=int, help="which of them this process runs (default: all)")
    given = parser.parse_args()
    hops = given.hops if given.hops is not None else list(range(len(given.topics) - 1))
    asyncio.run(chain(given.kafka, given.topics, given.group, hops))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
