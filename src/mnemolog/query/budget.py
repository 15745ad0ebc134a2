"""The time of one recall: each part of it has until its own moment, and what is not there by then is named with the reason and
left out. Nothing here waits longer than that, whatever the part does."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from typing import TypeVar

from ..schemas.errors import MnemologError
from .crew import crew
from .trace import RouteTrace

__all__ = ["COLD_SECONDS", "DUE", "SECONDS", "Budget", "usual_seconds"]

_log = logging.getLogger("mnemolog.recall")

T = TypeVar("T")

SECONDS = 0.2
"""The whole of a recall, unless its caller says otherwise."""
COLD_SECONDS = 10.0
"""What the first question of a process about a scope is given instead, whatever comes of it: it loads the embedder's model and
the scope's rows."""
DUE = {"reader": 0.25, "vectors": 0.6, "reranker": 1.0}
"""By when a part must have answered, as a share of the whole; 0.85 for the others. Turns need time to be ranked after vectors
were given up, and a reranker what the routes leave."""
_DUE = 0.85


def usual_seconds(*, cold: bool) -> float:
    """The budget of a question whose caller names none. `cold`: it is the first one that needs something."""
    return max(SECONDS, COLD_SECONDS) if cold else SECONDS


class Budget:
    """The clock of one recall and the notes on what became of its parts. Thread-safe."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.missing: dict[str, str] = {}
        self.ran: list[RouteTrace] = []
        self._clock = clock
        self._begun = clock()
        self._lock = threading.Lock()

    def elapsed(self) -> float:
        """Seconds since the recall began."""
        return self._clock() - self._begun

    def left(self, part: str) -> float:
        """Seconds that a part still has, 0 where its time is over."""
        return max(0.0, self.seconds * DUE.get(part, _DUE) - self.elapsed())

    def start(self, part: str, work: Callable[[], T]) -> Future[T]:
        """Begins a part in a thread of its own."""
        return crew.start(part, work)

    def result(self, part: str, future: Future[T], found: Callable[[T], list[str]] = lambda _: []) -> T | None:
        """What a part brought; None where it is late or failed, which is then noted, and logged where nobody expected it.
        `found`: the ids of what it found, for the trace."""
        try:
            brought = future.result(self.left(part))
        except Late as error:
            # Since 3.11 a TimeoutError of the work itself is of the same class.
            self._give_up(part, "failed" if future.done() else "late", self._reason(future, error))
            return None
        except Exception as error:
            if not isinstance(error, MnemologError):
                _log.error("%s failed, the answer goes without", part, exc_info=error)
            self._give_up(part, "failed", self._reason(future, error))
            return None
        self.note(RouteTrace(route=part, state="answered", milliseconds=self._ms(), found=found(brought)))
        return brought

    def note(self, trace: RouteTrace) -> None:
        with self._lock:
            self.ran.append(trace)

    def _give_up(self, part: str, state: str, reason: str) -> None:
        with self._lock:
            self.missing.setdefault(part, reason)
            late = state == "late"
            self.ran.append(RouteTrace(route=part, state="late" if late else "failed", milliseconds=self._ms(), reason=reason))

    def _reason(self, future: Future[T], error: BaseException) -> str:
        if future.done():
            return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return f"no answer after {self._ms():.0f} ms"

    def _ms(self) -> float:
        return round(self.elapsed() * 1000, 3)
