"""Recall: what a memory holds about a question. Every route reads only the scopes it is given, and the turns themselves are
always searched too, so that a question about something that was said is never answered with nothing. No answer takes longer
than its time budget, and each says what is missing from it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from ..processors.core.ports import Embedder
from ..schemas.registry import Registry
from ..schemas.scope import Scope
from ..schemas.times import parse_time, to_text
from .answers import Answers
from .budget import Budget, usual_seconds
from .choose import Choice, choose
from .context import Context, assemble
from .facts import FactCache, Facts
from .hits import Found, Hit, HitKind
from .ports import MemoryReader
from .profiles import Profile, profile_of
from .rank import WEIGHTS
from .rerank import Reranker, reranked
from .routes import Asked, Gathered, Routes
from .trace import Placed, RouteTrace, Trace
from .turns import TurnSearch
from .understand import DEFAULT_LIMIT, MAX_LIMIT, Question, QuestionReader, understand
from .vectors import NearestPoints, QuestionVectors

__all__ = ["KINDS", "MAX_QUESTION", "Context", "Found", "Hit", "Recall"]

KINDS: tuple[HitKind, ...] = ("slot", "event", "summary", "turn")
MAX_QUESTION = 2000
"""Characters. Of a longer question only the beginning is looked for."""
_MET = 10_000
_LINE = 1000
"""Characters of a text whose tokens are remembered."""
_OLD = 10
"""Past values of one slot for each place in an answer, since some are folded or left out; one slot may have had thousands."""
_SPARE = 6
"""Turns found beyond those wanted, for those that are folded or left out."""


class Recall:
    """Answers questions from the read models, the keyword indexes and the vector store. Thread-safe."""

    def __init__(
        self,
        reader: MemoryReader,
        embedder: Embedder | None = None,
        vectors: NearestPoints | None = None,
        registry: Registry | None = None,
        *,
        weights: Sequence[float] = WEIGHTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without `embedder` and `vectors` turns are found by their words alone, and tokens are estimated.

        registry: the Form types whose aliases name slots (default: the built-in ones). weights: of the signals that turns are
        ranked by, in the order of `rank.SIGNALS`. clock: seconds, which budgets are measured with.
        """
        self.reader = reader
        self.embedder = embedder
        self._registry = registry if registry is not None else Registry.load()
        self._clock = clock
        self._facts = FactCache(reader, self._registry)
        self.vectors = QuestionVectors(embedder, vectors)
        turns = TurnSearch(reader, self.vectors, weights)
        self._routes = Routes(reader, self._registry, self._facts, turns, self.vectors)
        self._answers = Answers(clock)
        self._counted = lru_cache(maxsize=4096)(self._count_tokens)
        self._lock = threading.Lock()
        self._met: OrderedDict[str, None] = OrderedDict()
        """Scopes that were asked about; losing one of them costs no more than a longer budget."""

    def search(
        self,
        scopes: Sequence[Scope | str],
        query: str,
        *,
        limit: int | None = None,
        now: str | None = None,
        include_history: bool = False,
        kinds: Collection[HitKind] = KINDS,
        profile: str | Profile | None = None,
        time_budget: float | None = None,
        trace: bool = False,
        reader: QuestionReader | None = None,
        reranker: Reranker | None = None,
    ) -> Found:
        """What these scopes hold about `query`, best first: slots that it names, events of its time, turns.

        limit: how many at most (default: 5, 10 or 20 by the kind of question). now: when it is asked (default: now), which
        "last week" is counted from. include_history: old values too, though the question does not ask for them; they are
        always marked. kinds: which kinds of hits. profile: what orders them (`profiles`). time_budget: seconds, by default 0.2
        (more where a scope or the embedder is used for the first time); what is not there by then is named in `missing`.
        trace: the answer says how it came about. reader, reranker: models that may know better, see their protocols.
        Raises InvalidInput for a profile that there is not.
        """
        order = profile_of(profile)
        keys = list(dict.fromkeys(str(scope) for scope in scopes))
        budget = self._budget(keys, time_budget)
        moment = _moment(now)
        text = query[:MAX_QUESTION].strip()
        key = (tuple(keys), text, limit, now, include_history, tuple(sorted(kinds)), order, reader, reranker)
        if not trace and key in self._answers:
            kept = self._kept(key, keys, text, kinds, moment, budget)
            if kept is not None:
                return kept
        question = self._understood(text, moment, reader, budget)
        wanted = min(limit if limit is not None else question.limit, MAX_LIMIT)
        if not question.text or wanted < 1 or not keys:
            return Found(hits=[], question=question)
        past = include_history or question.past
        # A reranker reads more than is shown, else it could only turn round what is chosen already.
        pool = wanted * 2 if reranker is not None else wanted
        asked = Asked(keys, question, moment, frozenset(kinds), past, pool + min(_SPARE, pool), old=pool * _OLD)
        gathered = self._gathered(asked, budget)
        choice = choose(gathered, question, order, self._registry, moment, pool, past=past)
        hits = reranked(choice.hits, question.text, reranker, budget)[:wanted]
        found = Found(hits=hits, question=question, missing=dict(budget.missing))
        if trace:
            return msgspec.structs.replace(found, trace=_trace(question, keys, order, gathered, choice, hits, budget))
        self._answers.put(key, gathered.stands, found)
        return found

    def context(
        self,
        scopes: Sequence[Scope | str],
        query: str,
        *,
        budget: int = 2000,
        limit: int | None = None,
        now: str | None = None,
        behind: int = 0,
        profile: str | Profile | None = None,
        time_budget: float | None = None,
        trace: bool = False,
        reader: QuestionReader | None = None,
        reranker: Reranker | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> Context:
        """The prompt text for a question, at most `budget` tokens. `behind`, how many inputs are not in yet, is passed on;
        count_tokens: the tokens of a text (default: the embedder's tokenizer); the rest is as in `search`."""
        order = profile_of(profile)
        keys = list(dict.fromkeys(str(scope) for scope in scopes))
        seconds = self._budget(keys, time_budget)
        moment = _moment(now)
        question = self._understood(query[:MAX_QUESTION].strip(), moment, reader, seconds)
        wanted = min(limit if limit is not None else max(question.limit, DEFAULT_LIMIT), MAX_LIMIT)
        asked = Asked(keys, question, moment, frozenset(("slot", "event", "turn")), True, wanted + _SPARE, pending=True)
        gathered = self._gathered(asked, seconds)
        only_turns = gathered._replace(slots=[], events=[], summaries=[])
        choice = choose(only_turns, question, order, self._registry, moment, wanted, past=True)
        turns = reranked(choice.hits, question.text, reranker, seconds)
        made = assemble(
            question,
            facts=[gathered.facts[key] for key in keys if key in gathered.facts],
            scopes=keys,
            forms=gathered.forms,
            now=moment,
            slots=gathered.slots,
            events=gathered.events,
            turns=turns,
            pending=gathered.pending,
            registry=self._registry,
            budget=budget,
            count=count_tokens if count_tokens is not None else self._count,
            behind=behind,
        )
        told = _trace(question, keys, order, gathered, choice, [*gathered.slots, *gathered.events, *turns], seconds)
        return msgspec.structs.replace(made, missing=dict(seconds.missing), trace=told if trace else None)

    def facts_of(self, scope: Scope | str) -> Facts:
        """What is known in a scope, as of now."""
        return self._facts.of(str(scope))

    def _budget(self, keys: Sequence[str], seconds: float | None) -> Budget:
        if seconds is None:
            seconds = usual_seconds(cold=any(key not in self._met for key in keys))
        return Budget(seconds, self._clock)

    def _gathered(self, asked: Asked, budget: Budget) -> Gathered:
        gathered = self._routes.gather(asked, budget)
        # Only now: who asks while the first one is still loading is given as much time.
        with self._lock:
            for key in asked.scopes:
                self._met[key] = None
                self._met.move_to_end(key)
            while len(self._met) > _MET:
                self._met.popitem(last=False)
        return gathered

    def _understood(self, text: str, moment: str, reader: QuestionReader | None, budget: Budget) -> Question:
        plain = understand(text, self._registry, moment)
        if reader is None or not text:
            return plain

        def work() -> Question:
            better = reader.read(plain, moment)
            if not isinstance(better, Question):
                raise TypeError(f"read() gave {type(better).__name__}, not Question")
            return msgspec.structs.replace(better, text=plain.text, limit=min(max(better.limit, 1), MAX_LIMIT))

        return budget.result("reader", budget.start("reader", work)) or plain

    def _kept(
        self, key: tuple[object, ...], keys: list[str], text: str, kinds: Collection[HitKind], moment: str, budget: Budget
    ) -> Found | None:
        """The answer that was given before, where nothing it rests on has moved."""
        asked = Asked(keys, Question(text=text, lang="en", terms=[]), moment, frozenset(kinds), False, 0)
        stands = budget.result("cursor", budget.start("cursor", lambda: self._routes.stands(asked)))
        # Whoever cannot say where they stand is asked for the answer itself.
        budget.missing.pop("cursor", None)
        return None if stands is None else self._answers.get(key, stands, moment)

    def _count(self, text: str) -> int:
        # Most lines of a context are those of the one before.
        return self._counted(text) if len(text) <= _LINE else self._count_tokens(text)

    def _count_tokens(self, text: str) -> int:
        if self.embedder is not None:
            return self.embedder.count_tokens(text)
        # Four bytes to a token in most tokenizers, one and a half for Chinese: on the safe side of both.
        return -(-len(text.encode("utf-8", "replace")) // 3)


def _moment(now: str | None) -> str:
    return parse_time(now, "now")[0] if now is not None else to_text(datetime.now(UTC))


def _trace(
    question: Question,
    keys: list[str],
    profile: Profile,
    gathered: Gathered,
    choice: Choice,
    hits: Sequence[Hit],
    budget: Budget,
) -> Trace:
    shown = {hit.id for hit in hits}
    cuts = list(choice.cuts)
    cuts += [one for one in choice.beyond if one.id not in shown]
    routes: dict[str, RouteTrace] = {}
    for ran in budget.ran:
        before = routes.get(ran.route)
        if before is None or before.state == "answered":
            routes[ran.route] = ran
    return Trace(
        question=question,
        scopes=keys,
        profile=profile.name,
        budget_ms=round(budget.seconds * 1000, 3),
        milliseconds=round(budget.elapsed() * 1000, 3),
        routes=list(routes.values()),
        forms=gathered.forms,
        edges=gathered.walks,
        cut=cuts,
        order=[Placed(id=hit.id, score=hit.score, routes=hit.routes, signals=hit.why) for hit in hits],
    )
