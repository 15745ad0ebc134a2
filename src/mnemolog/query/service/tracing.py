"""OpenTelemetry spans, which cost next to nothing and go nowhere unless the process has set up an SDK; and the trace that a
request belongs to, which what it writes keeps as its correlation id."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, StatusCode

__all__ = ["correlation_of", "request_span", "span"]

_tracer = trace.get_tracer("mnemolog")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?")
_NONE = {"0" * 32, "0" * 16}


@contextmanager
def request_span(name: str, headers: Mapping[str, str]) -> Iterator[Span]:
    """The span of a request, under the caller's where `traceparent` names it."""
    context = propagate.extract(headers)
    with _tracer.start_as_current_span(name, context, SpanKind.SERVER, record_exception=False) as current:
        yield current


@contextmanager
def span(name: str, **attributes: str | int | float) -> Iterator[Span]:
    """A span inside it. Attributes hold sizes and counts, never what was said."""
    with _tracer.start_as_current_span(f"mnemolog.{name}", attributes=attributes, record_exception=False) as current:
        try:
            yield current
        except Exception as error:
            current.set_status(StatusCode.ERROR, type(error).__name__)
            raise


def correlation_of(traceparent: str | None) -> str | None:
    """The trace id of a W3C `traceparent`; None for none, or for a text that is none."""
    found = _TRACEPARENT.fullmatch(traceparent or "")
    return None if found is None or _NONE & {found[1], found[2]} else found[1]
