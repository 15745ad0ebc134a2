"""The resolver's state, folded from recorded decisions and written beside the rows they become. The scopes last used stay
loaded; the others lie in the tables that are being written and are read back when their next decision comes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import sqlalchemy as sa

from ..processors.core.evolve import apply
from ..processors.core.ports import EventLog
from ..processors.core.state import ScopeState, dump, load
from ..projections.projector import DecidedInput
from ..projections.reader import decided_inputs
from ..projections.store import Store
from ..schemas.envelope import Position
from ..schemas.scope import Scope

__all__ = ["NoStates", "StateFolder", "fold_states"]

LOADED = 256
"""Scopes whose state is kept in memory between batches."""


class StateFolder:
    """Folds batches into states. `version` names the tables that the states are read back from; by default the live ones."""

    def __init__(self, store: Store, version: int | None = None) -> None:
        self._store = store
        self._version = version
        self._states: OrderedDict[str, ScopeState] = OrderedDict()

    def fold(
        self, batch: Iterable[DecidedInput], connection: sa.Connection | None = None
    ) -> dict[tuple[str, str], bytes | None]:
        """The state rows to write with this batch: (scope, key) to bytes, None where a record is gone.

        Each batch must be written before the next one is folded. `connection`: inside an open transaction.
        """
        touched: dict[str, dict[str, None]] = {}
        for item in batch:
            state = self._states.get(item.scope)
            if state is None:
                blobs = self._store.load_state(item.scope, self._version, connection)
                state = self._states[item.scope] = load(Scope.parse(item.scope), blobs)
            self._states.move_to_end(item.scope)
            # The state keeps no more of a position than its offset.
            position = Position(0, 0, item.offset)
            keys = apply(state, item.decision, item.input, item.data, position, item.hash)
            touched.setdefault(item.scope, {}).update(dict.fromkeys(keys))
        rows = {(scope, key): blob for scope, keys in touched.items() for key, blob in dump(self._states[scope], keys).items()}
        while len(self._states) > LOADED:
            self._states.popitem(last=False)
        return rows


class NoStates:
    """Folds nothing: the resolver keeps its state elsewhere, and the rows need none."""

    def fold(
        self, batch: Iterable[DecidedInput], connection: sa.Connection | None = None
    ) -> dict[tuple[str, str], bytes | None]:
        """Nothing to write."""
        return {}


def fold_states(log: EventLog, scope: Scope | None = None) -> dict[str, ScopeState]:
    """Read, decode and fold, with nothing written: the state of every scope (or of one) that the log leads to."""
    states: dict[str, ScopeState] = {}
    for item in decided_inputs(log, 0, scope=scope):
        state = states.get(item.scope)
        if state is None:
            state = states[item.scope] = ScopeState.empty(item.input.scope)
        apply(state, item.decision, item.input, item.data, Position(0, 0, item.offset), item.hash)
    return states
