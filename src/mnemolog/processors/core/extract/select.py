"""Which readings of a clause stand: the best-supported one of each stretch of words. Where two slots could claim the same words
with equal right, neither does."""

from __future__ import annotations

from collections.abc import Iterable

from .context import Hit

__all__ = ["select"]


def _rank(hit: Hit) -> tuple[int, int, int]:
    return (-hit.strength, -hit.weight, hit.order)


def select(hits: Iterable[Hit]) -> list[Hit]:
    """The hits to keep, in the order of their words."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=_rank):
        rivals = [other for other in kept if _clash(hit, other)]
        if not rivals:
            kept.append(hit)
    return sorted(kept, key=lambda hit: (hit.start, hit.value_start, hit.order))


def _clash(one: Hit, other: Hit) -> bool:
    if one.value_start >= 0 and other.value_start >= 0:
        return one.value_start < other.value_end and other.value_start < one.value_end
    return one.start < other.end and other.start < one.end
