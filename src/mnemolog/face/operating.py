"""What an operator does with a whole memory: make it anew from its log. Every part of it is gone through by itself; the reports
of all parts are one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .base import Face

if TYPE_CHECKING:
    from ..replay.rebuild import RebuildReport

__all__ = ["Operating"]


class Operating(Face):
    """Rebuilding."""

    def rebuild(self, progress: Callable[[int], None] | None = None) -> RebuildReport:
        """Makes the projections anew from the log beside the live ones, checks them and switches over. Raises Busy where
        another rebuild is running, or another process owns the folder."""
        from ..replay.rebuild import merged, rebuild_one

        self._home.catch_up(None)
        with self._home.paused():
            return merged(
                [rebuild_one(part.log, part.store, progress, states=part.state is None) for part in self._home.parts()]
            )
