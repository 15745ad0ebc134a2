"""A value and a slot: reinforced, refined, replaced, corrected, filed late, scheduled or ended. Invariant: what stands is the
newest version by (event time, position) of those that are not scheduled, in whatever order they arrived."""

from __future__ import annotations

import msgspec

from ...schemas.changes import SlotReason
from ...schemas.forms import Slot
from .draft import Claim, Draft
from .finer import is_finer, same
from .records import Form, Place, Version
from .resolve_element import add_element
from .resolve_time import file_late, in_force_at, schedule, standing_of, version_corrected

__all__ = ["end_value", "places_ended", "places_set", "set_value"]


def set_value(draft: Draft, form: Form, claim: Claim, declared: Slot) -> None:
    """Makes `claim.value` the slot's value, or an element of it."""
    value = claim.value
    if value is None:
        raise ValueError(f"slot {claim.slot!r}: there is no value to set")  # refused with the evidence, before it gets here
    if declared.many:
        add_element(draft, form, claim, value, declared)
        return
    place = draft.state.place_of(form.form_id, claim.slot)
    standing = standing_of(place)
    current = place.current if place is not None else None
    if claim.when > draft.horizon:
        schedule(draft, form, claim, value, place, "")
        return
    if place is not None and claim.correction and claim.before is not None:
        wrong = version_corrected(place, claim)
        if wrong is not None and (current is None or wrong.version != current.version):
            claim = msgspec.structs.replace(claim, when=wrong.valid_from)
            file_late(draft, form, claim, value, place, wrong, "corrected")
            return
    if place is not None and standing is not None and claim.when < standing.since:
        within = claim.when >= standing.valid_from
        if not (within and current is not None and current.value is not None and is_finer(value, current.value, declared)):
            in_force = in_force_at(place, claim.when)
            filed = file_late(draft, form, claim, value, place, in_force, "corrected" if claim.correction else "late")
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
    ended = False
    for place in places_ended(draft, form, claim, declared):
        standing, current = standing_of(place), place.current
        if claim.when > draft.horizon and current is not None:
            schedule(draft, form, claim, None, place, place.element)
            ended = True
        elif standing is not None and claim.when < standing.since:
            in_force = in_force_at(place, claim.when)
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
        elif standing is not None and claim.evidence and _over(standing, claim):
            # Said to be over once more: what was true in between and comes to light later does not bring it back.
            draft.reinforce(place, standing, claim)
            ended = True
    return ended


def _over(standing: Version, claim: Claim) -> bool:
    """Whether what the claim ends is known to have ended."""
    if standing.status != "retired":
        return False
    return claim.value is None or (standing.value is not None and same(claim.value, standing.value))


def places_set(draft: Draft, form: Form, claim: Claim, declared: Slot) -> list[Place | None]:
    """What stands where the value is to stand, and against it."""
    state, value = draft.state, claim.value
    if not declared.many or value is None:
        return [state.place_of(form.form_id, claim.slot)]
    instead = [claim.before.key] if claim.before is not None else []
    against = [state.place_of(form.form_id, name, value.key) for name in draft.policy.opposites(form.form_type, claim.slot)]
    return [*(state.place_of(form.form_id, claim.slot, key) for key in (value.key, *instead)), *against]


def places_ended(draft: Draft, form: Form, claim: Claim, declared: Slot) -> list[Place]:
    """What the end of a value, or of all, is about."""
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
