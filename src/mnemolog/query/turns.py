"""The net under every question: the turns themselves, raw and dated, as they were said. What is hidden or expired is not
there, and a turn that speaks of a value that stands no longer says so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp

import numpy as np
from numpy.typing import NDArray

from ..processors.core.ports import Embedder, VectorStore
from ..schemas.views import TurnView
from .facts import FactCache, Facts
from .hits import Hit
from .ids import memory_id
from .ports import MemoryReader
from .rank import RankedTurn, TurnRanker
from .turn_index import TurnIndexes
from .understand import Question

__all__ = ["TurnSearch"]

_CACHED_QUESTIONS = 256
_BY_VECTOR_ALONE = 0.5


class TurnSearch:
    """Finds turns by words and meaning. Thread-safe."""

    def __init__(
        self,
        reader: MemoryReader,
        facts: FactCache,
        embedder: Embedder | None,
        vectors: VectorStore | None,
        weights: Sequence[float],
    ) -> None:
        self._reader = reader
        self._facts = facts
        self._embedder = embedder
        self._indexes = TurnIndexes(reader)
        self._ranker = TurnRanker(self._indexes, vectors, weights=weights)
        self._embed = lru_cache(maxsize=_CACHED_QUESTIONS)(self._embed_now)

    def find(self, scopes: Sequence[str], question: Question, limit: int, now: str) -> list[Hit]:
        """The `limit` best turns, best first."""
        if not question.text:
            return []
        vector = self._embed(question.text) if self._embedder is not None else None
        wanted = limit
        reread = False
        while True:
            ranked = self._ranker.rank(scopes, question.text, vector, wanted, question.period)
            found = self._fetch(ranked)
            gone = sorted({turn.scope for turn in ranked if (turn.scope, turn.offset) not in found})
            if gone and not reread:
                # Hidden after they were indexed: their words must not weigh on the others either.
                reread = True
                for scope in gone:
                    self._indexes.drop(scope)
                continue
            shown = [(turn, view) for turn in ranked if (view := found.get((turn.scope, turn.offset))) is not None]
            facts = {scope: self._facts.of(scope) for scope in {turn.scope: None for turn, _ in shown}}
            hits = [
                _hit(turn, view, facts[turn.scope]) for turn, view in shown if view.expires_at is None or view.expires_at > now
            ]
            if len(hits) >= limit or len(ranked) < wanted:
                return hits[:limit]
            wanted *= 4

    def _fetch(self, ranked: Sequence[RankedTurn]) -> dict[tuple[str, int], TurnView]:
        by_scope: dict[str, list[int]] = {}
        for turn in ranked:
            by_scope.setdefault(turn.scope, []).append(turn.offset)
        return {
            (scope, view.offset): view
            for scope, offsets in by_scope.items()
            for view in self._reader.turns_by_offset(scope, offsets)
        }

    def _embed_now(self, text: str) -> NDArray[np.float32]:
        embedder = self._embedder
        if embedder is None:
            raise ValueError("no embedder")
        vector: NDArray[np.float32] = embedder.embed([text])[0]
        vector.setflags(write=False)
        return vector


def _hit(ranked: RankedTurn, turn: TurnView, facts: Facts) -> Hit:
    outdated = facts.outdated
    old = turn.event_id in outdated
    return Hit(
        kind="turn",
        id=memory_id("turn", ranked.scope, turn.source, turn.event_id),
        text=turn.content,
        score=1 / (1 + exp(-ranked.score / 10)),
        scope=ranked.scope,
        event_ids=[turn.event_id],
        occurred_at=turn.occurred_at,
        status=("partly_superseded" if turn.event_id in facts.current else "superseded") if old else "said",
        until=(outdated[turn.event_id] or "") if old else "",
        confidence=1.0 if ranked.has_words else _BY_VECTOR_ALONE,
        routes=_routes(ranked),
        session=turn.session,
        speaker=turn.speaker,
        role=turn.role,
        why=ranked.signals,
    )


def _routes(ranked: RankedTurn) -> list[str]:
    routes = (["keywords"] if ranked.has_words else []) + (["vectors"] if ranked.near else [])
    return routes if routes or not ranked.beside_words else ["neighbours"]
