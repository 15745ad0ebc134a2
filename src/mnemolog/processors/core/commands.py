"""Inputs that are no turns: corrections and confirmations by hand, session ends, deadlines, hiding. What has no target any more
is recorded and changes nothing."""

from __future__ import annotations

import msgspec

from ...schemas.changes import Hidden, WorkingCleared
from ...schemas.inputs import (
    ConfirmationGiven,
    CorrectionRequested,
    DeadlinePassed,
    ErasureRequested,
    FeedbackGiven,
    RetractionRequested,
    SessionEnded,
)
from ...schemas.values import Value
from .draft import Claim, Draft
from .resolve_answer import accept, decline
from .resolve_entity import name_by_value
from .resolve_value import end_value, set_value
from .values import detect_lang, parse_value

__all__ = ["carry_out"]


def carry_out(draft: Draft, data: msgspec.Struct) -> str:
    """Applies a command and returns a note, empty where all went as asked."""
    if isinstance(data, CorrectionRequested):
        return _correct(draft, data)
    if isinstance(data, ConfirmationGiven):
        return _confirm(draft, data)
    if isinstance(data, SessionEnded):
        if data.session not in draft.state.working:
            return "nothing was kept for this session"
        draft.emit(WorkingCleared(session=data.session))
        return ""
    if isinstance(data, DeadlinePassed):
        return ""  # what was due has been applied before
    if isinstance(data, RetractionRequested):
        return _hide(draft, data)
    if isinstance(data, ErasureRequested):
        draft.emit(Hidden(target="scope", reason=data.reason, actor=data.actor))
        return ""
    if isinstance(data, FeedbackGiven):
        return ""  # kept for whoever weighs memories; what is true does not depend on it
    return f"{type(data).__name__} changes nothing"


def _correct(draft: Draft, data: CorrectionRequested) -> str:
    form = draft.state.form.get(data.form_id)
    if form is None:
        return f"no form {data.form_id!r}"
    form_type = draft.policy.type(form.form_type)
    declared = draft.policy.slot(form.form_type, data.slot)
    if declared is None or form_type is None:
        return f"form type {form.form_type!r} has no slot {data.slot!r}"
    value = None
    if data.value is not None:
        value = _read(draft, form.form_type, data.slot, data.value)
        if value is None:
            draft.reject(f"{data.value!r} is not {declared.type}")
            return f"{data.value!r} is not a value of the slot {data.slot!r}"
    old = None
    if data.element is not None:
        old = _element(draft, form.form_id, data.slot, data.element)
        if old is None:
            return f"slot {data.slot!r} holds no {data.element!r}"
    claim = Claim(
        slot=data.slot,
        value=value if value is not None else old,
        confidence=1.0,
        authority="user",
        when=draft.given.moment,
        evidence=(),
        cause=data.reason,
        before=old if value is not None else None,
        correction=True,
    )
    if value is None:
        return "" if end_value(draft, form, claim, declared) else "the slot is empty already"
    set_value(draft, form, claim, declared)
    if declared.identity:
        name_by_value(draft, form, form_type, data.slot, declared, value)
    return ""


def _element(draft: Draft, form_id: str, slot: str, element: str) -> Value | None:
    """The current value that an element's key, or its words, name."""
    for place in draft.state.standing_elements(form_id, slot):
        current = place.current
        if current is not None and current.value is not None and element in (place.element, current.value.shown):
            return current.value
    return None


def _confirm(draft: Draft, data: ConfirmationGiven) -> str:
    pending = draft.state.pending.get(data.pending_id)
    if pending is None:
        return f"no pending question {data.pending_id!r}"
    if not data.accept and data.value is None:
        decline(draft, pending)
        return ""
    value = None
    if data.value is not None:
        value = _read(draft, pending.form_type, pending.slot, data.value)
        if value is None:
            draft.reject(f"{data.value!r} is not a value of the slot {pending.slot!r}")
            return f"{data.value!r} is not a value of the slot {pending.slot!r}"
    accept(draft, pending, value, ())
    return ""


def _read(draft: Draft, form_type: str, slot: str, text: str) -> Value | None:
    declared = draft.policy.slot(form_type, slot)
    if declared is None:
        return None
    given = draft.given
    return parse_value(declared, text, at=given.moment, utc_offset=given.utc_offset, lang=detect_lang(text))


def _hide(draft: Draft, data: RetractionRequested) -> str:
    form = draft.state.form.get(data.target_id)
    if data.target in ("form", "slot") and form is None:
        return f"no form {data.target_id!r}"
    draft.emit(Hidden(target=data.target, target_id=data.target_id, slot=data.slot, reason=data.reason, actor=data.actor))
    return ""
