"""What a Form type is: its slots, their aliases and types, its thresholds and relations; declared in YAML."""

from __future__ import annotations

from typing import Literal

import msgspec

from .values import ValueType

__all__ = ["FormType", "Relation", "Slot"]


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
    """Language to sentence frames that state the slot, `{value}` where the value stands: `I live in {value}`, 我住在{value}."""
    values: dict[str, list[str]] = {}
    """For an enum: canonical member to the words that mean it, in every language."""
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
    slots: dict[str, Slot]
    relations: list[Relation] = []
    importance_threshold: float = 0.6
    about: Literal["person", "thing", "scope"] = "thing"
    """person: statements in the first person are about the user's own; scope: one of them for the whole scope."""
    open_slots: bool = False
    """Slots that are not declared may be stated too (the general fact about any entity)."""
    templates: dict[str, str] = {}
    """Language to how a slot reads in a context line: `{name}: {slot} {value}`."""
