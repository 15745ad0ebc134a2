"""What is in doubt before a turn: asked in the user's language, about what the message touches, with dates and words, and
nothing recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from mnemolog import AsyncMemory, Memory, View
from mnemolog.query.check import Doubt
from mnemolog.schemas.errors import InvalidInput, NotAllowed

ME = "user:1"
SAID = [
    ("home", "2026-01-05T10:00:00Z", "I live in Oslo and I'm vegetarian."),
    ("budget", "2026-01-05T11:00:00Z", "The budget of the Apollo project is 5000 euros."),
    ("dislike", "2026-01-06T10:00:00Z", "I dislike football."),
    ("deadline", "2026-01-07T10:00:00Z", "The deadline of the Apollo project is 2026-03-01."),
    ("rule", "2026-01-08T10:00:00Z", "Please always answer in English."),
    ("hedged", "2026-01-09T10:00:00Z", "The budget of the Apollo project is about 7000 euros."),
    ("weight", "2025-01-08T10:00:00Z", "I weigh 70 kg."),
    ("birthday", "2026-01-09T10:00:00Z", "My friend Jack's birthday is maybe on May 4."),
    ("height", "2025-01-08T10:00:00Z", "I am 170 cm tall."),
    ("owner", "2026-01-08T10:00:00Z", "The owner of the Apollo project is Anna."),
    ("height again", "2026-01-08T10:00:00Z", "I am 170 cm tall."),
]
SOON = "2026-01-20T10:00:00Z"
LATER = "2026-04-20T10:00:00Z"


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory(embedder=False) as made:
        for name, when, text in SAID:
            made.add(text, subject=ME, id=name, occurred_at=when)
        made.add("The owner of the Apollo project is Ben.", subject="project:apollo", id="team", occurred_at=SOON)
        yield made


def asked(memory: Memory, message: str, now: str = SOON) -> list[Doubt]:
    return list(memory.check(message, subject=ME, now=now))


@pytest.mark.parametrize(
    ("message", "slot", "question"),
    [
        ("I live in Rome.", "home", "Does user live in Rome? So far: Oslo, since 2026-01-05."),
        ("我住在罗马。", "home", "用户住在罗马吗？目前记录的是Oslo（自2026-01-05起）。"),
        ("Please always answer in French.", "answer_language", "Should I answer in French? So far: English, since 2026-01-08."),
        ("I love football.", "dislikes", "Does user like football? So far: dislikes: football, since 2026-01-06."),
    ],
)
def test_what_the_message_says_otherwise_is_asked(memory: Memory, message: str, slot: str, question: str) -> None:
    [doubt] = asked(memory, message)
    assert (doubt.kind, doubt.why, doubt.slot, doubt.question) == ("conflict", "differs", slot, question)
    assert [value.status for value in doubt.values] == ["confirmed", "said"]
    assert doubt.values[0].quote
    assert doubt.values[0].event_id in {name for name, _, _ in SAID}
    assert doubt.values[1].quote in message


@pytest.mark.parametrize(
    "message",
    [
        "I live in Oslo.",
        "I moved from Oslo to Rome.",
        "No, I meant I live in Rome, not in Oslo.",
        "From next month on I live in Rome.",
        "Do I live in Rome?",
        "If I live in Rome, what changes?",
        "Hello there!",
        "",
        "\ud800",
    ],
)
def test_what_is_known_said_to_change_or_not_claimed_is_not_asked(memory: Memory, message: str) -> None:
    assert [doubt for doubt in asked(memory, message) if doubt.why == "differs"] == []


def test_what_is_pending_against_what_is_confirmed_comes_with_both(memory: Memory) -> None:
    [doubt] = asked(memory, "Is the budget of Apollo enough?")
    assert (doubt.kind, doubt.why) == ("conflict", "contradicts")
    assert [(value.value, value.status, value.since[:10]) for value in doubt.values] == [
        ("5000 euros", "confirmed", "2026-01-05"),
        ("7000 euros", "pending", "2026-01-09"),
    ]
    assert doubt.pending_id in {view.pending_id for view in memory.pending(subject=ME)}
    assert doubt.question == "Is the budget of Apollo 7000 euros? So far: 5000 euros, since 2026-01-05."
    [in_chinese] = asked(memory, "Apollo的预算够吗？")
    assert in_chinese.question == "Apollo的预算是7000 euros吗？目前记录的是5000 euros（自2026-01-05起）。"


def test_a_pending_question_is_put_where_it_is_touched(memory: Memory) -> None:
    [doubt] = [doubt for doubt in asked(memory, "What shall I give Jack for his birthday?") if doubt.slot == "birthday"]
    assert (doubt.kind, doubt.why) == ("pending", "hedged")
    assert doubt.pending_id
    assert doubt.question.startswith("Is Jack's birthday")
    assert asked(memory, "What shall I cook?") == []


def test_what_changes_by_itself_is_asked_again_and_what_was_said_again_is_not(memory: Memory) -> None:
    [doubt] = asked(memory, "How much protein for my weight?")
    assert (doubt.kind, doubt.why, doubt.slot) == ("stale", "long_ago", "weight")
    assert doubt.question == "Does user weigh 70 kg? That was last said on 2025-01-08."
    assert asked(memory, "Which bike for my height?") == []


def test_a_date_that_is_over_is_asked_about(memory: Memory) -> None:
    question = "When is the deadline of Apollo?"
    assert [doubt for doubt in asked(memory, question) if doubt.kind == "stale"] == []
    [doubt] = [doubt for doubt in asked(memory, question, LATER) if doubt.kind == "stale"]
    assert doubt.why == "passed"
    assert doubt.question == "Apollo deadline was to be 2026-03-01. Has that happened, or is there another date?"


def test_scopes_that_hold_different_values_are_named(memory: Memory) -> None:
    message = "Who is the owner of Apollo?"
    [doubt] = memory.check(message, subject=ME, also=["project:apollo"], now=SOON)
    assert (doubt.kind, doubt.why) == ("conflict", "several")
    assert [(value.value, value.scope, value.event_id) for value in doubt.values] == [
        ("Anna", "default/user:1", "owner"),
        ("Ben", "default/project:apollo", "team"),
    ]
    assert doubt.question == "Does Anna own Apollo? In project:apollo it is Ben, since 2026-01-20."
    assert memory.check(message, subject=ME, now=SOON) == []
    assert memory.check(message, subject="project:apollo", now=SOON) == []


def test_the_most_worth_comes_first_and_no_more_than_asked_for(memory: Memory) -> None:
    message = "I live in Rome, I'm vegan, I love football and is the budget of Apollo enough for my weight?"
    doubts = asked(memory, message)
    assert len(doubts) == 3
    worths = [doubt.worth for doubt in memory.check(message, subject=ME, limit=10, now=SOON)]
    assert worths == sorted(worths, reverse=True)
    assert len(worths) > 3
    assert [doubt.worth for doubt in doubts] == worths[:3]
    assert len({(doubt.form_id, doubt.slot) for doubt in doubts}) == 3


def test_nothing_is_recorded(memory: Memory) -> None:
    memory.process()
    before = memory.stats()
    first = asked(memory, "I live in Rome.")
    assert asked(memory, "I live in Rome.") == first
    assert memory.stats() == before


def test_it_looks_only_where_it_may(memory: Memory) -> None:
    narrow = memory.seen_by(View("apollo", subjects=("project:apollo",)))
    with pytest.raises(NotAllowed):
        narrow.check("I live in Rome.", subject=ME)
    assert narrow.check("I live in Rome.", subject="project:apollo") == []
    only_projects = memory.seen_by(View("projects", form_types=("project",)))
    assert only_projects.check("I live in Rome.", subject=ME, now=SOON) == []


def test_what_is_no_text_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="message"):
        memory.check(5, subject=ME)  # type: ignore[arg-type]


def test_it_can_be_awaited(memory: Memory) -> None:
    async def ask() -> list[Doubt]:
        return await AsyncMemory(memory).check("I live in Rome.", subject=ME, now=SOON)

    assert [doubt.slot for doubt in asyncio.run(ask())] == ["home"]
