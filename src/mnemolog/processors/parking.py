"""Scopes whose next input this code cannot decide: their place is kept (not a copy), everybody else goes on, and every start of
a processor tries them once more."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType

from ..projections.parked import Parked, note_parked, parked_scopes
from ..projections.store import Store

__all__ = ["Parked", "ParkingLot"]

_log = logging.getLogger("mnemolog.processor")


class ParkingLot:
    """The parked scopes, kept beside the read models so that the next process knows them too."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._parked: dict[str, Parked] = {}
        self._taken_up: dict[str, Parked] = {}
        self.reload()

    def reload(self) -> None:
        with self._store.reading() as (connection, _):
            self._parked = parked_scopes(connection)

    @property
    def scopes(self) -> Mapping[str, Parked]:
        return MappingProxyType(self._parked)

    def park(self, scope: str, offset: int, input_id: str, error: BaseException) -> None:
        """Keeps the place and raises the alarm."""
        before = self._parked.get(scope) or self._taken_up.get(scope)
        tries = before.tries + 1 if before is not None and before.offset == offset else 1
        parked = Parked(offset, input_id, f"{type(error).__name__}: {error}"[:2000], tries)
        self.put_back(scope, parked)
        _log.error(
            "scope %s is parked at input %s (offset %d): %s. Its turns are kept and searchable; it is tried again at the next "
            "start. Please report this.",
            scope,
            input_id,
            offset,
            parked.error,
            exc_info=error,
        )

    def take_up(self, scope: str) -> None:
        """Lets the scope be tried again; its place stays noted until `release`, in case the process dies on the way."""
        parked = self._parked.pop(scope, None)
        if parked is not None:
            self._taken_up[scope] = parked

    def put_back(self, scope: str, parked: Parked) -> None:
        """The scope has to wait on, at this place."""
        self._parked[scope] = parked
        note_parked(self._store, scope, parked)

    def note(self, scope: str, parked: Parked) -> None:
        """What others are told of a scope's place, whatever is known here."""
        note_parked(self._store, scope, parked)

    def release(self, scope: str) -> None:
        """The scope has caught up."""
        note_parked(self._store, scope, None)
        self._taken_up.pop(scope, None)
        _log.info("scope %s goes on", scope)
