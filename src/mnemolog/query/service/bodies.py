"""The bodies of requests: the arguments of the Memory's methods under their own names."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from pydantic.types import JsonValue as Json

from .fields import (
    ABSENT,
    Content,
    Importance,
    JsonObject,
    JsonValue,
    Limit,
    MemoryId,
    Moment,
    Name,
    QueryText,
    Strict,
    Token,
    Tokens,
    UserId,
)

__all__ = [
    "CheckBody",
    "ConfirmBody",
    "ContextBody",
    "FeedbackBody",
    "FetchBody",
    "Message",
    "RejectBody",
    "ScopeBody",
    "SearchBody",
    "TextPart",
    "TurnsBody",
]

Role = Literal["user", "assistant", "tool", "system", "developer", "function"]

_SOMEBODY: list[Json] = [{"required": ["subject"]}, {"required": ["user_id"]}]
_NOT_BOTH: JsonDict = {"not": {"required": ["subject", "user_id"]}}
_ONE_SESSION: JsonDict = {"not": {"required": ["session", "run_id"]}}
_WHOSE_RULES: list[Json] = [{"anyOf": _SOMEBODY}, _NOT_BOTH]
_AGENT_RULES: list[Json] = [{"anyOf": [*_SOMEBODY, {"required": ["agent_id"]}]}, _NOT_BOTH, _ONE_SESSION]
_ONE_TEXT: JsonDict = {"oneOf": [{"required": ["content"]}, {"required": ["messages"]}]}


def _both(model: Strict, first: str, second: str) -> None:
    if {first, second} <= model.model_fields_set:
        raise ValueError(f"{second}: goes not with {first}: give one of the two")


class ScopeBody(Strict):
    """Whose memory: `subject`, or `user_id` for the subject `user:<user_id>`."""

    model_config = ConfigDict(json_schema_extra={"allOf": _WHOSE_RULES})

    subject: Name = Field(default=ABSENT, description="whose memory, such as project:apollo")
    user_id: UserId = Field(default=ABSENT, description="short for the subject user:<user_id>")

    @model_validator(mode="after")
    def _whose(self) -> Self:
        _both(self, "subject", "user_id")
        if not {"subject", "user_id", "agent_id"} & self.model_fields_set:
            raise ValueError("subject: is missing: say whose memory it is, by subject or user_id")
        return self


class AgentBody(ScopeBody):
    """The same, and which agent in which session; without subject and user it is the agent's own memory."""

    model_config = ConfigDict(json_schema_extra={"allOf": _AGENT_RULES})

    agent_id: UserId = Field(default=ABSENT, description="the agent; alone, also the subject agent:<agent_id>")
    run_id: UserId = Field(default=ABSENT, description="another word for session")
    session: Name = Field(default=ABSENT, description="the conversation")

    @model_validator(mode="after")
    def _one_session(self) -> Self:
        _both(self, "session", "run_id")
        return self


class TextPart(Strict):
    """A part of a message's content."""

    type: Literal["text"]
    text: Content


class Message(Strict):
    """An OpenAI-style message. What it says itself goes before what is said beside it."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["content"]}, {"required": ["tool_calls"]}, {"required": ["function_call"]}]}
    )

    role: Role = ABSENT
    content: Content | Annotated[list[TextPart], Field(min_length=1)] = ABSENT
    name: Name = Field(default=ABSENT, description="who said it; `speaker` says the same")
    tool_calls: Annotated[list[JsonObject], Field(min_length=1)] = ABSENT
    tool_call_id: Name = ABSENT
    function_call: Annotated[JsonObject, Field(min_length=1)] = ABSENT
    refusal: JsonValue = Field(default=ABSENT, description="not kept")
    annotations: JsonValue = Field(default=ABSENT, description="not kept")
    audio: JsonValue = Field(default=ABSENT, description="not kept")
    id: Name = Field(default=ABSENT, description="the same id again changes nothing")
    session: Name = ABSENT
    speaker: Name = ABSENT
    agent: Name = ABSENT
    occurred_at: Moment = ABSENT
    metadata: JsonObject = ABSENT
    expires_at: Moment = ABSENT
    importance: Importance = ABSENT

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not {"content", "tool_calls", "function_call"} & self.model_fields_set:
            raise ValueError("content: is missing: a message needs words or tool calls")
        return self


class TurnsBody(AgentBody):
    """What was said: `content` alone for one turn, or `messages` for one or a batch, which is recorded whole or not at all."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [*_AGENT_RULES, _ONE_TEXT],
            "examples": [{"user_id": "42", "content": "I live in Lisbon."}],
        }
    )

    content: Content = Field(default=ABSENT, description="the words of one turn; at most 1 MiB")
    messages: Content | Message | Annotated[list[Message], Field(min_length=1)] = ABSENT
    speaker: Name = ABSENT
    role: Role = ABSENT
    occurred_at: Moment = Field(default=ABSENT, description="when it was said (default: now)")
    id: Name = Field(default=ABSENT, description="the event id, as the header Idempotency-Key; of a batch <id>:0, <id>:1, ...")
    source: Name = Field(default=ABSENT, description="where it comes from; ids are unique within it (default: mnemolog)")
    metadata: JsonObject = ABSENT
    expires_at: Moment = ABSENT
    importance: Importance = ABSENT
    wait: bool = Field(default=False, description="answer once it is processed, with what became of it")

    @model_validator(mode="after")
    def _content_or_messages(self) -> Self:
        _both(self, "content", "messages")
        if not {"content", "messages"} & self.model_fields_set:
            raise ValueError("messages: are missing: give `content` for one turn, or `messages`")
        return self

    def arguments(self) -> dict[str, Any]:
        """Of `Memory.add`."""
        given = self.given()
        given.pop("wait", None)
        if "content" in given:
            given["messages"] = given.pop("content")
        return given


class ReadBody(AgentBody):
    """What every question has."""

    after: Token = ABSENT
    wait: bool = Field(default=True, description="whether what was written before is processed first")


class SearchBody(ReadBody):
    query: QueryText
    limit: Limit = Field(default=ABSENT, description="how many memories at most (default: 3 to 20 by the kind of question)")
    history: bool = Field(default=False, description="past values too, marked as such")
    now: Moment = Field(default=ABSENT, description='what "last week" counts from (default: now)')


class ContextBody(ReadBody):
    query: QueryText
    budget: Tokens = Field(default=2000, description="tokens of the text at most")
    limit: Limit = ABSENT
    now: Moment = ABSENT


class CheckBody(ReadBody):
    message: QueryText = Field(description="what the user has just said")
    now: Moment = ABSENT


class FeedbackBody(ScopeBody):
    recall_id: Name
    outcome: Literal["success", "partial", "failure", "unused"]
    note: QueryText = Field(default="", description="what was wrong, or right")
    memories: Annotated[list[MemoryId], Field(max_length=100)] = Field(
        default=ABSENT, description="those that it is about (default: all that the recall gave)"
    )
    actor: Name = "user"


class FetchBody(Strict):
    ids: Annotated[list[MemoryId], Field(min_length=1, max_length=100)] = Field(description="`id` of hits")
    after: Token = ABSENT


class ConfirmBody(ScopeBody):
    value: Content = Field(default=ABSENT, description="the answer, where it is another value than the one heard")
    actor: Name = "user"


class RejectBody(ScopeBody):
    actor: Name = "user"
