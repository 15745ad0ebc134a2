"""What a memory is called and what is known of it, from its row; of a hidden one nothing but that it is hidden, and what it is
about."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ..schemas.values import Value
from .audit_links import parse_audit_id
from .audit_rows import Rows
from .audit_views import Facts

__all__ = ["HIDDEN", "Described", "Items"]

HIDDEN = "(hidden)"
_DIGITS = 18


class Described(NamedTuple):
    """A memory as it may be told. `offset`: of the input that made it what its row says; -1 where it has no row."""

    kind: str
    title: str
    facts: Facts
    hidden: bool = False
    offset: int = -1
    form_id: str = ""
    slot: str = ""


class Items:
    """Describes the memories of a scope by their ids; remembers them."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._known: dict[str, Described] = {}

    def of(self, identifier: str) -> Described:
        """The memory of that id; without a row its title is empty."""
        found = self._known.get(identifier)
        if found is None:
            kind, _, parts = parse_audit_id(identifier)
            make = getattr(self, f"_{kind}", None)
            found = self._known[identifier] = Described(kind, "", {}) if make is None else make(*parts)
        return found

    def _slot(self, form_id: str, slot: str, number: str) -> Described:
        version = _number(number)
        row = None if version is None else self._rows.version(form_id, slot, version)
        plain: Facts = {"form_id": form_id, "slot": slot, "version": version}
        if row is None:
            return Described("slot", "", plain)
        plain |= {"form_type": row.form_type, "reason": row.reason}
        if row.hidden or self._restates_hidden(row):
            return Described("slot", HIDDEN, plain, True, row.position, form_id, slot)
        value, before = _shown(row.value), _shown(row.before)
        about = f"{self._rows.name(form_id) or row.form_type} {slot}"
        ended = row.status == "retired"
        title = (
            f"{about}: no longer {value or before}"
            if ended
            else f"{about}: {before} → {value}"
            if before
            else f"{about}: {value}"
        )
        return Described(
            "slot",
            title.rstrip() if value or before else f"{about}: emptied",
            {
                **plain,
                "value": value,
                "before": before,
                "status": row.status,
                "current": self._rows.stands(form_id, slot, row.version),
                "reason": row.reason,
                "cause": row.cause,
                "confidence": row.confidence,
                "authority": row.authority,
                "valid_from": row.valid_from,
                "supersedes": row.supersedes,
                "count": row.pieces,
                "extractor": row.extractor,
                "recorded_at": row.recorded_at,
            },
            False,
            row.position,
            form_id,
            slot,
        )

    def _restates_hidden(self, row: Any) -> bool:
        """Whether a version has the value of a hidden one that it ends, or says again."""
        old = None if row.supersedes is None else self._rows.version(row.form_id, row.slot, row.supersedes)
        if old is None or not (row.status == "retired" or row.value == old.value):
            return False
        return bool(old.hidden) or self._restates_hidden(old)

    def _pending(self, pending_id: str) -> Described:
        row = self._rows.pending(pending_id)
        plain: Facts = {"pending_id": pending_id}
        if row is None:
            return Described("pending", "", plain)
        plain |= {"form_id": row.form_id, "form_type": row.form_type, "slot": row.slot, "state": row.closed or "open"}
        # A question whose Form was made by the answer is not hidden with the slot; its words are the slot's all the same.
        behind = (row.closed or not row.form_id) and (row.form_type, row.slot) in self._rows.hidden_slots()
        if row.hidden or behind:
            return Described("pending", HIDDEN, plain, True, row.position, row.form_id, row.slot)
        more: Facts = {
            "value": _shown(row.value),
            "name": row.name,
            "why": row.why,
            "confidence": row.confidence,
            "authority": row.authority,
            "opened_at": row.opened_at,
        }
        question = HIDDEN if self._rows.calls(row.question, [row.form_id]) else row.question
        return Described("pending", question, plain | more, False, row.position, row.form_id, row.slot)

    def _edge(self, edge_id: str) -> Described:
        row = self._rows.edge(edge_id)
        plain: Facts = {"edge_id": edge_id}
        if row is None:
            return Described("edge", "", plain)
        plain |= {"from_form": row.from_form, "to_form": row.to_form, "relation": row.relation, "status": row.status}
        if row.hidden:
            return Described("edge", HIDDEN, plain, True, row.position, row.from_form)
        ends = [self._rows.name(form_id) or form_id for form_id in (row.from_form, row.to_form)]
        plain |= {"weight": row.weight, "valid_from": row.valid_from}
        return Described("edge", f"{ends[0]} {row.relation} {ends[1]}", plain, False, row.position, row.from_form)

    def _event(self, entry_id: str) -> Described:
        row = self._rows.entry(entry_id)
        plain: Facts = {"entry_id": entry_id}
        if row is None:
            return Described("event", "", plain)
        plain |= {"kind": row.kind, "form_id": row.form_id, "slot": row.slot, "occurred_at": row.occurred_at}
        if row.hidden:
            return Described("event", HIDDEN, plain, True, row.position, row.form_id, row.slot)
        plain |= {"before": row.before, "after": row.after, "cause": row.cause}
        text = HIDDEN if self._rows.calls(row.text, [row.form_id]) else row.text
        return Described("event", text, plain, False, row.position, row.form_id, row.slot)

    def _form(self, form_id: str) -> Described:
        row = self._rows.form(form_id)
        plain: Facts = {"form_id": form_id}
        if row is None:
            return Described("form", "", plain)
        plain |= {"form_type": row.form_type, "status": row.status}
        named = self._rows.named(form_id)
        offset = named[0] if named else -1
        if row.hidden:
            return Described("form", HIDDEN, plain, True, offset, form_id)
        name = self._rows.name(form_id)
        title = f"{row.form_type}: {name}" if name else row.form_type
        return Described("form", title, plain | {"name": name}, False, offset, form_id)

    def _rejected(self, event_id: str, place: str) -> Described:
        number = _number(place)
        for offset, _ in self._rows.inputs([event_id]).get(event_id, ()):
            row = None if number is None else self._rows.rejected(offset, number)
            if row is None:
                continue
            plain: Facts = {"form_type": row.form_type, "slot": row.slot}
            if row.hidden or (row.form_type, row.slot) in self._rows.hidden_slots():
                return Described("rejected", HIDDEN, plain, True, offset)
            return Described("rejected", row.reason, plain | {"quote": row.quote}, False, offset)
        return Described("rejected", "", {})


def _number(text: str) -> int | None:
    """A part of an id that is to be a number, as a database takes it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def _shown(text: str | None) -> str:
    return "" if text is None else msgspec.json.decode(text, type=Value).shown
