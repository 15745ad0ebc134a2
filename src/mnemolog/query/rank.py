"""Which turns bear on a question: one sum of signals, each measured over all turns of the scopes asked: the turn's
closeness in meaning and in words, the same for it and its neighbours in the conversation, who said it, and
when where the question says so.

Nearest neighbours come from the vector store, a few hundred at most; every other turn counts as far as the last of them. So
the sum is taken over all turns, at any size, for one query of the store.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..processors.core.ports import VectorHit
from ..processors.core.text import query_terms
from .lexical import ScopeIndex
from .periods import Period
from .turn_index import TurnIndexes

__all__ = ["NEIGHBOURS", "SIGNALS", "TURN", "WEIGHTS", "Nearest", "RankedTurn", "TurnRanker"]

TURN = "turn"
"""The kind of point in the vector store; its id is the turn's dynamics offset in decimal."""
NEIGHBOURS = 200
_CLOSE = 20
_RESEMBLES = 0.2
"""Of the nearest 20, those at least this close count as found by meaning: with the default embedder questions lie at .11
(spread .11) from any turn and at .27 from one that answers them."""
SIGNALS = ("vectors", "vectors_nearby", "keywords", "keywords_nearby", "speaker", "period")
WEIGHTS: tuple[float, ...] = (1.0, 1.0, 0.25, 0.25, 1.0, 3.0)
"""The best of the grid that `benchmarks/eval_recall.py --tune` prints, on half of LongMemEval alone; there a turn and
its neighbours carry the same weight, because that data cannot tell them apart, and the speaker carries one unit."""
_SPREAD = 0.1
"""One unit of closeness: the spread of cosines between a question and the turns of a conversation."""
_SPREAD_NEARBY = 0.07
_LEXICAL_BOUNDS = (0.1, 0.15)
_SPEAKER_BOUNDS = (0.1, 1.0)
"""The least and the most that the spread of a signal is taken for, as shares of its highest value."""


class RankedTurn(NamedTuple):
    """A turn and its signals, in units of their spread."""

    scope: str
    offset: int
    score: float
    signals: dict[str, float]
    has_words: bool
    """Terms of the question stand in the turn itself."""
    near: bool
    """It is among the nearest of its scope, and near."""
    beside_words: bool
    """Terms of the question stand in the turn before or after it."""


class Nearest(Protocol):
    """What the ranker needs of a vector store."""

    def search(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        """The nearest points of these scopes, best first; none where the store does not answer in time."""
        ...


class TurnRanker:
    """Ranks turns by what the keyword index and the vector store say of them."""

    def __init__(self, indexes: TurnIndexes, vectors: Nearest | None, *, weights: Sequence[float] = WEIGHTS) -> None:
        self._indexes = indexes
        self._vectors = vectors
        self._weights = weights

    def rank(
        self,
        scopes: Sequence[str],
        question: str,
        vector: NDArray[np.float32] | None,
        limit: int,
        period: Period | None = None,
    ) -> list[RankedTurn]:
        """The best `limit` turns, best first; ties in order of scopes as given, then of offsets. `vector` is the question's;
        turns inside `period` are preferred."""
        names: list[str] = []
        offsets: list[NDArray[np.int64]] = []
        blocks: list[NDArray[np.float32]] = []
        nears: list[NDArray[np.bool_]] = []
        for scope in scopes:
            with self._indexes.using(scope) as index:
                near = self._nearest(scope, vector, index)
                names += [scope] * len(index)
                offsets.append(index.offsets)
                nears.append(_among(index, near[:_CLOSE]))
                blocks.append(_signals(index, question, near, period))
        signals = np.concatenate(blocks, axis=1) if blocks else np.empty((len(SIGNALS), 0), np.float32)
        if not signals.shape[1]:
            return []
        words = signals[2] > 0
        beside = signals[3] > 0
        nearest = np.concatenate(nears)
        units = _in_units(signals)
        total = np.tensordot(np.array(self._weights, np.float32), units, axes=1)
        # Ties at the edge all stay until the stable sort puts them in order.
        floor = np.partition(total, -limit)[-limit] if limit < len(total) else -np.inf
        kept = np.flatnonzero(total >= floor)
        best = kept[np.argsort(-total[kept], kind="stable")][:limit]
        where = np.concatenate(offsets)
        return [
            RankedTurn(
                names[row],
                int(where[row]),
                float(total[row]),
                {name: round(float(units[at, row]), 4) for at, name in enumerate(SIGNALS)},
                bool(words[row]),
                bool(nearest[row]),
                bool(beside[row]),
            )
            for row in best.tolist()
        ]

    def _nearest(self, scope: str, vector: NDArray[np.float32] | None, index: ScopeIndex) -> list[VectorHit]:
        """The nearest turns of a scope that may be shown. The store also has those that were hidden since: where they fill the
        answer, more is asked for."""
        if self._vectors is None or vector is None or not len(index):
            return []
        asked = NEIGHBOURS
        while True:
            near = self._vectors.search([scope], TURN, vector, asked)
            rows = index.rows_of(np.array([int(hit.point_id) for hit in near], np.int64))
            shown = [hit for hit, row in zip(near, rows.tolist(), strict=True) if row >= 0]
            if len(near) < asked or len(shown) >= min(NEIGHBOURS, len(index)):
                return shown[:NEIGHBOURS]
            asked *= 4


def _signals(index: ScopeIndex, question: str, near: Sequence[VectorHit], period: Period | None) -> NDArray[np.float32]:
    """(6, turns): raw signals of one scope, in the order of SIGNALS."""
    lexical = index.score(query_terms(question))
    closeness = _closeness(index, near)
    rows = [closeness, _nearby(index, closeness), lexical.turn, lexical.window, _spoken_by(index, question)]
    inside = index.within(period.since, period.until) if period is not None else np.zeros(len(index), np.bool_)
    return np.stack([*rows, inside], dtype=np.float32)


def _among(index: ScopeIndex, near: Sequence[VectorHit]) -> NDArray[np.bool_]:
    close = [int(hit.point_id) for hit in near if hit.score >= _RESEMBLES]
    return np.isin(index.offsets, np.array(close, np.int64))


def _closeness(index: ScopeIndex, near: Sequence[VectorHit]) -> NDArray[np.float32]:
    if not near:
        return np.zeros(len(index), np.float32)
    rows = index.rows_of(np.array([int(hit.point_id) for hit in near], np.int64))
    scores = np.array([hit.score for hit in near], np.float32)
    # A full answer left out only what is further away; otherwise it left out turns that have no vector yet, which may be
    # anything, and must not lose to noise for being new.
    unknown = scores.min() if len(near) >= NEIGHBOURS else scores.mean()
    closeness = np.full(len(index), unknown, np.float32)
    closeness[rows[rows >= 0]] = scores[rows >= 0]
    return closeness


def _nearby(index: ScopeIndex, closeness: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean closeness of a turn and those before and after it in its session."""
    total = closeness.copy()
    count = np.ones(len(closeness), np.float32)
    for link in (index.previous, index.following):
        there = link >= 0
        total[there] += closeness[link[there]]
        count += there
    return total / count


def _spoken_by(index: ScopeIndex, question: str) -> NDArray[np.float32]:
    """1 for turns of a speaker whom the question names."""
    folded = question.casefold()
    named = [code for code, name in enumerate(index.speaker_names) if _mentions(folded, name.casefold())]
    return np.isin(index.speakers, named).astype(np.float32)


def _mentions(question: str, name: str) -> bool:
    if not name or name not in question:
        return False
    return not name.isascii() or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question) is not None


def _in_units(signals: NDArray[np.float32]) -> NDArray[np.float32]:
    """Closeness in units of a fixed spread (only the nearest are known), the rest by the mean and spread of all turns."""
    units = np.empty_like(signals)
    units[0] = signals[0] / _SPREAD
    units[1] = signals[1] / _SPREAD_NEARBY
    rest = signals[2:5]
    most = rest.max(axis=1, keepdims=True)
    # Words count by their spread over the turns, within bounds that keep a small memory in line with a large one: where nearly
    # all turns score alike their differences mean little, and among a handful of turns one match is still a match.
    bounds = np.array([_LEXICAL_BOUNDS, _LEXICAL_BOUNDS, _SPEAKER_BOUNDS], np.float32)
    spread = np.clip(rest.std(axis=1, keepdims=True), bounds[:, :1] * most, bounds[:, 1:] * most)
    units[2:5] = (rest - rest.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
    units[5] = signals[5]
    return units
