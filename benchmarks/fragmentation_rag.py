"""Plain retrieval: the dialogues' text in chunks, the chunks nearest to the question within a token budget. It gets what helps
it: chunks end between turns and between dialogues, each begins with its date, the last one is filled in as far as it fits,
and all stand in the order in which they were said."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from fragmentation_gold import Dialogue, Turn

from mnemolog.adapters.embedders.use import UseEmbedder

__all__ = ["CHUNK", "PlainRag"]

CHUNK = 512
"""Tokens of the embedder's tokenizer."""


class Chunk(NamedTuple):
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


class PlainRag:
    """An index over one user's turns."""

    def __init__(self, embedder: UseEmbedder, budget: int) -> None:
        self._embedder = embedder
        self._budget = budget
        self._turns: list[tuple[str, Turn]] = []
        self._cost: dict[str, int] = {}
        self._made: dict[str, np.ndarray] = {}
        self._chunks: list[Chunk] = []
        self._vectors = np.empty((0, embedder.dim), np.float32)

    def add(self, dialogue: Dialogue, turn: Turn) -> None:
        """Takes in one turn."""
        self._turns.append((dialogue.id, turn))

    def index(self) -> None:
        """Cuts what is there into chunks and embeds those that are new."""
        self._chunks = []
        lines: list[str] = []
        now = ""
        for dialogue, turn in self._turns:
            line = f"{turn.role}: {' '.join(turn.text.split())}"
            if dialogue != now or self._tokens(lines) + self._tokens([line]) > CHUNK:
                if lines:
                    self._chunks.append(Chunk(tuple(lines)))
                lines = [f"{turn.at:%Y-%m-%d}"]
            now = dialogue
            lines.append(line)
        if lines:
            self._chunks.append(Chunk(tuple(lines)))
        fresh = [chunk.text for chunk in self._chunks if chunk.text not in self._made]
        if fresh:
            self._made.update(zip(fresh, self._embedder.embed(fresh), strict=True))
        self._vectors = np.stack([self._made[chunk.text] for chunk in self._chunks])

    def context(self, question: str) -> str:
        """The nearest chunks, at most so many tokens."""
        near = self._vectors @ self._embedder.embed([question])[0]
        chosen: dict[int, list[str]] = {}
        left = self._budget
        for at in np.argsort(-near, kind="stable"):
            kept: list[str] = []
            for line in self._chunks[int(at)].lines:
                cost = self._tokens([line])
                if cost > left:
                    break
                left -= cost
                kept.append(line)
            if kept:
                chosen[int(at)] = kept
            if len(kept) < len(self._chunks[int(at)].lines):
                break
        return "\n".join(line for at in sorted(chosen) for line in chosen[at])

    def _tokens(self, lines: list[str]) -> int:
        for line in lines:
            if line not in self._cost:
                self._cost[line] = self._embedder.count_tokens(line + "\n")
        return sum(self._cost[line] for line in lines)
