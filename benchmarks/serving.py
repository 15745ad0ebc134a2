"""Servers to measure on, and workers on them: those that were named, or own ones in a throwaway folder, ended afterwards. Every
measurement has an installation under a prefix of its own, so that none meets what another one left behind."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from psycopg import sql

from mnemolog.processors.pipeline.installation import Installation
from mnemolog.settings import Servers

__all__ = ["Program", "Site", "servers_of", "until", "worker"]

HERE = Path(__file__).resolve().parent
READY_SECONDS = 90.0
STOP_SECONDS = 40.0


@contextmanager
def servers_of(kafka: str | None, database: str | None) -> Iterator[tuple[str, str]]:
    """(bootstrap servers, database URL): the given ones, else new ones that end with this."""
    if kafka and database:
        yield kafka, database
        return
    sys.path.insert(0, str(HERE.parent / "infra"))
    from local_services.lifetime import take_down, take_up

    folder = Path(tempfile.gettempdir()).resolve() / f"mnemolog-bench-{secrets.token_hex(6)}"
    try:
        addresses, _ = take_up(folder, owner=os.getpid())
        yield addresses.kafka, addresses.database
    finally:
        take_down(folder)


class Site:
    """An installation of its own; everything that bears its prefix is removed at the end."""

    def __init__(self, kafka: str, database: str, *, partitions: int) -> None:
        self.servers = Servers(kafka=kafka, database=database, prefix=f"b{secrets.token_hex(3)}_", partitions=partitions)
        self.installation = Installation(self.servers)

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        self.installation.close()
        with self.connect() as link:
            names = link.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", (self.servers.prefix,))
            for (name,) in names.fetchall():
                link.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(str(name))))
        asyncio.run(self._delete_topics())

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """A connection of the driver's own, in autocommit."""
        return psycopg.connect(self.servers.database.replace("postgresql+psycopg://", "postgresql://", 1), autocommit=True)

    def make_topics(self, topics: Sequence[str]) -> None:
        """Topics beside the installation's own, with as many partitions."""
        asyncio.run(self._make_topics(topics))

    def end(self, topic: str) -> int:
        """Records on a topic, over all partitions."""
        return sum(self.installation.client.end(topic, number) for number in range(self.installation.partitions))

    def applied(self) -> int:
        """Inputs in the read models, over all partitions."""
        return sum(
            self.installation.partition(number).store.cursor().applied_input for number in range(self.installation.partitions)
        )

    async def _make_topics(self, topics: Sequence[str]) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.servers.kafka)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(topic, self.servers.partitions, 1) for topic in topics])
        finally:
            await admin.close()

    async def _delete_topics(self) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.servers.kafka)
        await admin.start()
        try:
            topics = [topic for topic in await admin.list_topics() if topic.startswith(self.servers.prefix)]
            await admin.delete_topics(topics)
        finally:
            await admin.close()


class Program:
    """A process of this Python that says `ready` on its standard error once it is."""

    def __init__(self, arguments: Sequence[str], environment: dict[str, str] | None = None) -> None:
        self._name = " ".join(arguments)
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            env=os.environ | (environment or {}),
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        self._said: list[str] = []
        self._ready = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait(self) -> None:
        """Until it is ready. Raises RuntimeError with what it said where it ended before."""
        deadline = time.monotonic() + READY_SECONDS
        while not self._ready.wait(0.1):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self._name} did not get ready:\n{''.join(self._said)}")

    def cpu(self) -> float:
        """Seconds of processor time that it has used so far. Raises RuntimeError with what it said where it ended."""
        if self._process.poll() is not None:
            self._listener.join()
            raise RuntimeError(f"{self._name} ended with {self._process.returncode}:\n{''.join(self._said)}")
        used = psutil.Process(self._process.pid).cpu_times()
        return float(used.user + used.system)

    def stop(self) -> None:
        """Ends it. Raises RuntimeError with what it said where it failed."""
        if self._process.poll() is None:
            self._process.terminate()
        code = self._process.wait(STOP_SECONDS)
        self._listener.join()
        if code not in (0, -signal.SIGTERM):
            raise RuntimeError(f"{self._name} ended with {code}:\n{''.join(self._said)}")

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said.append(line)
            if line.rstrip().endswith("ready"):
                self._ready.set()
        self._process.stderr.close()


def worker(servers: Servers, kind: str, *options: str) -> Program:
    """`mnemolog worker KIND` on these servers."""
    environment = {
        "MNEMOLOG_KAFKA": servers.kafka,
        "MNEMOLOG_DATABASE": servers.database,
        "MNEMOLOG_PREFIX": servers.prefix,
        "MNEMOLOG_PARTITIONS": str(servers.partitions),
    }
    return Program(["-m", "mnemolog", "worker", kind, *options], environment)


def until(done: Callable[[], bool], what: str, *, seconds: float = 600.0, every: float = 0.02) -> None:
    """Waits for it. Raises TimeoutError, saying for what."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(every)
