"""A value and time: filed late where it belongs, or put down for later with the deadline that makes it current."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ...schemas.changes import DeadlineSet, SlotReason
from ...schemas.codec import derived_id
from ...schemas.envelope import DEFAULT_SOURCE
from ...schemas.values import Value
from .draft import Claim, Draft
from .finer import same
from .records import Form, Place, Version

__all__ = [
    "VALID_FROM",
    "deadline_id",
    "file_late",
    "in_force_at",
    "schedule",
    "since_rollback",
    "standing_of",
    "version_corrected",
]

VALID_FROM = "valid_from"
"""The kind of deadline at which a scheduled version becomes current."""


def deadline_id(tenant: str, subject: str, kind: str, due: str) -> str:
    """The id of all that a scope has due then: also the id of the `deadline.passed` input."""
    return derived_id(tenant, subject, DEFAULT_SOURCE, f"{kind} {due}", "deadline", 0)


def standing_of(place: Place | None) -> Version | None:
    found = place.standing if place is not None else None
    return found if found is not None and not found.hidden else None


def in_force_at(place: Place, when: str) -> Version | None:
    """The version that held at `when`, as far as the hot ones reach."""
    found = None
    for version in place.hot:
        if version.valid_from <= when and not version.hidden:
            found = version
    return found


def version_corrected(place: Place, claim: Claim) -> Version | None:
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


def since_rollback(draft: Draft, form: Form, claim: Claim, places: Iterable[Place | None]) -> Claim:
    """What is said after a rollback goes on from what that put back or left in the `places` that it is about, which holds from
    the rollback on: it is no late news, however long it is said to have been so."""
    when = claim.when
    for place in places:
        standing = standing_of(place)
        if place is None or standing is None or standing.since <= when:
            continue
        if claim.correction and claim.before is not None and not place.element:
            wrong = version_corrected(place, claim)
            if wrong is not None and standing.value is not None and standing.value.key != claim.before.key:
                continue  # what was wrong is history by now, and is put right there
        asked = draft.state.rolled_back(standing.since, form.form_id, place.slot)
        if asked is not None and asked <= draft.given.moment:
            when = standing.since
    return msgspec.structs.replace(claim, when=when)


def file_late(
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


def schedule(draft: Draft, form: Form, claim: Claim, value: Value | None, place: Place | None, element: str) -> None:
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
