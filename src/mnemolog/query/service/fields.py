"""The fields that requests are made of, each declared once, so that the OpenAPI document says exactly what is accepted. The
same names as in Python; the tenant is never among them: it comes with the key."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from ...schemas.clean import MAX_METADATA
from ...schemas.scope import MAX_ID
from ..profiles import PROFILES

__all__ = [
    "ABSENT",
    "ANY_JSON",
    "AS_OF",
    "JSON_SCHEMA",
    "PATTERNS",
    "WAIT",
    "Content",
    "Cursor",
    "Importance",
    "JsonObject",
    "JsonValue",
    "KnownAt",
    "Limit",
    "MemoryId",
    "Moment",
    "Name",
    "PageSize",
    "ProfileName",
    "QueryKnownAt",
    "QueryMoment",
    "QueryText",
    "Strict",
    "Subjects",
    "TextKnownAt",
    "TextMoment",
    "Token",
    "Tokens",
    "UserId",
    "UserName",
    "Weight",
]

ABSENT: Any = None
"""The default of a field that may be left out, though it may not be null."""
WAIT = "process first what was said before; without it turns are found by their words at once, and `behind` says what is left"
AS_OF = "what held then, by event time, as far as it is known"

_PLAIN = r"[^\x00-\x1f\x7f-\x9f]"
_SEEN = r"[^\s\x00-\x1f\x7f-\x9f]"
_NAME = rf"^{_PLAIN}*{_SEEN}{_PLAIN}*$"
_CONTENT = r"^[^\x00]*[^\s\x00-\x1f\x85][^\x00]*$"
_TEXT = r"^[^\x00]*$"
_LEAP = r"(?:(?:1[6-9]|2[0-9])(?:0[48]|[2468][048]|[13579][26])|(?:16|20|24|28)00)-02-29"
_DAY = (
    r"(?:1[6-9]|2[0-9])[0-9]{2}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
_HOURS = r"(?:0[0-9]|1[0-4]):[0-5][0-9]"
_MOMENT = rf"^(?:{_LEAP}|{_DAY})(?:T{_CLOCK}(?:Z|[+-]{_HOURS})?)?$"
_QUERY_MOMENT = rf"^(?:{_LEAP}|{_DAY})(?:T{_CLOCK}(?:Z|[+ -]{_HOURS})?)?$"
"""In a query string a bare `+` stands for a blank."""
_POSITION = r"^(?:inbox\.[A-Za-z0-9_,.-]+|[A-Za-z0-9_-]+@[0-9]{1,18}:[0-9]{1,18}:[0-9]{1,18})$"
_CURSOR = r"^[A-Za-z0-9_-]+$"
_PROFILE = f"^(?:{'|'.join(PROFILES)})$"
PATTERNS = {
    _NAME: "is empty, or has a control character",
    _CONTENT: "is empty, or has a NUL character",
    _TEXT: "has a NUL character",
    _MOMENT: "is not a time: give ISO 8601 such as 2026-05-07T13:00:00+02:00, of the years 1600 to 2999",
    _QUERY_MOMENT: "is not a time: give ISO 8601 such as 2026-05-07T13:00:00%2B02:00 (write + as %2B in an address), "
    "of the years 1600 to 2999",
    _POSITION: "is no token: give `position` as writing returned it",
    _CURSOR: "is no cursor: give `next` of the page before as it is",
    _PROFILE: f"is none of {', '.join(PROFILES)}",
}
"""What is wrong with a text that does not match, in words."""
_BLANK = re.compile(rf"(T{_CLOCK}) (?={_HOURS}$)")
_EARLIEST, _LATEST = -11_000_000_000, 32_000_000_000
_INT64 = 2**63
_STRANGERS = 20
"""Unknown fields of one object that are named one by one."""
_SAFE = 2**53 - 1
"""Beyond it JSON readers that know only floats disagree."""


def _whole(given: object) -> object:
    """JSON knows one kind of number: 5.0 is 5."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


def _plus(given: str) -> str:
    """A time whose + came as a blank: nothing else is written so."""
    return _BLANK.sub(r"\1+", given)


Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ID, pattern=_NAME)]
"""A subject, session, speaker, source or id: not only white space, no control characters."""
UserName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ID - 6, pattern=_NAME)]
UserId = UserName | Annotated[int, Field(ge=-_SAFE, le=_SAFE), BeforeValidator(_whole)]
Content = Annotated[str, StringConstraints(min_length=1, pattern=_CONTENT)]
QueryText = Annotated[str, StringConstraints(max_length=100_000, pattern=_TEXT)]
TextMoment = Annotated[
    str, StringConstraints(pattern=_MOMENT), Field(description="ISO 8601, of the years 1600 to 2999; without an offset UTC")
]
QueryMoment = Annotated[
    str,
    StringConstraints(pattern=_QUERY_MOMENT),
    AfterValidator(_plus),
    Field(description="ISO 8601, of the years 1600 to 2999; without an offset UTC; its + is %2B in an address, or a blank"),
]
Moment = TextMoment | Annotated[float, Field(ge=_EARLIEST, le=_LATEST, description="seconds since 1970")]
TextKnownAt = Annotated[
    str,
    StringConstraints(min_length=1, max_length=8192, pattern=_NAME),
    Field(description="as the memory had been told by then: a time, an input's id, or the `position` that writing returned"),
]
QueryKnownAt = Annotated[TextKnownAt, AfterValidator(_plus)]
KnownAt = TextKnownAt | Annotated[float, Field(ge=_EARLIEST, le=_LATEST, description="seconds since 1970")]
Importance = Annotated[float, Field(ge=0, le=1)]
Token = Annotated[
    str,
    StringConstraints(max_length=8192, pattern=_POSITION),
    Field(description="the `position` that writing returned: the read waits until it shows what was written"),
]
ProfileName = Annotated[str, StringConstraints(pattern=_PROFILE), WithJsonSchema({"enum": [*PROFILES]})]
Weight = Annotated[float, Field(gt=0, le=1_000_000)]
Subjects = Annotated[list[Name], Field(max_length=32)]
Cursor = Annotated[str, StringConstraints(max_length=8192, pattern=_CURSOR), Field(description="`next` of the page before")]
Limit = Annotated[int, Field(ge=1, le=100), BeforeValidator(_whole)]
Tokens = Annotated[int, Field(ge=1, le=100_000), BeforeValidator(_whole)]
PageSize = Annotated[int, Field(ge=1, le=500)]
MemoryId = Annotated[str, StringConstraints(min_length=1, max_length=4 * MAX_ID, pattern=_NAME)]

_JSON_REF = {"$ref": "#/components/schemas/Json"}
_JSON_OBJECT = {"type": "object", "propertyNames": {"pattern": _TEXT}, "additionalProperties": _JSON_REF}
JSON_SCHEMA: dict[str, Any] = {
    "title": "Json",
    "description": "Any JSON, at most 32 levels deep, without NUL characters and without integers of more than 64 bits.",
    "anyOf": [
        {"type": "null"},
        {"type": "boolean"},
        {"type": "number", "minimum": -_INT64, "maximum": _INT64 - 2048},
        {"type": "string", "pattern": _TEXT},
        {"type": "array", "items": _JSON_REF},
        _JSON_OBJECT,
    ],
}
"""What `JsonValue` refers to, for the components of the document."""
ANY_JSON = "x-any-json"
"""Stands in a schema where the document refers to `JSON_SCHEMA`."""
JsonValue = Annotated[Any, WithJsonSchema({ANY_JSON: True})]
JsonObject = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {**_JSON_OBJECT, "additionalProperties": {ANY_JSON: True}, "description": f"at most {MAX_METADATA // 1024} KiB as JSON"}
    ),
]


class Strict(BaseModel):
    """A body: nothing is converted, and a field that is not declared is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _not_far_more(cls, given: object) -> object:
        """What has far more fields than there are is refused as a whole: to name each would keep everybody else waiting."""
        if isinstance(given, dict) and len(given) > len(cls.model_fields) + _STRANGERS:
            raise ValueError(f"body: has {len(given):,} fields; there are {len(cls.model_fields)}")
        return given

    def given(self) -> dict[str, Any]:
        """The fields that the caller gave, as plain data."""
        return self.model_dump(exclude_unset=True)
