"""What the memory decided: one decision for each input, with the changes it makes, self-contained, so that a
projection needs nothing but these records."""

from __future__ import annotations

from typing import Literal

import msgspec

from .observations import Authority, Candidate, Evidence
from .values import Value

__all__ = [
    "Change",
    "DeadlineDone",
    "DeadlineSet",
    "Decision",
    "EdgeAdded",
    "EdgeRetired",
    "EdgeStood",
    "EpisodeSeen",
    "FormCreated",
    "FormNamed",
    "FormRestored",
    "FormRetired",
    "FormStood",
    "Hidden",
    "Outcome",
    "PendingClosed",
    "PendingOpened",
    "PendingStood",
    "Rejected",
    "RolledBack",
    "SlotChanged",
    "SlotReason",
    "SlotReinforced",
    "SlotStatus",
    "SlotStood",
    "WeekSummarised",
    "WorkingCleared",
    "WorkingNoted",
]

Outcome = Literal["changed", "nothing", "rejected", "duplicate", "failed"]
SlotStatus = Literal["confirmed", "scheduled", "history", "retired"]
SlotReason = Literal["new", "newer", "corrected", "confirmed", "refined", "added", "removed", "late", "elapsed", "rolled_back"]


class _Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    pass


class FormCreated(_Change, tag="form_created", frozen=True, kw_only=True):
    """A Form is there from now on. `key` is its identity inside (scope, form type): `self`, or a normalised name."""

    form_id: str
    form_type: str
    key: str
    name: str


class FormNamed(_Change, tag="form_named", frozen=True, kw_only=True):
    """The Form is called `name` from now on and is also found by `key`."""

    form_id: str
    key: str
    name: str


class SlotChanged(_Change, tag="slot_changed", frozen=True, kw_only=True):
    """A new version of a slot, or of one element of a multi-valued slot.

    `version` counts from 1 within (form, slot) in the order of decisions. status says what the version is at this moment:
    `confirmed` is the current truth; `scheduled` becomes current at `valid_from`; `history` was filed late, behind newer
    truth; `retired` ends what stood (`value` is then the ended value, None when a single slot was emptied).
    `supersedes` is the version that stood before in the same slot (or element). The interval of a version ends where the
    next one by (valid_from, position) begins: readers derive it.
    """

    form_id: str
    form_type: str
    slot: str
    version: int
    value: Value | None
    status: SlotStatus
    reason: SlotReason
    element: str = ""
    """The element's `Value.key` in a multi-valued slot; empty in a single-valued one."""
    confidence: float
    authority: Authority
    valid_from: str
    supersedes: int | None = None
    before: Value | None = None
    cause: str = ""
    evidence: list[Evidence] = []
    count: int = 1
    """How many pieces of evidence support this version so far."""
    restores: int | None = None
    """The version that a rollback puts back."""
    origin: str = ""
    """The input that had made that version."""


class SlotReinforced(_Change, tag="slot_reinforced", frozen=True, kw_only=True):
    """The same value said again: more evidence for `version`, no new version."""

    form_id: str
    slot: str
    version: int
    element: str = ""
    confidence: float
    evidence: list[Evidence]
    count: int


class PendingOpened(_Change, tag="pending_opened", frozen=True, kw_only=True):
    """A value that is not (yet) truth, with the question to put to the user."""

    pending_id: str
    form_type: str
    form_id: str = ""
    """Empty where the Form would only come to be by the answer; `name` then says about whom."""
    name: str = ""
    slot: str
    op: Literal["set", "add", "remove"] = "set"
    value: Value | None
    why: Literal["hedged", "authority", "threshold", "conflict", "unresolved"]
    question: str
    confidence: float
    authority: Authority
    valid_from: str
    evidence: list[Evidence]
    candidate: Candidate | None = None
    """What was heard, to decide again when the answer comes."""
    session: str = ""
    """The session that it belongs to, where a rollback opens it again."""
    origin: str = ""
    """The input that had opened it."""


class PendingClosed(_Change, tag="pending_closed", frozen=True, kw_only=True):
    """The question is answered or moot."""

    pending_id: str
    how: Literal["confirmed", "rejected", "superseded"]


class FormRestored(_Change, tag="form_restored", frozen=True, kw_only=True):
    """A rollback: the Form stands, is called `name`, and is found by `keys` and by no others of its Form type but `aliases`,
    which name other Forms first. What is hidden stays hidden."""

    form_id: str
    name: str
    keys: list[str]
    aliases: list[str] = []
    origin: str = ""
    """The input that had given the name."""


class FormRetired(_Change, tag="form_retired", frozen=True, kw_only=True):
    """The whole Form is called off; its slots and history stay readable, out of recall."""

    form_id: str
    cause: str = ""
    evidence: list[Evidence] = []
    valid_from: str


class EdgeAdded(_Change, tag="edge_added", frozen=True, kw_only=True):
    """A directed relation between two Forms."""

    edge_id: str
    from_form: str
    to_form: str
    relation: str
    weight: float = 1.0
    evidence: list[Evidence] = []
    valid_from: str
    origin: str = ""
    """The input that had related them, where a rollback does it again."""


class EdgeRetired(_Change, tag="edge_retired", frozen=True, kw_only=True):
    edge_id: str


class EpisodeSeen(_Change, tag="episode_seen", frozen=True, kw_only=True):
    """Something that happened or was decided, for the timeline."""

    episode_id: str
    episode: Literal["event", "decision", "statement", "plan", "cancelled"]
    actor: str = ""
    action: str = ""
    object: str = ""
    before: str = ""
    after: str = ""
    cause: str = ""
    form_id: str = ""
    slot: str = ""
    occurred_at: str
    evidence: list[Evidence] = []
    origin: str = ""
    """The input behind what a rollback put back."""


class WorkingNoted(_Change, tag="working_noted", frozen=True, kw_only=True):
    """Below the form type's importance: kept for this session only."""

    session: str
    candidate: Candidate


class WorkingCleared(_Change, tag="working_cleared", frozen=True, kw_only=True):
    session: str


class Rejected(_Change, tag="rejected", frozen=True, kw_only=True):
    """A candidate that was refused, and why."""

    reason: str
    form_type: str = ""
    slot: str = ""
    quote: str = ""


class DeadlineSet(_Change, tag="deadline_set", frozen=True, kw_only=True):
    """At `due` something changes by itself: kind `valid_from` makes a scheduled version current."""

    deadline_id: str
    deadline: str
    due: str
    form_id: str = ""
    slot: str = ""
    version: int = 0


class DeadlineDone(_Change, tag="deadline_done", frozen=True, kw_only=True):
    deadline_id: str


class Hidden(_Change, tag="hidden", frozen=True, kw_only=True):
    """Out of every answer from now on: a turn, a Form, a slot, or all that the scope held so far."""

    target: Literal["turn", "form", "slot", "scope"]
    target_id: str = ""
    slot: str = ""
    reason: str = ""
    actor: str = ""


class FormStood(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A Form before a rollback."""

    form_id: str
    form_type: str
    name: str
    retired: bool = False


class SlotStood(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stood in a slot or element before a rollback; `version` 0: nothing."""

    form_id: str
    slot: str
    element: str = ""
    version: int = 0
    value: Value | None = None
    confidence: float = 0.0
    authority: Authority | None = None
    valid_from: str = ""
    scheduled: bool = False


class PendingStood(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question that was open before a rollback."""

    pending_id: str
    form_id: str = ""
    slot: str
    value: Value | None = None
    confidence: float = 0.0


class EdgeStood(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A relation before a rollback."""

    edge_id: str
    from_form: str
    to_form: str
    relation: str


class RolledBack(_Change, tag="rolled_back", frozen=True, kw_only=True):
    """The last of a rollback's changes, which are those that stand before it in the decision: what it was asked to put back,
    where to, and what stood until now of everything that they change."""

    target: Literal["scope", "form", "slot"]
    target_id: str = ""
    slot: str = ""
    to: str = ""
    """The last input that counted."""
    to_source: str = ""
    to_time: str = ""
    """Where a recorded time was asked for."""
    at: str
    """Event time of that input."""
    since: str = ""
    """Event time from which on what was put back, or stood as it did, holds."""
    asked: str = ""
    """Event time of the rollback itself, where that is earlier: somebody's clock is ahead of its own."""
    reason: str = ""
    actor: str = ""
    forms: list[FormStood] = []
    slots: list[SlotStood] = []
    pending: list[PendingStood] = []
    edges: list[EdgeStood] = []


Change = (
    FormCreated
    | FormNamed
    | SlotChanged
    | SlotReinforced
    | PendingOpened
    | PendingClosed
    | FormRetired
    | EdgeAdded
    | EdgeRetired
    | EpisodeSeen
    | WorkingNoted
    | WorkingCleared
    | Rejected
    | DeadlineSet
    | DeadlineDone
    | Hidden
    | FormRestored
    | RolledBack
)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """`decision.made` v1: exactly one for each input. `prev` is the SHA-256 of the value bytes, as stored, of the scope's
    previous valid decision, empty for the first: readers accept only the one that links to the head."""

    input_id: str
    input_source: str
    input_type: str
    prev: str
    outcome: Outcome
    changes: list[Change] = []
    session: str = ""
    speaker: str = ""
    role: str = ""
    policy: str
    """Name and version of the policy that decided."""
    note: str = ""


class WeekSummarised(msgspec.Struct, frozen=True, kw_only=True):
    """`week.summarised` v1 on `memory.summaries.v1`: what one scope's ISO week (UTC) brought; a later revision replaces it."""

    week: str
    revision: int
    turns: int
    sessions: int
    lines: list[str]
    """What changed and happened, oldest first, one line each."""
    input_ids: list[str]
