"""One thing that recall found: what it says, where it comes from, how sure it is, and why it was found."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Hit", "HitKind", "HitStatus"]

HitKind = Literal["slot", "turn", "event", "summary"]
HitStatus = Literal["current", "superseded", "partly_superseded", "scheduled", "retired", "said", "happened"]


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """`status` of a slot is current, superseded (an old value), scheduled (not yet) or retired. A turn was `said`, or is
    superseded or partly_superseded where all or some of the values it states are old; an event `happened`."""

    kind: HitKind
    text: str
    """One readable piece: the turn's words, or the slot's line."""
    score: float
    """For ordering within one answer; not comparable between answers."""
    scope: str
    event_ids: list[str]
    """The turns it rests on, or is."""
    occurred_at: str
    """Event time: of the turn, of the event, or from when the value is valid."""
    status: HitStatus
    confidence: float
    """Of a slot, as decided; of a turn, 1.0 where words of the question stand in it, else 0.5."""
    routes: list[str]
    """slots | timeline | keywords | vectors | neighbours, those that found it; none where a turn is only the best there is."""
    session: str = ""
    speaker: str = ""
    role: str = ""
    quote: str = ""
    """The exact words a slot rests on."""
    form_id: str = ""
    form_type: str = ""
    slot: str = ""
    version: int = 0
    until: str = ""
    """When a superseded value ended, where that is known."""
    before: str = ""
    cause: str = ""
    why: dict[str, float] = {}
    """The signals behind the score, by name."""
