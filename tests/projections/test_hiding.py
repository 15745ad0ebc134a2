"""What is hidden is in no answer, and its words are in no other row."""

from __future__ import annotations

import msgspec
import pytest
import sqlalchemy as sa

from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.projections.weeks import due_weeks
from mnemolog.schemas import changes as ch
from mnemolog.schemas.inputs import ErasureRequested, RetractionRequested
from replay.hand import SCOPE, Writer, at, created, project, quote, slot, text


@pytest.fixture
def told(store: Store) -> Writer:
    """e0: Rome; e1: Oslo instead; e2: Oslo again, and a friend; e3: something else."""
    writer = Writer()
    writer.add(created(), slot(1, "Rome", evidence=[quote("e0", "secret Rome")]), content="secret Rome")
    writer.add(
        slot(2, "Oslo", reason="newer", supersedes=1, before=text("Rome"), evidence=[quote("e1", "Oslo")]),
        ch.EpisodeSeen(
            episode_id="ep1",
            episode="decision",
            actor="I",
            action="moved",
            before="Rome",
            after="Oslo",
            form_id="me",
            slot="home",
            occurred_at=at(1),
            evidence=[quote("e1", "Oslo")],
        ),
        content="Oslo",
    )
    writer.add(
        ch.SlotReinforced(form_id="me", slot="home", version=2, confidence=0.9, evidence=[quote("e2", "Oslo")], count=2),
        ch.EdgeAdded(
            edge_id="x", from_form="me", to_form="jack", relation="knows", valid_from=at(2), evidence=[quote("e2", "Jack")]
        ),
        ch.PendingOpened(
            pending_id="p",
            form_type="person",
            form_id="jack",
            slot="home",
            value=text("Bern"),
            why="hedged",
            question="Bern?",
            confidence=0.5,
            authority="user",
            valid_from=at(2),
            evidence=[quote("e2", "Bern")],
        ),
        content="Oslo, and Jack may be in Bern",
    )
    writer.add(content="something else", day=9)
    project(Projector(store), writer.items)
    return writer


def retract(store: Store, writer: Writer, **target: str) -> None:
    data = RetractionRequested(**{"target": "turn", "target_id": "x", **target})  # type: ignore[arg-type]
    writer.add(ch.Hidden(**{"target": "turn", **target}), data=data, day=9)  # type: ignore[arg-type]
    project(Projector(store), writer.items)


def stored_text(store: Store, *tables: str) -> str:
    """Everything in these tables that a reader could be given."""
    found: list[object] = []
    with store.reading() as (connection, current):
        for table in current.all():
            if table.name.rpartition("_")[0].removeprefix("rm_") in tables:
                visible = table.c.hidden == 0 if "hidden" in table.c else sa.true()
                found += [tuple(row) for row in connection.execute(sa.select(table).where(visible))]
    return repr(found)


def test_a_turn_takes_along_what_rests_on_it_alone(store: Store, told: Writer) -> None:
    retract(store, told, target="turn", target_id="e0")
    assert [turn.event_id for turn in store.turns(SCOPE)] == ["e1", "e2", "e3"]
    assert store.turn(SCOPE, "e0") is None
    assert store.turns_by_offset(SCOPE, [0]) == []
    [version] = store.history(SCOPE)
    assert (version.version, version.before, version.supersedes) == (2, None, 1)
    [entry] = store.timeline(SCOPE)
    assert (entry.before, entry.text) == ("", "I moved: … → Oslo")
    everywhere = ("forms", "versions", "evidence", "timeline", "edges", "pending", "turns", "rejected")
    assert "Rome" not in stored_text(store, *everywhere)


def test_a_value_said_twice_stays_without_the_hidden_quote(store: Store, told: Writer) -> None:
    retract(store, told, target="turn", target_id="e2")
    [standing] = store.forms(SCOPE)[0].slots
    assert (standing.value.data, standing.count, standing.evidence) == ("Oslo", 1, [quote("e1", "Oslo")])
    assert store.edges(SCOPE) == store.pending(SCOPE) == []


def test_what_ended_a_value_by_hand_goes_with_it_and_what_ended_it_in_words_stays(store: Store) -> None:
    """e1 empties the slot by hand and sets another element by hand; e3 says itself that it is not Bern any more."""
    told = Writer()
    told.add(created(), slot(1, "Rome", element="Rome", evidence=[quote("e0", "secret Rome")]), content="secret Rome")
    told.add(
        slot(2, "Rome", "retired", "corrected", element="Rome", supersedes=1),
        slot(3, "Oslo", reason="corrected", element="Oslo", before=text("Rome")),
    )
    told.add(slot(4, "Bern", element="Bern", evidence=[quote("e2", "Bern")]), content="Bern")
    told.add(slot(5, "Bern", "retired", "removed", element="Bern", supersedes=4, evidence=[quote("e3", "not Bern")]))
    project(Projector(store), told.items)
    retract(store, told, target="turn", target_id="e0")
    assert [(row.version, row.before) for row in store.history(SCOPE)] == [(4, None), (5, None), (3, None)]
    assert [standing.value.data for standing in store.forms(SCOPE)[0].slots] == ["Oslo"]
    assert "Rome" not in stored_text(store, "versions", "evidence", "timeline", "turns")
    retract(store, told, target="turn", target_id="e2")
    assert [(row.version, row.value) for row in store.history(SCOPE)] == [(5, text("Bern")), (3, text("Oslo"))]


def test_when_the_current_value_is_hidden_the_slot_is_empty(store: Store, told: Writer) -> None:
    retract(store, told, target="turn", target_id="e1")
    retract(store, told, target="turn", target_id="e2")
    assert store.forms(SCOPE)[0].slots == []
    assert [version.version for version in store.history(SCOPE)] == [1]
    assert store.timeline(SCOPE) == []


def test_a_slot_and_then_news_of_it(store: Store, told: Writer) -> None:
    retract(store, told, target="slot", target_id="me", slot="home")
    assert store.forms(SCOPE)[0].slots == store.history(SCOPE) == store.timeline(SCOPE) == []
    assert [pending.pending_id for pending in store.pending(SCOPE)] == ["p"]
    told.add(slot(3, "Bern", evidence=[quote("e5", "Bern")]))
    project(Projector(store), told.items)
    assert [s.value.data for s in store.forms(SCOPE)[0].slots] == ["Bern"]
    assert [version.version for version in store.history(SCOPE)] == [3]


def test_a_form_and_then_news_of_it(store: Store, told: Writer) -> None:
    retract(store, told, target="form", target_id="me")
    assert store.forms(SCOPE, include_retired=True) == store.history(SCOPE) == store.timeline(SCOPE) == []
    assert store.form(SCOPE, "me") is None
    assert store.edges(SCOPE) == []
    told.add(slot(3, "Bern", evidence=[quote("e5", "Bern")]))
    project(Projector(store), told.items)
    assert [s.value.data for s in store.forms(SCOPE)[0].slots] == ["Bern"]


def test_a_hidden_form_does_not_come_back_by_a_deadline(store: Store, told: Writer) -> None:
    retract(store, told, target="form", target_id="me")
    told.add(slot(2, "Oslo", reason="elapsed"))
    project(Projector(store), told.items)
    assert store.forms(SCOPE) == []


def test_all_of_a_scope_and_then_a_new_life(store: Store, told: Writer) -> None:
    told.add(ch.Hidden(target="scope"), data=ErasureRequested(), day=9)
    project(Projector(store), told.items)
    assert store.forms(SCOPE) == store.turns(SCOPE) == store.summaries(SCOPE) == store.scopes() == []
    told.add(created(), slot(1, "Bern", evidence=[quote("e5", "Bern")]), day=10)
    project(Projector(store), told.items)
    assert [s.value.data for s in store.forms(SCOPE)[0].slots] == ["Bern"]
    assert [version.value for version in store.history(SCOPE)] == [text("Bern")]
    assert [turn.event_id for turn in store.turns(SCOPE)] == ["e5"]
    assert store.scopes() == [str(SCOPE)]


def test_a_summary_that_told_of_it_is_not_shown_and_is_made_anew(store: Store, told: Writer) -> None:
    [first] = due_weeks(store)
    assert any("Rome" in line for line in first.summary.lines)
    _write(store, first.scope, first.summary, first.covered, 1)
    assert [view.week for view in store.closed_summaries(SCOPE)] == ["2026-W10"]
    retract(store, told, target="turn", target_id="e0")
    assert store.closed_summaries(SCOPE) == []
    [second] = due_weeks(store)
    assert (second.summary.week, second.summary.revision, second.summary.turns) == ("2026-W10", 2, 2)
    assert not any("Rome" in line for line in second.summary.lines)
    _write(store, second.scope, second.summary, second.covered, 2)
    assert [view.revision for view in store.closed_summaries(SCOPE)] == [2]
    assert due_weeks(store) == []


def test_a_summary_that_comes_after_the_erasure_it_knew_nothing_of_is_not_shown(store: Store, told: Writer) -> None:
    [due] = due_weeks(store)
    told.add(ch.Hidden(target="scope"), data=ErasureRequested(), day=9)
    project(Projector(store), told.items)
    _write(store, due.scope, due.summary, due.covered, 1)
    assert store.closed_summaries(SCOPE) == store.summaries(SCOPE) == []
    assert due_weeks(store) == []


def test_a_turn_with_a_difficult_id(store: Store) -> None:
    writer = Writer()
    odd = 'id"\\%_'
    writer.add(ch.EpisodeSeen(episode_id="a", episode="event", occurred_at=at(0), evidence=[quote(odd, "words")]), event_id=odd)
    writer.add(ch.EpisodeSeen(episode_id="b", episode="event", occurred_at=at(1), evidence=[quote(odd, "words")]))
    writer.add(ch.EpisodeSeen(episode_id="c", episode="event", occurred_at=at(1), evidence=[quote("id", "words")]))
    writer.add(ch.Hidden(target="turn", target_id=odd))
    project(Projector(store), writer.items)
    assert [entry.entry_id for entry in store.timeline(SCOPE)] == ["c"]


def _write(store: Store, scope: str, summary: ch.WeekSummarised, covered: int, offset: int) -> None:
    from mnemolog.projections.weeks import DueWeek, summary_events

    [event] = summary_events([DueWeek(scope=scope, summary=summary, covered=covered)])
    data = msgspec.convert(event.data, ch.WeekSummarised)
    Projector(store).write_summaries([(event, data)], first=offset - 1, next_summaries=offset)


def test_what_ends_a_hidden_value_without_saying_it_goes_with_it(store: Store) -> None:
    writer = Writer()
    writer.add(created(), slot(1, "Rome", evidence=[quote("e0", "Rome")]), content="Rome")
    writer.add(
        slot(2, "Rome", "retired", "removed", supersedes=1, evidence=[quote("e1", "not any more")]), content="not any more"
    )
    writer.add(slot(3, "Oslo", before=text("Rome"), supersedes=2, evidence=[quote("e2", "Oslo")]), content="Oslo")
    project(Projector(store), writer.items)
    retract(store, writer, target="turn", target_id="e0")
    assert [(row.version, row.before) for row in store.history(SCOPE)] == [(3, None)]
    assert "Rome" not in stored_text(store, "forms", "versions", "evidence", "timeline", "pending", "turns")


def test_what_ends_a_hidden_value_in_its_own_words_stays(store: Store) -> None:
    writer = Writer()
    writer.add(created(), slot(1, "Rome", evidence=[quote("e0", "Rome")]), content="Rome")
    writer.add(
        slot(2, "Rome", "retired", "removed", supersedes=1, evidence=[quote("e1", "no longer Rome")]), content="no longer Rome"
    )
    project(Projector(store), writer.items)
    retract(store, writer, target="turn", target_id="e0")
    assert [(row.version, row.value) for row in store.history(SCOPE)] == [(2, text("Rome"))]
