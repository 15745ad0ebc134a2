"""What a Form type is: its slots, their aliases and types, its thresholds and relations; declared in YAML."""

from __future__ import annotations

from typing import Literal

import msgspec

from .values import ValueType

__all__ = ["FormType", "Relation", "Shape", "Slot"]

Shape = Literal["", "name", "place", "email", "phone", "time_zone"]


class _Declared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Slot(_Declared, frozen=True, kw_only=True):
    """One slot of a Form type."""

    type: ValueType = "text"
    many: bool = False
    """Multi-valued: elements are added and removed one by one."""
    aliases: dict[str, list[str]] = {}
    """Language (`en`, `zh`) to the nouns by which the slot is talked about and found: budget, 预算."""
    statements: dict[str, list[str]] = {}
    """Language to sentence frames that state the slot, `{value}` where the value stands: `I live in {value}`, 我住在{value};
    `{slot}` stands for any of the aliases. Written in the first person; the syntax is in `processors/core/frames.py`."""
    ends: dict[str, list[str]] = {}
    """Frames that say the value holds no longer: `I left {value}`, 我不再用{value}了; `{value}` may be left out."""
    shape: Shape = ""
    """What a text must look like to be this slot's value: a proper name, a place, an e-mail address ..."""
    plain: bool = True
    """Whether the type's own `statements` are said of this slot too."""
    yearly: bool = False
    """Of type date: a day said without a year comes back every year, such as a birthday (`R/05-07`)."""
    opposes: str = ""
    """The many-valued slot of the same type that loses an element when it is added here: likes and dislikes."""
    values: dict[str, list[str]] = {}
    """For an enum: canonical member to the words that mean it, in every language."""
    lexicon: dict[str, list[str]] = {}
    """Language to words of which a value must hold one where a frame says `{value*}`: with dog, cat ... `I have a {value*}`
    is about a pet and not about a question."""
    threshold: float = 0.8
    """From this confidence on a value is confirmed without asking; 0.75..0.85."""
    importance: float = 0.7
    decay: Literal["preference", "fact", "rule"] = "fact"
    identity: bool = False
    """Two Forms with the same value here are the same entity."""
    sensitive: bool = False
    unit: str = ""
    question: dict[str, str] = {}
    """Language to the follow-up question, `{value}` and `{name}` filled in."""


class Relation(_Declared, frozen=True, kw_only=True):
    """`quote refers_to lead`."""

    relation: str
    to: str
    required: bool = False
    when: dict[str, list[str]] = {}
    """Language to trigger words; empty means always."""


class FormType(_Declared, frozen=True, kw_only=True):
    """One type of Form."""

    name: str
    description: str = ""
    aliases: dict[str, list[str]] = {}
    """Nouns by which an instance is talked about: project, plan, 方案."""
    statements: dict[str, list[str]] = {}
    """Frames for every slot with `plain: true`, `{slot}` standing for its aliases: `the {slot} is {value}`. In a loaded
    registry they are already among the slots' own statements, `{slot}` and the words behind `{value*}` filled in."""
    slots: dict[str, Slot]
    relations: list[Relation] = []
    importance_threshold: float = 0.6
    about: Literal["person", "thing", "scope"] = "thing"
    """person: statements in the first person are about the user's own; scope: one of them for the whole scope."""
    open_slots: bool = False
    """Slots that are not declared may be stated too (the general fact about any entity)."""
    templates: dict[str, str] = {}
    """Language to how a slot reads in a context line: `{name}: {slot} {value}`, `{slot}` being its first alias."""
