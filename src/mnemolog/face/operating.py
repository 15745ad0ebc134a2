"""What an operator does with a whole memory: prove that it is what its log says, and make it anew from there. Every part of
it is gone through by itself; the reports of all parts are one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .base import Face

if TYPE_CHECKING:
    from ..replay.rebuild import RebuildReport
    from ..replay.verify import VerifyReport

__all__ = ["Operating"]


class Operating(Face):
    """Verifying and rebuilding."""

    def verify(self, *, decide: bool = False, progress: Callable[[int], None] | None = None) -> VerifyReport:
        """Folds the log afresh and compares with what is stored; with `decide` also decides every input again. The backlog is
        processed (on servers: waited for) first."""
        from ..replay.redecide import Redecide
        from ..replay.verify import check, merged

        self._home.catch_up(None)
        return merged(
            [
                check(
                    part.log,
                    part.store,
                    decide=Redecide(part.log, self._home.policy) if decide else None,
                    progress=progress,
                    state=part.state,
                )
                for part in self._home.parts()
            ]
        )

    def rebuild(self, progress: Callable[[int], None] | None = None) -> RebuildReport:
        """Makes the projections anew from the log beside the live ones, checks them and switches over. Raises Busy where
        another rebuild is running, or another process owns the folder."""
        from ..replay.rebuild import merged, rebuild_one

        self._home.catch_up(None)
        with self._home.paused():
            return merged(
                [rebuild_one(part.log, part.store, progress, states=part.state is None) for part in self._home.parts()]
            )
