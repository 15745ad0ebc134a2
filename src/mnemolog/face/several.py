"""One answer about several scopes, wherever each of them lies: every read goes to the read models and vectors of its own scope,
and what they bring is ranked together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..processors.core.ports import VectorHit
from ..schemas.scope import Scope
from ..schemas.views import EdgeView, FormView, PendingView, SummaryView, TimelineEntry, TurnView, VersionView

if TYPE_CHECKING:
    from ..query.lexical import IndexRow
    from ..query.ports import MemoryReader
    from ..query.recall import Recall
    from ..schemas.registry import Registry

__all__ = ["Several"]

RecallOf = Callable[[Scope | str], "Recall"]


class Several:
    """Finds who answers about a list of scopes. Thread-safe."""

    def __init__(self, recall_of: RecallOf, registry: Registry) -> None:
        self._recall_of = recall_of
        self._registry = registry
        self._joined: Recall | None = None

    def recall_of(self, scopes: Sequence[Scope]) -> Recall:
        """The Recall of the one place where they all lie, else one that asks each place about its own."""
        found = [self._recall_of(scope) for scope in scopes]
        if all(recall is found[0] for recall in found):
            return found[0]
        embedder = found[0].embedder
        if self._joined is None or self._joined.embedder is not embedder:
            from ..query.recall import Recall

            vectors = None if embedder is None else _Vectors(self._recall_of)
            self._joined = Recall(_Reader(self._recall_of), embedder, vectors, self._registry)
        return self._joined


class _Reader:
    """A reader that asks the reader of each scope."""

    def __init__(self, recall_of: RecallOf) -> None:
        self._recall_of = recall_of

    def _of(self, scope: Scope | str) -> MemoryReader:
        return self._recall_of(scope).reader

    def snapshot(self, scope: Scope | str) -> AbstractContextManager[None]:
        return self._of(scope).snapshot(scope)

    def stand(self, scope: Scope | str) -> tuple[int | str, ...]:
        return self._of(scope).stand(scope)

    def written(self, scope: Scope | str) -> int:
        return self._of(scope).written(scope)

    def forms(self, scope: Scope | str, form_type: str | None = None, include_retired: bool = False) -> list[FormView]:
        return self._of(scope).forms(scope, form_type, include_retired)

    def history(self, scope: Scope | str, form_id: str | None = None, slot: str | None = None) -> list[VersionView]:
        return self._of(scope).history(scope, form_id, slot)

    def timeline(
        self,
        scope: Scope | str,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[TimelineEntry]:
        return self._of(scope).timeline(scope, since, until, limit, newest_first)

    def edges(self, scope: Scope | str) -> list[EdgeView]:
        return self._of(scope).edges(scope)

    def pending(self, scope: Scope | str) -> list[PendingView]:
        return self._of(scope).pending(scope)

    def closed_summaries(self, scope: Scope | str) -> list[SummaryView]:
        return self._of(scope).closed_summaries(scope)

    def turns_by_offset(self, scope: Scope | str, offsets: Sequence[int]) -> list[TurnView]:
        return self._of(scope).turns_by_offset(scope, offsets)

    def turn_index(self, scope: Scope | str, after_offset: int = -1) -> list[IndexRow]:
        return self._of(scope).turn_index(scope, after_offset)


class _Vectors:
    """The nearest points of each scope, from where its vectors lie."""

    def __init__(self, recall_of: RecallOf) -> None:
        self._recall_of = recall_of

    def stand(self, scopes: Sequence[str]) -> int:
        return sum(self._recall_of(scope).vectors.stand([scope]) for scope in scopes)

    def search(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        found = [hit for scope in scopes for hit in self._recall_of(scope).vectors.near([scope], kind, vector, limit)]
        return sorted(found, key=lambda hit: -hit.score)[:limit]
