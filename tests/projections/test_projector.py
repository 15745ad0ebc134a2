"""What decisions become in the read models, batch by batch."""

from __future__ import annotations

import pytest

from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.schemas import changes as ch
from mnemolog.schemas.inputs import SessionEnded
from mnemolog.schemas.observations import Evidence
from replay.hand import OTHER, SCOPE, Writer, at, created, project, quote, slot, text


@pytest.fixture
def projector(store: Store) -> Projector:
    return Projector(store)


@pytest.fixture
def writer() -> Writer:
    return Writer()


def test_a_slot_that_went_a_b_and_back_to_a_is_three_versions(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(created(), slot(1, "Rome", evidence=[quote("e0", "Rome")]))
    writer.add(slot(2, "Oslo", reason="newer", supersedes=1, before=text("Rome"), cause="a job"))
    writer.add(slot(3, "Rome", reason="newer", supersedes=2, before=text("Oslo"), cause="homesick"))
    project(projector, writer.items)

    history = store.history(SCOPE, "me", "home")
    assert [(v.version, v.value and v.value.data, v.current, v.cause) for v in history] == [
        (1, "Rome", False, ""),
        (2, "Oslo", False, "a job"),
        (3, "Rome", True, "homesick"),
    ]
    assert [v.valid_to for v in history] == [history[1].valid_from, history[2].valid_from, None]
    assert history[2].before == text("Oslo")
    [form] = store.forms(SCOPE)
    [standing] = form.slots
    assert (standing.value.data, standing.version, standing.status) == ("Rome", 3, "confirmed")
    assert form.updated_at == at(2)


def test_reinforcement_adds_evidence_and_no_version(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(created(), slot(1, "Rome", evidence=[quote("e0")]))
    writer.add(ch.SlotReinforced(form_id="me", slot="home", version=1, confidence=0.95, evidence=[quote("e1")], count=2))
    project(projector, writer.items, size=1)

    [version] = store.history(SCOPE)
    assert (version.count, version.confidence) == (2, 0.95)
    assert [piece.turn_id for piece in version.evidence] == ["e0", "e1"]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_of_much_evidence_the_first_and_last_five_stay(store: Store, projector: Projector, writer: Writer, size: int) -> None:
    writer.add(created(), slot(1, "Rome", evidence=[quote("e0")]))
    for number in range(1, 23):
        writer.add(
            ch.SlotReinforced(
                form_id="me", slot="home", version=1, confidence=0.9, evidence=[quote(f"e{number}")], count=number + 1
            )
        )
    project(projector, writer.items, size=size)

    [version] = store.history(SCOPE)
    assert version.count == 23
    assert [piece.turn_id for piece in version.evidence] == [f"e{n}" for n in (0, 1, 2, 3, 4, 18, 19, 20, 21, 22)]
    assert store.forms(SCOPE)[0].slots[0].evidence == version.evidence


def test_a_late_fact_goes_into_history_and_leaves_the_current_value(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(created(), slot(1, "Rome", valid_from=at(5)))
    writer.add(slot(2, "Oslo", status="history", reason="late", valid_from=at(1)))
    project(projector, writer.items)

    assert [v.version for v in store.history(SCOPE)] == [2, 1]
    assert store.history(SCOPE)[0].valid_to == at(5)
    assert store.forms(SCOPE)[0].slots[0].version == 1


def test_a_scheduled_version_stands_beside_the_current_one_until_its_time(
    store: Store, projector: Projector, writer: Writer
) -> None:
    writer.add(created(), slot(1, "Rome"))
    writer.add(
        slot(2, "Oslo", status="scheduled", supersedes=1, valid_from=at(30)),
        ch.DeadlineSet(deadline_id="d", deadline="valid_from", due=at(30), form_id="me", slot="home", version=2),
    )
    project(projector, writer.items)
    assert [(s.value.data, s.status) for s in store.forms(SCOPE)[0].slots] == [
        ("Rome", "confirmed"),
        ("Oslo", "scheduled"),
    ]
    assert store.deadlines_due(at(29)) == []
    [due] = store.deadlines_due(at(30))
    assert (due.scope, due.kind, due.form_id, due.version) == (str(SCOPE), "valid_from", "me", 2)
    assert store.deadlines_due(at(30), OTHER) == []

    writer.add(slot(2, "Oslo", reason="elapsed", supersedes=1, valid_from=at(30)), ch.DeadlineDone(deadline_id="d"))
    project(projector, writer.items)
    assert [(s.value.data, s.status) for s in store.forms(SCOPE)[0].slots] == [("Oslo", "confirmed")]
    assert store.deadlines_due(at(99)) == []


def test_calling_off_a_scheduled_version_leaves_the_current_one(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(created(), slot(1, "Rome"))
    writer.add(slot(2, "Oslo", status="scheduled", valid_from=at(30)))
    writer.add(slot(3, "Oslo", status="retired", reason="removed", supersedes=2))
    project(projector, writer.items)

    assert [s.value.data for s in store.forms(SCOPE)[0].slots] == ["Rome"]


def test_an_emptied_slot_has_no_current_value_but_a_history(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(created(), slot(1, "Rome"))
    writer.add(slot(2, None, status="retired", reason="removed", supersedes=1, before=text("Rome")))
    project(projector, writer.items)

    [form] = store.forms(SCOPE)
    assert form.slots == []
    assert [(v.status, v.current, v.value) for v in store.history(SCOPE)] == [
        ("confirmed", False, text("Rome")),
        ("retired", False, None),
    ]


def test_elements_of_a_multi_valued_slot_come_and_go_one_by_one(store: Store, projector: Projector, writer: Writer) -> None:
    likes = {"slot": "likes", "reason": "added"}
    writer.add(created(), slot(1, "tea", element="text:tea", **likes), slot(2, "jazz", element="text:jazz", **likes))
    writer.add(slot(3, "tea", element="text:tea", slot="likes", status="retired", reason="removed", supersedes=1))
    project(projector, writer.items, size=1)

    assert [s.value.data for s in store.forms(SCOPE)[0].slots] == ["jazz"]
    assert [(v.element, v.version) for v in store.history(SCOPE)] == [
        ("text:jazz", 2),
        ("text:tea", 1),
        ("text:tea", 3),
    ]


def test_a_retired_form_leaves_the_list_but_stays_readable(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(created("plan", "plan", "trip", "Trip"), slot(1, "May", form_id="plan", form_type="plan", slot="when"))
    writer.add(ch.FormRetired(form_id="plan", valid_from=at(1)), ch.EdgeRetired(edge_id="x"))
    project(projector, writer.items)

    assert store.forms(SCOPE) == []
    [form] = store.forms(SCOPE, include_retired=True)
    assert (form.status, [s.status for s in form.slots]) == ("retired", ["retired"])
    assert store.form(SCOPE, "plan") == form
    assert [v.current for v in store.history(SCOPE, "plan")] == [False]


def test_a_form_is_found_by_type_and_carries_its_newest_name(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(created(), created("p1", "project", "apollo", "Apollo"))
    writer.add(ch.FormNamed(form_id="p1", key="apollo two", name="Apollo Two"))
    project(projector, writer.items)

    assert [(f.name, f.key) for f in store.forms(SCOPE, "project")] == [("Apollo Two", "apollo")]
    assert [f.form_type for f in store.forms(SCOPE)] == ["person", "project"]


def test_pending_questions_close(store: Store, projector: Projector, writer: Writer) -> None:
    def ask(number: int) -> ch.PendingOpened:
        return ch.PendingOpened(
            pending_id=f"p{number}",
            form_type="person",
            slot="home",
            value=text("Rome"),
            why="hedged",
            question="Rome?",
            confidence=0.5,
            authority="user",
            valid_from=at(0),
            evidence=[quote("e0")],
        )

    writer.add(ask(2), ask(1))
    project(projector, writer.items)
    assert [p.pending_id for p in store.pending(SCOPE)] == ["p2", "p1"]
    assert store.pending(SCOPE)[0].evidence == [quote("e0")]
    writer.add(ch.PendingClosed(pending_id="p2", how="confirmed"))
    project(projector, writer.items)
    assert [p.pending_id for p in store.pending(SCOPE)] == ["p1"]


def test_edges_are_retired_and_come_back(store: Store, projector: Projector, writer: Writer) -> None:
    edge = ch.EdgeAdded(edge_id="x", from_form="a", to_form="b", relation="refers_to", valid_from=at(0), evidence=[quote("e0")])
    writer.add(edge)
    writer.add(ch.EdgeRetired(edge_id="x"))
    project(projector, writer.items)
    assert store.edges(SCOPE) == []
    assert [e.status for e in store.edges(SCOPE, include_retired=True)] == ["retired"]
    writer.add(edge)
    project(projector, writer.items)
    assert [(e.relation, e.status, e.evidence) for e in store.edges(SCOPE)] == [("refers_to", "current", [quote("e0")])]


def test_the_timeline_is_in_order_of_what_happened(store: Store, projector: Projector, writer: Writer) -> None:
    for name, day in (("late", 3.0), ("early", 1.0), ("mid", 2.0)):
        writer.add(
            ch.EpisodeSeen(
                episode_id=name,
                episode="decision",
                actor="I",
                action="moved",
                before="Rome",
                after="Oslo",
                cause="a job",
                occurred_at=at(day),
                evidence=[quote("e0")],
            )
        )
    project(projector, writer.items)

    assert [e.entry_id for e in store.timeline(SCOPE)] == ["early", "mid", "late"]
    assert [e.entry_id for e in store.timeline(SCOPE, newest_first=True, limit=2)] == ["late", "mid"]
    assert [e.entry_id for e in store.timeline(SCOPE, since=at(2), until=at(3))] == ["mid"]
    assert store.timeline(SCOPE)[0].text == "I moved: Rome → Oslo (because a job)"


def test_turns_are_read_by_place_session_and_id(store: Store, projector: Projector, writer: Writer) -> None:
    for number in range(4):
        writer.add(content=f"Word {number} runs", session="a" if number % 2 else "b")
    writer.add(data=SessionEnded(session="a"))
    writer.add(content="Word 1 runs", session="a", outcome="duplicate")
    project(projector, writer.items)

    assert [t.content[5] for t in store.turns(SCOPE)] == ["0", "1", "2", "3"]
    assert [t.offset for t in store.turns(SCOPE, after_offset=1, limit=1)] == [2]
    assert [t.offset for t in store.session_turns(SCOPE, "a", 99, 8)] == [1, 3, 5]
    assert [t.offset for t in store.session_turns(SCOPE, "a", 3, 8)] == [1]
    assert [t.offset for t in store.session_turns(SCOPE, "a", 99, 1)] == [5]
    assert store.session_turns(SCOPE, "a", 99, 0) == []
    assert [t.offset for t in store.turns_by_offset(SCOPE, [3, 0, 77])] == [3, 0]
    found = store.turn(SCOPE, "e5")
    assert found is not None
    assert found.offset == 5  # a folded repetition is in its session, but in no list of what was said
    assert store.turn_index(SCOPE, after_offset=2) == [(3, "e3", "a", "", "user", at(3), "word 3 run")]


def test_state_is_written_with_the_rows_and_deleted_by_none(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(created())
    projector.apply(writer.items, states={(str(SCOPE), "a"): b"1", (str(SCOPE), "b"): b"2"}, next_changes=1, applied_input=1)
    assert store.load_state(SCOPE) == {"a": b"1", "b": b"2"}
    projector.apply([], states={(str(SCOPE), "a"): None, (str(SCOPE), "b"): b"3"}, next_changes=1, applied_input=2)
    assert store.load_state(SCOPE) == {"b": b"3"}
    assert store.load_state(OTHER) == {}
    assert store.cursor() == (1, 2)


def test_redelivery_changes_nothing(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(created(), slot(1, "Rome", evidence=[quote("e0")]))
    writer.add(ch.SlotReinforced(form_id="me", slot="home", version=1, confidence=1, evidence=[quote("e1")], count=2))
    project(projector, writer.items)
    before = (store.history(SCOPE), store.forms(SCOPE), store.turns(SCOPE), store.load_state(SCOPE))
    touched = projector.apply(writer.items, states={(str(SCOPE), "state"): b"stale"}, next_changes=2, applied_input=2)
    assert touched == []
    assert (store.history(SCOPE), store.forms(SCOPE), store.turns(SCOPE), store.load_state(SCOPE)) == before


def test_a_batch_that_overlaps_is_applied_from_the_cursor_on(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(created(), slot(1, "Rome"))
    project(projector, writer.items)
    writer.add(slot(2, "Oslo", supersedes=1))
    touched = projector.apply(writer.items, states={}, next_changes=2, applied_input=2)
    assert touched == [(str(SCOPE), "2026-W10")]
    assert [v.version for v in store.history(SCOPE)] == [1, 2]
    assert len(store.turns(SCOPE)) == 2


def test_a_failed_batch_leaves_nothing(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(created(), slot(1, "Rome"))
    bad = writer.add(slot(2, "Oslo", confidence=float("nan"), authority=None))
    with pytest.raises(Exception, match=r"(?i)not.null"):
        project(projector, [*writer.items[:-1], bad])
    assert store.cursor() == (0, 0)
    assert store.forms(SCOPE) == []
    assert store.turns(SCOPE) == []


def test_rejected_candidates_are_counted(store: Store, projector: Projector, writer: Writer) -> None:
    writer.add(ch.Rejected(reason="no span", form_type="person", slot="home", quote="x"), outcome="rejected")
    project(projector, writer.items)
    assert store.stats(SCOPE)["rejected"] == 1
    assert store.stats()["turns"] == 1


def test_evidence_that_came_cut_keeps_both_ends(store: Store, projector: Projector, writer: Writer) -> None:
    pieces: list[Evidence] = [quote(f"e{number}") for number in (0, 1, 2, 3, 4, 15, 16, 17, 18, 19)]
    writer.add(created(), slot(1, "Rome", evidence=pieces, count=20))
    project(projector, writer.items)
    assert store.history(SCOPE)[0].evidence == pieces
