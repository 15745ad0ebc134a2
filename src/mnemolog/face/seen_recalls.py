"""What answers questions for those who see only a part: one Recall for each sight, over the reader that filters, so that no
cache and no index is ever shared with anybody who sees something else."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..schemas.access import Sight

if TYPE_CHECKING:
    from ..query.recall import Recall

__all__ = ["SeenRecalls"]

SIGHTS = 32
"""So many sights keep their indexes; the one that was used longest ago makes them anew."""


class SeenRecalls:
    """Thread-safe. `make` makes the Recall of a sight."""

    def __init__(self, make: Callable[[Sight], Recall], *, sights: int = SIGHTS) -> None:
        self._make, self._most = make, sights
        self._lock = threading.Lock()
        self._held: OrderedDict[Sight, Recall] = OrderedDict()

    def of(self, sight: Sight) -> Recall:
        """What answers questions as that sight lets them be answered."""
        with self._lock:
            if sight not in self._held:
                self._held[sight] = self._make(sight)
            self._held.move_to_end(sight)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
            return self._held[sight]
