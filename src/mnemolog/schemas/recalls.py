"""The `data` of what is recorded about recalls, on `memory.recalls.v1`, and the ids of recalls. A recall changes nothing: no
state is made of it, and what it says lies outside every digest."""

from __future__ import annotations

import secrets
import uuid
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from .times import from_text, to_text

__all__ = ["GivenMemory", "MemoryRecalled", "recall_id", "recall_time"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class GivenMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """One memory of an answer."""

    id: str
    """`Hit.id`, or of a line of a context that is none the id of the turn it rests on."""
    score: float | None = None
    """For ordering within one answer; a context's lines have none."""
    routes: list[str] = []
    """What found it."""


class MemoryRecalled(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`memory.recalled` v1: which memories were given to which agent for which question. The event's id is the recall's, its
    scope the first of `scopes`."""

    kind: Literal["search", "context"]
    question: str
    """As it was asked; of a very long one the beginning."""
    scopes: list[str]
    """`tenant/subject` of each memory that was read."""
    agent: str = "default"
    session: str = ""
    """Empty where the asker named none."""
    profile: str = ""
    """Empty: the default one."""
    memories: list[GivenMemory] = []
    """In the order of the answer."""
    missing: dict[str, str] = {}
    """Routes that did not answer, and why."""
    tokens: int = 0
    """Of a context's text."""
    behind: int = 0
    """Inputs that were not processed yet."""


def recall_id(now: str) -> str:
    """A new id: a UUID of version 7, which begins with the time (fixed UTC form), so that the record is found by it."""
    milliseconds = (from_text(now) - _EPOCH) // timedelta(milliseconds=1)
    number = (milliseconds & (1 << 48) - 1) << 80 | secrets.randbits(80)
    number = number & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=number & ~(3 << 62) | 2 << 62))


def recall_time(identifier: str) -> str | None:
    """When a recall of that id was made, to the millisecond (fixed UTC form); None for an id that is no recall's."""
    try:
        parsed = uuid.UUID(identifier)
        if parsed.version != 7 or str(parsed) != identifier:
            return None
        return to_text(_EPOCH + timedelta(milliseconds=parsed.int >> 80))
    except (ValueError, OverflowError):
        return None
