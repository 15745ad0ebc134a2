"""One candidate through the resolution table, row by row: evidence, speaker, authority, hedge, importance, entity, and then the
value itself. Each row either settles the candidate or lets it pass on."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...schemas.changes import EpisodeSeen, WorkingNoted
from ...schemas.forms import FormType, Slot
from ...schemas.observations import Candidate, EntityRef, Evidence
from ...schemas.values import Value
from .draft import Claim, Draft
from .finer import is_finer
from .records import Form
from .resolve_cancel import call_off
from .resolve_entity import (
    add_edge,
    called_off_since,
    find_form,
    identified,
    identified_since,
    make_form,
    name_by_value,
    naming,
    parted_since,
)
from .resolve_pending import Why, open_question, open_unresolved
from .resolve_relation import declared_relations
from .resolve_time import since_rollback
from .resolve_turn import located
from .resolve_value import end_value, places_ended, places_set, set_value

__all__ = ["evidence_problem", "hear", "settle", "value_problem"]

_SECOND_HAND = ("assistant", "tool")
_FIRST_HAND = ("user", "document")
_CALLED_OFF = "what it is about was called off since it was said"


def hear(draft: Draft, candidate: Candidate) -> None:
    """A statement made in a turn: set, add, remove, retire, relate or episode."""
    if draft.given.importance is not None:
        candidate = msgspec.structs.replace(candidate, importance=draft.given.importance)
    candidate = located(draft, candidate)
    problem = evidence_problem(draft, candidate)
    if problem:
        draft.reject(problem, candidate)
    elif draft.given.role != "user" or candidate.authority in _SECOND_HAND:
        _second_hand(draft, candidate)
    elif candidate.op == "episode":
        _episode(draft, candidate)
    else:
        _first_hand(draft, candidate)


def evidence_problem(draft: Draft, candidate: Candidate) -> str:
    """Why a candidate cannot be accepted at all; empty where it can."""
    start, end, content = candidate.start, candidate.end, draft.given.content
    if not 0 <= start < end <= len(content) or content[start:end] != candidate.quote:
        return "no exact span in the turn"
    if candidate.op == "episode":
        return "" if candidate.action or candidate.object else "an episode needs an action or an object"
    form_type = draft.policy.type(candidate.form_type)
    if form_type is None:
        return f"unknown form type {candidate.form_type!r}"
    if candidate.op == "retire":
        return "the user cannot be called off" if candidate.entity.kind == "self" and form_type.about == "person" else ""
    if candidate.op == "relate":
        return "" if candidate.target is not None and candidate.relation else "a relation needs a name and a target"
    if candidate.entity.kind == "named" and not candidate.entity.name.strip():
        return "a named entity needs a name"
    return value_problem(draft, candidate.form_type, candidate.slot, candidate.value, needed=candidate.op != "remove")


def value_problem(draft: Draft, form_type: str, slot: str, value: Value | None, *, needed: bool) -> str:
    """Why a value cannot stand in a slot."""
    declared = draft.policy.slot(form_type, slot)
    kind = draft.policy.type(form_type)
    if declared is None or kind is None:
        return f"form type {form_type!r} has no slot {slot!r}"
    if value is None:
        return "a value is required" if needed else ""
    if slot not in kind.slots:
        return ""  # an open slot takes any value
    if value.type != declared.type:
        return f"the slot takes {declared.type}, not {value.type}"
    if not value.data:
        return "the value is empty"
    if declared.type == "enum" and value.data not in declared.values:
        return f"{value.data!r} is none of {', '.join(sorted(declared.values))}"
    return ""


# -- speaker ---------------------------------------------------------------------------------------------------------------


def _second_hand(draft: Draft, candidate: Candidate) -> None:
    """The assistant or a tool said it: it happened, and waits in this session for the user's yes."""
    who = draft.given.role if draft.given.role != "user" else candidate.authority
    if candidate.op == "episode":
        _seen(draft, candidate, "event", actor=candidate.actor or who)
        return
    _seen(draft, candidate, "statement", actor=draft.given.speaker or who)
    if candidate.op in ("set", "add", "remove") and draft.given.session:
        authority: Literal["assistant", "tool"] = "tool" if who == "tool" else "assistant"
        noted = msgspec.structs.replace(candidate, authority=authority)
        draft.emit(WorkingNoted(session=draft.given.session, candidate=noted))


def _episode(draft: Draft, candidate: Candidate) -> None:
    if candidate.authority in ("hypothetical", "joke", "question", "speculated"):
        draft.reject(f"{candidate.authority}: not said to have happened", candidate)
        return
    kind: Literal["event", "statement", "plan"] = "event" if candidate.authority in _FIRST_HAND else "statement"
    if candidate.valid_from is not None and candidate.valid_from > draft.horizon:
        kind = "plan"
    _seen(draft, candidate, kind, actor=candidate.actor)


def _seen(
    draft: Draft, candidate: Candidate, kind: Literal["event", "decision", "statement", "plan", "cancelled"], actor: str
) -> None:
    form_type = draft.policy.type(candidate.form_type)
    form = find_form(draft, candidate.entity, form_type) if form_type is not None else None
    said = candidate.op != "episode"
    draft.emit(
        EpisodeSeen(
            episode_id=draft.new_id("episode"),
            episode=kind,
            actor=actor,
            action="" if said else candidate.action,
            object=candidate.quote if said else candidate.object,
            cause=candidate.cause,
            form_id="" if form is None else form.form_id,
            slot=candidate.slot,
            occurred_at=candidate.valid_from or draft.given.moment,
            evidence=[draft.evidence(candidate)],
        )
    )


# -- authority, hedge, importance ------------------------------------------------------------------------------------------


def _first_hand(draft: Draft, candidate: Candidate) -> None:
    form_type = draft.policy.types[candidate.form_type]
    declared = draft.policy.slot(candidate.form_type, candidate.slot)
    if candidate.hedged:
        limit = draft.policy.hedged_confidence
        candidate = msgspec.structs.replace(candidate, confidence=min(candidate.confidence, limit))
    if candidate.importance < form_type.importance_threshold and candidate.op not in ("retire", "relate"):
        if draft.given.session:
            draft.emit(WorkingNoted(session=draft.given.session, candidate=candidate))
        return
    why: Why | None = None
    if candidate.authority not in _FIRST_HAND:
        why = "authority"
    elif candidate.hedged:
        why = "hedged"
    elif declared is not None and candidate.confidence < declared.threshold:
        why = "threshold"
    if why is None:
        settle(draft, candidate, (draft.evidence(candidate),))
    elif declared is None or candidate.op in ("retire", "relate"):
        draft.reject(f"{why}: only the user's own plain word calls off or relates", candidate)
    else:
        _ask(draft, candidate, form_type, declared, why)


def _ask(draft: Draft, candidate: Candidate, form_type: FormType, declared: Slot, why: Why) -> None:
    form = find_form(draft, candidate.entity, form_type)
    if called_off_since(draft, candidate.entity, form_type, form) is not None:
        draft.reject(_CALLED_OFF, candidate)
        return
    if form is not None and _stands(draft, form, candidate, declared):
        return  # an echo of what is known reinforces nothing
    open_question(draft, candidate, form_type, declared, form, candidate.entity.name or candidate.entity.relation, why)


def _stands(draft: Draft, form: Form, candidate: Candidate, declared: Slot) -> bool:
    value = candidate.value
    element = value.key if declared.many and value is not None else ""
    current = draft.state.current(form.form_id, candidate.slot, element)
    if candidate.op == "remove":
        return current is None and value is not None
    if current is None or current.value is None or value is None:
        return False
    return current.value.key == value.key or is_finer(current.value, value, declared)


# -- what the user plainly says --------------------------------------------------------------------------------------------


def settle(
    draft: Draft, candidate: Candidate, evidence: tuple[Evidence, ...], *, confirmed: bool = False, form_id: str = ""
) -> None:
    """The user's own plain (or confirmed) word takes effect. `form_id`: the Form, where it is known already."""
    form_type = draft.policy.types[candidate.form_type]
    if candidate.op == "retire":
        call_off(draft, candidate, form_type, evidence)
        return
    if candidate.op == "relate":
        _relate(draft, candidate, form_type, evidence)
        return
    declared = draft.policy.slot(candidate.form_type, candidate.slot)
    if declared is None:
        draft.reject(f"form type {candidate.form_type!r} has no slot {candidate.slot!r}", candidate)
        return
    confidence = max(candidate.confidence, draft.policy.confirmed_confidence) if confirmed else candidate.confidence
    claim = Claim(
        slot=candidate.slot,
        value=candidate.value,
        confidence=confidence,
        authority=candidate.authority,
        when=candidate.valid_from or draft.given.moment,
        evidence=evidence,
        cause=candidate.cause,
        before=candidate.before,
        correction=candidate.correction,
        confirmed=confirmed,
    )
    form = _form(draft, candidate, form_type, declared, evidence, form_id)
    if form is None:
        if candidate.op == "remove":
            draft.reject("there is nothing that this could end", candidate)
        else:
            open_unresolved(draft, candidate, form_type, candidate.entity.name)
    elif form.retired and claim.when > draft.horizon:
        draft.reject(_CALLED_OFF, candidate)
    elif candidate.op == "remove":
        claim = since_rollback(draft, form, claim, places_ended(draft, form, claim, declared))
        if not end_value(draft, form, claim, declared):
            draft.reject("there is nothing that this could end", candidate)
    else:
        set_value(draft, form, since_rollback(draft, form, claim, places_set(draft, form, claim, declared)), declared)
        if form.retired:
            return  # filed in its history; it is called and related as it was
        if declared.identity and claim.value is not None and claim.when <= draft.horizon:
            name_by_value(draft, form, form_type, claim.slot, declared, claim.value)
        declared_relations(draft, draft.state.form[form.form_id], form_type, evidence)


def _form(
    draft: Draft,
    candidate: Candidate,
    form_type: FormType,
    declared: Slot,
    evidence: tuple[Evidence, ...],
    form_id: str,
) -> Form | None:
    known = draft.state.form.get(form_id)
    if known is not None and not known.retired:
        return known
    ref = candidate.entity
    if candidate.op == "remove":
        living = find_form(draft, ref, form_type)
        return called_off_since(draft, ref, form_type, living) or living
    if declared.identity and candidate.value is not None:
        found, ref = identified(
            draft, ref, form_type, candidate.slot, declared, candidate.value, correction=candidate.correction
        )
        former = identified_since(draft, ref, form_type, candidate.slot, declared, candidate.value)
        if former is not None or found is not None:
            return former or found
        if ref.kind == "current" and naming(declared) and find_form(draft, ref, form_type) is None:
            ref = EntityRef("named", candidate.value.shown)
    return make_form(draft, ref, form_type, evidence)


def _relate(draft: Draft, candidate: Candidate, form_type: FormType, evidence: tuple[Evidence, ...]) -> None:
    target_type = draft.policy.type(candidate.target_type or candidate.form_type)
    if target_type is None or candidate.target is None:
        draft.reject(f"unknown form type {candidate.target_type!r}", candidate)
        return
    one = make_form(draft, candidate.entity, form_type, evidence)
    other = make_form(draft, candidate.target, target_type, evidence)
    if one is None or other is None:
        open_unresolved(draft, candidate, form_type, candidate.entity.name if one is None else candidate.target.name)
    elif one.retired or other.retired:
        draft.reject(_CALLED_OFF, candidate)
    elif parted_since(draft, one.form_id, other.form_id, candidate.relation):
        draft.reject("a rollback has ended this relation since it was said", candidate)
    elif one.form_id != other.form_id:
        add_edge(draft, one.form_id, other.form_id, candidate.relation, evidence)
