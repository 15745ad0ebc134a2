"""The application: the routes behind the door, every error as a problem, and the document that describes them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from ... import __version__
from ...memory import Memory
from ...schemas.errors import MnemologError
from .auditing import router as auditing
from .document import document
from .edge import Edge
from .faults import LOOKED_AT, fields_of
from .keys import KeyRing
from .limits import Limits
from .mcp_mount import PATH, mcp_of
from .operating import router as operating
from .problems import ProblemError, is_inside, problem_of, problem_response
from .reading import router as reading
from .rollback import router as rollback
from .service import Service
from .writing import router as writing

__all__ = ["create_app"]

_log = logging.getLogger("mnemolog.http")

_ABOUT = "Long-term memory for AI agents: what was said, what is believed, why, and how to undo it."
_TAGS = [
    {"name": "write", "description": "Recording what was said, answering questions, forgetting."},
    {"name": "read", "description": "Questions, and what is known."},
    {"name": "operate", "description": "For whoever runs the service; no key needed."},
]
_KINDS = {400: "unreadable", 404: "no-such-route", 405: "method-not-allowed", 408: "too-slow", 413: "too-large"}


def create_app(memory: Memory, keys: KeyRing | None, *, limits: Limits | None = None, tenant: str = "default") -> FastAPI:
    """An ASGI application that serves `memory`.

    keys: those that are valid; None lets everybody in who asks from this machine, as an admin of `tenant`. The memory stays the
    caller's to close, after the application has ended.
    """
    service = Service(memory, keys, limits=limits, tenant=tenant)
    endpoint = mcp_of(service)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with endpoint.run():
            yield
        service.close()

    app = FastAPI(
        title="mnemolog",
        version=__version__,
        description=_ABOUT,
        openapi_tags=_TAGS,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=life,
    )
    app.state.service = service
    for router in (writing, reading, rollback, auditing, operating):
        app.include_router(router)
    app.router.routes.append(Route(PATH, endpoint=endpoint))
    app.add_middleware(Edge, service=service)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    for kind in (ProblemError, MnemologError):
        app.add_exception_handler(kind, _problem)
    app.openapi = lambda: document(app, keys=keys is not None)  # type: ignore[method-assign]
    return app


async def _problem(request: Request, error: Exception) -> Response:
    known = problem_of(error)
    if known is None:
        raise error
    if is_inside(error):
        _log.warning("request %s could not be answered: %s: %s", request.state.request_id, type(error).__name__, error)
    return problem_response(known, request.state.request_id)


async def _refused(request: Request, error: Exception) -> Response:
    """What the router and the framework refuse."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    detail = "there is nothing at this address" if error.status_code == 404 else str(error.detail)
    headers = dict(error.headers or {})
    problem = ProblemError(error.status_code, _KINDS.get(error.status_code, "refused"), detail, headers=headers)
    return problem_response(problem, request.state.request_id)


async def _invalid(request: Request, error: Exception) -> Response:
    """Fields that are wrong, missing or not known: named, but what was given is not repeated."""
    assert isinstance(error, RequestValidationError)  # noqa: S101
    faults = error.errors()
    if faults and faults[0]["type"] == "json_invalid":
        detail = f"the body is no JSON: it cannot be read from character {faults[0]['loc'][-1]} on"
        return problem_response(ProblemError(400, "unreadable", detail), request.state.request_id)
    fields = fields_of(faults)
    kind = "unknown-field" if any(item["type"] == "extra_forbidden" for item in faults[:LOOKED_AT]) else "invalid-input"
    detail = "; ".join(f"{item.field}: {item.problem}" for item in fields[:5])
    return problem_response(ProblemError(422, kind, detail, fields=fields), request.state.request_id)
