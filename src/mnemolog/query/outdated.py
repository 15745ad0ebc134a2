"""Values that stand no longer, and where a text still says one: no line of a context shows such a value without saying so,
whoever repeated it and whenever."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ..processors.core.text import query_terms, terms
from ..schemas.registry import Registry
from ..schemas.values import Value
from ..schemas.views import FormView, VersionView
from .facts import Facts
from .wording import WORDS, day, form_name, slot_label, value_text

__all__ = ["Old", "Outdated"]

_MOST = 3
"""Marks on one line at most."""
_SHOWN = 80
"""Characters of a value in a mark at most."""
_TELLING = 3
"""Digits from which on a number says by itself what it is about; letters likewise, plus one."""
_NEAR = 6
"""Words among which the parts of a date stand together."""


class Old(msgspec.Struct, frozen=True, kw_only=True):
    """A value that a slot had and has no longer."""

    form: FormView
    slot: str
    shown: str
    words: tuple[str, ...]
    """As terms, in order."""
    in_order: bool
    about: frozenset[str]
    """Terms that say what it is about."""
    needs_context: bool
    """It is too common a word to be known for this slot's value by itself."""
    until: str
    """Empty where that is not known, or the whole Form was called off."""
    called_off: bool
    now: str
    """What the slot has instead; empty where it has nothing, or several."""


class Outdated:
    """The old values of one scope."""

    def __init__(self, facts: Facts, registry: Registry) -> None:
        self._registry = registry
        self._by_word: dict[str, list[Old]] = {}
        self._by_turn: dict[str, list[Old]] = {}
        histories: dict[tuple[str, str], list[VersionView]] = {}
        for version in facts.versions:
            histories.setdefault((version.form_id, version.slot), []).append(version)
        for (form_id, slot), versions in histories.items():
            form = facts.by_id.get(form_id)
            if form is not None:
                self._add(form, slot, versions)

    def _add(self, form: FormView, slot: str, versions: Sequence[VersionView]) -> None:
        called_off = form.status == "retired"
        standing = [] if called_off else [one.value for one in form.slots if one.slot == slot and one.status != "retired"]
        keys = {value.key for value in standing}
        held = [_words(value) for value in standing]
        found: dict[str, Old] = {}
        for version in versions:
            value = version.value
            if value is None or version.status in ("scheduled", "retired"):
                continue
            is_old = (called_off or not version.current) and value.key not in keys
            words = _words(value)
            # Red was not wrong where it is deep red now.
            if is_old and words and not any(_stands_in(words, other) for other in held):
                old = self._old(form, slot, version, value, standing, called_off=called_off)
                known = found.get(value.key)
                found[value.key] = old if known is None or old.until > known.until else known
            for piece in version.evidence:
                self._by_turn.setdefault(piece.turn_id, [])
        for version in versions:
            for piece in version.evidence:
                if version.value is not None and version.value.key in found:
                    self._by_turn.setdefault(piece.turn_id, []).append(found[version.value.key])
        for old in found.values():
            if old.words and old.words[0]:
                self._by_word.setdefault(old.words[0] if old.in_order else max(old.words, key=len), []).append(old)

    def _old(
        self, form: FormView, slot: str, version: VersionView, value: Value, standing: Sequence[Value], *, called_off: bool
    ) -> Old:
        declared = self._registry.types.get(form.form_type)
        known = declared.slots.get(slot) if declared is not None else None
        aliases = [alias for named in (known.aliases if known is not None else {}).values() for alias in named]
        words = _words(value)
        return Old(
            form=form,
            slot=slot,
            shown=_short(value_text(value)),
            words=words,
            in_order=value.type not in ("date",),
            about=frozenset(terms("\n".join([slot.replace("_", " "), *aliases, form.name if form.key != "self" else ""]))),
            needs_context=value.type in ("enum", "bool") or not _tells(words),
            until=version.valid_to or "",
            called_off=called_off,
            now=_short(value_text(standing[0])) if len(standing) == 1 and not _many(self._registry, form, slot) else "",
        )

    def knows(self, turn_id: str) -> bool:
        """Whether anything was understood of a turn, so that this and not a guess says what of it is old."""
        return turn_id in self._by_turn

    def states(self, turn_id: str) -> list[Old]:
        """The old values that a turn states."""
        return self._by_turn.get(turn_id, [])

    def said_in(self, text: str) -> list[Old]:
        """The old values whose words stand in a text, in the order in which they do."""
        if not self._by_word:
            return []
        said = terms(text)
        there = frozenset(said)
        found: dict[int, Old] = {}
        for at, word in enumerate(said):
            for old in self._by_word.get(word, ()):
                if old.needs_context and not old.about & there:
                    continue
                here = said[at : at + len(old.words)] == list(old.words) if old.in_order else _together(old.words, said, at)
                if here:
                    found.setdefault(id(old), old)
        return list(found.values())


def marks(olds: Iterable[Old], registry: Registry, lang: str) -> list[str]:
    """`no longer true since 2026-05-10: Apollo budget 4000 → 5000`, each value once, three at most; then an ellipsis."""
    words = WORDS[lang]
    said: dict[str, None] = {}
    for old in olds:
        space = "" if lang == "zh" else " "
        whose = "" if old.form.key in ("self", "scope") else f"{form_name(old.form, lang)}{space}"
        change = f"{old.shown} → {old.now}" if old.now else old.shown
        if old.called_off:
            lead = words["retired"]
        else:
            lead = words["superseded"].format(day=day(old.until)) if old.until else words["superseded_undated"]
        said[f"{lead}: {whose}{slot_label(registry, old.form.form_type, old.slot, lang)} {change}"] = None
    found = list(said)
    return found if len(found) <= _MOST else [*found[:_MOST], "…"]


def _words(value: Value) -> tuple[str, ...]:
    """A value as the terms that a text which says it has. Of an amount the number alone: 4000 euros, €4,000."""
    if value.type in ("money", "number") and isinstance(value.data, dict):
        return tuple(terms(value.data.get("amount") or value.data.get("number") or ""))
    return tuple(terms(value_text(value)))


def _tells(words: Sequence[str]) -> bool:
    if len(query_terms(" ".join(words))) > 1:
        return True
    word = words[0] if words else ""
    if word[:1].isdigit():
        return len(word) >= _TELLING
    return len(word) > _TELLING if word.isascii() else len(word) > 1


def _stands_in(words: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return any(other[at : at + len(words)] == words for at in range(len(other) - len(words) + 1))


def _together(words: tuple[str, ...], said: Sequence[str], at: int) -> bool:
    near = frozenset(said[max(0, at - _NEAR) : at + _NEAR + 1])
    return all(word in near for word in words)


def _many(registry: Registry, form: FormView, slot: str) -> bool:
    declared = registry.types.get(form.form_type)
    known = declared.slots.get(slot) if declared is not None else None
    return known is not None and known.many


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
