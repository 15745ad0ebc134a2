"""An embedder that counts what it computes, so that a report can say how many vectors were not in the cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..processors.core.ports import Embedder

__all__ = ["Counting"]


class Counting:
    """The same vectors as those of the embedder behind it; `computed`: of how many texts."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.dim, self.computed = embedder.name, embedder.dim, 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the embedder behind it."""
        self.computed += len(texts)
        return self._embedder.embed(texts)

    def count_tokens(self, text: str) -> int:
        """As the embedder behind it."""
        return self._embedder.count_tokens(text)
