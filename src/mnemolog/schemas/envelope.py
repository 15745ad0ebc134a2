"""One event as it lies on the log: a CloudEvents 1.0 object in structured JSON mode.

The attribute names are CloudEvents' own; `tenant`, `recordedtime`, `correlationid`, `causationid`, `keyid`
and `position` are extensions. The version of `data` is the last part of `dataschema`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import orjson

from .codec import content_hash, encode, read_json
from .errors import InvalidInput, Undecodable
from .scope import Scope, check_name
from .times import from_text

__all__ = ["DEFAULT_SOURCE", "Envelope", "Position", "headers_of", "schema_uri"]

DEFAULT_SOURCE = "mnemolog"

_POSITION = re.compile(r"[0-9]{1,18}:[0-9]{1,18}:[0-9]{1,18}")
_SCHEMA = re.compile(r"urn:mnemolog:.+:[1-9][0-9]{0,5}")


class Position(msgspec.Struct, frozen=True, order=True):
    """Where a *dynamics* record lies; every derived record carries the position of its input."""

    epoch: int
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.epoch}:{self.partition}:{self.offset}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """The position that `str()` wrote; raises Undecodable for any other text."""
        if not _POSITION.fullmatch(text):
            raise Undecodable(f"{text!r} is not a position such as 1:0:42 (epoch:partition:offset)")
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
        if prefix != f"urn:mnemolog:{self.type}" or not _SCHEMA.fullmatch(self.dataschema):
            raise Undecodable(f"event {self.id!r}: dataschema {self.dataschema!r} does not name {self.type!r}")
        return int(number)

    @property
    def content_hash(self) -> str:
        """SHA-256 of the canonical `data` alone: what "the same content" means."""
        return content_hash(self.data)

    def to_bytes(self) -> bytes:
        """The bytes to store: every attribute that CloudEvents requires, the others where they are set."""
        attributes = {name: value for name in _ATTRIBUTES if (value := getattr(self, name)) is not None}
        return encode(attributes)

    @classmethod
    def from_bytes(cls, value: bytes) -> Envelope:
        """Reads stored bytes; raises Undecodable for anything that is no envelope."""
        try:
            return msgspec.convert(orjson.loads(value), cls)
        except (orjson.JSONDecodeError, msgspec.ValidationError) as error:
            raise Undecodable(f"not an event: {error}") from error

    @classmethod
    def from_outside(cls, value: bytes) -> Envelope:
        """Reads bytes that somebody else published: as `from_bytes`, but strictly, and every attribute is checked.

        Raises Undecodable for what is no envelope, InvalidInput for an attribute that does not fit.
        """
        try:
            envelope = msgspec.convert(read_json(value), cls)
        except msgspec.ValidationError as error:
            raise Undecodable(f"not an event: {error}") from error
        envelope.check()
        return envelope

    def check(self) -> None:
        """Raises InvalidInput naming the first attribute that does not fit; `data` is checked against its type elsewhere."""
        if self.specversion != "1.0":
            raise InvalidInput("specversion", f"is {self.specversion!r}", "mnemolog reads CloudEvents 1.0")
        if self.datacontenttype != "application/json":
            raise InvalidInput("datacontenttype", f"is {self.datacontenttype!r}", "only application/json")
        for field in ("id", "source", "type"):
            check_name(field, getattr(self, field))
        for field in ("correlationid", "causationid", "keyid"):
            value = getattr(self, field)
            if value is not None:
                check_name(field, value)
        _ = self.scope
        for field, moment in (("time", self.time), ("recordedtime", self.recordedtime)):
            if moment is None and field != "time":
                continue
            try:
                from_text(moment or "")
            except ValueError:
                raise InvalidInput(field, f"{moment!r} is not a time such as 2026-05-07T13:00:00.000000Z") from None
        if self.position is not None:
            Position.parse(self.position)
        if not _SCHEMA.fullmatch(self.dataschema) or not self.dataschema.startswith(f"urn:mnemolog:{self.type}:"):
            raise InvalidInput(
                "dataschema", f"{self.dataschema!r} does not name {self.type!r}", f"such as {schema_uri(self.type, 1)}"
            )


def headers_of(event: Envelope) -> tuple[tuple[str, bytes], ...]:
    """The CloudEvents headers of a structured-mode record: copies, for those who route by them."""
    texts = {
        "content-type": "application/cloudevents+json; charset=UTF-8",
        "ce_specversion": event.specversion,
        "ce_id": event.id,
        "ce_source": event.source,
        "ce_type": event.type,
        "ce_subject": event.subject,
        "ce_tenant": event.tenant,
        "ce_time": event.time,
    }
    return tuple((name, text.encode("utf-8")) for name, text in texts.items())


_ATTRIBUTES = Envelope.__struct_fields__
"""In the order in which they are written."""
