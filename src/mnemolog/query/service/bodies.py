"""The bodies of requests: the arguments of the Memory's methods under their own names."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from pydantic.types import JsonValue as Json

from ..hits import HitKind
from ..profiles import Profile
from .fields import (
    ABSENT,
    AS_OF,
    WAIT,
    Content,
    Importance,
    JsonObject,
    JsonValue,
    KnownAt,
    Limit,
    MemoryId,
    Moment,
    Name,
    ProfileName,
    QueryText,
    Strict,
    Subjects,
    Token,
    Tokens,
    UserId,
    Weight,
)

__all__ = [
    "CheckBody",
    "ConfirmBody",
    "ContextBody",
    "FeedbackBody",
    "FetchBody",
    "Message",
    "ProfileBody",
    "QuestionBody",
    "ReadBody",
    "RejectBody",
    "ScopeBody",
    "SearchBody",
    "TextPart",
    "TurnsBody",
]

Role = Literal["user", "assistant", "tool", "system", "developer", "function"]

_MANY = 10_000
"""No list of a body is longer, whatever a service allows; of one that is wrong the first wrong item is told."""
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
    content: Content | Annotated[list[TextPart], Field(min_length=1, max_length=_MANY, fail_fast=True)] = ABSENT
    name: Name = Field(default=ABSENT, description="who said it; `speaker` says the same")
    tool_calls: Annotated[list[JsonObject], Field(min_length=1, max_length=_MANY, fail_fast=True)] = ABSENT
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
    messages: Content | Message | Annotated[list[Message], Field(min_length=1, max_length=_MANY, fail_fast=True)] = ABSENT
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

    as_of: Moment = Field(default=ABSENT, description=AS_OF)
    known_at: KnownAt = ABSENT
    after: Token = ABSENT
    wait: bool = Field(default=False, description=WAIT)


_WEIGHTS = ("semantic", "recency", "importance", "type_match", "confidence", "authority")


class ProfileBody(Strict):
    """Weights of your own, of which at least one is given."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": [name]} for name in _WEIGHTS]})

    name: Name
    semantic: Weight = ABSENT
    recency: Weight = ABSENT
    importance: Weight = ABSENT
    type_match: Weight = ABSENT
    confidence: Weight = ABSENT
    authority: Weight = ABSENT
    min_confidence: Importance = Field(default=ABSENT, description="slots believed less are left out (default: 0.6)")

    @model_validator(mode="after")
    def _weighs_something(self) -> Self:
        if not self.model_fields_set.intersection(_WEIGHTS):
            raise ValueError("semantic: is missing, as every other weight: give at least one")
        return self


class QuestionBody(ReadBody):
    """What questions have."""

    query: QueryText
    also: Subjects = Field(default=ABSENT, description="further subjects that it is about, such as project:apollo")
    limit: Limit = Field(default=ABSENT, description="how many memories at most (default: by the kind of question)")
    profile: ProfileName | ProfileBody = Field(default=ABSENT, description="what orders them (default: relevance)")
    time_budget: Annotated[float, Field(gt=0, le=10)] = Field(
        default=ABSENT, description="seconds for finding (default: 0.2); what is not there by then is named in `missing`"
    )
    trace: bool = Field(default=False, description="how the answer came about, in `trace`")
    now: Moment = Field(default=ABSENT, description='what "last week" counts from (default: now)')

    def question(self) -> dict[str, Any]:
        """The arguments of `Memory.search` and `Memory.context`."""
        given = self.given() | {"wait": self.wait}
        given.pop("after", None)
        if isinstance(self.profile, ProfileBody):
            given["profile"] = Profile(**self.profile.given())
        return given


class SearchBody(QuestionBody):
    history: bool = Field(default=False, description="past values too, marked as such")
    kinds: Annotated[list[HitKind], Field(min_length=1, max_length=4)] = Field(default=ABSENT, description="default: all")


class ContextBody(QuestionBody):
    budget: Tokens = Field(default=2000, description="tokens of the text at most")


class CheckBody(ReadBody):
    message: QueryText = Field(description="what the user has just said")
    also: Subjects = Field(default=ABSENT, description="further subjects to look at, such as project:apollo")
    limit: Limit = Field(default=ABSENT, description="how many questions at most (default: 3)")
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
    """Without `subject` and `user_id` each id says whose it is."""

    model_config = ConfigDict(json_schema_extra=_NOT_BOTH)

    ids: Annotated[list[MemoryId], Field(min_length=1, max_length=100)] = Field(description="`id` of hits")
    subject: Name = Field(default=ABSENT, description="whose they all are")
    user_id: UserId = Field(default=ABSENT, description="short for the subject user:<user_id>")
    now: Moment = Field(default=ABSENT, description="for turns that expire (default: now)")
    as_of: Moment = Field(default=ABSENT, description=AS_OF)
    known_at: KnownAt = ABSENT
    after: Token = ABSENT
    wait: bool = Field(default=False, description=WAIT)

    @model_validator(mode="after")
    def _one_owner(self) -> Self:
        _both(self, "subject", "user_id")
        return self


class ConfirmBody(ScopeBody):
    value: Content = Field(default=ABSENT, description="the answer, where it is another value than the one heard")
    actor: Name = "user"


class RejectBody(ScopeBody):
    actor: Name = "user"
