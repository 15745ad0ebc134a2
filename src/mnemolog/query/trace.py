"""Why an answer is what it is: the question as it was understood, what each route brought and in what time, the edges walked,
what was cut and why, and the final order with its signals. A trace is plain data that can be kept as JSON."""

from __future__ import annotations

from typing import Literal

import msgspec

from .understand import Question

__all__ = ["Cut", "Placed", "RouteTrace", "Trace", "Walk"]


class RouteTrace(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one route."""

    route: str
    """slots | timeline | turns | summaries | edges | reranker"""
    state: Literal["answered", "late", "failed"]
    milliseconds: float
    """From the start of the recall until it answered, or was given up."""
    found: list[str] = []
    """Ids of what it found, best first, before anything was cut."""
    reason: str = ""
    """Why it did not answer."""


class Walk(msgspec.Struct, frozen=True, kw_only=True):
    """An edge that was looked at from a Form that the question is about."""

    edge_id: str
    from_form: str
    to_form: str
    relation: str
    weight: float
    layer: int
    """1 for edges of the Forms found, 2 for those of the Forms that these led to."""
    taken: bool
    why: str = ""
    """Why it was not taken."""


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was found and is not shown, or is folded into another one."""

    id: str
    why: str


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that is shown, with the signals that gave it its place."""

    id: str
    score: float
    routes: list[str]
    signals: dict[str, float]


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    question: Question
    scopes: list[str]
    profile: str
    budget_ms: float
    milliseconds: float
    """The whole recall."""
    routes: list[RouteTrace]
    forms: list[str] = []
    """Ids of the Forms that the question is about, from which edges were walked."""
    edges: list[Walk] = []
    cut: list[Cut] = []
    order: list[Placed] = []
