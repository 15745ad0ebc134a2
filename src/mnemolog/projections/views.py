"""From rows to what readers get."""

from __future__ import annotations

from typing import Any

import msgspec

from ..schemas.observations import Evidence
from ..schemas.values import Value
from ..schemas.views import SlotView, TimelineEntry, TurnView

__all__ = ["EvidenceKey", "pieces", "slot_view", "timeline_entry", "turn_view", "value"]

EvidenceKey = tuple[str, str, int]
"""(form id, slot, version)"""

_VALUE = msgspec.json.Decoder(Value)
_EVIDENCE = msgspec.json.Decoder(list[Evidence])


def value(text: str | None) -> Value | None:
    return None if text is None else _VALUE.decode(text)


def pieces(text: str) -> list[Evidence]:
    return _EVIDENCE.decode(text)


def slot_view(row: Any, evidence: dict[EvidenceKey, list[Evidence]], *, retired: bool) -> SlotView:
    return SlotView(
        slot=row.slot,
        element=row.element,
        value=_VALUE.decode(row.value),
        status="retired" if retired else row.status,
        version=row.version,
        confidence=row.confidence,
        authority=row.authority,
        valid_from=row.valid_from,
        cause=row.cause,
        count=row.pieces,
        evidence=evidence.get((row.form_id, row.slot, row.version), []),
        recorded_at=row.recorded_at,
    )


def timeline_entry(row: Any) -> TimelineEntry:
    return TimelineEntry(
        entry_id=row.entry_id,
        occurred_at=row.occurred_at,
        kind=row.kind,
        text=row.text,
        actor=row.actor,
        action=row.action,
        object=row.object,
        before=row.before,
        after=row.after,
        cause=row.cause,
        form_id=row.form_id,
        slot=row.slot,
        input_id=row.input_id,
        session=row.session,
        evidence=pieces(row.evidence),
    )


def turn_view(row: Any) -> TurnView:
    return TurnView(
        event_id=row.event_id,
        source=row.source,
        offset=row.position,
        session=row.session,
        agent=row.agent,
        role=row.role,
        speaker=row.speaker,
        content=row.content,
        occurred_at=row.occurred_at,
        expires_at=row.expires_at,
    )
