"""Inputs as the workers behind the log read them. Whoever may write to dynamics without ingest can leave anything there; what
lies under another key than its scope's is as unreadable as bytes that are no event."""

from __future__ import annotations

from typing import Any

from ...schemas.envelope import Envelope
from ...schemas.errors import MnemologError, Undecodable
from ...schemas.events import decode
from ...schemas.scope import Scope
from ..core.ports import Stored

__all__ = ["is_scope", "read_input"]


def read_input(stored: Stored) -> tuple[Envelope, Any]:
    """The envelope of a dynamics record and its typed data. Raises LogError."""
    envelope, data = decode(stored.value)
    if f"{envelope.tenant}/{envelope.subject}" != stored.scope or not is_scope(stored.scope):
        raise Undecodable(f"event {envelope.id!r} of {envelope.tenant}/{envelope.subject} lies under the key {stored.scope!r}")
    return envelope, data


def is_scope(key: str) -> bool:
    """Whether a record's key is a scope's."""
    try:
        Scope.parse(key)
    except MnemologError:
        return False
    return True
