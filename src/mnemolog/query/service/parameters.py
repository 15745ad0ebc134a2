"""The query parameters of reads and deletions, declared in one place: what every read takes is added here once."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from .fields import ABSENT, AS_OF, WAIT, Cursor, Name, PageSize, QueryKnownAt, QueryMoment, QueryText, Token, UserName

__all__ = [
    "DeleteParameters",
    "ForgetParameters",
    "FormsParameters",
    "HistoryParameters",
    "NoParameters",
    "OperationParameters",
    "PageParameters",
    "ReadParameters",
    "TimelineParameters",
]

DEFAULT_PAGE = 100


class NoParameters(BaseModel):
    """A route that takes none refuses them, too."""

    model_config = ConfigDict(extra="forbid")


class ScopeParameters(NoParameters):
    """Whose memory: one of the two."""

    subject: Name = Field(default=ABSENT, description="whose memory, such as project:apollo")
    user_id: UserName = Field(default=ABSENT, description="short for the subject user:<user_id>")

    def whose(self) -> dict[str, Any]:
        """The arguments of a Memory's method that say whose memory is meant; it refuses none and two."""
        return self.model_dump(include={"subject", "user_id"}, exclude_unset=True)


class ReadParameters(ScopeParameters):
    """Of every read."""

    as_of: QueryMoment = Field(default=ABSENT, description=AS_OF)
    known_at: QueryKnownAt = ABSENT
    after: Token = ABSENT
    wait: bool = Field(default=False, description=WAIT)

    def when(self) -> dict[str, Any]:
        """The arguments of a Memory's method that name a past."""
        return self.model_dump(include={"as_of", "known_at"}, exclude_unset=True)


class PageParameters(ReadParameters):
    """Of every list."""

    limit: PageSize = Field(default=DEFAULT_PAGE, description="items of this page at most")
    cursor: Cursor = ABSENT


class FormsParameters(PageParameters):
    form_type: Name = Field(default=ABSENT, description="of one type only")
    retired: bool = Field(default=False, description="also what was called off")


class HistoryParameters(PageParameters):
    slot: Name = Field(default=ABSENT, description="of one slot")


class TimelineParameters(PageParameters):
    since: QueryMoment = Field(default=ABSENT, description="from then on")
    until: QueryMoment = Field(default=ABSENT, description="before then")


class OperationParameters(ScopeParameters):
    source: Name = Field(default=ABSENT, description="the source that it was written with (default: mnemolog)")


class ForgetParameters(ScopeParameters):
    reason: QueryText = Field(default="", description="why, for the log")
    actor: Name = Field(default="user", description="on whose behalf, for the log")


class DeleteParameters(ForgetParameters):
    slot: Name = Field(default=ABSENT, description="of a Form, one slot only")
