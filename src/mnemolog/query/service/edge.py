"""The door: what every request passes before and after its route. It gets an id, a span and a time; it is refused where it is
too large, has no valid key or comes too often; whatever goes wrong behind is answered here, with an id and no trace of it."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes, urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .keys import ApiKey
from .problems import ProblemError, is_inside, problem_of, problem_response, retry_after
from .service import Service
from .tracing import request_span

__all__ = ["Edge"]

_log = logging.getLogger("mnemolog.http")

_GUARDED = ("/v1/", "/mcp")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_METHODS = {"GET", "POST", "DELETE"}
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[?::1\]?")
_LENGTH = re.compile(r"[0-9]+")
_DIGITS = 15
_PARAMETERS = 100


class Edge:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS, (b"x-request-id", request_id.encode())]
            await send(message)

        began = time.perf_counter()
        with request_span("request", headers) as span:
            try:
                scope["state"]["caller"] = None
                await self._let_in(scope, headers)
                await self._app(scope, self._limited(receive), sending)
            except Exception as error:
                refused = problem_of(error)
                if refused is None or status or is_inside(error):
                    _log.error("request %s failed: %s %s", request_id, scope["method"], _route(scope), exc_info=error)
                if status:
                    raise  # half of an answer is sent: the server can only break off
                if refused is None:
                    detail = "something went wrong here: the log says what, under the id of this request"
                    refused = ProblemError(500, "internal", detail)
                await problem_response(refused, request_id)(scope, receive, sending)
            finally:
                route = _route(scope)
                # A method is a word of the caller's: one that no route has must not become a series of its own.
                method = scope["method"] if scope["method"] in _METHODS else "ANY"
                span.update_name(f"{method} {route}")
                span.set_attribute("http.route", route)
                span.set_attribute("http.response.status_code", status)
                method = method if route != "none" else "ANY"
                seconds = time.perf_counter() - began
                self._service.metrics.request_seconds.labels(method, route).observe(seconds)
                self._service.metrics.requests.labels(method, route, str(status or 499)).inc()
                _log.info("%s %s %s %s %.1f ms", request_id, scope["method"], route, status, seconds * 1000)

    async def _let_in(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Raises ProblemError for who does not get in."""
        limits, refused = self._service.limits, self._service.metrics.refused
        if sum(len(name) + len(value) for name, value in scope["headers"]) > limits.header:
            refused.labels("headers").inc()
            raise ProblemError(431, "headers-too-large", f"the headers are longer than {limits.header:,} bytes")
        if scope["query_string"].count(b"&") >= _PARAMETERS:
            refused.labels("parameters").inc()
            raise ProblemError(422, "invalid-input", f"the query has more than {_PARAMETERS} parameters; no route has so many")
        if not (_is_text(scope["query_string"]) and _is_text(scope.get("raw_path", b""))):
            refused.labels("parameters").inc()
            raise ProblemError(422, "invalid-input", "the address is not UTF-8: names in it would be taken for one another")
        if not scope["path"].startswith(_GUARDED):
            return
        try:
            key = await self._key(headers)
        except ProblemError:
            refused.labels("key").inc()
            raise
        scope["state"]["caller"] = caller = self._service.caller(key)
        wait = self._service.limiter.take(caller.key.id)
        if wait:
            refused.labels("rate").inc()
            detail = f"this key may ask {limits.rate:g} times a second, and {limits.burst} times at once"
            raise ProblemError(429, "too-many-requests", detail, headers={"Retry-After": retry_after(wait)})
        length = headers.get("content-length", "")
        if _LENGTH.fullmatch(length) and (len(length) > _DIGITS or int(length) > limits.body):
            refused.labels("body").inc()
            raise _too_large(limits.body)

    async def _key(self, headers: Mapping[str, str]) -> ApiKey | None:
        ring = self._service.keys
        if ring is None:
            _check_local(headers)
            return None
        scheme, _, text = headers.get("authorization", "").partition(" ")
        challenge = {"WWW-Authenticate": 'Bearer realm="mnemolog"'}
        if scheme.lower() != "bearer" or not text.strip():
            raise ProblemError(401, "no-key", "give a key: Authorization: Bearer mnk_...", headers=challenge)
        if ring.is_due(text.strip()):
            await self._service.refresh(ring)
        key = ring.known(text.strip())
        if key is None:
            raise ProblemError(401, "unknown-key", "this key is not known, or was revoked", headers=challenge)
        return key

    def _limited(self, receive: Receive) -> Receive:
        """A body whose length nobody has said is counted as it comes; one that does not come is not waited for."""
        most, came, whole = self._service.limits.body, 0, False
        patience, until = self._service.limits.body_wait, 0.0

        async def receiving() -> Message:
            nonlocal came, whole, until
            if whole:
                return await receive()
            until = until or asyncio.get_running_loop().time() + patience
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                self._service.metrics.refused.labels("slow").inc()
                raise HTTPException(408, f"the body has not come within {patience:g} seconds") from None
            if message["type"] == "http.request":
                whole = not message.get("more_body", False)
                came += len(message.get("body", b""))
                if came > most:
                    self._service.metrics.refused.labels("body").inc()
                    # Of a kind that whoever reads the body lets through.
                    raise HTTPException(413, _too_large(most).detail)
            return message

        return receiving


def _too_large(most: int) -> ProblemError:
    return ProblemError(413, "too-large", f"the body is longer than {most:,} bytes: split it into several requests")


def _is_text(address: bytes) -> bool:
    """Whether it is UTF-8 once it is unquoted: else every byte that does not fit would be read as the same mark, and two names
    as one."""
    if b"%" not in address and address.isascii():
        return True
    try:
        unquote_to_bytes(address).decode()
    except UnicodeDecodeError:
        return False
    return True


def _route(scope: Scope) -> str:
    """The route's template, so that no id or name gets into metrics and logs."""
    return getattr(scope.get("route"), "path_format", None) or "none"


def _check_local(headers: Mapping[str, str]) -> None:
    """Without keys, a page of some other site that a browser on this machine has open must get nothing."""
    origin = headers.get("origin")
    named = [f"//{headers.get('host', '')}", *([] if origin is None else [origin])]
    if not all(_LOOPBACK.fullmatch(_host_of(url)) for url in named):
        raise ProblemError(403, "not-local", "without keys only this machine is answered, under its own name")


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
