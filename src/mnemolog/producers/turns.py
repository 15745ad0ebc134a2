"""From what a caller gives (text, OpenAI-style messages) to validated input events; each problem names the field."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from ..schemas.clean import check_content, check_metadata, check_text
from ..schemas.envelope import DEFAULT_SOURCE, Envelope
from ..schemas.errors import InvalidInput, UnknownField
from ..schemas.events import make, validate
from ..schemas.scope import Scope, check_name
from ..schemas.times import parse_time

__all__ = ["Message", "TimeLike", "resolve_session", "resolve_subject", "turn_event", "turns_of"]

TimeLike = str | int | float | datetime
Message = Mapping[str, Any]

_OURS = ("id", "session", "speaker", "occurred_at", "metadata", "expires_at", "importance", "agent")
_OPENAI = ("role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "annotations", "audio")
_ROLES = {"developer": "system", "function": "tool"}


def resolve_subject(subject: str | None, user_id: str | int | None, agent_id: str | int | None = None) -> str:
    """Whose memory: `subject` as given, else `user:<user_id>`, else `agent:<agent_id>`; never nobody's, never two."""
    if subject is not None and user_id is not None and subject != f"user:{user_id}":
        raise InvalidInput("subject", f"names {subject!r} but user_id names 'user:{user_id}'", "give one of the two")
    if subject is not None:
        return check_name("subject", subject)
    for field, kind, value in (("user_id", "user", user_id), ("agent_id", "agent", agent_id)):
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise InvalidInput(field, f"must be text or a whole number, not {type(value).__name__}")
            return f"{kind}:{check_name(field, str(value))}"
    raise InvalidInput("subject", "is missing", "say whose memory it is: user_id='42' or subject='project:apollo'")


def resolve_session(session: str | None, run_id: str | int | None) -> str | None:
    """`run_id` is another word for `session`; None where neither is given."""
    if session is not None and run_id is not None and session != str(run_id):
        raise InvalidInput("session", f"names {session!r} but run_id names {str(run_id)!r}", "give one of the two")
    return session if session is not None or run_id is None else str(run_id)


def turn_event(
    scope: Scope,
    content: str,
    *,
    now: str,
    role: str = "user",
    speaker: str | None = None,
    session: str | None = None,
    agent: str | None = None,
    occurred_at: TimeLike | None = None,
    event_id: str | None = None,
    source: str = DEFAULT_SOURCE,
    metadata: Mapping[str, Any] | None = None,
    expires_at: TimeLike | None = None,
    importance: float | None = None,
) -> Envelope:
    """A `turn.recorded` event. `now` (fixed UTC form) stands in for a missing `occurred_at`; a missing id is a random UUID.

    Raises InvalidInput naming the field.
    """
    check_content("content", content)
    when, offset = (now, 0) if occurred_at is None else parse_time(occurred_at, "occurred_at")
    check_text("role", role)
    data: dict[str, Any] = {
        "role": _ROLES.get(role, role),
        "speaker": check_name("speaker", speaker, empty=True) if speaker is not None else "",
        "content": content,
        "session": check_name("session", session) if session is not None else "default",
        "agent": check_name("agent", agent) if agent is not None else "default",
        "occurred_at": when,
        "utc_offset": offset,
        "metadata": check_metadata("metadata", metadata) if metadata else {},
    }
    if expires_at is not None:
        data["expires_at"] = parse_time(expires_at, "expires_at")[0]
    if importance is not None:
        if isinstance(importance, bool) or not isinstance(importance, int | float) or not 0 <= importance <= 1:
            raise InvalidInput("importance", f"{importance!r} is not a number from 0 to 1")
        data["importance"] = float(importance)
    turn = validate("turn.recorded", data)
    identifier = str(uuid.uuid4()) if event_id is None else check_name("id", event_id)
    return make(turn, scope=scope, event_id=identifier, time=when, source=check_name("source", source))


def turns_of(
    given: str | Message | Sequence[Message],
    scope: Scope,
    *,
    now: str,
    session: str | None = None,
    speaker: str | None = None,
    agent: str | None = None,
    role: str | None = None,
    occurred_at: TimeLike | None = None,
    event_id: str | None = None,
    source: str = DEFAULT_SOURCE,
    metadata: Mapping[str, Any] | None = None,
    expires_at: TimeLike | None = None,
    importance: float | None = None,
    first_times: Mapping[str, str] | None = None,
) -> list[Envelope]:
    """Events of a text, one OpenAI-style message or a list of them; what a message says itself goes before the arguments.

    With `event_id` and several messages, the ids are `<event_id>:0`, `<event_id>:1`, ... `first_times`: event id to the time
    that stands in for `now` in a turn that was sent before.
    """
    first_times = first_times or {}
    if role is not None:
        check_text("role", role)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput("metadata", f"must be an object, not {type(metadata).__name__}")
    if isinstance(given, str):
        given = [{"role": role or "user", "content": given}]
    elif isinstance(given, Mapping):
        given = [given]
    if isinstance(given, bytes) or not isinstance(given, Sequence):
        raise InvalidInput("messages", f"must be text or a list of messages, not {type(given).__name__}")
    if not given:
        raise InvalidInput("messages", "is an empty list", "give at least one message")
    events = []
    for index, message in enumerate(given):
        where = f"messages[{index}]" if len(given) > 1 else ""
        if not isinstance(message, Mapping):
            raise InvalidInput(
                where or "messages",
                f"must be a message such as {{'role': 'user', 'content': '...'}}, not {type(message).__name__}",
            )
        identifier = message.get("id")
        if identifier is None and event_id is not None:
            identifier = event_id if len(given) == 1 else f"{event_id}:{index}"
        own = {} if message.get("metadata") is None else message["metadata"]
        try:
            _known(message)
            if not isinstance(own, Mapping):
                raise InvalidInput("metadata", f"must be an object, not {type(own).__name__}")
            events.append(
                turn_event(
                    scope,
                    _text(message),
                    now=now if identifier is None else first_times.get(str(identifier), now),
                    role=message.get("role", role or "user"),
                    speaker=_first(message.get("speaker"), message.get("name"), speaker),
                    session=_first(message.get("session"), session),
                    agent=_first(message.get("agent"), agent),
                    occurred_at=_first(message.get("occurred_at"), occurred_at),
                    event_id=identifier,
                    source=source,
                    metadata={**(metadata or {}), **own, **_kept(message)},
                    expires_at=_first(message.get("expires_at"), expires_at),
                    importance=_first(message.get("importance"), importance),
                )
            )
        except InvalidInput as error:
            if where:
                raise type(error)(f"{where}.{error.field}", error.problem, error.hint) from None
            raise
    return events


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _known(message: Message) -> None:
    for key in message:
        if key not in _OURS and key not in _OPENAI:
            raise UnknownField(str(key), "a message has no such field", f"known: {', '.join((*_OPENAI[:3], *_OURS))}")
    if "role" in message and not isinstance(message["role"], str):
        raise InvalidInput("role", f"must be text, not {type(message['role']).__name__}")


def _kept(message: Message) -> dict[str, Any]:
    """What a message says beside its words, kept so that a tool's result can be tied to its call."""
    return {key: message[key] for key in ("tool_calls", "tool_call_id", "function_call") if message.get(key)}


def _text(message: Message) -> Any:
    """The words of a message, joined from its parts; `turn_event` refuses what is not text."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text", "") if isinstance(part, Mapping) else part for part in content]
        if not all(isinstance(part, str) for part in parts):
            raise InvalidInput("content", "has a part whose text is not text")
        content = "\n".join(part for part in parts if part)
    if content is None or content == "":
        calls = message.get("tool_calls") or message.get("function_call")
        if calls:
            try:
                return orjson.dumps(calls).decode()
            except (TypeError, orjson.JSONEncodeError) as error:
                raise InvalidInput("tool_calls", f"cannot be written as JSON: {error}") from None
        if content is None:
            raise InvalidInput("content", "is missing", "a message needs words or tool calls")
    return content
