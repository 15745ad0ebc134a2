"""Spans: one for each request, under the caller's, those of appending and recalling inside it, and nothing of what was said."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.testclient import TestClient

from mnemolog.query.service import tracing
from mnemolog.query.service.tracing import correlation_of

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What this process exports; nothing global is set."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_tracer", provider.get_tracer("mnemolog"))
    return exporter


def named(spans: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans.get_finished_spans()}


def test_a_request_is_a_span_under_the_callers(client: TestClient, spans: InMemorySpanExporter) -> None:
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    client.post("/v1/turns", json={"user_id": "alice", "content": "My password is swordfish."}, headers=headers)
    client.post("/v1/search", json={"user_id": "alice", "query": "swordfish?"}, headers=headers)
    client.get("/nothing")
    found = named(spans)
    request, append = found["POST /v1/turns"], found["mnemolog.append"]
    assert request.context is not None
    assert format(request.context.trace_id, "032x") == TRACE
    assert request.parent is not None
    assert format(request.parent.span_id, "016x") == PARENT
    assert request.kind is trace.SpanKind.SERVER
    assert append.parent == request.context
    recall, search = found["mnemolog.recall.search"], found["POST /v1/search"]
    assert recall.parent == search.context
    assert (search.attributes or {})["http.response.status_code"] == 200
    assert (found["GET none"].attributes or {})["http.response.status_code"] == 404
    told = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "swordfish" not in told
    assert "alice" not in told


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ("", None),
        (f"00-{TRACE}-{PARENT}-01", TRACE),
        (f"01-{TRACE}-{PARENT}-01-more", TRACE),
        (f"00-{TRACE.upper()}-{PARENT}-01", None),
        (f"00-{'0' * 32}-{PARENT}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE}-{PARENT}", None),
    ],
)
def test_the_trace_id_of_a_traceparent(given: str | None, expected: str | None) -> None:
    assert correlation_of(given) == expected
