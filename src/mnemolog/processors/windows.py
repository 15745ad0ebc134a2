"""What an extractor sees beside a turn: the last turns of its session before it, none of them hidden. They are the same whether
they are still loaded or read back, so that what is understood depends on the log alone."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ..projections.store import Store
from ..schemas.errors import Unavailable
from ..schemas.events import DYNAMICS, decode
from ..schemas.inputs import Turn
from .core.ports import EventLog, IndexView, LogIndex, SeenTurn, Stored

__all__ = ["IndexPlaces", "StorePlaces", "TurnPlaces", "Windows"]

_SESSIONS = 1024
"""Sessions whose last turns stay loaded."""


class TurnPlaces(Protocol):
    """Where turns lie on dynamics, but for those that an input below `as_of` took back."""

    def session_turns(self, scope: str, session: str, before: int, limit: int, as_of: int) -> list[int]:
        """The offsets of a session's last turns below `before`, oldest first."""
        ...

    def turn_at(self, scope: str, turn_id: str, as_of: int) -> int | None:
        """The offset of the first turn of that id."""
        ...


class StorePlaces:
    """Told from the turns table, which stands just before the input that is asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def session_turns(self, scope: str, session: str, before: int, limit: int, as_of: int) -> list[int]:
        return [view.offset for view in self._store.session_turns(scope, session, before, limit)]

    def turn_at(self, scope: str, turn_id: str, as_of: int) -> int | None:
        view = self._store.turn(scope, turn_id)
        return None if view is None else view.offset


class IndexPlaces:
    """Told from the log's index, which may have been folded on beyond the input that is asked for. Raises Unavailable where it
    does not reach up to that."""

    def __init__(self, index: LogIndex) -> None:
        self._index = index

    def session_turns(self, scope: str, session: str, before: int, limit: int, as_of: int) -> list[int]:
        with self._reading(as_of) as view:
            return view.session_turns(scope, session, before, limit, as_of)

    def turn_at(self, scope: str, turn_id: str, as_of: int) -> int | None:
        with self._reading(as_of) as view:
            return view.turn_at(scope, turn_id, as_of)

    @contextmanager
    def _reading(self, as_of: int) -> Iterator[IndexView]:
        """A database that broke down may come back without the index's last steps; turns would be missing."""
        with self._index.reading() as view:
            if view.next_offset(DYNAMICS) < as_of:
                raise Unavailable("the log's index is behind what was read from it before: the batch is taken up again")
            yield view


class Windows:
    """The sessions' last `size` turns. For the sessions that are going on they are kept, for the others read back from where
    `places` says that they lie, which must know every turn that was not added here. Thread-safe; a session is one thread's."""

    def __init__(self, log: EventLog, places: TurnPlaces, size: int) -> None:
        self._log, self._places, self._size = log, places, size
        self._sessions: OrderedDict[tuple[str, str], deque[SeenTurn]] = OrderedDict()
        self._lock = threading.RLock()

    def before(self, stored: Stored, session: str) -> list[SeenTurn]:
        """The turns before the one that lies at `stored`, oldest first."""
        with self._lock:
            return list(self._of(stored, session))

    def add(self, stored: Stored, seen: SeenTurn) -> None:
        """That turn is the session's last one now."""
        with self._lock:
            self._of(stored, seen.turn.session).append(seen)

    def turn(self, asking: Stored, turn_id: str) -> SeenTurn | None:
        """The turn of that id, if it is there for the input that lies at `asking`."""
        offset = self._places.turn_at(asking.scope, turn_id, asking.offset)
        return None if offset is None else self._recorded(asking.scope, offset)

    def before_turn(self, asking: Stored, about: SeenTurn) -> list[SeenTurn]:
        """The turns before another one, for the input that lies at `asking`."""
        offset = self._places.turn_at(asking.scope, about.id, asking.offset)
        return [] if offset is None else self._read(asking.scope, about.turn.session, offset, asking.offset)

    def forget(self, scope: str) -> None:
        """Reads the scope's sessions back when they are asked for again: some of their turns were hidden."""
        with self._lock:
            for key in [key for key in self._sessions if key[0] == scope]:
                del self._sessions[key]

    def clear(self) -> None:
        with self._lock:
            self._sessions.clear()

    def trim(self) -> None:
        """Between batches only: what was added must be in the tables before it is read back."""
        while len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)

    def _of(self, stored: Stored, session: str) -> deque[SeenTurn]:
        key = (stored.scope, session)
        window = self._sessions.get(key)
        if window is None:
            window = deque(self._read(stored.scope, session, stored.offset, stored.offset), maxlen=self._size)
            self._sessions[key] = window
        self._sessions.move_to_end(key)
        return window

    def _read(self, scope: str, session: str, before: int, as_of: int) -> list[SeenTurn]:
        if self._size < 1:
            return []
        return [
            self._recorded(scope, offset) for offset in self._places.session_turns(scope, session, before, self._size, as_of)
        ]

    def _recorded(self, scope: str, offset: int) -> SeenTurn:
        stored = next(iter(self._log.read(DYNAMICS, offset, 1)))
        envelope, data = decode(stored.value)
        if not isinstance(data, Turn) or stored.offset != offset:  # a table points at it, so this is a damaged table
            raise TypeError(f"offset {offset} of scope {scope!r} is {envelope.type}, not a turn: run rebuild")
        return SeenTurn(envelope.id, data)
