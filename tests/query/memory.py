"""A reader over plain lists, and an embedder that hashes words: what the tests of finding stand on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from mnemolog.adapters.vectors.scan import ScanVectors
from mnemolog.processors.core.text import query_terms, terms
from mnemolog.query.recall import Recall
from mnemolog.schemas.observations import Evidence
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import add_seconds
from mnemolog.schemas.values import Value
from mnemolog.schemas.views import EdgeView, FormView, PendingView, SlotView, SummaryView, TimelineEntry, TurnView, VersionView

START = "2026-05-04T09:00:00.000000Z"


class HashingEmbedder:
    """Each word is a direction: texts are close where they share words that name something. No model."""

    name = "hashing/64"
    dim = 64

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            for term in query_terms(text) or [""]:
                seed = int.from_bytes(hashlib.sha256(term.encode()).digest()[:8], "big")
                vectors[row] += np.random.default_rng(seed).standard_normal(self.dim).astype(np.float32)
            vectors[row] /= np.linalg.norm(vectors[row])
        return vectors

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class TurnFields(TypedDict, total=False):
    session: str
    role: str
    speaker: str
    occurred_at: str
    expires_at: str | None
    event_id: str


class SlotFields(TypedDict, total=False):
    element: str
    status: str
    version: int
    confidence: float
    valid_from: str
    cause: str


class VersionFields(TypedDict, total=False):
    status: str
    current: bool
    valid_from: str
    valid_to: str | None
    before: str
    cause: str


class Lists:
    """A MemoryReader over lists that a test fills."""

    def __init__(self) -> None:
        self.turns: dict[str, dict[int, TurnView]] = {}
        self.form_views: list[FormView] = []
        self.versions: dict[str, list[VersionView]] = {}
        self.entries: dict[str, list[TimelineEntry]] = {}
        self.questions: dict[str, list[PendingView]] = {}
        self.edge_views: dict[str, list[EdgeView]] = {}
        self.weeks: dict[str, list[SummaryView]] = {}
        self.asked: set[str] = set()
        self.end = 0
        self.changes = 0

    def say(self, scope: str, content: str, **fields: Unpack[TurnFields]) -> int:
        offset = self.end
        self.end += 1
        self.turns.setdefault(scope, {})[offset] = TurnView(
            event_id=fields.get("event_id", f"t{offset}"),
            source="mnemolog",
            offset=offset,
            session=fields.get("session", "default"),
            agent="default",
            role=fields.get("role", "user"),
            speaker=fields.get("speaker", ""),
            content=content,
            occurred_at=fields.get("occurred_at", add_seconds(START, 60 * offset)),
            expires_at=fields.get("expires_at"),
        )
        return offset

    def snapshot(self, scope: Scope | str) -> AbstractContextManager[None]:
        return nullcontext()

    def stand(self, scope: Scope | str) -> tuple[int | str, ...]:
        return self.changes, self.end

    def written(self, scope: Scope | str) -> int:
        return self.end

    def edges(self, scope: Scope | str) -> list[EdgeView]:
        self.asked.add(str(scope))
        return self.edge_views.get(str(scope), [])

    def forms(self, scope: Scope | str, form_type: str | None = None, include_retired: bool = False) -> list[FormView]:
        self.asked.add(str(scope))
        return [
            form
            for form in self.form_views
            if form.scope == str(scope)
            and form_type in (None, form.form_type)
            and (include_retired or form.status == "current")
        ]

    def history(self, scope: Scope | str, form_id: str | None = None, slot: str | None = None) -> list[VersionView]:
        self.asked.add(str(scope))
        return [
            version
            for version in self.versions.get(str(scope), [])
            if form_id in (None, version.form_id) and slot in (None, version.slot)
        ]

    def timeline(
        self,
        scope: Scope | str,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[TimelineEntry]:
        self.asked.add(str(scope))
        found = [
            entry
            for entry in self.entries.get(str(scope), [])
            if (since is None or entry.occurred_at >= since) and (until is None or entry.occurred_at < until)
        ]
        found.sort(key=lambda entry: entry.occurred_at, reverse=newest_first)
        return found[:limit]

    def pending(self, scope: Scope | str) -> list[PendingView]:
        self.asked.add(str(scope))
        return self.questions.get(str(scope), [])

    def closed_summaries(self, scope: Scope | str) -> list[SummaryView]:
        self.asked.add(str(scope))
        return self.weeks.get(str(scope), [])

    def turns_by_offset(self, scope: Scope | str, offsets: Sequence[int]) -> list[TurnView]:
        self.asked.add(str(scope))
        held = self.turns.get(str(scope), {})
        return [held[offset] for offset in offsets if offset in held]

    def turn_index(self, scope: Scope | str, after_offset: int = -1) -> list[tuple[int, str, str, str, str, str, str]]:
        self.asked.add(str(scope))
        return [
            (offset, turn.event_id, turn.session, turn.speaker, turn.role, turn.occurred_at, " ".join(terms(turn.content)))
            for offset, turn in sorted(self.turns.get(str(scope), {}).items())
            if offset > after_offset
        ]


def recall_over(lists: Lists, *, vectors: bool = True) -> Recall:
    """A Recall whose vectors are those of all turns said so far."""
    if not vectors:
        return Recall(lists)
    embedder = HashingEmbedder()
    store = ScanVectors(embedder.dim)
    for scope, turns in lists.turns.items():
        for offset, turn in turns.items():
            store.upsert(scope, "turn", [(str(offset), offset, embedder.embed([turn.content])[0])])
    return Recall(lists, embedder, store)


def words(text: str) -> Value:
    return Value(type="text", data=text)


def evidence(turn_id: str, quote: str) -> list[Evidence]:
    return [Evidence(turn_id, quote, 0, len(quote))]


def slot(name: str, value: str, quote: str, turn_id: str = "t0", **fields: Unpack[SlotFields]) -> SlotView:
    return SlotView(
        slot=name,
        element=fields.get("element", ""),
        value=words(value),
        status=fields.get("status", "confirmed"),
        version=fields.get("version", 1),
        confidence=fields.get("confidence", 0.9),
        authority="user",
        valid_from=fields.get("valid_from", START),
        cause=fields.get("cause", ""),
        count=1,
        evidence=evidence(turn_id, quote),
        recorded_at=START,
    )


def form(scope: str, form_type: str, key: str, slots: list[SlotView], *, name: str = "", status: str = "current") -> FormView:
    return FormView(
        scope=scope,
        form_id=f"{scope}:{form_type}:{key}",
        form_type=form_type,
        key=key,
        name=name,
        status=status,
        slots=slots,
        updated_at=START,
    )


def version(
    of: FormView, name: str, number: int, value: str, quote: str, turn_id: str, **fields: Unpack[VersionFields]
) -> VersionView:
    before = fields.get("before")
    return VersionView(
        form_id=of.form_id,
        form_type=of.form_type,
        slot=name,
        element="",
        version=number,
        value=words(value),
        status=fields.get("status", "confirmed"),
        current=fields.get("current", False),
        reason="newer" if before else "new",
        confidence=0.9,
        authority="user",
        valid_from=fields.get("valid_from", START),
        valid_to=fields.get("valid_to"),
        supersedes=number - 1 if before else None,
        before=words(before) if before else None,
        cause=fields.get("cause", ""),
        count=1,
        evidence=evidence(turn_id, quote),
        input_id=turn_id,
        session="default",
        recorded_at=START,
    )


def event(entry_id: str, text: str, occurred_at: str, form_id: str = "", slot_name: str = "") -> TimelineEntry:
    return TimelineEntry(
        entry_id=entry_id,
        occurred_at=occurred_at,
        kind="event",
        text=text,
        actor="",
        action="",
        object="",
        before="",
        after="",
        cause="",
        form_id=form_id,
        slot=slot_name,
        input_id=f"input of {entry_id}",
        session="default",
        evidence=[],
    )


def pending(pending_id: str, question: str, form_type: str, slot_name: str, value: str) -> PendingView:
    return PendingView(
        pending_id=pending_id,
        form_id="",
        form_type=form_type,
        name="",
        slot=slot_name,
        value=words(value),
        why="hedged",
        question=question,
        confidence=0.5,
        authority="user",
        opened_at=START,
        evidence=evidence("p0", value),
    )
