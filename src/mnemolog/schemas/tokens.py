"""Tokens: opaque texts that say how far a write has come, so that a read can wait for it. A log's own token names a position;
an input that only lies in the inbox is named itself, since its position is not known yet."""

from __future__ import annotations

import base64

import msgspec

from .envelope import Position
from .errors import InvalidInput, MnemologError
from .scope import Scope, check_name

__all__ = ["InboxToken", "PositionToken", "inbox_token", "parse_token", "position_token"]

_INBOX = "inbox."
_SHOWN = 40


class PositionToken(msgspec.Struct, frozen=True):
    """The input at `position` of the log, and all before it in its partition."""

    log_id: str
    position: Position


class InboxToken(msgspec.Struct, frozen=True):
    """The input of that scope, source and id, wherever it comes to lie."""

    scope: Scope
    source: str
    id: str


def position_token(log_id: str, position: Position) -> str:
    """`<log id>@1:0:42`."""
    return f"{log_id}@{position}"


def inbox_token(scope: Scope, source: str, event_id: str) -> str:
    """Text without spaces, of letters, digits, `.`, `-` and `_`."""
    named = msgspec.json.encode([scope.tenant, scope.subject, source, event_id])
    return _INBOX + base64.urlsafe_b64encode(named).decode("ascii").rstrip("=")


def parse_token(text: str) -> PositionToken | InboxToken:
    """What a token says. Raises InvalidInput for any text that is none."""
    try:
        if text.startswith(_INBOX):
            coded = text.removeprefix(_INBOX)
            named = base64.b64decode(coded + "=" * (-len(coded) % 4), altchars=b"-_", validate=True)
            tenant, subject, source, event_id = msgspec.json.decode(named, type=tuple[str, str, str, str])
            return InboxToken(Scope(tenant, subject), check_name("source", source), check_name("id", event_id))
        log_id, _, position = text.rpartition("@")
        return PositionToken(check_name("log id", log_id), Position.parse(position))
    except (ValueError, TypeError, AttributeError, MnemologError):
        shown = text[:_SHOWN] if isinstance(text, str) else type(text).__name__
        raise InvalidInput("token", f"{shown!r} is not a token", "give the one that writing returned, as it is") from None
