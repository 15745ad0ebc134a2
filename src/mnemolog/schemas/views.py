"""What a reader gets: rows of the projections as frozen records, the same in Python, on the command line and over HTTP."""

from __future__ import annotations

import msgspec

from .observations import Evidence
from .recalls import GivenMemory
from .values import Value

__all__ = [
    "EdgeView",
    "FeedbackView",
    "FormView",
    "PendingView",
    "RecallView",
    "SlotView",
    "SummaryView",
    "TimelineEntry",
    "TurnView",
    "VersionView",
]


class SlotView(msgspec.Struct, frozen=True, kw_only=True):
    """The current value of a slot, or of one element of a multi-valued slot."""

    slot: str
    element: str
    value: Value
    status: str
    """confirmed | scheduled | retired"""
    version: int
    confidence: float
    authority: str
    valid_from: str
    cause: str
    count: int
    """Pieces of evidence in all."""
    evidence: list[Evidence]
    """The first and the last five."""
    recorded_at: str


class FormView(msgspec.Struct, frozen=True, kw_only=True):
    """A Form as it stands now."""

    scope: str
    form_id: str
    form_type: str
    key: str
    name: str
    status: str
    """current | retired"""
    slots: list[SlotView]
    """Sorted by slot, then element."""
    updated_at: str
    """Event time of the last change."""


class VersionView(msgspec.Struct, frozen=True, kw_only=True):
    """One version in a slot's history. The list is ordered by (valid_from, position); `valid_to` is the start of the next
    one of the same slot and element, None for the last."""

    form_id: str
    form_type: str
    slot: str
    element: str
    version: int
    value: Value | None
    status: str
    """confirmed (was or is truth) | scheduled | history (filed late) | retired"""
    current: bool
    reason: str
    confidence: float
    authority: str
    valid_from: str
    valid_to: str | None
    supersedes: int | None
    before: Value | None
    cause: str
    count: int
    evidence: list[Evidence]
    input_id: str
    session: str
    recorded_at: str


class TimelineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened or was decided; ordered by (occurred_at, position, index)."""

    entry_id: str
    occurred_at: str
    kind: str
    """event | decision | statement | plan | cancelled"""
    text: str
    """One readable line, in the language of the turn."""
    actor: str
    action: str
    object: str
    before: str
    after: str
    cause: str
    form_id: str
    slot: str
    input_id: str
    session: str
    evidence: list[Evidence]


class EdgeView(msgspec.Struct, frozen=True, kw_only=True):
    edge_id: str
    from_form: str
    to_form: str
    relation: str
    weight: float
    status: str
    """current | retired"""
    valid_from: str
    evidence: list[Evidence]


class PendingView(msgspec.Struct, frozen=True, kw_only=True):
    """A value that waits for an answer, with the question to put."""

    pending_id: str
    form_id: str
    form_type: str
    name: str
    slot: str
    value: Value | None
    why: str
    question: str
    confidence: float
    authority: str
    opened_at: str
    evidence: list[Evidence]


class SummaryView(msgspec.Struct, frozen=True, kw_only=True):
    """One ISO week of a scope. `closed` is False for the week that is still going on."""

    week: str
    revision: int
    closed: bool
    turns: int
    sessions: int
    lines: list[str]


class TurnView(msgspec.Struct, frozen=True, kw_only=True):
    """A raw turn as it was said."""

    event_id: str
    source: str
    offset: int
    """Its dynamics offset: order inside the scope."""
    session: str
    agent: str
    role: str
    speaker: str
    content: str
    occurred_at: str
    expires_at: str | None


class FeedbackView(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody said of a recall afterwards."""

    event_id: str
    outcome: str
    """success | partial | failure | unused"""
    memories: list[str]
    """Those that it is about; none: all of the recall's."""
    note: str
    actor: str
    given_at: str


class RecallView(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories were given to which agent for which question, and what came of it."""

    recall_id: str
    recalled_at: str
    kind: str
    """search | context"""
    question: str
    scopes: list[str]
    agent: str
    session: str
    profile: str
    memories: list[GivenMemory]
    """In the order of the answer."""
    missing: dict[str, str]
    """Routes that did not answer, and why."""
    tokens: int
    behind: int
    feedback: list[FeedbackView]
    """Oldest first."""
