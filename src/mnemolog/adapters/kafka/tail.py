"""What this process itself appended to a topic of late: whoever follows close behind takes it from here, without a request.

Invariant: what is kept is what the topic holds there, without a gap: every record was acknowledged by all in-sync replicas, at
the offset that it is kept under.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice

from ...processors.core.ports import Stored

__all__ = ["Firsts", "Tail"]

_KEPT, _KEPT_BYTES = 1024, 2 * 1024 * 1024
"""Records, and bytes of them, that are kept at most."""
_REMEMBERED = 4096
"""Inputs of which it is remembered that they are the first of their ids."""
_ASK_EVERY = 0.25
"""Seconds between two questions to the broker whether others appended something, by somebody who does not wait for it."""


class Tail:
    """The end of one topic and partition. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: deque[Stored] = deque()
        self._bytes = 0
        self._asked = 0.0

    def add(self, records: Sequence[Stored]) -> None:
        """What was acknowledged just now, in the order of its offsets."""
        with self._lock:
            for record in records:
                if self._records and record.offset != self._records[-1].offset + 1:
                    self._records.clear()
                    self._bytes = 0
                self._records.append(record)
                self._bytes += len(record.value)
            while len(self._records) > _KEPT or (self._bytes > _KEPT_BYTES and len(self._records) > 1):
                self._bytes -= len(self._records.popleft().value)

    def read(self, start: int, most: int) -> list[Stored]:
        """Up to `most` records from `start` on; none where they are not kept."""
        with self._lock:
            if not self._records:
                return []
            skip = start - self._records[0].offset
            return list(islice(self._records, skip, skip + most)) if 0 <= skip < len(self._records) else []

    def is_behind(self, offset: int) -> bool:
        """Whether something lies at `offset` or behind it."""
        with self._lock:
            return bool(self._records) and self._records[-1].offset >= offset

    def ends_at(self, start: int) -> bool:
        """Whether `start` is behind the last of them, and the broker was asked only just now whether others went on from
        there."""
        with self._lock:
            if not self._records or self._records[-1].offset + 1 != start:
                return False
            now = time.monotonic()
            if now - self._asked < _ASK_EVERY:
                return True
            self._asked = now
            return False


class Firsts:
    """Inputs appended here that are the first of their ids, which no later record can change. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._appended: list[int] = []
        self._offsets: dict[int, None] = {}

    def appended(self, offsets: Sequence[int]) -> None:
        """They lie on the topic; the index does not know them for certain before `settle`."""
        with self._lock:
            self._appended = list(offsets)

    def settle(self) -> None:
        """The index is committed with what was appended last."""
        with self._lock:
            self._offsets |= dict.fromkeys(self._appended)
            self._appended = []
            while len(self._offsets) > _REMEMBERED:
                del self._offsets[next(iter(self._offsets))]

    def among(self, offsets: Iterable[int]) -> list[int]:
        """Those of them that are remembered."""
        with self._lock:
            return [offset for offset in offsets if offset in self._offsets]
