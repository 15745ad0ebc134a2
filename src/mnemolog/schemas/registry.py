"""The registry of Form types: the built-in YAML files and those of the user's folders, checked key by key. A registry never
changes after it was loaded; two registries of the same content have the same version."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from .codec import canonical, sha256_hex
from .errors import InvalidInput, UnknownFormType
from .form_file import read_form_types
from .forms import FormType, Slot
from .values import normal_text

__all__ = ["LANGUAGES", "Registry"]

LANGUAGES = ("en", "zh")
"""The languages that declarations may be written in."""

_SUFFIXES = (".yaml", ".yml")
Places = list[tuple[str, str]]


class Registry:
    """All Form types by name. Make one with `Registry.load()`."""

    __slots__ = ("_by_alias", "_by_type_alias", "_types", "_version")

    def __init__(self, types: Mapping[str, FormType]) -> None:
        self._types = MappingProxyType({name: types[name] for name in sorted(types)})
        self._by_alias: dict[str, dict[str, Places]] = {}
        self._by_type_alias: dict[str, dict[str, list[str]]] = {}
        self._version = ""

    @classmethod
    def load(cls, folders: Sequence[Path | str] = ()) -> Registry:
        """The built-in types and those of every *.yaml and *.yml in `folders`, in sorted order; a later folder replaces a type
        of the same name as a whole. Raises InvalidInput that names file, type and field, and says what to do."""
        if not folders:
            return _builtin()
        types = dict(_builtin().types)
        origin: dict[str, str] = {}
        for folder in folders:
            for name, (form, where) in _read_folder(Path(folder)).items():
                types[name], origin[name] = form, where
        _check_references(types, origin)
        return cls(types)

    @property
    def types(self) -> Mapping[str, FormType]:
        """Every Form type by name, sorted; read only."""
        return self._types

    @property
    def version(self) -> str:
        """Twelve hexadecimal digits that change exactly when a declaration changes."""
        if not self._version:
            self._version = sha256_hex(canonical(dict(self._types)))[:12]
        return self._version

    def type(self, name: str) -> FormType:
        """Raises UnknownFormType, which lists the known names."""
        found = self._types.get(name)
        if found is None:
            raise UnknownFormType("form_type", f"no form type {name!r}", f"known: {', '.join(self._types)}")
        return found

    def slot(self, form_type: str, slot: str) -> Slot:
        """A declared slot, or plain text for any name of a type with open slots. Raises UnknownFormType."""
        form = self.type(form_type)
        found = form.slots.get(slot)
        if found is not None:
            return found
        if form.open_slots and slot:
            return Slot()
        raise UnknownFormType("slot", f"form type {form_type!r} has no slot {slot!r}", f"known: {', '.join(form.slots)}")

    def alias_index(self, lang: str) -> Mapping[str, Places]:
        """Normalised alias (`normal_text`) to every (form type, slot) called so in `lang`, sorted. A slot without an English
        alias is called by its own name."""
        if lang not in self._by_alias:
            index: dict[str, Places] = {}
            for name, form in self._types.items():
                for slot_name, slot in form.slots.items():
                    own = [slot_name.replace("_", " ")] if lang == "en" else []
                    for alias in slot.aliases.get(lang) or own:
                        places = index.setdefault(normal_text(alias), [])
                        if (name, slot_name) not in places:
                            places.append((name, slot_name))
            self._by_alias[lang] = {alias: sorted(index[alias]) for alias in sorted(index)}
        return self._by_alias[lang]

    def type_alias_index(self, lang: str) -> Mapping[str, list[str]]:
        """Normalised alias to the names of the Form types called so in `lang`, sorted."""
        if lang not in self._by_type_alias:
            index: dict[str, list[str]] = {}
            for name, form in self._types.items():
                words = form.aliases.get(lang, []) + ([name.replace("_", " ")] if lang == "en" else [])
                for alias in words:
                    names = index.setdefault(normal_text(alias), [])
                    if name not in names:
                        names.append(name)
            self._by_type_alias[lang] = {alias: sorted(index[alias]) for alias in sorted(index)}
        return self._by_type_alias[lang]

    def slots_by_alias(self, text: str) -> Places:
        """Every (form type, slot) that `text` names in any language; an English plural finds its singular."""
        wanted = normal_text(text)
        tries = [wanted]
        if wanted.endswith("ies"):
            tries.append(f"{wanted[:-3]}y")
        if wanted.endswith("s"):
            tries.append(wanted[:-1])
        for form in tries:
            found = sorted({place for lang in LANGUAGES for place in self.alias_index(lang).get(form, [])})
            if found:
                return found
        return []


@cache
def _builtin() -> Registry:
    types: dict[str, FormType] = {}
    entries = [
        entry for entry in files(__name__.rpartition(".")[0]).joinpath("form_types").iterdir() if entry.name.endswith(_SUFFIXES)
    ]
    for entry in sorted(entries, key=lambda entry: entry.name):
        for form, _ in read_form_types(entry.read_bytes(), entry.name, LANGUAGES):
            if form.name in types:
                raise InvalidInput(entry.name, f"form type {form.name!r} is declared twice")
            types[form.name] = form
    _check_references(types, {})
    return Registry(types)


def _read_folder(folder: Path) -> dict[str, tuple[FormType, str]]:
    if not os.path.isdir(folder):
        raise InvalidInput("form_types", f"{folder} is not a folder", "name a folder that holds *.yaml files")
    found: dict[str, tuple[FormType, str]] = {}
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.suffix.lower() not in _SUFFIXES or not path.is_file():
            continue
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InvalidInput(str(path), f"cannot be read: {error.strerror}") from None
        for form, where in read_form_types(data, str(path), LANGUAGES):
            if form.name in found:
                raise InvalidInput(where, f"is declared in {found[form.name][1]} too", "keep one of them or rename one")
            found[form.name] = (form, where)
    return found


def _check_references(types: Mapping[str, FormType], origin: Mapping[str, str]) -> None:
    for name, form in types.items():
        for index, relation in enumerate(form.relations):
            if relation.to not in types:
                raise InvalidInput(
                    f"{origin.get(name, name)}: relations[{index}].to",
                    f"no form type {relation.to!r}",
                    f"known: {', '.join(sorted(types))}",
                )
