"""What is measured, as Prometheus reads it. No label says whose memory it was, and none holds what was said."""

from __future__ import annotations

from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ...face.operations import Standing
from ...schemas.times import from_text

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Of one service. Thread-safe."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        kept = self.registry
        self.requests = Counter("mnemolog_http_requests", "Answered requests.", ("method", "route", "status"), registry=kept)
        self.request_seconds = Histogram(
            "mnemolog_http_request_seconds", "From the request to the end of its answer.", ("method", "route"),
            buckets=_BUCKETS, registry=kept,
        )  # fmt: skip
        self.writes = Counter(
            "mnemolog_writes", "Writes by result: ok, refused (the caller's to mend) or failed (ours). "
            "The success ratio is ok / (ok + failed).", ("result",), registry=kept,
        )  # fmt: skip
        self.recalls = Counter(
            "mnemolog_recalls",
            "Questions by result: hit or empty. The hit rate is hit / all.",
            ("kind", "result"),
            registry=kept,
        )
        self.recall_seconds = Histogram(
            "mnemolog_recall_seconds", "From the question to its answer, waiting for a thread left out.", ("kind",),
            buckets=_BUCKETS, registry=kept,
        )  # fmt: skip
        self.route_seconds = Histogram(
            "mnemolog_recall_route_seconds", "Of each route of a recall, where its trace was asked for.", ("route",),
            buckets=_BUCKETS, registry=kept,
        )  # fmt: skip
        self.missing = Counter(
            "mnemolog_recall_missing", "Routes that did not answer in time, or failed.", ("route",), registry=kept
        )
        self.refused = Counter("mnemolog_refused", "Requests refused at the door, by reason.", ("reason",), registry=kept)
        self.pending = Gauge("mnemolog_calls_pending", "Calls that run or wait for a thread.", registry=kept)
        self.waiting = Gauge("mnemolog_calls_waiting", "Calls that wait for a thread.", registry=kept)
        self.keys = Gauge("mnemolog_keys", "Valid API keys.", registry=kept)
        self.up = Gauge("mnemolog_memory_up", "Whether the memory behind the service answers.", registry=kept)
        self.behind = Gauge("mnemolog_inputs_behind", "Inputs that are not in the read models.", registry=kept)
        self.oldest = Gauge(
            "mnemolog_oldest_unprocessed_seconds", "Age of the oldest of them; 0 where none waits.", registry=kept
        )
        self.parked = Gauge("mnemolog_scopes_parked", "Scopes that stand still.", registry=kept)
        self.dead_letters = Gauge("mnemolog_dead_letters_open", "Dead letters that nobody has resolved.", registry=kept)
        for result in ("ok", "refused", "failed"):
            self.writes.labels(result)

    def stands(self, standing: Standing) -> None:
        """How far the memory is behind now."""
        self.behind.set(standing.behind)
        age = (datetime.now(UTC) - from_text(standing.oldest)).total_seconds() if standing.oldest else 0.0
        self.oldest.set(max(age, 0.0))
        self.parked.set(standing.parked)
        self.dead_letters.set(standing.dead_letters)

    def text(self) -> bytes:
        """All of it, in the text format."""
        return generate_latest(self.registry)
