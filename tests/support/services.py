"""The servers of a test run: one Kafka and one PostgreSQL, shared by all its processes, ended with it in whatever way it ends.

The process that the user started names a folder and is the owner; whichever process needs the servers first takes them up.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psycopg
from aiokafka.admin import AIOKafkaAdminClient
from psycopg import sql

from local_services.lifetime import PROGRAM, take_up
from local_services.processes import Detached

__all__ = ["Services", "ask_for_services", "get_services", "remove_prefix"]


@dataclass(frozen=True)
class Services:
    """`kafka`: bootstrap servers; `database`: a URL for SQLAlchemy with psycopg 3."""

    kafka: str
    database: str


def ask_for_services(folder: Path, owner: int) -> None:
    """Begin to start them in the background, once for the run, so that they are up when the first test needs them."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return
    command = [sys.executable, str(PROGRAM), "up", "--dir", str(folder), "--owner", str(owner)]
    Detached(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def get_services(folder: Path, owner: int) -> Services:
    """The servers, started if need be. Errors: ServicesError with the reason when they cannot be."""
    addresses, _ = take_up(folder, owner=owner)
    return Services(addresses.kafka, addresses.database)


def remove_prefix(services: Services, prefix: str) -> None:
    """Drop the SQL schemas and delete the topics whose names begin with the prefix.

    Errors: psycopg.errors.LockNotAvailable when a test left a transaction open that holds them for 20 s.
    """
    url = services.database.replace("postgresql+psycopg://", "postgresql://", 1)
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("SET lock_timeout = '20s'")
        found = link.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) ORDER BY 1", (prefix,)).fetchall()
        for (name,) in found:
            link.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))
    asyncio.run(_delete_topics(services.kafka, prefix))


async def _delete_topics(bootstrap: str, prefix: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        topics = [topic for topic in await admin.list_topics() if topic.startswith(prefix)]
        if topics:
            await admin.delete_topics(topics)
    finally:
        await admin.close()
