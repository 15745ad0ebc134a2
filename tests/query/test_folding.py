"""Nothing is shown twice."""

from __future__ import annotations

import pytest

from mnemolog.query.folding import fold
from mnemolog.query.hits import Hit
from mnemolog.query.ids import memory_id, parse_memory_id
from mnemolog.query.trace import Cut
from mnemolog.schemas.errors import InvalidInput

ME = "acme/user:1"


def turn(text: str, name: str, *, at: str = "2026-05-20T12:00:00.000000Z", speaker: str = "", scope: str = ME) -> Hit:
    return Hit(
        kind="turn",
        id=name,
        text=text,
        score=0.5,
        scope=scope,
        event_ids=[name],
        occurred_at=at,
        status="said",
        confidence=1.0,
        routes=["vectors"],
        speaker=speaker,
    )


def stated(quote: str, *turns: str) -> Hit:
    return Hit(
        kind="slot",
        id="slot",
        text=quote,
        score=1.0,
        scope=ME,
        event_ids=list(turns),
        occurred_at="2026-05-20T12:00:00.000000Z",
        status="current",
        confidence=1.0,
        routes=["slots"],
        quote=quote,
    )


def test_a_turn_that_a_slot_quotes_is_folded_into_it() -> None:
    cuts: list[Cut] = []
    (hit,) = fold([stated("I live in Oslo", "t1"), turn("I live in Oslo.", "t1")], cuts)
    assert (hit.id, hit.also, hit.routes) == ("slot", ["t1"], ["slots", "vectors"])
    assert cuts == [Cut(id="t1", why="the slot quotes it: folded into slot")]


def test_a_turn_that_says_more_stays_and_names_the_slot() -> None:
    more = turn("I live in Oslo, and yesterday we took the ferry to the islands and swam.", "t1")
    _, hit = fold([stated("I live in Oslo", "t1"), more], [])
    assert hit.same_as == "slot"


def test_a_turn_of_another_scope_is_another_turn() -> None:
    other = turn("I live in Oslo.", "t1", scope="acme/user:2")
    assert len(fold([stated("I live in Oslo", "t1"), other], [])) == 2


@pytest.mark.parametrize(
    ("first", "second", "folded"),
    [
        ("We walked the dog in the park.", "we walked the dog in the park", True),
        ("We walked the dog in the park", "We walked the cat in the park.", False),
        ("我们在公园里遛狗，天气很好。", "我们在公园里遛狗，天气很好", True),
        ("我们在公园里遛狗，天气很好。", "我们在公园里喂猫，天气很冷。", False),
        ("Yes.", "yes.", True),
        ("Yes.", "No.", False),
        ("!", "?", False),
    ],
)
def test_turns_that_say_the_same_are_one(first: str, second: str, folded: bool) -> None:
    hits = fold([turn(first, "a"), turn(second, "b")], [])
    assert [(hit.id, hit.also) for hit in hits] == ([("a", ["b"])] if folded else [("a", []), ("b", [])])


def test_who_says_it_and_on_which_day_makes_a_difference() -> None:
    text = "We walked the dog in the park."
    assert len(fold([turn(text, "a", speaker="Anna"), turn(text, "b", speaker="Ben")], [])) == 2
    assert len(fold([turn(text, "a"), turn(text, "b", at="2026-05-27T12:00:00.000000Z")], [])) == 2
    assert len(fold([turn(text, "a", at="0001-01-01T00:00:00.000000Z"), turn(text, "b")], [])) == 2


def test_ids_lead_back_to_what_they_name() -> None:
    made = memory_id("turn", "acme/user:a/b c", "my source/1", "t/1?%")
    assert made == "turn/user:a%2Fb%20c/my%20source%2F1/t%2F1%3F%25"
    found = parse_memory_id(made)
    assert found == ("turn", "user:a/b c", ("my source/1", "t/1?%"))
    assert memory_id("slot", "acme/user:1", "f", "budget", 3) == "slot/user:1/f/budget/3"
    for text in ("", "turn", "turn/user:1", "turn/user:1/a", "boat/user:1/a", "event/user:1/a/b", None):
        with pytest.raises(InvalidInput, match="id"):
            parse_memory_id(text)  # type: ignore[arg-type]
