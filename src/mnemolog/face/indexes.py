"""The vector indexes of a folder: which of them answers, and the next one, which is filled beside it.

Invariant: an index holds vectors of one embedder, which it names itself; which index answers is one row beside the read models.
Those with a lower number are out of use, those with a higher one are not filled yet.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from ..adapters.logs.folder import Folder
from ..adapters.vectors.edge import embedder_in
from ..processors.core.ports import Embedder
from ..projections.store import Store
from ..schemas.errors import EmbedderMismatch

__all__ = ["IndexReport", "Indexes"]

_PREFIX = "vectors-"


class IndexReport(msgspec.Struct, frozen=True, kw_only=True):
    """What making a vector index anew did."""

    index: int
    """The number of the index that answers now; 0 on servers, where the vectors lie by the name of their embedder."""
    embedder: str
    replaced: str
    """The embedder of the index before; empty where there was none."""
    turns: int
    """Turns that have their vector in it, those of an earlier run that was ended not counted."""
    computed: int
    """Vectors that were not in the cache, and were computed."""
    checked: int
    """Turns that were looked up in it, and found, before it took its place."""
    resumed: bool
    """An earlier run had begun to fill it."""
    seconds: float


class Indexes:
    """Of one folder."""

    def __init__(self, folder: Folder, store: Store) -> None:
        self._folder, self._store = folder, store

    def path(self, number: int) -> Path:
        """Where an index lies."""
        return self._folder.vectors if number == 0 else self._folder.path / f"{_PREFIX}{number}"

    def active(self) -> int:
        """The number of the one that answers."""
        return self._store.index_number()

    def embedder(self) -> str:
        """Whose vectors the one that answers holds; empty where there are none yet."""
        return embedder_in(self.path(self.active())) or ""

    def check(self, embedder: Embedder) -> None:
        """Raises EmbedderMismatch where the index that answers is of another one."""
        held = self.embedder()
        if held not in ("", embedder.name):
            raise EmbedderMismatch(
                f"{self.path(self.active())} holds vectors of {held!r}, but the embedder is {embedder.name!r}: open the memory "
                "with its own, or let this one take its place with `Memory.rebuild_vectors` (`mnemolog rebuild vectors "
                "--embedder NAME`), which fills another index beside it"
            )

    def following(self, embedder: Embedder) -> tuple[int, bool]:
        """The number of the index to fill, and whether a run that was ended has begun it. What another embedder began goes."""
        active = self.active()
        begun = sorted(number for number in self._numbers() if number > active)
        for number in begun:
            if embedder_in(self.path(number)) == embedder.name:
                return number, True
            shutil.rmtree(self.path(number), ignore_errors=True)
        return active + 1, False

    def begun(self) -> list[str]:
        """The embedders of the indexes that are not filled yet."""
        named = [embedder_in(self.path(number)) for number in self._numbers() if number > self.active()]
        return [name for name in named if name]

    def tidy(self) -> None:
        """Removes those that are out of use: caches, from which nothing is lost."""
        active = self.active()
        for number in self._numbers():
            if number < active:
                shutil.rmtree(self.path(number), ignore_errors=True)

    def _numbers(self) -> list[int]:
        found = [entry.name.removeprefix(_PREFIX) for entry in self._folder.path.glob(f"{_PREFIX}*")]
        mine = [int(name) for name in found if name.isdigit()]
        return [0, *mine] if self._folder.vectors.exists() else mine
