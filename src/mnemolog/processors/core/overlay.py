"""A dict that lies over another one: reads fall through, writes and deletions stay on top, and the one below is never touched.
The values must be immutable. It lets a decision try out its own changes on a state of any size at no cost."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TypeVar

__all__ = ["Overlay"]

V = TypeVar("V")

_GONE = object()


class Overlay(MutableMapping[str, V]):
    """Iterates in the order of the dict below, then what is new; a key deleted and set again moves to the end only once it is
    written through."""

    __slots__ = ("_base", "_top")

    def __init__(self, base: MutableMapping[str, V]) -> None:
        self._base = base
        self._top: dict[str, V | object] = {}

    def __getitem__(self, key: str) -> V:
        found = self._top.get(key, self._top)
        if found is self._top:
            return self._base[key]
        if found is _GONE:
            raise KeyError(key)
        return found  # type: ignore[return-value]

    def __setitem__(self, key: str, value: V) -> None:
        self._top[key] = value

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self._top[key] = _GONE

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str) and key in self._top:
            return self._top[key] is not _GONE
        return key in self._base

    def __iter__(self) -> Iterator[str]:
        for key in self._base:
            if self._top.get(key) is not _GONE:
                yield key
        for key, value in self._top.items():
            if value is not _GONE and key not in self._base:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)
