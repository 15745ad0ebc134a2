"""Vectors scanned with numpy, for a process that does not own the shard, and for memories that live in memory alone. It
answers as the shard does: the same float16 values, the same order."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...processors.core.ports import VectorHit
from ...schemas.errors import Closed
from .points import Point, check_dim, in_order, newest, rounded

__all__ = ["ReadPoints", "ScanVectors"]

Points = Iterable[Point]
ReadPoints = Callable[[str, str, int], Points]
"""(scope, kind, after) -> the points (id, position, vector) with a position above `after`, in order of positions."""

_MAX_BYTES = 256 * 1024 * 1024


class ScanVectors:
    """Brute force over one matrix per (scope, kind).

    With `read`, matrices are caches: brought up to date at each search, the least recently used dropped beyond `max_bytes`.
    Without it they are all there is, and none is dropped.
    """

    def __init__(self, dim: int, read: ReadPoints | None = None, *, max_bytes: int = _MAX_BYTES) -> None:
        self._dim = dim
        self._read = read
        self._max_bytes = max_bytes
        self._lock = threading.RLock()
        self._parts: OrderedDict[tuple[str, str], _Part] = OrderedDict()
        self._next_offset = 0
        self._closed = False

    @property
    def next_offset(self) -> int:
        return self._next_offset

    def upsert(self, scope: str, kind: str, points: Sequence[Point]) -> None:
        """Points (id, position, vector); of one id the highest position stands."""
        held = newest(points)
        for _, _, vector in held:
            check_dim(vector, self._dim)
        with self._lock:
            self._part(scope, kind).put(held)

    def delete(self, scope: str, point_ids: Sequence[str]) -> None:
        """Takes the points of these ids out, of every kind."""
        with self._lock:
            self._open()
            for key, part in self._parts.items():
                if key[0] == scope:
                    part.drop(point_ids)

    def search(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        """The nearest points of these scopes, best first; ties by id."""
        check_dim(vector, self._dim)
        if limit < 1:
            return []
        wanted = rounded(vector)
        hits: list[VectorHit] = []
        with self._lock:
            for scope in dict.fromkeys(scopes):
                part = self._part(scope, kind)
                if self._read is not None:
                    part.put(self._read(scope, kind, part.newest))
                hits += part.nearest(wanted, limit)
            self._trim()
        return in_order(hits)[:limit]

    def flush(self, next_offset: int) -> None:
        """Remembers `next_offset`; nothing here outlives the process."""
        with self._lock:
            self._open()
            self._next_offset = next_offset

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._parts.clear()

    def _open(self) -> None:
        if self._closed:
            raise Closed("the vector index is closed")

    def _part(self, scope: str, kind: str) -> _Part:
        self._open()
        part = self._parts.setdefault((scope, kind), _Part(self._dim))
        self._parts.move_to_end((scope, kind))
        return part

    def _trim(self) -> None:
        held = sum(part.size for part in self._parts.values())
        while self._read is not None and held > self._max_bytes and len(self._parts) > 1:
            _, dropped = self._parts.popitem(last=False)
            held -= dropped.size


class _Part:
    """The points of one scope and kind: a matrix that doubles as it grows."""

    def __init__(self, dim: int) -> None:
        self._matrix = np.zeros((16, dim), np.float32)
        self._ids: list[str] = []
        self._positions: list[int] = []
        self._rows: dict[str, int] = {}
        self.newest = -1

    @property
    def size(self) -> int:
        """Bytes of the matrix."""
        return int(self._matrix.nbytes)

    def put(self, points: Points) -> None:
        for name, position, vector in points:
            row = self._rows.get(name)
            if row is None:
                row = len(self._ids)
                if row == len(self._matrix):
                    self._matrix = np.concatenate([self._matrix, np.zeros_like(self._matrix)])
                self._rows[name] = row
                self._ids.append(name)
                self._positions.append(position)
            elif self._positions[row] > position:
                continue
            self._positions[row] = position
            self._matrix[row] = rounded(vector)
            self.newest = max(self.newest, position)

    def drop(self, names: Sequence[str]) -> None:
        for name in names:
            row = self._rows.pop(name, None)
            if row is None:
                continue
            last = len(self._ids) - 1
            if row != last:
                self._matrix[row] = self._matrix[last]
                self._ids[row], self._positions[row] = self._ids[last], self._positions[last]
                self._rows[self._ids[row]] = row
            self._ids.pop()
            self._positions.pop()

    def nearest(self, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        scores = self._matrix[: len(self._ids)] @ vector
        # Everything down to the limit-th score, ties included, so that ties are cut by id and not by place.
        floor = np.partition(scores, -limit)[-limit] if len(scores) > limit else -np.inf
        rows = np.flatnonzero(scores >= floor)
        return [VectorHit(self._ids[row], float(scores[row])) for row in rows.tolist()]
