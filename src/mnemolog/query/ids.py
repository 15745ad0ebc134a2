"""The names of memories: opaque and stable, the same for the same slot version, turn, entry or week in every answer. The tenant
is no part of it, so that an id never leads out of the tenant that it is asked for in."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from ..schemas.errors import InvalidInput

__all__ = ["MemoryId", "memory_id", "parse_memory_id"]

_PARTS = {"slot": 3, "turn": 2, "event": 1, "summary": 1}
_SAFE = ":@"
_PLAIN = re.compile(r"[A-Za-z0-9_.~:@-]*")
"""What stands for itself: nearly all that ids are made of."""


class MemoryId(NamedTuple):
    """What an id names. `parts`: of a slot the Form's id, the slot and the version; of a turn its source and event id; of an
    event the entry's id; of a summary the week."""

    kind: str
    subject: str
    parts: tuple[str, ...]


def memory_id(kind: str, scope: str, *parts: str | int) -> str:
    """The id of a memory in a scope (`tenant/subject`)."""
    return "/".join([kind, _quoted(scope.partition("/")[2]), *[_quoted(str(part)) for part in parts]])


def _quoted(part: str) -> str:
    return part if _PLAIN.fullmatch(part) else quote(part, safe=_SAFE)


def parse_memory_id(text: str) -> MemoryId:
    """What an id names. Raises InvalidInput for a text that is none."""
    kind, *rest = text.split("/") if isinstance(text, str) else [""]
    if len(rest) != 1 + _PARTS.get(kind, -2):
        raise InvalidInput("id", f"{text!r} is not the id of a memory", "give the `id` of a hit")
    subject, *parts = map(unquote, rest)
    return MemoryId(kind, subject, tuple(parts))
