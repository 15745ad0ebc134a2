"""One thing that recall found: what it says, where it comes from, how sure it is and why it was found; and a whole answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from .trace import Trace
from .understand import Question

__all__ = ["Found", "Hit", "HitKind", "HitStatus"]

HitKind = Literal["slot", "turn", "event", "summary"]
HitStatus = Literal[
    "current", "superseded", "partly_superseded", "scheduled", "retired", "said", "unchecked", "happened", "summary"
]


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """`status` of a slot is current, superseded (an old value), scheduled (not yet) or retired. A turn was `said`, is
    superseded or partly_superseded where all or some of the values it states are old, or unchecked where that could not be
    looked up in time. An event `happened`; what a week brought is a `summary`."""

    kind: HitKind
    id: str
    """Opaque and stable: the same memory has the same id in every answer of its tenant (`query.ids`)."""
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
    authority: str = ""
    """Who a value was believed: user | tool | assistant | third_party ...; of a turn its role."""
    same_as: str = ""
    """The id of the memory before it that rests on the same turn."""
    also: list[str] = []
    """Ids of memories that say the same and are folded into this one."""
    expires_at: str = ""
    """Of a turn that is not kept for ever: from when on it is not shown any more."""
    before: str = ""
    cause: str = ""
    why: dict[str, float] = {}
    """The signals behind the score, by name."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: a sequence of its hits, best first, which says what is missing from it."""

    hits: list[Hit]
    question: Question
    """As it was understood."""
    missing: dict[str, str] = {}
    """Routes that did not answer, and why: what only they would have found is not here."""
    trace: Trace | None = None

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]
