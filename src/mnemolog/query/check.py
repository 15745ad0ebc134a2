"""A look before a turn: what of the state is in doubt that the coming message touches, as questions to put to the user, those
first on which most depends. The message is read as a turn would be, and nothing of it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..processors.core.extract import OfflineExtractor
from ..processors.core.ports import SeenTurn
from ..processors.core.text import terms
from ..schemas.forms import Slot
from ..schemas.inputs import Turn
from ..schemas.observations import Candidate
from ..schemas.registry import Registry
from ..schemas.views import FormView, PendingView, SlotView
from .doubts import (
    Doubt,
    DoubtKind,
    Held,
    Why,
    added,
    as_why,
    asking,
    held,
    passed_question,
    pending_held,
    pending_question,
    slot_name,
    so_far,
)
from .facts import Facts, Standing
from .meant import clashes, form_meant
from .stale import gone_stale
from .understand import Question, understand
from .wording import day, value_text

__all__ = ["DEFAULT_LIMIT", "Doubt", "Held", "check_state"]

DEFAULT_LIMIT = 3
_READ = 4000
"""Characters of the message that are read."""
_TOUCHED = 0.3
"""From this bearing on, 0..1, a value or a question is touched by the message."""
_WORTH = {"differs": 0.9, "contradicts": 0.8, "several": 0.75, "passed": 0.6, "long_ago": 0.4}
_PENDING = 0.65
_UNCLAIMED = ("hypothetical", "joke", "question", "quoted", "assistant", "tool")
"""Who says so, where nobody claims that it is so."""

WhenSaid = Callable[[str, Sequence[str]], Mapping[str, str]]
"""(scope, turn ids) to when they were said; those that are not known are left out."""


def check_state(
    message: str,
    facts: Mapping[str, Facts],
    pending: Mapping[str, Sequence[PendingView]],
    *,
    registry: Registry,
    now: str,
    limit: int = DEFAULT_LIMIT,
    when_said: WhenSaid | None = None,
) -> list[Doubt]:
    """What to ask before answering `message`, at most `limit` questions, one for each slot.

    facts, pending: of each scope, the user's own first; now: when the message comes (fixed UTC form), which "long ago" is
    counted from; when_said: the times of turns, so that a value that was said again counts from then.
    """
    text = message[:_READ]
    question = understand(text, registry, now)
    named = {scope: _named_types(question, known) for scope, known in facts.items()}
    touched = [
        _Touched(bearing, scope, standing)
        for scope, known in facts.items()
        for standing in known.standing
        if standing.form.status != "retired" and (bearing := _bearing(question, standing, named[scope])) >= _TOUCHED
    ]
    doubts = [
        *_said_otherwise(text, facts, registry, now, question.lang),
        *_scopes_apart(touched, registry, question.lang),
        *(doubt for scope, views in pending.items() for doubt in _pending(question, scope, views, facts[scope], registry)),
        *_gone_stale(touched, registry, now, question.lang, when_said),
    ]
    doubts.sort(key=lambda doubt: -doubt.worth)
    chosen: dict[tuple[str, str, str], Doubt] = {}
    for doubt in doubts:
        several = doubt.kind != "conflict" and (slot := _declared(registry, doubt.form_type, doubt.slot)) and slot.many
        what = doubt.values[0].value if several and doubt.values else ""
        chosen.setdefault((doubt.form_id or doubt.pending_id, doubt.slot, what), doubt)
    return list(chosen.values())[:limit]


class _Touched(NamedTuple):
    """A value that the message touches, and how much."""

    bearing: float
    scope: str
    standing: Standing


def _named_types(question: Question, facts: Facts) -> frozenset[str]:
    """The types of the Forms that the message names."""
    asked = frozenset(question.terms)
    return frozenset(one.form.form_type for one in facts.standing if one.name_terms and one.name_terms <= asked)


def _bearing(question: Question, standing: Standing, named_types: frozenset[str]) -> float:
    """How much the message touches a value, 0..1: it names its slot, its Form, or words that it rests on."""
    asked = frozenset(question.terms)
    form, slot = standing.form, standing.slot
    named = bool(standing.name_terms) and standing.name_terms <= asked
    # Where a Form is named, another one of its type is not meant.
    meant = named or form.key in ("self", "scope") or form.form_type not in named_types
    alias = meant and (form.form_type, slot.slot) in question.slots
    # A message that names a slot of the Form is not about the others.
    other = named and not alias and any(form_type == form.form_type for form_type, _ in question.slots)
    shared = len(asked & (standing.terms - standing.name_terms))
    return min(1.0, 0.6 * alias + (0.1 if other else 0.3) * named + min(0.4, 0.15 * shared))


# -- what the message says otherwise ---------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _extractor(registry: Registry) -> OfflineExtractor:
    return OfflineExtractor(registry)


def _said_otherwise(text: str, facts: Mapping[str, Facts], registry: Registry, now: str, lang: str) -> Iterator[Doubt]:
    """What the message states against what holds, each Form looked for in the first scope that has it."""
    turn = Turn(content=text, occurred_at=now)
    for candidate in _extractor(registry).extract(SeenTurn("message", turn)).candidates:
        form_type = registry.types.get(candidate.form_type)
        declared = form_type.slots.get(candidate.slot) if form_type is not None else None
        later = candidate.valid_from is not None and candidate.valid_from > now
        if form_type is None or declared is None or later or candidate.authority in _UNCLAIMED:
            continue
        meant = ((scope, form_meant(candidate, known, registry)) for scope, known in facts.items())
        scope, form = next(((scope, form) for scope, form in meant if form is not None), ("", None))
        if form is not None:
            for slot in clashes(candidate, form, declared, form_type):
                if slot.slot == candidate.slot and _says(text, value_text(slot.value)):
                    continue  # whoever names what held before knows of it
                yield _differs(candidate, form, slot, scope, registry, now, lang)


def _says(text: str, words: str) -> bool:
    said, wanted = terms(text), terms(words)
    return any(said[at : at + len(wanted)] == wanted for at in range(len(said) - len(wanted) + 1))


def _differs(
    candidate: Candidate, form: FormView, slot: SlotView, scope: str, registry: Registry, now: str, lang: str
) -> Doubt:
    value = candidate.value
    question = asking(registry, form, candidate.slot, value, lang) if value is not None else ""
    said = Held(value=value_text(value), status="said", since=now, quote=candidate.quote, event_id="", scope=scope)
    known = slot_name(registry, form.form_type, slot.slot, lang) if slot.slot != candidate.slot else ""
    return _doubt(
        "conflict", "differs", so_far(question, slot, lang, known), form, slot, 1.0, registry, [held(slot, scope), said]
    )


# -- what does not agree among itself --------------------------------------------------------------------------------------


def _scopes_apart(touched: Sequence[_Touched], registry: Registry, lang: str) -> Iterator[Doubt]:
    """One thing of which two scopes hold different values."""
    first: dict[tuple[str, str, str], _Touched] = {}
    for entry in touched:
        form, slot = entry.standing.form, entry.standing.slot
        declared = _declared(registry, form.form_type, slot.slot)
        if declared is None or declared.many or form.key == "self" or slot.status != "confirmed":
            continue
        other = first.setdefault((form.form_type, form.key, slot.slot), entry)
        held_there = other.standing.slot
        if other.scope == entry.scope or held_there.value.key == slot.value.key:
            continue
        question = asking(registry, other.standing.form, slot.slot, held_there.value, lang)
        question = added(
            question, "elsewhere", lang, subject=_subject(entry.scope), old=value_text(slot.value), day=day(slot.valid_from)
        )
        values = [held(held_there, other.scope), held(slot, entry.scope)]
        yield _doubt("conflict", "several", question, other.standing.form, held_there, other.bearing, registry, values)


def _pending(question: Question, scope: str, views: Sequence[PendingView], facts: Facts, registry: Registry) -> Iterator[Doubt]:
    """What is pending and touched: with what it contradicts, or what else is pending in the same place."""
    asked = frozenset(question.terms)
    places: dict[tuple[str, str, str], list[PendingView]] = {}
    for view in views:
        declared = _declared(registry, view.form_type, view.slot)
        single = declared is not None and not declared.many
        places.setdefault((view.form_id or view.name, view.slot, "" if single else view.pending_id), []).append(view)
    for same in places.values():
        view = same[-1]
        name = frozenset(terms(view.name))
        words = frozenset(terms("\n".join([view.question, *(piece.quote for one in same for piece in one.evidence)]))) - name
        alias = (view.form_type, view.slot) in question.slots
        other = not alias and any(form_type == view.form_type for form_type, _ in question.slots)
        named = bool(name) and name <= asked
        bearing = 0.6 * alias + (0.1 if other else 0.3) * named + min(0.4, 0.15 * len(asked & words))
        if bearing >= _TOUCHED:
            yield _pending_doubt(question, scope, same, facts, registry, min(1.0, bearing))


def _pending_doubt(
    question: Question, scope: str, same: Sequence[PendingView], facts: Facts, registry: Registry, bearing: float
) -> Doubt:
    lang, view = question.lang, same[-1]
    form = facts.by_id.get(view.form_id)
    declared = _declared(registry, view.form_type, view.slot)
    text = pending_question(registry, view, lang)
    standing = next(
        (
            slot
            for slot in (form.slots if form is not None else ())
            if slot.slot == view.slot and slot.status == "confirmed" and declared is not None and not declared.many
        ),
        None,
    )
    values = [pending_held(one, scope) for one in same]
    contradicts = standing is not None and view.value is not None and standing.value.key != view.value.key
    if standing is not None and contradicts:
        text = so_far(text, standing, lang)
        values.insert(0, held(standing, scope))
    for other in same[:-1]:
        text = added(text, "several", lang, value=value_text(other.value), day=day(other.opened_at))
    why: Why = "contradicts" if contradicts else "several" if len(same) > 1 else as_why(view.why)
    return Doubt(
        kind="conflict" if contradicts or len(same) > 1 else "pending",
        question=text,
        why=why,
        worth=_worth(why, bearing, declared),
        scope=scope,
        form_id=view.form_id,
        form_type=view.form_type,
        slot=view.slot,
        pending_id=view.pending_id,
        values=values,
    )


# -- what may not hold any more --------------------------------------------------------------------------------------------


def _gone_stale(
    touched: Sequence[_Touched], registry: Registry, now: str, lang: str, when_said: WhenSaid | None
) -> Iterator[Doubt]:
    for entry in touched:
        form, slot = entry.standing.form, entry.standing.slot
        declared = _declared(registry, form.form_type, slot.slot)
        if declared is None or gone_stale(slot, declared, slot.valid_from, now) is None:
            continue
        heard = slot.valid_from
        if slot.count > 1 and when_said is not None:
            heard = max([heard, *when_said(entry.scope, [piece.turn_id for piece in slot.evidence]).values()])
        why = gone_stale(slot, declared, heard, now)
        if why is None:
            continue
        if why == "passed":
            question = passed_question(registry, form, slot, lang)
        else:
            question = added(asking(registry, form, slot.slot, slot.value, lang), "long_ago", lang, day=day(heard))
        yield _doubt("stale", why, question, form, slot, entry.bearing, registry, [held(slot, entry.scope)])


def _doubt(
    kind: DoubtKind,
    why: Why,
    question: str,
    form: FormView,
    slot: SlotView,
    bearing: float,
    registry: Registry,
    values: list[Held],
) -> Doubt:
    return Doubt(
        kind=kind,
        question=question,
        why=why,
        worth=_worth(why, bearing, _declared(registry, form.form_type, slot.slot)),
        scope=form.scope,
        form_id=form.form_id,
        form_type=form.form_type,
        slot=slot.slot,
        values=values,
    )


def _worth(why: Why, bearing: float, declared: Slot | None) -> float:
    """By what is in doubt, how much the message touches it, and how much it matters."""
    importance = declared.importance if declared is not None else 0.5
    return round(_WORTH.get(why, _PENDING) * (0.5 + 0.3 * bearing + 0.2 * importance), 4)


def _declared(registry: Registry, form_type: str, slot: str) -> Slot | None:
    form = registry.types.get(form_type)
    return form.slots.get(slot) if form is not None else None


def _subject(scope: str) -> str:
    return scope.partition("/")[2]
