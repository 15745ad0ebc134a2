"""From rows to what readers get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..schemas.changes import EpisodeSeen
from ..schemas.observations import Evidence
from ..schemas.values import Value
from ..schemas.views import EdgeView, FormView, PendingView, SlotView, TimelineEntry, TurnView, VersionView
from .cells import episode_line

__all__ = [
    "EvidenceKey",
    "edge_view",
    "form_view",
    "pending_view",
    "pieces",
    "slot_view",
    "timeline_entry",
    "turn_view",
    "value",
    "version_view",
]

EvidenceKey = tuple[str, str, int]
"""(form id, slot, version)"""

_VALUE = msgspec.json.Decoder(Value)
_EVIDENCE = msgspec.json.Decoder(list[Evidence])


def value(text: str | None) -> Value | None:
    return None if text is None else _VALUE.decode(text)


def pieces(text: str) -> list[Evidence]:
    return _EVIDENCE.decode(text)


def form_view(
    scope: str,
    form: Any,
    slots: Sequence[Any],
    evidence: dict[EvidenceKey, list[Evidence]],
    names: dict[str, str] | None,
    told: tuple[str, str],
) -> FormView:
    """names: what the Forms are called by those who are seen, where not everybody is. A Form may then have no name, and shows
    no key that says more than the name and the quotes. told: the (name, key) that nothing hidden alone gave."""
    (name, key), updated_at, whole = told, form.updated_at, names is None
    views = [slot_view(row, evidence, retired=form.status == "retired", whole=whole) for row in slots]
    if names is not None:
        said = " ".join(piece.quote for view in views for piece in view.evidence).casefold()
        name = names.get(form.form_id, name if name.casefold() in said else "")
        heard = f"{name.casefold()} {said}"
        key = key if key in _PLAIN or key.removeprefix("relation:").casefold() in heard else ""
        updated_at = max((row.event_time for row in slots), default="")
    return FormView(
        scope=scope,
        form_id=form.form_id,
        form_type=form.form_type,
        key=key,
        name=name,
        status=form.status,
        slots=views,
        updated_at=updated_at,
    )


_PLAIN = ("self", "scope", "current")


def slot_view(row: Any, evidence: dict[EvidenceKey, list[Evidence]], *, retired: bool, whole: bool = True) -> SlotView:
    """whole: all evidence is seen, so that the stored count holds."""
    pieces_ = evidence.get((row.form_id, row.slot, row.version), [])
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
        count=row.pieces if whole else len(pieces_),
        evidence=pieces_,
        recorded_at=row.recorded_at,
    )


def version_view(row: Any, following: Any, evidence: dict[EvidenceKey, list[Evidence]], *, whole: bool) -> VersionView:
    """`following` is the row after it, of whatever slot. whole: all evidence is seen."""
    goes_on = following is not None and (following.form_id, following.slot, following.element) == (
        row.form_id,
        row.slot,
        row.element,
    )
    pieces_ = evidence.get((row.form_id, row.slot, row.version), [])
    return VersionView(
        form_id=row.form_id,
        form_type=row.form_type,
        slot=row.slot,
        element=row.element,
        version=row.version,
        value=value(row.value),
        status=row.status,
        current=row.standing == row.version and row.form_status != "retired",
        reason=row.reason,
        confidence=row.confidence,
        authority=row.authority,
        valid_from=row.valid_from,
        valid_to=following.valid_from if following is not None and goes_on else None,
        supersedes=row.supersedes if row.tells_before else None,
        before=value(row.before) if row.tells_before else None,
        cause=row.cause,
        count=row.pieces if whole else len(pieces_),
        evidence=pieces_,
        input_id=row.input_id,
        session=row.session,
        recorded_at=row.recorded_at,
    )


def timeline_entry(row: Any) -> TimelineEntry:
    """Without what was there before, where that is not to be told."""
    evidence = pieces(row.evidence)
    text, before = row.text, row.before
    if before and not row.tells_before:
        seen = EpisodeSeen(
            episode_id=row.entry_id,
            episode=row.kind,
            actor=row.actor,
            action=row.action,
            object=row.object,
            after=row.after,
            cause=row.cause,
            occurred_at=row.occurred_at,
            evidence=evidence,
        )
        text, before = episode_line(seen), ""
    return TimelineEntry(
        entry_id=row.entry_id,
        occurred_at=row.occurred_at,
        kind=row.kind,
        text=text,
        actor=row.actor,
        action=row.action,
        object=row.object,
        before=before,
        after=row.after,
        cause=row.cause,
        form_id=row.form_id,
        slot=row.slot,
        input_id=row.input_id,
        session=row.session,
        evidence=evidence,
    )


def edge_view(row: Any) -> EdgeView:
    return EdgeView(
        edge_id=row.edge_id,
        from_form=row.from_form,
        to_form=row.to_form,
        relation=row.relation,
        weight=row.weight,
        status=row.status,
        valid_from=row.valid_from,
        evidence=pieces(row.evidence),
    )


def pending_view(row: Any) -> PendingView:
    return PendingView(
        pending_id=row.pending_id,
        form_id=row.form_id,
        form_type=row.form_type,
        name=row.name,
        slot=row.slot,
        value=value(row.value),
        why=row.why,
        question=row.question,
        confidence=row.confidence,
        authority=row.authority,
        opened_at=row.opened_at,
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
