"""The meaning of a question: its vector, kept for questions that come again, and the points near it. Both are asked for in
threads of their own within the recall's budget; where they do not come in time turns are found by their words alone."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..processors.core.ports import Embedder, VectorHit
from .budget import Budget
from .calibrate import USUAL, similarity_floor

__all__ = ["NearestPoints", "QuestionVectors"]

_CACHED_QUESTIONS = 1024
Ask = Callable[[Sequence[str], str, NDArray[np.float32], int], list[VectorHit]]


class NearestPoints(Protocol):
    """What recall needs of a vector store."""

    def search(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        """The nearest points of these scopes, best first; the filter sits in the store."""
        ...


class QuestionVectors:
    """The embedder and the vector store as recall uses them. Thread-safe; each thread says under which budget it asks."""

    def __init__(self, embedder: Embedder | None, vectors: NearestPoints | None) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._lock = threading.Lock()
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._asking = threading.local()
        self.floor = USUAL
        """The similarity from which a text is near a question; the embedder's own once it has been used."""
        self._calibrated = False

    @contextmanager
    def within(self, budget: Budget | None) -> Iterator[None]:
        """Every question of this thread inside it is asked under that budget; none at all without one."""
        self._asking.budget = budget
        try:
            yield
        finally:
            self._asking.budget = None

    def stand(self, scopes: Sequence[str]) -> int:
        """How far the vectors of these scopes are, as far as that is known here."""
        joined = getattr(self._vectors, "stand", None)
        return int(joined(scopes) if joined is not None else getattr(self._vectors, "next_offset", -1))

    def near(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        """The nearest points, however long that takes; none where there are no vectors."""
        return [] if self._vectors is None else self._vectors.search(scopes, kind, vector, limit)

    def embed(self, text: str) -> NDArray[np.float32] | None:
        """The question's vector; None where there is no embedder, or it does not answer in time."""
        embedder, budget = self._embedder, self._budget()
        if embedder is None or self._vectors is None or budget is None or "vectors" in budget.missing:
            return None
        with self._lock:
            known = self._known.get(text)
            if known is not None:
                self._known.move_to_end(text)
                return known

        def work() -> NDArray[np.float32]:
            vector: NDArray[np.float32] = embedder.embed([text])[0]
            vector.setflags(write=False)
            if not self._calibrated:
                self._calibrated = True
                self.floor = similarity_floor(embedder)
            # Kept even where it comes too late for this question.
            with self._lock:
                self._known[text] = vector
                while len(self._known) > _CACHED_QUESTIONS:
                    self._known.popitem(last=False)
            return vector

        return budget.result("vectors", budget.start("vectors", work))

    def search(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        """The nearest points of these scopes, best first; none where the store does not answer in time. A store that can is
        left to choose among the points that score like the last one."""
        vectors, budget = self._vectors, self._budget()
        if vectors is None or budget is None or "vectors" in budget.missing:
            return []
        ask: Ask = getattr(vectors, "around", vectors.search)
        found = budget.result("vectors", budget.start("vectors", lambda: ask(scopes, kind, vector, limit)))
        return [] if found is None else found

    def _budget(self) -> Budget | None:
        budget: Budget | None = getattr(self._asking, "budget", None)
        return budget
