"""Records as the workers read them on topics that only workers should write to. Whoever else may can leave anything there: of
dynamics it lets the scope that it lies under stand still, and on the topics that follow from it, it counts for nothing."""

from __future__ import annotations

import logging
from typing import Any

from ...projections.reader import MissingInput
from ...schemas.envelope import Envelope, Position
from ...schemas.errors import MnemologError, Undecodable
from ...schemas.events import decode
from ...schemas.observations import ExtractionFailed, Observation
from ...schemas.scope import Scope
from ..core.ports import Stored

__all__ = ["is_scope", "pass_over", "read_input", "read_observation"]

_log = logging.getLogger("mnemolog.worker")


def read_input(stored: Stored) -> tuple[Envelope, Any]:
    """The envelope of a dynamics record and its typed data. Raises LogError, also where it lies under another key than its
    scope's."""
    envelope, data = decode(stored.value)
    if f"{envelope.tenant}/{envelope.subject}" != stored.scope or not is_scope(stored.scope):
        raise Undecodable(f"event {envelope.id!r} of {envelope.tenant}/{envelope.subject} lies under the key {stored.scope!r}")
    return envelope, data


def read_observation(stored: Stored) -> tuple[int, Observation | ExtractionFailed] | None:
    """The dynamics offset of an input and its observation; None, with an alarm, for what is none. Raises NewerVersion."""
    try:
        envelope, data = decode(stored.value)
        if envelope.position is None or not isinstance(data, Observation | ExtractionFailed):
            raise Undecodable(f"{envelope.type} is not an observation of an input")
        return Position.parse(envelope.position).offset, data
    except Undecodable as error:
        _log.error("%s, partition %d, offset %d counts for nothing: %s", stored.topic, stored.partition, stored.offset, error)
        return None


def pass_over(scope: str, error: Undecodable) -> None:
    """What cannot be read on the changes topic links to nothing. Raises MissingInput: a decision without its input does."""
    if isinstance(error, MissingInput):
        raise error
    _log.error("a decision of scope %s counts for nothing: %s", scope, error)


def is_scope(key: str) -> bool:
    """Whether a record's key is a scope's."""
    try:
        Scope.parse(key)
    except MnemologError:
        return False
    return True
