"""A rollback: from how a scope stands to how it stood then, in ordinary changes. Pure; nothing is taken back, what is put back
holds anew from the moment of the rollback on, so that what comes to light later about the time before it is filed in history.
What was hidden stays hidden. Positions, links, sessions, working memory and what guards against repetition stay as they are."""

from __future__ import annotations

from itertools import islice

import msgspec

from ...schemas import changes as ch
from ...schemas.inputs import RollbackRequested
from ...schemas.observations import Evidence
from .draft import Draft
from .past import PastState
from .records import SEP, Form, Pending
from .resolve_rollback_slots import SlotsBack
from .values import detect_lang
from .wording import rollback_cause, rollback_label, rollback_words, slot_label, subject_label

__all__ = ["MAX_BYTES", "roll_back"]

MAX_BYTES = 8 * 1024 * 1024
"""Of the changes of one rollback, as JSON: a decision is one record, and no log takes records of any size."""
_LOOKED_AT = 100


def roll_back(draft: Draft, data: RollbackRequested, past: PastState | None) -> str:
    """Puts the target back and returns a note, empty where anything changed."""
    problem = _problem(draft, data, past)
    if problem or past is None:
        return problem
    mark = len(draft.changes)
    work = _Rollback(draft, data, past)
    work.run()
    made = draft.changes[mark:]
    if not made:
        return "nothing differs from how it stood then"
    work.tell(made)
    if len(msgspec.json.encode(draft.changes[mark:])) > MAX_BYTES:
        del draft.changes[mark:]
        return "more would change than one decision can hold: roll back Form by Form"
    return ""


def _problem(draft: Draft, data: RollbackRequested, past: PastState | None) -> str:
    """Why there is nothing to put back."""
    if bool(data.to) == (data.to_time is not None):
        return "a rollback goes either to an input or to a time"
    if past is None:
        return f"no input {data.to!r} of this scope, from {data.to_source!r}, before the rollback"
    if not past.input_id:
        return "nothing was recorded in this scope by then"
    if data.target == "scope":
        return ""
    form = draft.state.form.get(data.target_id)
    if form is None:
        return f"no form {data.target_id!r}"
    if data.target == "slot":
        if not data.slot:
            return "the slot is not named"
        if form.retired:
            return "the Form is called off: roll the Form back"
    return ""


class _Rollback:
    """The changes of one rollback, Forms first, then what stands in their slots, questions, relations."""

    def __init__(self, draft: Draft, data: RollbackRequested, past: PastState) -> None:
        self._draft, self._data, self._past = draft, data, past
        self._when = draft.horizon
        self._lang = _lang(draft)
        self._cause = rollback_cause(data.actor, data.reason, self._lang)
        self._forms: list[ch.FormStood] = []
        self._pending: list[ch.PendingStood] = []
        self._edges: list[ch.EdgeStood] = []
        self._slots = SlotsBack(draft, past, self._when, self._cause)

    def run(self) -> None:
        draft, data = self._draft, self._data
        if data.target != "slot":
            for form in self._chosen_forms():
                self._form(form)
        for key, place in list(draft.state.place.items()):
            if self._chosen(place.form_id, place.slot):
                self._slots.put_back(key, place, living=self._stood(place.form_id))
        self._slots.settle_deadlines()
        self._questions()
        if data.target != "slot":
            self._relations()

    def _chosen(self, form_id: str, slot: str) -> bool:
        data = self._data
        return data.target == "scope" or (form_id == data.target_id and (data.target == "form" or slot == data.slot))

    def _stood(self, form_id: str) -> bool:
        """Whether the Form was there then, and not called off."""
        then = self._past.state.form.get(form_id)
        return then is not None and not then.retired

    # -- Forms ---------------------------------------------------------------------------------------------------------

    def _chosen_forms(self) -> list[Form]:
        found = self._draft.state.form
        return list(found.values()) if self._data.target == "scope" else [found[self._data.target_id]]

    def _form(self, now: Form) -> None:
        draft, then = self._draft, self._past.state.form.get(now.form_id)
        if then is None or then.retired:
            if not now.retired:
                self._note_form(now)
                draft.emit(ch.FormRetired(form_id=now.form_id, cause=self._cause, valid_from=self._when))
            return
        origin = self._past.names.get(now.form_id, "")
        # Who is called otherwise by now, after words that are hidden, keeps the name.
        name = now.name if origin in self._past.hidden else then.name
        known = list(dict.fromkeys(key for key, _ in then.keys))
        keys = [key for key in known if self._leads(self._past, then, key)]
        if (
            not now.retired
            and name == now.name
            and set(known) == {key for key, _ in now.keys}
            and all(draft.state.keys.get(f"{now.form_type}{SEP}{key}") == now.form_id for key in keys)
        ):
            return
        self._note_form(now)
        aliases = [key for key in known if key not in keys]
        draft.emit(ch.FormRestored(form_id=now.form_id, name=name, keys=keys, aliases=aliases, origin=origin))

    @staticmethod
    def _leads(past: PastState, form: Form, key: str) -> bool:
        return past.state.keys.get(f"{form.form_type}{SEP}{key}") == form.form_id

    def _note_form(self, form: Form) -> None:
        stood = ch.FormStood(form_id=form.form_id, form_type=form.form_type, name=form.name, retired=form.retired)
        self._forms.append(stood)

    # -- questions -----------------------------------------------------------------------------------------------------

    def _questions(self) -> None:
        draft, then = self._draft, self._past.state.pending
        for now in list(draft.state.pending.values()):
            if now.pending_id not in then and self._chosen(now.form_id, now.slot):
                self._note_pending(now)
                draft.close(now.pending_id, "superseded")
        for pending in then.values():
            if self._chosen(pending.form_id, pending.slot):
                self._ask_again(pending)

    def _ask_again(self, then: Pending) -> None:
        draft, asked = self._draft, self._past.pending.get(then.pending_id)
        form = draft.state.form.get(then.form_id)
        if asked is None or (then.form_id and (form is None or form.retired)):
            return
        now = draft.state.pending.get(then.pending_id)
        evidence = self._unhidden(asked.evidence)
        if now is not None:
            if (now.value, now.confidence, now.authority, len(now.evidence)) == (
                then.value,
                then.confidence,
                then.authority,
                len(then.evidence),
            ):
                return
            self._note_pending(now)
        if asked.evidence and not evidence:
            return
        candidate = asked.candidate if len(evidence) == len(asked.evidence) else None
        again = msgspec.structs.replace(asked, evidence=evidence, candidate=candidate, session=then.session)
        draft.emit(msgspec.structs.replace(again, origin=asked.origin or self._past.asked_by.get(then.pending_id, "")))

    def _note_pending(self, pending: Pending) -> None:
        self._pending.append(
            ch.PendingStood(
                pending_id=pending.pending_id,
                form_id=pending.form_id,
                slot=pending.slot,
                value=pending.value,
                confidence=pending.confidence,
            )
        )

    def _unhidden(self, evidence: list[Evidence]) -> list[Evidence]:
        return [piece for piece in evidence if piece.turn_id not in self._past.hidden]

    # -- relations -----------------------------------------------------------------------------------------------------

    def _relations(self) -> None:
        draft, then = self._draft, self._past.state.edge
        for now in list(draft.state.edge.values()):
            if now.edge_id not in then and self._touches(now.from_form, now.to_form):
                stood = ch.EdgeStood(edge_id=now.edge_id, from_form=now.from_form, to_form=now.to_form, relation=now.relation)
                self._edges.append(stood)
                draft.emit(ch.EdgeRetired(edge_id=now.edge_id))
        for edge in then.values():
            added = self._past.edges.get(edge.edge_id)
            if edge.edge_id in draft.state.edge or added is None or not self._touches(edge.from_form, edge.to_form):
                continue
            evidence = self._unhidden(added.evidence)
            hidden = not evidence if added.evidence else edge.input_id in self._past.hidden
            if hidden or not all(map(self._as_then, (edge.from_form, edge.to_form))):
                continue
            draft.emit(msgspec.structs.replace(added, evidence=evidence, origin=added.origin or edge.input_id))

    def _touches(self, one: str, other: str) -> bool:
        return self._data.target == "scope" or self._data.target_id in (one, other)

    def _as_then(self, form_id: str) -> bool:
        """A relation leads to no Form that was called off since and stays so."""
        now = self._draft.state.form.get(form_id)
        return now is not None and (not now.retired or not self._stood(form_id))

    # -- in words ------------------------------------------------------------------------------------------------------

    def tell(self, made: list[ch.Change]) -> None:
        """The timeline's entries, one for each value that changed and one for the whole, and what stood before."""
        draft, data, past = self._draft, self._data, self._past
        lang = self._lang
        for change in made:
            if isinstance(change, ch.SlotChanged) and change.status in ("confirmed", "retired"):
                self._tell_slot(change, lang)
        form = draft.state.form.get(data.target_id)
        label = rollback_label(lang)
        if form is not None:
            name = draft.shown_name(form) or form.name
            declared = draft.policy.slot(form.form_type, data.slot)
            label = subject_label(draft.shown_name(form), slot_label(data.slot, declared, lang), lang) if data.slot else name
        action, what = rollback_words(label, past.at, lang)
        draft.emit(
            ch.EpisodeSeen(
                episode_id=draft.new_id("rollback"),
                episode="decision",
                actor=data.actor,
                action=action,
                object=what,
                cause=data.reason,
                form_id=data.target_id if form is not None else "",
                slot=data.slot if data.target == "slot" else "",
                occurred_at=self._when,
            )
        )
        draft.emit(
            ch.RolledBack(
                target=data.target,
                target_id=data.target_id,
                slot=data.slot,
                to=past.input_id,
                to_source=past.source,
                to_time=data.to_time or "",
                at=past.at,
                since=self._when,
                asked=draft.given.moment if draft.given.moment < self._when else "",
                reason=data.reason,
                actor=data.actor,
                forms=self._forms,
                slots=self._slots.stood,
                pending=self._pending,
                edges=self._edges,
            )
        )

    def _tell_slot(self, change: ch.SlotChanged, lang: str) -> None:
        draft = self._draft
        before = change.before.shown if change.before is not None else ""
        after = change.value.shown if change.value is not None and change.status == "confirmed" else ""
        if before == after or (change.status == "retired" and not before):
            return
        form = draft.state.form[change.form_id]
        declared = draft.policy.slot(form.form_type, change.slot)
        draft.emit(
            ch.EpisodeSeen(
                episode_id=draft.new_id("rollback"),
                episode="decision",
                object=subject_label(draft.shown_name(form), slot_label(change.slot, declared, lang), lang),
                before=before,
                after=after,
                cause=self._data.reason,
                form_id=change.form_id,
                slot=change.slot,
                occurred_at=self._when,
                evidence=change.evidence,
                origin=change.origin,
            )
        )


def _lang(draft: Draft) -> str:
    """That of the words which what stands in the scope rests on."""
    standing = (place.current for place in islice(draft.state.place.values(), _LOOKED_AT))
    words = [piece.quote for version in standing if version is not None for piece in version.evidence[:1]]
    return detect_lang(" ".join(words) or " ".join(form.name for form in draft.state.form.values()))
