"""One round: an installation of its own, its workers, a story that is told to them, one kind of fault, and the judgement."""

from __future__ import annotations

import random
import secrets
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from chaos.judging import Expected, judge
from chaos.model import ModelServer
from chaos.settled import parked, wait_until_settled
from chaos.story import tell
from chaos.telling import Teller
from chaos.workers import KINDS, Workers
from local_services.kafka import KafkaServer
from local_services.postgres import PostgresServer
from mnemolog.adapters.kafka.client import Outgoing, partition_of
from mnemolog.processors.pipeline.installation import Installation
from mnemolog.schemas.events import DYNAMICS, INBOX
from mnemolog.settings import Servers
from support.services import Services, remove_prefix

__all__ = ["Round", "play"]

_READY_SECONDS = 120.0
_SETTLE_SECONDS = 180.0


class Round:
    """What a fault may touch. Every random choice comes from `rng`."""

    def __init__(
        self,
        kind: str,
        seed: int,
        kafka: KafkaServer,
        postgres: PostgresServer,
        folder: Path,
        *,
        turns: int,
        rate: float,
        outage: float,
    ) -> None:
        self.kind, self.seed, self.kafka, self.postgres, self.outage = kind, seed, kafka, postgres, outage
        self.rng = random.Random(seed)
        self.begun = time.monotonic()
        self.notes: list[str] = []
        self.model = ModelServer() if kind == "model-down" else None
        self._refused = 0
        self._standing: set[str] = set()
        self.servers = Servers(
            kafka=kafka.bootstrap,
            database=postgres.url,
            prefix=f"c{secrets.token_hex(3)}_",
            partitions=2,
            replication=len(kafka.ports),
        )
        self.extractor = None
        options: dict[str, Sequence[str]] = {}
        if self.model is not None:
            from mnemolog.adapters.models.openai import OpenAIExtractor

            self.extractor = OpenAIExtractor(self.model.url, "m")
            options["extract"] = ["--model", "m", "--model-url", self.model.url]
        self.installation = Installation(self.servers)
        self.workers = Workers(self.servers, folder, options)
        self.workers.start(*KINDS)
        try:
            self.story = tell(seed, turns, self.extractor)
        except BaseException:
            self.close()
            raise
        self._rate = rate
        self._teller: Teller | None = None

    # -- for faults ----------------------------------------------------------------------------------------------------

    def told(self, share: float) -> None:
        """Waits until so much of the story is published, 0 to 1."""
        assert self._teller is not None
        self._teller.wait_for(int(share * len(self.story.deliveries)))

    def pause(self, least: float, most: float) -> None:
        """Some moment between `least` and `most` seconds from now."""
        time.sleep(self.rng.uniform(least, most))

    def note(self, what: str) -> None:
        self.notes.append(f"{time.monotonic() - self.begun:5.1f} s  {what}")

    def refuse(self, scope: str, value: bytes) -> None:
        """Publishes to the inbox what is to be refused."""
        self.installation.client.send_by_scope(INBOX, [Outgoing(scope, value, self.story.inputs[0].time)])
        self._refused += 1

    def strange(self, scope: str, value: bytes) -> None:
        """Puts something into dynamics that no worker wrote, where that scope will stand still."""
        number = partition_of(scope, self.installation.partitions)
        self.installation.client.send(DYNAMICS, number, [Outgoing(scope, value, self.story.inputs[0].time)])
        self._standing.add(scope)

    def litter(self, topic: str, scope: str, value: bytes) -> None:
        """Puts something into a topic behind dynamics that no worker wrote, and that counts for nothing."""
        number = partition_of(scope, self.installation.partitions)
        self.installation.client.send(topic, number, [Outgoing(scope, value, self.story.inputs[0].time)])

    def met(self) -> None:
        """Waits until every scope that will stand still does."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        numbers = range(self.installation.partitions)
        while self._standing - {scope for number in numbers for scope in parked(self.installation.partition(number))}:
            self._look()
            if time.monotonic() > deadline:
                raise TimeoutError("not every scope stands still that should")
            time.sleep(0.1)

    # -- the round itself ----------------------------------------------------------------------------------------------

    def play(self, fault: Callable[[Round], None]) -> list[str]:
        """What does not hold."""
        self.workers.wait_until_ready(_READY_SECONDS)
        self._teller = Teller(self.installation.client, self.story.deliveries, self.seed, self._rate)
        self.note("the story begins")
        fault(self)
        self._teller.join()
        self.note(f"all {len(self.story.deliveries)} are published, {self._teller.again} batches more than once")
        wait_until_settled(self.installation, _SETTLE_SECONDS, self._look)
        self.note("nothing waits any more")
        expected = Expected(self.story, self._refused + self.story.conflicts, parked=frozenset(self._standing))
        wrong = judge(self.installation, expected, self.extractor)
        self.note("judged")
        self.workers.look()
        seconds = self.workers.stop(*self.workers.running)
        self.note(f"every worker ended in {seconds:.1f} s")
        return wrong + self.workers.wrong

    def _look(self) -> None:
        self.workers.look()
        if self.workers.wrong:
            raise AssertionError("\n".join(self.workers.wrong))

    def close(self) -> None:
        self.workers.end()
        self.installation.close()
        if self.model is not None:
            self.model.down()
        remove_prefix(Services(self.servers.kafka, self.servers.database), self.servers.prefix)


def play(
    kind: str,
    seed: int,
    fault: Callable[[Round], None],
    kafka: KafkaServer,
    postgres: PostgresServer,
    folder: Path,
    *,
    turns: int,
    rate: float,
    outage: float,
) -> tuple[list[str], list[str]]:
    """Plays a round; returns what happened in it, and what does not hold."""
    round_ = Round(kind, seed, kafka, postgres, folder, turns=turns, rate=rate, outage=outage)
    try:
        try:
            wrong = round_.play(fault)
        except Exception as error:
            said = [f"worker {each.name} said:\n{text[-2000:]}" for each in round_.workers.running if (text := each.said())]
            wrong = ["".join(traceback.format_exception(error)), *said]
        if round_.model is not None:
            round_.note(f"the model was asked {round_.model.asked} times")
        return round_.notes, wrong
    finally:
        round_.close()
