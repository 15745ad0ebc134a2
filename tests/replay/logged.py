"""Hand-made decisions on a real log, and the stores that are projected from it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import sqlalchemy as sa

from mnemolog.processors.core.ports import EventLog
from mnemolog.projections.projector import DecidedInput, Projector
from mnemolog.projections.reader import decided_inputs
from mnemolog.projections.store import Store
from mnemolog.projections.weeks import summarise_due
from mnemolog.replay.states import StateFolder
from mnemolog.schemas.codec import derived_id
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import make
from mnemolog.schemas.observations import Observation


def observation(item: DecidedInput) -> Envelope:
    scope = item.input.scope
    return make(
        Observation(input_id=item.input.id, input_type=item.input.type, extractor=f"offline/{item.offset % 3}"),
        scope=scope,
        event_id=derived_id(scope.tenant, scope.subject, item.input.source, item.input.id, "observe", 0),
        time=item.input.time,
        position=f"0:0:{item.offset}",
        causation=item.input.id,
    )


def record(log: EventLog, items: Sequence[DecidedInput]) -> None:
    """Puts the items on an empty log (or the following ones behind those that are there)."""
    for item in items:
        [placed] = log.append_inputs([item.input])
        assert placed.position.offset == item.offset
        envelope = item.decision_envelope
        assert isinstance(envelope, Envelope)
        assert log.append_processed([observation(item)], [envelope]) == [item.hash]


def bring_up(log: EventLog, store: Store, size: int = 16) -> None:
    """Projects what is on the log and not in the store, as the engine does: rows, states, then the weeks that are due."""
    projector = Projector(store)
    states = StateFolder(store)
    items = decided_inputs(log, store.cursor().next_changes, heads=store.heads)
    touched: list[tuple[str, str]] = []
    while batch := list(islice(items, size)):
        touched += projector.apply(
            batch,
            states=states.fold(batch),
            next_changes=batch[-1].changes_offset + 1,
            applied_input=batch[-1].offset + 1,
        )
        summarise_due(log, store, projector, touched)


_STORE = Store(":memory:")


def emptied() -> Store:
    """One store for all examples of a property, because compiling its statements takes longer than running them."""
    with _STORE.writing() as (connection, current):
        for table in current.all():
            connection.execute(sa.delete(table))
    return _STORE
