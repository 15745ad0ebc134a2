"""Recall: what a memory holds about a question. Every route reads only the scopes it is given, and the turns themselves are
always searched too, so that a question about something that was said is never answered with nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from ..processors.core.ports import Embedder, VectorStore
from ..schemas.registry import Registry
from ..schemas.scope import Scope
from ..schemas.times import parse_time, to_text
from .budget import COLD_SECONDS, Budget
from .context import Context, assemble
from .events import find_events
from .facts import FactCache
from .hits import Found, Hit, HitKind
from .ports import MemoryReader
from .rank import WEIGHTS
from .slots import find_slots
from .turns import TurnSearch, marked
from .understand import MAX_LIMIT, Question, understand
from .vectors import QuestionVectors

__all__ = ["KINDS", "MAX_QUESTION", "Context", "Found", "Hit", "Recall"]

KINDS: tuple[HitKind, ...] = ("slot", "event", "turn")
MAX_QUESTION = 2000
"""Characters. Of a longer question only the beginning is looked for."""


class Recall:
    """Answers questions from the read models, the keyword indexes and the vector store. Thread-safe."""

    def __init__(
        self,
        reader: MemoryReader,
        embedder: Embedder | None = None,
        vectors: VectorStore | None = None,
        registry: Registry | None = None,
        *,
        weights: Sequence[float] = WEIGHTS,
    ) -> None:
        """Without `embedder` and `vectors` turns are found by their words alone, and tokens are estimated.

        registry: the Form types whose aliases name slots (default: the built-in ones). weights: of the signals that turns are
        ranked by, in the order of `rank.SIGNALS`.
        """
        self._reader = reader
        self._embedder = embedder
        self._registry = registry if registry is not None else Registry.load()
        self._facts = FactCache(reader, self._registry)
        self._vectors = QuestionVectors(embedder, vectors)
        self._turns = TurnSearch(reader, self._vectors, weights)

    def search(
        self,
        scopes: Sequence[Scope | str],
        query: str,
        *,
        limit: int | None = None,
        now: str | None = None,
        include_history: bool = False,
        kinds: Sequence[HitKind] = KINDS,
    ) -> Found:
        """What these scopes hold about `query`, best first: slots that it names, events of its time, turns.

        limit: how many at most (default: 5, 10 or 20 by the kind of question). now: when it is asked (default: now), which
        "last week" is counted from. include_history: old values too, though the question does not ask for them; they are
        always marked. kinds: which kinds of hits.
        """
        question, moment = self._understood(query, now)
        wanted = min(limit if limit is not None else question.limit, MAX_LIMIT)
        if not question.text or wanted < 1:
            return Found(hits=[], question=question)
        keys = list(dict.fromkeys(str(scope) for scope in scopes))
        past = include_history or question.past
        slots = self._slots(keys, question, past=past) if "slot" in kinds else []
        events = self._events(keys, question, slots) if "event" in kinds else []
        turns = self._said(keys, question, wanted, moment) if "turn" in kinds else []
        return Found(hits=_shared_out(slots, events, turns, wanted), question=question)

    def context(
        self,
        scopes: Sequence[Scope | str],
        query: str,
        *,
        budget: int = 2000,
        limit: int | None = None,
        now: str | None = None,
        behind: int = 0,
    ) -> Context:
        """The prompt text for a question, at most `budget` tokens. `behind`, how many inputs are not in yet, is passed on."""
        question, moment = self._understood(query, now)
        wanted = min(limit if limit is not None else question.limit, MAX_LIMIT)
        keys = list(dict.fromkeys(str(scope) for scope in scopes))
        slots = self._slots(keys, question, past=True)
        return assemble(
            question,
            facts=[self._facts.of(key) for key in keys],
            slots=slots,
            events=self._events(keys, question, slots),
            turns=self._said(keys, question, wanted, moment),
            pending=[view for key in keys for view in self._reader.pending(key)],
            registry=self._registry,
            budget=budget,
            count=self._count_tokens,
            behind=behind,
        )

    def _understood(self, query: str, now: str | None) -> tuple[Question, str]:
        moment = parse_time(now, "now")[0] if now is not None else to_text(datetime.now(UTC))
        return understand(query[:MAX_QUESTION].strip(), self._registry, moment), moment

    def _slots(self, scopes: Sequence[str], question: Question, *, past: bool) -> list[Hit]:
        found = [hit for key in scopes for hit in find_slots(self._facts.of(key), question, self._registry, past=past)]
        return sorted(found, key=lambda hit: -hit.score) if len(scopes) > 1 else found

    def _events(self, scopes: Sequence[str], question: Question, slots: Sequence[Hit]) -> list[Hit]:
        found = [
            hit
            for key in scopes
            for hit in find_events(self._reader, key, question, [slot for slot in slots if slot.scope == key])
        ]
        return sorted(found, key=lambda hit: -hit.score) if len(scopes) > 1 else found

    def _said(self, scopes: Sequence[str], question: Question, limit: int, now: str) -> list[Hit]:
        with self._vectors.within(Budget(COLD_SECONDS)):
            return [marked(hit, self._facts.of(hit.scope)) for hit in self._turns.find(scopes, question, limit, now)]

    def _count_tokens(self, text: str) -> int:
        if self._embedder is not None:
            return self._embedder.count_tokens(text)
        # Four bytes to a token in most tokenizers, one and a half for Chinese: on the safe side of both.
        return -(-len(text.encode("utf-8", "replace")) // 3)


def _shared_out(slots: Sequence[Hit], events: Sequence[Hit], turns: Sequence[Hit], limit: int) -> list[Hit]:
    """Slots get up to half, events up to a quarter, turns the rest; what one kind leaves another takes."""
    n_slots = min(len(slots), max(1, limit // 2))
    n_events = min(len(events), max(1, limit // 4), limit - n_slots)
    n_turns = min(len(turns), limit - n_slots - n_events)
    n_events += min(len(events) - n_events, limit - n_slots - n_events - n_turns)
    n_slots += min(len(slots) - n_slots, limit - n_slots - n_events - n_turns)
    # One scale for one list: turns lie in 0..1, events above them, slots above those.
    raised = [msgspec.structs.replace(hit, score=2 + hit.score) for hit in slots[:n_slots]]
    raised += [msgspec.structs.replace(hit, score=1 + hit.score) for hit in events[:n_events]]
    return [*raised, *turns[:n_turns]]
