"""Which log the topics of an installation are: said by the first record of a topic of its own."""

from __future__ import annotations

import json
import uuid

import msgspec

from ...schemas.errors import LogError
from ...schemas.times import to_text
from ..logs.plan import EPOCH, utc_now
from .client import KafkaClient, Outgoing
from .topics import IDENTITY

__all__ = ["Identity", "identity"]


class Identity(msgspec.Struct, frozen=True):
    """Which log this is."""

    log_id: str
    epoch: int
    partitions: int


def identity(client: KafkaClient) -> Identity:
    """The log's identity, made by whoever comes first: the first record counts. Raises LogError where it cannot be read."""
    records, _ = client.fetch(IDENTITY, 0, client.begin(IDENTITY, 0), 1, 0.0 if client.end(IDENTITY, 0) == 0 else 5.0)
    if not records:
        made = {"log_id": uuid.uuid4().hex, "epoch": EPOCH, "partitions": client.partitions}
        client.send(IDENTITY, 0, [Outgoing("log", json.dumps(made).encode(), to_text(utc_now()))])
        records, _ = client.fetch(IDENTITY, 0, 0, 1, 5.0)
    try:
        found = msgspec.json.decode(records[0].value, type=Identity)
    except (IndexError, msgspec.DecodeError) as error:
        raise LogError(f"topic {client.servers.topic(IDENTITY)} does not say which log this is") from error
    if found.partitions != client.partitions:
        raise LogError(
            f"this log was made with {found.partitions} partitions and has {client.partitions} now: its scopes lie in other "
            "partitions than their history; copy it to new topics instead"
        )
    return found
