"""The route that puts a memory back to how it stood; who may not see all of a memory may not do it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from ...replay.rollback import RollbackReport
from .answers import answer
from .bodies import ScopeBody
from .document import responses
from .fields import ABSENT, KnownAt, Name, QueryText
from .parameters import NoParameters
from .service import Admin, service_of
from .strict import StrictRoute
from .tracing import span

__all__ = ["RollbackBody", "router"]

router = APIRouter(route_class=StrictRoute)
Nothing = Annotated[NoParameters, Query()]


class RollbackBody(ScopeBody):
    """The arguments of `Memory.rollback`."""

    to: KnownAt = Field(description="right after this input, or as of this recorded time")
    form_id: Name = Field(default=ABSENT, description="only this Form")
    slot: Name = Field(default=ABSENT, description="of the Form, only this slot")
    reason: QueryText = Field(default="", description="why, for the history")
    actor: Name = Field(default="operator", description="on whose behalf, for the history")
    dry_run: bool = Field(default=False, description="say what would change, and write nothing")


@router.post("/v1/rollback", tags=["write"], operation_id="rollback", responses=responses(RollbackReport, also=(404, 409)))
async def rollback(request: Request, caller: Admin, body: RollbackBody, _: Nothing) -> Response:
    """Puts a slot, a Form or a whole memory back to how it stood right after an input, or at a recorded time, and says what
    changed; with `dry_run` what would. Nothing is lost: what was said since stays in the history and on the log."""
    given = {**body.given(), "actor": body.actor}

    def run() -> RollbackReport:
        with span("rollback", dry_run=int(body.dry_run)):
            return caller.memory.rollback(**given, tenant=caller.tenant)

    return answer(await service_of(request).workers.run(run))
