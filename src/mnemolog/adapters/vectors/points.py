"""What all vector stores agree on: a point's key follows from scope, kind and id alone, so that whoever writes a point again
writes the same one; of one id the highest position stands; equal scores stand in order of ids, also where a limit cuts them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...processors.core.ports import VectorHit
from ...schemas.codec import NAMESPACE
from ...schemas.errors import EmbedderMismatch

__all__ = ["Point", "check_dim", "in_order", "nearest", "newest", "point_key", "rounded"]

Point = tuple[str, int, NDArray[np.float32]]
"""(id, position, vector)."""


def point_key(scope: str, kind: str, point_id: str) -> str:
    """The UUID of a point. None of the three can hold a line break."""
    return str(uuid.uuid5(NAMESPACE, f"{kind}\n{scope}\n{point_id}"))


def newest(points: Sequence[Point]) -> list[Point]:
    """One point of each id: the one with the highest position, of equal ones the last."""
    kept: dict[str, Point] = {}
    for point in points:
        if point[0] not in kept or kept[point[0]][1] <= point[1]:
            kept[point[0]] = point
    return list(kept.values())


def check_dim(vector: NDArray[np.float32], dim: int) -> None:
    """Raises EmbedderMismatch for a vector of another length: it comes from another embedder."""
    if vector.shape != (dim,):
        raise EmbedderMismatch(
            f"a vector of shape {vector.shape} cannot be compared with those of {dim} dimensions in this index: "
            "use the embedder that filled it, or remove the index to rebuild it with another"
        )


def rounded(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """As it is kept, with half the bits: what is asked for too, so that every store gives the same scores."""
    return vector.astype(np.float16).astype(np.float32)


def in_order(hits: Sequence[VectorHit]) -> list[VectorHit]:
    """Best first; ties by id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.point_id))


def nearest(ask: Callable[[int], Sequence[VectorHit]], limit: int) -> list[VectorHit]:
    """The `limit` best of an engine that cuts ties anywhere. `ask` gives its best n hits in any order; it is asked for more
    until the last one is worse than the one at the limit."""
    wanted = limit + 1
    while True:
        hits = in_order(ask(wanted))
        if len(hits) < wanted or hits[-1].score < hits[limit - 1].score:
            return hits[:limit]
        wanted *= 2
