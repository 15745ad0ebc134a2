"""How an answer came about, for people: what was understood, what each route brought and when, which edges were followed, what
was left out and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .show import COLUMNS
from .terminal import fold

if TYPE_CHECKING:
    from ..query.trace import Trace
    from .output import Output
    from .terminal import Paint

__all__ = ["note_missing", "traced"]

_BRING_NO_MEMORIES = frozenset({"reader", "cursor", "vectors", "reranker"})
"""Parts of a recall that others build on: they find nothing themselves, and a 0 beside them would look like a fault."""


def note_missing(out: Output, missing: Mapping[str, str]) -> None:
    """Says what an answer goes without. A command is a process of its own, so each one loads the embedder's model."""
    for route, reason in missing.items():
        late = route == "vectors" and reason.startswith("no answer after")
        hint = "; the model had to be loaded first, and --time-budget 60 gives it longer" if late else ""
        out.note(f"answered without {route}: {reason}{hint}")


def traced(trace: Trace, paint: Paint) -> Iterator[str]:
    """The trace, a line for each thing."""
    asked = trace.question
    yield paint(f"{trace.milliseconds:.1f} of {trace.budget_ms:.0f} ms, profile {trace.profile}", "bold")
    understood = [f"{asked.intent}, {asked.lang}, up to {asked.limit}"]
    understood += [f"slots {', '.join('.'.join(place) for place in asked.slots)}"] if asked.slots else []
    understood += [f"names {', '.join(asked.names)}"] if asked.names else []
    understood += [f"{asked.period.words}: {asked.period.since[:10]} to {asked.period.until[:10]}"] if asked.period else []
    understood += ["also what was before"] if asked.past else []
    yield fold("; ".join(understood), COLUMNS, "    ", "  understood  ")
    for route in trace.routes:
        came = "answered" if route.route in _BRING_NO_MEMORIES else f"{len(route.found)} found"
        what = came if route.state == "answered" else f"{route.state}: {route.reason}"
        yield fold(f"{route.milliseconds:.1f} ms, {what}", COLUMNS, "    ", f"  {route.route:<10}  ")
    for walk in trace.edges:
        state = "followed" if walk.taken else f"not followed: {walk.why}"
        line = f"{walk.from_form} {walk.relation} {walk.to_form} ({walk.weight:g}), {state}"
        yield fold(line, COLUMNS, "    ", f"  step {walk.layer}      ")
    for cut in trace.cut:
        yield paint(fold(f"{cut.id}: {cut.why}", COLUMNS, "    ", "  cut         "), "dim")
    for place, placed in enumerate(trace.order, start=1):
        signals = ", ".join(f"{name} {value:g}" for name, value in placed.signals.items())
        yield paint(fold(f"{placed.score:.4f} {placed.id}: {signals}", COLUMNS, "    ", f"  {place:<10}  "), "dim")
