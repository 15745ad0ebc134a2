"""Word lists as people write them: blank-separated, in the order given."""

from __future__ import annotations

__all__ = ["words"]


def words(text: str) -> tuple[str, ...]:
    """The words of a list that is written as one text."""
    return tuple(text.split())
