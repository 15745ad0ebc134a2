"""The lines of a context that state something: what holds, how it came to be, and what still has to be asked. Each list is in
an order that does not depend on the question, so that prompts share long beginnings."""

from __future__ import annotations

from collections.abc import Sequence

from ..processors.core.text import terms
from ..schemas.registry import Registry
from ..schemas.views import FormView, PendingView, SlotView, VersionView
from .excerpts import harmless
from .facts import Facts
from .hits import Hit
from .lines import ContextLine
from .understand import Question
from .wording import WORDS, day, filled, form_name, slot_label, slot_line, value_text

__all__ = ["changes", "open_questions", "profile"]

_SURE = 0.6
"""Below this a value is marked as not certain."""
_MAX_CHANGES = 12
_MAX_OPEN = 5


def profile(facts: Sequence[Facts], slots: Sequence[Hit], registry: Registry, lang: str) -> list[tuple[int, ContextLine]]:
    """Everything that stands now: (worth, line), 0 for rules and 1 for what the question asks for, 2 for the rest of the
    user's own profile. Rules first, then the user, then other Forms by type, name and slot."""
    wanted = {(hit.form_id, hit.slot) for hit in slots}
    lines: list[tuple[int, ContextLine]] = []
    for known in facts:
        for form in sorted(known.forms, key=_place):
            if form.status == "retired":
                continue
            for slot in form.slots:
                worth = 0 if form.form_type == "rule" else 1 if (form.form_id, slot.slot) in wanted else 2
                if worth < 2 or form.key == "self":
                    lines.append((worth, _standing_line(form, slot, registry, lang)))
    return lines


def _place(form: FormView) -> tuple[bool, bool, str, str, str]:
    return form.form_type != "rule", form.key != "self", form.form_type, form.key, form.form_id


def _standing_line(form: FormView, slot: SlotView, registry: Registry, lang: str) -> ContextLine:
    words = WORDS[lang]
    scheduled = slot.status == "scheduled"
    notes = [words["scheduled" if scheduled else "since"].format(day=day(slot.valid_from))]
    if slot.confidence < _SURE:
        notes.append(words["unsure"])
    text = harmless(slot_line(registry, form, slot.slot, value_text(slot.value), lang))
    return ContextLine(
        block="rules",
        text=f"- {text} [{', '.join(notes)}]",
        scope=form.scope,
        event_ids=list(dict.fromkeys(piece.turn_id for piece in slot.evidence)),
        status="scheduled" if scheduled else "current",
        confidence=slot.confidence,
        occurred_at=slot.valid_from,
        form_id=form.form_id,
        slot=slot.slot,
    )


def changes(
    facts: Sequence[Facts], slots: Sequence[Hit], events: Sequence[Hit], registry: Registry, lang: str
) -> list[ContextLine]:
    """What replaced what, when and why, of the slots asked for, and what happened in the time asked about; oldest first."""
    lines: list[ContextLine] = []
    wanted = {(hit.form_id, hit.slot) for hit in slots}
    told: set[tuple[str, str, str]] = set()
    for known in facts:
        for version in known.versions:
            form = known.by_id.get(version.form_id)
            if form is None or (version.form_id, version.slot) not in wanted or not _is_change(version, known):
                continue
            told.update((version.form_id, version.slot, piece.turn_id) for piece in version.evidence)
            lines.append(_change_line(form, version, registry, lang))
    lines += [_event_line(hit) for hit in events if not any((hit.form_id, hit.slot, one) in told for one in hit.event_ids)]
    lines.sort(key=lambda line: line.occurred_at)
    return lines[-_MAX_CHANGES:]


def _is_change(version: VersionView, known: Facts) -> bool:
    """Whether it tells more than that the slot has a value: it replaced or ended something, or has a reason."""
    if version.status in ("scheduled", "history"):
        return False
    replaced = version.before is not None or version.supersedes is not None or version.status == "retired"
    return replaced or bool(version.cause) or len(known.history_of(version.form_id, version.slot)) > 1


def _change_line(form: FormView, version: VersionView, registry: Registry, lang: str) -> ContextLine:
    words = WORDS[lang]
    before, after = value_text(version.before), value_text(version.value)
    ended = version.status == "retired"
    shape = words["ended"] if ended else words["changed"] if before else words["set"]
    text = filled(
        shape,
        {
            "{day}": day(version.valid_from),
            "{name}": form_name(form, lang),
            "{slot}": slot_label(registry, version.form_type, version.slot, lang),
            "{before}": (after or before) if ended else before,
            "{after}": after,
        },
    )
    if version.cause:
        text += filled(words["because"], {"{cause}": version.cause})
    # A first value that stands no longer has no arrow to say so.
    if not version.current and not ended and not before:
        mark = words["superseded"].format(day=day(version.valid_to)) if version.valid_to else words["superseded_undated"]
        text += f" [{mark}]"
    return ContextLine(
        block="changes",
        text=f"- {harmless(text)}",
        scope=form.scope,
        event_ids=list(dict.fromkeys(piece.turn_id for piece in version.evidence)),
        status="changed",
        confidence=version.confidence,
        occurred_at=version.valid_from,
        form_id=version.form_id,
        slot=version.slot,
    )


def _event_line(hit: Hit) -> ContextLine:
    return ContextLine(
        block="changes",
        text=f"- {harmless(hit.text)}",
        scope=hit.scope,
        event_ids=hit.event_ids,
        status="happened",
        confidence=hit.confidence,
        occurred_at=hit.occurred_at,
        form_id=hit.form_id,
        slot=hit.slot,
    )


def open_questions(
    question: Question, pending: Sequence[PendingView], facts: Sequence[Facts], slots: Sequence[Hit]
) -> list[ContextLine]:
    """Questions that touch what is asked, oldest first: what is pending is put as a question and never as a fact."""
    asked = frozenset(question.terms)
    wanted = {(hit.form_id, hit.slot) for hit in slots}
    scopes = {form.form_id: form.scope for known in facts for form in known.forms}
    lines: list[ContextLine] = []
    for view in pending:
        words = frozenset(terms("\n".join([view.name, view.question, *(piece.quote for piece in view.evidence)])))
        named = (view.form_type, view.slot) in question.slots or (view.form_id, view.slot) in wanted
        if not (named or asked & words):
            continue
        lines.append(
            ContextLine(
                block="open",
                text=f"- {harmless(view.question)}",
                scope=scopes.get(view.form_id, ""),
                event_ids=list(dict.fromkeys(piece.turn_id for piece in view.evidence)),
                status="open",
                confidence=view.confidence,
                occurred_at=view.opened_at,
                form_id=view.form_id,
                slot=view.slot,
                pending_id=view.pending_id,
            )
        )
    return lines[-_MAX_OPEN:]
