"""Upcasters: each turns the plain data of one event version into the next; they are chained and never deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import Undecodable

__all__ = ["UPCASTERS", "upcast"]

Data = dict[str, Any]
Steps = dict[tuple[str, int], Callable[[Data], Data]]


def _turn_1_to_2(data: Data) -> Data:
    """v1 called the words `text` and did not keep the speaker's offset from UTC."""
    if "content" in data or "utc_offset" in data:
        raise KeyError("content and utc_offset came with v2")
    moved = {key: value for key, value in data.items() if key != "text"}
    return {**moved, "content": data["text"], "utc_offset": 0}


UPCASTERS: Steps = {
    ("turn.recorded", 1): _turn_1_to_2,
}
"""(event type, version it reads) to the function that makes the next version."""


def upcast(name: str, version: int, current: int, data: Data, steps: Steps = UPCASTERS) -> Data:
    """Plain data at `version` brought to `current`, one step at a time; raises Undecodable where a step is missing or the data
    does not have the shape of its version. `data` itself is not altered."""
    while version < current:
        step = steps.get((name, version))
        if step is None:
            raise Undecodable(f"{name} v{version} cannot be read: there is no upcaster to v{version + 1}")
        try:
            data = step(data)
        except (KeyError, TypeError, AttributeError) as error:
            raise Undecodable(f"{name} v{version} does not have the shape of that version: {error!r}") from error
        version += 1
    return data
