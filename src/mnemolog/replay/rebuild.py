"""Builds the read models anew beside the live ones and switches to them in one transaction.

Invariant: until that transaction commits, the old tables are live and nothing touched them, so a crash at any point loses
nothing; what it left half built is dropped by the next rebuild. Other readers and writers go on throughout: only the last few
inputs are caught up on under the write lock. No model and no embedder is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

import filelock
import msgspec
import sqlalchemy as sa

from ..processors.core.ports import EventLog
from ..projections.digest import digest_scope, digest_store, projected_scopes, total_digest
from ..projections.parked import parked_offsets
from ..projections.projector import DecidedInput, Projector
from ..projections.reader import records
from ..projections.store import Store
from ..projections.tables import PROJECTED, Tables, tables
from ..schemas.errors import Busy, LogError
from ..schemas.events import SUMMARIES, decode
from ..schemas.inputs import Turn
from .fold import Fold
from .states import NoStates, StateFolder

__all__ = ["RebuildReport", "Rebuilt", "merged", "rebuild", "rebuild_one"]

CLOSE = 200
"""So few records behind the end of the log, the rest is done under the write lock."""


class RebuildReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a rebuild did."""

    version: int
    """The version of the tables that is live now; of several partitions the highest."""
    replaced: int
    """The version that was live before; its tables are gone. Of several partitions the highest."""
    inputs: int
    """Decided inputs folded."""
    digest: str
    digest_before: str
    differing_scopes: list[str]
    """Where the old tables did not say what the log says; the new ones do."""
    rows: dict[str, int]
    """Rows per table."""


class Rebuilt(NamedTuple):
    """A report and the digests that it rests on, so that those of several partitions make one."""

    report: RebuildReport
    before: dict[str, str]
    after: dict[str, str]


def rebuild(log: EventLog, store: Store, progress: Callable[[int], None] | None = None) -> RebuildReport:
    """Rebuilds every read model from the log. `progress` is told how many more inputs are folded.

    Raises LogError, with the old tables still live, where the log is not whole; Busy where another rebuild is running.
    """
    return rebuild_one(log, store, progress).report


def rebuild_one(log: EventLog, store: Store, progress: Callable[[int], None] | None = None, *, states: bool = True) -> Rebuilt:
    """`rebuild` with the digests of the scopes. `states`: the resolver's state lies beside the read models; where it has tables
    of its own they are left alone."""
    with _one_at_a_time(store):
        replaced = store.live_version()
        for leftover in store.table_versions():
            if leftover != replaced:
                store.drop_version(leftover)
        version = replaced + 1
        store.make_version(version)
        try:
            rebuilt = _Rebuild(log, store, version, progress, states=states).run(replaced)
        except LogError:
            store.drop_version(version)
            raise
        store.drop_version(replaced)
        return rebuilt


def merged(parts: Sequence[Rebuilt]) -> RebuildReport:
    """One report of several partitions."""
    reports = [part.report for part in parts]
    return RebuildReport(
        version=max(report.version for report in reports),
        replaced=max(report.replaced for report in reports),
        inputs=sum(report.inputs for report in reports),
        digest=total_digest({scope: digest for part in parts for scope, digest in part.after.items()}),
        digest_before=total_digest({scope: digest for part in parts for scope, digest in part.before.items()}),
        differing_scopes=sorted(scope for report in reports for scope in report.differing_scopes),
        rows={name: sum(report.rows[name] for report in reports) for name in reports[0].rows},
    )


class _Rebuild:
    def __init__(
        self, log: EventLog, store: Store, version: int, progress: Callable[[int], None] | None, *, states: bool
    ) -> None:
        self._log = log
        self._store = store
        self._version = version
        self._progress = progress
        self._projector = Projector(store, version=version)
        self._states = StateFolder(store, version) if states else NoStates()
        self._fold = Fold(log, self._projector, self._states, seen=self._seen)
        self._touched: set[str] = set()
        self._turns = 0

    def run(self, replaced: int) -> Rebuilt:
        cursor = self._store.cursor()
        while cursor.next_changes > self._fold.next_changes:
            self._fold.advance(cursor.next_changes)
            self._look(cursor.applied_input)
            cursor = self._store.cursor()
            if cursor.next_changes - self._fold.next_changes <= CLOSE:
                break
        self._projector.apply_summaries(self._log)
        self._refuse_a_broken_log()
        self._store.gather_statistics(self._version)
        # From here on what is folded or summarised is noted, so that under the lock only those scopes are looked at again.
        self._touched.clear()
        before, after = digest_store(self._store, replaced), digest_store(self._store, self._version)
        with self._store.writing() as (connection, live):
            if live.version != replaced:
                raise LogError(f"version {live.version} went live during this rebuild: start it again")
            new = tables(self._version)
            self._catch_up(connection, live, new)
            for side, digests in ((live, before), (new, after)):
                numbers = dict(projected_scopes(connection, side))
                for scope in self._touched & numbers.keys():
                    digests[scope] = digest_scope(connection, side, numbers[scope])
            rows = {name: self._count(connection, table) for name, table in zip(PROJECTED, new.all(), strict=True)}
            if rows["turns"] != self._turns:
                raise LogError(f"{rows['turns']} turns were written of {self._turns}: the old tables stay live")
            self._store.set_live(connection, self._version)
        report = RebuildReport(
            version=self._version,
            replaced=replaced,
            inputs=self._fold.inputs,
            digest=total_digest(after),
            digest_before=total_digest(before),
            differing_scopes=sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)),
            rows=rows,
        )
        return Rebuilt(report, before, after)

    def _catch_up(self, connection: sa.Connection, live: Tables, new: Tables) -> None:
        """The inputs and summaries that were projected meanwhile; then both sets of tables stand at the same place."""
        offsets = self._store.read_offsets(connection, live)
        items = list(self._fold.read(offsets["changes"]))
        self._projector.apply_within(
            connection,
            new,
            items,
            states=self._states.fold(items, connection),
            next_changes=offsets["changes"],
            applied_input=offsets["dynamics"],
        )
        self._fold.note(items)
        self._fold.look_for_undecided(offsets["dynamics"], parked_offsets(connection))
        self._refuse_a_broken_log()
        start = self._store.read_offsets(connection, new)["summaries"]
        found = list(records(self._log, SUMMARIES, start, offsets["summaries"]))
        self._projector.write_summaries_within(
            connection,
            new,
            [decode(record.value) for record in found],
            next_summaries=max(start, offsets["summaries"]),
        )
        self._touched |= {record.scope for record in found}

    def _look(self, end: int) -> None:
        with self._store.reading() as (connection, _):
            parked = parked_offsets(connection)
        self._fold.look_for_undecided(end, parked)

    def _refuse_a_broken_log(self) -> None:
        problems = self._fold.problems
        if problems:
            first = problems[0]
            raise LogError(
                f"the log is not whole in {len(problems)} scope(s), first {first.scope!r}: {first.kind}, input "
                f"{first.input_id!r} at dynamics offset {first.offset} ({first.detail}); the old tables stay live, "
                "restore the log from a backup"
            )

    def _seen(self, batch: Sequence[DecidedInput]) -> None:
        self._touched |= {item.scope for item in batch}
        self._turns += sum(isinstance(item.data, Turn) for item in batch)
        if self._progress is not None:
            self._progress(len(batch))

    @staticmethod
    def _count(connection: sa.Connection, table: sa.Table) -> int:
        count: int = connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        return count


def _one_at_a_time(store: Store) -> AbstractContextManager[object]:
    """A lock beside the file or on the server, held by the process and gone with it; an in-memory database has no other
    process."""
    if store.schema is not None:
        return store.alone("rebuild")
    if store.path is None:
        return nullcontext()
    return _Lock(store.path)


class _Lock:
    def __init__(self, path: Path) -> None:
        self._lock = filelock.FileLock(path.with_name(path.name + ".rebuild.lock"), timeout=0)
        self._path = path

    def __enter__(self) -> None:
        try:
            self._lock.acquire()
        except filelock.Timeout:
            raise Busy(f"another rebuild of {self._path} is running: wait for it") from None

    def __exit__(self, *_: object) -> None:
        self._lock.release()
