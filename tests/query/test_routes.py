"""Routes beside each other: what is slow or dead is named and costs no more than the budget, and the rest is answered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemolog.adapters.vectors.scan import ScanVectors
from mnemolog.processors.core.ports import VectorHit
from mnemolog.query.budget import Budget
from mnemolog.query.crew import MOST_BUSY, Crew
from mnemolog.query.recall import Recall
from mnemolog.query.trace import Trace
from mnemolog.query.understand import Question
from mnemolog.schemas.errors import Unavailable
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.views import FormView, SummaryView, TimelineEntry, TurnView
from query.memory import HashingEmbedder, Lists, event, form, slot, version

ME = "acme/user:1"
NOW = "2026-05-20T12:00:00.000000Z"
MAY_10 = "2026-05-10T09:00:00.000000Z"


class Gate(Lists):
    """Lists of which some reads wait until they are let go, or fail."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()
        self.blocked: set[str] = set()
        self.failing: dict[str, Exception] = {}
        self.calls: list[str] = []

    def _pass(self, name: str) -> None:
        self.calls.append(name)
        if name in self.blocked:
            assert self.released.wait(60)
        if name in self.failing:
            raise self.failing[name]

    def forms(self, scope: Scope | str, form_type: str | None = None, include_retired: bool = False) -> list[FormView]:
        self._pass("forms")
        return super().forms(scope, form_type, include_retired)

    def timeline(
        self,
        scope: Scope | str,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[TimelineEntry]:
        self._pass("timeline")
        return super().timeline(scope, since, until, limit, newest_first)

    def closed_summaries(self, scope: Scope | str) -> list[SummaryView]:
        self._pass("summaries")
        return super().closed_summaries(scope)

    def turns_by_offset(self, scope: Scope | str, offsets: Sequence[int]) -> list[TurnView]:
        self._pass("turns")
        return super().turns_by_offset(scope, offsets)


class Slow(HashingEmbedder):
    """An embedder that waits until it is let go."""

    def __init__(self, released: threading.Event) -> None:
        self.released = released

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        assert self.released.wait(60)
        return super().embed(texts)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    made.say(ME, "The budget for Apollo is 4000 euros.", event_id="b1")
    made.say(ME, "We raise the Apollo budget to 5000 euros, since the roof leaks and the rain came in.", event_id="b2")
    made.say(ME, "Nice weather today.", event_id="w1")
    apollo = form(
        ME, "project", "apollo", [slot("budget", "5000 euros", "budget to 5000 euros", "b2", version=2)], name="Apollo"
    )
    made.form_views = [apollo]
    made.versions[ME] = [
        version(apollo, "budget", 1, "4000 euros", "The budget for Apollo is 4000 euros", "b1", valid_to=MAY_10),
        version(apollo, "budget", 2, "5000 euros", "budget to 5000 euros", "b2", before="4000 euros", current=True),
    ]
    made.entries[ME] = [event("e1", "met Anna at the harbour", "2026-05-12T10:00:00.000000Z")]
    made.weeks[ME] = [SummaryView(week="2026-W20", revision=1, closed=True, turns=3, sessions=1, lines=["met Anna"])]
    yield made
    made.released.set()


def recall(lists: Lists, embedder: HashingEmbedder | None = None, **options: Any) -> Recall:
    """With vectors of everything said so far."""
    made = HashingEmbedder()
    vectors = ScanVectors(made.dim)
    for scope, turns in lists.turns.items():
        for offset, turn in turns.items():
            vectors.upsert(scope, "turn", [(str(offset), offset, made.embed([turn.content])[0])])
    return Recall(lists, embedder or made, vectors, **options)


def test_every_route_answers_and_the_trace_says_what_it_brought(gate: Gate) -> None:
    found = recall(gate).search([ME], "What happened last week with the budget of Apollo?", now=NOW, trace=True)
    assert found.missing == {}
    trace = found.trace
    assert trace is not None
    assert {route.route for route in trace.routes} == {"slots", "turns", "timeline", "summaries", "vectors"}
    assert all(route.state == "answered" for route in trace.routes)
    assert {hit.kind for hit in found} == {"slot", "event", "summary", "turn"}
    assert [placed.id for placed in trace.order] == [hit.id for hit in found]
    assert trace.forms == [f"{ME}:project:apollo"]
    assert msgspec.json.decode(msgspec.json.encode(trace), type=Trace) == trace


@pytest.mark.parametrize(
    ("read", "route", "left"),
    [
        ("forms", "slots", {"event", "summary", "turn"}),
        ("timeline", "timeline", {"slot", "summary", "turn"}),
        ("summaries", "summaries", {"slot", "event", "turn"}),
        ("turns", "turns", {"slot", "event", "summary"}),
    ],
)
def test_a_dead_route_is_named_and_the_others_answer(gate: Gate, read: str, route: str, left: set[str]) -> None:
    gate.blocked.add(read)
    asking = recall(gate)
    question = "What happened last week with the budget of Apollo?"
    found = asking.search([ME], question, now=NOW, time_budget=1.0, trace=True)
    assert list(found.missing) == [route]
    assert "no answer after" in found.missing[route]
    assert {hit.kind for hit in found} == left
    assert found.trace is not None
    assert {one.route: one.state for one in found.trace.routes}[route] == "late"
    # What was late is there for the next question.
    gate.released.set()
    again = asking.search([ME], question, now=NOW, time_budget=60.0)
    assert (again.missing, {hit.kind for hit in again}) == ({}, left | {hit.kind for hit in again})


def test_turns_that_could_not_be_checked_say_so(gate: Gate) -> None:
    gate.blocked.add("forms")
    found = recall(gate).search([ME], "budget of Apollo", now=NOW, time_budget=3.0)
    assert {hit.status for hit in found} == {"unchecked"}
    assert recall(gate).context([ME], "budget of Apollo", now=NOW, time_budget=3.0).missing.keys() == {"slots"}


def test_a_route_that_fails_is_named_with_its_reason_and_logged(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    gate.failing["timeline"] = ValueError("a bug in it")
    with caplog.at_level(logging.ERROR, "mnemolog.recall"):
        found = recall(gate).search([ME], "What happened last week?", now=NOW, time_budget=60.0)
    assert found.missing == {"timeline": "ValueError: a bug in it"}
    assert "timeline failed" in caplog.text
    caplog.clear()
    gate.failing["timeline"] = Unavailable("the database is down")
    found = recall(gate).search([ME], "What happened last week?", now=NOW, time_budget=60.0)
    assert found.missing == {"timeline": "Unavailable: the database is down"}
    # Expected: whoever runs the database is told elsewhere.
    assert not caplog.records


def test_without_the_embedder_turns_are_found_by_their_words(gate: Gate) -> None:
    found = recall(gate, Slow(gate.released)).search([ME], "the weather", now=NOW, time_budget=3.0)
    assert list(found.missing) == ["vectors"]
    assert (found[0].event_ids, found[0].routes) == (["w1"], ["keywords"])


def test_a_vector_store_that_fails_is_named(gate: Gate) -> None:
    class Down(ScanVectors):
        def search(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
            raise Unavailable("no vectors today")

    asking = Recall(gate, HashingEmbedder(), Down(HashingEmbedder.dim))
    found = asking.search([ME], "the weather", now=NOW, time_budget=60.0)
    assert found.missing == {"vectors": "Unavailable: no vectors today"}
    assert found[0].event_ids == ["w1"]


def test_the_vector_of_a_question_is_computed_once(gate: Gate) -> None:
    class Counting(HashingEmbedder):
        asked: ClassVar[list[str]] = []

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            self.asked.extend(texts)
            return super().embed(texts)

    embedder = Counting()
    asking = recall(gate, embedder)
    for limit in (3, 4, 5):
        asking.search([ME], "the weather", now=NOW, limit=limit, time_budget=60.0)
    assert embedder.asked.count("the weather") == 1


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_is_not_there_when_the_time_is_over_is_not_waited_for() -> None:
    clock = Clock()
    budget = Budget(0.2, clock)
    released = threading.Event()
    assert budget.left("slots") == pytest.approx(0.17)
    assert budget.left("vectors") == pytest.approx(0.12)
    assert budget.left("reranker") == pytest.approx(0.2)
    future = budget.start("slots", lambda: released.wait(60))
    clock.now += 5
    assert budget.left("slots") == 0
    assert budget.result("slots", future) is None
    assert budget.missing == {"slots": "no answer after 5000 ms"}
    released.set()
    assert future.result(60)
    # What has answered by then is taken, however late it is looked at.
    assert budget.result("turns", future) is True


def test_only_the_first_question_about_a_scope_is_given_more_time(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemolog.query.budget.SECONDS", 0.25)
    monkeypatch.setattr("mnemolog.query.budget.COLD_SECONDS", 0.5)
    gate.blocked.add("forms")
    asking = recall(gate)
    for milliseconds in (500.0, 250.0, 250.0):
        found = asking.search([ME], "the weather", now=NOW, trace=True)
        assert list(found.missing) == ["slots"]
        assert found.trace is not None
        assert found.trace.budget_ms == milliseconds


def test_what_hangs_takes_no_more_than_its_share_of_threads() -> None:
    crew, released = Crew(), threading.Event()
    hanging = [crew.start("dead", lambda: released.wait(60)) for _ in range(MOST_BUSY)]
    with pytest.raises(Unavailable, match="earlier questions"):
        crew.start("dead", lambda: 1).result(60)
    assert crew.start("alive", lambda: 2).result(60) == 2
    released.set()
    assert all(future.result(60) for future in hanging)


def test_threads_that_are_done_are_used_again() -> None:
    crew = Crew()
    names = set()
    for _ in range(20):
        names.add(crew.start("work", lambda: threading.current_thread().ident).result(60))
    assert len(names) < 20


def test_a_repeated_question_is_answered_from_before_until_something_moves(gate: Gate) -> None:
    asking = recall(gate)
    first = asking.search([ME], "the weather", now=NOW)
    gate.calls.clear()
    assert asking.search([ME], "the weather", now=NOW) is first
    assert gate.calls == []
    assert asking.search([ME], "the weather", now=NOW, limit=2) is not first
    gate.say(ME, "The weather turns.", event_id="w2")
    assert "w2" in [one for hit in asking.search([ME], "the weather", now=NOW) for one in hit.event_ids]
    gate.changes += 1
    assert asking.search([ME], "the weather", now=NOW) is not first


def test_what_was_kept_ends_with_what_it_shows() -> None:
    lists, clock = Lists(), Clock()
    lists.say(ME, "the code is 1234", expires_at="2026-05-20T13:00:00.000000Z")
    asking = Recall(lists, clock=clock)
    assert len(asking.search([ME], "code", now=NOW)) == 1
    assert len(asking.search([ME], "code", now="2026-05-20T14:00:00.000000Z")) == 0
    kept = asking.search([ME], "code", now=NOW)
    clock.now += 3600
    again = asking.search([ME], "code", now=NOW)
    assert again == kept
    assert again is not kept


def test_an_answer_from_which_something_is_missing_is_not_kept(gate: Gate) -> None:
    asking = recall(gate)
    gate.failing["forms"] = Unavailable("down")
    assert asking.search([ME], "the weather", now=NOW, time_budget=60.0).missing
    gate.failing.clear()
    assert not asking.search([ME], "the weather", now=NOW, time_budget=60.0).missing


class Reader:
    """A question reader that does what it is told."""

    def __init__(self, read: Callable[[Question], Any]) -> None:
        self._read = read

    def read(self, question: Question, now: str) -> Question:
        made: Question = self._read(question)
        return made


def test_a_model_may_read_a_question_better(gate: Gate) -> None:
    better = Reader(lambda asked: msgspec.structs.replace(asked, slots=[("project", "budget")], intent="state", text="other"))
    plain = recall(gate).search([ME], "How rich are we?", now=NOW)
    assert not [hit for hit in plain if hit.kind == "slot"]
    found = recall(gate).search([ME], "How rich are we?", now=NOW, reader=better)
    assert [hit.slot for hit in found if hit.kind == "slot"] == ["budget"]
    assert (found.question.text, found.question.intent) == ("How rich are we?", "state")


def test_a_reader_that_fails_or_is_late_leaves_the_plain_reading(gate: Gate) -> None:
    def fails(_: Question) -> Any:
        raise RuntimeError("no model")

    plain = recall(gate).search([ME], "the weather", now=NOW)
    for read in (fails, lambda _: "not a question", lambda _: gate.released.wait(60)):
        found = recall(gate).search([ME], "the weather", now=NOW, reader=Reader(read), time_budget=1.0)
        assert list(found.missing) == ["reader"]
        assert (found.hits, found.question) == (plain.hits, plain.question)


class Longest:
    """Prefers long texts; or what it is told."""

    def __init__(self, scores: Callable[[Sequence[str]], Any] | None = None) -> None:
        self._scores = scores

    def rerank(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        made: Sequence[float] = self._scores(texts) if self._scores else [float(len(text)) for text in texts]
        return made


def test_a_reranker_has_the_last_word(gate: Gate) -> None:
    found = recall(gate).search([ME], "the weather", now=NOW, kinds=("turn",), limit=2, reranker=Longest(), trace=True)
    assert [len(hit.text) for hit in found] == sorted((len(hit.text) for hit in found), reverse=True)
    assert found[0].event_ids == ["b2"]
    assert [hit.score for hit in found] == [float(len(hit.text)) for hit in found]
    assert found.trace is not None
    assert all("reranker" in placed.signals for placed in found.trace.order)


def test_a_reranker_that_fails_or_is_late_changes_nothing(gate: Gate) -> None:
    plain = recall(gate).search([ME], "the weather", now=NOW)
    for scores in (lambda _: [1.0], lambda texts: [float("nan")] * len(texts), lambda _: gate.released.wait(60)):
        found = recall(gate).search([ME], "the weather", now=NOW, reranker=Longest(scores), time_budget=1.0)
        assert list(found.missing) == ["reranker"]
        assert [hit.id for hit in found] == [hit.id for hit in plain]


WORDS = st.sampled_from(["budget", "Apollo", "weather", "roof", "last week", "Anna", "before", "预算", "plan", "5000"])


@given(st.lists(WORDS, min_size=1, max_size=6), st.sampled_from(["relevance", "forms-dynamics", "enterprise"]), st.booleans())
def test_the_same_question_has_the_same_answer_and_nothing_old_is_unmarked(
    words: list[str], profile: str, history: bool
) -> None:
    lists = Gate()
    lists.say(ME, "The budget for Apollo is 4000 euros.", event_id="b1")
    lists.say(ME, "We raise the Apollo budget to 5000 euros because the roof leaks.", event_id="b2")
    lists.say(ME, "The budget for Apollo is 4000 euros.", event_id="b3", speaker="Anna")
    apollo = form(
        ME, "project", "apollo", [slot("budget", "5000 euros", "budget to 5000 euros", "b2", version=2)], name="Apollo"
    )
    lists.form_views = [apollo]
    lists.versions[ME] = [
        version(apollo, "budget", 1, "4000 euros", "The budget for Apollo is 4000 euros", "b1", valid_to=MAY_10),
        version(apollo, "budget", 2, "5000 euros", "budget to 5000 euros", "b2", before="4000 euros", current=True),
    ]
    question = " ".join(words)

    def answer() -> list[tuple[str, str, float]]:
        found = recall(lists).search([ME], question, now=NOW, profile=profile, include_history=history, time_budget=60.0)
        assert not found.missing
        assert len({hit.id for hit in found}) == len(found)
        past = history or found.question.past
        for hit in found:
            if hit.event_ids == ["b1"]:
                assert hit.status == "superseded"
                assert past or not [one for one in found if one.kind == "slot" and one.slot == "budget"]
            if hit.kind == "slot" and "4000" in hit.text:
                assert (hit.status, past) == ("superseded", True)
                assert hit.text.endswith("[no longer true since 2026-05-10]") or "自2026-05-10起" in hit.text
        return [(hit.id, hit.status, hit.score) for hit in found]

    assert answer() == answer()
