"""The last word on the order, where somebody has one: a model that reads the question and each candidate. Nothing depends on
it: where it fails, or is late, the order stays as it was."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Protocol

import msgspec

from .budget import Budget
from .hits import Hit

__all__ = ["MOST", "Reranker", "reranked"]

MOST = 50
"""Candidates that are read at most."""


class Reranker(Protocol):
    """Says how well texts answer a question."""

    def rerank(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """A score for each text, in their order; higher is better. May raise."""
        ...


def reranked(hits: Sequence[Hit], question: str, reranker: Reranker | None, budget: Budget) -> list[Hit]:
    """The candidates in the order of the reranker's scores, ties as they were."""
    if reranker is None or not hits:
        return list(hits)
    read = hits[:MOST]

    def work() -> list[float]:
        scores = [float(score) for score in reranker.rerank(question, [hit.text for hit in read])]
        if len(scores) != len(read) or not all(map(isfinite, scores)):
            raise ValueError(f"{len(scores)} scores for {len(read)} texts, or some that are no numbers")
        return scores

    scores = budget.result("reranker", budget.start("reranker", work))
    if scores is None:
        return list(hits)
    made = [
        msgspec.structs.replace(hit, score=score, why={**hit.why, "reranker": score})
        for hit, score in zip(read, scores, strict=True)
    ]
    least = min(scores)
    rest = [msgspec.structs.replace(hit, score=least) for hit in hits[MOST:]]
    return sorted(made, key=lambda hit: -hit.score) + rest
