"""What deciding some inputs takes beside the scope's state, looked up on the log and in its index before they are decided: the
turn that is to be understood again, or how the scope stood at the input that a rollback names. It depends on the log alone."""

from __future__ import annotations

import msgspec

from ..projections.reader import decided_inputs
from ..schemas.inputs import ReextractRequested, RollbackRequested
from ..schemas.scope import Scope
from .core.past import PastFold, PastState
from .core.ports import EventLog, SeenTurn, Stored
from .windows import Windows

__all__ = ["ALONE", "Lookup", "look_back"]

ALONE = (ReextractRequested, RollbackRequested)
"""Inputs that are looked up only once everything before them is decided and on the log: each is the first of its batch."""


class Lookup:
    """Looks up what an input is about; every input before it has been decided."""

    def __init__(self, log: EventLog, windows: Windows) -> None:
        self._log, self._windows = log, windows

    def about(self, stored: Stored, data: msgspec.Struct) -> SeenTurn | PastState | None:
        if isinstance(data, ReextractRequested):
            return self._windows.turn(stored, data.turn_id)
        if isinstance(data, RollbackRequested):
            return look_back(self._log, Scope.parse(stored.scope), data, stored.offset).found
        return None


def look_back(
    log: EventLog, scope: Scope, data: RollbackRequested, before: int | None = None, *, keep_current: bool = False
) -> PastFold:
    """The fold of a scope's valid decisions about its inputs below dynamics offset `before` (default: all there are).

    The scope's records are read once, from the beginning on, in chunks; two states are kept at most.
    """
    fold = PastFold(scope, data, keep_current=keep_current)
    # A scope's decisions keep the order of its inputs.
    for item in decided_inputs(log, 0, scope=scope):
        if before is not None and item.offset >= before:
            break
        fold.take(item.decision, item.input, item.data, item.offset, item.recorded, item.hash)
    return fold
