"""The answers: the records that Python returns, wrapped with what a caller over HTTP has to know beside them. Their schemas in
the OpenAPI document are made from these types, so that the document cannot say anything else."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import Response

from ...face.operations import Operation
from ...replay.audit_views import Audit, AuditReport, ExtractorInfluence, Influence
from ...replay.rollback import RollbackReport
from ...schemas.views import FormView, PendingView, SummaryView, TimelineEntry, VersionView
from ..context import Context
from ..doubts import Doubt
from ..hits import Hit
from ..trace import Trace
from .problems import Problem

__all__ = [
    "ANSWERS",
    "CheckAnswer",
    "CommandAnswer",
    "ContextAnswer",
    "FormAnswer",
    "FormsPage",
    "Health",
    "HistoryPage",
    "MemoriesAnswer",
    "PendingPage",
    "Ready",
    "SearchAnswer",
    "SummariesPage",
    "TimelinePage",
    "WriteAnswer",
    "answer",
    "components",
]

_REF = "#/components/schemas/{name}"


class WriteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was made durable. `ids`: the event ids, in order, each also the id of an operation; `position`: the token that reads
    take as `after`; `fresh`: how many were not there before."""

    ids: list[str]
    position: str
    fresh: int
    operations: list[Operation]


class CommandAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A command that was recorded, and processed where that took no longer than a read may wait: its operation says."""

    ids: list[str]
    position: str
    operations: list[Operation]


class _Read(msgspec.Struct, frozen=True, kw_only=True):
    """`behind`: inputs of this memory that are not shown yet; `lagging`: where `after` was given and not reached in time, what
    lags and by how much."""

    behind: int = 0
    lagging: dict[str, int] = {}


class SearchAnswer(_Read, frozen=True, kw_only=True):
    """`missing`: routes that did not answer, and why; `recall_id`: what feedback names; `trace`: where it was asked for."""

    hits: list[Hit]
    missing: dict[str, str] = {}
    recall_id: str = ""
    trace: Trace | None = None


class MemoriesAnswer(_Read, frozen=True, kw_only=True):
    """In the order of the ids."""

    memories: list[Hit]


class CheckAnswer(_Read, frozen=True, kw_only=True):
    """What to ask the user before answering, those questions first on which most depends."""

    doubts: list[Doubt]


class ContextAnswer(_Read, frozen=True, kw_only=True):
    """`context.text` is what to put before the agent."""

    context: Context


class FormAnswer(_Read, frozen=True, kw_only=True):
    form: FormView


class _Page(_Read, frozen=True, kw_only=True):
    """`next`: the `cursor` of the page after this one; null where there is none."""

    next: str | None = None


class FormsPage(_Page, frozen=True, kw_only=True):
    items: list[FormView]


class HistoryPage(_Page, frozen=True, kw_only=True):
    items: list[VersionView]


class TimelinePage(_Page, frozen=True, kw_only=True):
    items: list[TimelineEntry]


class SummariesPage(_Page, frozen=True, kw_only=True):
    items: list[SummaryView]


class PendingPage(_Page, frozen=True, kw_only=True):
    items: list[PendingView]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The process is there and answers."""

    status: str
    version: str


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """The memory answers. `behind`, `oldest`, `parked`, `dead_letters`: as `Memory.standing`."""

    status: str
    behind: int
    oldest: str
    parked: int
    dead_letters: int


ANSWERS: tuple[type[msgspec.Struct], ...] = (
    WriteAnswer,
    CommandAnswer,
    Operation,
    SearchAnswer,
    MemoriesAnswer,
    CheckAnswer,
    ContextAnswer,
    FormAnswer,
    FormsPage,
    HistoryPage,
    TimelinePage,
    SummariesPage,
    PendingPage,
    RollbackReport,
    Audit,
    Influence,
    ExtractorInfluence,
    AuditReport,
    Health,
    Ready,
    Problem,
)


def components() -> dict[str, Any]:
    """The schemas of all answers, by name."""
    return msgspec.json.schema_components(ANSWERS, ref_template=_REF)[1]


def answer(value: msgspec.Struct, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A record as JSON."""
    return Response(msgspec.json.encode(value), status, media_type="application/json", headers=headers)
