"""A scope is whose memory it is: `tenant/subject`, the unit of order, of isolation and of erasure."""

from __future__ import annotations

import re

import msgspec

from .errors import InvalidInput

__all__ = ["MAX_ID", "Scope", "check_name"]

MAX_ID = 256
"""The longest tenant, subject, session, speaker, source or id, in code points."""

_REFUSED = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")


class Scope(msgspec.Struct, frozen=True, order=True):
    """`Scope("acme", "user:42")`; `str()` is `acme/user:42`, the partition key. Neither part is empty."""

    tenant: str
    subject: str

    def __post_init__(self) -> None:
        check_name("tenant", self.tenant)
        check_name("subject", self.subject)
        if "/" in self.tenant:
            raise InvalidInput("tenant", "may not contain '/'", "the scope is tenant/subject")

    def __str__(self) -> str:
        return f"{self.tenant}/{self.subject}"

    @classmethod
    def parse(cls, key: str) -> Scope:
        """The scope of a partition key."""
        tenant, slash, subject = key.partition("/")
        if not slash:
            raise InvalidInput("scope", f"{key!r} is not tenant/subject")
        return cls(tenant, subject)


def check_name(field: str, value: object, *, empty: bool = False) -> str:
    """A name as identity: text, not empty, at most 256 code points, no control characters, no lone surrogates."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be text, not {type(value).__name__}")
    if not value.strip() and not (empty and value == ""):
        raise InvalidInput(field, "is empty", "give a name that is not only white space")
    if len(value) > MAX_ID:
        raise InvalidInput(field, f"is {len(value)} characters long; at most {MAX_ID}")
    if bad := _REFUSED.search(value):
        raise InvalidInput(field, f"contains the control character or lone surrogate U+{ord(bad[0]):04X}", "remove it")
    return value
