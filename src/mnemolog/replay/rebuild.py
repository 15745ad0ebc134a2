"""Builds the read models anew beside the live ones and switches to them in one transaction.

Invariant: until that transaction commits, the old tables are live and nothing touched them, so a crash at any point loses
nothing; what it left half built is gone on with by the next rebuild, if the same code made it from the same log. Other readers
and writers go on throughout: only the last few inputs are caught up on under the write lock. What was live is kept, to be
fallen back to. No model and no embedder is asked.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
import sqlalchemy as sa

from ..processors.core.ports import EventLog
from ..projections.digest import digest_scope, digest_store, digest_stored, projected_scopes, total_digest
from ..projections.store import Store
from ..projections.tables import PROJECTED, SCHEMA_VERSION, tables
from ..projections.version_notes import VersionNote
from ..schemas.errors import LogError, MnemologError
from ..schemas.times import to_text
from .filling import CLOSE, Filling, Step, Watch
from .room import check_room, needed_bytes, told_when_full
from .versions import kept_versions, log_of, made_by, one_at_a_time, readable_note, switch

__all__ = ["Plan", "RebuildReport", "Rebuilt", "Step", "Watch", "merged", "plan", "rebuild", "rebuild_one", "run_plan"]

ROUNDS = 5
"""How often the scopes that were written to are compared again before the write lock is taken."""


class RebuildReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a rebuild did."""

    version: int
    """The version of the tables that is live now; of several partitions the highest."""
    replaced: int
    """The version that was live before; its tables are kept. Of several partitions the highest."""
    inputs: int
    """Decided inputs folded."""
    digest: str
    digest_before: str
    differing_scopes: list[str]
    """Where the old tables did not say what the log says; the new ones do."""
    rows: dict[str, int]
    """Rows per table."""
    resumed: int = 0
    """Of `inputs`: those that an earlier rebuild had written before it was ended."""
    dropped: list[int] = []
    """Older versions whose tables are gone now."""
    kept: list[int] = []
    """Versions that can be fallen back to."""
    left: list[str] = []
    """What could not be done after the switch, such as dropping what is older, and why; the rebuild is live all the same."""
    seconds: float = 0.0
    switch_seconds: float = 0.0
    """How long writers waited for the switch; of several partitions the longest. Readers waited for nothing."""
    needed_bytes: int | None = None
    """The room that was reckoned with; None where the database cannot tell."""


class Rebuilt(NamedTuple):
    """A report and the digests that it rests on, so that those of several partitions make one."""

    report: RebuildReport
    before: dict[str, str]
    after: dict[str, str]


class Plan(NamedTuple):
    """What a rebuild is about to do with one part."""

    log: EventLog
    store: Store
    states: bool
    version: int
    needed: int | None
    """Bytes."""
    resumes: bool
    """Another rebuild has begun to fill it."""
    done: bool
    """Another one has filled it and switched to it, and was ended before the other parts."""


def rebuild(
    log: EventLog,
    store: Store,
    progress: Callable[[int], None] | None = None,
    *,
    restart: bool = False,
    keep: int = 1,
    watch: Watch | None = None,
) -> RebuildReport:
    """Rebuilds every read model from the log. `progress` is told how many more inputs are folded, `watch` how far it is.

    Goes on with what an earlier rebuild left half built, unless it is of other code or another log, or `restart` is set. Of the
    versions before it `keep` stay. Raises LogError, with the old tables still live, where the log is not whole; Busy where
    another rebuild is running; FolderError where there is not enough room.
    """
    return rebuild_one(log, store, progress, restart=restart, keep=keep, watch=watch).report


def rebuild_one(
    log: EventLog,
    store: Store,
    progress: Callable[[int], None] | None = None,
    *,
    states: bool = True,
    restart: bool = False,
    keep: int = 1,
    watch: Watch | None = None,
) -> Rebuilt:
    """`rebuild` with the digests of the scopes. `states`: the resolver's state lies beside the read models; where it has tables
    of its own they are left alone."""
    with one_at_a_time(store):
        [made] = run_plan(plan([(log, store, states)], restart=restart), progress, keep=keep, watch=watch)
        return made


def plan(parts: Sequence[tuple[EventLog, Store, bool]], *, restart: bool = False) -> list[Plan]:
    """Makes the tables of the next version in every part, the same number in all, or finds those that a rebuild which was
    killed has left. The caller is alone at it."""
    run, highest, begun = uuid.uuid4().hex, 0, False
    for _, store, _ in parts:
        store.make_today()  # who writes next fills it; what is made here goes beside it
    if not restart:
        for log, store, _ in parts:
            run = next((note.run for note in store.version_notes().values() if _resumable(note, log)), run)
    for log, store, _ in parts:
        notes, live = store.version_notes(), store.live_version()
        for number in store.table_versions():
            note = notes.get(number)
            resumed = note is not None and note.run == run and _resumable(note, log)
            begun = begun or resumed
            if number != live and not resumed and not readable_note(note, log):
                store.drop_version(number)  # of no use to anybody: unfinished, of another shape or of unknown make
            highest = max(highest, number)
    plans: list[Plan] = []
    for log, store, states in parts:
        notes, live = store.version_notes(), store.live_version()
        mine = next((number for number, note in notes.items() if note.run == run and _resumable(note, log)), None)
        current = notes.get(live)
        if begun and mine is None and current is not None and current.run == run:
            plans.append(Plan(log, store, states, live, None, resumes=False, done=True))
            continue
        needed = needed_bytes(store, live, mine)
        check_room(store, needed)
        if mine is None:
            mine = highest if begun else highest + 1
            note = VersionNote(
                state="building", schema=SCHEMA_VERSION, code=made_by(), log_id=log_of(log), run=run, made_at=_now()
            )
            store.make_version(mine, note)
            plans.append(Plan(log, store, states, mine, needed, resumes=False, done=False))
        else:
            plans.append(Plan(log, store, states, mine, needed, resumes=True, done=False))
    return plans


def run_plan(
    plans: Sequence[Plan], progress: Callable[[int], None] | None = None, *, keep: int = 1, watch: Watch | None = None
) -> list[Rebuilt]:
    """Fills, verifies and switches part by part; then drops the oldest of the versions that were kept beyond `keep`."""
    made: list[Rebuilt] = []
    for number, one in enumerate(plans):
        if one.done:
            made.append(_done(one))
            continue
        try:
            with told_when_full(one.version):
                rebuilt = _Rebuild(one, (number, len(plans)), progress, watch).run()
        except LogError:
            one.store.drop_version(one.version)
            raise
        made.append(_with_kept(one, rebuilt, keep))
    return made


def merged(parts: Sequence[Rebuilt]) -> RebuildReport:
    """One report of several partitions."""
    reports = [part.report for part in parts]
    room = [report.needed_bytes for report in reports if report.needed_bytes is not None]
    return RebuildReport(
        version=max(report.version for report in reports),
        replaced=max(report.replaced for report in reports),
        inputs=sum(report.inputs for report in reports),
        digest=total_digest({scope: digest for part in parts for scope, digest in part.after.items()}),
        digest_before=total_digest({scope: digest for part in parts for scope, digest in part.before.items()}),
        differing_scopes=sorted(scope for report in reports for scope in report.differing_scopes),
        rows={name: sum(report.rows[name] for report in reports) for name in reports[0].rows},
        resumed=sum(report.resumed for report in reports),
        dropped=sorted({number for report in reports for number in report.dropped}),
        kept=sorted(set.intersection(*(set(report.kept) for report in reports))),
        left=[one for report in reports for one in report.left],
        seconds=sum(report.seconds for report in reports),
        switch_seconds=max(report.switch_seconds for report in reports),
        needed_bytes=sum(room) if room else None,
    )


def _resumable(note: VersionNote, log: EventLog) -> bool:
    return (note.state, note.code, note.log_id) == ("building", made_by(), log_of(log))


def _now() -> str:
    return to_text(datetime.now(UTC))


def _done(one: Plan) -> Rebuilt:
    """What was done before this run."""
    digests = digest_store(one.store)
    rows = _rows(one.store, one.version)
    kept = kept_versions(one.store, one.log)
    report = RebuildReport(
        version=one.version,
        replaced=max(kept, default=0),
        inputs=rows["inputs"],
        digest=total_digest(digests),
        digest_before=total_digest(digests),
        differing_scopes=[],
        rows=rows,
        resumed=rows["inputs"],
        kept=kept,
    )
    return Rebuilt(report, digests, dict(digests))


def _with_kept(one: Plan, rebuilt: Rebuilt, keep: int) -> Rebuilt:
    """Drops what is too old to be kept; the version that was just replaced goes last, also where it was an older one that
    somebody had fallen back to. The switch has happened: what fails here is told, and undoes nothing."""
    replaced = rebuilt.report.replaced
    kept, gone, left = [replaced], list[int](), list[str]()
    try:
        kept = sorted(kept_versions(one.store, one.log), key=lambda number: (number == replaced, number))
        for number in kept[: max(len(kept) - keep, 0)]:
            if one.store.drop_version(number):
                gone.append(number)
    except (MnemologError, OSError) as error:
        left.append(
            f"version {one.version} is live and whole, but what is older could not be dropped ({error}): once that is mended "
            "`mnemolog versions` shows what is left, and `mnemolog versions drop VERSION` or the next rebuild drops it"
        )
    report = msgspec.structs.replace(rebuilt.report, dropped=gone, kept=sorted(set(kept) - set(gone)), left=left)
    return Rebuilt(report, rebuilt.before, rebuilt.after)


def _rows(store: Store, version: int) -> dict[str, int]:
    with store.reading(version) as (connection, current):
        return {
            name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for name, table in zip(PROJECTED, current.all(), strict=True)
        }


class _Rebuild:
    """One part, from where its new tables stand to the switch."""

    def __init__(self, one: Plan, part: tuple[int, int], progress: Callable[[int], None] | None, watch: Watch | None) -> None:
        self._store, self._log, self._version = one.store, one.log, one.version
        self._filling = Filling(one.log, one.store, one.version, states=one.states, progress=progress, watch=watch, part=part)
        self._resumes, self._needed = one.resumes, one.needed
        self._before: dict[str, str] = {}
        self._after: dict[str, str] = {}

    def run(self) -> Rebuilt:
        began = time.monotonic()
        store, filling, replaced = self._store, self._filling, self._store.live_version()
        if self._resumes:
            filling.resume()
        filling.to_live()
        store.gather_statistics(self._version)
        filling.tell("check")
        self._compare(replaced)
        rows = self._count()
        filling.tell("switch")
        with store.writing() as (connection, live):
            asked = time.monotonic()
            if live.version != replaced:
                raise LogError(f"version {live.version} went live during this rebuild: start it again")
            late = filling.finish(connection, live)
            for version, digests in ((replaced, self._before), (self._version, self._after)):
                self._digest(connection, version, digests, filling.touched or set())
            switch(connection, store, self._log, replaced, self._version, total_digest(self._after))
        switched = time.monotonic() - asked
        before, after = self._before, self._after
        report = RebuildReport(
            version=self._version,
            replaced=replaced,
            inputs=filling.fold.inputs,
            digest=total_digest(after),
            digest_before=total_digest(before),
            differing_scopes=sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)),
            rows=_rows(store, self._version) if late else rows,
            resumed=filling.resumed,
            seconds=time.monotonic() - began,
            switch_seconds=switched,
            needed_bytes=self._needed,
        )
        return Rebuilt(report, before, after)

    def _compare(self, replaced: int) -> None:
        """The digests of both sets of tables. What is folded or summarised from here on is noted, so that only those scopes are
        looked at again: a few times beside the traffic, and the last of them under the write lock."""
        filling = self._filling
        filling.touched = set()
        self._before = digest_store(self._store, replaced, digest_stored)
        self._after = digest_store(self._store, self._version)
        for _ in range(ROUNDS):
            before = filling.fold.inputs
            filling.to_live()
            again, filling.touched = filling.touched, set()
            for version, digests in ((replaced, self._before), (self._version, self._after)):
                with self._store.reading(version) as (connection, _):
                    self._digest(connection, version, digests, again)
            if filling.fold.inputs - before <= CLOSE:
                return

    def _digest(self, connection: sa.Connection, version: int, digests: dict[str, str], scopes: set[str]) -> None:
        """Takes the digests of some scopes of one side anew; only what is replaced may hold rows that cannot be read."""
        current, of = tables(version), digest_scope if version == self._version else digest_stored
        numbers = dict(projected_scopes(connection, current)) if scopes else {}
        for scope in scopes & numbers.keys():
            digests[scope] = of(connection, current, numbers[scope])

    def _count(self) -> dict[str, int]:
        """Rows per table; raises LogError where they are not as many as were written."""
        rows, filling = _rows(self._store, self._version), self._filling
        for table, wanted in (("turns", filling.turns), ("inputs", filling.fold.inputs)):
            if rows[table] != wanted:
                raise LogError(f"{rows[table]} {table} were written of {wanted}: the old tables stay live")
        return rows
