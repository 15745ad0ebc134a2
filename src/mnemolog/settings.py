"""Where the servers are: read once, from the environment or from the caller, checked before anything connects."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from .schemas.errors import InvalidInput

__all__ = ["Servers"]

_PREFIX = re.compile(r"[a-z0-9_]{0,24}")
_BOOTSTRAP = re.compile(r"[^\s,]+:\d{1,5}(,[^\s,]+:\d{1,5})*")


class Servers(msgspec.Struct, frozen=True, kw_only=True):
    """The engines that a memory runs on. Raises InvalidInput, naming the variable, for what cannot be meant.

    kafka: bootstrap servers `host:port[,host:port]`; database: `postgresql+psycopg://user@host:port/name`; qdrant: the URL of a
    Qdrant server (empty: vectors lie in the database); prefix: of topic names, consumer groups and SQL schemas, so that several
    installations share servers; partitions, replication: of topics that are made (those that are there keep theirs);
    send_timeout: seconds until an unacknowledged send counts as failed.
    """

    kafka: str
    database: str
    qdrant: str = ""
    prefix: str = ""
    partitions: int = 4
    replication: int = 1
    send_timeout: float = 30.0

    def __post_init__(self) -> None:
        for name, text in (("MNEMOLOG_KAFKA", self.kafka), ("MNEMOLOG_DATABASE", self.database)):
            if not text:
                raise InvalidInput(name, "is not set", "Kafka and the database go together: name both")
        if not _BOOTSTRAP.fullmatch(self.kafka) or any(
            not _is_port(server.rpartition(":")[2]) for server in self.kafka.split(",")
        ):
            raise InvalidInput("MNEMOLOG_KAFKA", f"is {self.kafka!r}", "give host:port, or several with commas between")
        if not self.database.startswith("postgresql+psycopg://") or not _has_good_port(self.database):
            raise InvalidInput(
                "MNEMOLOG_DATABASE",
                "is not the URL of a PostgreSQL database",
                "give postgresql+psycopg://user:password@host:port/name",
            )
        if self.qdrant and not self.qdrant.startswith(("http://", "https://", "grpc://", "grpcs://")):
            raise InvalidInput("MNEMOLOG_QDRANT_URL", f"is {self.qdrant!r}", "give http://host:6333 or grpc://host:6334")
        if not _PREFIX.fullmatch(self.prefix):
            raise InvalidInput("MNEMOLOG_PREFIX", f"is {self.prefix!r}", "up to 24 of a-z, 0-9 and _")
        for name, value in (("MNEMOLOG_PARTITIONS", self.partitions), ("MNEMOLOG_REPLICATION", self.replication)):
            if not 1 <= value <= 1000:
                raise InvalidInput(name, f"is {value}", "give a number from 1 to 1000")
        if self.send_timeout <= 0:
            raise InvalidInput("MNEMOLOG_SEND_TIMEOUT", f"is {self.send_timeout}", "give seconds above 0")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Servers | None:
        """The servers that the environment names; None where it names none. Half of them is an error, not a guess."""
        given = os.environ if environment is None else environment
        kafka, database = given.get("MNEMOLOG_KAFKA", ""), given.get("MNEMOLOG_DATABASE", "")
        if not kafka and not database:
            return None
        return cls(
            kafka=kafka,
            database=database,
            qdrant=given.get("MNEMOLOG_QDRANT_URL", ""),
            prefix=given.get("MNEMOLOG_PREFIX", ""),
            partitions=_whole(given, "MNEMOLOG_PARTITIONS", 4),
            replication=_whole(given, "MNEMOLOG_REPLICATION", 1),
            send_timeout=_whole(given, "MNEMOLOG_SEND_TIMEOUT", 30),
        )

    def schema(self, partition: int, part: str = "") -> str:
        """The SQL schema of a partition: `mnemolog_p3`, or `mnemolog_p3_log` for a part of it."""
        return f"{self.prefix}mnemolog_p{partition}{'_' if part else ''}{part}"

    def topic(self, name: str) -> str:
        """The name that a topic has on the broker."""
        return self.prefix + name

    def group(self, worker: str) -> str:
        """The consumer group of a kind of worker."""
        return f"{self.prefix}mnemolog-{worker}"


def _is_port(text: str) -> bool:
    return text.isdecimal() and 0 < int(text) < 65536


def _has_good_port(url: str) -> bool:
    try:
        port = urlsplit(url).port
    except ValueError:
        return False
    return port is None or port > 0


def _whole(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, "")
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(name, f"is {text!r}", "give a whole number") from None
