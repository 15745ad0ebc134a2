"""Turns that come late or out of order, up to seven days, end in the weeks and windows that they would have been in."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from engine.talk import SAID, SCOPES, START, Rig, examples, memory_rig
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import make
from mnemolog.schemas.inputs import Turn
from mnemolog.schemas.times import add_seconds, iso_week
from mnemolog.schemas.views import SummaryView

HOUR = 3600
GRACE = 7 * 24 * HOUR

told = st.lists(st.tuples(st.integers(0, len(SAID) - 1), st.integers(11, 4000)), min_size=2, max_size=16)
"""(what is said, minutes since the turn before): further apart than repetitions are looked for."""


def turns(story: list[tuple[int, int]]) -> list[Envelope]:
    events: list[Envelope] = []
    now = START
    for number, (what, minutes) in enumerate(story):
        now = add_seconds(now, minutes * 60)
        turn = Turn(content=SAID[what], session=f"s{number % 3}", occurred_at=now)
        events.append(make(turn, scope=SCOPES[number % 2], event_id=f"e{number:02}", time=now))
    return events


def delayed(events: list[Envelope], chance: Random) -> list[Envelope]:
    """The same turns as they may arrive when each is held up to seven days."""
    return sorted(events, key=lambda event: add_seconds(event.time, chance.randrange(GRACE)))


def windows(rig: Rig) -> dict[str, list[tuple[str, bool, int, int]]]:
    return {
        str(scope): [(view.week, view.closed, view.turns, view.sessions) for view in rig.store.summaries(scope)]
        for scope in SCOPES[:2]
    }


def covered(rig: Rig) -> dict[tuple[str, str], list[str]]:
    """The inputs that the newest revision of each closed week rests on."""
    found: dict[tuple[str, str], list[str]] = {}
    for stored in rig.log.read("memory.summaries.v1"):
        data = Envelope.from_bytes(stored.value).data
        found[stored.scope, data["week"]] = data["input_ids"]
    return found


@examples(10)
@given(told, st.randoms(use_true_random=False), st.integers(1, 7))
def test_the_windows_do_not_depend_on_the_order_of_arrival(story: list[tuple[int, int]], chance: Random, size: int) -> None:
    events = turns(story)
    in_order, late = memory_rig(), memory_rig()
    in_order.add(events)
    arrived = delayed(events, chance)
    for start in range(0, len(arrived), size):
        late.add(arrived[start : start + size])
    assert windows(late) == windows(in_order)
    assert covered(late) == covered(in_order)
    for scope in SCOPES[:2]:
        for view in late.store.summaries(scope):
            mine = [event for event in events if event.scope == scope and iso_week(event.time) == view.week]
            assert view.turns == len(mine)
            assert view.sessions == len({event.data["session"] for event in mine})
    late.check()
    in_order.close()
    late.close()


@examples(10)
@given(told)
def test_a_week_reads_the_same_whenever_it_was_summarised(story: list[tuple[int, int]]) -> None:
    events = turns(story)
    at_once, one_by_one = memory_rig(), memory_rig()
    at_once.add(events)
    for event in events:
        one_by_one.add([event])
    assert lines(at_once) == lines(one_by_one)
    assert at_once.digests() == one_by_one.digests()
    at_once.close()
    one_by_one.close()


def lines(rig: Rig) -> list[SummaryView]:
    return [view for scope in SCOPES[:2] for view in rig.store.closed_summaries(scope)]


APART = (
    "My name is Ana.",
    "I like coffee.",
    "I am allergic to peanuts.",
    "The budget for the kitchen is 5000 euros.",
    "We decided to postpone the launch until 3 July 2026.",
    "Please always answer in French.",
    "我喜欢喝茶。",
    "我对花生过敏。",
)
"""None of these replaces another, so that no line says what was there before."""


@examples(8)
@given(st.permutations(range(len(APART))), st.randoms(use_true_random=False))
def test_the_lines_do_not_depend_on_the_order_of_arrival(order: list[int], chance: Random) -> None:
    events: list[Envelope] = []
    for number, what in enumerate(order):
        now = add_seconds(START, number * 3 * 24 * HOUR)
        turn = Turn(content=APART[what], session="s", occurred_at=now)
        events.append(make(turn, scope=SCOPES[0], event_id=f"e{number}", time=now))
    in_order, late = memory_rig(), memory_rig()
    in_order.add(events)
    for event in delayed(events, chance):
        late.add([event])
    read = [[(view.week, view.lines) for view in rig.store.summaries(SCOPES[0])] for rig in (in_order, late)]
    assert read[0] == read[1]
    assert sum(len(week_lines) for _, week_lines in read[0]) >= len(APART)
    in_order.close()
    late.close()


def test_a_late_turn_makes_a_new_revision_of_its_own_week_alone() -> None:
    rig = memory_rig()
    scope = SCOPES[0]

    def say(event_id: str, content: str, day: int) -> None:
        time = f"2026-03-{day:02}T09:00:00.000000Z"
        rig.add([make(Turn(content=content, occurred_at=time), scope=scope, event_id=event_id, time=time)])

    say("a", "I like tea.", 2)
    say("b", "I like coffee.", 9)
    say("c", "I like rice.", 16)
    assert [(view.week, view.revision, view.turns) for view in rig.store.closed_summaries(scope)] == [
        ("2026-W10", 1, 1),
        ("2026-W11", 1, 1),
    ]
    say("d", "I like soup.", 10)
    assert [(view.week, view.revision, view.turns) for view in rig.store.closed_summaries(scope)] == [
        ("2026-W10", 1, 1),
        ("2026-W11", 2, 2),
    ]
    assert any("soup" in line for line in rig.store.closed_summaries(scope)[1].lines)
    rig.check()
    rig.close()
