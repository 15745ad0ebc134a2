"""Yes and no: an answer by command or in the user's words turns what was pending, or what the assistant offered, into the
user's own statement, or drops it."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...schemas.changes import PendingClosed
from ...schemas.observations import Candidate, EntityRef, Evidence
from ...schemas.values import Value
from .draft import Draft
from .records import Note, Pending
from .resolve_pending import asked
from .resolve_statement import settle, value_problem

__all__ = ["accept", "answer_in_words", "decline"]


def answer_in_words(draft: Draft, candidate: Candidate) -> str:
    """An answer said in a turn. Returns a note where there was nothing to answer."""
    given = draft.given
    content = given.content
    if not 0 <= candidate.start < candidate.end <= len(content) or content[candidate.start : candidate.end] != candidate.quote:
        draft.reject("no exact span in the turn", candidate)
        return ""
    if given.role != "user" or candidate.authority != "user":
        return "only the user can confirm"
    pending, offers = asked(draft, candidate)
    said = (draft.evidence(candidate),)
    if pending is not None:
        if candidate.op == "confirm" or candidate.value is not None:
            accept(draft, pending, candidate.value, said)
        else:
            decline(draft, pending)
        return ""
    if not offers:
        return "there was no question to answer"
    if candidate.op == "reject" and candidate.value is None:
        return "the user declined what the assistant said"
    for note in offers if candidate.value is None else offers[-1:]:
        _accept_offer(draft, note, candidate.value, said)
    return ""


def accept(draft: Draft, pending: Pending, value: Value | None, said: tuple[Evidence, ...]) -> None:
    """The user says yes, or gives another value instead; the value then counts from the moment of the answer."""
    heard = _heard(pending)
    other = value is not None and (pending.value is None or pending.value.key != value.key)
    if value is not None:
        problem = value_problem(draft, pending.form_type, pending.slot, value, needed=True)
        if problem:
            draft.reject(problem, heard)
            return
    draft.emit(PendingClosed(pending_id=pending.pending_id, how="rejected" if other else "confirmed"))
    if other:
        # The other value is what the user just said; what was heard before does not speak for it.
        heard = msgspec.structs.replace(heard, value=value, op="add" if heard.op == "add" else "set")
        settle(draft, heard, said, confirmed=True, form_id=pending.form_id)
    else:
        settle(draft, heard, (*pending.evidence, *said), confirmed=True, form_id=pending.form_id)


def decline(draft: Draft, pending: Pending) -> None:
    draft.emit(PendingClosed(pending_id=pending.pending_id, how="rejected"))


def _accept_offer(draft: Draft, note: Note, value: Value | None, said: tuple[Evidence, ...]) -> None:
    offer = note.candidate
    heard = msgspec.structs.replace(offer, authority="user", hedged=False, value=offer.value if value is None else value)
    if value is not None:
        problem = value_problem(draft, offer.form_type, offer.slot, value, needed=True)
        if problem:
            draft.reject(problem, heard)
            return
    offered = (Evidence(note.input_id, offer.quote, offer.start, offer.end),) if value is None else ()
    settle(draft, heard, (*offered, *said), confirmed=True)


def _heard(pending: Pending) -> Candidate:
    """What was pending, as the user's own statement."""
    op: Literal["set", "add", "remove"] = "remove" if pending.op == "remove" else "add" if pending.op == "add" else "set"
    heard = pending.candidate or Candidate(
        op=op,
        entity=EntityRef("named", pending.name) if pending.name else EntityRef("current"),
        form_type=pending.form_type,
        slot=pending.slot,
        quote="",
        start=0,
        end=0,
    )
    return msgspec.structs.replace(heard, value=pending.value, authority="user", hedged=False)
