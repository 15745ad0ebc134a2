"""Property 8 on the engine: what is read after a rollback is what was read at the input it names; the trail stays; what is
folded, decided and delivered again is the same; in whatever batches the log is processed, and whatever is asked wrongly."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.talk import SCOPES, Rig, Step, batches_of, examples, memory_rig, sqlite_rig, steps, tell
from mnemolog import Memory, View
from mnemolog.schemas.changes import Decision
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import InvalidInput, NotAllowed, NotFound, UnknownLog
from mnemolog.schemas.events import CHANGES, DYNAMICS, make
from mnemolog.schemas.inputs import RollbackRequested
from replay.views import believed
from support.homes import home_of

HIDES = ("retraction.requested", "erasure.requested")


def rollback(scope_of: Envelope, to: str, event_id: str) -> Envelope:
    data = RollbackRequested(target="scope", to=to, reason="wrong", actor="operator")
    return make(data, scope=scope_of.scope, event_id=event_id, time="2026-05-07T12:00:00.000000Z")


def stand_at_each(rig: Rig, events: list[Envelope]) -> list[dict[str, Any]]:
    """What was believed of an event's scope right after it."""
    stood = []
    for event in events:
        rig.add([event])
        stood.append(believed(rig.store, event.scope))
    return stood


@examples(12)
@given(steps, st.integers(0, 20), st.booleans())
def test_8_what_is_read_after_a_rollback_is_what_was_read_then(story: list[Step], which: int, on_disk: bool) -> None:
    events = tell(story)
    if not events:
        return
    with tempfile.TemporaryDirectory() as folder:
        rig = sqlite_rig(Path(folder) / "log.sqlite") if on_disk else memory_rig()
        try:
            stood = stand_at_each(rig, events)
            which %= len(events)
            target = events[which]
            mine = [number for number, event in enumerate(events) if event.scope == target.scope]
            since = [number for number in mine if number > which]
            versions = len(rig.store.history(target.scope))
            others = {scope: believed(rig.store, scope) for scope in SCOPES if scope != target.scope}
            before = believed(rig.store, target.scope)
            rig.add([rollback(target, target.id, "back")])
            found = believed(rig.store, target.scope)
            hidden = any(events[number].type in HIDES for number in since)
            scheduled = any(stood[number]["waits"] for number in mine)
            if not hidden and not scheduled:
                assert found == stood[which]
            assert len(rig.store.history(target.scope)) >= versions
            assert {scope: believed(rig.store, scope) for scope in others} == others
            rig.check()
            # Delivered again it changes nothing; the way back leads to what stood before.
            digest = rig.digest()
            rig.add([rollback(target, target.id, "back")])
            assert rig.digest() == digest
            rig.add([rollback(target, events[mine[-1]].id, "forth")])
            if not scheduled:
                assert believed(rig.store, target.scope) == before
            rig.check()
        finally:
            rig.close()


@examples(8)
@given(steps, st.lists(st.integers(0, 30), min_size=1, max_size=4), st.integers(1, 9))
def test_rollbacks_are_decided_alike_in_any_batches(story: list[Step], places: list[int], size: int) -> None:
    """Also where what they name is in the same batch, not yet on the log."""
    events = tell(story)
    if not events:
        return
    for number, place in enumerate(places):
        target = events[place % len(events)]
        where = min(place % len(events) + 1 + number, len(events))
        events.insert(where, rollback(target, target.id, f"back{number}"))
    one, other = memory_rig(), memory_rig()
    try:
        for event in events:
            one.add([event])
        with batches_of(size):
            other.add(events)
        assert one.digests() == other.digests()
        values = [[record.value for record in rig.log.read(CHANGES)] for rig in (one, other)]
        assert [value.partition(b'"data"')[2] for value in values[0]] == [value.partition(b'"data"')[2] for value in values[1]]
        one.check()
    finally:
        one.close()
        other.close()


# -- the face --------------------------------------------------------------------------------------------------------------


def told(memory: Memory) -> tuple[str, str]:
    """Two turns; the ids of both."""
    first = memory.add("I live in Lisbon. I like tea.", user_id=1).ids[0]
    memory.process()
    second = memory.add("I moved to Porto. I like wine. The budget for project Apollo is 5000 euros.", user_id=1).ids[0]
    memory.process()
    return first, second


def shown(memory: Memory) -> dict[str, list[str]]:
    return {form.name: [slot.value.shown for slot in form.slots] for form in memory.forms(user_id=1)}


def test_a_memory_goes_back_and_forth_anywhere(anywhere: Memory) -> None:
    first, second = told(anywhere)
    before = believed(home_store(anywhere), "default/user:1")
    dry = anywhere.rollback(first, user_id=1, dry_run=True)
    assert believed(home_store(anywhere), "default/user:1") == before
    assert anywhere.stats(user_id=1)["turns"] == 2
    done = anywhere.rollback(first, user_id=1, reason="a bad import", actor="operator")
    assert (dry.slots, dry.forms, dry.edges, dry.pending) == (done.slots, done.forms, done.edges, done.pending)
    assert (done.outcome, done.before_input, done.to) == ("changed", second, first)
    assert shown(anywhere) == {"user": ["Lisbon", "tea"]}
    last = anywhere.timeline(user_id=1)[-1]
    assert (last.actor, last.action, last.cause) == ("operator", "rolled back", "a bad import")
    anywhere.add("I live in Rome.", user_id=1)
    assert shown(anywhere) == {"user": ["Rome", "tea"]}
    again = anywhere.rollback(done.before_input, user_id=1)
    assert [form.after for form in again.forms] == ["Apollo"]
    assert believed(home_store(anywhere), "default/user:1") == before
    assert anywhere.rollback(done.input_id, user_id=1).outcome == "changed"
    assert shown(anywhere) == {"user": ["Lisbon", "tea"]}
    nothing = anywhere.rollback(done.input_id, user_id=1)
    assert (nothing.outcome, nothing.note) == ("nothing", "nothing differs from how it stood then")
    report = anywhere.verify(decide=True)
    assert (report.equal, report.drift) == (True, [])


def home_store(memory: Memory) -> Any:
    return memory._home.store_of("default/user:1")


def test_a_batch_of_turns_and_rollbacks_is_decided_in_order_anywhere(anywhere: Memory) -> None:
    """They come in together, so that what a rollback names is not decided when it is read."""
    scope = anywhere._scope(None, None, 1)
    events: list[Envelope] = []
    with Memory(embedder=False) as other:
        for number, words in enumerate(("I live in Lisbon.", "I live in Porto.", "I like wine.")):
            other.add(words, user_id=1, id=f"t{number}", occurred_at=f"2026-03-0{number + 1}T09:00:00Z")
        for record in home_of(other).log.read(DYNAMICS):
            event = Envelope.from_bytes(record.value)
            events.append(make_again(event))
    for number, (to, place) in enumerate((("t0", 2), ("t1", 4), ("back0", 6))):
        data = RollbackRequested(target="scope", to=to)
        time = f"2026-03-1{number}T09:00:00.000000Z"
        events.insert(place, make(data, scope=scope, event_id=f"back{number}", time=time))
    anywhere.add_events(events)
    anywhere.process()
    assert [event.id for event in events] == ["t0", "t1", "back0", "t2", "back1", "back2"]
    assert shown(anywhere) == {"user": ["Lisbon"]}
    rows = anywhere.history(user_id=1, slot="home")
    assert [row.value.shown for row in rows if row.value is not None] == ["Lisbon", "Porto", "Lisbon", "Porto", "Lisbon"]
    report = anywhere.verify(decide=True)
    assert (report.equal, report.drift) == (True, [])


def make_again(event: Envelope) -> Envelope:
    """As its writer made it."""
    return msgspec.structs.replace(event, recordedtime=None, position=None)


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Memory(tmp_path / "home", embedder=False) as opened:
        yield opened


def test_a_slot_or_a_form_goes_back_alone_and_by_time_token_or_the_beginning_of_an_id(memory: Memory) -> None:
    receipt = memory.add("I live in Lisbon. I work as a nurse.", user_id=1, id="first-turn")
    memory.add("I moved to Porto. I work as a pilot.", user_id=1)
    form_id = memory.forms(user_id=1)[0].form_id
    memory.rollback("first", form_id=form_id, slot="home", user_id=1)
    assert shown(memory) == {"user": ["Lisbon", "pilot"]}
    memory.rollback(receipt.position, form_id=form_id, user_id=1)
    assert shown(memory) == {"user": ["Lisbon", "nurse"]}
    recorded = [record.recorded for record in home_of(memory).log.read(DYNAMICS)]
    report = memory.rollback(recorded[1], user_id=1)
    assert report.to_source == "mnemolog"
    assert shown(memory) == {"user": ["Porto", "pilot"]}


def test_a_dry_run_calls_a_form_as_the_rollback_will(memory: Memory) -> None:
    first = memory.add("I live in Lisbon.", user_id=1).ids[0]
    memory.add("My name is Ana. I moved to Porto. My friend Jack likes football.", user_id=1)
    dry, done = memory.rollback(first, user_id=1, dry_run=True), memory.rollback(first, user_id=1)
    assert (dry.slots, dry.edges, dry.forms) == (done.slots, done.edges, done.forms)
    assert {slot.form for slot in dry.slots if slot.slot in ("home", "name")} == {"user"}
    assert [edge.from_name for edge in dry.edges] == ["user"]


def test_an_input_that_nobody_could_read_is_refused_and_holds_nothing_up(memory: Memory) -> None:
    """A rollback that was made by hand, with data that is not of its type, or an event that is no input."""
    scope = memory._scope(None, None, 1)
    right = make(RollbackRequested(target="scope", to="t1"), scope=scope, event_id="bad", time="2026-03-02T09:00:00.000000Z")
    for event, told in (
        (msgspec.structs.replace(right, data={"target": "everything", "to": "t1"}), "everything"),
        (msgspec.structs.replace(right, data={"target": "scope", "to_time": "yesterday"}), "to_time"),
        (msgspec.structs.replace(right, type="decision.made", data=msgspec.to_builtins(_decision())), "decision.made"),
    ):
        with pytest.raises(InvalidInput, match=told) as caught:
            memory.add_events([event])
        assert caught.value.field == "events"
    memory.add("I live in Lisbon.", user_id=1, id="t1")
    memory.process()
    assert shown(memory) == {"user": ["Lisbon"]}
    assert memory.verify().inputs == 1


def _decision() -> Decision:
    return Decision(
        input_id="t1", input_source="me", input_type="turn.recorded", prev="", outcome="nothing", changes=[], policy="none/1"
    )


def test_mistakes_are_refused_with_a_word_about_what_to_do(memory: Memory) -> None:
    first, _ = told(memory)
    other = memory.add("I live in Rome.", user_id=2, id="someone")
    memory.add("I like jazz.", user_id=1, id="abcd-1")
    memory.add("I like opera.", user_id=1, id="abcd-2")
    (form_id,) = [form.form_id for form in memory.forms(user_id=1) if form.form_type == "person"]
    refused: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"to": "unknown"}, NotFound, "no input 'unknown'"),
        ({"to": "someone"}, NotFound, "no input 'someone'"),
        ({"to": other.position}, InvalidInput, "another memory"),
        ({"to": "ffff@0:0:0"}, UnknownLog, "ffff"),
        ({"to": "abcd"}, InvalidInput, "the beginning of several"),
        ({"to": "abc"}, NotFound, "no input"),
        ({"to": "2999-01-01"}, InvalidInput, "in the future"),
        ({"to": "2001-01-01"}, InvalidInput, "before anything was recorded"),
        ({"to": first, "slot": "home"}, InvalidInput, "goes with a Form"),
        ({"to": first, "form_id": "nobody"}, NotFound, "no form 'nobody'"),
        ({"to": first, "form_id": form_id, "slot": "shoes"}, NotFound, "this Form has had: home, likes"),
        ({"to": first, "actor": ""}, InvalidInput, "actor"),
    ]
    end = home_of(memory).log.end(DYNAMICS)
    for arguments, kind, words in refused:
        for dry in (True, False):
            with pytest.raises(kind, match=words):
                memory.rollback(**arguments, user_id=1, dry_run=dry)
    assert home_of(memory).log.end(DYNAMICS) == end


def test_what_is_deleted_since_is_not_brought_back(memory: Memory) -> None:
    first, second = told(memory)
    memory.delete(first, user_id=1)
    memory.rollback(first, user_id=1)
    assert "Lisbon" not in str(memory.forms(user_id=1)) + str(memory.history(user_id=1)) + str(memory.timeline(user_id=1))
    memory.rollback(second, user_id=1)
    assert shown(memory)["user"] == ["Porto", "wine"]
    memory.delete_user(1)
    report = memory.rollback(second, user_id=1)
    assert "Porto" not in str(report)
    assert memory.forms(user_id=1) == []
    assert memory.verify(decide=True).equal


def test_a_view_rolls_back_only_what_it_sees_whole(memory: Memory) -> None:
    first, _ = told(memory)
    for view in (View("some", form_types=["person"]), View("mail", sources=["mail", "mnemolog"])):
        seen = memory.seen_by(view)
        for dry in (True, False):
            with pytest.raises(NotAllowed):
                seen.rollback(first, user_id=1, dry_run=dry)
    with pytest.raises(NotAllowed):
        memory.seen_by(View("other", subjects=["user:2"])).rollback(first, user_id=1)
    assert memory.seen_by(View("all")).rollback(first, user_id=1).outcome == "changed"
