"""Routes for whoever runs the service: whether it is there, whether it can serve, and what it measures. They ask for no key and
say nothing of anybody's memory."""

from __future__ import annotations

import logging
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from ... import __version__
from ...schemas.errors import MnemologError
from .answers import Health, Ready, answer
from .document import Answers, responses
from .metrics import CONTENT_TYPE
from .parameters import NoParameters
from .problems import RETRY_SECONDS, UNAVAILABLE, ProblemError
from .service import service_of
from .strict import StrictRoute
from .workers import Overloaded

__all__ = ["router"]

_log = logging.getLogger("mnemolog.http")

router = APIRouter(route_class=StrictRoute)
Nothing = Annotated[NoParameters, Query()]


@router.get("/health", tags=["operate"], operation_id="health", responses=responses(Health, guarded=False))
async def health(_: Nothing) -> Response:
    """Whether the process answers: restart it where it does not."""
    return answer(Health(status="ok", version=__version__))


@router.get("/ready", tags=["operate"], operation_id="ready", responses=responses(Ready, guarded=False))
async def ready(request: Request, _: Nothing) -> Response:
    """Whether the memory behind it answers, can be written to, and there is room for requests: send none where not."""
    service = service_of(request)
    retry = {"Retry-After": str(RETRY_SECONDS)}
    if service.workers.full:
        raise ProblemError(503, "overloaded", "every thread is busy and the queue is full", headers=retry)
    try:
        standing = await service.standing()
    except MnemologError as error:
        _log.warning("not ready: %s: %s", type(error).__name__, error)
        raise ProblemError(503, "unavailable", UNAVAILABLE, headers=retry) from error
    if standing.problem:
        _log.warning("not ready: %s", standing.problem)
        raise ProblemError(503, "unavailable", f"nothing can be written: {standing.problem}", headers=retry)
    return answer(
        Ready(
            status="ready",
            behind=standing.behind,
            oldest=standing.oldest,
            parked=standing.parked,
            dead_letters=standing.dead_letters,
        )
    )


_TEXT: Answers = {
    200: {
        "description": "Prometheus text format",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


@router.get("/metrics", tags=["operate"], operation_id="metrics", responses={**responses(Health, guarded=False), **_TEXT})
async def metrics(request: Request, _: Nothing) -> Response:
    """What is measured. Where the memory does not answer, how far it is behind is left as it was last known."""
    service = service_of(request)
    measured = service.metrics
    measured.pending.set(service.workers.pending)
    measured.waiting.set(service.workers.waiting)
    measured.keys.set(0 if service.keys is None else len(service.keys))
    try:
        measured.stands(await service.standing())
        measured.up.set(1)
    except (MnemologError, Overloaded):
        measured.up.set(0)
    return Response(measured.text(), media_type=CONTENT_TYPE)
