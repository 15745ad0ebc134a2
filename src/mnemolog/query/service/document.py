"""The OpenAPI document: every status that a route may answer, every schema made from the types that are answered, and the key
that all of `/v1` asks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from .answers import components
from .fields import ANY_JSON, JSON_SCHEMA

__all__ = ["Answers", "document", "responses"]

_WHY = {
    202: "Durable; not processed yet",
    400: "The request cannot be read",
    401: "No key, or one that is not valid",
    403: "The key may not do or see this",
    404: "There is no such thing in this memory",
    408: "The body has not come in time",
    409: "It contradicts what is there: another content under the same id, or a token that this memory never gave",
    413: "Too large",
    422: "A field is wrong, missing or not known; `errors` names it",
    429: "Too often: Retry-After says when",
    431: "The headers are too large",
    500: "A fault of the service; `instance` stands in its log",
    503: "Not now: overloaded, or a server behind it is not there",
}
_ALWAYS = (400, 401, 403, 408, 413, 422, 429, 431, 500, 503)
_OPEN = (422, 431, 500, 503)
_PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_RETRY = {"Retry-After": {"description": "seconds", "schema": {"type": "string", "pattern": "^[0-9]+$"}}}
_ASKS = {"WWW-Authenticate": {"description": "what to give", "schema": {"type": "string"}}}

Answers = dict[int | str, dict[str, Any]]


def responses(kind: type[msgspec.Struct], *, also: Iterable[int] = (), guarded: bool = True) -> Answers:
    """The answers of a route: `kind` where it works (also as 202 where that is among `also`), problems for all else."""
    schema = {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}
    found: Answers = {200: {"description": (kind.__doc__ or "").strip().partition("\n\n")[0], "content": schema}}
    for status in sorted({*(_ALWAYS if guarded else _OPEN), *also}):
        content = schema if status == 202 else _PROBLEM
        headers = _RETRY if status == 429 else _ASKS if status == 401 else {}
        found[status] = {"description": _WHY[status], "content": content, "headers": headers}
    return found


def document(app: FastAPI, *, keys: bool = True) -> dict[str, Any]:
    """The whole of it, made once. keys: whether they are asked for."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        schemas |= {**components(), "Json": JSON_SCHEMA}
        if keys:
            made["components"]["securitySchemes"] = {
                "key": {"type": "http", "scheme": "bearer", "description": "`mnemolog keys add`"}
            }
        for path, operations in made["paths"].items():
            for operation in operations.values():
                if keys and path.startswith("/v1/"):
                    operation["security"] = [{"key": []}]
                if operation["operationId"] == "add_turns":
                    for status in ("200", "202"):
                        place = {"description": "where to ask what became of it", "schema": {"type": "string"}}
                        operation["responses"][status]["headers"] = {"Location": place}
        _mend(made)
        app.openapi_schema = made
    return app.openapi_schema


def _mend(node: Any) -> None:
    """Absent is not null: a field that may be left out has no default that a client could send. Any JSON is one schema."""
    if isinstance(node, dict):
        if "default" in node and node["default"] is None:
            del node["default"]
        if node.pop(ANY_JSON, False):
            node["$ref"] = "#/components/schemas/Json"
        for item in node.values():
            _mend(item)
    elif isinstance(node, list):
        for item in node:
            _mend(item)
