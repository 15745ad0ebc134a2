"""The candidates of one turn seen together, before each is resolved by itself."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...schemas.observations import Candidate, EntityRef
from .draft import Draft

__all__ = ["joined", "located"]


def joined(draft: Draft, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of a turn, where "no longer vegetarian, I am pescatarian now" is one change: an end that a plain value of
    the same single-valued slot follows gives that one its reason and is left out."""
    made: list[Candidate | None] = list(candidates)
    for place, ending in enumerate(candidates):
        declared = draft.policy.slot(ending.form_type, ending.slot)
        if ending.op != "remove" or declared is None or declared.many:
            continue
        meant = ("set", ending.form_type, ending.slot, ending.entity, ending.valid_from)
        for later in range(place + 1, len(candidates)):
            value = candidates[later]
            alike = (value.op, value.form_type, value.slot, value.entity, value.valid_from) == meant
            if alike and value.authority == "user" and not value.hedged and value.confidence >= declared.threshold:
                made[later] = msgspec.structs.replace(value, cause=value.cause or ending.cause)
                made[place] = None
                break
    return [candidate for candidate in made if candidate is not None]


def located(draft: Draft, candidate: Candidate) -> Candidate:
    """A correction that names the old value is about wherever that value stands: "not Tuesday, Wednesday"."""
    before = candidate.before
    if not candidate.correction or before is None or candidate.op not in ("set", "add"):
        return candidate
    if candidate.slot:
        return candidate
    state, value = draft.state, candidate.value
    standing = [
        place
        for place in state.place.values()
        if (kept := place.current) is not None
        and kept.value is not None
        and kept.value.key == before.key
        and (value is None or value.type == kept.value.type)
        and not state.form[place.form_id].retired
    ]
    if not standing:
        return candidate
    place = max(standing, key=lambda place: (state.form[place.form_id].touched, place.born))
    form = state.form[place.form_id]
    entity = EntityRef("self") if form.key == "self" else EntityRef("named", form.key)
    return msgspec.structs.replace(candidate, form_type=form.form_type, slot=place.slot, entity=entity)
