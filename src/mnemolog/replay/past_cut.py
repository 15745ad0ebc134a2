"""What held at a moment of event time, as far as it is known: the changes that are about later are left out before they become
rows, and of what is left the newest version by (valid_from, position) stands in each slot, whenever it was told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import sqlalchemy as sa

from ..processors.core.moments import event_time
from ..projections.projector import DecidedInput
from ..projections.tables import Tables
from ..schemas import changes as ch
from ..schemas.inputs import Turn
from ..schemas.times import iso_week

__all__ = ["Cut"]

_Version = tuple[str, str, int]
"""(form id, slot, version)"""

_NOTHING = ch.WorkingCleared(session="")
"""Stands where a change was left out: it makes no row, and the others keep their places."""


class Cut:
    """Cuts one scope at the moment `end` (fixed UTC form): `item` takes each decided input in log order, `finish` puts right
    what only all rows together tell.

    A change is about the time from which it holds: a version, an edge or the end of a Form about their `valid_from`, an episode
    about when it happened, everything else about when it was said. What was announced by `end` for later is scheduled.
    """

    def __init__(self, end: str) -> None:
        self.end = end
        self._created: dict[str, str] = {}
        self._touched: dict[str, str] = {}
        self._moment: dict[_Version, str] = {}
        self._waiting: set[_Version] = set()
        self._off: set[_Version] = set()
        self._pieces: dict[_Version, int] = {}

    def item(self, item: DecidedInput) -> DecidedInput | None:
        """What of a decided input is about `end` or earlier; None where nothing is."""
        moment = event_time(item.input)
        by_then = moment <= self.end
        kept = [self._kept(change, moment) for change in item.decision.changes]
        if by_then:
            for change in kept:
                form_id = getattr(change, "form_id", "")
                self._touched[form_id] = max(self._touched.get(form_id, ""), moment)
        if not by_then and all(change is _NOTHING for change in kept):
            return None
        data = item.data if by_then or not isinstance(item.data, Turn) else _NOTHING
        return msgspec.structs.replace(item, data=data, decision=msgspec.structs.replace(item.decision, changes=kept))

    def _kept(self, change: ch.Change, moment: str) -> ch.Change:
        if isinstance(change, ch.SlotChanged):
            return self._version(change, moment)
        if isinstance(change, ch.SlotReinforced):
            return self._reinforced(change, moment)
        if isinstance(change, ch.FormCreated):
            # A late fact may be about a time before anybody spoke of the Form.
            again = change.form_id in self._created
            self._created.setdefault(change.form_id, moment)
            return _NOTHING if again and moment > self.end else change
        if isinstance(change, ch.Hidden):
            return change
        about = moment
        if isinstance(change, ch.FormRetired | ch.EdgeAdded):
            about = change.valid_from
        elif isinstance(change, ch.EpisodeSeen):
            about = change.occurred_at
        return change if about <= self.end else _NOTHING

    def _version(self, change: ch.SlotChanged, moment: str) -> ch.Change:
        if change.reason == "elapsed":
            self._waiting.discard((change.form_id, change.slot, change.version))
            return _NOTHING  # whether the time has come is said by `end`
        one = (change.form_id, change.slot, change.version)
        told = moment <= self.end or change.valid_from <= self.end
        if change.status == "scheduled":
            self._waiting.add(one)
        else:
            ended = (change.form_id, change.slot, change.supersedes or 0)
            if change.status == "retired" and ended in self._waiting:
                self._waiting.discard(ended)
                if told:
                    # What was only scheduled is called off: what stood goes on.
                    self._off |= {one, ended}
            else:
                told = change.valid_from <= self.end
        if not told:
            return _NOTHING
        self._moment[one] = moment
        self._pieces[one] = change.count
        return change

    def _reinforced(self, change: ch.SlotReinforced, moment: str) -> ch.Change:
        one = (change.form_id, change.slot, change.version)
        if moment > self.end or one not in self._pieces:
            return _NOTHING
        self._pieces[one] += len(change.evidence)
        return msgspec.structs.replace(change, count=self._pieces[one])

    def finish(self, connection: sa.Connection, t: Tables, scope_id: int, hidden_at: Mapping[_Version, int]) -> None:
        """hidden_at: the dynamics offset at which each hidden version was hidden."""
        v = t.versions
        rows = connection.execute(sa.select(*(v.c[name] for name in _COLUMNS)).where(v.c.scope_id == scope_id)).all()
        places: dict[tuple[str, str, str], list[Any]] = {}
        for row in sorted(rows, key=attrgetter("valid_from", "position", "place")):
            places.setdefault((row.form_id, row.slot, row.element), []).append(row)
        pointers: list[dict[str, Any]] = []
        begun: list[Any] = []
        for (form_id, slot, element), versions in places.items():
            for lane, row in self._standing(versions, hidden_at, begun):
                place = {"scope_id": scope_id, "form_id": form_id, "slot": slot, "element": element}
                pointers.append({**place, "lane": lane, "version": row.version})
        connection.execute(sa.delete(t.slots).where(t.slots.c.scope_id == scope_id))
        if pointers:
            connection.execute(sa.insert(t.slots), pointers)
        self._say_what_holds(connection, t, scope_id, begun)
        self._forms(connection, t, scope_id, rows)
        weeks = t.weeks.c.scope_id == scope_id, t.weeks.c.week > iso_week(self.end)
        connection.execute(sa.delete(t.weeks).where(*weeks))

    def _standing(
        self, versions: Sequence[Any], hidden_at: Mapping[_Version, int], begun: list[Any]
    ) -> Iterable[tuple[int, Any]]:
        """(lane, version) of what one place holds: lane 0 what stands, others what is scheduled. What is about `end` and still
        says that it is for later, or of the past, is added to `begun`."""
        found: list[tuple[int, Any]] = []
        stands = None
        hides = -1
        for row in reversed(versions):
            one = (row.form_id, row.slot, row.version)
            if one in self._off:
                continue
            if row.valid_from > self.end:
                if row.status == "scheduled" and not row.hidden and self._moment[one] <= self.end:
                    found.append((row.version, row))
            elif row.hidden:
                # It leaves the slot empty until something new is said.
                hides = max(hides, hidden_at.get(one, row.position))
            elif stands is None and row.position > hides:
                stands = row
        if stands is not None:
            if stands.status in ("scheduled", "history"):
                begun.append(stands)
            if stands.status != "retired" and stands.value is not None:
                found.append((0, stands))
        return found

    @staticmethod
    def _say_what_holds(connection: sa.Connection, t: Tables, scope_id: int, begun: Iterable[Any]) -> None:
        v = t.versions
        for row in begun:
            one = (v.c.scope_id == scope_id, v.c.form_id == row.form_id, v.c.slot == row.slot, v.c.version == row.version)
            values = {"status": "retired" if row.value is None else "confirmed"}
            if row.status == "scheduled":
                values["reason"] = "elapsed"
            connection.execute(sa.update(v).where(*one).values(values))

    def _forms(self, connection: sa.Connection, t: Tables, scope_id: int, rows: Iterable[Any]) -> None:
        """Forms that nobody had spoken of, and nothing late is about, are not there; the others were last changed by then."""
        begun: dict[str, str] = {}
        for row in rows:
            if row.valid_from <= self.end:
                begun[row.form_id] = max(begun.get(row.form_id, ""), row.valid_from)
        f = t.forms
        for form_id, moment in self._created.items():
            here = (f.c.scope_id == scope_id, f.c.form_id == form_id)
            if moment > self.end and form_id not in begun:
                connection.execute(sa.delete(f).where(*here))
                continue
            latest = max(self._touched.get(form_id, ""), begun.get(form_id, ""))
            connection.execute(sa.update(f).where(*here).values(updated_at=latest))


_COLUMNS = ("form_id", "slot", "element", "version", "value", "status", "valid_from", "position", "place", "hidden")
