"""What is in doubt, as a question to put: in the user's language, with the values that stand against each other, when they were
said and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ..processors.core.values import detect_lang
from ..processors.core.wording import question, self_name, slot_label, subject_label
from ..schemas.observations import Evidence
from ..schemas.registry import Registry
from ..schemas.values import Value
from ..schemas.views import FormView, PendingView, SlotView
from .wording import day, filled, one_line, value_text

__all__ = [
    "Doubt",
    "DoubtKind",
    "Held",
    "Why",
    "added",
    "as_why",
    "asking",
    "held",
    "passed_question",
    "pending_held",
    "pending_question",
    "slot_name",
    "so_far",
]

DoubtKind = Literal["conflict", "pending", "stale"]
Why = Literal[
    "differs", "contradicts", "several", "passed", "long_ago", "hedged", "authority", "threshold", "conflict", "unresolved"
]

_WORDS: dict[str, dict[str, str]] = {
    "en": {
        "now": " So far: {known}{old}, since {day}.",
        "elsewhere": " In {subject} it is {old}, since {day}.",
        "long_ago": " That was last said on {day}.",
        "passed": "{about} was to be {value}. Has that happened, or is there another date?",
        "several": " {value} was mentioned too, on {day}.",
    },
    "zh": {
        "now": "目前记录的是{known}{old}（自{day}起）。",
        "elsewhere": "{subject}中是{old}（自{day}起）。",
        "long_ago": "上次提到是在{day}。",
        "passed": "{about}原定{value}，已经完成了吗？还是有新的日期？",
        "several": "{day}也提到过{value}。",
    },
}


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One of the values in question."""

    value: str
    status: Literal["confirmed", "pending", "said"]
    """confirmed: what holds; pending: heard and not believed yet; said: in the message itself."""
    since: str
    """Event time from which it holds, or at which it was said."""
    quote: str
    """The words it rests on."""
    event_id: str
    """The turn of those words; empty for the message."""
    scope: str


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """Something to ask before relying on it."""

    kind: DoubtKind
    question: str
    why: Why
    """differs: the message says otherwise than what holds; contradicts: what is pending does; several: there is more than one
    candidate; passed: its date is over; long_ago: it changes often and was not said for long. The others are why a value is
    pending (`PendingView.why`)."""
    worth: float
    """0..1: how much depends on the answer now."""
    scope: str
    form_id: str
    """Empty where no Form is known yet."""
    form_type: str
    slot: str
    pending_id: str = ""
    """What `confirm` and `reject` take; empty where an ordinary answer (or `correct`) settles it."""
    values: list[Held]
    """What stands against each other, what holds first."""


def held(slot: SlotView, scope: str) -> Held:
    """A value that holds."""
    return _held(slot.value, "confirmed", slot.valid_from, slot.evidence, scope)


def pending_held(view: PendingView, scope: str) -> Held:
    """A value that is pending."""
    return _held(view.value, "pending", view.opened_at, view.evidence, scope)


def _held(
    value: Value | None, status: Literal["confirmed", "pending"], since: str, evidence: Sequence[Evidence], scope: str
) -> Held:
    last = evidence[-1] if evidence else None
    return Held(
        value=value_text(value),
        status=status,
        since=since,
        quote=last.quote if last is not None else "",
        event_id=last.turn_id if last is not None else "",
        scope=scope,
    )


def asking(registry: Registry, form: FormView, slot: str, value: Value, lang: str) -> str:
    """The question whether a value is right, in the slot's own words."""
    declared = registry.types[form.form_type].slots.get(slot) if form.form_type in registry.types else None
    name = "" if form.key in ("self", "scope") else form.name or form.key
    return one_line(question(declared, slot_label(slot, declared, lang), name, value, "set", lang))


def added(text: str, word: str, lang: str, **parts: str) -> str:
    """The text with a sentence behind it, such as what holds so far."""
    return text + filled(_WORDS[lang][word], {f"{{{name}}}": part for name, part in parts.items()})


def so_far(text: str, slot: SlotView, lang: str, known: str = "") -> str:
    """The text and what holds so far; `known` is as what, where that is another slot."""
    lead = "" if not known else f"{known}：" if lang == "zh" else f"{known}: "
    return added(text, "now", lang, known=lead, old=value_text(slot.value), day=day(slot.valid_from))


def slot_name(registry: Registry, form_type: str, slot: str, lang: str) -> str:
    """What a person calls a slot."""
    form = registry.types.get(form_type)
    return slot_label(slot, form.slots.get(slot) if form is not None else None, lang)


def as_why(why: str) -> Why:
    """Why something is pending, as a reason of a doubt."""
    return _PENDING_WHY.get(why, "unresolved")


_PENDING_WHY: dict[str, Why] = {
    "hedged": "hedged",
    "authority": "authority",
    "threshold": "threshold",
    "conflict": "conflict",
    "unresolved": "unresolved",
}


def passed_question(registry: Registry, form: FormView, slot: SlotView, lang: str) -> str:
    """The question what became of a date that is over."""
    name = "" if form.key in ("self", "scope") else form.name or form.key
    about = subject_label(name, slot_name(registry, form.form_type, slot.slot, lang), lang)
    text = filled(_WORDS[lang]["passed"], {"{about}": about, "{value}": value_text(slot.value)})
    return one_line(text[:1].upper() + text[1:])


def pending_question(registry: Registry, view: PendingView, lang: str) -> str:
    """The question of something pending, in another language too where it can be put again from what it is about."""
    spoken = "zh" if detect_lang(view.question) == "zh" else "en"
    if spoken == lang or view.value is None or view.form_type not in registry.types:
        return one_line(view.question)
    declared = registry.types[view.form_type].slots.get(view.slot)

    def put(language: str) -> str:
        name = "" if view.name in ("", self_name(spoken)) else view.name
        return question(declared, slot_label(view.slot, declared, language), name, view.value, "set", language)

    return one_line(put(lang) if put(spoken) == view.question else view.question)
