"""What an extractor sees beside a turn: the last turns of its session before it, none of them hidden. They are the same whether
they are still loaded or read back, so that what is understood depends on the log alone."""

from __future__ import annotations

from collections import OrderedDict, deque

from ..projections.store import Store
from ..schemas.events import DYNAMICS, decode
from ..schemas.inputs import Turn
from .core.ports import EventLog, SeenTurn, Stored

__all__ = ["Windows"]

_SESSIONS = 1024
"""Sessions whose last turns stay loaded."""


class Windows:
    """The sessions' last `size` turns. For the sessions that are going on they are kept, for the others read back from the
    turns table, which must hold every turn that was not added here."""

    def __init__(self, log: EventLog, store: Store, size: int) -> None:
        self._log, self._store, self._size = log, store, size
        self._sessions: OrderedDict[tuple[str, str], deque[SeenTurn]] = OrderedDict()

    def before(self, stored: Stored, session: str) -> list[SeenTurn]:
        """The turns before the one that lies at `stored`, oldest first."""
        return list(self._of(stored, session))

    def add(self, stored: Stored, seen: SeenTurn) -> None:
        """That turn is the session's last one now."""
        self._of(stored, seen.turn.session).append(seen)

    def turn(self, scope: str, turn_id: str) -> SeenTurn | None:
        """The turn of that id, if it is in the tables and not hidden."""
        view = self._store.turn(scope, turn_id)
        return None if view is None else self._recorded(scope, view.offset)

    def before_turn(self, scope: str, about: SeenTurn) -> list[SeenTurn]:
        """The turns before one that is in the tables."""
        view = self._store.turn(scope, about.id)
        return [] if view is None else self._read(scope, about.turn.session, view.offset)

    def forget(self, scope: str) -> None:
        """Reads the scope's sessions back when they are asked for again: some of their turns were hidden."""
        for key in [key for key in self._sessions if key[0] == scope]:
            del self._sessions[key]

    def clear(self) -> None:
        self._sessions.clear()

    def trim(self) -> None:
        """Between batches only: what was added must be in the tables before it is read back."""
        while len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)

    def _of(self, stored: Stored, session: str) -> deque[SeenTurn]:
        key = (stored.scope, session)
        window = self._sessions.get(key)
        if window is None:
            window = deque(self._read(stored.scope, session, stored.offset), maxlen=self._size)
            self._sessions[key] = window
        self._sessions.move_to_end(key)
        return window

    def _read(self, scope: str, session: str, offset: int) -> list[SeenTurn]:
        if self._size < 1:
            return []
        views = self._store.session_turns(scope, session, offset, self._size)
        return [self._recorded(scope, view.offset) for view in views]

    def _recorded(self, scope: str, offset: int) -> SeenTurn:
        stored = next(iter(self._log.read(DYNAMICS, offset, 1)))
        envelope, data = decode(stored.value)
        if not isinstance(data, Turn):  # the turns table points at it, so this is a damaged table
            raise TypeError(f"offset {offset} of scope {scope!r} is {envelope.type}, not a turn: run rebuild")
        return SeenTurn(envelope.id, data)
