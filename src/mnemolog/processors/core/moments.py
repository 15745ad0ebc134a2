"""Event time as deciding and folding both see it, and the fingerprint by which a repeated turn is known again."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from ...schemas.envelope import Envelope
from ...schemas.inputs import Turn
from ...schemas.times import add_seconds

__all__ = ["CLOCK_SKEW", "DUPLICATE_WINDOW", "event_time", "micros", "turn_digest"]

CLOCK_SKEW = 300
"""Seconds by which an input may claim to lie after the moment it was recorded."""
DUPLICATE_WINDOW = 600 * 1_000_000
"""Microseconds around a kept turn within which the same words in the same session are a repetition (W12)."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def event_time(envelope: Envelope) -> str:
    """When an input happened: its stated time, clamped to five minutes after it was recorded."""
    time, recorded = envelope.time, envelope.recordedtime
    if recorded is None or time <= recorded:
        return time
    return min(time, add_seconds(recorded, CLOCK_SKEW))


def micros(time: str) -> int:
    """Microseconds since 1970 of a time in the fixed form."""
    return (datetime.fromisoformat(time) - _EPOCH) // _MICROSECOND


def turn_digest(turn: Turn) -> str:
    """The same for turns of one session with the same role, speaker and exact content."""
    said = f"{turn.role}\x1f{turn.speaker}\x1f{turn.content}"
    return hashlib.blake2b(said.encode(), digest_size=10).hexdigest()
