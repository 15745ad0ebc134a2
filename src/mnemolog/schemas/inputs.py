"""The `data` of every input on `memory.dynamics.v1`. Unknown fields are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from .envelope import DEFAULT_SOURCE
from .scope import MAX_ID
from .times import FIXED_FORM

__all__ = [
    "ConfirmationGiven",
    "CorrectionRequested",
    "DeadlinePassed",
    "ErasureRequested",
    "FeedbackGiven",
    "FeedbackOutcome",
    "ReextractRequested",
    "RetractionRequested",
    "Role",
    "RollbackRequested",
    "SessionEnded",
    "Time",
    "Turn",
    "UtcOffset",
]

Role = Literal["user", "assistant", "tool", "system"]
Time = Annotated[str, msgspec.Meta(pattern=FIXED_FORM, max_length=27)]
"""UTC in the fixed form."""
FeedbackOutcome = Literal["success", "partial", "failure", "unused"]
"""How an answer went that a recall was for: well, in part, badly, or without what was recalled."""
UtcOffset = Annotated[int, msgspec.Meta(gt=-1440, lt=1440)]
"""Minutes east of UTC, less than a day either way."""


class _Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Turn(_Data, frozen=True, kw_only=True):
    """`turn.recorded` v2: one message of a conversation. (v1 called `content` `text` and had no `utc_offset`.)"""

    role: Role = "user"
    speaker: str = ""
    """Who spoke, by name; empty means the user or agent itself."""
    content: str
    session: str = "default"
    agent: str = "default"
    occurred_at: Time
    """UTC in the fixed form; also the envelope's `time`."""
    utc_offset: UtcOffset = 0
    """Minutes east of UTC where it was said; "yesterday" is resolved with it."""
    metadata: dict[str, Any] = {}
    expires_at: Time | None = None
    importance: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None


class SessionEnded(_Data, frozen=True, kw_only=True):
    """`session.ended` v1: nothing more comes in this session; its working memory is dropped."""

    session: str


class CorrectionRequested(_Data, frozen=True, kw_only=True):
    """`correction.requested` v1: the user, or an operator for them, sets a slot by hand. `value` is text that is read by
    the slot's type; `element` names the element of a multi-valued slot to replace; without a `value` the slot is emptied."""

    form_id: str
    slot: str
    value: str | None = None
    element: str | None = None
    reason: str = ""
    actor: str = "user"


class ConfirmationGiven(_Data, frozen=True, kw_only=True):
    """`confirmation.given` v1: a pending question is answered; with `value` the answer is another value."""

    pending_id: str
    accept: bool
    value: str | None = None
    actor: str = "user"


class DeadlinePassed(_Data, frozen=True, kw_only=True):
    """`deadline.passed` v1: all of the scope's deadlines of `kind` that were due at `due` have passed."""

    kind: str
    due: Time


class RetractionRequested(_Data, frozen=True, kw_only=True):
    """`retraction.requested` v1: hide a turn, a Form or a slot from every answer. (Its effect today is to hide.)"""

    target: Literal["turn", "form", "slot"]
    target_id: str
    slot: str = ""
    reason: str = ""
    actor: str = "user"


class ErasureRequested(_Data, frozen=True, kw_only=True):
    """`erasure.requested` v1: hide everything this scope holds so far. (Its effect today is to hide.)"""

    reason: str = ""
    actor: str = "user"


class ReextractRequested(_Data, frozen=True, kw_only=True):
    """`reextract.requested` v1: understand that turn again, at its own event time."""

    turn_id: str
    reason: str = ""


class RollbackRequested(_Data, frozen=True, kw_only=True):
    """`rollback.requested` v1: put a slot, a Form or the whole scope back to how it stood right after an input of the scope
    (`to` of the source `to_source`), or at a recorded time (`to_time`): one of the two. What was decided since stays on the log
    and in the history."""

    target: Literal["scope", "form", "slot"]
    target_id: str = ""
    """The Form's id."""
    slot: str = ""
    to: Annotated[str, msgspec.Meta(max_length=MAX_ID)] = ""
    to_source: str = DEFAULT_SOURCE
    to_time: Time | None = None
    reason: str = ""
    actor: str = "user"


class FeedbackGiven(_Data, frozen=True, kw_only=True):
    """`feedback.given` v1: what came of an answer that a recall was for. It changes no truth: what is worth remembering may be
    weighed by it."""

    recall_id: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]
    """The id of the `memory.recalled`."""
    outcome: FeedbackOutcome
    memories: list[str] = []
    """The memories of the recall that it is about; none: all of them."""
    note: str = ""
    actor: str = "user"
