"""The records of the resolver's state: immutable, each stored under its own key, the same bytes for the same content."""

from __future__ import annotations

import msgspec

from ...schemas.changes import SlotReason, SlotStatus
from ...schemas.observations import Authority, Candidate, Evidence
from ...schemas.values import Value

__all__ = [
    "ENDS",
    "HOT",
    "META",
    "SEP",
    "Edge",
    "Form",
    "Meta",
    "Note",
    "Pending",
    "Place",
    "Retired",
    "Session",
    "Version",
    "place_key",
    "slot_key",
]

HOT = 5
"""Versions of a slot (or element) that stay in the state, the standing one included."""
ENDS = 5
"""Of the evidence of a version the first and the last so many pieces stay in the state; the rest is counted."""
SEP = "\x1f"
META = f"meta{SEP}"


class _Record(msgspec.Struct, frozen=True, array_like=True):
    pass


class Form(_Record, frozen=True, array_like=True):
    """`keys`: (key, seq at which it came to mean this Form). `touched`: seq of the last change."""

    form_id: str
    form_type: str
    key: str
    name: str
    retired: bool
    touched: int
    keys: tuple[tuple[str, int], ...]


class Version(_Record, frozen=True, array_like=True):
    """One version of a slot or element, as in SlotChanged. `place`: dynamics offset of the input that made it."""

    version: int
    value: Value | None
    status: SlotStatus
    reason: SlotReason
    confidence: float
    authority: Authority
    valid_from: str
    place: int
    input_id: str
    evidence: tuple[Evidence, ...]
    count: int
    affirmed: str = ""
    """Event time at which the same was last said again; empty where it never was."""
    hidden: bool = False

    @property
    def since(self) -> str:
        """What was said before this is older news than the version is."""
        return max(self.valid_from, self.affirmed)


class Place(_Record, frozen=True, array_like=True):
    """A single-valued slot, or one element of a multi-valued one. `hot` is ordered by (valid_from, place, version)."""

    form_id: str
    slot: str
    element: str
    born: int
    standing: Version | None
    """The newest version by event time that is not scheduled; its status tells whether it stands or is an end."""
    scheduled: tuple[Version, ...] = ()
    hot: tuple[Version, ...] = ()

    @property
    def current(self) -> Version | None:
        """The current truth, or None where the slot is empty."""
        found = self.standing
        return found if found is not None and found.status == "confirmed" and not found.hidden else None


class Pending(_Record, frozen=True, array_like=True):
    """A question that is open. `input_id` is the input that raised it."""

    pending_id: str
    seq: int
    session: str
    form_type: str
    form_id: str
    name: str
    slot: str
    op: str
    value: Value | None
    authority: Authority
    confidence: float
    valid_from: str
    evidence: tuple[Evidence, ...]
    candidate: Candidate | None


class Edge(_Record, frozen=True, array_like=True):
    edge_id: str
    seq: int
    from_form: str
    to_form: str
    relation: str
    input_id: str
    turns: tuple[str, ...] = ()
    """Ids of the turns that its evidence quotes; none where the input alone made it."""


class Note(_Record, frozen=True, array_like=True):
    """Working memory: a candidate that is kept for its session only; `input_id` names the turn."""

    candidate: Candidate
    input_id: str


class Session(_Record, frozen=True, array_like=True):
    """`recent`: (digest of speaker and content, microseconds, id) of the turns kept lately; `focus`: form type to the Form last
    talked about; `last`: the turn before the next one."""

    seq: int
    last: str
    recent: tuple[tuple[str, int, str], ...]
    focus: tuple[tuple[str, str], ...]


class Retired(_Record, frozen=True, array_like=True):
    """When a Form was called off: `when` is the event time of that, `seq` what had been counted by then."""

    when: str
    seq: int


class Meta(_Record, frozen=True, array_like=True):
    head: str
    applied: int
    latest: str
    seq: int


def slot_key(form_id: str, slot: str) -> str:
    return f"{form_id}{SEP}{slot}"


def place_key(form_id: str, slot: str, element: str = "") -> str:
    return f"{form_id}{SEP}{slot}{SEP}{element}"
