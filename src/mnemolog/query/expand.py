"""From the Forms that a question is about to those that it means by them: along edges, and along slots whose value is the name
of another Form ("where does the owner of Apollo live": Apollo, its owner, their home). One or two steps, at most five in each,
and only relations that the question gives a reason to follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..processors.core.text import terms
from ..schemas.registry import Registry
from ..schemas.views import EdgeView, FormView
from .facts import Facts
from .trace import Walk
from .understand import Question
from .wording import value_text

__all__ = ["LAYERS", "LEAST_WEIGHT", "MOST_PER_LAYER", "Reached", "type_words", "walk"]

LAYERS = 2
MOST_PER_LAYER = 5
LEAST_WEIGHT = 0.6
"""An edge is followed only above it."""
_ASKED, _UNASKED = 1.0, 0.7
"""The weight of a slot that names a Form, where the question asks for that slot and where it does not."""
_OTHERWISE_SAME = ("evolves_from", "same_as")


class Reached(NamedTuple):
    """A Form that was walked to. `worth`: the product of the weights on the way."""

    form: FormView
    layer: int
    worth: float


class _Link(NamedTuple):
    edge_id: str
    to: FormView
    relation: str
    weight: float
    valid_from: str
    asked: bool


def walk(
    facts: Facts, starts: Sequence[str], question: Question, registry: Registry, now: str, *, past: bool
) -> tuple[list[Reached], list[Walk]]:
    """The Forms reached from `starts` (form ids), nearest first, and every link that was looked at. `now`: fixed UTC form."""
    reached: list[Reached] = []
    walks: list[Walk] = []
    seen = set(starts)
    frontier = [(form_id, 1.0) for form_id in dict.fromkeys(starts) if form_id in facts.by_id]
    for layer in range(1, LAYERS + 1):
        found: list[tuple[float, str, _Link, str]] = []
        for form_id, worth in frontier:
            for link in _links(facts, facts.by_id[form_id], question, registry):
                if link.to.form_id in seen:
                    continue
                why = _refused(link, facts.by_id[form_id], question, registry, now, past=past)
                if why:
                    walks.append(_noted(link, form_id, layer, why))
                else:
                    found.append((worth * link.weight, form_id, link, ""))
        found.sort(key=lambda item: (-item[0], not item[2].asked, item[2].edge_id))
        frontier = []
        for worth, form_id, link, _ in found:
            if link.to.form_id in seen:
                continue
            if len(frontier) == MOST_PER_LAYER:
                walks.append(_noted(link, form_id, layer, f"more than {MOST_PER_LAYER} in this layer"))
                continue
            seen.add(link.to.form_id)
            frontier.append((link.to.form_id, worth))
            reached.append(Reached(link.to, layer, worth))
            walks.append(_noted(link, form_id, layer, ""))
    return reached, walks


def _noted(link: _Link, form_id: str, layer: int, why: str) -> Walk:
    return Walk(
        edge_id=link.edge_id,
        from_form=form_id,
        to_form=link.to.form_id,
        relation=link.relation,
        weight=link.weight,
        layer=layer,
        taken=not why,
        why=why,
    )


def _links(facts: Facts, form: FormView, question: Question, registry: Registry) -> Iterable[_Link]:
    for edge in facts.edges_of(form.form_id):
        there = facts.by_id.get(edge.to_form if edge.from_form == form.form_id else edge.from_form)
        if there is not None and there.form_id != form.form_id:
            asked = _is_asked(edge, there, question)
            yield _Link(edge.edge_id, there, edge.relation, edge.weight, edge.valid_from, asked)
    for slot in form.slots:
        asked = (form.form_type, slot.slot) in question.slots
        for there in facts.called(value_text(slot.value)):
            if there.form_id != form.form_id:
                edge_id = f"{form.form_id}/{slot.slot}"
                yield _Link(edge_id, there, slot.slot, _ASKED if asked else _UNASKED, slot.valid_from, asked)


def _is_asked(edge: EdgeView, there: FormView, question: Question) -> bool:
    """Whether the question speaks of the relation, or of who or what is at its other end."""
    asked = frozenset(question.terms)
    relation = frozenset(terms(edge.relation.rpartition(":")[2].replace("_", " ")))
    name = frozenset(terms(there.name))
    return bool(relation and relation <= asked) or bool(name and name <= asked)


def _refused(link: _Link, here: FormView, question: Question, registry: Registry, now: str, *, past: bool) -> str:
    """Why a link is not followed; empty where it is."""
    if link.weight <= LEAST_WEIGHT:
        return f"weight {link.weight:g} is not above {LEAST_WEIGHT:g}"
    if link.to.status == "retired" and not past:
        return "it leads to what was called off"
    if link.valid_from > now:
        return "it does not hold yet"
    if link.asked:
        return ""
    if link.relation in _OTHERWISE_SAME:
        return "" if past or link.relation == "same_as" else "nothing in the question asks for this relation"
    if link.relation.startswith("knows:"):
        return "nothing in the question asks for this relation"
    # A relation that is not spoken of is followed only to where something that is asked for can be, and is not here already.
    wanted = {slot for form_type, slot in question.slots if form_type == link.to.form_type}
    if here.form_type == link.to.form_type and any(slot.slot in wanted for slot in here.slots):
        return "what is asked for stands nearer"
    if wanted or _speaks_of(link.to, question, registry):
        return ""
    return "nothing in the question asks for this relation"


def _speaks_of(form: FormView, question: Question, registry: Registry) -> bool:
    """Whether the question names the type of the Form: the client, 合同."""
    asked = frozenset(question.terms)
    return any(words <= asked for words in type_words(registry, form.form_type))


@lru_cache(maxsize=512)
def type_words(registry: Registry, form_type: str) -> tuple[frozenset[str], ...]:
    """What a Form type is called, as terms: its name, its aliases in every language, and the words by which others declare
    to be related to it."""
    declared = registry.types.get(form_type)
    called = [form_type.replace("_", " ")]
    called += [word for lang in (declared.aliases if declared is not None else {}).values() for word in lang]
    related = [relation for other in registry.types.values() for relation in other.relations if relation.to == form_type]
    called += [word for relation in related for lang in relation.when.values() for word in lang]
    return tuple(dict.fromkeys(found for word in called if (found := frozenset(terms(word)))))
