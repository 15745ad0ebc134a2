"""Answers to questions that were asked before, for as long as nothing they rest on has moved: the read models of their scopes,
the turns on the log, the vectors, and the end of what expires."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple

from .hits import Found

__all__ = ["Answers"]

KEPT = 512
SECONDS = 10.0
"""The most that an answer which counts from the present moment is kept."""


class _Kept(NamedTuple):
    stands: tuple[object, ...]
    until: float
    expires: str
    found: Found


class Answers:
    """Thread-safe. A question's key holds everything but the state of the memory and the present moment. The oldest answer is
    the first to go, and none is kept beyond its time: answers are large."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        """Whether there may be an answer."""
        with self._lock:
            return key in self._kept

    def get(self, key: Hashable, stands: tuple[object, ...], now: str) -> Found | None:
        """The answer that was given when everything stood as it does."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            if kept.stands != stands or self._clock() > kept.until or (kept.expires and kept.expires <= now):
                del self._kept[key]
                return None
            return kept.found

    def put(self, key: Hashable, stands: tuple[object, ...], found: Found) -> None:
        """Keeps an answer; none from which something is missing."""
        if found.missing:
            return
        expires = min((hit.expires_at for hit in found.hits if hit.expires_at), default="")
        with self._lock:
            self._kept[key] = _Kept(stands, self._clock() + SECONDS, expires, found)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT or next(iter(self._kept.values())).until < self._clock():
                self._kept.popitem(last=False)
