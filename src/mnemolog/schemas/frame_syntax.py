"""The syntax of sentence frames, read into a small tree: text, `{value}` (`{value:dog|cat}` where it must hold one of these
words), `[optional|optional]`, `(one|other)`; a leading `^` ties the frame to the start of a clause. What parses here can be
compiled to a pattern without nested repetition."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from .errors import InvalidInput

__all__ = ["MAX_FRAME", "Choice", "FrameNode", "Text", "ValueMark", "frame_problem", "parse_frame"]

MAX_FRAME = 4000
"""The longest frame, in characters."""
MAX_DEPTH = 6
_VALUE = re.compile(r"\{value(?:\*|:([^{}]+))?\}")


class Text(msgspec.Struct, frozen=True):
    text: str


class ValueMark(msgspec.Struct, frozen=True):
    """Where the value stands; with `words` it must hold one of them."""

    words: tuple[str, ...] = ()


class Choice(msgspec.Struct, frozen=True):
    """One of several branches; `optional` means none may stand too."""

    branches: tuple[tuple[FrameNode, ...], ...]
    optional: bool


FrameNode = Text | ValueMark | Choice


def frame_problem(frame: str, *, value_needed: bool = True) -> str:
    """What is wrong with a frame, or an empty text."""
    try:
        parse_frame(frame)
    except InvalidInput as error:
        return error.problem
    count = len(_VALUE.findall(frame))
    if count > 1:
        return "has {value} more than once"
    if value_needed and not count:
        return "lacks {value}: mark where the value stands"
    return ""


@lru_cache(maxsize=4096)
def parse_frame(frame: str) -> tuple[FrameNode, ...]:
    """The frame's tree. Raises InvalidInput (field `frame`)."""
    if len(frame) > MAX_FRAME:
        raise InvalidInput("frame", f"is longer than {MAX_FRAME} characters")
    nodes, end, _ = _sequence(frame, 0, "", 0)
    if end != len(frame):
        raise InvalidInput("frame", f"has an unexpected {frame[end]!r}")
    if not any(isinstance(node, Text) and node.text.strip() for node in _flat(nodes)):
        raise InvalidInput("frame", "needs words beside {value}")
    for node in nodes:
        if isinstance(node, Choice) and any(isinstance(inner, ValueMark) for inner in _flat((node,))):
            raise InvalidInput("frame", "has {value} inside ( ) or [ ]: write two frames")
    return nodes


def _sequence(frame: str, at: int, closer: str, depth: int) -> tuple[tuple[FrameNode, ...], int, str]:
    """Nodes up to `closer` or `|`; returns them, the index behind and the character that ended them."""
    if depth > MAX_DEPTH:
        raise InvalidInput("frame", "is nested too deeply")
    nodes: list[FrameNode] = []
    text = ""
    while at < len(frame):
        char = frame[at]
        if char in "([{":
            if text:
                nodes.append(Text(text))
                text = ""
            if char == "{":
                mark = _VALUE.match(frame, at)
                if mark is None:
                    raise InvalidInput("frame", "has a placeholder other than {value}, {value*} and {slot}")
                nodes.append(ValueMark(tuple(mark.group(1).split("|")) if mark.group(1) else ()))
                at = mark.end()
            else:
                choice, at = _choice(frame, at, depth)
                nodes.append(choice)
        elif char in ")]|}":
            if not closer or char == "}" or (char != "|" and char != closer):
                return (*nodes, *_text(text)), at, ""
            return (*nodes, *_text(text)), at + 1, char
        else:
            text += char
            at += 1
    if closer:
        raise InvalidInput("frame", f"lacks a closing {closer!r}")
    return (*nodes, *_text(text)), at, ""


def _text(text: str) -> tuple[FrameNode, ...]:
    return (Text(text),) if text else ()


def _choice(frame: str, at: int, depth: int) -> tuple[Choice, int]:
    closer = ")" if frame[at] == "(" else "]"
    at += 1
    branches: list[tuple[FrameNode, ...]] = []
    ended = "|"
    while ended == "|":
        nodes, at, ended = _sequence(frame, at, closer, depth + 1)
        if not ended:
            raise InvalidInput("frame", f"has an unexpected {frame[at]!r}")
        branches.append(nodes)
    return Choice(tuple(branches), closer == "]"), at


def _flat(nodes: tuple[FrameNode, ...]) -> list[FrameNode]:
    flat: list[FrameNode] = []
    for node in nodes:
        flat.append(node)
        if isinstance(node, Choice):
            for branch in node.branches:
                flat.extend(_flat(branch))
    return flat
