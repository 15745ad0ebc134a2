"""The one reader of the changes topic: of all records that lie there, only those count that link, in log order, to the scope's
newest decision; what a stale writer or a redelivery left behind is passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from hashlib import sha256

import msgspec

from ...schemas.changes import Decision
from ...schemas.codec import derived_id
from ...schemas.envelope import Envelope, Position, schema_uri
from ...schemas.errors import Undecodable
from ...schemas.events import EVENTS, decode, make
from ...schemas.scope import Scope
from .moments import event_time
from .ports import Stored

__all__ = ["DecisionHead", "ValidDecision", "decision_envelope", "valid_decisions"]

_TYPE = "decision.made"
_CURRENT = schema_uri(_TYPE, EVENTS[_TYPE].version)


class DecisionHead(msgspec.Struct, frozen=True, kw_only=True):
    """The attributes of a decision's record that readers use; its `data` is the Decision beside it."""

    id: str
    source: str
    type: str
    tenant: str
    subject: str
    time: str
    position: str
    dataschema: str
    causationid: str | None = None
    recordedtime: str | None = None


class _Record(DecisionHead, frozen=True, kw_only=True):
    data: Decision


class ValidDecision(msgspec.Struct, frozen=True):
    """A decision that counts. `hash`: SHA-256 of its bytes as stored, what the scope's next decision links to."""

    stored: Stored
    envelope: DecisionHead
    decision: Decision
    hash: str


_read = msgspec.json.Decoder(_Record).decode


def valid_decisions(records: Iterable[Stored], heads: MutableMapping[str, str]) -> Iterator[ValidDecision]:
    """The valid decisions among `records`, in order. `heads` (scope to the hash of its newest decision; none: no decision yet)
    is the reader's checkpoint and moves on just before each decision is yielded. Raises Undecodable, NewerVersion."""
    for stored in records:
        record = _record(stored)
        decision = record.data
        scope = stored.scope
        if decision.prev != heads.get(scope, ""):
            continue
        digest = sha256(stored.value).hexdigest()
        heads[scope] = digest
        yield ValidDecision(stored, record, decision, digest)


def _record(stored: Stored) -> _Record:
    try:
        record = _read(stored.value)
    except msgspec.DecodeError:
        record = None
    if record is not None and record.dataschema == _CURRENT and record.type == _TYPE:
        return record
    # Another version, or not a decision at all: the slow way upcasts, or says what is wrong.
    envelope, data = decode(stored.value)
    if not isinstance(data, Decision) or envelope.position is None:
        raise Undecodable(f"offset {stored.offset} of {stored.topic}: {envelope.type} is not a decision about an input")
    return _Record(
        id=envelope.id,
        source=envelope.source,
        type=envelope.type,
        tenant=envelope.tenant,
        subject=envelope.subject,
        time=envelope.time,
        position=envelope.position,
        dataschema=envelope.dataschema,
        causationid=envelope.causationid,
        recordedtime=envelope.recordedtime,
        data=data,
    )


def decision_envelope(decision: Decision, given: Envelope, position: Position) -> Envelope:
    """The record of a decision about the input `given`, which lies at `position`: the same bytes whenever it is made again."""
    return make(
        decision,
        scope=Scope(given.tenant, given.subject),
        event_id=derived_id(given.tenant, given.subject, given.source, given.id, "decide", 0),
        time=event_time(given),
        position=str(position),
        causation=given.id,
        correlation=given.correlationid,
        recorded=given.recordedtime,
    )
