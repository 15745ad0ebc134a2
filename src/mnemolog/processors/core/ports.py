"""The ports: what the engine needs from the outside world, in as few methods as it can do with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...schemas.envelope import Envelope, Position
from ...schemas.inputs import Turn
from ...schemas.observations import Candidate
from ...schemas.scope import Scope

__all__ = [
    "Embedder",
    "EventLog",
    "Extraction",
    "Extractor",
    "IndexFault",
    "IndexStep",
    "IndexView",
    "LogIndex",
    "OwnIndex",
    "Placed",
    "SeenTurn",
    "Stored",
    "VectorHit",
    "VectorStore",
]


class Stored(msgspec.Struct, frozen=True):
    """One record as it lies on a topic. `value` is the exact bytes of the CloudEvents object."""

    topic: str
    partition: int
    offset: int
    scope: str
    """The key: `tenant/subject`."""
    value: bytes
    recorded: str
    """When it was appended (fixed UTC form)."""


class Placed(msgspec.Struct, frozen=True):
    """Where an input lies. `fresh` is False when the same (scope, source, id, content) was there already."""

    event_id: str
    position: Position
    fresh: bool


class IndexFault(NamedTuple):
    """Where what a log notes of its own records does not say what they say."""

    scope: str
    topic: str
    offset: int
    """On the topic; -1 where it is of none alone."""
    detail: str


@runtime_checkable
class OwnIndex(Protocol):
    """A log that notes beside its records what it needs of them, where somebody might edit it."""

    def index_faults(self) -> list[IndexFault]:
        """The first of each kind; reads all records."""
        ...


class EventLog(Protocol):
    """An append-only log of topics. Offsets start at 0 and have no meaning but order; every method is thread-safe.

    The logical log of a topic is the first record per (scope, source, id).
    """

    @property
    def log_id(self) -> str:
        """A random id given to the log when it was made."""
        ...

    @property
    def epoch(self) -> int: ...

    @property
    def partitions(self) -> int: ...

    def append_inputs(self, events: Sequence[Envelope]) -> list[Placed]:
        """Appends to dynamics, all or nothing, durable on return; stamps `recordedtime`.

        Raises ConflictingContent (and appends nothing of the batch) when an id is there with other content, or twice in the
        batch with different content.
        """
        ...

    def append_derived(self, topic: str, events: Sequence[Envelope]) -> int:
        """Appends observations or summaries, all or nothing; a repeated (scope, source, id) is skipped silently: the
        first wins. Returns how many were new."""
        ...

    def append_decisions(self, events: Sequence[Envelope]) -> list[str]:
        """Appends decisions to changes, all or nothing; `data.prev` of each must be its scope's head (decisions of one
        scope may chain within the batch). Returns the hashes (SHA-256 of the stored value bytes). Raises StaleDecision."""
        ...

    def append_processed(self, observations: Sequence[Envelope], decisions: Sequence[Envelope]) -> list[str]:
        """`append_derived(OBSERVATIONS, ...)` and `append_decisions(...)` in one atomic step where the log can do that."""
        ...

    def read(
        self, topic: str, start: int = 0, limit: int | None = None, *, partition: int = 0, scope: Scope | None = None
    ) -> Iterator[Stored]:
        """The physical records from offset `start` on, in order, up to the end at the time of the call; with `scope` only
        that scope's."""
        ...

    def end(self, topic: str, *, partition: int = 0) -> int:
        """The offset that the next record will get, or a higher one."""
        ...

    def offset_at(self, topic: str, time: str, *, partition: int = 0) -> int:
        """The first offset whose record was appended at or after `time`; the end when there is none."""
        ...

    def position_of(self, scope: Scope, source: str, event_id: str) -> Position | None:
        """Where an input lies, or None: the permanent `seen` table."""
        ...

    def last_input(self, scope: Scope) -> int | None:
        """The highest dynamics offset of the scope, or None."""
        ...

    def head(self, scope: Scope) -> str:
        """The hash of the scope's newest valid decision; empty where there is none."""
        ...

    def wait(self, topic: str, after: int, timeout: float, *, partition: int = 0) -> bool:
        """Blocks until the topic's end is beyond `after` or `timeout` seconds are over; tells which."""
        ...

    def close(self) -> None: ...


class IndexView(Protocol):
    """What a partition's topics hold, without reading them; as of one moment."""

    def next_offset(self, topic: str) -> int:
        """The offset of the topic from which its records are not in the index yet."""
        ...

    def latest(self) -> str:
        """The newest recorded time that the index knows; empty where there is none."""
        ...

    def known(self, topic: str, keys: Sequence[tuple[str, str, str]]) -> dict[tuple[str, str, str], tuple[int, str]]:
        """(offset, content hash) of the first record of each (scope, source, id) that is there."""
        ...

    def heads(self, scopes: Sequence[str]) -> dict[str, str]:
        """The hash of the newest valid decision of each scope that has one."""
        ...

    def last_input(self, scope: str) -> int | None:
        """The highest dynamics offset of the scope."""
        ...

    def session_turns(self, scope: str, session: str, before: int, limit: int, as_of: int) -> list[int]:
        """The dynamics offsets of a session's last turns below `before`, oldest first; none that an input below `as_of` hid."""
        ...

    def turn_at(self, scope: str, turn_id: str, as_of: int) -> int | None:
        """The dynamics offset of the first turn of that id, unless an input below `as_of` hid it."""
        ...

    def counts(self) -> dict[str, int]:
        """What was counted so far, by name."""
        ...


class IndexStep(IndexView, Protocol):
    """One atomic step of the index, which nobody else takes at the same time."""

    def fold(self, topic: str, records: Sequence[Stored], next_offset: int) -> None:
        """Takes in records that follow on what the index knows. What it knows already changes nothing."""
        ...

    def count(self, topic: str, next_offset: int, counts: Mapping[str, int]) -> None:
        """Adds to the counts what became of a topic's records below `next_offset`, and goes on from there."""
        ...


class LogIndex(Protocol):
    """A projection of the topics of one partition for the log itself: ids seen, heads, sessions. Any process may fold it on."""

    def reading(self) -> AbstractContextManager[IndexView]: ...

    def step(self) -> AbstractContextManager[IndexStep]: ...

    def close(self) -> None: ...


class SeenTurn(msgspec.Struct, frozen=True):
    """A turn as an extractor sees it."""

    id: str
    turn: Turn


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """An extractor's output for one turn."""

    candidates: list[Candidate]
    context_ids: list[str] = []
    raw: str = ""
    model: str = ""
    prompt_hash: str = ""


class Extractor(Protocol):
    """Understands one turn, seeing only the last turns of its session. May call a model; its output is recorded.

    One that waits for a server may have an attribute `concurrency`: how many turns of different scopes it is asked about at
    once, from as many threads (default 1).
    """

    @property
    def name(self) -> str:
        """Name and version, e.g. `offline/1`."""
        ...

    @property
    def window(self) -> int:
        """How many earlier turns of the session it wants to see."""
        ...

    def extract(self, turn: SeenTurn, window: Sequence[SeenTurn]) -> Extraction:
        """Candidates of `turn`, each with an exact span of it. `window` is oldest first and excludes the turn.

        Raises ModelUnavailable (the turn waits) or ModelOutputInvalid (tried again, then recorded as failed).
        """
        ...


class Embedder(Protocol):
    """Text to unit vectors."""

    @property
    def name(self) -> str:
        """Name, version and dimension: vectors of different names are never mixed."""
        ...

    @property
    def dim(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(len(texts), dim) float32, each row of length 1."""
        ...

    def count_tokens(self, text: str) -> int:
        """How many tokens of this embedder's tokenizer the text is."""
        ...


class VectorHit(msgspec.Struct, frozen=True):
    point_id: str
    score: float
    """Cosine similarity, -1..1."""


class VectorStore(Protocol):
    """A scope-isolated nearest-neighbour index over points with deterministic ids."""

    def upsert(self, scope: str, kind: str, points: Sequence[tuple[str, int, NDArray[np.float32]]]) -> None:
        """Points (id, position, vector) of a `kind` (such as `turn`, `window`, `slot`); an older position never overwrites
        a newer one."""
        ...

    def delete(self, scope: str, point_ids: Sequence[str]) -> None: ...

    def search(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        """The nearest points of these scopes, best first; the filter sits in the store."""
        ...

    def flush(self, next_offset: int) -> None:
        """Makes durable all upserts so far and then `next_offset`, the dynamics offset from which to fill on."""
        ...

    @property
    def next_offset(self) -> int: ...

    def close(self) -> None: ...
