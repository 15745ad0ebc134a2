"""Past moments of a memory, kept for as long as they are asked about: each is a scope folded up to an offset (and cut at a
moment of event time), in a file of its own in a folder of this process. Invariant: what a past answers with is never more than
what today's readers may see of that scope."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..projections.store import Store
from ..schemas.errors import Closed
from ..schemas.scope import Scope
from .past_fold import PastFold
from .past_position import Part

__all__ = ["KEPT", "KEPT_BYTES", "Past", "Pasts"]

KEPT = 16
"""Past moments that are kept for the next question, and ..."""
KEPT_BYTES = 256 * 1024 * 1024
"""... how many bytes of files they may be; those in use are kept in any case."""

T = TypeVar("T")


class _Key(NamedTuple):
    scope: str
    offset: int
    as_of: str


class Past:
    """One scope at one moment, and what its readers have made from it (`kept`). Thread-safe."""

    def __init__(self, fold: PastFold, path: Path) -> None:
        self._fold, self._path = fold, path
        self._lock = threading.RLock()
        self._made: dict[object, object] = {}
        self.users = 0
        self.bytes = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
        self.live_stand: object = None

    @property
    def store(self) -> Store:
        """The rows of then."""
        return self._fold.store

    def still_holds(self) -> bool:
        with self._lock:
            return self._fold.still_holds()

    def kept(self, key: object, make: Callable[[], T]) -> T:
        """What was made for this past before, or is made now."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]  # type: ignore[return-value]

    def close(self) -> None:
        self.store.close()
        for file in self._path.parent.glob(f"{self._path.name}*"):
            file.unlink(missing_ok=True)


class Pasts:
    """The past moments of one memory. Thread-safe; what was used longest ago goes first."""

    def __init__(self, *, kept: int = KEPT, kept_bytes: int = KEPT_BYTES) -> None:
        self._most, self._most_bytes = kept, kept_bytes
        self._lock = threading.RLock()
        self._made: OrderedDict[_Key, Past] = OrderedDict()
        self._left: list[Past] = []
        self._making: dict[_Key, threading.Lock] = {}
        self._folder: Path | None = None
        self._number = 0
        self._closed = False
        self._end: weakref.finalize[..., Pasts] | None = None

    @contextmanager
    def reading(self, part: Part, scope: Scope, offset: int, as_of: str | None) -> Iterator[Past]:
        """The scope as its inputs below `offset` left it, cut at `as_of` (fixed UTC form) where given. It stays as long as it
        is used."""
        key = _Key(str(scope), offset, as_of or "")
        past = self._of(key, part, scope, as_of)
        try:
            yield past
        finally:
            with self._lock:
                past.users -= 1
            self._trim()

    def close(self) -> None:
        """Frees all of it. May be called twice."""
        with self._lock:
            self._closed = True
            if self._end is not None:
                self._end()

    def _of(self, key: _Key, part: Part, scope: Scope, as_of: str | None) -> Past:
        """In use by the caller; made by one thread while others who ask for the same wait."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            stand = part.store.stand(scope)
            past = self._known(key, stand)
            if past is None:
                path = self._next_path()
                past = Past(PastFold(part.log, scope, key.offset, as_of, path, partition=part.number), path)
                self._keep(key, past, stand)
        with self._lock:
            self._making.pop(key, None)
        return past

    def _known(self, key: _Key, stand: object) -> Past | None:
        """What was made before, where it still holds."""
        with self._lock:
            self._open()
            past = self._made.get(key)
            if past is None:
                return None
            past.users += 1
        holds = False
        try:
            holds = past.live_stand == stand or past.still_holds()
        finally:
            with self._lock:
                if not holds:
                    past.users -= 1
                    self._drop(key)
                elif self._made.get(key) is past:
                    past.live_stand = stand
                    self._made.move_to_end(key)
        return past if holds else None

    def _keep(self, key: _Key, past: Past, stand: object) -> None:
        with self._lock:
            if self._closed:
                past.close()
            self._open()
            past.live_stand, past.users = stand, 1
            self._drop(key)
            self._made[key] = past

    def _trim(self) -> None:
        """Lets go of what is too much, and of what was in use when it had to go."""
        with self._lock:
            for key in list(self._made):
                size = sum(past.bytes for past in self._made.values())
                if len(self._made) <= self._most and size <= self._most_bytes:
                    break
                if not self._made[key].users:
                    self._drop(key)
            gone = [past for past in self._left if not past.users]
            self._left[:] = [past for past in self._left if past.users]
        for past in gone:
            past.close()

    def _drop(self, key: _Key) -> None:
        past = self._made.pop(key, None)
        if past is not None:
            self._left.append(past)

    def _next_path(self) -> Path:
        with self._lock:
            self._open()
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="mnemolog-past-"))
                self._end = weakref.finalize(self, _remove, os.getpid(), self._made, self._left, self._folder)
            self._number += 1
            return self._folder / f"{self._number}.sqlite"

    def _open(self) -> None:
        if self._closed:
            raise Closed("this memory was closed: open it again")


def _remove(pid: int, made: OrderedDict[_Key, Past], left: list[Past], folder: Path) -> None:
    """In a child made by fork it is all the parent's."""
    if os.getpid() != pid:
        return
    for past in [*made.values(), *left]:
        past.close()
    made.clear()
    left.clear()
    shutil.rmtree(folder, ignore_errors=True)
