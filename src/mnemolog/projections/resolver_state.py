"""The resolver's own tables: each scope's state and head, and how far they go, written in one transaction.

Invariant: they say what the changes below `next_changes` say. Whoever writes names the place it started from; where the tables
have moved on meanwhile nothing is written, and the writer loads them anew. They can be dropped and are folded again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import sqlalchemy as sa

from .postgres import pipelined
from .stand import read_numbers
from .store import Store
from .tables import Tables

__all__ = ["Progress", "ResolverState"]


class Progress(NamedTuple):
    """How far the state goes. `next_changes`, `next_observations`: offsets of those topics to go on from; `applied_input`: the
    dynamics offset below which every input is decided (or its scope stands still)."""

    next_changes: int = 0
    applied_input: int = 0
    next_observations: int = 0


_NAMES = dict(zip(Progress._fields, ("changes", "dynamics", "observations"), strict=True))


class ResolverState:
    """Reads and writes the tables of one partition. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def progress(self) -> Progress:
        with self._store.reading() as (connection, t):
            stored = _offsets(connection, t)
        return Progress(**{field: stored.get(name, 0) for field, name in _NAMES.items()})

    def load(self, scope: str) -> dict[str, bytes]:
        """A scope's state by key."""
        return self._store.load_state(scope)

    def heads(self) -> dict[str, str]:
        """Every scope's newest decision below `next_changes`."""
        return self._store.heads()

    def write(
        self,
        states: Mapping[tuple[str, str], bytes | None],
        heads: Mapping[str, str],
        *,
        before: Progress,
        after: Progress,
    ) -> bool:
        """Moves on from `before` to `after`; tells whether it did. `states` by (scope, key), None: deleted."""
        with self._store.writing() as (connection, t):
            stored = _offsets(connection, t)
            if any(stored.get(name, 0) != getattr(before, field) for field, name in _NAMES.items()):
                return False
            ids = self._store.scope_ids(connection, sorted({scope for scope, _ in states} | set(heads)))
            statements = self._store.statements(t)
            kept = [
                {"scope_id": ids[scope], "key": key, "blob": blob} for (scope, key), blob in states.items() if blob is not None
            ]
            gone = [{"b_scope": ids[scope], "b_key": key} for (scope, key), blob in states.items() if blob is None]
            with pipelined(connection, last=True):
                if kept:
                    statements.state_set.run(connection, kept)
                if gone:
                    statements.state_dropped.run(connection, gone)
                if heads:
                    rows = [{"scope_id": ids[scope], "head": head} for scope, head in heads.items()]
                    statements.head_set.run(connection, rows)
                offsets = [{"name": name, "value": getattr(after, field)} for field, name in _NAMES.items()]
                statements.offset_set.run(connection, offsets)
        return True


def _offsets(connection: sa.Connection, t: Tables) -> dict[str, int]:
    return read_numbers(connection, t.offsets)
