"""What an operator does with a whole memory: make it anew from its log, and keep the versions that come of it. Every part of it
is gone through by itself; the reports of all parts are one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ..schemas.errors import BrokenChain, InvalidInput
from .base import Face

if TYPE_CHECKING:
    from ..processors.core.ports import Embedder, EventLog
    from ..projections.store import Store
    from ..replay.fall_back import FallBackReport
    from ..replay.rebuild import RebuildReport, Watch
    from ..replay.versions import VersionView
    from .indexes import IndexReport

__all__ = ["Operating"]

MOST_KEPT = 10


class Operating(Face):
    """Rebuilding, and the versions of the read models."""

    def rebuild(
        self,
        progress: Callable[[int], None] | None = None,
        *,
        restart: bool = False,
        keep: int = 1,
        watch: Watch | None = None,
    ) -> RebuildReport:
        """Makes the read models anew from the log beside the live ones, checks them and switches over; reads and writes go on
        meanwhile, also of other processes.

        What a rebuild that was ended has left is gone on with, unless `restart` is set or the code is another. keep: how many
        versions that were replaced stay (0 to 10), to be fallen back to. progress is told how many more inputs are folded,
        watch how far it is and how long it will take. Raises Busy where another rebuild is running, LogError where the log is
        not whole, FolderError where the disk has no room for it.
        """
        from ..replay.rebuild import merged, plan, run_plan
        from ..replay.versions import one_at_a_time

        if not 0 <= keep <= MOST_KEPT:
            raise InvalidInput("keep", f"is {keep}", f"say how many versions are to stay, 0 to {MOST_KEPT}")
        parts = self._operated()
        for _, store, _ in parts:
            store.make_missing_tables()
        if self._home.parts()[0].state is None:
            with suppress(BrokenChain):  # read models that hinder it are what is made anew
                self._home.catch_up(None)  # on servers the workers do, and what comes in never ends
        with one_at_a_time(parts[0][1]):
            return merged(run_plan(plan(parts, restart=restart), progress, keep=keep, watch=watch))

    def rebuild_vectors(
        self, embedder: Embedder | None = None, *, watch: Callable[[int, int], None] | None = None
    ) -> IndexReport:
        """Fills another vector index beside the one that answers and lets it take its place. Vectors that were computed before
        come from the cache; how many were not there is in the report.

        embedder: the one whose vectors it is to hold (default: the one that this memory uses); from then on questions are
        embedded with it. The two are never mixed: until the switch the old index answers, and a memory that is opened with
        another embedder than the index names is refused. watch is told the offset that it has come to, and the one to reach (on
        servers sums over the partitions). A run that was ended is gone on with.

        Raises Busy where another process owns the folder or makes vectors anew; LogError where a turn has no vector at the end:
        the old index stays, and the next run fills it; InvalidInput for a memory that is neither in a folder nor on servers.
        """
        return self._home.vector_keeping().rebuild(embedder, watch)

    def drop_old_vectors(self) -> list[str]:
        """Drops the cached vectors of embedders that are out of use, and returns their names. Whoever goes back to one of them
        computes its vectors again. Kept are those that answer and those that a run that was ended has begun. Raises Busy."""
        return self._home.vector_keeping().drop_old()

    def versions(self) -> list[VersionView]:
        """The versions of the read models that are there, by number and part: the one that answers, those that are kept, and
        what was not finished."""
        from ..replay.versions import list_versions

        found = [view for part in self._home.parts() for view in list_versions(part.number, part.log, part.store)]
        return sorted(found, key=lambda view: (view.version, view.part))

    def fall_back(
        self, version: int, progress: Callable[[int], None] | None = None, *, watch: Watch | None = None
    ) -> FallBackReport:
        """Lets a version that is kept answer again: what came since is folded into it first, beside the live one, then one row
        switches. What was hidden meanwhile is hidden in it, too, and the one that it replaces is kept.

        Raises NotFound, InvalidInput for the live one and for one that cannot answer, Busy where a rebuild is running.
        """
        from ..replay.fall_back import fall_back

        return fall_back(self._operated(), version, progress, watch)

    def drop_version(self, version: int) -> bool:
        """Drops the tables of a version that does not answer; False where on a server somebody reads them for too long: they
        stay unused, until the next rebuild or until they are dropped again.

        Raises InvalidInput for the live one, NotFound, Busy where a rebuild is running.
        """
        from ..replay.versions import no_version, one_at_a_time

        stores = [store for _, store, _ in self._operated()]
        with one_at_a_time(stores[0]):
            for store in stores:
                store.make_today()
            if any(store.live_version() == version for store in stores):
                raise InvalidInput("version", f"{version} is the one that answers", "fall back to another one first")
            there = [store for store in stores if version in store.table_versions()]
            if not there:
                raise no_version(version, self.versions())
            gone = [store.drop_version(version) for store in there]
            return all(gone)

    def _operated(self) -> list[tuple[EventLog, Store, bool]]:
        """(log, read models, whether the resolver's state lies beside them) of each part."""
        return [(part.log, part.store, part.state is None) for part in self._home.parts()]
