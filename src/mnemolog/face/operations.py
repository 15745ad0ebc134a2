"""What became of what was written: an accepted input is waiting until its decision is in the rows, then done or failed, with
the reason; and how far a memory is behind as a whole. Nothing here changes anything of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from ..processors.core.ports import EventLog, Stored
from ..projections.parked import parked_scopes
from ..projections.store import Store
from ..schemas.changes import Decision
from ..schemas.clean import check_text
from ..schemas.codec import derived_id
from ..schemas.envelope import DEFAULT_SOURCE
from ..schemas.errors import NotFound
from ..schemas.events import CHANGES, DYNAMICS, decode
from ..schemas.scope import Scope
from .base import Face, Id
from .writable import why_not_writable

if TYPE_CHECKING:
    from ..processors.pipeline.installation import Partition

__all__ = [
    "FolderLog",
    "Operation",
    "Operations",
    "Standing",
    "decided",
    "decision_key",
    "folder_operation",
    "folder_standing",
    "partitions_standing",
    "waiting",
]

Status = Literal["waiting", "done", "failed"]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an input.

    outcome: of one that is done, changed, nothing, duplicate or rejected; of one that failed, failed (it could not be
    understood), refused (it was never taken in) or parked (this version cannot decide it; every start of a processor tries it
    again). reason: more about it, where there is more to say; of a waiting one, what it waits for.
    """

    id: str
    source: str
    status: Status
    outcome: str = ""
    reason: str = ""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How far a memory is behind. `behind`: inputs that are not in the rows; `oldest`: when the first of them was recorded
    (fixed UTC form), empty where none waits; `parked`: scopes that stand still; `dead_letters`: those that nobody resolved;
    `problem`: why a folder cannot be written to now, empty where it can, and on servers, which answer for themselves."""

    behind: int
    oldest: str = ""
    parked: int = 0
    dead_letters: int = 0
    problem: str = ""


class _HasDerived(Protocol):
    def derived_offset(self, topic: str, scope: Scope, source: str, event_id: str) -> int | None: ...


class FolderLog(EventLog, _HasDerived, Protocol):
    """A log that knows where its decisions lie."""


class Operations(Face):
    """The part of the face that answers for what was accepted."""

    def operation(
        self,
        id: str,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        agent_id: Id | None = None,
        source: str | None = None,
        tenant: str | None = None,
    ) -> Operation:
        """What became of an input, by its id: each of `Receipt.ids`. Nothing is waited for. An accepted input always ends in
        done or failed. Raises NotFound for an id that was never accepted in this scope."""
        scope = self._scope(tenant, subject, user_id, agent_id)
        found = self._home.operation(
            scope, self._source if source is None else check_text("source", source), check_text("id", id)
        )
        if found is None:
            raise NotFound("operation", id, "writing returned its id; name the same user or subject, and the same source")
        return found

    def warm(self) -> None:
        """Loads what the first question would wait for."""
        scope = str(self._scope(None, "mnemolog:warm-up", None))
        with self._home.store_of(scope).snapshot():
            self._home.recall_of(scope).search([scope], "Hello?")

    def standing(self) -> Standing:
        """How far the whole memory is behind, without waiting for anything."""
        return self._home.standing()


def decision_key(scope: Scope, source: str, event_id: str) -> tuple[str, str, str]:
    """(scope, source, id) of the decision about an input."""
    return str(scope), DEFAULT_SOURCE, derived_id(scope.tenant, scope.subject, source, event_id, "decide", 0)


def folder_operation(log: FolderLog, store: Store, scope: Scope, source: str, event_id: str) -> Operation | None:
    """Of an input on a log of this machine; None where it is not there."""
    position = log.position_of(scope, source, event_id)
    if position is None:
        return None
    _, decision_source, decision_id = decision_key(scope, source, event_id)
    offset = log.derived_offset(CHANGES, scope, decision_source, decision_id)
    record = None if offset is None else next(iter(log.read(CHANGES, offset, 1)))
    return decided(store, scope, source, event_id, position.offset, record)


def decided(store: Store, scope: Scope, source: str, event_id: str, offset: int, record: Stored | None) -> Operation:
    """Of an input at a dynamics offset, whose decision is `record` (None: there is none yet)."""
    with store.reading() as (connection, current):
        cursor = store.read_offsets(connection, current)["dynamics"]
        parked = parked_scopes(connection).get(str(scope))
    if parked is not None and offset >= parked.offset:
        if offset == parked.offset:
            reason = f"this version cannot decide it ({parked.error}); every start of a processor tries it again"
            return Operation(id=event_id, source=source, status="failed", outcome="parked", reason=reason)
        return waiting(event_id, source, f"for input {parked.input_id!r} of the same scope, which cannot be decided")
    if record is None:
        return waiting(event_id, source, "to be understood and decided")
    if cursor <= offset:
        return waiting(event_id, source, "for its decision to be in the rows")
    decision = decode(record.value)[1]
    assert isinstance(decision, Decision)  # noqa: S101 - the changes topic holds nothing else
    status: Status = "failed" if decision.outcome == "failed" else "done"
    return Operation(id=event_id, source=source, status=status, outcome=decision.outcome, reason=decision.note)


def waiting(event_id: str, source: str, reason: str) -> Operation:
    """An operation that has not ended."""
    return Operation(id=event_id, source=source, status="waiting", reason=reason)


def folder_standing(log: EventLog, store: Store) -> Standing:
    """Of a memory on this machine."""
    with store.reading() as (connection, current):
        cursor = store.read_offsets(connection, current)["dynamics"]
        parked = parked_scopes(connection)
    end = log.end(DYNAMICS)
    places = [place.offset for place in parked.values()] + ([cursor] if cursor < end else [])
    oldest = min(places, default=None)
    first = None if oldest is None else next(iter(log.read(DYNAMICS, oldest, 1)), None)
    behind = max(end - cursor, 0) + sum(
        sum(item.offset < cursor for item in log.read(DYNAMICS, place.offset, scope=Scope.parse(scope)))
        for scope, place in parked.items()
    )
    folder = None if store.path is None or store.read_only else store.path.parent
    return Standing(
        behind=behind,
        oldest="" if first is None else first.recorded,
        parked=len(parked),
        problem="" if folder is None else why_not_writable(folder),
    )


def partitions_standing(partitions: Iterable[Partition], dead_letters: int) -> Standing:
    """Of a memory on servers: what waits for each stage, the inbox first."""
    from ..processors.pipeline.operations import stages

    behind, parked, oldest = 0, 0, list[str]()
    for partition in partitions:
        found = [item for item in stages(partition) if item.stage != "vectors"]
        behind += sum(item.behind for item in found if item.stage != "summarise")
        oldest += [item.oldest for item in found if item.behind and item.oldest]
        with partition.store.reading() as (connection, _):
            parked += len(parked_scopes(connection))
    return Standing(behind=behind, oldest=min(oldest, default=""), parked=parked, dead_letters=dead_letters)
