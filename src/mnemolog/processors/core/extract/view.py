"""A stretch of a turn as the readers see it, which knows for each of its characters where in the turn it stands: words may be
left out or put in for reading, yet every span leads back to the exact words that were said."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["View"]


class View:
    """`text` to match on; `at[i]` is the turn's code-point offset of `text[i]`, -1 for a character that was put in."""

    __slots__ = ("at", "text")

    def __init__(self, text: str, at: Sequence[int]) -> None:
        self.text = text
        self.at = at

    @classmethod
    def of(cls, content: str, start: int, end: int) -> View:
        return cls(content[start:end], range(start, end))

    def part(self, start: int, end: int | None = None) -> View:
        return View(self.text[start:end], self.at[start:end])

    def without(self, start: int, end: int) -> View:
        """The same with `text[start:end]` left out."""
        return View(self.text[:start] + self.text[end:], [*self.at[:start], *self.at[end:]])

    def led_by(self, words: str) -> View:
        """The same with `words`, which nobody said, in front."""
        return View(words + self.text, [*([-1] * len(words)), *self.at])

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """The turn's span from the first to the last said character of `text[start:end]`; None where none was said."""
        said = [place for place in self.at[start:end] if place >= 0]
        return (said[0], said[-1] + 1) if said else None
