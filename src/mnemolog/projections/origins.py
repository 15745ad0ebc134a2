"""What each row rests on, written beside it: the source of every input, the inputs that a change quotes beside its own, the
Forms that were heard of in an input, and who called a Form what. Views are decided from these; everything here follows from one
decided input alone."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from ..schemas import changes as ch
from ..schemas.inputs import ReextractRequested
from ..schemas.observations import Evidence
from .cells import DecidedInput, Row
from .tables import Tables

__all__ = ["origins"]


def origins(t: Tables, scope_id: int, item: DecidedInput) -> Iterator[tuple[sa.Table, Row]]:
    """(table, row) of all that a decided input says about where things come from."""
    own = item.input.id
    yield t.inputs, {"scope_id": scope_id, "position": item.offset, "event_id": own, "source": item.input.source}
    heard = {own, item.data.turn_id} if isinstance(item.data, ReextractRequested) else {own}
    cited = {turn for change in item.decision.changes for turn in _quoted(change)}
    for place, change in enumerate(item.decision.changes):
        where = {"scope_id": scope_id, "position": item.offset, "place": place}
        named = isinstance(change, ch.FormCreated | ch.FormNamed)
        if isinstance(change, ch.FormCreated | ch.FormNamed | ch.FormRestored):
            yield t.names, {**where, "form_id": change.form_id, "name": change.name, "hidden": 0}
        # Whatever a decision quotes may have given the name.
        others = (cited if named else _quoted(change)) - {own}
        for turn in sorted(others):
            yield t.rests, {**where, "event_id": turn}
        # What has become true by itself was not heard in the input that it was noticed at.
        by_itself = isinstance(change, ch.SlotChanged) and change.reason == "elapsed"
        for about in _about(change):
            for event_id in sorted(others | (set() if by_itself else heard)):
                yield t.mentions, {**_NOTHING, **about, "scope_id": scope_id, "event_id": event_id}


_NOTHING = {"form_type": "", "form_id": "", "pending_id": ""}


def _quoted(change: ch.Change) -> set[str]:
    evidence: list[Evidence] = getattr(change, "evidence", [])
    origin: str = getattr(change, "origin", "")
    return {piece.turn_id for piece in evidence} | ({origin} if origin else set())


def _about(change: ch.Change) -> list[Row]:
    """What a change is about, as far as it says so: the Form types, the Forms, or the question."""
    if isinstance(change, ch.WorkingNoted):
        return [{"form_type": change.candidate.form_type}]
    if isinstance(change, ch.EdgeAdded):
        return [{"form_id": change.from_form}, {"form_id": change.to_form}]
    if isinstance(change, ch.PendingClosed):
        return [{"pending_id": change.pending_id}]
    for name in ("form_id", "form_type"):  # the Form's type is known where the Form is
        if value := getattr(change, name, ""):
            return [{name: value}]
    return []
