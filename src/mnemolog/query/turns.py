"""The net under every question: the turns themselves, raw and dated, as they were said. What is hidden or expired is not
there, nor is what a memory had put into a turn. Whether one speaks of a value that stands no longer is said by `marked`, once
the facts are known."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..processors.core.markers import said
from ..schemas.views import TurnView
from .facts import Facts
from .hits import Hit, HitStatus
from .ids import memory_id
from .ports import MemoryReader
from .rank import RankedTurn, TurnRanker
from .speakers import named, without
from .turn_index import TurnIndexes
from .understand import Question
from .vectors import QuestionVectors

__all__ = ["TurnSearch", "marked"]

_BY_VECTOR_ALONE = 0.5
_REREAD = 30
"""Turns beyond those wanted whose texts are looked at too, for the order they are shown in."""


class TurnSearch:
    """Finds turns by words and meaning. Thread-safe."""

    def __init__(
        self,
        reader: MemoryReader,
        vectors: QuestionVectors,
        weights: Sequence[float],
    ) -> None:
        self._reader = reader
        self._vectors = vectors
        self._indexes = TurnIndexes(reader)
        self._ranker = TurnRanker(self._indexes, vectors, weights=weights)

    def find(self, scopes: Sequence[str], question: Question, limit: int, now: str) -> list[Hit]:
        """The `limit` best turns, best first."""
        if not question.text:
            return []
        vector = self._meant(scopes, question.text)
        wanted = limit
        reread = False
        while True:
            ranked = self._ranker.rank(scopes, question.text, vector, wanted + _REREAD, question.period, self._vectors.floor)
            found = self._fetch(ranked)
            gone = sorted({turn.scope for turn in ranked if (turn.scope, turn.offset) not in found})
            if gone and not reread:
                # Hidden after they were indexed: their words must not weigh on the others either.
                reread = True
                for scope in gone:
                    self._indexes.drop(scope)
                continue
            complete = len(ranked) < wanted + _REREAD
            # One in which nobody but a memory spoke says nothing.
            texts = {key: text for key, view in found.items() if (text := said(view.content))}
            ranked = self._ranker.reread(ranked, texts)
            shown = [(turn, found[key]) for turn in ranked if (key := (turn.scope, turn.offset)) in texts]
            valid = [(turn, view) for turn, view in shown if view.expires_at is None or view.expires_at > now]
            if len(valid) >= limit or complete:
                return [_hit(turn, view, texts[turn.scope, turn.offset]) for turn, view in valid[:limit]]
            wanted *= 4

    def _meant(self, scopes: Sequence[str], text: str) -> NDArray[np.float32] | None:
        """The question's vector. One that names speakers is drawn to whatever turn names them: half of it is what the question
        says without them."""
        vector = self._vectors.embed(text)
        if vector is None:
            return None
        names = named(text, dict.fromkeys(name for scope in scopes for name in self._indexes.speakers(scope)))
        left = without(text, names) if names else ""
        other = self._vectors.embed(left) if left else None
        if other is None:
            return vector
        both = vector + other
        unit: NDArray[np.float32] = both / max(float(np.linalg.norm(both)), 1e-9)
        return unit

    def _fetch(self, ranked: Sequence[RankedTurn]) -> dict[tuple[str, int], TurnView]:
        by_scope: dict[str, list[int]] = {}
        for turn in ranked:
            by_scope.setdefault(turn.scope, []).append(turn.offset)
        return {
            (scope, view.offset): view
            for scope, offsets in by_scope.items()
            for view in self._reader.turns_by_offset(scope, offsets)
        }


def _hit(ranked: RankedTurn, turn: TurnView, text: str) -> Hit:
    return Hit(
        kind="turn",
        id=memory_id("turn", ranked.scope, turn.source, turn.event_id),
        text=text,
        score=1 / (1 + exp(-ranked.score / 10)),
        scope=ranked.scope,
        event_ids=[turn.event_id],
        occurred_at=turn.occurred_at,
        status="said",
        confidence=1.0 if ranked.has_words else _BY_VECTOR_ALONE,
        routes=_routes(ranked),
        session=turn.session,
        speaker=turn.speaker,
        role=turn.role,
        authority=turn.role,
        expires_at=turn.expires_at or "",
        why=ranked.signals,
    )


def marked(hit: Hit, facts: Facts | None) -> Hit:
    """A turn that says whether what it states stands; without facts that is not known, and it says that."""
    if facts is None:
        return msgspec.structs.replace(hit, status="unchecked")
    turn_id = hit.event_ids[0]
    if turn_id not in facts.outdated:
        return hit
    status: HitStatus = "partly_superseded" if turn_id in facts.current else "superseded"
    return msgspec.structs.replace(hit, status=status, until=facts.outdated[turn_id] or "")


def _routes(ranked: RankedTurn) -> list[str]:
    routes = (["keywords"] if ranked.has_words else []) + (["vectors"] if ranked.near else [])
    return routes if routes or not ranked.beside_words else ["neighbours"]
