"""Reads files of turns as they come: JSON Lines, a JSON array of messages, or an object with `messages`. Every record keeps its
place; what cannot be read becomes a `Bad` at that place, and the reading goes on: no line is lost silently."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NoReturn

import msgspec
import orjson

from ..schemas.errors import InvalidInput

__all__ = ["MAX_LINE", "Bad", "Place", "Record", "records"]

MAX_LINE = 16 * 1024 * 1024
"""The longest line, in bytes: a turn of 1 MiB with every character escaped fits."""

_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_UNFINISHED = (b"{", b"[", b",")


class Place(msgspec.Struct, frozen=True):
    """Where in the file: the line, from 1 (0 where the file is one document); the message in its list, from 1 (0 where there
    is no list)."""

    line: int = 0
    message: int = 0

    def __str__(self) -> str:
        return ".".join(str(part) for part in (self.line, self.message) if part)

    def describe(self) -> str:
        """`line 3`, `message 2`, `line 3, message 2`."""
        parts = (("line", self.line), ("message", self.message))
        return ", ".join(f"{word} {number}" for word, number in parts if number)


class Record(msgspec.Struct, frozen=True):
    """One JSON object that is to become a turn."""

    place: Place
    fields: dict[str, Any]


class Bad(msgspec.Struct, frozen=True):
    """A place that holds no record, and why."""

    place: Place
    field: str
    reason: str


def records(stream: BinaryIO) -> Iterator[Record | Bad]:
    """The records of a file, in order. Lines without anything but white space are no records.

    Line by line where it can be (JSON Lines); a document is read whole. Raises InvalidInput("file", ...) for a file that is not
    UTF-8 text of one of these kinds at all.
    """
    head = stream.readline(MAX_LINE)
    if head.startswith(_WIDE):
        raise InvalidInput("file", "is UTF-16, not UTF-8", "convert it, for example with iconv -t UTF-8")
    head = head.removeprefix(_BOM)
    number = 1
    while head and not head.strip():
        head = stream.readline(MAX_LINE)
        number += 1
    opening = head.strip()
    if opening.startswith(b"[") or (opening.endswith(_UNFINISHED) and _json(opening) is None):
        yield from _document(head + stream.read())
        return
    while head:
        if len(head) == MAX_LINE and not head.endswith(b"\n"):
            _skip_line(stream)
            yield Bad(Place(number), "line", f"is longer than {MAX_LINE:,} bytes (a turn holds at most 1 MiB)")
        elif head.strip():
            yield from _line(head.strip(), number)
        head = stream.readline(MAX_LINE)
        number += 1


def _line(raw: bytes, number: int) -> Iterator[Record | Bad]:
    place = Place(number)
    found = _parsed(raw, place)
    if isinstance(found, Bad):
        yield found
    elif not isinstance(found, dict):
        yield Bad(place, "line", f"is not a JSON object but {_kind(found)}")
    elif "messages" in found:
        yield from _conversation(found, number)
    else:
        yield Record(place, found)


def _document(raw: bytes) -> Iterator[Record | Bad]:
    """A whole file that is one JSON value."""
    found = _parsed(raw, Place())
    if isinstance(found, Bad):
        raise InvalidInput("file", found.reason, 'give JSON Lines, a JSON array of messages, or {"messages": [...]}')
    if isinstance(found, list):
        yield from _messages(found, {}, 0)
    elif isinstance(found, dict) and "messages" in found:
        yield from _conversation(found, 0)
    elif isinstance(found, dict):
        yield Record(Place(1), found)
    else:
        raise InvalidInput("file", f"holds {_kind(found)}, not turns", "give JSON Lines or a JSON array of messages")


def _conversation(found: dict[str, Any], line: int) -> Iterator[Record | Bad]:
    """An object with `messages`: its other fields hold for every message; its `id` names the session."""
    rest = {key: value for key, value in found.items() if key != "messages"}
    identifier = rest.pop("id", None)
    if isinstance(identifier, str | int) and "session" not in rest:
        rest["session"] = str(identifier)
    messages = found["messages"]
    if isinstance(messages, list):
        yield from _messages(messages, rest, line)
    else:
        yield Bad(Place(line or 1), "messages", f"must be a list, not {_kind(messages)}")


def _messages(found: list[Any], rest: Mapping[str, Any], line: int) -> Iterator[Record | Bad]:
    for index, message in enumerate(found, 1):
        place = Place(line, index)
        if isinstance(message, dict):
            yield Record(place, {**rest, **message})
        else:
            yield Bad(place, "message", f"is not a JSON object but {_kind(message)}")


def _parsed(raw: bytes, place: Place) -> Any:
    """The JSON value, or a Bad that says what is wrong with it."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        reason = str(error)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return Bad(place, "line", f"is not UTF-8: byte 0x{raw[error.start]:02X} at byte {error.start}")
    try:
        # A lone surrogate in an escape is refused by the strict parser without saying in which field it is.
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return Bad(place, "line", f"is not JSON: {reason}")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _json(raw: bytes) -> Any | None:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def _skip_line(stream: BinaryIO) -> None:
    """Past the end of a line of any length."""
    while True:
        part = stream.readline(MAX_LINE)
        if not part or part.endswith(b"\n"):
            return


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
