"""One installation on servers, as a process sees it: the broker, and for each partition its log, its read models and the
resolver's state. What exists once for a folder exists here once for each partition; a scope lies in exactly one of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from ...adapters.kafka.client import KafkaClient, partition_of
from ...adapters.kafka.log import Identity, PartitionLog, identity
from ...adapters.logs.plan import Clock, utc_now
from ...projections.log_index import SqlLogIndex
from ...projections.store import Store
from ...schemas.errors import InvalidInput
from ...schemas.registry import Registry
from ...schemas.scope import Scope
from ...settings import Servers
from ..core.policy import Policy

__all__ = ["Installation", "Partition"]


class Partition:
    """One partition: `log` (its topics), `store` (its read models), `state` (the resolver's own tables)."""

    def __init__(self, client: KafkaClient, who: Identity, number: int, clock: Clock = utc_now) -> None:
        servers = client.servers
        self.number = number
        self.client = client
        index = SqlLogIndex(servers.database, log_id=who.log_id, schema=servers.schema(number, "log"))
        self.log = PartitionLog(client, number, index, who, clock=clock)
        # No commit waits for the disk: the topics are what is durable. What a crash of the database takes back, the newest of
        # all schemas alike, is made again from there.
        self.store = Store(servers.database, schema=servers.schema(number), log_id=who.log_id, durable=False)
        self.state = Store(servers.database, schema=servers.schema(number, "resolver"), log_id=who.log_id, durable=False)

    def close(self) -> None:
        self.log.close()
        self.store.close()
        self.state.close()


class Installation:
    """Connects to the servers, makes or checks the topics, opens partitions on demand; `clock` gives the recorded time.
    Thread-safe.

    Raises Unavailable where a server does not answer, Misconfigured for topics that would lose what they hold, UnknownLog where
    the database belongs to another log, NewerVersion where a newer mnemolog wrote it.
    """

    def __init__(self, servers: Servers, *, form_types: Sequence[Path] = (), clock: Clock = utc_now) -> None:
        self.servers, self._clock = servers, clock
        self.registry = Registry.load(form_types)
        self.policy = Policy.of(self.registry)
        self._lock = threading.RLock()
        self._open: dict[int, Partition] = {}
        self.client = KafkaClient(servers)
        try:
            self.who = identity(self.client)
        except BaseException:
            self.client.close()
            raise

    @property
    def partitions(self) -> int:
        return self.client.partitions

    def number_of(self, scope: Scope | str) -> int:
        """The partition that a scope lies in."""
        return partition_of(str(scope), self.partitions)

    def partition(self, number: int) -> Partition:
        """An opened partition; opened once and kept."""
        if not 0 <= number < self.partitions:
            raise InvalidInput("partition", f"there is no partition {number}", f"this log has {self.partitions}, from 0")
        with self._lock:
            if number not in self._open:
                self._open[number] = Partition(self.client, self.who, number, self._clock)
            return self._open[number]

    def of(self, scope: Scope | str) -> Partition:
        """The partition of a scope."""
        return self.partition(self.number_of(scope))

    def close(self) -> None:
        """Closes everything. May be called twice."""
        with self._lock:
            for partition in self._open.values():
                partition.close()
            self._open.clear()
        self.client.close()
