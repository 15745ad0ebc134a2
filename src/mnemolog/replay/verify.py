"""Is the live memory what the log says? The log is folded into an empty store up to exactly where the live tables are, and both
are compared, scope by scope and row by row. Nothing is written to either; no model and no embedder is asked."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import sqlalchemy as sa

from ..processors.core.ports import EventLog
from ..projections.compare import Difference, compare_scope
from ..projections.digest import digest_scope, projected_scopes, total_digest
from ..projections.parked import parked_offsets
from ..projections.projector import DecidedInput, Projector
from ..projections.store import Store
from ..projections.tables import Tables
from ..schemas.scope import Scope
from .fold import Fold, Problem
from .states import StateFolder

__all__ = ["Decide", "Difference", "Problem", "VerifyReport", "verify"]

Decide = Callable[[DecidedInput], str]
"""Decides an input again from its recorded observation; returns what differs from the recorded decision, empty if nothing."""


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification found."""

    equal: bool
    """The live tables are what the log says, and the log is whole."""
    live_digest: str
    replayed_digest: str
    differing_scopes: list[str]
    """Sorted; every scope with a difference or a problem."""
    checked: int
    """Scopes compared."""
    inputs: int
    """Decided inputs folded."""
    parked: int
    """Inputs that wait because their scope stands still; they are in neither of the two."""
    differences: list[Difference]
    """The first differing row of each differing scope."""
    problems: list[Problem]
    """The first of each scope."""
    drift: list[Problem]
    """Where today's policy would decide otherwise; no fault."""


def verify(
    log: EventLog,
    store: Store,
    scope: Scope | str | None = None,
    decide: Decide | None = None,
    progress: Callable[[int], None] | None = None,
) -> VerifyReport:
    """Compares the live tables with a fresh fold of the log; of one scope or of all.

    The live rows and offsets are one snapshot: what is appended or projected meanwhile takes no part. `decide` also decides
    every input again and reports drift. `progress` is told how many more inputs were folded.
    """
    only = None if scope is None else scope if isinstance(scope, Scope) else Scope.parse(scope)
    drift: list[Problem] = []

    def seen(batch: Sequence[DecidedInput]) -> None:
        if decide is not None:
            drift.extend(_drift(batch, decide))
        if progress is not None:
            progress(len(batch))

    with tempfile.TemporaryDirectory(prefix="mnemolog-verify-") as folder, store.reading() as (connection, live):
        offsets = store.read_offsets(connection, live)
        replayed = Store(Path(folder) / "replayed.sqlite", durable=False)
        try:
            projector = Projector(replayed)
            fold = Fold(log, projector, StateFolder(replayed), scope=only, seen=seen)
            fold.advance(offsets["changes"])
            projector.apply_summaries(log, offsets["summaries"], scope=only)
            fold.look_for_undecided(offsets["dynamics"], parked_offsets(connection))
            with replayed.reading() as (fresh, fresh_tables):
                return _report(fold, drift, _Side(connection, live, only), _Side(fresh, fresh_tables, only))
        finally:
            replayed.close()


def _drift(batch: Sequence[DecidedInput], decide: Decide) -> Iterator[Problem]:
    for item in batch:
        detail = decide(item)
        if detail:
            yield Problem(scope=item.scope, kind="drift", input_id=item.input.id, offset=item.offset, detail=detail)


class _Side:
    """One of the two sets of tables, and its scopes' digests."""

    def __init__(self, connection: sa.Connection, tables: Tables, only: Scope | None) -> None:
        self.connection = connection
        self.tables = tables
        self.scopes = {key: number for key, number in projected_scopes(connection, tables) if only is None or key == str(only)}
        self.digests = {key: digest_scope(connection, tables, number) for key, number in self.scopes.items()}


def _report(fold: Fold, drift: list[Problem], live: _Side, fresh: _Side) -> VerifyReport:
    differences: list[Difference] = []
    names = sorted(live.scopes.keys() | fresh.scopes.keys())
    for name in names:
        found = compare_scope(
            name,
            (live.connection, live.tables, live.scopes.get(name, -1)),
            (fresh.connection, fresh.tables, fresh.scopes.get(name, -1)),
        )
        if found is not None:
            differences.append(found)
    problems = fold.problems
    differing = sorted({item.scope for item in differences} | {item.scope for item in problems})
    return VerifyReport(
        equal=not differing,
        live_digest=total_digest(live.digests),
        replayed_digest=total_digest(fresh.digests),
        differing_scopes=differing,
        checked=len(names),
        inputs=fold.inputs,
        parked=fold.parked,
        differences=differences,
        problems=problems,
        drift=drift,
    )
