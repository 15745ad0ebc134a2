"""What may come in from outside: one record of the inbox, read strictly, is an input or an error that says why not.

Invariant: what is accepted can be decoded by everything behind the log, fits every store, and lies where its scope's order is.
"""

from __future__ import annotations

import msgspec

from ...adapters.kafka.client import partition_of
from ...schemas.clean import check_content, check_metadata, check_plain
from ...schemas.envelope import Envelope
from ...schemas.errors import ConflictingContent, InvalidInput, MnemologError, NewerVersion, Undecodable
from ...schemas.events import DYNAMICS, EVENTS, RESERVED, validate
from ...schemas.inputs import DeadlinePassed, SessionEnded, Turn
from ...schemas.scope import Scope, check_name
from ...schemas.times import from_text
from ...schemas.upcast import upcast

__all__ = ["MAX_INPUT", "NOBODY", "REFUSALS", "accept", "check_place", "readable_scope", "reason_of"]

NOBODY = "mnemolog:unreadable"
"""The tenant of dead letters whose scope cannot be read. Nobody may be called so."""

MAX_INPUT = 12 * 1024 * 1024
"""Bytes of the largest input: on dynamics it is a little longer, and must still be a record that the broker takes."""

_INPUTS = sorted(name for name, event in EVENTS.items() if event.topic == DYNAMICS)

# What an InvalidInput is about, where that is a reason of its own.
_FIELDS = ("type", "key", "partition")
_KINDS: tuple[tuple[type[MnemologError], str], ...] = (
    (ConflictingContent, "conflict"),
    (NewerVersion, "version"),
    (Undecodable, "undecodable"),
)
REFUSALS = ("undecodable", "type", "version", "invalid", "key", "partition", "conflict")
"""The reasons for which a record of the inbox becomes a dead letter."""


def reason_of(error: MnemologError) -> str:
    """The short code of what was wrong."""
    if type(error) is InvalidInput and error.field in _FIELDS:
        return error.field
    return next((reason for kind, reason in _KINDS if isinstance(error, kind)), "invalid")


def accept(value: bytes) -> Envelope:
    """The input that these bytes are, without what only the log says of it (position, recorded time).

    Raises Undecodable, NewerVersion, or InvalidInput naming the attribute or the field of `data`.
    """
    if not value:
        raise Undecodable("the record has no value")
    if len(value) > MAX_INPUT:
        raise InvalidInput("data", f"makes a record of {len(value):,} bytes; at most {MAX_INPUT:,}", "split it into several")
    event = Envelope.from_outside(value)
    kind = EVENTS.get(event.type)
    if kind is None or kind.topic != DYNAMICS:
        what = "is reserved" if event.type in RESERVED else "is written by mnemolog alone" if kind else "is unknown"
        raise InvalidInput("type", f"{event.type!r} {what}", f"inputs are {', '.join(_INPUTS)}")
    if event.tenant == NOBODY:
        raise InvalidInput("tenant", f"{NOBODY!r} is reserved", "use another name")
    if event.keyid is not None:
        raise InvalidInput("keyid", "is reserved", "leave it out: the log encrypts, not the publisher")
    if event.version > kind.version:
        raise NewerVersion(f"{event.type} v{event.version} is a newer version than v{kind.version}: upgrade mnemolog")
    check_plain("", event.data)
    _check_data(event, validate(event.type, upcast(event.type, event.version, kind.version, event.data)))
    return msgspec.structs.replace(event, recordedtime=None, position=None)


def check_place(event: Envelope, key: str, partition: int, partitions: int) -> None:
    """Raises InvalidInput where a record does not lie under its scope's key, in the partition of it."""
    scope = str(event.scope)
    if key != scope:
        raise InvalidInput("key", f"{_shown(key)} is not the record's scope", f"the key of this record is {scope!r}, in UTF-8")
    right = partition_of(scope, partitions)
    if right != partition:
        raise InvalidInput(
            "partition",
            f"the scope {scope!r} lies in {right}, the record in {partition}",
            "hash keys by murmur2, with librdkafka partitioner=murmur2_random: else a scope has no order",
        )


def _shown(key: str) -> str:
    return "no key" if not key else repr(key[:80])


def _check_data(event: Envelope, data: object) -> None:
    """What the schema of a type cannot say."""
    if isinstance(data, Turn):
        check_content("content", data.content)
        check_name("speaker", data.speaker, empty=True)
        check_name("session", data.session)
        check_name("agent", data.agent)
        check_metadata("metadata", data.metadata)
        _check_time("occurred_at", data.occurred_at)
        if data.expires_at is not None:
            _check_time("expires_at", data.expires_at)
        if data.occurred_at != event.time:
            raise InvalidInput("occurred_at", f"is {data.occurred_at} but time is {event.time}", "both say when it was said")
    elif isinstance(data, SessionEnded):
        check_name("session", data.session)
    elif isinstance(data, DeadlinePassed):
        check_name("kind", data.kind)
        _check_time("due", data.due)


def _check_time(field: str, text: str) -> None:
    try:
        from_text(text)
    except ValueError as error:
        raise InvalidInput(field, str(error)) from None


def readable_scope(value: bytes, key: str) -> Scope | None:
    """The scope of a record that was refused: what its value says, else its key, else nobody's (None)."""
    try:
        named = msgspec.json.decode(value, type=_Named)
        return Scope(named.tenant, named.subject)
    except (msgspec.DecodeError, MnemologError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return Scope.parse(key)
    except MnemologError:
        return None


class _Named(msgspec.Struct, frozen=True):
    tenant: str
    subject: str
