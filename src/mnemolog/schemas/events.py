"""The registry of events: which types exist, at which version, on which topic, and how stored bytes become typed data.

Old versions are upcast step by step as plain data; a version newer than this code is refused, never guessed at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from . import changes, inputs, observations, recalls, rejections
from .clean import check_plain
from .envelope import DEFAULT_SOURCE, Envelope, schema_uri
from .errors import InvalidInput, NewerVersion, Undecodable, UnknownField
from .scope import Scope
from .upcast import upcast

__all__ = [
    "CHANGES",
    "DEAD_LETTERS",
    "DYNAMICS",
    "EVENTS",
    "INBOX",
    "OBSERVATIONS",
    "RECALLS",
    "RESERVED",
    "SUMMARIES",
    "TOPICS",
    "EventType",
    "decode",
    "decode_data",
    "make",
    "type_of",
    "validate",
]

INBOX = "memory.inbox.v1"
DYNAMICS = "memory.dynamics.v1"
OBSERVATIONS = "memory.observations.v1"
CHANGES = "memory.changes.v1"
SUMMARIES = "memory.summaries.v1"
RECALLS = "memory.recalls.v1"
DEAD_LETTERS = "memory.dead-letters.v1"
TOPICS = (INBOX, DYNAMICS, OBSERVATIONS, CHANGES, SUMMARIES, RECALLS, DEAD_LETTERS)


class EventType(NamedTuple):
    """One type of event: its name, the current version of its data, the Struct, and the topic it lies on."""

    name: str
    version: int
    struct: type[msgspec.Struct]
    topic: str


EVENTS: dict[str, EventType] = {
    event.name: event
    for event in (
        EventType("turn.recorded", 2, inputs.Turn, DYNAMICS),
        EventType("session.ended", 1, inputs.SessionEnded, DYNAMICS),
        EventType("correction.requested", 1, inputs.CorrectionRequested, DYNAMICS),
        EventType("confirmation.given", 1, inputs.ConfirmationGiven, DYNAMICS),
        EventType("deadline.passed", 1, inputs.DeadlinePassed, DYNAMICS),
        EventType("retraction.requested", 1, inputs.RetractionRequested, DYNAMICS),
        EventType("erasure.requested", 1, inputs.ErasureRequested, DYNAMICS),
        EventType("reextract.requested", 1, inputs.ReextractRequested, DYNAMICS),
        EventType("rollback.requested", 1, inputs.RollbackRequested, DYNAMICS),
        EventType("feedback.given", 1, inputs.FeedbackGiven, DYNAMICS),
        EventType("observation.recorded", 1, observations.Observation, OBSERVATIONS),
        EventType("extraction.failed", 1, observations.ExtractionFailed, OBSERVATIONS),
        EventType("decision.made", 1, changes.Decision, CHANGES),
        EventType("week.summarised", 1, changes.WeekSummarised, SUMMARIES),
        EventType("memory.recalled", 1, recalls.MemoryRecalled, RECALLS),
        EventType("input.rejected", 1, rejections.InputRejected, DEAD_LETTERS),
    )
}

RESERVED = (
    "document.published",
    "fact.shared",
    "memory.reviewed",
    "source.erased",
    "step.recorded",
)
"""Names that later versions will use; nobody else may."""


def type_of(name: str) -> EventType:
    """The registered type; raises Undecodable for an unknown name."""
    try:
        return EVENTS[name]
    except KeyError:
        raise Undecodable(f"unknown event type {name!r}; known: {', '.join(sorted(EVENTS))}") from None


def decode_data(envelope: Envelope) -> Any:
    """The typed data of an envelope, upcast to the current version."""
    event = type_of(envelope.type)
    version = envelope.version
    if version > event.version:
        raise NewerVersion(
            f"event {envelope.id!r} is {event.name} v{version} but this mnemolog knows v{event.version}: upgrade mnemolog"
        )
    data = upcast(event.name, version, event.version, envelope.data)
    try:
        return msgspec.convert(data, event.struct)
    except msgspec.ValidationError as error:
        raise Undecodable(f"event {envelope.id!r} ({event.name} v{version}): {error}") from error


def decode(value: bytes) -> tuple[Envelope, Any]:
    """Stored bytes to the envelope and its typed data."""
    envelope = Envelope.from_bytes(value)
    return envelope, decode_data(envelope)


def make(
    data: msgspec.Struct,
    *,
    scope: Scope,
    event_id: str,
    time: str,
    source: str = DEFAULT_SOURCE,
    position: str | None = None,
    causation: str | None = None,
    correlation: str | None = None,
    recorded: str | None = None,
) -> Envelope:
    """The envelope around typed data, at the data's current version.

    An input is checked here, before it can reach a log: InvalidInput names the attribute or the field of `data`.
    """
    event = _BY_STRUCT[type(data)]
    try:
        plain: dict[str, Any] = msgspec.to_builtins(data, builtin_types=(bytes, bytearray))
    except (TypeError, RecursionError):  # a value that JSON does not have; the check says in which field
        check_plain("", {name: getattr(data, name) for name in data.__struct_fields__})
        raise
    envelope = Envelope(
        id=event_id,
        source=source,
        type=event.name,
        subject=scope.subject,
        tenant=scope.tenant,
        time=time,
        dataschema=schema_uri(event.name, event.version),
        recordedtime=recorded,
        correlationid=correlation,
        causationid=causation,
        position=position,
        data=plain,
    )
    if event.topic == DYNAMICS:
        envelope.check()
        check_plain("", plain)
        validate(event.name, plain)
    return envelope


def validate(name: str, data: dict[str, Any]) -> Any:
    """Typed data of what a caller gave; raises InvalidInput (UnknownField) that names the field."""
    event = type_of(name)
    try:
        return msgspec.convert(data, event.struct)
    except msgspec.ValidationError as error:
        message = str(error)
        problem, _, path = message.partition(" - at `")
        field = path.rstrip("`").removeprefix("$").removeprefix(".")
        for prefix in ("Object contains unknown field `", "Object missing required field `"):
            if problem.startswith(prefix):
                unknown = problem.removeprefix(prefix).rstrip("`")
                field = f"{field}.{unknown}" if field else unknown
                if "unknown" in prefix:
                    known = ", ".join(f.name for f in msgspec.structs.fields(event.struct))
                    raise UnknownField(field, f"{name} has no such field", f"known: {known}") from None
                raise InvalidInput(field, "is required") from None
        raise InvalidInput(field or "data", problem) from None


_BY_STRUCT = {event.struct: event for event in EVENTS.values()}
