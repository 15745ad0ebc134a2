"""What an audit can be asked about, and what it says where there is no such thing: what was asked, and what there is."""

from __future__ import annotations

from typing import NamedTuple

from ..schemas.errors import NotFound
from .audit_links import parse_audit_id
from .audit_rows import Rows

__all__ = ["Asked", "no_slot", "nothing"]

_TAKEN = (
    "an id is that of a hit, a Form, an edge, a question, an entry, a turn, a command, a decision, an observation or a recall"
)
_NAMES = {"slot": "version", "event": "entry", "summary": "week", "turn": "input"}


class Asked(NamedTuple):
    """What an audit is asked about: an id, or some of a Form, a slot and a version, or a week and one of its lines (from 1), or
    a recall."""

    id: str = ""
    form_id: str = ""
    slot: str = ""
    version: int | None = None
    week: str = ""
    line: int | None = None
    recall_id: str = ""


def nothing(rows: Rows, asked: Asked, identifier: str) -> NotFound:
    """Of what `asked` meant, which is `identifier`, there is nothing."""
    kind, _, parts = parse_audit_id(identifier)
    if kind == "slot":
        newest = rows.latest(parts[0], parts[1])
        if newest is None:
            return no_slot(rows, parts[0], parts[1])
        return NotFound("version", parts[2], f"slot {parts[1]!r} of Form {parts[0]} has versions up to {newest}")
    if kind == "recall" and asked.id:
        return NotFound("memory", asked.id, _TAKEN)
    hint = "`forms` lists them with their ids" if kind == "form" else ""
    weeks = rows.weeks() if kind == "summary" else []
    if weeks:
        hint = f"there are weeks from {weeks[0]} to {weeks[-1]}; `summaries` lists those that are summarised"
    return NotFound(_NAMES.get(kind, kind), "/".join(parts[1:] if kind in ("turn", "input") else parts), hint)


def no_slot(rows: Rows, form_id: str, slot: str) -> NotFound:
    """A slot in which nothing ever stood, or a Form that there is not."""
    if rows.form(form_id) is None:
        return NotFound("form", form_id, "`forms` lists them with their ids")
    known = ", ".join(rows.slots(form_id)) or "none"
    return NotFound("slot", slot, f"Form {form_id} has had: {known}")
