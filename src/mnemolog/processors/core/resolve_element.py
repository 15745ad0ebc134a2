"""Elements of a multi-valued slot come and go one by one, and none is lost by the coming of another."""

from __future__ import annotations

import msgspec

from ...schemas.changes import SlotReason
from ...schemas.forms import Slot
from ...schemas.values import Value
from .draft import Claim, Draft
from .finer import is_finer, same
from .records import Form, Place, Version
from .resolve_time import file_late, in_force_at, schedule, standing_of
from .wording import slot_label, subject_label

__all__ = ["add_element"]


def add_element(draft: Draft, form: Form, claim: Claim, value: Value, declared: Slot) -> None:
    state = draft.state
    if claim.before is not None and not same(claim.before, value):
        old = state.place_of(form.form_id, claim.slot, claim.before.key)
        if old is not None and old.current is not None and old.current.valid_from <= claim.when <= draft.horizon:
            if claim.when >= old.current.since:
                _replace_element(draft, form, claim, value, old, old.current, declared)
                return
            # Said again since, or left by a rollback: it had ended in between, at most.
            ended = msgspec.structs.replace(claim, value=None)
            draft.slot_changed(
                form, ended, status="history", reason="removed", value=None, element=old.element, supersedes=old.current
            )
            draft.reassert(form, old, old.current)
    place = state.place_of(form.form_id, claim.slot, value.key)
    if claim.when > draft.horizon:
        schedule(draft, form, claim, value, place, value.key)
        return
    against = [
        other
        for name in draft.policy.opposites(form.form_type, claim.slot)
        if (other := state.place_of(form.form_id, name, value.key)) is not None and other.current is not None
    ]
    newer_against = any(other.current is not None and other.current.since > claim.when for other in against)
    standing = standing_of(place)
    current = place.current if place is not None else None
    if place is not None and current is not None and claim.when >= current.valid_from:
        draft.reinforce(place, current, claim)
    elif newer_against or (standing is not None and claim.when < standing.since):
        in_force = in_force_at(place, claim.when) if place is not None else None
        filed = file_late(draft, form, claim, value, place, in_force, "late")
        if filed and place is not None and standing is not None and standing.valid_from <= claim.when < standing.since:
            draft.reassert(form, place, standing)
    else:
        coarser = [
            kept
            for other in state.standing_elements(form.form_id, claim.slot)
            if (kept := other.current) is not None and kept.value is not None and is_finer(value, kept.value, declared)
        ]
        reason: SlotReason = "confirmed" if claim.confirmed else "refined" if coarser else "added"
        draft.slot_changed(form, claim, status="confirmed", reason=reason, value=value, element=value.key)
        for other in against:
            if other.current is not None:
                _turn_around(draft, form, claim, value, other, other.current)
    draft.close_pending(form, claim.slot, value, many=True)


def _replace_element(
    draft: Draft, form: Form, claim: Claim, value: Value, old: Place, current: Version, declared: Slot
) -> None:
    """ "not tea but coffee": one decision, two elements."""
    reason: SlotReason = "corrected" if claim.correction else "removed"
    draft.slot_changed(
        form, claim, status="retired", reason=reason, value=current.value, element=old.element, supersedes=current
    )
    place = draft.state.place_of(form.form_id, claim.slot, value.key)
    standing = place.current if place is not None else None
    if place is not None and standing is not None:
        draft.reinforce(place, standing, claim)
    else:
        draft.slot_changed(
            form,
            claim,
            status="confirmed",
            reason="corrected" if claim.correction else "added",
            value=value,
            element=value.key,
            before=current.value,
        )
    shown = current.value.shown if current.value is not None else ""
    draft.decided(form, claim, declared, before=shown, after=value.shown)
    draft.close_pending(form, claim.slot, value, many=True)


def _turn_around(draft: Draft, form: Form, claim: Claim, value: Value, other: Place, current: Version) -> None:
    """What is liked now is no longer disliked."""
    lang = draft.given.lang
    own = slot_label(claim.slot, draft.policy.slot(form.form_type, claim.slot), lang)
    opposite = slot_label(other.slot, draft.policy.slot(form.form_type, other.slot), lang)
    draft.slot_changed(
        form,
        claim,
        status="retired",
        reason="removed",
        value=current.value,
        element=other.element,
        supersedes=current,
        slot=other.slot,
    )
    label = subject_label(draft.shown_name(form), value.shown, lang)
    draft.decided(form, claim, None, before=opposite, after=own, label=label)
