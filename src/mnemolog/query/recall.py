"""Recall: what a memory holds about a question. Every route reads only the scopes it is given; where no exact route finds
anything, the turns themselves are searched, so that a question about something that was said is never answered with nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..processors.core.ports import Embedder, VectorStore
from ..schemas.scope import Scope
from ..schemas.times import parse_time
from ..schemas.views import TurnView
from .hits import Hit
from .ports import MemoryReader
from .rank import RankedTurn, TurnRanker
from .turn_index import TurnIndexes

__all__ = ["MAX_QUESTION", "Recall"]

MAX_QUESTION = 2000
"""Of a longer question only the beginning is looked for."""
_CACHED_QUESTIONS = 256


class Recall:
    """Answers questions from the read models, the keyword indexes and the vector store. Thread-safe."""

    def __init__(self, reader: MemoryReader, embedder: Embedder | None = None, vectors: VectorStore | None = None) -> None:
        """Without `embedder` and `vectors` turns are found by their words alone."""
        self._reader = reader
        self._embedder = embedder
        self._indexes = TurnIndexes(reader)
        self._ranker = TurnRanker(self._indexes, vectors)
        self._embed = lru_cache(maxsize=_CACHED_QUESTIONS)(self._embed_now)

    def search(
        self,
        scopes: Sequence[Scope | str],
        query: str,
        *,
        limit: int | None = None,
        now: str | None = None,
        include_history: bool = False,
    ) -> list[Hit]:
        """What these scopes hold about `query`, best first."""
        keys = [str(scope) for scope in scopes]
        moment = parse_time(now, "now")[0] if now is not None else None
        question = query[:MAX_QUESTION].strip()
        return self._turn_hits(keys, question, limit or 10, moment)

    def _turn_hits(self, scopes: list[str], question: str, limit: int, now: str | None) -> list[Hit]:
        """The turns that bear on the question: raw, dated, as they were said."""
        if not question:
            return []
        vector = self._embed(question) if self._embedder is not None else None
        wanted = limit
        stale = False
        while True:
            ranked = self._ranker.rank(scopes, question, vector, wanted)
            found = self._fetch(ranked)
            missing = {turn.scope for turn in ranked} - {scope for scope, _ in found}
            gone = [turn for turn in ranked if (turn.scope, turn.offset) not in found]
            if gone and not stale:
                # Hidden after they were indexed: their words must not weigh on the others either.
                stale = True
                for scope in sorted({turn.scope for turn in gone} | missing):
                    self._indexes.drop(scope)
                continue
            hits = [
                _turn_hit(turn, found[turn.scope, turn.offset])
                for turn in ranked
                if (turn.scope, turn.offset) in found and not _expired(found[turn.scope, turn.offset], now)
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

    def _embed_now(self, question: str) -> NDArray[np.float32]:
        assert self._embedder is not None  # noqa: S101
        vector = self._embedder.embed([question])[0]
        vector.setflags(write=False)
        return vector


def _expired(turn: TurnView, now: str | None) -> bool:
    return now is not None and turn.expires_at is not None and turn.expires_at <= now


def _turn_hit(ranked: RankedTurn, turn: TurnView) -> Hit:
    routes = (["keywords"] if ranked.has_words else []) + ([] if ranked.has_words else ["vectors"])
    return Hit(
        kind="turn",
        text=turn.content,
        score=ranked.score,
        scope=ranked.scope,
        event_ids=[turn.event_id],
        occurred_at=turn.occurred_at,
        status="said",
        confidence=1.0 if ranked.has_words else 0.5,
        routes=routes,
        session=turn.session,
        speaker=turn.speaker,
        role=turn.role,
        why=ranked.signals,
    )
