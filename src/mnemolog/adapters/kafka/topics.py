"""The topics as Kafka must have them: made where they are missing, checked where they are there. Nothing that holds the truth
may be compacted or expire, and everything but the inbox's dead letters is co-partitioned by scope."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from typing import Any

import msgspec
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code

from ...schemas.errors import Misconfigured
from ...schemas.events import CHANGES, DEAD_LETTERS, DYNAMICS, INBOX, OBSERVATIONS, RECALLS, SUMMARIES
from ...settings import Servers

__all__ = ["IDENTITY", "LARGEST", "TOPIC_SETTINGS", "TopicSettings", "ensure_topics"]

IDENTITY = "memory.log.v1"
"""One partition, whose first record says which log this is: its id, its epoch, how many partitions it has."""
LARGEST = 16 * 1024 * 1024
"""Bytes of the largest record: a turn of 1 MiB, escaped at worst, and what is understood of it."""

_DAY = 24 * 3600 * 1000
_WEEK = 7 * _DAY
_FOREVER = -1
_VISIBLE_SECONDS = 15.0


class TopicSettings(msgspec.Struct, frozen=True):
    """What a topic is made with."""

    name: str
    retention_ms: int
    one_partition: bool = False

    @property
    def configs(self) -> dict[str, str]:
        return {
            "cleanup.policy": "delete",
            "retention.ms": str(self.retention_ms),
            "retention.bytes": "-1",
            "max.message.bytes": str(LARGEST),
            # What agents publish is kept from its arrival on, whatever time they put on it.
            "message.timestamp.type": "LogAppendTime" if self.name == INBOX else "CreateTime",
        }


TOPIC_SETTINGS = (
    TopicSettings(INBOX, _WEEK),
    TopicSettings(DYNAMICS, _FOREVER),
    TopicSettings(OBSERVATIONS, _FOREVER),
    TopicSettings(CHANGES, _FOREVER),
    TopicSettings(SUMMARIES, _FOREVER),
    TopicSettings(RECALLS, 90 * _DAY),  # nothing is rebuilt from them; an operator may keep them for longer or shorter
    TopicSettings(DEAD_LETTERS, _FOREVER),
    TopicSettings(IDENTITY, _FOREVER, one_partition=True),
)

_MUST_BE = {"cleanup.policy": "delete", "retention.ms": str(_FOREVER), "retention.bytes": "-1"}


async def ensure_topics(admin: AIOKafkaAdminClient, servers: Servers) -> int:
    """Makes what is missing and checks what is there; returns the number of partitions. Raises Misconfigured, in one line, for
    a topic that would lose or mix up what it holds."""
    partitions = await _partitions(admin, servers)
    if partitions is None:
        await _make(admin, servers, list(TOPIC_SETTINGS), servers.partitions)
    else:
        missing = [topic for topic in TOPIC_SETTINGS if topic.name not in partitions]
        count = partitions.get(DYNAMICS, servers.partitions)
        await _make(admin, servers, missing, count)
    found = await _visible(admin, servers)
    count = found.get(DYNAMICS, 0)
    for topic in TOPIC_SETTINGS:
        wanted = 1 if topic.one_partition else count
        if found.get(topic.name) != wanted:
            raise Misconfigured(
                f"topic {servers.topic(topic.name)} has {found.get(topic.name, 0)} partitions, it must have {wanted} like "
                f"{servers.topic(DYNAMICS)}: a scope's records must lie in one partition everywhere"
            )
    await _check_configs(admin, servers)
    return count


async def _visible(admin: AIOKafkaAdminClient, servers: Servers) -> dict[str, int]:
    """How many partitions each topic has, once every broker's metadata has come to know all that were made."""
    deadline = asyncio.get_running_loop().time() + _VISIBLE_SECONDS
    while True:
        found = await _partitions(admin, servers) or {}
        if len(found) == len(TOPIC_SETTINGS) or asyncio.get_running_loop().time() > deadline:
            return found
        await asyncio.sleep(0.05)


async def _partitions(admin: AIOKafkaAdminClient, servers: Servers) -> dict[str, int] | None:
    """How many partitions our topics have, by name; None where none is there."""
    there = set(await admin.list_topics())
    names = [topic.name for topic in TOPIC_SETTINGS if servers.topic(topic.name) in there]
    if not names:
        return None
    described = await admin.describe_topics([servers.topic(name) for name in names])
    counts = {item["topic"]: len(item["partitions"]) for item in described if item["error_code"] == 0}
    return {name: counts[servers.topic(name)] for name in names if servers.topic(name) in counts}


async def _make(admin: AIOKafkaAdminClient, servers: Servers, topics: list[TopicSettings], partitions: int) -> None:
    if not topics:
        return
    extra = {"min.insync.replicas": "2"} if servers.replication >= 3 else {}
    response: Any = await admin.create_topics(
        [
            NewTopic(
                servers.topic(topic.name),
                1 if topic.one_partition else partitions,
                servers.replication,
                topic_configs={**topic.configs, **extra},
            )
            for topic in topics
        ]
    )
    for name, code, *rest in response.topic_errors:
        error = for_code(code)
        if code and error is not TopicAlreadyExistsError:  # somebody else made it at the same moment: it is checked next
            raise Misconfigured(f"topic {name} cannot be made: {rest[0] if rest and rest[0] else error.__name__}")


async def _check_configs(admin: AIOKafkaAdminClient, servers: Servers) -> None:
    forever = {servers.topic(topic.name) for topic in TOPIC_SETTINGS if topic.retention_ms == _FOREVER}
    deadline = asyncio.get_running_loop().time() + _VISIBLE_SECONDS
    while True:
        found = await _configs(admin, forever)
        # One of several brokers may not have heard of a new topic yet.
        unheard = any(for_code(code) is UnknownTopicOrPartitionError for code, _, _ in found)
        if not unheard or asyncio.get_running_loop().time() > deadline:
            break
        await asyncio.sleep(0.05)
    for code, name, configs in found:
        if code:
            raise Misconfigured(f"topic {name}: its settings cannot be read ({for_code(code).__name__})")
        _check(name, configs)


async def _configs(admin: AIOKafkaAdminClient, names: Set[str]) -> list[tuple[int, str, dict[str, Any]]]:
    """(error code, name, settings) of each topic."""
    responses: Any = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in sorted(names)])
    return [
        (code, name, {entry[0]: entry[1] for entry in entries})
        for response in responses
        for code, _message, _kind, name, entries in response.resources
    ]


def _check(name: str, configs: dict[str, Any]) -> None:
    for key, wanted in _MUST_BE.items():
        if configs.get(key, wanted) != wanted:
            raise Misconfigured(
                f"topic {name} has {key}={configs[key]}, it must be {wanted}: it holds what everything is rebuilt from"
            )
