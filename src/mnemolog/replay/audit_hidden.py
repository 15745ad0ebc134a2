"""Who hid what: an audit says of what is hidden by which command, on whose behalf and why. The commands are looked for only
where a row says that something is hidden."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import NamedTuple

from ..processors.core.moments import event_time
from ..schemas.changes import Hidden
from ..schemas.times import iso_week
from .audit_records import Recorded, Records
from .audit_rows import Rows
from .audit_views import HidingTold

__all__ = ["Hidings"]


class _Hiding(NamedTuple):
    offset: int
    change: Hidden
    told: HidingTold


class Hidings:
    """The commands of one scope that hid something."""

    def __init__(self, rows: Rows, records: Records) -> None:
        self._rows, self._records = rows, records

    @cached_property
    def _all(self) -> list[_Hiding]:
        return [
            _Hiding(item.stored.offset, change, _told(item, change))
            for item in self._records.at_all(self._rows.commands())
            for change in (() if item.decision is None else item.decision.changes)
            if isinstance(change, Hidden)
        ]

    def of_turn(self, event_id: str, offset: int) -> HidingTold:
        """What hid the turn at a dynamics offset, which is known to be hidden."""
        return self._first(offset, turns=(event_id,))

    def of_memory(self, offset: int, *, form_id: str = "", slot: str = "", turns: Collection[str] = ()) -> HidingTold:
        """What hid a memory that was made at an offset and rests on some turns, and which is known to be hidden."""
        return self._first(offset, form_id=form_id, slot=slot, turns=turns)

    def of_command(self, item: Recorded) -> HidingTold | None:
        """What hid everything that was there when a command came, the command with it."""
        if self._rows.hidden_since(iso_week(event_time(item.input))) <= item.stored.offset:
            return None
        found = [one for one in self._all if one.offset > item.stored.offset and one.change.target == "scope"]
        return found[0].told if found else None

    def since(self, moment: str) -> bool:
        """Whether everything was hidden after a recorded time."""
        return any(one.change.target == "scope" and one.told.recorded_at > moment for one in self._all)

    def _first(self, offset: int, *, form_id: str = "", slot: str = "", turns: Collection[str] = ()) -> HidingTold:
        for one in self._all:
            target, named = one.change.target, one.change.target_id
            if one.offset > offset and (
                target == "scope"
                or (target == "form" and named == form_id != "")
                or (target == "slot" and (named, one.change.slot) == (form_id, slot))
                or (target == "turn" and named in turns)
            ):
                return one.told
        return HidingTold()


def _told(item: Recorded, change: Hidden) -> HidingTold:
    return HidingTold(
        event_id=item.input.id,
        source=item.input.source,
        actor=change.actor,
        reason=change.reason,
        target=change.target,
        recorded_at=item.stored.recorded,
    )
