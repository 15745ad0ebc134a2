"""The event that a deadline becomes once it has passed: the same one, whoever notices first and however often."""

from __future__ import annotations

from ..schemas.codec import derived_id
from ..schemas.envelope import DEFAULT_SOURCE, Envelope
from ..schemas.events import make
from ..schemas.inputs import DeadlinePassed
from ..schemas.scope import Scope
from .store import DueDeadline

__all__ = ["deadline_event"]


def deadline_event(due: DueDeadline) -> Envelope:
    """`deadline.passed`: one event for all deadlines of a kind that fall due at one moment."""
    scope = Scope.parse(due.scope)
    return make(
        DeadlinePassed(kind=due.kind, due=due.due),
        scope=scope,
        event_id=derived_id(scope.tenant, scope.subject, DEFAULT_SOURCE, due.kind, "deadline.passed:" + due.due, 0),
        time=due.due,
    )
