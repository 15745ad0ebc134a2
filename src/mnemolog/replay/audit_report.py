"""Who changed what in a period, by what evidence: the inputs that were recorded in it, each with what was decided, in the order
in which they were recorded. They are read and told a few at a time, however many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import islice

from ..processors.core.ports import EventLog, Stored
from ..projections.store import Store
from ..schemas.errors import LogError
from ..schemas.events import DYNAMICS
from ..schemas.inputs import Turn
from ..schemas.scope import Scope
from .audit_records import Recorded, Records
from .audit_rows import Rows
from .audit_telling import Teller, input_id
from .audit_views import AuditReport, AuditRow

__all__ = ["report"]

_CHUNK = 256


def report(
    parts: Sequence[tuple[EventLog, Store]],
    since: str,
    until: str,
    *,
    scope: Scope | None,
    shows: Callable[[str], bool],
    limit: int,
    each: Callable[[AuditRow], None] | None = None,
) -> AuditReport:
    """What was recorded from `since` on and before `until` (fixed UTC form), of one scope or of all that `shows` lets through.
    `limit`: rows kept in the report; `each` is told of every row, as it comes."""
    totals: dict[str, Counter[str]] = {
        name: Counter() for name in ("type", "outcome", "change", "source", "actor", "agent", "extractor")
    }
    scopes: set[str] = set()
    kept: list[AuditRow] = []
    unreadable: list[int] = []
    inputs = 0
    streams = [_rows(log, store, since, until, scope, shows, unreadable) for log, store in parts]
    for row in merge(*streams, key=lambda row: row.recorded_at):
        inputs += 1
        scopes.add(row.scope)
        for name in ("type", "outcome", "source", "actor", "agent", "extractor"):
            if value := getattr(row, name):
                totals[name][value] += 1
        totals["change"].update(change.how for change in row.changes)
        if each is not None:
            each(row)
        if len(kept) < limit:
            kept.append(row)
    return AuditReport(
        since=since,
        until=until,
        inputs=inputs,
        scopes=len(scopes),
        totals={name: dict(sorted(counted.items())) for name, counted in totals.items()},
        unreadable=len(unreadable),
        rows=kept,
        left_off=inputs - len(kept),
    )


def _rows(
    log: EventLog,
    store: Store,
    since: str,
    until: str,
    scope: Scope | None,
    shows: Callable[[str], bool],
    unreadable: list[int],
) -> Iterator[AuditRow]:
    def broken(stored: Stored, _: LogError) -> None:
        if shows(stored.scope):
            unreadable.append(stored.offset)

    records = Records(log)
    start, end = log.offset_at(DYNAMICS, since), log.offset_at(DYNAMICS, until)
    items = (item for item in records.between(start, end, scope=scope, broken=broken) if shows(item.stored.scope))
    while chunk := list(islice(items, _CHUNK)):
        yield from _told(store, records, chunk)


def _told(store: Store, records: Records, chunk: Sequence[Recorded]) -> list[AuditRow]:
    with store.reading() as (connection, tables):
        tellers: dict[str, Teller] = {}
        found: list[AuditRow] = []
        for item in chunk:
            teller = tellers.get(item.stored.scope)
            if teller is None:
                teller = tellers[item.stored.scope] = Teller(Rows(store, item.scope, connection, tables), records)
            found.append(_row(teller, item))
        return found


def _row(teller: Teller, item: Recorded) -> AuditRow:
    spoken = teller.spoken(item)
    told = teller.input(item, spoken)
    observation, decision = told.observation, told.decision
    return AuditRow(
        scope=told.scope,
        id=input_id(item),
        event_id=told.event_id,
        source=told.source,
        type=told.type,
        recorded_at=told.recorded_at,
        occurred_at=told.occurred_at,
        actor=told.actor,
        role=told.role,
        speaker=told.speaker,
        agent=told.agent,
        session=told.session,
        extractor=observation.extractor if observation is not None and isinstance(item.data, Turn) else "",
        model="" if observation is None else observation.model,
        prompt_hash="" if observation is None else observation.prompt_hash,
        outcome="waiting" if decision is None else decision.outcome,
        policy="" if decision is None else decision.policy,
        note="" if decision is None else decision.note,
        changes=teller.changes(spoken),
        quotes=[quote for touch in spoken.touched for quote in teller.quotes(spoken, touch)],
        rejected=[] if decision is None else decision.rejected,
        hidden=told.hidden,
    )
