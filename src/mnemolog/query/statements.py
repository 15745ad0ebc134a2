"""The lines of a context that state something: what holds, how it came to be, and what still has to be asked. Each list is in
an order that does not depend on the question, so that prompts share long beginnings, and no line says an old value without
saying so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

from ..processors.core.text import terms
from ..schemas.observations import Evidence
from ..schemas.registry import Registry
from ..schemas.views import FormView, PendingView, SlotView, VersionView
from .hits import Hit
from .ids import memory_id
from .lines import Block, ContextLine
from .outdated import Old, marks
from .sheets import Item, Sheet
from .stale import is_over
from .understand import Question
from .wording import WORDS, category, day, filled, form_name, noted, slot_label, slot_line, value_text

__all__ = ["Told", "Voice", "changes", "open_questions", "standing"]

_SURE = 0.6
"""Below this a value is marked as not certain."""
_MAX_CHANGES = 12
_MAX_OPEN = 5


class Voice:
    """In which language lines are written, by which declarations, and whose they are where there are several scopes."""

    def __init__(self, registry: Registry, lang: str, scopes: Sequence[str], now: str = "") -> None:
        self.registry = registry
        self.now = now
        self.lang = lang
        self.words = WORDS[lang]
        self._others = frozenset(scopes[1:])

    def over(self, form: FormView, slot: SlotView) -> bool:
        """Whether a value is a day that was to come and is over."""
        form_type = self.registry.types.get(form.form_type)
        declared = form_type.slots.get(slot.slot) if form_type is not None else None
        return bool(self.now) and is_over(slot, declared, self.now)

    def whose(self, scope: str) -> list[str]:
        """The note that says whose a line is, for every scope but the first."""
        return [self.words["of"].format(subject=scope.partition("/")[2])] if scope in self._others else []

    def noted(self, text: str, first: str, when: str, *notes: str, scope: str) -> str:
        """A line; `first` names the note that it is known again by."""
        return noted(text, [self.words[first].format(day=day(when)), *notes, *self.whose(scope)], self.lang)

    def marks(self, olds: Sequence[Old]) -> list[str]:
        return marks(olds, self.registry, self.lang)


def standing(items: Sequence[Item], block: Block, voice: Voice) -> list[ContextLine]:
    """What holds, in the order given."""
    return [_standing_line(form, slot, block, voice) for form, slot in items]


def _standing_line(form: FormView, slot: SlotView, block: Block, voice: Voice) -> ContextLine:
    scheduled = slot.status == "scheduled"
    notes = [voice.words["unsure"]] if slot.confidence < _SURE else []
    if voice.over(form, slot):
        notes.append(voice.words["over"])
    text = slot_line(voice.registry, form, slot.slot, value_text(slot.value), voice.lang)
    return ContextLine(
        block=block,
        text=voice.noted(text, "scheduled" if scheduled else "since", slot.valid_from, *notes, scope=form.scope),
        scope=form.scope,
        event_ids=_turns_of(slot.evidence),
        status="scheduled" if scheduled else "current",
        confidence=slot.confidence,
        occurred_at=slot.valid_from,
        form_id=form.form_id,
        slot=slot.slot,
        id=memory_id("slot", form.scope, form.form_id, slot.slot, slot.version),
    )


class Told(NamedTuple):
    """A line of how something came to be, and what holds now where it happened: without that it misleads."""

    line: ContextLine
    now: list[Item]


def changes(sheets: Sequence[Sheet], wanted: Collection[tuple[str, str]], events: Sequence[Hit], voice: Voice) -> list[Told]:
    """What replaced what, when and why, of the slots asked for, and what happened in the time asked about; oldest first."""
    # Only those that are told are put into words: a slot may have changed thousands of times.
    found: list[tuple[str, Callable[[], Told]]] = []
    told: set[tuple[str, str, str]] = set()
    for sheet in sheets:
        for version in sheet.facts.histories_of(wanted):
            form = sheet.facts.by_id.get(version.form_id)
            if form is None or not _is_change(version, sheet):
                continue
            if events:
                told.update((version.form_id, version.slot, piece.turn_id) for piece in version.evidence)
            found.append((version.valid_from, partial(_change, form, version, sheet, voice)))
    found += [
        (hit.occurred_at, partial(_event, hit, sheets, voice))
        for hit in events
        if not any((hit.form_id, hit.slot, one) in told for one in hit.event_ids)
    ]
    found.sort(key=lambda one: one[0])
    return [told_() for _, told_ in found[-_MAX_CHANGES:]]


def _change(form: FormView, version: VersionView, sheet: Sheet, voice: Voice) -> Told:
    now = [item for item in sheet.standing_in(form.form_id, version.slot) if item[1].element == version.element]
    return Told(_change_line(form, version, sheet, voice), now)


def _event(hit: Hit, sheets: Sequence[Sheet], voice: Voice) -> Told:
    line = _event_line(hit, sheets, voice)
    now = [item for sheet in sheets for item in sheet.standing_in(hit.form_id, hit.slot) if hit.form_id in sheet.facts.by_id]
    # Of which of several elements it tells, it does not say; and one that ends in what holds now says that itself.
    alone = len(now) == 1 and value_text(now[0][1].value) not in hit.text.rpartition("→")[2]
    return Told(line, now if alone else [])


def _is_change(version: VersionView, sheet: Sheet) -> bool:
    """Whether it tells more than that the slot has a value: it replaced or ended something, or has a reason."""
    if version.status in ("scheduled", "history"):
        return False
    replaced = version.before is not None or version.supersedes is not None or version.status == "retired"
    return replaced or bool(version.cause) or len(sheet.history_of(version.form_id, version.slot)) > 1


def _change_line(form: FormView, version: VersionView, sheet: Sheet, voice: Voice) -> ContextLine:
    words = voice.words
    before, after = value_text(version.before), value_text(version.value)
    ended = version.status == "retired"
    text = filled(
        words["end" if ended else "change" if before else "first"],
        {
            "{name}": form_name(form, voice.lang),
            "{slot}": slot_label(voice.registry, version.form_type, version.slot, voice.lang),
            "{before}": (after or before) if ended else before,
            "{after}": after,
        },
    )
    if version.cause:
        text += filled(words["because"], {"{cause}": version.cause})
    return ContextLine(
        block="changes",
        text=voice.noted(
            text, _how(version, before, voice.registry), version.valid_from, *_end(form, version, words), scope=form.scope
        ),
        scope=form.scope,
        event_ids=_turns_of(version.evidence),
        status="changed",
        confidence=version.confidence,
        occurred_at=version.valid_from,
        form_id=version.form_id,
        slot=version.slot,
        id=memory_id("slot", form.scope, version.form_id, version.slot, version.version),
    )


def _how(version: VersionView, before: str, registry: Registry) -> str:
    """The word for what happened: a decision is called one where somebody decided, which nobody does about a birthday."""
    if version.status == "retired":
        return "ended"
    if version.reason == "corrected":
        return "corrected"
    if not before:
        return "set"
    form_type = registry.types.get(version.form_type)
    person = form_type is not None and form_type.about == "person"
    return "changed" if person and category(registry, version.form_type, version.slot) == "fact" else "decided"


def _end(form: FormView, version: VersionView, words: dict[str, str]) -> list[str]:
    """How long a value held that holds no longer; of one that came back only until when."""
    if version.status == "retired" or version.value is None:
        return []
    if form.status == "retired":
        return [words["retired"]]
    if version.current:
        return []
    back = any(slot.slot == version.slot and slot.value.key == version.value.key for slot in form.slots)
    if version.valid_to:
        return [words["until" if back else "superseded"].format(day=day(version.valid_to))]
    return [] if back else [words["superseded_undated"]]


def _event_line(hit: Hit, sheets: Sequence[Sheet], voice: Voice) -> ContextLine:
    text = hit.text.removeprefix(f"{day(hit.occurred_at)} ")
    # What stands in front of an arrow says itself that it is over.
    olds = [old for sheet in sheets for old in sheet.outdated.said_in(text.rpartition("→")[2])]
    return ContextLine(
        block="changes",
        text=voice.noted(text, "happened", hit.occurred_at, *voice.marks(olds), scope=hit.scope),
        scope=hit.scope,
        event_ids=hit.event_ids,
        status="happened",
        confidence=hit.confidence,
        occurred_at=hit.occurred_at,
        form_id=hit.form_id,
        slot=hit.slot,
        id=hit.id,
    )


def open_questions(
    question: Question,
    pending: Sequence[PendingView],
    wanted: Collection[tuple[str, str]],
    sheets: Sequence[Sheet],
    voice: Voice,
) -> list[ContextLine]:
    """Questions that touch what is asked, oldest first: what is pending is put as a question and never as a fact."""
    asked = frozenset(question.terms)
    scopes = {form.form_id: form.scope for sheet in sheets for form in sheet.facts.forms}
    lines: list[ContextLine] = []
    for view in pending:
        words = frozenset(terms("\n".join([view.name, view.question, *(piece.quote for piece in view.evidence)])))
        named = (view.form_type, view.slot) in question.slots or (view.form_id, view.slot) in wanted
        if not (named or asked & words):
            continue
        scope = scopes.get(view.form_id, "")
        olds = [old for sheet in sheets for old in sheet.outdated.said_in(view.question)]
        lines.append(
            ContextLine(
                block="open",
                text=voice.noted(view.question, "asked", view.opened_at, *voice.marks(olds), scope=scope),
                scope=scope,
                event_ids=_turns_of(view.evidence),
                status="open",
                confidence=view.confidence,
                occurred_at=view.opened_at,
                form_id=view.form_id,
                slot=view.slot,
                pending_id=view.pending_id,
            )
        )
    return lines[-_MAX_OPEN:]


def _turns_of(evidence: Sequence[Evidence]) -> list[str]:
    return list(dict.fromkeys(piece.turn_id for piece in evidence))
