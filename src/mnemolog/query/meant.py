"""Which Form a statement that was not recorded would be about, and which standing values it would stand against. Found in the
read models by the rules that deciding follows; where it is open which one is meant, none is."""

from __future__ import annotations

from ..processors.core.finer import is_finer
from ..processors.core.resolve_entity import form_key, relation_key
from ..schemas.forms import FormType, Slot
from ..schemas.observations import Candidate
from ..schemas.registry import Registry
from ..schemas.values import normal_text
from ..schemas.views import FormView, SlotView
from .facts import Facts

__all__ = ["clashes", "form_meant"]


def form_meant(candidate: Candidate, facts: Facts, registry: Registry) -> FormView | None:
    """The living Form of a scope that a candidate is about, or None."""
    form_type = registry.types.get(candidate.form_type)
    if form_type is None:
        return None
    living = [form for form in facts.forms if form.form_type == form_type.name and form.status != "retired"]
    if form_type.about == "scope":
        return _only([form for form in living if form.key == "scope"])
    ref = candidate.entity
    if ref.kind == "self" or (ref.kind == "named" and ref.relation == "speaker"):
        return _only([form for form in living if form.key == "self"]) if form_type.about == "person" else _only(living)
    if ref.kind == "named":
        return _named(ref.name, form_type, living)
    if ref.kind == "relative":
        key = relation_key(ref.relation or ref.name)
        return _only([form for form in living if form.key == key])
    if form_type.about == "person":
        return _only([form for form in living if form.key == "self"]) if ref.kind == "current" else None
    words = normal_text(ref.name)
    spoken_of = [form for form in living if ref.kind == "anaphor" and normal_text(form.name) in words]
    return _only(spoken_of) or max(living, key=lambda form: form.updated_at, default=None)


def _named(name: str, form_type: FormType, living: list[FormView]) -> FormView | None:
    key = form_key(form_type, name)
    called = [form for form in living if key in (form.key, form_key(form_type, form.name))]
    if called or form_type.about != "person":
        return _only(called)
    return _only([form for form in living if normal_text(form.name).startswith(f"{key} ")])


def _only(forms: list[FormView]) -> FormView | None:
    return forms[0] if len(forms) == 1 else None


def clashes(candidate: Candidate, form: FormView, declared: Slot, form_type: FormType) -> list[SlotView]:
    """What holds and cannot hold beside what the candidate says. A correction, or a change that names what it changes, is no
    clash: whoever says it knows."""
    value = candidate.value
    if value is None or candidate.op not in ("set", "add") or candidate.correction:
        return []
    standing = [slot for slot in form.slots if slot.status == "confirmed"]
    if declared.many:
        opposed = {declared.opposes, *(name for name, other in form_type.slots.items() if other.opposes == candidate.slot)}
        return [slot for slot in standing if slot.slot in opposed and slot.value.key == value.key]
    return [
        slot
        for slot in standing
        if slot.slot == candidate.slot
        and slot.value.key != value.key
        and (candidate.before is None or candidate.before.key != slot.value.key)
        and not is_finer(value, slot.value, declared)
        and not is_finer(slot.value, value, declared)
    ]
