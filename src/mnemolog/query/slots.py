"""The exact route: slots that the question names by an alias, by the Form they belong to, or by the words they rest on.

What stands comes first; what stood before comes only when it is asked for, and is always marked."""

from __future__ import annotations

import re
from math import log1p

from ..schemas.registry import Registry
from ..schemas.views import FormView, SlotView, VersionView
from .facts import Facts, Standing
from .hits import Hit, HitStatus
from .ids import memory_id
from .understand import Question
from .wording import WORDS, day, slot_line, value_text

__all__ = ["find_slots", "history_hits"]

_NAMED_BY_ALIAS = 1.0
_NAMED_BY_FORM = 0.5
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|us|our)\b|我|咱", re.IGNORECASE)
_ENOUGH = 0.6


def find_slots(facts: Facts, question: Question, registry: Registry, *, past: bool) -> list[Hit]:
    """The slots that the question asks for, best first, each followed by its history where `past` says so."""
    asked = frozenset(question.terms)
    named = {form.form_id for form in facts.forms if _names(form, asked, facts)}
    named_types = {facts.by_id[form_id].form_type for form_id in named}
    own = _FIRST_PERSON.search(question.text) is not None
    scored: list[tuple[float, dict[str, float], Standing]] = []
    for standing in facts.standing:
        form, slot = standing.form, standing.slot
        if form.status == "retired" and not past:
            continue
        # Jack's city is no answer about Jill's, nor the user's own unless the question speaks of it too.
        if form.form_type in named_types and form.form_id not in named and not (form.key == "self" and own):
            continue
        why = {
            "alias": _NAMED_BY_ALIAS if (form.form_type, slot.slot) in question.slots else 0.0,
            "name": _NAMED_BY_FORM if form.form_id in named else 0.0,
            "words": _words(asked, standing, facts),
        }
        score = sum(why.values())
        if score >= _ENOUGH and (why["alias"] or why["words"] >= _ENOUGH or (why["name"] and why["words"])):
            scored.append((score * (0.5 + slot.confidence / 2), why, standing))
    scored.sort(key=lambda found: -found[0])
    hits: list[Hit] = []
    told: set[tuple[str, str]] = set()
    for score, why, standing in scored:
        hits.append(_current_hit(standing.form, standing.slot, score, why, registry, question.lang))
        key = (standing.form.form_id, standing.slot.slot)
        if past and key not in told:
            told.add(key)
            hits += history_hits(facts, *key, registry, question.lang, score * 0.999)
    return sorted(hits, key=lambda hit: -hit.score)


def history_hits(facts: Facts, form_id: str, slot: str, registry: Registry, lang: str, score: float) -> list[Hit]:
    """What a slot was before, the newest first, each marked with when it ended. (A `retired` version only says that the one
    before it ended: it is no value of its own.)"""
    form = facts.by_id.get(form_id)
    if form is None:
        return []
    old = [
        version
        for version in facts.history_of(form_id, slot)
        if not version.current and version.status not in ("scheduled", "retired") and version.value is not None
    ]
    return [_old_hit(form, version, score, registry, lang) for version in reversed(old)]


def _names(form: FormView, asked: frozenset[str], facts: Facts) -> bool:
    if form.key == "self":
        return False
    of_form = next((standing.name_terms for standing in facts.standing if standing.form is form), frozenset[str]())
    return bool(of_form) and of_form <= asked


def _words(asked: frozenset[str], standing: Standing, facts: Facts) -> float:
    """The share of the question's words, by how rare they are among the slots, that the slot has: 0..1."""
    size = len(facts.standing) + 1
    weights = {term: log1p(size / (1 + facts.holding(term))) for term in sorted(asked)}
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in standing.terms) / total if total else 0.0


def _status(form: FormView, slot: SlotView) -> HitStatus:
    if form.status == "retired" or slot.status == "retired":
        return "retired"
    return "scheduled" if slot.status == "scheduled" else "current"


def _current_hit(form: FormView, slot: SlotView, score: float, why: dict[str, float], registry: Registry, lang: str) -> Hit:
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
        routes=["slots"],
        quote=slot.evidence[-1].quote if slot.evidence else "",
        form_id=form.form_id,
        form_type=form.form_type,
        slot=slot.slot,
        version=slot.version,
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
        before=value_text(version.before),
        cause=version.cause,
    )
