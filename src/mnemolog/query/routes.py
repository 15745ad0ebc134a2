"""What the routes bring, each in a thread of its own and under one budget: slots with what they lead to, the timeline, the
weeks' summaries, and always the turns. What one of them brings does not wait for another that is slow or dead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from typing import NamedTuple, TypeVar

from ..schemas.registry import Registry
from ..schemas.views import PendingView
from .budget import Budget
from .events import find_events
from .facts import FactCache, Facts
from .hits import Hit
from .overviews import find_overviews
from .ports import MemoryReader
from .slots import SlotsFound, find_slots
from .trace import Walk
from .turns import TurnSearch, marked
from .understand import Question
from .vectors import QuestionVectors

__all__ = ["Asked", "Gathered", "Routes"]

T = TypeVar("T")


class Asked(NamedTuple):
    """One question to the routes. `past`: what stood before is asked for too, of each slot the `old` newest values; `turns`:
    how many of them."""

    scopes: list[str]
    question: Question
    now: str
    kinds: Collection[str]
    past: bool
    turns: int
    old: int = 0
    pending: bool = False


class Gathered(NamedTuple):
    """What was found in time, by kind, best first. `facts` of each scope, none where they are missing."""

    facts: dict[str, Facts]
    slots: list[Hit]
    events: list[Hit]
    summaries: list[Hit]
    turns: list[Hit]
    pending: list[PendingView]
    forms: list[str]
    walks: list[Walk]
    stands: tuple[object, ...]
    """How far everything was when it was read."""


class _Known(NamedTuple):
    facts: dict[str, Facts]
    found: SlotsFound
    pending: list[PendingView]


class Routes:
    """Runs them. Thread-safe."""

    def __init__(
        self, reader: MemoryReader, registry: Registry, facts: FactCache, turns: TurnSearch, vectors: QuestionVectors
    ) -> None:
        self._reader = reader
        self._registry = registry
        self._facts = facts
        self._turns = turns
        self._vectors = vectors

    def gather(self, asked: Asked, budget: Budget) -> Gathered:
        """Everything that the routes find in time; what they do not is noted in the budget."""
        question, kinds = asked.question, asked.kinds
        known = budget.start("slots", lambda: self._known(asked))
        said = budget.start("turns", lambda: self._said(asked, budget)) if "turn" in kinds else None
        timed = "event" in kinds and question.period is not None
        happened = budget.start("timeline", lambda: self._happened(asked, [])) if timed else None
        overview = question.period if "summary" in kinds and question.overview else None
        weeks = budget.start("summaries", lambda: self._weeks(asked)) if overview is not None else None

        now_known = budget.result("slots", known, lambda one: _ids(one.found.hits)) or _Known({}, SlotsFound([], [], []), [])
        slots = now_known.found.hits
        if "event" in kinds and question.period is None and question.past and slots:
            happened = budget.start("timeline", lambda: self._happened(asked, slots))
        summaries = budget.result("summaries", weeks, _ids) if weeks is not None else []
        events = budget.result("timeline", happened, _ids) if happened is not None else []
        turns, stand = (budget.result("turns", said, lambda one: _ids(one[0])) if said is not None else None) or ([], ())
        facts = now_known.facts
        return Gathered(
            facts=facts,
            slots=slots if "slot" in kinds else [],
            events=events or [],
            summaries=summaries or [],
            turns=[marked(hit, facts.get(hit.scope)) for hit in turns],
            pending=now_known.pending,
            forms=now_known.found.forms,
            walks=now_known.found.walks,
            stands=(*(one.state for one in facts.values()), *stand),
        )

    def stands(self, asked: Asked) -> tuple[object, ...]:
        """How far everything is that an answer rests on: while it is the same, so is the answer."""
        facts = [self._reader.stand(scope) for scope in asked.scopes]
        return (*facts, *(self._ends(asked) if "turn" in asked.kinds else ()))

    def _ends(self, asked: Asked) -> tuple[object, ...]:
        return (*(self._reader.written(scope) for scope in asked.scopes), self._vectors.stand(asked.scopes))

    def _known(self, asked: Asked) -> _Known:
        facts = {scope: self._facts.of(scope) for scope in asked.scopes}
        found = [
            find_slots(known, asked.question, self._registry, asked.now, past=asked.past, old=asked.old)
            for known in facts.values()
        ]
        hits = [hit for one in found for hit in one.hits]
        if len(found) > 1:
            hits.sort(key=lambda hit: -hit.score)
        pending = [view for scope in asked.scopes for view in self._reader.pending(scope)] if asked.pending else []
        forms = [form_id for one in found for form_id in one.forms]
        return _Known(facts, SlotsFound(hits, forms, [step for one in found for step in one.walks]), pending)

    def _happened(self, asked: Asked, slots: Sequence[Hit]) -> list[Hit]:
        def of(scope: str) -> list[Hit]:
            mine = [hit for hit in slots if hit.scope == scope]
            return find_events(self._reader, scope, asked.question, mine)

        return self._each(asked, of)

    def _weeks(self, asked: Asked) -> list[Hit]:
        period = asked.question.period
        if period is None:
            return []
        return self._each(asked, lambda scope: find_overviews(self._reader, scope, period, asked.question.lang))

    def _each(self, asked: Asked, find: Callable[[str], list[Hit]]) -> list[Hit]:
        found: list[Hit] = []
        for scope in asked.scopes:
            with self._reader.snapshot(scope):
                found += find(scope)
        return sorted(found, key=lambda hit: -hit.score) if len(asked.scopes) > 1 else found

    def _said(self, asked: Asked, budget: Budget) -> tuple[list[Hit], tuple[object, ...]]:
        # Before the rows: if anything moves on in between, the answer counts as an older one.
        ends = self._ends(asked)

        def find() -> list[Hit]:
            return self._turns.find(asked.scopes, asked.question, asked.turns, asked.now)

        with ExitStack() as stack:
            for scope in asked.scopes:
                stack.enter_context(self._reader.snapshot(scope))
            with self._vectors.within(budget):
                found = find()
            if len(asked.scopes) > 1 and "vectors" in budget.missing:
                # Some scopes had them and some had not: no scope is to win by that.
                with self._vectors.within(None):
                    found = find()
        return found, ends


def _ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in hits]
