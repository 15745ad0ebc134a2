"""What is not yet truth: questions that are opened, renewed and answered. Only the user's own word closes them with yes."""

from __future__ import annotations

from typing import Literal

from ...schemas.changes import PendingClosed, PendingOpened
from ...schemas.forms import FormType, Slot
from ...schemas.observations import Candidate, Evidence
from ...schemas.values import Value
from .draft import Draft
from .records import Form, Note, Pending, slot_key
from .wording import question, slot_label, type_label, unresolved_question

__all__ = ["Why", "asked", "open_question", "open_unresolved"]

Why = Literal["hedged", "authority", "threshold", "conflict", "unresolved"]


def open_question(
    draft: Draft, candidate: Candidate, form_type: FormType, declared: Slot, form: Form | None, name: str, why: Why
) -> None:
    """Asks about a value; the same question again only gains evidence, another value takes its place."""
    op: Literal["set", "add", "remove"] = "remove" if candidate.op == "remove" else "add" if declared.many else "set"
    form_id = form.form_id if form is not None else ""
    evidence: tuple[Evidence, ...] = (draft.evidence(candidate),)
    pending_id = ""
    confidence = candidate.confidence
    for known_id in draft.state.pending_of.get(slot_key(form_id, candidate.slot), ()):
        known = draft.state.pending[known_id]
        if known.form_type != form_type.name or (not form_id and known.name != name):
            continue
        if known.op == op and _key(known.value) == _key(candidate.value):
            pending_id = known_id
            evidence = (*known.evidence, *(piece for piece in evidence if piece not in known.evidence))
            confidence = max(confidence, known.confidence)
        elif known.op == op == "set":
            draft.emit(PendingClosed(pending_id=known_id, how="superseded"))
    lang = draft.given.lang
    label = slot_label(candidate.slot, declared, lang)
    _open(
        draft,
        PendingOpened(
            pending_id=pending_id or draft.new_id("pending"),
            form_type=form_type.name,
            form_id=form_id,
            name=name,
            slot=candidate.slot,
            op=op,
            value=candidate.value,
            why=why,
            question=question(declared, label, _shown(draft, form, name), candidate.value, op, lang),
            confidence=confidence,
            authority=candidate.authority,
            valid_from=candidate.valid_from or draft.given.moment,
            evidence=list(evidence),
            candidate=candidate,
        ),
    )


def open_unresolved(draft: Draft, candidate: Candidate, form_type: FormType, words: str) -> None:
    """Asks which one is meant."""
    lang = draft.given.lang
    if any(known.op == "set" and known.candidate == candidate for known in draft.state.pending.values()):
        return
    _open(
        draft,
        PendingOpened(
            pending_id=draft.new_id("pending"),
            form_type=form_type.name,
            name=words,
            slot=candidate.slot or candidate.relation,
            value=candidate.value,
            why="unresolved",
            question=unresolved_question(type_label(form_type, lang), words, lang),
            confidence=candidate.confidence,
            authority=candidate.authority,
            valid_from=candidate.valid_from or draft.given.moment,
            evidence=[draft.evidence(candidate)],
            candidate=candidate,
        ),
    )


def _open(draft: Draft, change: PendingOpened) -> None:
    known = draft.state.pending.get(change.pending_id)
    if known is None or len(change.evidence) > len(known.evidence):
        draft.emit(change)


def _shown(draft: Draft, form: Form | None, name: str) -> str:
    return name if form is None else draft.shown_name(form) or ("" if form.key == "self" else form.name)


def _key(value: Value | None) -> str:
    return "" if value is None else value.key


def asked(draft: Draft, candidate: Candidate) -> tuple[Pending | None, list[Note]]:
    """What "yes" or "no" answers: a question, or what the assistant said just before, whichever is nearer."""
    state, given = draft.state, draft.given
    open_now = [item for item in state.pending.values() if _fits(item, candidate)]
    before = state.session.get(given.session)
    offers = [
        note
        for note in state.working.get(given.session, ())
        if before is not None
        and note.input_id == before.last
        and note.candidate.authority in ("assistant", "tool")
        and candidate.slot in ("", note.candidate.slot)
    ]
    for note in reversed(offers):
        for item in reversed(open_now):
            if item.slot == note.candidate.slot and _key(item.value) == _key(note.candidate.value):
                return item, []
    if offers:
        return None, offers
    here = [item for item in open_now if item.session == given.session]
    if here:
        return max(here, key=lambda item: item.seq), []
    return (open_now[0] if len(open_now) == 1 else None), []


def _fits(pending: Pending, candidate: Candidate) -> bool:
    if candidate.slot and pending.slot != candidate.slot:
        return False
    return not candidate.form_type or pending.form_type == candidate.form_type
