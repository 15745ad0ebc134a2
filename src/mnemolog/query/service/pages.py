"""Pages of a list, by a cursor that says after which item to go on: what is added or taken away in between makes no page repeat
or leave out another item. A cursor is good only for the list it was given for."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from .problems import FieldProblem, ProblemError

__all__ = ["Place", "cursor_of", "page", "place_of"]

T = TypeVar("T")
Place = tuple[str | int, ...]
"""What orders the items of a list; no two have the same."""


def _mark(of: Sequence[object]) -> str:
    return hashlib.sha256(msgspec.json.encode([str(item) for item in of])).hexdigest()[:16]


def cursor_of(of: Sequence[object], place: Place) -> str:
    """The cursor that goes on after `place`. `of`: what tells this list from others (route, tenant, subject, filters)."""
    return base64.urlsafe_b64encode(msgspec.json.encode([_mark(of), *place])).decode("ascii").rstrip("=")


def place_of(of: Sequence[object], cursor: str | None, example: Sequence[type]) -> Place | None:
    """The place that a cursor names; None without one. `example`: the types of its parts. Raises ProblemError (422) for a text
    that is no cursor of this list."""
    if cursor is None:
        return None
    try:
        coded = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        mark, *place = msgspec.json.decode(coded, type=list[str | int])
        if mark == _mark(of) and [type(part) for part in place] == list(example):
            return tuple(place)
    except (ValueError, msgspec.DecodeError):
        pass
    problem = "is no cursor of this list: give `next` of its last page as it is, with the same parameters"
    raise ProblemError(422, "invalid-cursor", f"cursor: {problem}", fields=[FieldProblem("cursor", problem)])


def page(
    items: Sequence[T], after: Place | None, limit: int, place: Callable[[T], Place], of: Sequence[object]
) -> tuple[list[T], str | None]:
    """The items after a place, `limit` at most, and the cursor of the next page."""
    start = 0
    if after is not None:
        places = [place(item) for item in items]
        # Gone by now: on from the first that comes after it.
        later = next((index for index, found in enumerate(places) if found > after), len(items))
        start = places.index(after) + 1 if after in places else later
    found = list(items[start : start + limit])
    return found, cursor_of(of, place(found[-1])) if start + limit < len(items) else None
