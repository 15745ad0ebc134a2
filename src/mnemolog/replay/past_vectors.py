"""The vectors of the past: those that were computed when the turns came, of the turns that the past knows. Nothing is embedded
but the question."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..adapters.vectors.scan import ScanVectors
from ..processors.core.ports import Embedder
from ..projections.store import Store
from ..projections.vectors import Vector, points_of

__all__ = ["past_vectors"]


def past_vectors(past: Store, live: Store, embedder: Embedder) -> ScanVectors:
    """An index over the turns of `past`, with the vectors that `live` keeps of them."""
    return ScanVectors(embedder.dim, partial(_read, past, live, embedder.name))


def _read(past: Store, live: Store, embedder: str, scope: str, kind: str, after: int) -> Iterator[tuple[str, int, Vector]]:
    return points_of(past, live, embedder, scope, kind, after)
