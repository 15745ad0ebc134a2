"""YAML as declarations need it: plain mappings, lists and scalars, read event by event. Tags, anchors, aliases and repeated
keys are refused with their line, so that a file says exactly what it shows and cannot unfold into something huge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from .errors import InvalidInput

__all__ = ["MAX_FILE", "read_yaml"]

MAX_FILE = 1_048_576
"""The longest declaration file, in bytes (1 MiB)."""
MAX_DEPTH = 20

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_yaml(data: bytes, where: str) -> list[Any]:
    """The documents of a YAML file as plain data; `where` names the file in errors. Raises InvalidInput."""
    if len(data) > MAX_FILE:
        raise InvalidInput(where, f"is {len(data):,} bytes long; at most {MAX_FILE:,}", "split it into several files")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(where, f"is not UTF-8 at byte {error.start}", "save it as UTF-8") from None
    documents: list[Any] = []
    try:
        events = yaml.parse(text, Loader=_Loader)
        documents.extend(
            _node(next(events), events, where, 0) for event in events if isinstance(event, yaml.DocumentStartEvent)
        )
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InvalidInput(where, f"{line}is not YAML: {problem}", "quote values that contain : # [ ] { }") from None
    return documents


def _at(event: Any) -> str:
    return f"line {event.start_mark.line + 1}: "


def _node(event: Any, events: Iterator[Any], where: str, depth: int) -> Any:
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise InvalidInput(where, f"{_at(event)}anchors and aliases (&, *) are not allowed", "write the value out")
    if event.tag is not None and event.tag != "!":
        raise InvalidInput(where, f"{_at(event)}tags ({event.tag}) are not allowed", "write plain text")
    if depth > MAX_DEPTH:
        raise InvalidInput(where, f"{_at(event)}is nested more than {MAX_DEPTH} levels deep")
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event.value, event.style)
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Any] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(_node(event, events, where, depth + 1))
        return items
    mapping: dict[str, Any] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        if not isinstance(event, yaml.ScalarEvent) or event.anchor is not None or event.tag is not None:
            raise InvalidInput(where, f"{_at(event)}a key must be plain text")
        if event.value in mapping:
            raise InvalidInput(where, f"{_at(event)}the key {event.value!r} stands twice", "keep one of them")
        mapping[event.value] = _node(next(events), events, where, depth + 1)
    return mapping


def _scalar(text: str, style: str | None) -> str | bool | int | float | None:
    """Only what JSON has: `no`, `on` and dates stay text."""
    if style:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "-0123456789" and text.isascii():
        try:
            return int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError:
            return text
    return text
