"""How a core is kept going, whoever calls it: what is transient waits with growing pauses, everything else ends the worker.

Invariants: one thread at a time in a core; a server that is down costs nothing but time; an unexpected error is never stepped
over, since what comes after it may rest on it.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from ...schemas.errors import Closed, ModelUnavailable, Unavailable
from .core import Core

__all__ = ["STEP_SECONDS", "TRANSIENT", "Fault", "Lane", "Pause", "ThreadLane", "Threaded"]

_log = logging.getLogger("mnemolog.worker")

TRANSIENT = (Unavailable, ModelUnavailable)
"""Errors that pass by themselves."""
STEP_SECONDS = 0.25
"""The longest wait of a step: so soon a stop is noticed."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0

MakeCore = Callable[[int], Core]


class Fault:
    """The first unexpected error of a worker, which ends it. Thread-safe."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self._ended = ended
        self._lock = threading.Lock()
        self.error: BaseException | None = None

    def __call__(self, what: str, error: BaseException) -> None:
        with self._lock:
            first = self.error is None
            if first:
                self.error = error
        if first:
            _log.critical("%s failed, this worker ends: %s: %s", what, type(error).__name__, error, exc_info=error)
            self._ended()


class Pause:
    """How long to wait before the next try: longer each time, until something works again."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._seconds = 0.0

    def after(self, error: BaseException) -> float:
        """Seconds to wait now; said once, when it begins."""
        if not self._seconds:
            _log.warning("%s waits: %s", self._what, error)
        self._seconds = min(max(self._seconds * 2, _FIRST_PAUSE), _LONGEST_PAUSE)
        return self._seconds

    def works(self) -> None:
        if self._seconds:
            _log.warning("%s goes on", self._what)
        self._seconds = 0.0


class Lane:
    """One partition of one kind of work: its core, made when it is first needed."""

    def __init__(self, kind: str, number: int, make: MakeCore) -> None:
        self.name = f"{kind} of partition {number}"
        self._number, self._make = number, make
        self._core: Core | None = None
        self.pause = Pause(self.name)

    def step(self, timeout: float) -> int:
        if self._core is None:
            self._core = self._make(self._number)
        done = self._core.step(timeout)
        self.pause.works()
        return done

    def position(self) -> int:
        if self._core is None:
            self._core = self._make(self._number)
        return self._core.position

    @property
    def topic(self) -> str:
        if self._core is None:
            self._core = self._make(self._number)
        return self._core.topic

    @property
    def begun(self) -> bool:
        return self._core is not None


class Threaded(ABC):
    """Work on a thread of its own, from `start` until it is asked to stop."""

    def __init__(self, name: str) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"mnemolog-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask_to_stop(self) -> None:
        """After the step that is going on."""
        self._stop.set()

    def join(self, seconds: float) -> bool:
        """Whether it has ended by then."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @abstractmethod
    def _run(self) -> None:
        """Until `_stop` is set."""


class ThreadLane(Lane, Threaded):
    """A lane with a thread of its own."""

    def __init__(self, kind: str, number: int, make: MakeCore, fault: Fault) -> None:
        Lane.__init__(self, kind, number, make)
        Threaded.__init__(self, f"{kind}-{number}")
        self._fault = fault

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.step(STEP_SECONDS)
            except TRANSIENT as error:
                self._stop.wait(self.pause.after(error))
            except Closed as error:
                if not self._stop.is_set():
                    self._fault(self.name, error)
                return
            except BaseException as error:
                self._fault(self.name, error)
                return
