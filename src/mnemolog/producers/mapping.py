"""Renames the fields of foreign records: `ours=theirs`, templates such as `id={sample_id}:{dia_id}`, constants. Reading a
mapping is checked before any record is seen; applying it is a pure function of one record."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from ..schemas.errors import InvalidInput, UnknownField

__all__ = ["FIELDS", "Mapper", "Rest"]

FIELDS = (
    "id",
    "tenant",
    "subject",
    "user_id",
    "session",
    "run_id",
    "agent",
    "agent_id",
    "role",
    "speaker",
    "name",
    "content",
    "occurred_at",
    "expires_at",
    "importance",
    "metadata",
)
"""What a record may say. `user_id`, `run_id`, `agent_id` and `name` are other words for subject `user:ID`, session, agent and
speaker."""

PASSED = ("tool_calls", "tool_call_id", "function_call", "refusal", "annotations", "audio")
"""Further fields of OpenAI-style messages, which are read as such."""

_TEXTS = frozenset(FIELDS) - {"occurred_at", "expires_at", "importance", "metadata", "content"}
_HOLE = re.compile(r"\{([^{}]+)\}")

Rest = Literal["refuse", "metadata", "ignore"]
"""What becomes of a field that is neither ours nor mapped."""


class _Rule(msgspec.Struct, frozen=True):
    ours: str
    kind: Literal["field", "template", "constant"]
    text: str


class Mapper(msgspec.Struct, frozen=True):
    """Turns a foreign record into one with our fields. Made by `Mapper.of`."""

    rules: tuple[_Rule, ...] = ()
    rest: Rest = "refuse"

    @classmethod
    def of(cls, maps: Iterable[str] = (), constants: Iterable[str] = (), rest: Rest | None = None) -> Mapper:
        """Reads `ours=theirs` (a field, with dots for nested ones, or a template with {fields}) and `ours=text` constants.

        Without any `maps`, what is neither ours nor mapped is refused; with some, the file is a foreign one and the rest is
        kept in `metadata`; `rest` says otherwise. Raises InvalidInput("map" or "set"), UnknownField.
        """
        rules: list[_Rule] = []
        for option, entries in (("map", maps), ("set", constants)):
            for entry in entries:
                ours, equals, theirs = entry.partition("=")
                ours, theirs = ours.strip(), theirs if option == "set" else theirs.strip()
                if not equals or not ours or not theirs:
                    raise InvalidInput(option, f"{entry!r} is not OURS={'TEXT' if option == 'set' else 'THEIRS'}")
                if ours not in FIELDS and not ours.startswith("metadata."):
                    raise UnknownField(option, f"there is no field {ours!r}", f"ours are {', '.join(FIELDS)}")
                if any(rule.ours == ours for rule in rules):
                    raise InvalidInput(option, f"gives {ours!r} twice")
                rules.append(_rule(option, ours, theirs))
        foreign = any(rule.kind != "constant" for rule in rules)
        return cls(tuple(rules), rest or ("metadata" if foreign else "refuse"))

    def apply(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The record in our fields. Numbers become text where ours is a text. Raises InvalidInput, UnknownField."""
        used: set[str] = set()
        mapped: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for rule in self.rules:
            value = self._value(rule, fields, used)
            if rule.ours.startswith("metadata."):
                if value is not None:
                    extra[rule.ours.removeprefix("metadata.")] = value
            else:
                mapped[rule.ours] = value
        result: dict[str, Any] = {}
        for key, value in fields.items():
            if key in used:
                continue
            if key in mapped:
                # Another value took its place; what the record itself said there is not lost.
                if self.rest != "ignore":
                    extra[key] = value
            elif key in FIELDS or key in PASSED:
                result[key] = value
            elif self.rest == "refuse":
                raise UnknownField(key, "a turn has no such field", _advice(key, fields))
            elif self.rest == "metadata":
                extra[key] = value
        result.update(mapped)
        if extra:
            own = result.get("metadata")
            if own is not None and not isinstance(own, Mapping):
                raise InvalidInput("metadata", f"must be an object, not {type(own).__name__}")
            result["metadata"] = {**(own or {}), **extra}
        return {key: _plain(key, value) for key, value in result.items() if value is not None}

    def _value(self, rule: _Rule, fields: Mapping[str, Any], used: set[str]) -> Any:
        if rule.kind == "constant":
            return rule.text
        if rule.kind == "field":
            value = _get(fields, rule.text, used)
            if value is None and rule.ours == "content":
                raise InvalidInput("content", f"field {rule.text!r} is missing", "it is mapped from there")
            return value

        def fill(hole: re.Match[str]) -> str:
            value = _get(fields, hole[1], used)
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                found = "is missing" if value is None else f"is {type(value).__name__}, not a text or a number"
                raise InvalidInput(rule.ours, f"field {hole[1]!r} {found}", f"it is mapped from {rule.text!r}")
            return str(value)

        return _HOLE.sub(fill, rule.text)


def _rule(option: str, ours: str, theirs: str) -> _Rule:
    if option == "set":
        return _Rule(ours, "constant", theirs)
    if "{" not in theirs and "}" not in theirs:
        return _Rule(ours, "field", theirs)
    if not _HOLE.search(theirs) or re.search(r"[{}]", _HOLE.sub("", theirs)):
        raise InvalidInput(option, f"{theirs!r} is not a template", "write fields as {name}, for example id={chat}:{turn}")
    return _Rule(ours, "template", theirs)


def _get(fields: Mapping[str, Any], path: str, used: set[str]) -> Any:
    """The field named `path`, or the nested one where the name itself is not there; remembers what was used up. An object that
    a nested field was taken from is not used up: its other fields still count."""
    if path in fields:
        used.add(path)
        return fields[path]
    first, *rest = path.split(".")
    value: Any = fields.get(first)
    for part in rest:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _plain(key: str, value: Any) -> Any:
    if key in _TEXTS and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def _advice(key: str, fields: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(key, [name for name in FIELDS if name not in fields], 1, 0.75)
    if near:
        return f"did you mean {near[0]!r}? otherwise map it, --map metadata.{key}={key}"
    return f"map it to one of ours, keep it with --map metadata.{key}={key}, or leave it out with --rest ignore"
