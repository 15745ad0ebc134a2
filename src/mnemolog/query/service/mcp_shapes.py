"""What the MCP tools take and give, as typed data, and the JSON Schemas of it: what a model reads about an argument stands
beside the argument."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

__all__ = [
    "MAX_QUERY",
    "Answered",
    "ConfirmArguments",
    "ContextArguments",
    "ContextFound",
    "ForgetArguments",
    "Forgotten",
    "HistoryArguments",
    "HistoryFound",
    "MemoryFound",
    "PendingArguments",
    "PendingFound",
    "Question",
    "RecallArguments",
    "Recalled",
    "RememberArguments",
    "Remembered",
    "Version",
    "object_schema",
]

MAX_QUERY = 100_000
"""Characters, as over HTTP: a longer question would hold a thread for minutes."""
SUBJECT = {
    "type": "string",
    "minLength": 1,
    "maxLength": 256,
    "description": "Whose memory, such as user:42 or project:apollo. The application says it, never what somebody writes.",
}


def _said(text: str, **limits: Any) -> msgspec.Meta:
    return msgspec.Meta(description=text, **limits)


AsOf = Annotated[str, _said("What held at that moment instead of now: ISO 8601, such as 2026-03-10.", max_length=64)]
KnownAt = Annotated[
    str, _said("Only what memory had been told by then: ISO 8601, or the id of a message that was the last.", max_length=8192)
]


class _Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class RememberArguments(_Arguments, frozen=True, kw_only=True):
    text: Annotated[
        str, _said("What was said, word for word and in its own language; one message. Not your summary of it.", min_length=1)
    ]
    role: Annotated[
        Literal["user", "assistant", "tool"],
        _said("Who said it. What the user says can become a fact; what an assistant or a tool says never does by itself."),
    ] = "user"
    speaker: Annotated[str, _said("The name of who spoke, where several people talk.", max_length=256)] = ""
    session: Annotated[
        str,
        _said("The conversation it belongs to, so that 'that one' is understood. Default: this connection.", max_length=256),
    ] = ""
    occurred_at: Annotated[
        str, _said("When it was said, ISO 8601 with offset, if not now: 2026-05-07T13:00:00+02:00.", max_length=64)
    ] = ""
    id: Annotated[str, _said("An id of your own for this message: the same id again changes nothing.", max_length=256)] = ""


class RecallArguments(_Arguments, frozen=True, kw_only=True):
    query: Annotated[
        str,
        _said(
            "The question in plain words, with the names and times in it: 'Where did Ana work last year?'",
            min_length=1,
            max_length=MAX_QUERY,
        ),
    ]
    limit: Annotated[int, _said("At most so many memories. Default: by the kind of question.", ge=1, le=100)] | None = None
    past: Annotated[bool, _said("Values that are no longer true too; each is marked superseded.")] = False
    as_of: AsOf = ""
    known_at: KnownAt = ""


class ContextArguments(_Arguments, frozen=True, kw_only=True):
    query: Annotated[str, _said("The user's message, or the task at hand, in plain words.", min_length=1, max_length=MAX_QUERY)]
    budget: Annotated[int, _said("The longest text that may come back, in tokens.", ge=50, le=32_000)] = 2000
    as_of: AsOf = ""
    known_at: KnownAt = ""


class HistoryArguments(_Arguments, frozen=True, kw_only=True):
    form_id: Annotated[str, _said("Of one thing: the form_id that recall gave. Default: of all.", max_length=256)] = ""
    slot: Annotated[str, _said("Of one property: the slot that recall gave, such as home or budget.", max_length=256)] = ""
    limit: Annotated[int, _said("At most so many versions, the newest.", ge=1, le=200)] = 50
    as_of: AsOf = ""
    known_at: KnownAt = ""


class PendingArguments(_Arguments, frozen=True, kw_only=True):
    limit: Annotated[int, _said("At most so many questions, the oldest first.", ge=1, le=100)] = 20


class ConfirmArguments(_Arguments, frozen=True, kw_only=True):
    pending_id: Annotated[str, _said("The question's id, exactly as pending gave it.", min_length=1, max_length=256)]
    accept: Annotated[bool, _said("true: the user said yes. false: the user said no; what was heard is dropped.")]
    value: Annotated[str, _said("Where the user gave another value instead of yes or no. Goes with accept=true.")] | None = None


class ForgetArguments(_Arguments, frozen=True, kw_only=True):
    ids: Annotated[
        list[Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]],
        _said("The ids of the memories, exactly as recall gave them; never guessed or made up.", min_length=1, max_length=20),
    ]
    reason: Annotated[str, _said("Why, in a few words; it is kept with the command.", max_length=1000)] = ""


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    ids: list[str]
    new: bool
    """False: it was there already."""
    understood: list[str]
    """What is now held to be true because of it; empty for talk that is kept as it was said."""
    questions: list[Question]
    """What it opened: ask the user, then call confirm."""
    behind: int


class MemoryFound(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    kind: str
    text: str
    status: str
    confidence: float
    when: str
    until: str = ""
    quote: str = ""
    said_in: list[str] = []
    form_id: str = ""
    slot: str = ""


class Recalled(msgspec.Struct, frozen=True, kw_only=True):
    memories: list[MemoryFound]
    missing: dict[str, str]
    """Ways of looking that did not answer in time, and why."""
    behind: int
    """Messages that are not understood yet."""
    recall_id: str


class ContextFound(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    tokens: int
    truncated: bool
    behind: int
    recall_id: str


class Version(msgspec.Struct, frozen=True, kw_only=True):
    form_id: str
    form_type: str
    slot: str
    value: str | None
    status: str
    current: bool
    since: str
    until: str | None
    because: str
    quote: str
    said_in: list[str]


class HistoryFound(msgspec.Struct, frozen=True, kw_only=True):
    versions: list[Version]
    """Oldest first within a slot."""
    left_out: int
    """Older ones, beyond the limit."""
    behind: int


class Question(msgspec.Struct, frozen=True, kw_only=True):
    pending_id: str
    question: str
    slot: str
    value: str | None
    why: str
    quote: str
    since: str


class PendingFound(msgspec.Struct, frozen=True, kw_only=True):
    questions: list[Question]
    left_out: int
    behind: int


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    pending_id: str
    accepted: bool
    understood: list[str]
    behind: int


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    forgotten: list[str]
    note: str


def object_schema(struct: type[msgspec.Struct], *, subject: bool = False) -> dict[str, Any]:
    """The JSON Schema of an object, with the structs that it uses under `$defs`. subject: with a required argument `subject`
    that the struct does not have."""
    (root,), known = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    schema = dict(known.pop(root["$ref"].rpartition("/")[2]))
    schema.pop("title", None)
    if subject:
        schema["properties"] = {"subject": SUBJECT, **schema["properties"]}
        schema["required"] = ["subject", *schema.get("required", ())]
    if issubclass(struct, _Arguments):
        schema["properties"] = {name: _as_argument(about) for name, about in schema["properties"].items()}
    schema["additionalProperties"] = False
    if known:
        schema["$defs"] = known
    return schema


def _as_argument(about: dict[str, Any]) -> dict[str, Any]:
    """An argument that may be left out is left out: nobody need write null or empty text."""
    about = dict(about)
    if about.get("default", ...) in (None, ""):
        del about["default"]
    if [item for item in about.get("anyOf", ()) if item == {"type": "null"}]:
        (about,) = [item for item in about["anyOf"] if item != {"type": "null"}]
    return about
