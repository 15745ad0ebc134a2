"""Which readings of a clause stand: the best-supported one of each stretch of words, a typed value before a text, a fuller
sentence form before a barer one, then the registry's order."""

from __future__ import annotations

from collections.abc import Iterable

from .context import Hit

__all__ = ["select"]


def _rank(hit: Hit) -> tuple[int, int, int]:
    return (-hit.strength - (2 if hit.naming else 0), -hit.weight, hit.order)


def select(hits: Iterable[Hit]) -> list[Hit]:
    """The hits to keep, in the order of their words."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=_rank):
        if not any(_clash(hit, other) for other in kept):
            kept.append(hit)
    return sorted(kept, key=lambda hit: (hit.start, hit.value_start, hit.order))


def _clash(one: Hit, other: Hit) -> bool:
    if one.order == other.order and one.order:
        return one.value_start == other.value_start
    if one.value_start < 0 or other.value_start < 0:
        return one.start < other.end and other.start < one.end
    return _eats(one, other) or _eats(other, one)


def _eats(one: Hit, other: Hit) -> bool:
    """Whether the value of `one` needs words that are value or form of `other`."""
    return one.value_start < other.end and other.start < one.value_end
