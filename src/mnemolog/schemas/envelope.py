"""One event as it lies on the log: a CloudEvents 1.0 object in structured JSON mode.

The attribute names are CloudEvents' own; `tenant`, `recordedtime`, `correlationid`, `causationid`, `keyid`
and `position` are extensions. The version of `data` is the last part of `dataschema`.
"""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from .codec import content_hash, encode
from .errors import Undecodable
from .scope import Scope

__all__ = ["DEFAULT_SOURCE", "Envelope", "Position", "schema_uri"]

DEFAULT_SOURCE = "mnemolog"


class Position(msgspec.Struct, frozen=True, order=True):
    """Where a *dynamics* record lies; every derived record carries the position of its input."""

    epoch: int
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.epoch}:{self.partition}:{self.offset}"

    @classmethod
    def parse(cls, text: str) -> Position:
        epoch, partition, offset = text.split(":")
        return cls(int(epoch), int(partition), int(offset))


def schema_uri(event_type: str, version: int) -> str:
    """`urn:mnemolog:turn.recorded:2`."""
    return f"urn:mnemolog:{event_type}:{version}"


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The envelope with plain `data` (a JSON object); `registry.decode` gives the typed data."""

    specversion: str = "1.0"
    id: str
    source: str = DEFAULT_SOURCE
    type: str
    subject: str
    tenant: str
    time: str
    """Event time: when it happened (a turn's `occurred_at`), UTC."""
    dataschema: str
    datacontenttype: str = "application/json"
    recordedtime: str | None = None
    """When it was appended to dynamics; stamped by whoever appends."""
    correlationid: str | None = None
    causationid: str | None = None
    keyid: str | None = None
    """Reserved: the key that `data` is encrypted with."""
    position: str | None = None
    """On derived records: `epoch:partition:offset` of the dynamics record that caused this one."""
    data: dict[str, Any]

    @property
    def scope(self) -> Scope:
        return Scope(self.tenant, self.subject)

    @property
    def version(self) -> int:
        """The version of `data`, from `dataschema`."""
        prefix, _, number = self.dataschema.rpartition(":")
        if prefix != f"urn:mnemolog:{self.type}" or not number.isdigit():
            raise Undecodable(f"event {self.id!r}: dataschema {self.dataschema!r} does not name {self.type!r}")
        return int(number)

    @property
    def content_hash(self) -> str:
        """SHA-256 of the canonical `data` alone: what "the same content" means."""
        return content_hash(self.data)

    def to_bytes(self) -> bytes:
        """The bytes to store."""
        return encode(self)

    @classmethod
    def from_bytes(cls, value: bytes) -> Envelope:
        """Reads stored bytes; raises Undecodable for anything that is no envelope."""
        try:
            return msgspec.convert(orjson.loads(value), cls)
        except (orjson.JSONDecodeError, msgspec.ValidationError) as error:
            raise Undecodable(f"not an event: {error}") from error
