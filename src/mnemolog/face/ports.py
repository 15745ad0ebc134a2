"""What the face stands on: a home, in a folder or on servers, as far as users' calls need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..processors.core.policy import Policy
from ..processors.core.ports import Embedder, EventLog
from ..projections.read_models import ReadModels
from ..projections.store import Store
from ..schemas.access import Sight
from ..schemas.envelope import Envelope
from ..schemas.registry import Registry
from ..schemas.scope import Scope

if TYPE_CHECKING:
    from ..query.recall import Recall
    from .indexes import IndexReport
    from .operations import Operation, Standing

__all__ = ["HomeLike", "Part", "VectorKeeping", "Written"]


class Written(NamedTuple):
    """Inputs that are durable: their ids, in order; the token that a read waits with; how many were not there before."""

    ids: list[str]
    token: str
    fresh: int


class Part(NamedTuple):
    """What the operator's tools work on: a folder is one part, an installation on servers has one for each partition. A scope
    lies in exactly one.

    `log`, `store`: the log and the read models made from it; `state`: where the resolver's tables lie apart from them, else
    None: they lie in `store`."""

    number: int
    log: EventLog
    store: Store
    state: Store | None


class VectorKeeping(Protocol):
    """The vectors that questions are answered with, as an operator makes them anew."""

    def rebuild(self, embedder: Embedder | None, watch: Callable[[int, int], None] | None) -> IndexReport:
        """Fills another index beside the one that answers, checks it, and lets it take its place. `watch` is told the dynamics
        offset that it has come to, and the one to reach."""
        ...

    def drop_old(self) -> list[str]:
        """Drops the vectors of embedders that are out of use; returns whose."""
        ...


class HomeLike(Protocol):
    """One opened memory. Thread-safe."""

    @property
    def registry(self) -> Registry:
        """The Form types."""
        ...

    def close(self) -> None:
        """Frees everything. May be called twice."""
        ...

    def now(self) -> str:
        """The machine's time, UTC, in the fixed form."""
        ...

    def append(self, events: Sequence[Envelope]) -> Written:
        """Makes inputs durable. Raises ConflictingContent where an id is known with other content."""
        ...

    def time_of(self, scope: Scope, source: str, event_id: str) -> str | None:
        """The event time of an input that was recorded, or None."""
        ...

    def operation(self, scope: Scope, source: str, event_id: str) -> Operation | None:
        """What became of an input; None where none of that id was accepted."""
        ...

    def standing(self) -> Standing:
        """How far everything is behind."""
        ...

    def catch_up(
        self,
        scope: str | None,
        *,
        wait: bool = True,
        index: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Waits until the scope's inputs (None: of all scopes) are in the read models; returns how many are still not.
        `index`: their vectors too, where that is quick."""
        ...

    def wait_for(self, token: str, timeout: float | None) -> None:
        """Waits until everything that a read shows holds what a token names. Raises Lagging, UnknownLog, InvalidInput."""
        ...

    def store_of(self, scope: Scope | str) -> ReadModels:
        """The read models that hold a scope."""
        ...

    def recall_of(self, scope: Scope | str, sight: Sight | None = None) -> Recall:
        """What answers questions about a scope; as `sight` lets them be answered."""
        ...

    @property
    def policy(self) -> Policy:
        """By which inputs are decided."""
        ...

    def parts(self) -> Sequence[Part]:
        """All of them, by number."""
        ...

    def part_of(self, scope: Scope | str) -> Part:
        """The one that a scope lies in."""
        ...

    def paused(self) -> AbstractContextManager[object]:
        """Inside it nothing in this process writes to the read models but the caller. Raises Busy where another process of this
        machine keeps them current; workers on servers go on."""
        ...

    def vector_keeping(self) -> VectorKeeping:
        """What makes the vectors anew. Raises Busy where another process of this machine keeps them."""
        ...

    def stats(self, scope: str | None) -> dict[str, int]: ...
