"""Small events for tests: turns, and the observations and decisions that could follow from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mnemolog.schemas.changes import Decision
from mnemolog.schemas.codec import derived_id
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import make
from mnemolog.schemas.inputs import Turn
from mnemolog.schemas.observations import Observation
from mnemolog.schemas.scope import Scope

__all__ = ["OTHER", "SCOPE", "START", "ManualClock", "decision", "observation", "turn", "turns"]

SCOPE = Scope("acme", "user:1")
OTHER = Scope("acme", "user:2")
START = "2026-05-07T13:00:00.000000Z"


class ManualClock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self, now: datetime | None = None) -> None:
        self.now = now or datetime(2026, 5, 7, 13, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        """Forwards, or backwards when negative."""
        self.now += timedelta(seconds=seconds)


def turn(
    event_id: str, content: str | None = None, scope: Scope = SCOPE, *, source: str = "mnemolog", time: str = START
) -> Envelope:
    """A user's turn that says `content`, by default something with the id in it."""
    data = Turn(content=f"this is {event_id}" if content is None else content, occurred_at=time)
    return make(data, scope=scope, event_id=event_id, source=source, time=time)


def turns(count: int, scope: Scope = SCOPE, prefix: str = "turn") -> list[Envelope]:
    """`count` turns with ids such as `turn-0`."""
    return [turn(f"{prefix}-{number}", scope=scope) for number in range(count)]


def observation(of: Envelope, *, raw: str = "") -> Envelope:
    """What was understood of an input: nothing; `raw` makes one differ from another."""
    scope = of.scope
    data = Observation(input_id=of.id, input_type=of.type, extractor="test/1", raw=raw)
    event_id = derived_id(scope.tenant, scope.subject, of.source, of.id, "observe", 0)
    return make(data, scope=scope, event_id=event_id, time=of.time, causation=of.id)


def decision(of: Envelope, prev: str, *, policy: str = "test/1") -> Envelope:
    """A decision about an input, without changes, that links to `prev`."""
    scope = of.scope
    data = Decision(input_id=of.id, input_source=of.source, input_type=of.type, prev=prev, outcome="nothing", policy=policy)
    event_id = derived_id(scope.tenant, scope.subject, of.source, of.id, "decide", 0)
    return make(data, scope=scope, event_id=event_id, time=of.time, causation=of.id, position="1:0:0")
