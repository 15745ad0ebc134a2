"""The exact route: slots that the question names by an alias, by the Form they belong to, or by the words they rest on, and
those of the Forms that these lead to.

What stands comes first; what stood before comes only when it is asked for, and is always marked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import log1p
from typing import NamedTuple

from ..schemas.registry import Registry
from ..schemas.views import FormView, SlotView, VersionView
from .expand import Reached, type_words, walk
from .facts import Facts, Standing
from .hits import Hit, HitStatus
from .ids import memory_id
from .trace import Walk
from .understand import Question
from .wording import WORDS, day, slot_line, value_text

__all__ = ["SlotsFound", "find_slots", "history_hits"]

_NAMED_BY_ALIAS = 1.0
_NAMED_BY_FORM = 0.5
_MEANT_BY_ME = 1.25
"""More than all the words of the question in somebody else's slot."""
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|us|our)\b|我|咱", re.IGNORECASE)
_ENOUGH = 0.6
_PER_STEP = 0.9
"""What a step away from the Forms that are asked about costs a slot."""
_BY_ITSELF = 0.3
"""The worth of a slot that nothing speaks for but the Form that was reached; so many of each:"""
_MOST_BY_ITSELF = 2
_MOST = 100
"""Slots that are looked at more closely."""
_FEW_FORMS = 3


class SlotsFound(NamedTuple):
    """Slots, best first; the ids of the Forms that the question is about; every edge that was looked at."""

    hits: list[Hit]
    forms: list[str]
    walks: list[Walk]


def find_slots(facts: Facts, question: Question, registry: Registry, now: str, *, past: bool, old: int) -> SlotsFound:
    """The slots that the question asks for, best first, where `past` says so each followed by what it was before, the `old`
    newest of it."""
    asked = frozenset(question.terms)
    named = facts.named(asked)
    named += [form.form_id for name in question.names for form in facts.called(name) if form.form_id not in named]
    own = _FIRST_PERSON.search(question.text) is not None
    starts = named + [form.form_id for form in facts.own if own]
    starts = starts or _of_named_type(facts, question, registry)
    reached, walks = walk(facts, starts, question, registry, now, past=past)
    meant = {step.form.form_id: step for step in reached}
    # Jack's city is no answer about Jill's, nor the user's own unless the question speaks of it too.
    types = {facts.by_id[form_id].form_type for form_id in named}
    types |= {step.form.form_type for step in reached if any(place[0] == step.form.form_type for place in question.slots)}
    by_alias = {at for place in question.slots for at in facts.of_slot(*place)}
    by_words = _by_words(asked, facts)
    there = {at for form_id in meant for at in facts.of_form(form_id)}
    is_named = frozenset(named)
    scored: list[tuple[float, dict[str, float], Standing, bool]] = []
    for at in sorted(by_alias | by_words.keys() | there):
        standing = facts.standing[at]
        form, slot = standing.form, standing.slot
        if form.status == "retired" and not past:
            continue
        step = meant.get(form.form_id) if form.form_id not in is_named else None
        if form.form_type in types and step is None and form.form_id not in is_named and not (form.key == "self" and own):
            continue
        alias, words = _NAMED_BY_ALIAS if at in by_alias else 0.0, by_words.get(at, 0.0)
        # "Where do I live?" means the user, not everybody whose home is known.
        meant_me = own and not is_named and form.key == "self" and alias > 0
        name = _MEANT_BY_ME if meant_me else _NAMED_BY_FORM if form.form_id in is_named else 0.0
        score = alias + name + words
        enough = score >= _ENOUGH and (alias or words >= _ENOUGH or (name and words))
        if not enough and (step is None or not words):
            # Of a Form that was reached a word is enough: the question led to it.
            continue
        why = {"alias": alias, "name": name, "words": words}
        if step is not None:
            score = (score + _NAMED_BY_FORM) * step.worth * _PER_STEP**step.layer
            why["steps"] = float(step.layer)
        scored.append((score * (0.5 + slot.confidence / 2), why, standing, step is not None))
    scored += _by_themselves(reached, {standing.form.form_id for _, _, standing, _ in scored}, facts, registry)
    scored = sorted(scored, key=lambda found: -found[0])[:_MOST]
    hits: list[Hit] = []
    told: set[tuple[str, str]] = set()
    for score, why, standing, walked in scored:
        route = "edges" if walked else "slots"
        hits.append(_current_hit(standing.form, standing.slot, score, why, registry, question.lang, route))
        key = (standing.form.form_id, standing.slot.slot)
        if past and key not in told:
            told.add(key)
            hits += history_hits(facts, *key, registry, question.lang, score * 0.999, old)
    return SlotsFound(sorted(hits, key=lambda hit: -hit.score), starts, walks)


def _of_named_type(facts: Facts, question: Question, registry: Registry) -> list[str]:
    """The Forms of a type that the question names ("the project's owner"), where there are few of it."""
    found: list[str] = []
    asked = frozenset(question.terms)
    for name in registry.types:
        if name == "rule" or not any(words <= asked for words in type_words(registry, name)):
            continue
        there = [form.form_id for form in facts.forms if form.form_type == name and form.status != "retired"]
        found += there if len(there) <= _FEW_FORMS else []
    return found


def _by_themselves(
    reached: Sequence[Reached], told: set[str], facts: Facts, registry: Registry
) -> list[tuple[float, dict[str, float], Standing, bool]]:
    """The most important slots of a Form next to one that is asked about, where the question says nothing about its slots."""
    found: list[tuple[float, dict[str, float], Standing, bool]] = []
    for step in reached:
        if step.layer > 1 or step.form.form_id in told:
            continue
        declared = registry.types.get(step.form.form_type)
        own = [facts.standing[at] for at in facts.of_form(step.form.form_id)]

        def importance(standing: Standing, slots: Mapping[str, object] = declared.slots if declared else {}) -> float:
            return -getattr(slots.get(standing.slot.slot), "importance", 0.5)

        worth = _BY_ITSELF * step.worth
        found += [
            (worth * (0.5 + standing.slot.confidence / 2), {"steps": 1.0}, standing, True)
            for standing in sorted(own, key=importance)[:_MOST_BY_ITSELF]
        ]
    return found


def history_hits(facts: Facts, form_id: str, slot: str, registry: Registry, lang: str, score: float, most: int) -> list[Hit]:
    """What a slot was before: the `most` newest, the newest first, each marked with when it ended. (A `retired` version only
    says that the one before it ended: it is no value of its own.)"""
    form = facts.by_id.get(form_id)
    if form is None:
        return []
    old = [
        version
        for version in facts.history_of(form_id, slot)
        if not version.current and version.status not in ("scheduled", "retired") and version.value is not None
    ]
    return [_old_hit(form, version, score, registry, lang) for version in old[: -most - 1 : -1]]


def _by_words(asked: frozenset[str], facts: Facts) -> dict[int, float]:
    """Place in `standing` to the share of the question's words that the slot has, each weighed by how rare it is among the
    slots."""
    size = len(facts.standing) + 1
    weights = {term: log1p(size / (1 + len(facts.having(term)))) for term in sorted(asked)}
    total = sum(weights.values())
    shares: dict[int, float] = {}
    for term, weight in weights.items():
        for at in facts.having(term):
            shares[at] = shares.get(at, 0.0) + weight / total
    return shares


def _status(form: FormView, slot: SlotView) -> HitStatus:
    if form.status == "retired" or slot.status == "retired":
        return "retired"
    return "scheduled" if slot.status == "scheduled" else "current"


def _current_hit(
    form: FormView, slot: SlotView, score: float, why: dict[str, float], registry: Registry, lang: str, route: str
) -> Hit:
    status = _status(form, slot)
    text = slot_line(registry, form, slot.slot, value_text(slot.value), lang)
    if status != "current":
        text = f"{text} [{WORDS[lang][status].format(day=day(slot.valid_from))}]"
    return Hit(
        kind="slot",
        id=memory_id("slot", form.scope, form.form_id, slot.slot, slot.version),
        text=text,
        score=score,
        scope=form.scope,
        event_ids=list(dict.fromkeys(piece.turn_id for piece in slot.evidence)),
        occurred_at=slot.valid_from,
        status=status,
        confidence=slot.confidence,
        routes=[route],
        quote=slot.evidence[-1].quote if slot.evidence else "",
        form_id=form.form_id,
        form_type=form.form_type,
        slot=slot.slot,
        version=slot.version,
        authority=slot.authority,
        cause=slot.cause,
        why=why,
    )


def _old_hit(form: FormView, version: VersionView, score: float, registry: Registry, lang: str) -> Hit:
    retired = form.status == "retired" and version.valid_to is None
    words = WORDS[lang]
    if retired:
        mark = words["retired"]
    elif version.valid_to is not None:
        mark = words["superseded"].format(day=day(version.valid_to))
    else:
        mark = words["superseded_undated"]
    return Hit(
        kind="slot",
        id=memory_id("slot", form.scope, form.form_id, version.slot, version.version),
        text=f"{slot_line(registry, form, version.slot, value_text(version.value), lang)} [{mark}]",
        score=score,
        scope=form.scope,
        event_ids=list(dict.fromkeys(piece.turn_id for piece in version.evidence)),
        occurred_at=version.valid_from,
        status="retired" if retired else "superseded",
        confidence=version.confidence,
        routes=["slots"],
        session=version.session,
        quote=version.evidence[-1].quote if version.evidence else "",
        form_id=form.form_id,
        form_type=form.form_type,
        slot=version.slot,
        version=version.version,
        until=version.valid_to or "",
        authority=version.authority,
        before=value_text(version.before),
        cause=version.cause,
    )
