"""What a question is understood to ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.query.periods import find_period
from mnemolog.query.understand import understand
from mnemolog.schemas.registry import Registry
from mnemolog.schemas.times import MAX_TIME, MIN_TIME

NOW = "2026-05-20T12:00:00.000000Z"  # a Wednesday
REGISTRY = Registry.load()


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("What happened last week?", "2026-05-11", "2026-05-18"),
        ("上周我们决定了什么", "2026-05-11", "2026-05-18"),
        ("上周三说了什么", "2026-05-13", "2026-05-14"),
        ("yesterday", "2026-05-19", "2026-05-20"),
        ("昨天买了什么", "2026-05-19", "2026-05-20"),
        ("what did I buy in May", "2026-05-01", "2026-06-01"),
        ("what did I buy in March", "2026-03-01", "2026-04-01"),
        ("who came on Monday", "2026-05-18", "2026-05-19"),
        ("notes of 2025", "2025-01-01", "2026-01-01"),
        ("on 2026-05-04", "2026-05-04", "2026-05-05"),
        ("between May 3 and May 10", "2026-05-03", "2026-05-11"),
        ("since April", "2026-04-01", None),
        ("4月以来", "2026-04-01", None),
        ("before April", None, "2026-04-01"),
        ("in the last three days", "2026-05-17", None),
        ("过去三天", "2026-05-17", None),
        ("最近忙什么", "2026-05-06", None),
        ("what have I done recently", "2026-05-06", None),
    ],
)
def test_periods(text: str, since: str | None, until: str | None) -> None:
    period = find_period(text, NOW)
    assert period is not None
    assert period.since[:10] == (since or MIN_TIME[:10])
    assert period.until[:10] == (until or MAX_TIME[:10])
    assert period.words in text


def test_a_day_is_the_askers_own() -> None:
    period = find_period("yesterday", "2026-05-19T23:30:00.000000Z", utc_offset=120)
    assert period is not None
    assert (period.since, period.until) == ("2026-05-18T22:00:00.000000Z", "2026-05-19T22:00:00.000000Z")


@pytest.mark.parametrize("text", ["", "What is my budget?", "我住在哪里？", "every day", "I may come"])
def test_no_period(text: str) -> None:
    assert find_period(text, NOW) is None


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("What is the budget?", ("project", "budget")),
        ("我们的预算是多少？", ("project", "budget")),
        ("我对什么过敏", ("person", "allergies")),
        ("What is my e-mail address?", ("person", "email")),
        ("Which HOBBIES do I have", ("person", "hobbies")),
    ],
)
def test_slots_are_named_by_their_aliases(text: str, slot: tuple[str, str]) -> None:
    assert slot in understand(text, REGISTRY, NOW).slots


def test_words_that_only_ask_name_no_slot() -> None:
    assert understand("What did I do with them, and when?", REGISTRY, NOW).slots == []


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("Where do I live?", 5),
        ("我住在哪里？", 5),
        ("Which of the things that Anna and Tom told me about the garden are still to be decided?", 10),
        ("Plan a dinner for my friends", 20),
        ("帮我安排一次聚餐", 20),
    ],
)
def test_how_many(text: str, limit: int) -> None:
    assert understand(text, REGISTRY, NOW).limit == limit


@pytest.mark.parametrize(
    ("text", "past"), [("Where did I live before?", True), ("预算为什么改了", True), ("Where do I live?", False)]
)
def test_questions_after_the_past(text: str, past: bool) -> None:
    assert understand(text, REGISTRY, NOW).past is past


@given(st.text(max_size=200))
def test_any_text_is_understood(text: str) -> None:
    assert understand(text, REGISTRY, NOW) == understand(text, REGISTRY, NOW)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("What is the budget of Apollo?", "state"),
        ("Where do I live?", "state"),
        ("我的预算是多少", "state"),
        ("How did the budget change?", "process"),
        ("What happened last week?", "process"),
        ("为什么改了预算", "process"),
        ("Am I allowed to smoke here?", "rule"),
        ("What are the rules?", "rule"),
        ("可以吃花生吗", "rule"),
        ("Plan a trip to Rome", "planning"),
        ("帮我安排一次聚餐", "planning"),
        ("Tell me a joke", "open"),
        ("Anna and Ben", "open"),
    ],
)
def test_what_a_question_is_after(text: str, intent: str) -> None:
    assert understand(text, REGISTRY, NOW).intent == intent


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What is the budget of Apollo?", ["Apollo"]),
        ("Does Anna know Ben?", ["Anna", "Ben"]),
        ("Where does Jill Smith's manager live?", ["Jill Smith"]),
        ('Who wrote "Dune Messiah"?', ["Dune Messiah"]),
        ("《三体》的作者是谁", ["三体"]),
        ("Tell me about Lake Geneva.", ["Lake Geneva"]),
        ("NASA budget", ["NASA"]),
        ("What did I buy on Monday?", []),
        ("Where do I live?", []),
        ("How is the weather?", []),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert understand(text, REGISTRY, NOW).names == names


@pytest.mark.parametrize(
    ("text", "overview"),
    [
        ("What happened last week?", True),
        ("上周我做了什么", True),
        ("Summarize May for me", True),
        ("Summarize what I know", False),
        ("Who came on Monday?", False),
    ],
)
def test_an_overview_is_of_a_stretch_of_time(text: str, overview: bool) -> None:
    assert understand(text, REGISTRY, NOW).overview is overview


@pytest.mark.parametrize("now", [MIN_TIME, MAX_TIME])
@pytest.mark.parametrize("text", ["yesterday", "next week", "last year", "in the last 999 years", "过去十年", "tomorrow"])
def test_the_ends_of_time(now: str, text: str) -> None:
    understand(text, REGISTRY, now)


@pytest.mark.parametrize(
    ("question", "slot"),
    [
        ("Where do I live?", "home"),
        ("Where is Jack living these days?", "home"),
        ("我现在住在哪里？", "home"),
        ("Where am I from?", "origin"),
        ("Where does she work?", "employer"),
        ("我在哪家公司上班？", "employer"),
        ("What does my sister do for a living?", "job"),
        ("How old is Nora?", "age"),
        ("When was I born?", "birthday"),
        ("What can't I eat?", "allergies"),
        ("我不能吃什么？", "diet"),
        ("How tall is he?", "height"),
    ],
)
def test_a_slot_is_asked_for_without_its_name(question: str, slot: str) -> None:
    assert ("person", slot) in understand(question, REGISTRY, NOW).slots


@pytest.mark.parametrize(
    "question", ["Where did I leave my keys?", "What did we decide?", "我们决定了什么？", "Who wrote the report?"]
)
def test_other_questions_ask_for_no_such_slot(question: str) -> None:
    asked = {slot for _, slot in understand(question, REGISTRY, NOW).slots}
    assert not asked & {"home", "origin", "employer", "job", "age", "birthday", "diet", "allergies", "height", "weight"}
