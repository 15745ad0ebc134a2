"""Whose vectors answer questions in an installation, and whose are being filled beside them: one row each, beside the read
models of partition 0.

Invariant: one embedder answers at any moment, in all partitions alike; the switch to another one is one transaction.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Literal, NamedTuple

import sqlalchemy as sa

from ...adapters.embedders import EMBEDDERS, embedder_named
from ...projections.dialect import insert_new, upsert
from ...projections.store import Store
from ...projections.tables import store_meta
from ...schemas.errors import EmbedderMismatch, InvalidInput
from ..core.ports import Embedder
from .installation import Installation

__all__ = ["VECTORS", "Chosen", "Embedders", "LiveVectors", "Named", "collection_base", "mismatch"]

VECTORS = "vectors:"
"""Before an embedder's name: how far its vectors in the database of a partition go, among the facts about the store."""
_LIVE, _FILLING = "live_vectors", "filling_vectors"
_NAMED = sa.select(store_meta.c.name, store_meta.c.value).where(store_meta.c.name.in_((_LIVE, _FILLING)))

Chosen = Embedder | Literal["live"] | None
"""The embedder that somebody was given; `live`: the one that the installation names; None: no vectors are wanted."""


class Named(NamedTuple):
    """Names of embedders; empty where there is none."""

    live: str
    filling: str


def mismatch(live: str, own: str) -> EmbedderMismatch:
    """What somebody is told who has not the embedder that answers here. `own`: the one they have; empty: none was given."""
    command = "`mnemolog rebuild vectors --embedder NAME` (`Memory.rebuild_vectors`)"
    if not own:
        known = ", ".join(map(repr, EMBEDDERS.values()))
        return EmbedderMismatch(
            f"the vectors of this installation are of {live!r}, which does not come along (these do: {known}): give that "
            f"embedder, or let another one take its place with {command}"
        )
    return EmbedderMismatch(
        f"the vectors of this installation are of {live!r}, but the embedder is {own!r}: start it again with that one "
        f"(a worker with --embedder NAME, or without, which follows), or let yours take its place with {command}, which "
        "fills its vectors beside those that answer"
    )


def collection_base(installation: Installation) -> str:
    """The name of an installation's first collection on a Qdrant server, and how those of others begin."""
    return f"{installation.servers.prefix}mnemolog"


class Embedders:
    """The embedders that a process has: the one it was given, and those that come along. Thread-safe."""

    def __init__(self, chosen: Embedder | Literal["live"]) -> None:
        self.given = None if isinstance(chosen, str) else chosen
        self._lock = threading.Lock()
        self._found: dict[str, Embedder | None] = {}

    def first(self) -> str:
        """The name of the one that answers where nothing says which."""
        return self.default().name

    def default(self) -> Embedder:
        """That embedder itself."""
        found = self.given or self.named(EMBEDDERS["use"])
        if found is None:
            raise InvalidInput("embedder", "is not given", "name one")
        return found

    def named(self, name: str) -> Embedder | None:
        """The one of a name, the same each time; None where this process has it not."""
        if self.given is not None and self.given.name == name:
            return self.given
        with self._lock:
            if name not in self._found:
                self._found[name] = embedder_named(name)
            return self._found[name]

    def checked(self, named: Named) -> Embedder:
        """The one that answers. Raises EmbedderMismatch where this process has it not, or was given one that is out of use."""
        own = "" if self.given is None else self.given.name
        found = self.named(named.live)
        if found is None or (own and own not in named):
            raise mismatch(named.live, own)
        return found


class LiveVectors:
    """The two rows of one installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    @property
    def _store(self) -> Store:
        return self._installation.partition(0).store

    def named(self) -> Named:
        """What the rows say; an installation without them has the embedder whose vectors go furthest in its database."""
        rows = self._rows()
        return Named(rows.get(_LIVE) or self._unnoted(), rows.get(_FILLING, ""))

    def claim(self, name: str) -> Named:
        """The same, noted from now on; where there are no vectors at all, the embedder of that name is the one that answers."""
        if _LIVE not in self._rows():
            row = {"name": _LIVE, "value": self._unnoted() or self._collected() or name}
            with self._store.writing() as (connection, _):
                connection.execute(insert_new(store_meta, connection.dialect.name), [row])
        return self.named()

    def _rows(self) -> dict[str, str]:
        with self._store.reading() as (connection, _):
            return {str(name): str(value) for name, value in connection.execute(_NAMED)}

    def begin(self, name: str) -> bool:
        """Notes whose vectors are being filled; returns whether that was noted already."""
        before = self.named().filling
        with self._store.writing() as (connection, _):
            connection.execute(upsert(store_meta, connection.dialect.name), [{"name": _FILLING, "value": name}])
        return before == name

    def switch(self, name: str) -> None:
        """Lets an embedder answer from now on; nobody's vectors are being filled any more."""
        with self._store.writing() as (connection, _):
            connection.execute(upsert(store_meta, connection.dialect.name), [{"name": _LIVE, "value": name}])
            connection.execute(sa.delete(store_meta).where(store_meta.c.name == _FILLING))

    def _unnoted(self) -> str:
        query = sa.select(store_meta.c.name, store_meta.c.value).where(store_meta.c.name.startswith(VECTORS, autoescape=True))
        reach: Counter[str] = Counter()
        for number in range(self._installation.partitions):
            with self._installation.partition(number).store.reading() as (connection, _):
                for name, value in connection.execute(query):
                    reach[str(name).removeprefix(VECTORS)] += int(value)
        return max(sorted(reach), key=reach.__getitem__, default="")

    def _collected(self) -> str:
        """Whose vectors the first collection on the Qdrant server holds."""
        servers = self._installation.servers
        if not servers.qdrant:
            return ""
        from ...adapters.vectors.qdrant import embedder_of

        return embedder_of(servers.qdrant, collection_base(self._installation)) or ""
