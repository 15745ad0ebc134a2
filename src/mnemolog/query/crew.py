"""Threads that answer parts of a recall. They are daemons: what hangs in one of them neither keeps a recall waiting beyond its
budget nor the interpreter from ending. A thread that is done waits a while for more, so that a recall seldom starts one."""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from ..schemas.errors import Unavailable

__all__ = ["MOST_BUSY", "Crew", "crew"]

T = TypeVar("T")

IDLE_SECONDS = 30.0
MOST_BUSY = 32
"""Pieces of one kind of work that may be under way at once: what does not come back takes no more threads than that."""


class Crew:
    """Runs work in threads, any number of kinds beside each other. Thread-safe; a child made by fork starts with none."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._reset()

    def _reset(self) -> None:
        self._ready = threading.Condition()
        self._waiting: deque[tuple[str, Callable[[], Any], Future[Any]]] = deque()
        self._idle = 0
        self._busy: Counter[str] = Counter()

    def start(self, kind: str, work: Callable[[], T]) -> Future[T]:
        """Begins `work`. Where so much of its kind is under way that this cannot be, the future holds Unavailable."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._reset()
        future: Future[T] = Future()
        with self._ready:
            if self._busy[kind] >= MOST_BUSY:
                future.set_exception(Unavailable(f"{MOST_BUSY} earlier questions still wait for it"))
                return future
            self._busy[kind] += 1
            self._waiting.append((kind, work, future))
            if self._idle >= len(self._waiting):
                self._ready.notify()
                return future
        threading.Thread(target=self._serve, name="mnemolog-recall", daemon=True).start()
        return future

    def _serve(self) -> None:
        ready = self._ready
        while True:
            with ready:
                self._idle += 1
                try:
                    if not ready.wait_for(lambda: self._waiting, IDLE_SECONDS):
                        return
                finally:
                    self._idle -= 1
                kind, work, future = self._waiting.popleft()
            try:
                result = work()
            except BaseException as error:
                self._done(kind)
                future.set_exception(error)
            else:
                self._done(kind)
                future.set_result(result)
            # What was computed is the caller's alone while this thread waits for more.
            del work, future
            result = None

    def _done(self, kind: str) -> None:
        with self._ready:
            self._busy[kind] -= 1


crew = Crew()
"""The one that all recalls of a process share."""
