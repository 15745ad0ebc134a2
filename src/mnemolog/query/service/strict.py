"""Requests that every reader understands alike: a field or a parameter that is named twice is refused, since who looks at a
request on its way here may have taken the other one; and a body of more names than any route has is not looked through."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NoReturn

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

from .problems import FieldProblem, ProblemError

__all__ = ["StrictRoute", "refuse_twice"]

_TWICE = "is given more than once"
_SHOWN = 100
"""Characters of a name."""


class StrictRoute(APIRoute):
    """A route that reads bodies so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return handle


class _StrictRequest(Request):
    async def json(self) -> Any:
        """Raises HTTPException (400) for what JSON is not, or is in two ways."""
        return json.loads(await self.body(), object_pairs_hook=_object, parse_constant=_no_number)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise HTTPException(400, f"the body's field {_first_twice(name for name, _ in pairs)!r} {_TWICE}")
    return made


def _no_number(name: str) -> NoReturn:
    raise HTTPException(400, f"the body is no JSON: it has no {name}")


def refuse_twice(request: Request) -> None:
    """Raises ProblemError (422) for a query parameter that is named twice."""
    given = request.query_params.multi_items()
    if len({name for name, _ in given}) < len(given):
        name = _first_twice(name for name, _ in given)
        raise ProblemError(422, "invalid-input", f"{name}: {_TWICE}", fields=[FieldProblem(name, _TWICE)])


def _first_twice(names: Iterable[str]) -> str:
    return next(name for name, times in Counter(names).items() if times > 1)[:_SHOWN]
