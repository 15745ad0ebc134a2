"""A page of prompt text that is filled line by line and never grows beyond its budget, whatever the tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..processors.core.markers import CLOSE, OPEN
from .lines import BLOCKS, Block, ContextLine
from .wording import WORDS

__all__ = ["Page"]


class Page:
    """`take` in order of worth, then `finish`. Lines are known by identity."""

    def __init__(self, budget: int, count: Callable[[str], int], lang: str) -> None:
        """budget: tokens; count: the tokens of a text."""
        self._budget, self._count, self._lang = budget, count, lang
        self._lines: list[ContextLine] = []
        self._costs: dict[int, int] = {}
        self._headings: dict[Block, int] = {}
        self._spent = count(f"{OPEN}\n{CLOSE}")

    @property
    def room(self) -> int:
        """Tokens that are left."""
        return self._budget - self._spent

    def take(self, lines: Sequence[ContextLine], most: int | None = None) -> list[ContextLine]:
        """Takes the lines that fit, of `most` tokens together where that is given; returns those that did not. A line that
        does not fit is passed over: a shorter one may still. One that is there already stays."""
        low = self._spent
        passed: list[ContextLine] = []
        for line in lines:
            if id(line) in self._costs:
                continue
            cost = self._count(f"{line.text}\n")
            heading = 0 if line.block in self._headings else self._count(f"{WORDS[self._lang][line.block]}\n")
            after = self._spent + cost + heading
            if after > self._budget or (most is not None and after - low > most):
                passed.append(line)
                continue
            self._headings.setdefault(line.block, heading)
            self._spent = after
            self._costs[id(line)] = cost
            self._lines.append(line)
        return passed

    def take_all(self, lines: Sequence[ContextLine]) -> bool:
        """Takes these lines, or none of them where not all fit; says whether they are there."""
        fresh = [line for line in lines if id(line) not in self._costs]
        passed = {id(line) for line in self.take(fresh)}
        if passed:
            for line in fresh:
                if id(line) not in passed:
                    self.drop(line)
        return not passed

    def drop(self, line: ContextLine) -> None:
        """Gives up a line that was taken."""
        self._lines = [one for one in self._lines if one is not line]
        self._spent -= self._costs.pop(id(line))
        if not any(one.block == line.block for one in self._lines):
            self._spent -= self._headings.pop(line.block)

    def finish(self, order: Sequence[ContextLine]) -> tuple[str, list[ContextLine], int]:
        """The text, its lines in the order of the blocks and, inside them, of `order`, and its tokens."""
        place = {id(line): at for at, line in enumerate(order)}
        while True:
            lines = sorted(self._lines, key=lambda line: (BLOCKS.index(line.block), place[id(line)]))
            text = self._text(lines)
            # Tokens of the parts need not add up to those of the whole: the whole is what counts.
            tokens = self._count(text) if text else 0
            if tokens <= self._budget:
                return text, lines, tokens
            self._lines.pop()

    def _text(self, lines: Sequence[ContextLine]) -> str:
        if not lines:
            return ""
        rows = [OPEN]
        block = ""
        for line in lines:
            if line.block != block:
                block = line.block
                rows.append(WORDS[self._lang][line.block])
            rows.append(line.text)
        return "\n".join([*rows, CLOSE])
