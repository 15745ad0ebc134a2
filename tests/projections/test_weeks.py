"""Weekly summaries: what they say, when they are due, and that late or shuffled turns end in the same ones."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.processors.core.ports import EventLog
from mnemolog.projections.digest import digest_store
from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.projections.summaries import week_bounds
from mnemolog.projections.weeks import due_weeks, summarise_due, summary_events
from mnemolog.schemas import changes as ch
from mnemolog.schemas.events import SUMMARIES
from mnemolog.schemas.times import iso_week
from mnemolog.schemas.views import SummaryView
from replay.hand import SCOPE, Writer, at, created, project, quote, slot, text
from replay.logged import bring_up, emptied, record
from replay.stories import SCOPES, Step, steps, tell


def episode(name: str, day: float) -> ch.EpisodeSeen:
    return ch.EpisodeSeen(
        episode_id=name, episode="event", actor="I", action=f"did {name}", occurred_at=at(day), evidence=[quote("e0")]
    )


def told(writer: Writer, store: Store, log: EventLog) -> list[SummaryView]:
    record(log, writer.items[log.end("memory.dynamics.v1") :])
    bring_up(log, store)
    return store.summaries(SCOPE)


def test_a_closed_week_says_what_changed_and_happened(store: Store) -> None:
    writer = Writer()
    writer.add(created(), slot(1, "Rome", valid_from=at(0)), day=0, session="a")
    writer.add(
        slot(2, "Oslo", reason="newer", supersedes=1, before=text("Rome"), cause="a job", valid_from=at(1)), day=1, session="a"
    )
    writer.add(episode("something", 0.5), slot(3, "May", slot="when", valid_from=at(60)), day=2, session="b")
    ended = slot(4, None, status="retired", reason="removed", supersedes=2, before=text("Oslo"), valid_from=at(3))
    writer.add(ended, day=3, session="b")
    writer.add(day=8, session="c")
    [closed, still_open] = told(writer, store, MemoryLog())
    assert closed == SummaryView(
        week="2026-W10",
        revision=1,
        closed=True,
        turns=4,
        sessions=2,
        lines=[
            "2026-03-02 home: Rome",
            "2026-03-02 I did something",
            "2026-03-03 home: Rome → Oslo (because a job)",
            "2026-03-04 when: May from 2026-05-01",
            "2026-03-05 home: no longer Oslo",
        ],
    )
    assert (still_open.week, still_open.closed, still_open.turns, still_open.revision) == ("2026-W11", False, 1, 0)


def test_a_late_turn_makes_a_revision(store: Store) -> None:
    writer, log = Writer(), MemoryLog()
    writer.add(episode("one", 0), day=0)
    writer.add(day=8)
    assert [view.revision for view in told(writer, store, log)] == [1, 0]
    writer.add(episode("two", 1), day=1)
    [closed, _] = told(writer, store, log)
    assert (closed.revision, closed.turns) == (2, 2)
    assert closed.lines == ["2026-03-02 I did one", "2026-03-03 I did two"]
    assert [view.revision for view in told(writer, store, log)] == [2, 0]
    assert log.end(SUMMARIES) == 2


def test_a_change_that_is_told_as_an_episode_is_told_once(store: Store) -> None:
    writer = Writer()
    both = [
        slot(1, "Rome"),
        ch.EpisodeSeen(
            episode_id="x", episode="decision", action="home", after="Rome", form_id="me", slot="home", occurred_at=at(0)
        ),
    ]
    writer.add(created(), *both, day=0)
    writer.add(day=8)
    assert told(writer, store, MemoryLog())[0].lines == ["2026-03-02 home: Rome"]


def test_a_plan_for_the_future_does_not_close_the_present_week(store: Store) -> None:
    writer = Writer()
    writer.add(episode("trip", 40), day=0)
    assert [(view.week, view.closed) for view in told(writer, store, MemoryLog())] == [("2026-W10", False)]
    assert due_weeks(store) == []


def test_what_becomes_of_a_scheduled_version_does_not_rewrite_its_week(store: Store) -> None:
    writer, log = Writer(), MemoryLog()
    writer.add(created(), slot(1, "Oslo", status="scheduled", valid_from=at(20)), day=0)
    writer.add(day=8)
    before = told(writer, store, log)[0]
    writer.add(slot(1, "Oslo", reason="elapsed", valid_from=at(20)), day=20)
    writer.add(day=1)
    after = told(writer, store, log)[0]
    assert after.lines == before.lines == ["2026-03-02 home: Oslo from 2026-03-22"]
    assert store.history(SCOPE)[0].input_id == "e0"
    assert store.forms(SCOPE)[0].slots[0].status == "confirmed"


def test_a_crash_between_appending_and_projecting_is_made_good(store: Store) -> None:
    writer, log = Writer(), MemoryLog()
    writer.add(episode("one", 0), day=0)
    writer.add(day=8)
    record(log, writer.items)
    projector = Projector(store)
    project(projector, writer.items)
    due = due_weeks(store)
    assert log.append_derived(SUMMARIES, summary_events(due, epoch=log.epoch)) == 1
    # Here the process died; the next one finds the same week due, and the event there already.
    assert due_weeks(store) == due
    assert summarise_due(log, store, projector) == 0
    assert [view.revision for view in store.closed_summaries(SCOPE)] == [1]
    assert log.end(SUMMARIES) == 1


def test_only_the_scopes_that_were_touched_are_looked_at(store: Store) -> None:
    items = tell([(place, "episode", day) for day in (0, 8) for place in (0, 1)])
    project(Projector(store), items)
    assert [due.scope for due in due_weeks(store, [(str(SCOPES[1]), "2026-W11")])] == [str(SCOPES[1])]
    assert [due.scope for due in due_weeks(store)] == [str(SCOPES[0]), str(SCOPES[1])]
    assert due_weeks(store, []) == []


@pytest.mark.parametrize("week", ["2026-W10", "2020-W53", "0001-W01", "9999-W52"])
def test_the_bounds_of_a_week(week: str) -> None:
    start, end = week_bounds(week)
    assert iso_week(start) == week
    assert start < end


def summaries(items: Sequence[object], size: int) -> tuple[object, dict[str, str]]:
    """The final summaries of a log that was processed in batches of `size`."""
    log = MemoryLog()
    record(log, items)  # type: ignore[arg-type]
    store = emptied()
    bring_up(log, store, size)
    return [_content(store.summaries(scope)) for scope in SCOPES], digest_store(store)


def _content(views: Sequence[SummaryView]) -> list[SummaryView]:
    return [msgspec.structs.replace(view, revision=0) for view in views]


@given(steps, st.integers(1, 9))
def test_batch_sizes_do_not_show(story: list[Step], size: int) -> None:
    items = tell(story)
    assert summaries(items, size) == summaries(items, len(items))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=14), st.randoms(use_true_random=False), st.integers(1, 5))
def test_late_and_shuffled_turns_end_in_the_weeks_of_the_turns_in_order(days: list[int], random: object, size: int) -> None:
    """Within seven days of grace: each turn brings its own episode; they arrive in any order."""
    in_order = [(number, day) for number, day in enumerate(sorted(days))]
    shuffled = list(in_order)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    def arrive(order: list[tuple[int, int]]) -> list[object]:
        writer = Writer()
        for number, day in order:
            # Days 4..10: both sides of the boundary between two weeks.
            moment = 4 + day + number / 100
            writer.add(episode(f"n{number}", moment), day=moment, event_id=f"turn{number}", session=f"s{number % 3}")
        return list(writer.items)

    assert summaries(arrive(in_order), len(days))[0] == summaries(arrive(shuffled), size)[0]
