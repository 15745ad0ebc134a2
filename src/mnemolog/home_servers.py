"""A memory on servers, as one process of its users sees it: it writes to the inbox, reads the read models of the partition that
a scope lies in, and waits for the workers. It processes nothing itself."""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from .face.inbox import Awaited, Inbox
from .face.operations import Operation, Standing, partitions_standing
from .face.partitions import PartitionFinding
from .face.ports import Part, VectorKeeping, Written
from .face.server_vectors import ServerVectors
from .processors.core.policy import Policy
from .processors.core.ports import Embedder
from .processors.pipeline.inputs import is_scope
from .processors.pipeline.installation import Installation, Partition
from .processors.pipeline.operations import stages
from .projections.parked import parked_offsets
from .projections.resolver_state import ResolverState
from .projections.store import Store
from .projections.weeks import count_due
from .schemas.access import Sight
from .schemas.envelope import Envelope
from .schemas.errors import Closed, InvalidInput, Lagging
from .schemas.events import CHANGES, DYNAMICS, INBOX, OBSERVATIONS, SUMMARIES
from .schemas.registry import Registry
from .schemas.scope import Scope
from .schemas.times import to_text
from .settings import Servers

if TYPE_CHECKING:
    from .query.recall import Recall

__all__ = ["ServerHome"]

_log = logging.getLogger("mnemolog.home")

INDEX_SECONDS = 0.25
"""The most that a question waits for the vectors that were computed since the last one."""
LOOK_SECONDS, STANDSTILL_SECONDS = 30.0, 0.5
"""How often a reader looks whether the inbox stands still, and for how long nothing must move then."""
AGAIN_SECONDS = 1.0
"""The most that a read waits where an earlier one has waited in vain and nothing has moved since."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05
"""Seconds between looks at how far the workers have come."""


class _Stand(NamedTuple):
    """How far a partition has come. Offsets: of the inbox what ingest took; of observations the end; of dynamics what is
    decided; of changes what is in the rows, and which of dynamics that is."""

    taken: int
    observed: int
    decided: int
    projected: int
    applied: int


class ServerHome:
    """Connects to the servers and checks them: Unavailable where one does not answer, Misconfigured, UnknownLog, NewerVersion,
    EmbedderMismatch where one must not be used. Thread-safe; made anew in a child made by fork."""

    def __init__(
        self,
        servers: Servers,
        *,
        embedder: Embedder | Literal[False] | None,
        form_types: Sequence[Path],
        read_timeout: float,
    ) -> None:
        self._read_timeout = read_timeout
        self._installation = Installation(servers, form_types=form_types)
        self._finding = PartitionFinding(self._installation, embedder)
        self._inbox = Inbox(self._installation)
        self.recalls = self._inbox.recalls()
        self._standstill: dict[int, _Stand] = {}
        self._look_again: dict[int, float] = {}
        self._closed = False
        self._pid = os.getpid()
        self._end = weakref.finalize(self, _end, os.getpid(), self._finding, self._installation)
        try:
            self._finding.check()
        except BaseException:
            self.close()
            raise

    @property
    def registry(self) -> Registry:
        return self._installation.registry

    def close(self) -> None:
        """Frees everything; what was written is durable already. May be called twice."""
        self._closed = True
        self._end()

    def now(self) -> str:
        return to_text(datetime.now(UTC))

    # -- writing -------------------------------------------------------------------------------------------------------

    def append(self, events: Sequence[Envelope]) -> Written:
        self._open()
        return self._inbox.publish(events, self.now()) if events else Written([], "", 0)

    def time_of(self, scope: Scope, source: str, event_id: str) -> str | None:
        self._open()
        return self._inbox.time_of(scope, source, event_id)

    def operation(self, scope: Scope, source: str, event_id: str) -> Operation | None:
        return self._inbox.operation(scope, source, event_id)

    def standing(self) -> Standing:
        return partitions_standing(self._partitions(), self._inbox.dead_letters())

    # -- waiting for the workers ---------------------------------------------------------------------------------------

    def catch_up(
        self,
        scope: str | None,
        *,
        wait: bool = True,
        index: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Of one scope: what this process has published, and what was on the log when it was called."""
        self._open()
        if scope is None:
            return self._catch_up_all(progress) if wait else sum(map(self._behind_all, self._partitions()))
        partition = self._installation.of(scope)
        deadline = time.monotonic() + (self._patience(partition) if wait else 0.0)
        own = self._inbox.last(scope)
        placed = own is None or self._placed(own, deadline)
        behind = self._wait_for_rows(partition, scope, deadline, placed)
        if behind and wait:
            self._tell_laggards(partition, scope)
            self._standstill[partition.number] = self._stand(partition)
        elif wait:
            self._look_at_inbox(partition)
        if index:
            self._finding.refresh(partition.number, INDEX_SECONDS)
        return behind

    def _look_at_inbox(self, partition: Partition) -> None:
        """What others have published is not waited for; but who reads is told where nobody takes it in."""
        if time.monotonic() < self._look_again.get(partition.number, 0.0):
            return
        self._look_again[partition.number] = time.monotonic() + LOOK_SECONDS
        before = self._taken(partition)
        waiting = partition.log.end(INBOX) - before
        if waiting > 0:
            time.sleep(STANDSTILL_SECONDS)
            if self._taken(partition) == before:
                _log.warning(
                    "%d records wait in the inbox of partition %d and ingest does not move: nobody takes them in",
                    waiting,
                    partition.number,
                )

    @staticmethod
    def _taken(partition: Partition) -> int:
        with partition.log.index.reading() as view:
            return view.next_offset(INBOX)

    def _patience(self, partition: Partition) -> float:
        """Seconds that a read of a partition waits: nobody is to wait for workers that are gone at every single call."""
        before = self._standstill.get(partition.number)
        if before is not None and self._stand(partition) == before:
            return min(self._read_timeout, AGAIN_SECONDS)
        self._standstill.pop(partition.number, None)
        return self._read_timeout

    def wait_for(self, token: str, timeout: float | None) -> None:
        self._open()
        deadline = time.monotonic() + (self._read_timeout if timeout is None else timeout)
        for awaited in self._inbox.awaited(token):
            self._wait_for_one(awaited, deadline)

    def _wait_for_one(self, awaited: Awaited, deadline: float) -> None:
        partition = awaited.partition
        for _ in _looks(deadline):
            position = self._inbox.position(awaited)
            if position is not None:
                break
        else:
            raise Lagging({"ingest": 1})
        self._inbox.seen(awaited)
        offset = position.offset
        scope = next(partition.log.read(DYNAMICS, offset, 1)).scope
        for _ in _looks(deadline):
            stand, _parked = self._stand_of(partition, scope)
            if stand > offset:
                break
        else:
            raise Lagging(_laggards(partition) or {"read models": 1})
        if not any(self._finding.has_vector(partition.number, scope, offset) for _ in _looks(deadline)):
            raise Lagging({"vectors": 1})

    def _placed(self, awaited: Awaited, deadline: float) -> bool:
        """Waits until ingest has come to an input; whether it has."""
        for _ in _looks(deadline):
            try:
                placed = self._inbox.position(awaited) is not None
            except InvalidInput as error:
                _log.warning("what was written last is not shown: %s", error)
                placed = True
            if placed:
                self._inbox.seen(awaited)
                return True
        return False

    def _wait_for_rows(self, partition: Partition, scope: str, deadline: float, placed: bool) -> int:
        """Waits until the scope's inputs on the log are in the rows; returns how many are still not, and how many have not come
        to the log (none where `placed`). A scope that stands still is not waited for."""
        log = partition.log
        if placed and self._stand_of(partition, scope)[0] >= log.end(DYNAMICS):
            return 0
        log.fold_index(DYNAMICS)
        with log.index.reading() as view:  # one moment, so that no input counts twice
            last, taken = view.last_input(scope), view.next_offset(INBOX)
        unplaced = 0 if placed else self._inbox.waiting(scope, taken)
        if last is None:
            return unplaced
        stand = 0
        for _ in _looks(deadline):
            stand, parked = self._stand_of(partition, scope)
            if stand > last:
                return unplaced
            if parked:
                break
        waiting = [item for item in log.read(DYNAMICS, stand, scope=Scope.parse(scope)) if item.offset <= last]
        firsts = log.first_offsets(waiting)
        return unplaced + sum(firsts.get(item.offset) is not False for item in waiting)

    @staticmethod
    def _stand_of(partition: Partition, scope: str) -> tuple[int, bool]:
        """The dynamics offset below which all of a scope's inputs are in the rows, and whether it stands still there."""
        with partition.store.reading() as (connection, current):
            cursor = partition.store.read_offsets(connection, current)["dynamics"]
            parked = parked_offsets(connection).get(scope)
        return (cursor, False) if parked is None else (min(cursor, parked), True)

    def _catch_up_all(self, progress: Callable[[int], None] | None) -> int:
        """Everything that was published when it was called, and what fell due with it. It goes on waiting while anything
        moves."""
        ends = [partition.log.end(INBOX) for partition in self._partitions()]
        return sum(
            self._catch_up_one(partition, end, progress) for partition, end in zip(self._partitions(), ends, strict=True)
        )

    def _catch_up_one(self, partition: Partition, end: int, progress: Callable[[int], None] | None) -> int:
        stand, moved = self._stand(partition), time.monotonic()
        for _ in _looks(None):
            before, stand = stand, self._stand(partition)
            if stand != before:
                moved = time.monotonic()
                if progress is not None and stand.applied > before.applied:
                    progress(stand.applied - before.applied)
            if self._is_done(partition, stand, end):
                break
            if time.monotonic() - moved > self._read_timeout:
                self._tell_laggards(partition, None)
                break
        return self._behind_all(partition)

    @staticmethod
    def _is_done(partition: Partition, stand: _Stand, end: int) -> bool:
        """Whether all that lay in the inbox below `end` is in the rows, and nothing is due that follows from it."""
        log, store = partition.log, partition.store
        if stand.taken < end or stand.decided < log.end(DYNAMICS) or stand.projected < log.end(CHANGES):
            return False
        with store.reading() as (connection, current):
            summarised = store.read_offsets(connection, current)["summaries"]
        if summarised < log.end(SUMMARIES):
            return False
        return count_due(store) == 0 and not store.deadlines_due(to_text(datetime.now(UTC)))

    @staticmethod
    def _stand(partition: Partition) -> _Stand:
        taken = ServerHome._taken(partition)
        decided = ResolverState(partition.state).progress().applied_input
        cursor = partition.store.cursor()
        return _Stand(taken, partition.log.end(OBSERVATIONS), decided, cursor.next_changes, cursor.applied_input)

    def _behind_all(self, partition: Partition) -> int:
        """Inputs that are not in the rows: in the inbox, not decided, decided but not projected, or waiting in a scope that
        stands still."""
        stand, log = self._stand(partition), partition.log
        behind = max(log.end(INBOX) - stand.taken, 0)
        behind += max(log.end(DYNAMICS) - stand.decided, 0) + max(log.end(CHANGES) - stand.projected, 0)
        with partition.store.reading() as (connection, _):
            parked = parked_offsets(connection)
        for scope, offset in parked.items():
            if not is_scope(scope):
                continue  # nothing but unreadable records lies there
            waiting = log.read(DYNAMICS, offset, scope=Scope.parse(scope))
            behind += sum(item.offset < stand.decided for item in waiting)
        return behind

    def _tell_laggards(self, partition: Partition, scope: str | None) -> None:
        with partition.store.reading() as (connection, _):
            parked = sorted(parked_offsets(connection))
        lagging = ", ".join(f"{stage} ({behind} behind)" for stage, behind in _laggards(partition).items())
        if scope in parked or (scope is None and parked and not lagging):
            _log.warning("%s: this code cannot decide its next input; `mnemolog reconcile` counts what waits", scope or parked)
        else:
            _log.warning(
                "partition %d has not caught up in %g s: %s. Do the workers run? `mnemolog lag` says which do not move",
                partition.number,
                self._read_timeout,
                lagging or "all stages have by now",
            )

    # -- reading -------------------------------------------------------------------------------------------------------

    def store_of(self, scope: Scope | str) -> Store:
        return self._installation.of(scope).store

    def recall_of(self, scope: Scope | str, sight: Sight | None = None) -> Recall:
        return self._finding.recall(self._installation.number_of(scope), sight)

    # -- operating -----------------------------------------------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        return self._installation.policy

    def parts(self) -> Sequence[Part]:
        self._open()
        return [_part(partition) for partition in self._partitions()]

    def part_of(self, scope: Scope | str) -> Part:
        self._open()
        return _part(self._installation.of(scope))

    def paused(self) -> AbstractContextManager[object]:
        """The workers go on: this process writes nothing to the read models."""
        return nullcontext()

    def vector_keeping(self) -> VectorKeeping:
        return ServerVectors(self._installation, self._finding)

    def stats(self, scope: str | None) -> dict[str, int]:
        """As of a folder; the ends of the topics are sums over the partitions."""
        self._open()
        if scope is not None:
            return {**self.store_of(scope).stats(scope), "behind": self.catch_up(scope, wait=False)}
        ends = {"dynamics": DYNAMICS, "observations": OBSERVATIONS, "changes": CHANGES, "summary_events": SUMMARIES}
        counts: dict[str, int] = {}
        for partition in self._partitions():
            mine = partition.store.stats() | {name: partition.log.end(topic) for name, topic in ends.items()}
            mine["behind"] = self._behind_all(partition)
            counts = {name: counts.get(name, 0) + number for name, number in mine.items()}
        return counts

    def _partitions(self) -> Iterator[Partition]:
        return (self._installation.partition(number) for number in range(self._installation.partitions))

    def _open(self) -> None:
        if self._closed:
            raise Closed("this memory was closed: open it again")
        if os.getpid() != self._pid:
            raise Closed("this memory belongs to the parent process: open it again in this one")


def _part(partition: Partition) -> Part:
    return Part(partition.number, partition.log, partition.store, partition.state)


def _laggards(partition: Partition) -> dict[str, int]:
    """The stages that are behind, and by how many records."""
    return {item.stage: item.behind for item in stages(partition) if item.behind}


def _looks(deadline: float | None) -> Iterator[None]:
    """One look at once, then more with growing pauses until the deadline (None: until the caller has seen enough)."""
    pause = _FIRST_PAUSE
    yield
    while deadline is None or time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
        yield


def _end(pid: int, finding: PartitionFinding, installation: Installation) -> None:
    """What a Memory leaves when it is closed, or forgotten, or when the interpreter ends: nothing."""
    if os.getpid() == pid:
        finding.close()
        installation.close()
