"""Is the live memory what the log says? The log is folded into an empty store up to exactly where the live tables are, and both
are compared, scope by scope and row by row. Nothing is written to either; no model and no embedder is asked."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import msgspec
import sqlalchemy as sa

from ..processors.core.ports import EventLog
from ..projections.compare import Difference, compare_scope, compare_state
from ..projections.digest import digest_stored, projected_scopes, total_digest
from ..projections.parked import parked_offsets
from ..projections.projector import DecidedInput, Projector
from ..projections.store import Store
from ..projections.tables import Tables, scopes
from ..schemas.scope import Scope
from .fold import Fold, Problem
from .foreign import dropped, holders, other_tenants, set_back, too_far
from .seal_check import SealCheck
from .states import StateFolder

__all__ = ["Checked", "Decide", "Difference", "Problem", "VerifyReport", "check", "merged", "unfoldable", "verify"]

Decide = Callable[[DecidedInput], str]
"""Decides an input again from its recorded observation; returns what differs from the recorded decision, empty if nothing."""


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification found."""

    equal: bool
    """The live tables are what the log says, and the log is whole and as it was sealed."""
    live_digest: str
    replayed_digest: str
    differing_scopes: list[str]
    """Sorted; every scope with a difference or a problem, or of a record that is not as it was sealed. What is of no scope is
    among `differences` and `problems` alone."""
    checked: int
    """Scopes compared."""
    inputs: int
    """Decided inputs folded."""
    parked: int
    """Inputs that wait because their scope stands still; they are in neither of the two."""
    differences: list[Difference]
    """The first differing row of each differing scope (of a resolver's own tables, one more)."""
    problems: list[Problem]
    """The first of each scope."""
    drift: list[Problem]
    """Where today's policy would decide otherwise; no fault."""
    seals: SealCheck | None = None
    """Whether the log is as it was sealed; None where that was not looked at."""


class Checked(NamedTuple):
    """A report and the digests that it rests on, so that those of several partitions make one."""

    report: VerifyReport
    live: dict[str, str]
    replayed: dict[str, str]


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
    return check(log, store, scope, decide, progress).report


def check(
    log: EventLog,
    store: Store,
    scope: Scope | str | None = None,
    decide: Decide | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    state: Store | None = None,
) -> Checked:
    """`verify` with the digests of the scopes. `state`: where a resolver keeps its tables apart from the read models; they are
    compared as of their own place in the log."""
    only = None if scope is None else scope if isinstance(scope, Scope) else Scope.parse(scope)
    missing = store.missing_tables()
    if missing:
        return Checked(_nothing_compared({}, dropped(missing)), {}, {})
    drift: list[Problem] = []

    def seen(batch: Sequence[DecidedInput]) -> None:
        if decide is not None:
            drift.extend(_drift(batch, decide))
        if progress is not None:
            progress(len(batch))

    with (
        tempfile.TemporaryDirectory(prefix="mnemolog-verify-") as folder,
        store.reading() as (connection, live),
        nullcontext() if state is None else state.reading() as kept,
    ):
        offsets = store.read_offsets(connection, live)
        kept_at = None if kept is None else store.read_offsets(*kept)["changes"]
        replayed = Store(Path(folder) / "replayed.sqlite", durable=False)
        try:
            projector = Projector(replayed)
            fold = Fold(log, projector, StateFolder(replayed), scope=only, seen=seen)
            wrong: list[Difference] = []
            if kept is not None and kept_at is not None and kept_at < offsets["changes"]:
                fold.advance(kept_at)
                wrong = _states(kept, replayed, only)
            fold.advance(offsets["changes"])
            projector.apply_summaries(log, offsets["summaries"], scope=only)
            fold.look_for_undecided(offsets["dynamics"], parked_offsets(connection))
            with replayed.reading() as (fresh, fresh_tables):
                sides = _Side(connection, live, only), _Side(fresh, fresh_tables, only)
                found = _compare(sides, state=state is None)
            problems, inputs, parked = fold.problems, fold.inputs, fold.parked
            if kept is not None and kept_at is not None and kept_at >= offsets["changes"]:
                fold.advance(kept_at)
                wrong = _states(kept, replayed, only)
        finally:
            replayed.close()
    differences = sorted([*found, *wrong], key=lambda item: item.scope)
    if not differences and not problems:
        # A log that was cut shows in the rows; where they are right only the place is wrong.
        problems = [*too_far(log, offsets), *(set_back(offsets, fold.last_decided) if state is None else ())]
    differing = sorted({item.scope for item in differences} | {item.scope for item in problems})
    mine, theirs = sides[0].digests, sides[1].digests
    report = VerifyReport(
        equal=not differing,
        live_digest=total_digest(mine),
        replayed_digest=total_digest(theirs),
        differing_scopes=[scope for scope in differing if scope],
        checked=len(mine.keys() | theirs.keys()),
        inputs=inputs,
        parked=parked,
        differences=differences,
        problems=problems,
        drift=drift,
    )
    return Checked(report, mine, theirs)


def unfoldable(store: Store, error: Exception) -> Checked:
    """What is found of a log that was altered so that it cannot be folded: what is stored, and nothing to compare it with."""
    with store.reading() as (connection, live):
        side = _Side(connection, live, None)
    detail = f"the log cannot be folded as it is: {type(error).__name__}: {error}"
    problem = Problem(scope="", kind="unfoldable", input_id="", offset=-1, detail=detail)
    return Checked(_nothing_compared(side.digests, problem), side.digests, {})


def _nothing_compared(digests: dict[str, str], problem: Problem) -> VerifyReport:
    return VerifyReport(
        equal=False,
        live_digest=total_digest(digests),
        replayed_digest=total_digest({}),
        differing_scopes=[],
        checked=len(digests),
        inputs=0,
        parked=0,
        differences=[],
        problems=[problem],
        drift=[],
    )


def merged(parts: Sequence[Checked], seals: SealCheck | None = None, indexes: Sequence[Problem] = ()) -> VerifyReport:
    """One report of several partitions. A scope lies in one of them, so the digests are those of one memory that holds all.
    `seals`: what looking at the seals of all of them found; `indexes`: what looking at what the log notes of its records
    found, told of scopes of which nothing else is."""
    reports = [part.report for part in parts]
    broken = set[str]() if seals is None else {item.scope for item in seals.breaks if item.scope}
    known = broken.union(*({item.scope for item in report.problems} for report in reports))
    noted = list({item.scope: item for item in reversed(indexes) if item.scope not in known}.values())
    broken |= {item.scope for item in noted}
    return VerifyReport(
        equal=all(report.equal for report in reports) and (seals is None or seals.intact) and not indexes,
        live_digest=total_digest({scope: digest for part in parts for scope, digest in part.live.items()}),
        replayed_digest=total_digest({scope: digest for part in parts for scope, digest in part.replayed.items()}),
        differing_scopes=sorted(broken.union(*(report.differing_scopes for report in reports))),
        checked=sum(report.checked for report in reports),
        inputs=sum(report.inputs for report in reports),
        parked=sum(report.parked for report in reports),
        differences=sorted((item for report in reports for item in report.differences), key=lambda item: item.scope),
        problems=sorted([*noted, *(item for report in reports for item in report.problems)], key=lambda item: item.scope),
        drift=[item for report in reports for item in report.drift],
        seals=seals,
    )


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
        self.only = only
        self.scopes = {key: number for key, number in projected_scopes(connection, tables) if only is None or key == str(only)}
        self.digests = {key: digest_stored(connection, tables, number) for key, number in self.scopes.items()}
        # One whose head is gone, or never was there, has its rows all the same.
        self._numbers = {row[0]: row[1] for row in connection.execute(sa.select(scopes.c.key, scopes.c.scope_id))}
        names, holding = {number: key for key, number in self._numbers.items()}, holders(connection, tables)
        self.holders = {names[number] for number in holding if number in names and (only is None or names[number] == str(only))}
        self.strangers = {number: table for number, table in holding.items() if number not in names}

    def of(self, scope: str) -> tuple[sa.Connection, Tables, int]:
        return self.connection, self.tables, self._numbers.get(scope, -1)


def _compare(sides: tuple[_Side, _Side], *, state: bool) -> list[Difference]:
    """The first difference of each scope that has one."""
    live, fresh = sides
    found = [
        Difference(scope="", table=table, key=f"scope_id {number}", live="rows of a scope that is not there", replayed="")
        for number, table in sorted(live.strangers.items())
    ]
    found += other_tenants(live.connection, live.only)
    for name in sorted(live.scopes.keys() | fresh.scopes.keys() | live.holders):
        difference = compare_scope(name, live.of(name), fresh.of(name), state=state)
        mine, theirs = live.digests.get(name, ""), fresh.digests.get(name, "")
        if difference is None and mine != theirs:
            difference = Difference(scope=name, table="digest", key="", live=mine, replayed=theirs)
        if difference is not None:
            found.append(difference)
    return found


def _states(kept: tuple[sa.Connection, Tables], replayed: Store, only: Scope | None) -> list[Difference]:
    """The same for the resolver's own tables, with the fold standing at their place."""
    with replayed.reading() as fresh:
        live, folded = (
            {key: number for key, number in projected_scopes(*side) if only is None or key == str(only)}
            for side in (kept, fresh)
        )
        found = (
            compare_state(name, (*kept, live.get(name, -1)), (*fresh, folded.get(name, -1)))
            for name in sorted(live.keys() | folded.keys())
        )
        return [difference for difference in found if difference is not None]
