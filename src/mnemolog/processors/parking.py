"""Scopes whose next input this code cannot decide: their place is kept (not a copy), everybody else goes on, and every start of
a processor tries them once more."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType

import msgspec
import sqlalchemy as sa

from ..projections.store import Store
from ..projections.tables import store_meta

__all__ = ["Parked", "ParkingLot"]

_log = logging.getLogger("mnemolog.processor")
_KIND = "parked:"


class Parked(msgspec.Struct, frozen=True):
    """Where a scope stands still and why. `tries`: how many starts of a processor have met it there."""

    offset: int
    input_id: str
    error: str
    tries: int


class ParkingLot:
    """The parked scopes, kept beside the read models so that the next process knows them too."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._parked: dict[str, Parked] = {}
        self.reload()

    def reload(self) -> None:
        with self._store.reading() as (connection, _):
            query = sa.select(store_meta.c.name, store_meta.c.value).where(store_meta.c.name.startswith(_KIND, autoescape=True))
            notes = connection.execute(query.order_by(store_meta.c.name)).all()
        self._parked = {name.removeprefix(_KIND): msgspec.json.decode(value, type=Parked) for name, value in notes}

    @property
    def scopes(self) -> Mapping[str, Parked]:
        return MappingProxyType(self._parked)

    def park(self, scope: str, offset: int, input_id: str, error: BaseException) -> None:
        """Keeps the place and raises the alarm."""
        before = self._parked.get(scope)
        tries = before.tries + 1 if before is not None and before.offset == offset else 1
        parked = Parked(offset, input_id, f"{type(error).__name__}: {error}"[:2000], tries)
        self._parked[scope] = parked
        self._note(scope, msgspec.json.encode(parked).decode())
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
        self._parked.pop(scope, None)

    def release(self, scope: str) -> None:
        """The scope has caught up."""
        self._note(scope, None)
        _log.info("scope %s goes on", scope)

    def _note(self, scope: str, value: str | None) -> None:
        with self._store.writing() as (connection, _):
            connection.execute(sa.delete(store_meta).where(store_meta.c.name == _KIND + scope))
            if value is not None:
                connection.execute(sa.insert(store_meta), [{"name": _KIND + scope, "value": value}])
