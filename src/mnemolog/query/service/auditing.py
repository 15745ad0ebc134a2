"""Routes that answer why: the audit of a memory and what a turn came to for who may read; all of an extractor and a period's
report for an admin. A key whose view shows a part of a scope only is refused."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from ...replay.audit_views import Audit, AuditReport, ExtractorInfluence, Influence
from .answers import answer
from .document import responses
from .fields import ABSENT, WAIT, MemoryId, Name, QueryMoment
from .parameters import ScopeParameters
from .service import Admin, Reader, service_of
from .strict import StrictRoute
from .tracing import span

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute)
_MOST_ROWS = 5000


class _AuditParameters(ScopeParameters):
    """One of `id`, `form_id`, `week` and `recall_id`."""

    id: MemoryId = Field(
        default=ABSENT,
        description="of a hit, a Form, an edge, a question, an entry, a turn, a command, a decision, an observation, a recall",
    )
    form_id: Name = Field(default=ABSENT, description="what stands in a Form")
    slot: Name = Field(default=ABSENT, description="of the Form, what stands in one slot")
    version: int = Field(default=ABSENT, ge=1, le=2**31, description="of the slot, that version")
    week: Name = Field(default=ABSENT, description="a week's summary, such as 2026-W19")
    line: int = Field(default=ABSENT, ge=1, le=1000, description="of the summary, one line, from 1")
    recall_id: Name = Field(default=ABSENT, description="what a recall gave")
    limit: int = Field(default=50, ge=1, le=500, description="memories told at most")
    wait: bool = Field(default=False, description=WAIT)


class _InfluenceParameters(ScopeParameters):
    turn_id: MemoryId = Field(description="the event id of a turn or command, or the id of its hit")
    source: Name = Field(default=ABSENT, description="the source that it was written with (default: the first of that id)")
    limit: int = Field(default=200, ge=1, le=1000, description="rows of `touched` at most")
    wait: bool = Field(default=False, description=WAIT)


class _ExtractorParameters(ScopeParameters):
    """At least one of `extractor`, `model` and `prompt_hash`; without a subject, of all of the tenant."""

    extractor: Name = Field(default=ABSENT, description="name, or name and version: offline, offline/1")
    model: Name = Field(default=ABSENT, description="of this model")
    prompt_hash: Name = Field(default=ABSENT, description="of this prompt; its beginning is enough")
    limit: int = Field(default=20, ge=1, le=500, description="scopes and inputs told one by one at most")


class _ReportParameters(ScopeParameters):
    """Without a subject, of all of the tenant."""

    since: QueryMoment = Field(description="recorded from then on")
    until: QueryMoment = Field(default=ABSENT, description="recorded before then (default: until now)")
    limit: int = Field(default=500, ge=1, le=_MOST_ROWS, description="rows at most; the totals are of all")


@router.get("/v1/audit", tags=["read"], operation_id="audit", responses=responses(Audit, also=(404,)))
async def audit(request: Request, caller: Reader, where: Annotated[_AuditParameters, Query()]) -> Response:
    """Why the memory believes something: the decisions, what was understood, the turn and the exact words, and the same of what
    those decisions built on."""
    given = _given(where)

    def run() -> Audit:
        with span("audit"):
            return caller.memory.audit(**given, tenant=caller.tenant)

    return answer(await service_of(request).workers.run(run))


@router.get("/v1/audit/influence", tags=["read"], operation_id="influence", responses=responses(Influence, also=(404,)))
async def influence(request: Request, caller: Reader, where: Annotated[_InfluenceParameters, Query()]) -> Response:
    """What a turn or a command came to: the memories that it made, strengthened or replaced, what was built on them, the
    summaries that count it, and the recalls that gave it to an agent."""
    given = _given(where)

    def run() -> Influence:
        with span("audit.influence"):
            return caller.memory.influence(**given, tenant=caller.tenant)

    return answer(await service_of(request).workers.run(run))


@router.get("/v1/audit/extractor", tags=["read"], operation_id="extractor_influence", responses=responses(ExtractorInfluence))
async def extractor(request: Request, caller: Admin, where: Annotated[_ExtractorParameters, Query()]) -> Response:
    """Everything of an extractor, a model or a prompt, counted."""
    given = _given(where)

    def run() -> ExtractorInfluence:
        with span("audit.extractor"):
            return caller.memory.extractor_influence(**given, tenant=caller.tenant)

    return answer(await service_of(request).workers.run(run))


@router.get("/v1/audit/report", tags=["read"], operation_id="audit_report", responses=responses(AuditReport))
async def report(request: Request, caller: Admin, where: Annotated[_ReportParameters, Query()]) -> Response:
    """Who changed what, by what evidence, between two recorded times."""
    given = _given(where)

    def run() -> AuditReport:
        with span("audit.report"):
            return caller.memory.audit_report(**given, tenant=caller.tenant)

    return answer(await service_of(request).workers.run(run))


def _given(where: ScopeParameters) -> dict[str, Any]:
    """What was named, and the defaults of what was not (those that may be left out altogether have none)."""
    return where.model_dump(exclude_none=True)
