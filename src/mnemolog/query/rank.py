"""Which turns bear on a question: one sum of signals, each measured over all turns of the scopes asked.

Nearest neighbours come from the vector store, a few hundred at most; every other turn counts as far as the last of them. So
the sum is taken over all turns, at any size, for one query of the store. What only the text itself shows is looked at last,
in the best of them alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..processors.core.ports import VectorHit
from .calibrate import USUAL
from .lexical import ScopeIndex
from .periods import Period
from .signals import ASKS, NEIGHBOURS, SIGNALS, WEIGHTS, WORDS_ALONE, Floats, asking, in_units, measured, summed
from .turn_index import TurnIndexes

__all__ = ["NEIGHBOURS", "SIGNALS", "TURN", "WEIGHTS", "Nearest", "RankedTurn", "TurnRanker"]

TURN = "turn"
"""The kind of point in the vector store; its id is the turn's dynamics offset in decimal."""
_CLOSE = 20
"""Of the nearest so many, those that are near enough for the embedder count as found by meaning."""
_KEYWORDS = SIGNALS.index("keywords")


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
        """The nearest points of these scopes, best first; none where the store does not answer in time. Which of those that are
        as far as the last one are there makes no difference: so far counts every other turn."""
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
        resembles: float = USUAL,
    ) -> list[RankedTurn]:
        """The best `limit` turns, best first; ties in order of scopes as given, then of offsets. `vector` is the question's;
        turns inside `period` are preferred; from the similarity `resembles` on they count as near. What their texts say to it
        comes with `reread`."""
        names: list[str] = []
        offsets: list[NDArray[np.int64]] = []
        blocks: list[NDArray[np.float32]] = []
        nears: list[NDArray[np.bool_]] = []
        for scope in scopes:
            with self._indexes.using(scope) as index:
                near = self._nearest(scope, vector, index)
                names += [scope] * len(index)
                offsets.append(index.offsets)
                nears.append(_among(index, near, resembles))
                blocks.append(measured(index, question, near, period))
        signals = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1) if blocks else _nothing()
        if not signals.shape[1]:
            return []
        nearest = np.concatenate(nears)
        units = in_units(signals)
        weights = self._weights if signals[0].any() else WORDS_ALONE
        total = summed(weights, units)
        # Ties at the edge all stay until the stable sort puts them in order.
        floor = np.partition(total, -limit)[-limit] if limit < len(total) else -np.inf
        kept = np.flatnonzero(total >= floor)
        best = kept[np.argsort(-total[kept], kind="stable")][:limit]
        where = np.concatenate(offsets)
        shown = units[:, best].T.astype(np.float64).round(4).tolist()
        return [
            RankedTurn(
                names[row],
                int(where[row]),
                float(total[row]),
                dict(zip(SIGNALS, values)),  # noqa: B905 - a row of `units` has one for each
                bool(signals[_KEYWORDS, row] > 0),
                bool(nearest[row]),
                bool(signals[_KEYWORDS + 1, row] > 0),
            )
            for row, values in zip(best.tolist(), shown, strict=True)
        ]

    def reread(self, ranked: Sequence[RankedTurn], contents: Mapping[tuple[str, int], str]) -> list[RankedTurn]:
        """The same turns, ordered once more now that their texts are there, by (scope, offset); those without one keep their
        score."""
        weight = self._weights[ASKS]
        again = []
        for turn in ranked:
            share = round(asking(contents.get((turn.scope, turn.offset), "")), 4)
            if share != turn.signals[SIGNALS[ASKS]]:
                signals = turn.signals | {SIGNALS[ASKS]: share}
                turn = turn._replace(score=turn.score + weight * share, signals=signals)
            again.append(turn)
        return sorted(again, key=lambda turn: -turn.score)

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


def _nothing() -> Floats:
    return np.empty((len(SIGNALS), 0), np.float32)


def _among(index: ScopeIndex, near: Sequence[VectorHit], resembles: float) -> NDArray[np.bool_]:
    """Which turns are found by meaning: of the nearest few, those that are near enough. Where these are as far as the last one
    of all that were asked for, which of them come first is chance, and each of them is found."""
    few = near if len(near) >= NEIGHBOURS and near[_CLOSE - 1].score == near[-1].score else near[:_CLOSE]
    rows = index.rows_of(np.array([int(hit.point_id) for hit in few if hit.score >= resembles], np.int64))
    found = np.zeros(len(index), np.bool_)
    found[rows[rows >= 0]] = True
    return found
