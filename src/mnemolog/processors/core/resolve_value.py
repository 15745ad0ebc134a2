"""A value and a slot: reinforced, refined, replaced, corrected, filed late, scheduled or ended. Invariant: what stands is the
newest version by (event time, position) of those that are not scheduled, in whatever order they arrived."""

from __future__ import annotations

import msgspec

from ...schemas.changes import DeadlineSet, SlotReason
from ...schemas.codec import derived_id
from ...schemas.envelope import DEFAULT_SOURCE
from ...schemas.forms import Slot
from ...schemas.values import Value
from .draft import Claim, Draft
from .finer import is_finer, same
from .state import Form, Place, Version
from .wording import slot_label, subject_label

__all__ = ["VALID_FROM", "deadline_id", "end_value", "set_value"]

VALID_FROM = "valid_from"
"""The kind of deadline at which a scheduled version becomes current."""


def deadline_id(tenant: str, subject: str, kind: str, due: str) -> str:
    """The id of all that a scope has due then: also the id of the `deadline.passed` input."""
    return derived_id(tenant, subject, DEFAULT_SOURCE, f"{kind} {due}", "deadline", 0)


def set_value(draft: Draft, form: Form, claim: Claim, declared: Slot) -> None:
    """Makes `claim.value` the slot's value, or an element of it."""
    value = claim.value
    if value is None:
        raise ValueError(f"slot {claim.slot!r}: there is no value to set")  # refused with the evidence, before it gets here
    if declared.many:
        _add_element(draft, form, claim, value, declared)
        return
    place = draft.state.place_of(form.form_id, claim.slot)
    standing = _standing(place)
    current = place.current if place is not None else None
    if claim.when > draft.horizon:
        _schedule(draft, form, claim, value, place, "")
        return
    if place is not None and claim.correction and claim.before is not None:
        wrong = _corrected(place, claim)
        if wrong is not None and wrong is not current:
            claim = msgspec.structs.replace(claim, when=wrong.valid_from)
            _late(draft, form, claim, value, place, wrong, "corrected")
            return
    if place is not None and standing is not None and claim.when < standing.since:
        within = claim.when >= standing.valid_from and standing.value is not None
        if not (within and standing.value is not None and is_finer(value, standing.value, declared)):
            in_force = _in_force(place, claim.when)
            filed = _late(draft, form, claim, value, place, in_force, "corrected" if claim.correction else "late")
            if filed and within:
                draft.reassert(form, place, standing)
            return
    if current is None or current.value is None:
        reason: SlotReason = "confirmed" if claim.confirmed else "new"
        draft.slot_changed(form, claim, status="confirmed", reason=reason, value=value, supersedes=None, before=claim.before)
    elif place is not None and (
        same(value, current.value) or (is_finer(current.value, value, declared) and not claim.correction)
    ):
        draft.reinforce(place, current, claim)
    elif is_finer(value, current.value, declared) and not claim.correction:
        draft.slot_changed(form, claim, status="confirmed", reason="refined", value=value, supersedes=current)
    else:
        reason = "corrected" if claim.correction else "confirmed" if claim.confirmed else "newer"
        draft.slot_changed(
            form, claim, status="confirmed", reason=reason, value=value, supersedes=current, before=current.value
        )
        draft.decided(form, claim, declared, before=current.value.shown, after=value.shown)
    draft.close_pending(form, claim.slot, value, many=False)


def end_value(draft: Draft, form: Form, claim: Claim, declared: Slot) -> bool:
    """The slot, or the element `claim.value`, holds no longer; tells whether there was anything to end."""
    elements = _ended_elements(draft, form, claim, declared)
    ended = False
    for place in elements:
        standing, current = _standing(place), place.current
        if claim.when > draft.horizon and current is not None:
            _schedule(draft, form, claim, None, place, place.element)
            ended = True
        elif standing is not None and claim.when < standing.since:
            in_force = _in_force(place, claim.when)
            if in_force is not None and in_force.value is not None and in_force.status != "retired":
                draft.slot_changed(
                    form, claim, status="history", reason="removed", value=None, element=place.element, supersedes=in_force
                )
                if in_force.version == standing.version:
                    draft.reassert(form, place, standing)
                ended = True
        elif current is not None and current.value is not None:
            _retire(draft, form, claim, place, current, declared)
            draft.close_pending(form, claim.slot, current.value, many=declared.many)
            ended = True
    return ended


def _ended_elements(draft: Draft, form: Form, claim: Claim, declared: Slot) -> list[Place]:
    state = draft.state
    if declared.many:
        if claim.value is None:
            return state.standing_elements(form.form_id, claim.slot)
        exact = state.place_of(form.form_id, claim.slot, claim.value.key)
        if exact is not None:
            return [exact]
        # "I no longer like wine" also ends "red wine".
        found = state.standing_elements(form.form_id, claim.slot)
        return [
            place for place in found if (kept := place.current) and kept.value and is_finer(kept.value, claim.value, declared)
        ]
    place = state.place_of(form.form_id, claim.slot)
    if place is None:
        return []
    current = place.current
    if claim.value is not None and current is not None and current.value is not None:
        one, other = claim.value, current.value
        if not (same(one, other) or is_finer(other, one, declared) or is_finer(one, other, declared)):
            return []
    return [place]


def _retire(
    draft: Draft,
    form: Form,
    claim: Claim,
    place: Place,
    current: Version,
    declared: Slot | None,
    reason: SlotReason = "removed",
) -> None:
    draft.slot_changed(
        form,
        claim,
        status="retired",
        reason=reason,
        value=current.value,
        element=place.element,
        supersedes=current,
        before=current.value,
        slot=place.slot,
    )
    shown = current.value.shown if current.value is not None else ""
    draft.decided(form, claim, declared, before=shown, after="", slot=place.slot)


def _add_element(draft: Draft, form: Form, claim: Claim, value: Value, declared: Slot) -> None:
    state = draft.state
    if claim.before is not None and not same(claim.before, value):
        old = state.place_of(form.form_id, claim.slot, claim.before.key)
        if old is not None and old.current is not None and old.current.valid_from <= claim.when <= draft.horizon:
            _replace_element(draft, form, claim, value, old, old.current, declared)
            return
    place = state.place_of(form.form_id, claim.slot, value.key)
    if claim.when > draft.horizon:
        _schedule(draft, form, claim, value, place, value.key)
        return
    against = [
        other
        for name in draft.policy.opposites(form.form_type, claim.slot)
        if (other := state.place_of(form.form_id, name, value.key)) is not None and other.current is not None
    ]
    newer_against = any(other.current is not None and other.current.since > claim.when for other in against)
    standing = _standing(place)
    current = place.current if place is not None else None
    if place is not None and current is not None and claim.when >= current.valid_from:
        draft.reinforce(place, current, claim)
    elif newer_against or (standing is not None and claim.when < standing.valid_from):
        in_force = _in_force(place, claim.when) if place is not None else None
        _late(draft, form, claim, value, place, in_force, "late")
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


def _late(
    draft: Draft, form: Form, claim: Claim, value: Value, place: Place | None, in_force: Version | None, reason: SlotReason
) -> bool:
    """Filed where it belongs in time; what stands now is not touched. Tells whether it became a version of its own."""
    holds = in_force is not None and in_force.status != "retired" and in_force.value is not None
    if place is not None and in_force is not None and in_force.value is not None and holds and same(value, in_force.value):
        draft.reinforce(place, in_force, claim)
        return False
    draft.slot_changed(
        form,
        claim,
        status="history",
        reason=reason,
        value=value,
        element=place.element if place is not None else (value.key if _is_many(draft, form, claim) else ""),
        supersedes=in_force if holds else None,
        before=in_force.value if in_force is not None and holds else claim.before,
    )
    return True


def _is_many(draft: Draft, form: Form, claim: Claim) -> bool:
    declared = draft.policy.slot(form.form_type, claim.slot)
    return declared is not None and declared.many


def _schedule(draft: Draft, form: Form, claim: Claim, value: Value | None, place: Place | None, element: str) -> None:
    """Holds from later on: a version that waits, and the deadline that makes it current. Without a value it will be an end."""
    for waiting in place.scheduled if place is not None else ():
        alike = waiting.value is None if value is None else waiting.value is not None and same(waiting.value, value)
        if waiting.valid_from == claim.when and alike and place is not None:
            draft.reinforce(place, waiting, claim)
            return
    for waiting in place.scheduled if place is not None else ():
        if claim.correction or waiting.valid_from == claim.when:
            ended = msgspec.structs.replace(claim, when=waiting.valid_from)
            draft.slot_changed(
                form,
                ended,
                status="retired",
                reason="corrected" if claim.correction else "removed",
                value=waiting.value,
                element=element,
                supersedes=waiting,
            )
    current = place.current if place is not None else None
    draft.slot_changed(
        form,
        claim,
        status="scheduled",
        reason="corrected" if claim.correction else "newer" if current is not None else "new",
        value=value,
        element=element,
        supersedes=current,
        before=None if current is None else current.value,
    )
    state = draft.state
    made = state.place_of(form.form_id, claim.slot, element)
    number = made.scheduled[-1].version if made is not None else 0
    draft.emit(
        DeadlineSet(
            deadline_id=deadline_id(state.tenant, state.subject, VALID_FROM, claim.when),
            deadline=VALID_FROM,
            due=claim.when,
            form_id=form.form_id,
            slot=claim.slot,
            version=number,
        )
    )


def _standing(place: Place | None) -> Version | None:
    found = place.standing if place is not None else None
    return found if found is not None and not found.hidden else None


def _in_force(place: Place, when: str) -> Version | None:
    """The version that held at `when`, as far as the hot ones reach."""
    found = None
    for version in place.hot:
        if version.valid_from <= when and not version.hidden:
            found = version
    return found


def _corrected(place: Place, claim: Claim) -> Version | None:
    """The newest version with the value that the user says was wrong."""
    for version in reversed(place.hot):
        if (
            claim.before is not None
            and version.value is not None
            and version.value.key == claim.before.key
            and version.valid_from <= claim.when
            and not version.hidden
        ):
            return version
    return None
