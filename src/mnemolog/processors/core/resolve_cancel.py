"""A Form that is called off: its edges, what is scheduled for it and the questions about it go with it; its history stays."""

from __future__ import annotations

from ...schemas.changes import EdgeRetired, EpisodeSeen, FormRetired
from ...schemas.forms import FormType
from ...schemas.observations import Candidate, Evidence
from .draft import Claim, Draft
from .records import Form
from .resolve_entity import called_off_since, find_form

__all__ = ["call_off"]


def call_off(draft: Draft, candidate: Candidate, form_type: FormType, evidence: tuple[Evidence, ...]) -> None:
    """ "forget the old plan"; refused where there is no such Form, or it is the user."""
    form = find_form(draft, candidate.entity, form_type)
    if form is None or form.key in ("self", "scope"):
        draft.reject("there is nothing that this could call off", candidate)
        return
    if called_off_since(draft, candidate.entity, form_type, form) is not None:
        draft.reject("what was meant has been called off since", candidate)
        return
    if draft.state.undone_since(form.form_id, draft.given.moment):
        draft.reject("a rollback has come since it was said: what that left goes on", candidate)
        return
    _retire(draft, form, candidate.cause, evidence)


def _retire(draft: Draft, form: Form, cause: str, evidence: tuple[Evidence, ...]) -> None:
    """Calls a Form off, with its edges, what is scheduled for it, and the questions about it."""
    state, when = draft.state, draft.given.moment
    draft.emit(FormRetired(form_id=form.form_id, cause=cause, evidence=list(evidence), valid_from=when))
    for edge_id in state.edges_of.get(form.form_id, ()):
        draft.emit(EdgeRetired(edge_id=edge_id))
    for at in state.places_of.get(form.form_id, ()):
        for key in state.elements.get(at, ()):
            place = state.place[key]
            for waiting in place.scheduled:
                claim = Claim(
                    slot=place.slot,
                    value=None,
                    confidence=waiting.confidence,
                    authority=waiting.authority,
                    when=waiting.valid_from,
                    evidence=evidence,
                    cause=cause,
                )
                draft.slot_changed(
                    form, claim, status="retired", reason="removed", value=None, element=place.element, supersedes=waiting
                )
    for pending in [item for item in state.pending.values() if item.form_id == form.form_id]:
        draft.close(pending.pending_id, "superseded")
    draft.emit(
        EpisodeSeen(
            episode_id=draft.new_id("episode"),
            episode="cancelled",
            object=form.name,
            cause=cause,
            form_id=form.form_id,
            occurred_at=when,
            evidence=list(evidence),
        )
    )
