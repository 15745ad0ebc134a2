"""The kinds of faults. Each happens while the story is being told, at moments that the round's seed chooses, and leaves every
server up and every kind of worker running."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from chaos.rounds import Round
from chaos.workers import KINDS
from mnemolog.adapters.kafka.client import Outgoing
from mnemolog.processors.core.extract import OfflineExtractor
from mnemolog.processors.pipeline.core import Core
from mnemolog.processors.pipeline.installation import Installation
from mnemolog.processors.pipeline.worker import core_of
from mnemolog.schemas.errors import Closed, Unavailable
from mnemolog.schemas.events import CHANGES, DYNAMICS, INBOX, OBSERVATIONS, SUMMARIES

__all__ = ["CI", "FAULTS", "Fault"]

Fault = Callable[[Round], None]


def kill_ingest(round_: Round) -> None:
    _kill_worker(round_, "ingest")


def kill_extract(round_: Round) -> None:
    _kill_worker(round_, "extract")


def kill_resolve(round_: Round) -> None:
    _kill_worker(round_, "resolve")


def kill_project(round_: Round) -> None:
    _kill_worker(round_, "project")


def kill_summarise(round_: Round) -> None:
    _kill_worker(round_, "summarise")


def kill_any(round_: Round) -> None:
    """Several, one after the other, in no order."""
    for share in sorted(round_.rng.uniform(0.1, 0.9) for _ in range(3)):
        round_.told(share)
        kind = round_.rng.choice(KINDS)
        round_.workers.kill(round_.workers.one(kind))
        round_.note(f"kill -9 {kind}")
        round_.pause(0.0, 1.0)
        round_.workers.start(kind)


def _kill_worker(round_: Round, kind: str) -> None:
    """Twice: once early, once late."""
    for share in (round_.rng.uniform(0.1, 0.4), round_.rng.uniform(0.5, 0.9)):
        round_.told(share)
        round_.pause(0.0, 0.3)
        round_.workers.kill(round_.workers.one(kind))
        round_.note(f"kill -9 {kind}")
        round_.pause(0.0, 1.5)
        round_.workers.start(kind)


def kill_kafka(round_: Round) -> None:
    """The only broker, which comes back with its data."""
    round_.told(round_.rng.uniform(0.2, 0.8))
    round_.pause(0.0, 0.3)
    round_.kafka.kill(1)
    round_.note("kill -9 of the broker")
    round_.pause(0.0, 3.0)
    round_.kafka.restart(1)
    round_.note("the broker is back")


def kill_postgres(round_: Round) -> None:
    """Twice."""
    for share in (round_.rng.uniform(0.1, 0.4), round_.rng.uniform(0.5, 0.9)):
        round_.told(share)
        round_.pause(0.0, 0.3)
        round_.postgres.kill()
        round_.note("kill -9 of PostgreSQL")
        round_.pause(0.0, 2.0)
        round_.postgres.restart()
        round_.note("PostgreSQL is back")


def stop_workers(round_: Round) -> None:
    """SIGTERM to each kind in turn; the next one is started before or after the one before has ended."""
    kinds = list(KINDS)
    round_.rng.shuffle(kinds)
    for number, kind in enumerate(kinds):
        round_.told((number + 0.5) / len(kinds))
        old = round_.workers.one(kind)
        overlapping = round_.rng.random() < 0.5
        if overlapping:
            round_.workers.start(kind)
        seconds = round_.workers.stop(old)
        round_.note(f"SIGTERM {kind}: ended in {seconds:.1f} s{', another one running' if overlapping else ''}")
        if not overlapping:
            round_.workers.start(kind)


def rebalance(round_: Round) -> None:
    """Workers come and go."""
    for share in sorted(round_.rng.uniform(0.05, 0.95) for _ in range(4)):
        round_.told(share)
        kind = round_.rng.choice(KINDS)
        there = [worker for worker in round_.workers.running if worker.kind == kind]
        if len(there) > 1:
            round_.workers.stop(round_.rng.choice(there))
            round_.note(f"one {kind} less")
        else:
            round_.workers.start(kind)
            round_.note(f"one {kind} more")


def all_in_one(round_: Round) -> None:
    """Processes that do all kinds of work take over from those of one kind each; they are killed and come back, and at last one
    of a single kind works beside them."""
    round_.told(round_.rng.uniform(0.05, 0.2))
    round_.workers.stop(*round_.workers.running)
    round_.workers.start("all", "all")
    round_.note("two that do everything, nobody else")
    for share in (round_.rng.uniform(0.3, 0.5), round_.rng.uniform(0.6, 0.8)):
        round_.told(share)
        round_.pause(0.0, 0.5)
        round_.workers.kill(round_.workers.one("all"))
        round_.note("kill -9 of one of them")
        round_.pause(0.0, 1.0)
        round_.workers.start("all")
    round_.told(0.9)
    kind = round_.rng.choice(KINDS)
    round_.workers.start(kind)
    round_.note(f"one {kind} beside them")
    round_.told(1.0)


def twins(round_: Round) -> None:
    """Besides the group's worker another one, and a third, who never heard of the group: each works on every partition."""
    kinds = ["resolve", round_.rng.choice([kind for kind in KINDS if kind != "resolve"])]
    with _outsiders(round_, kinds * 2):
        round_.told(1.0)
        round_.pause(0.5, 2.0)


def backlog(round_: Round) -> None:
    """Nobody works while everything is published; then all start at once."""
    round_.workers.stop(*round_.workers.running)
    round_.note("every worker stopped")
    round_.told(1.0)
    round_.workers.start(*KINDS)
    round_.note("everything is published; every worker started")


def twice(round_: Round) -> None:
    """What lies on the topics is sent again, by somebody who is no worker: as it is, under the same keys."""
    for share in (0.4, 0.8, 1.0):
        round_.told(share)
        round_.pause(0.0, 1.0)
        for topic in (INBOX, DYNAMICS, OBSERVATIONS, CHANGES, SUMMARIES):
            count = sum(_send_again(round_, topic, number) for number in range(round_.installation.partitions))
            round_.note(f"{count} records of {topic} sent again")


def _send_again(round_: Round, topic: str, number: int) -> int:
    client = round_.installation.client
    end = client.end(topic, number)
    if not end:
        return 0
    start = round_.rng.randrange(end)
    records, _ = client.fetch(topic, number, start, round_.rng.randint(1, 40), 1.0)
    client.send(topic, number, [Outgoing(record.scope, record.value, record.recorded) for record in records])
    return len(records)


GARBAGE = (b"", b"\x00\xff garbage", b"[]", b'{"specversion": "1.0"}', b"not json at all")


def poison(round_: Round) -> None:
    """Bytes that are no events and events of a newer version, in the inbox and, past ingest, on dynamics."""
    first, second = (f"acme/user:{round_.seed}-poison{number}" for number in range(2))
    round_.told(0.3)
    event = round_.story.inputs[0]
    newer = msgspec.structs.replace(event, id="newer", dataschema="urn:mnemolog:turn.recorded:99")
    scope = str(event.scope)
    for value in (*GARBAGE, newer.to_bytes()):
        round_.refuse(scope, value)
    round_.note(f"{len(GARBAGE) + 1} bad records in the inbox")
    round_.told(0.5)
    renamed = msgspec.structs.replace(newer, subject=first.partition("/")[2])
    round_.strange(first, renamed.to_bytes())
    round_.strange(second, b"\x00\xff garbage")
    round_.strange("", b"\x00\xff garbage")
    round_.strange("no scope", b"")
    round_.note("4 bad records on dynamics")
    for scope in (first, ""):
        for topic in (OBSERVATIONS, CHANGES, SUMMARIES):
            for value in (*GARBAGE, event.to_bytes()):
                round_.litter(topic, scope, value)
    round_.note("bad records on the topics behind")
    round_.told(0.7)
    round_.met()
    # Whoever starts now meets them, too.
    for kind in ("resolve", "extract", "project"):
        round_.workers.stop(round_.workers.one(kind))
        round_.workers.start(kind)
    round_.note("resolve, extract and project restarted")


def model_down(round_: Round) -> None:
    """The model's server is gone, then overloaded, then back."""
    model = round_.model
    assert model is not None
    round_.told(0.3)
    model.down()
    round_.note("the model's server is down")
    round_.pause(round_.outage / 2, round_.outage)
    model.up(refusing=True)
    round_.note("it answers 503")
    round_.pause(1.0, 2.0)
    model.refusing = False
    round_.note("it answers")


def lose_broker(round_: Round) -> None:
    """One of three, for good."""
    round_.told(round_.rng.uniform(0.2, 0.6))
    number = round_.rng.choice([number for number, pid in zip(round_.kafka.numbers, round_.kafka.pids, strict=True) if pid])
    round_.kafka.kill(number)
    round_.note(f"kill -9 of broker {number}, for good")
    round_.told(1.0)


def storm(round_: Round) -> None:
    """Everything at once."""
    round_.workers.restarting = True
    kinds = list(KINDS)
    with _outsiders(round_, ["resolve"]):
        round_.told(0.2)
        round_.postgres.kill()
        round_.note("kill -9 of PostgreSQL")
        kind = round_.rng.choice(kinds)
        round_.workers.kill(round_.workers.one(kind))
        round_.note(f"kill -9 {kind}")
        round_.pause(0.0, 1.0)
        round_.postgres.restart()
        round_.workers.start(kind)
        round_.told(0.5)
        round_.kafka.kill(1)
        round_.note("kill -9 of the broker")
        kind = round_.rng.choice(kinds)
        round_.workers.kill(round_.workers.one(kind))
        round_.note(f"kill -9 {kind}")
        round_.pause(0.0, 1.0)
        round_.kafka.restart(1)
        round_.workers.start(kind)
        round_.told(1.0)


FAULTS: dict[str, Fault] = {
    "kill-ingest": kill_ingest,
    "kill-extract": kill_extract,
    "kill-resolve": kill_resolve,
    "kill-project": kill_project,
    "kill-summarise": kill_summarise,
    "kill-kafka": kill_kafka,
    "kill-postgres": kill_postgres,
    "stop-workers": stop_workers,
    "rebalance": rebalance,
    "all-in-one": all_in_one,
    "twins": twins,
    "backlog": backlog,
    "twice": twice,
    "poison": poison,
    "model-down": model_down,
    "kill-any": kill_any,
    "storm": storm,
    "lose-broker": lose_broker,
}

CI: Sequence[str] = ("kill-any", "kill-kafka", "kill-postgres", "twins", "poison", "all-in-one")
"""The kinds of the short run."""


@contextmanager
def _outsiders(round_: Round, kinds: Sequence[str]) -> Iterator[None]:
    """Cores with an installation of their own, one for each kind that is named and each partition, in threads of this process.
    What ends one of them is raised."""
    ending = threading.Event()
    failed: list[BaseException] = []
    installations = [Installation(round_.servers) for _ in kinds]
    threads: list[threading.Thread] = []

    def run(make: Callable[[int], Core], number: int) -> None:
        core: Core | None = None
        while not ending.is_set():
            try:
                core = core or make(number)
                core.step(0.1)
            except Unavailable:
                ending.wait(0.2)
            except Closed:
                if not ending.is_set():
                    raise
            except BaseException as error:
                failed.append(error)
                return

    try:
        for kind, installation in zip(kinds, installations, strict=True):
            make = core_of(kind, installation, OfflineExtractor(installation.registry), None)
            threads += [
                threading.Thread(target=run, args=(make, number), name=f"outsider-{kind}-{number}", daemon=True)
                for number in range(installation.partitions)
            ]
        for thread in threads:
            thread.start()
        round_.note(f"outsiders: {', '.join(kinds)}")
        yield
    finally:
        ending.set()
        for thread in threads:
            thread.join()
        for installation in installations:
            installation.close()
    if failed:
        raise failed[0]
