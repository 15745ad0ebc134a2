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
        self._end: weakref.finalize[[int, Path], Pasts] | None = None

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
            found, self._left = [*self._made.values(), *self._left], []
            self._made.clear()
        for past in found:
            past.close()
        if self._end is not None:
            self._end()

    def _of(self, key: _Key, part: Part, scope: Scope, as_of: str | None) -> Past:
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            stand = part.store.stand(scope)
            with self._lock:
                self._open()
                past = self._made.get(key)
                if past is not None:
                    past.users += 1
            if past is not None:
                if past.live_stand == stand or past.still_holds():
                    past.live_stand = stand
                    with self._lock:
                        if self._made.get(key) is past:
                            self._made.move_to_end(key)
                    return past
                with self._lock:
                    past.users -= 1
                    self._drop(key)
            path = self._next_path()
            made = Past(PastFold(part.log, scope, key.offset, as_of, path, partition=part.number), path)
            made.live_stand, made.users = stand, 1
            with self._lock:
                if self._closed:
                    made.close()
                self._open()
                self._made[key] = made
                self._making.pop(key, None)
            return made

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
            self._left = [past for past in self._left if past.users]
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
                self._end = weakref.finalize(self, _remove, os.getpid(), self._folder)
            self._number += 1
            return self._folder / f"{self._number}.sqlite"

    def _open(self) -> None:
        if self._closed:
            raise Closed("this memory was closed: open it again")


def _remove(pid: int, folder: Path) -> None:
    """In a child made by fork the folder is the parent's to remove."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)
