"""One declaration file to Form types: every mistake is an InvalidInput that names file, type and field and says what to do.
What passes here is complete and free of contradictions inside its type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from .errors import InvalidInput
from .forms import FormType, Relation, Slot
from .frame_syntax import MAX_FRAME, frame_problem
from .values import normal_text
from .yaml_file import read_yaml

__all__ = ["read_form_types"]

_T = TypeVar("_T")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_FIELDS = set(FormType.__struct_fields__)
_AT = re.compile(r" - at `\$\.?([^`]*)`$")
_SYNTAX = re.compile(r"[()\[\]{}|^]")
_FILLS = re.compile(r"\{([^{}]*)\}")


def read_form_types(data: bytes, where: str, languages: Sequence[str]) -> Iterator[tuple[FormType, str]]:
    """The Form types of one file, each with the place (`file: type`) that errors about it name. Every YAML document of the
    file (`---` between them) is one type."""
    for document in read_yaml(data, where):
        if not isinstance(document, dict):
            raise InvalidInput(where, "must hold a mapping with name and slots", "see docs/how-to/form-types.md")
        name = document.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{where}: name", f"{name!r} is no form type name", "use lower-case letters, digits and _, letter first"
            )
        place = f"{where}: {name}"
        yield _Reader(place, languages).form(document), place


class _Reader:
    """Checks one type's declaration."""

    def __init__(self, place: str, languages: Sequence[str]) -> None:
        self._place = place
        self._languages = languages

    def _wrong(self, path: str, problem: str, hint: str = "") -> InvalidInput:
        return InvalidInput(f"{self._place}.{path}", problem, hint)

    def form(self, raw: dict[str, Any]) -> FormType:
        for key in raw:
            if key not in _FIELDS:
                raise self._wrong(key, "is not known here", f"known: {', '.join(FormType.__struct_fields__)}")
        slots_raw = raw.get("slots")
        if slots_raw is None and raw.get("open_slots") is True:
            slots_raw = {}
        if not isinstance(slots_raw, dict) or not (slots_raw or raw.get("open_slots") is True):
            raise self._wrong("slots", "must map at least one slot name to its declaration")
        slots = {name: self._slot(name, slot) for name, slot in slots_raw.items()}
        relations = raw.get("relations", [])
        if not isinstance(relations, list):
            raise self._wrong("relations", "must be a list")
        checked = [self._relation(f"relations[{index}]", relation) for index, relation in enumerate(relations)]
        self._language_lists("aliases", raw.get("aliases", {}))
        self._frames("statements", raw.get("statements", {}), value_needed=True)
        self._language_texts("templates", raw.get("templates", {}), ("name", "slot", "value"), ("value",))
        built = self._convert({**raw, "slots": {}, "relations": []}, FormType, "")
        self._share("importance_threshold", built.importance_threshold, 0.0)
        self._check_between_slots(slots)
        full = {slot_name: _with_frames(slot_name, slot, built.statements) for slot_name, slot in slots.items()}
        return msgspec.structs.replace(built, slots=full, relations=checked)

    def _slot(self, name: Any, raw: Any) -> Slot:
        path = f"slots.{name}"
        if not _NAME.fullmatch(str(name)):
            raise self._wrong(path, "is no slot name", "use lower-case letters, digits and _, letter first")
        if raw is None:
            raw = {}
        if not isinstance(raw, dict):
            raise self._wrong(path, "must be a mapping", "for instance {type: text}")
        for key in raw:
            if key not in Slot.__struct_fields__:
                raise self._wrong(f"{path}.{key}", "is not known here", f"known: {', '.join(Slot.__struct_fields__)}")
        self._language_lists(f"{path}.aliases", raw.get("aliases", {}))
        self._frames(f"{path}.statements", raw.get("statements", {}), value_needed=True)
        self._frames(f"{path}.ends", raw.get("ends", {}), value_needed=False)
        self._language_texts(f"{path}.question", raw.get("question", {}), ("name", "value"), ())
        self._texts_by_key(f"{path}.values", raw.get("values", {}))
        self._language_lists(f"{path}.lexicon", raw.get("lexicon", {}))
        slot = self._convert(raw, Slot, path)
        self._share(f"{path}.threshold", slot.threshold, 0.5)
        self._share(f"{path}.importance", slot.importance, 0.0)
        self._check_values(path, slot)
        if slot.shape and slot.type != "text":
            raise self._wrong(f"{path}.shape", f"belongs to text, not to {slot.type}")
        if slot.yearly and slot.type != "date":
            raise self._wrong(f"{path}.yearly", f"belongs to date, not to {slot.type}")
        if slot.unit and slot.type not in ("number", "money"):
            raise self._wrong(f"{path}.unit", f"belongs to number or money, not to {slot.type}")
        return slot

    def _check_values(self, path: str, slot: Slot) -> None:
        if slot.type == "enum" and not slot.values:
            raise self._wrong(f"{path}.values", "is missing: an enum needs its members", "values: {small: [small, 小]}")
        if slot.type != "enum" and slot.values:
            raise self._wrong(f"{path}.values", f"belongs to type enum, not to {slot.type}")
        seen: dict[str, str] = {}
        for member, words in slot.values.items():
            for word in [member, *words]:
                other = seen.setdefault(normal_text(word), member)
                if other != member:
                    raise self._wrong(f"{path}.values.{member}", f"{word!r} also means {other!r}", "keep it in one member")

    def _check_between_slots(self, slots: dict[str, Slot]) -> None:
        for lang in self._languages:
            owner: dict[str, str] = {}
            for name, slot in slots.items():
                for alias in slot.aliases.get(lang, []):
                    other = owner.setdefault(normal_text(alias), name)
                    if other != name:
                        raise self._wrong(
                            f"slots.{name}.aliases.{lang}", f"{alias!r} already names slot {other!r}", "keep it in one slot"
                        )
        for name, slot in slots.items():
            if slot.opposes and not (slot.many and slot.opposes in slots and slots[slot.opposes].many):
                raise self._wrong(
                    f"slots.{name}.opposes", f"{slot.opposes!r} must be another slot of this type, both with many: true"
                )

    def _relation(self, path: str, raw: Any) -> Relation:
        if not isinstance(raw, dict):
            raise self._wrong(path, "must be a mapping", "for instance {relation: refers_to, to: lead}")
        for key in raw:
            if key not in Relation.__struct_fields__:
                raise self._wrong(f"{path}.{key}", "is not known here", f"known: {', '.join(Relation.__struct_fields__)}")
        self._language_lists(f"{path}.when", raw.get("when", {}))
        return self._convert(raw, Relation, path)

    def _languages_of(self, path: str, raw: Any) -> dict[str, Any]:
        if not isinstance(raw, dict):
            raise self._wrong(path, "must map a language to text", f"languages: {', '.join(self._languages)}")
        for lang in raw:
            if lang not in self._languages:
                raise self._wrong(f"{path}.{lang}", "is no language code", f"use {' or '.join(self._languages)}")
        return raw

    def _language_lists(self, path: str, raw: Any) -> None:
        self._texts_by_key(path, self._languages_of(path, raw))

    def _texts_by_key(self, path: str, raw: Any) -> None:
        if not isinstance(raw, dict):
            raise self._wrong(path, "must be a mapping to lists of texts")
        for key, words in raw.items():
            if not isinstance(words, list):
                raise self._wrong(f"{path}.{key}", "must be a list of texts", "put it in [ ]")
            for index, word in enumerate(words):
                if not isinstance(word, str):
                    raise self._wrong(f"{path}.{key}[{index}]", f"{word!r} is not text", "put it in quotes")
                if not normal_text(word):
                    raise self._wrong(f"{path}.{key}[{index}]", "has no letters")

    def _frames(self, path: str, raw: Any, *, value_needed: bool) -> None:
        self._language_lists(path, raw)
        for lang, frames in raw.items():
            for index, frame in enumerate(frames):
                problem = frame_problem(frame.replace("{slot}", "slot"), value_needed=value_needed)
                if problem:
                    raise self._wrong(f"{path}.{lang}[{index}]", f"{frame!r} {problem}")

    def _language_texts(self, path: str, raw: Any, known: Sequence[str], needed: Sequence[str]) -> None:
        for lang, text in self._languages_of(path, raw).items():
            if not isinstance(text, str):
                raise self._wrong(f"{path}.{lang}", f"{text!r} is not text", "put it in quotes")
            fills = _FILLS.findall(text)
            for fill in fills:
                if fill not in known:
                    raise self._wrong(
                        f"{path}.{lang}", f"{{{fill}}} is not known", f"use {', '.join(f'{{{name}}}' for name in known)}"
                    )
            if text.count("{") != len(fills) or text.count("}") != len(fills):
                raise self._wrong(f"{path}.{lang}", "has an unpaired brace")
            for name in needed:
                if name not in fills:
                    raise self._wrong(f"{path}.{lang}", f"lacks {{{name}}}")

    def _share(self, path: str, value: float, least: float) -> None:
        if not least <= value <= 1.0:
            raise self._wrong(path, f"{value} is outside {least}..1.0")

    def _convert(self, raw: Any, kind: type[_T], path: str) -> _T:
        try:
            return msgspec.convert(raw, kind)
        except msgspec.ValidationError as error:
            message = str(error)
            at = _AT.search(message)
            field = ".".join(part for part in (path, at.group(1) if at else "") if part)
            raise self._wrong(field, _AT.sub("", message)) from None


def _with_frames(name: str, slot: Slot, shared: dict[str, list[str]]) -> Slot:
    """The slot with the type's frames behind its own, and its aliases in place of `{slot}`."""
    statements = {
        lang: _expand(name, slot, lang, slot.statements.get(lang, []) + (shared.get(lang, []) if slot.plain else []))
        for lang in sorted({*slot.statements, *(shared if slot.plain else ())})
    }
    ends = {lang: _expand(name, slot, lang, frames) for lang, frames in slot.ends.items()}
    return msgspec.structs.replace(slot, statements={k: v for k, v in statements.items() if v}, ends=ends)


def _expand(name: str, slot: Slot, lang: str, frames: list[str]) -> list[str]:
    words = slot.aliases.get(lang) or ([name.replace("_", " ")] if lang == "en" else [])
    nouns = [_SYNTAX.sub(" ", word) for word in sorted(words, key=lambda word: (-len(word), word))]
    expanded: dict[str, None] = {}
    lexicon = "|".join(_SYNTAX.sub(" ", word) for word in slot.lexicon.get(lang, []))
    for frame in frames:
        frame = frame.replace("{value*}", f"{{value:{lexicon}}}" if lexicon else "{value}")
        if "{slot}" not in frame:
            expanded[frame] = None
            continue
        room = MAX_FRAME - len(frame)
        fitting: list[str] = []
        for noun in nouns:
            room -= len(noun) + 1
            if room > 0:
                fitting.append(noun)
        if fitting:
            expanded[frame.replace("{slot}", f"({'|'.join(fitting)})")] = None
    return list(expanded)
