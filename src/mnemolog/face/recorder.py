"""Records recalls beside them, never before them: what a recall gave is put into a bounded queue and written by a thread of its
own a moment later. A full queue or a log that fails costs records, which are counted and told of once; it costs no recall."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from datetime import UTC, datetime
from typing import NamedTuple

from ..schemas.events import make
from ..schemas.recalls import MemoryRecalled
from ..schemas.scope import Scope
from ..schemas.times import to_text
from .recall_topic import RecallPlace

__all__ = ["Recorder", "Waiting"]

_log = logging.getLogger("mnemolog.recalls")

ROOM = 10_000
"""Recalls that may wait to be written."""
DELAY = 0.05
"""Seconds from the first one that waits until all are written: so many share one write."""


class Waiting(NamedTuple):
    """A recall that is to be recorded."""

    recall_id: str
    scope: Scope
    time: str
    data: MemoryRecalled


class Recorder:
    """Thread-safe. In a child made by fork it begins anew: what waited is its parent's to write."""

    def __init__(self, place: RecallPlace, *, on: bool = True, room: int = ROOM, delay: float = DELAY) -> None:
        """on: whether anything is to be recorded; `place` can be read all the same."""
        self.place, self.on = place, on
        self._room, self._delay = room, delay
        self.lost = 0
        """Recalls that were not recorded."""
        self._told = False
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._queue: deque[Waiting] = deque()
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def put(self, recall: Waiting) -> None:
        """Takes a recall in; returns at once."""
        if self._pid != os.getpid():
            self._begin()
        with self._changed:
            if self._closed:
                return
            if len(self._queue) >= self._room:
                self._lose(1, f"{self._room} wait to be written")
                return
            self._queue.append(recall)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mnemolog-recalls", daemon=True)
                self._thread.start()
            elif len(self._queue) == 1:
                self._changed.notify()

    def flush(self) -> None:
        """Writes what waits, and returns when that and what was being written is done."""
        if self._pid != os.getpid():
            self._begin()
        with self._writing:
            with self._changed:
                batch = list(self._queue)
                self._queue.clear()
            if not batch:
                return
            try:
                recorded = to_text(datetime.now(UTC))
                self.place.append(
                    [
                        make(item.data, scope=item.scope, event_id=item.recall_id, time=item.time, recorded=recorded)
                        for item in batch
                    ]
                )
            except Exception as error:  # whatever it is, no recall may fail for it
                with self._changed:
                    self._lose(len(batch), f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Writes what waits and ends the thread. May be called twice."""
        if self._pid != os.getpid() or self._closed:
            return
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self.flush()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
            self._stop.wait(self._delay)
            self.flush()

    def _lose(self, count: int, why: str) -> None:
        self.lost += count
        if not self._told:
            self._told = True
            _log.warning("recalls are not recorded (this is said once; they are counted): %s", why)
