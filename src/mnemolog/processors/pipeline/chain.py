"""All kinds of work on one partition in one process: a turn goes through them one after the other on one thread, as soon as it
is there. What one of them appended the next one takes from this process's own memory, so that a turn costs few requests and
wakes nobody up.

Invariant: each core still goes on from its own durable place, and from the topics where others work on the partition too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from ...schemas.errors import Closed
from .lanes import STEP_SECONDS, TRANSIENT, Fault, Lane, MakeCore, Threaded

__all__ = ["Behind", "Chain"]

Behind = Callable[[str, int, int], bool]
"""Whether this process appended something to a topic and partition at or behind an offset."""


class Chain:
    """The work on partition `number`. `rows`: kinds of work and what makes their cores; those of one row share a thread, in the
    order in which a turn passes them. What waits for somebody (a model, vectors) holds up those of its row alone."""

    def __init__(self, number: int, rows: Sequence[Mapping[str, MakeCore]], behind: Behind, fault: Fault) -> None:
        self.name = f"all of partition {number}"
        self._rows = [_Row(number, row, behind, fault) for row in rows]

    @property
    def begun(self) -> bool:
        return self._rows[0].head.begun

    def position(self) -> int:
        """Of the first kind."""
        return self._rows[0].head.position()

    def start(self) -> None:
        for row in self._rows:
            row.start()

    def ask_to_stop(self) -> None:
        """After the steps that are going on."""
        for row in self._rows:
            row.ask_to_stop()

    def join(self, seconds: float) -> bool:
        """Whether everything has ended by then."""
        deadline = time.monotonic() + seconds

        return not [row for row in self._rows if not row.join(max(deadline - time.monotonic(), 0))]


class _Link(Lane):
    def __init__(self, kind: str, number: int, make: MakeCore) -> None:
        super().__init__(kind, number, make)
        self.given = True
        """Whether there may be something to do."""
        self.not_before = 0.0


class _Row(Threaded):
    """A thread, and the lanes that share it."""

    def __init__(self, number: int, cores: Mapping[str, MakeCore], behind: Behind, fault: Fault) -> None:
        super().__init__(f"{'-'.join(cores)}-{number}")
        self._number, self._behind, self._fault = number, behind, fault
        self._links = [_Link(kind, number, make) for kind, make in cores.items()]
        self.head = self._links[0]
        self._looked = 0.0

    def _run(self) -> None:
        while not self._stop.is_set():
            now = time.monotonic()
            if now - self._looked >= STEP_SECONDS:
                # Others may work on this partition too: each looks for itself, whatever was passed to it.
                self._looked = now
                for link in self._links:
                    link.given = True
            self._round(now)

    def _round(self, now: float) -> None:
        """Everybody's turn once; the first one waits for something to come where nobody else has anything to do."""
        ready = [link for link in self._links if link.not_before <= now and (link is self.head or link.given)]
        if not ready:
            self._stop.wait(min(max(min(link.not_before for link in self._links) - now, 0.01), STEP_SECONDS))
        waits = ready == [self.head]
        for place, link in enumerate(self._links):
            passed_on = place > 0 and link.given and link.not_before <= now
            if self._stop.is_set() or not (link in ready or passed_on):
                continue
            done = self._step(link, STEP_SECONDS if waits and link is self.head else 0.0)
            if done and place + 1 < len(self._links):
                self._links[place + 1].given = True

    def _step(self, link: _Link, timeout: float) -> int:
        try:
            done = link.step(timeout)
            link.given = done > 0 and self._behind(link.topic, self._number, link.position())
        except TRANSIENT as error:
            link.not_before, link.given = time.monotonic() + link.pause.after(error), True
        except Closed as error:
            if not self._stop.is_set():
                self._fault(link.name, error)
            self._stop.set()
        except BaseException as error:
            self._fault(link.name, error)
            self._stop.set()
        else:
            return done
        return 0
