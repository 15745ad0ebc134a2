"""Sending, reading or applying anything a second time changes nothing, and scopes do not see each other's order."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.talk import SCOPES, Rig, Step, examples, memory_rig, sqlite_rig, steps, tell
from mnemolog.projections.projector import DecidedInput
from mnemolog.projections.reader import decided_inputs
from mnemolog.replay.states import StateFolder
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import StaleDecision
from mnemolog.schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, SUMMARIES
from mnemolog.schemas.inputs import Turn
from support.events import turn


def envelopes(rig: Rig, topic: str) -> list[Envelope]:
    return [Envelope.from_bytes(stored.value) for stored in rig.log.read(topic)]


def ends(rig: Rig) -> list[int]:
    return [rig.log.end(topic) for topic in (DYNAMICS, OBSERVATIONS, CHANGES, SUMMARIES)]


@examples(8)
@given(steps, st.data())
def test_a_suffix_sent_again_anywhere_changes_nothing(story: list[Step], data: st.DataObject) -> None:
    events = tell(story)
    once, again = memory_rig(), memory_rig()
    once.add(events)
    at = 0
    while at < len(events):
        size = data.draw(st.integers(1, len(events)))
        start = data.draw(st.integers(0, at))
        again.add(events[start : at + size], process=data.draw(st.booleans()))
        at += size
    again.add(events[data.draw(st.integers(0, len(events))) :])
    assert again.digests() == once.digests()
    assert ends(again)[:3] == ends(once)[:3]
    again.check()
    once.close()
    again.close()


@examples(8)
@given(steps, st.data())
def test_records_derived_from_inputs_that_are_delivered_again_change_nothing(story: list[Step], data: st.DataObject) -> None:
    rig = memory_rig()
    rig.add(tell(story))
    before, there = rig.digests(), ends(rig)
    start = data.draw(st.integers(0, there[1]))
    assert rig.log.append_derived(OBSERVATIONS, envelopes(rig, OBSERVATIONS)[start:]) == 0
    assert rig.log.append_derived(SUMMARIES, envelopes(rig, SUMMARIES)) == 0
    decisions = envelopes(rig, CHANGES)
    if decisions:
        with pytest.raises(StaleDecision):
            rig.log.append_decisions(decisions[data.draw(st.integers(0, len(decisions) - 1)) :])
    items = list(decided_inputs(rig.log, 0))
    for first, last in data.draw(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=3)):
        deliver(rig, items[first:last])
    assert (rig.digests(), ends(rig)) == (before, there)
    rig.check()
    rig.close()


def deliver(rig: Rig, items: Sequence[DecidedInput]) -> None:
    """Hands decided inputs to the projector as it got them the first time."""
    if items:
        states = {(item.scope, "head"): b"not this" for item in items}
        rig.projector.apply(items, states=states, next_changes=items[-1].changes_offset + 1, applied_input=items[-1].offset + 1)


@examples(6)
@given(steps, st.integers(1, 8))
def test_a_projection_that_is_behind_takes_overlapping_batches(story: list[Step], overlap: int) -> None:
    rig, other = memory_rig(), memory_rig()
    rig.add(tell(story))
    states = StateFolder(other.store)
    items = list(decided_inputs(rig.log, 0))
    for start in range(0, len(items), 5):
        fresh = items[start : start + 5]
        other.projector.apply(
            items[max(0, start - overlap) : start + 5],
            states=states.fold(fresh),
            next_changes=fresh[-1].changes_offset + 1,
            applied_input=fresh[-1].offset + 1,
        )
    other.projector.apply_summaries(rig.log)
    assert other.digests() == rig.digests()
    rig.close()
    other.close()


@examples(5)
@given(steps, st.data())
def test_records_that_lie_on_the_log_twice_count_once(story: list[Step], data: st.DataObject) -> None:
    """No append of ours makes such a record; a log that was copied, or written by somebody else, can hold one."""
    events = tell(story)
    plain = memory_rig()
    plain.add(events)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        rig = sqlite_rig(path)
        cut = data.draw(st.integers(0, len(events)))
        rig.add(events[:cut])
        again = data.draw(st.lists(st.integers(0, max(cut - 1, 0)), max_size=4)) if cut else []
        copies = "INSERT INTO log_{0} (offset, scope, recorded, value) SELECT (SELECT max(offset) + 1 FROM log_{0}), scope, "
        with sqlite3.connect(path) as connection:
            for offset in again:
                for topic in ("dynamics", "observations", "changes"):
                    connection.execute((copies + "recorded, value FROM log_{0} WHERE offset = ?").format(topic), (offset,))
        connection.close()
        rig.add(events[cut:])
        assert rig.digests() == plain.digests()
        rig.check()
        rig.close()
    plain.close()


def test_a_repeated_record_between_undecided_inputs_gets_no_decision(tmp_path: Path) -> None:
    rig = sqlite_rig(tmp_path / "memory.db")
    rig.add([turn("a", "I live in Lisbon."), turn("b", "I like tea.")], process=False)
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        for offset in (0, 1, 0):
            connection.execute(
                "INSERT INTO log_dynamics (offset, scope, recorded, value) SELECT (SELECT max(offset) + 1 FROM log_dynamics), "
                "scope, recorded, value FROM log_dynamics WHERE offset = ?",
                (offset,),
            )
    connection.close()
    rig.add([turn("c", "I like coffee.")])
    assert rig.log.end(DYNAMICS) == 6
    assert [envelope.causationid for envelope in envelopes(rig, CHANGES)] == ["a", "b", "c"]
    assert rig.store.cursor().applied_input == 6
    rig.check()
    rig.close()


@examples(8)
@given(steps, st.randoms(use_true_random=False))
def test_any_interleaving_of_scopes_gives_each_the_same(story: list[Step], chance: Random) -> None:
    events = tell(story)
    told, shuffled = memory_rig(), memory_rig()
    told.add(events)
    queues = [[event for event in events if event.scope == scope] for scope in SCOPES]
    while any(queues):
        queue = chance.choice([queue for queue in queues if queue])
        shuffled.add([queue.pop(0)], process=chance.random() < 0.3)
    shuffled.add([])
    assert shuffled.digests() == told.digests()
    alone = memory_rig()
    alone.add([event for event in events if event.scope == SCOPES[0]])
    assert alone.digests().get(str(SCOPES[0])) == told.digests().get(str(SCOPES[0]))
    for rig in (told, shuffled, alone):
        rig.close()


def test_turns_of_the_same_id_in_two_sources_or_scopes_are_different_ones() -> None:
    rig = memory_rig()
    rig.add([turn("1", "I live in Lisbon."), turn("1", "I like tea.", source="phone"), turn("1", "I like tea.", SCOPES[1])])
    assert rig.log.end(CHANGES) == 3
    assert all(isinstance(msgspec.convert(event.data, Turn), Turn) for event in envelopes(rig, DYNAMICS))
    rig.check()
    rig.close()
