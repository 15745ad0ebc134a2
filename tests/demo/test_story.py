from __future__ import annotations

import msgspec

from mnemolog.demo import questions, story
from mnemolog.producers.turns import turns_of
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import iso_week, parse_time


def test_the_story_is_a_file_of_turns_in_order() -> None:
    turns = story()
    assert 55 <= len(turns) <= 70
    assert len({turn.id for turn in turns}) == len(turns)
    times = [parse_time(turn.occurred_at)[0] for turn in turns]
    assert times == sorted(times)
    assert [iso_week(time) for time in (times[0], times[-1])] == ["2026-W10", "2026-W13"]
    assert {turn.role for turn in turns} == {"user", "assistant"}
    for turn in turns:
        (event,) = turns_of(msgspec.to_builtins(turn), Scope("default", "user:mei"), now=times[0])
        assert event.id == turn.id


def test_both_languages_are_spoken() -> None:
    for turns in ([turn.content for turn in story() if turn.role == "user"], [item.question for item in questions()]):
        chinese = [text for text in turns if any("一" <= char <= "鿿" for char in text)]
        assert chinese
        assert len(chinese) < len(turns)
    assert len(questions()) == 3
