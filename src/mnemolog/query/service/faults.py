"""What is wrong with the fields of a request, in words that a caller understands: named as the caller wrote them, without the
patterns that they are checked by, and never repeating what was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .fields import PATTERNS
from .problems import FieldProblem

__all__ = ["LOOKED_AT", "NAMED", "fields_of"]

LOOKED_AT = 100
"""Of the faults of one request so many are looked at: a hostile one has a million."""
NAMED = 20
"""And so many of its fields are told."""
_PLACES = ("body", "query", "path", "header")
_TYPES = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
"""By the kind of a fault: what should have been there."""


def fields_of(faults: Sequence[Mapping[str, Any]]) -> list[FieldProblem]:
    """One problem a field, in the order of the request. Of the types that a value was tried as, the one that came furthest says
    what is wrong; where none came further than its type, all of them are named."""
    wanted: dict[str, list[str]] = {}
    wrong: dict[str, str] = {}
    fields: list[str] = []
    for fault in faults[:LOOKED_AT]:
        field, problem = _problem_of(fault)
        fields.append(field)
        kind = _TYPES.get(fault["type"])
        if kind is None or problem:
            wrong.setdefault(field, problem)
        elif kind not in wanted.setdefault(field, []):
            wanted[field].append(kind)
    told = {field: wrong.get(field) or f"should be {_either(wanted[field])}" for field in fields}
    deeper = {field for field in told for other in told if other.startswith((f"{field}.", f"{field}["))}
    return [FieldProblem(field, problem) for field, problem in told.items() if field not in deeper][:NAMED]


def _problem_of(fault: Mapping[str, Any]) -> tuple[str, str]:
    """The field, and what is wrong with it; empty where it is of another type and the types are to be named."""
    where, kind, message = list(fault["loc"]), fault["type"], str(fault["msg"])
    if where == ["body"] and kind == "model_attributes_type":
        return "body", "should be a JSON object, sent with Content-Type: application/json"
    if where[:1] == ["header"]:
        return str(where[-1]), _words(fault)
    path = _path(where[1:] if where and where[0] in _PLACES else where)
    if kind == "value_error":  # ours say the field themselves
        field, _, problem = message.removeprefix("Value error, ").partition(": ")
        return f"{path}.{field}" if path else field, problem
    return path or "body", "" if kind in _TYPES else _words(fault)


def _words(fault: Mapping[str, Any]) -> str:
    kind, message = fault["type"], str(fault["msg"])
    if kind == "extra_forbidden":
        return "there is no such field"
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(fault["ctx"]["pattern"], "has not the form that is asked for")
    return message[:1].lower() + message[1:]


def _either(kinds: Iterable[str]) -> str:
    *most, last = kinds
    return f"{', '.join(most)} or {last}" if most else last


def _path(parts: Sequence[int | str]) -> str:
    """`messages[0].role`. Which of several types a value was tried as is left out."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier() and not part[:1].isupper() and part not in ("str", "int", "float", "constrained"):
            path += f".{part}" if path else part
    return path
