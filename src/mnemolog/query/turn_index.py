"""The keyword indexes of the scopes that were asked about lately, each brought up to date when it is used; beyond a bound on
turns held in all, the least recently used scope is dropped and read again when it is asked about."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from .lexical import ScopeIndex
from .ports import MemoryReader

__all__ = ["MAX_TURNS", "TurnIndexes"]

MAX_TURNS = 500_000
"""Turns held in memory over all scopes: about 150 bytes each, and 8 for each of its terms."""


class TurnIndexes:
    """Thread-safe: one reader of a scope's index at a time."""

    def __init__(self, reader: MemoryReader, *, max_turns: int = MAX_TURNS) -> None:
        self._reader = reader
        self._max_turns = max_turns
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[threading.Lock, ScopeIndex]] = OrderedDict()

    @contextmanager
    def using(self, scope: str) -> Iterator[ScopeIndex]:
        """The scope's index with all turns that the read models hold now; nobody else changes it meanwhile."""
        with self._lock:
            lock, index = self._held.setdefault(scope, (threading.Lock(), ScopeIndex()))
            self._held.move_to_end(scope)
        with lock:
            index.extend(self._reader.turn_index(scope, index.last_offset))
            yield index
        with self._lock:
            self._trim(scope)

    def speakers(self, scope: str) -> list[str]:
        """The names of the scope's speakers as of its last use here; as of now where there was none."""
        with self._lock:
            held = self._held.get(scope)
        if held is not None:
            with held[0]:
                if len(held[1]):
                    return held[1].speaker_names
        with self.using(scope) as index:
            return index.speaker_names

    def drop(self, scope: str) -> None:
        """Reads the scope anew at the next use: some of its turns are not there any more."""
        with self._lock:
            self._held.pop(scope, None)

    def _trim(self, kept: str) -> None:
        total = sum(len(index) for _, index in self._held.values())
        for scope in list(self._held):
            if total <= self._max_turns:
                return
            if scope != kept:
                total -= len(self._held.pop(scope)[1])
