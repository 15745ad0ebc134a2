"""Properties 1, 3, 4 and 5 on the pure core: folding what was recorded gives the live state, whatever the batches, repetitions,
interleavings and restarts; and no confirmed value is ever lost."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.said import CURRENT_FORMS, Resolver, at, cand, enum, money, reloaded, snapshot, text
from mnemolog.processors.core.chain import valid_decisions
from mnemolog.processors.core.evolve import apply, evolve
from mnemolog.processors.core.ports import Stored
from mnemolog.processors.core.state import ScopeState, dump, load
from mnemolog.schemas import changes as ch
from mnemolog.schemas.events import decode
from mnemolog.schemas.inputs import (
    ConfirmationGiven,
    CorrectionRequested,
    DeadlinePassed,
    ErasureRequested,
    RetractionRequested,
    SessionEnded,
)
from mnemolog.schemas.observations import Candidate, EntityRef
from mnemolog.schemas.scope import Scope
from support.examples import examples

MANY = examples(60)

VALUES = ["Rome", "Oslo", "deep red", "red", "Oslo, Norway", "罗马", "深红", "红"]
ENTITIES = [
    EntityRef("self"),
    EntityRef("named", "Jack", "friend"),
    EntityRef("named", "Jack Smith"),
    EntityRef("relative", "", "mother"),
    EntityRef("named", "Anna", "mother"),
    EntityRef("anaphor", "she"),
]
THINGS = [EntityRef("current"), EntityRef("named", "Apollo"), EntityRef("named", "Zeus"), EntityRef("anaphor", "that project")]

candidates = st.one_of(
    st.builds(
        lambda slot, value, entity, **more: cand(slot, text(value), entity=entity, **more),
        st.sampled_from(["home", "job", "likes", "dislikes", "name"]),
        st.sampled_from(VALUES),
        st.sampled_from(ENTITIES),
        op=st.sampled_from(["set", "set", "add", "remove"]),
        hedged=st.sampled_from([False, False, True]),
        authority=st.sampled_from(["user", "user", "user", "hearsay", "joke"]),
        correction=st.booleans(),
        before=st.sampled_from([None, None, text("Rome"), text("red")]),
        importance=st.sampled_from([0.1, 0.9, 0.9]),
        valid_from=st.sampled_from([None, None, None, at(2), at(7), at(15)]),
        cause=st.sampled_from(["", "because"]),
    ),
    st.builds(
        lambda amount, entity, **more: cand("budget", money(amount), form_type="project", entity=entity, **more),
        st.sampled_from(["5", "6", "7"]),
        st.sampled_from(THINGS),
        hedged=st.booleans(),
        valid_from=st.sampled_from([None, None, at(9), at(12)]),
        correction=st.booleans(),
    ),
    st.builds(
        lambda name, **more: cand("name", text(name), form_type="lead", entity=EntityRef("current"), **more),
        st.sampled_from(["Acme", "Zenith"]),
    ),
    st.builds(lambda n: cand("number", text(n), form_type="quote", entity=EntityRef("current")), st.sampled_from(["Q1", "Q2"])),
    st.builds(
        lambda op, value: cand(op=op, form_type="", value=value),
        st.sampled_from(["confirm", "reject"]),
        st.sampled_from([None, None, text("Bern"), money("9")]),
    ),
    st.builds(lambda entity: cand(op="retire", form_type="project", entity=entity), st.sampled_from(THINGS)),
    st.just(cand(op="episode", form_type="", action="went", object="shopping")),
    st.just(cand("gender", enum("robot"))),
)

turns = st.tuples(
    st.just("turn"),
    st.integers(0, 20),
    st.sampled_from(["s1", "s2"]),
    st.sampled_from(["user", "user", "user", "assistant"]),
    st.sampled_from(["", "", "Ann"]),
    st.sampled_from(["I say so", "我这么说", "for the project"]),
    st.lists(candidates, max_size=3),
)
commands = st.tuples(
    st.just("command"),
    st.integers(0, 20),
    st.sampled_from(["correct", "empty", "confirm", "decline", "end", "deadline", "hide", "turn", "erase"]),
    st.integers(0, 5),
)
scripts = st.lists(st.one_of(turns, turns, turns, commands), max_size=25)


def play(resolver: Resolver, script: list[tuple]) -> Resolver:  # type: ignore[type-arg]
    for step in script:
        play_step(resolver, step)
    return resolver


def play_step(resolver: Resolver, step: tuple) -> None:  # type: ignore[type-arg]
    if step[0] == "turn":
        _, day, session, role, speaker, content, said = step
        resolver.say(content, *said, day=day, session=session, role=role, speaker=speaker)
        return
    _, day, what, number = step
    state = resolver.state
    forms, pending = list(state.form), list(state.pending)
    form_id = forms[number % len(forms)] if forms else "nobody"
    slot = CURRENT_FORMS.get(state.form[form_id].form_type, "home") if forms else "home"
    pending_id = pending[number % len(pending)] if pending else "nothing"
    data = {
        "correct": CorrectionRequested(form_id=form_id, slot=slot, value="7 EUR" if slot == "budget" else "Bern"),
        "empty": CorrectionRequested(form_id=form_id, slot=slot),
        "confirm": ConfirmationGiven(pending_id=pending_id, accept=True),
        "decline": ConfirmationGiven(pending_id=pending_id, accept=False),
        "end": SessionEnded(session="s1"),
        "deadline": DeadlinePassed(kind="valid_from", due=at(day)),
        "hide": RetractionRequested(target="slot", target_id=form_id, slot=slot),
        "turn": RetractionRequested(target="turn", target_id=f"e{number}"),
        "erase": ErasureRequested(),
    }[what]
    resolver.give(data, when=at(day))


def folded(resolver: Resolver, records: list[Stored]) -> ScopeState:
    """The state from the records alone, as a reader folds it."""
    state = ScopeState.empty(resolver.scope)
    inputs = {envelope.id: (envelope, data, position) for envelope, data, position in resolver.inputs}
    heads: dict[str, str] = {}
    for valid in valid_decisions(records, heads):
        apply(state, valid.decision, *inputs[valid.decision.input_id], valid.hash)
    return state


@MANY
@given(scripts)
def test_1_the_fold_of_the_record_is_the_live_state(script) -> None:  # type: ignore[no-untyped-def]
    live = play(Resolver(), script)
    assert snapshot(folded(live, live.records)) == snapshot(live.state)


@MANY
@given(scripts, st.randoms(use_true_random=False))
def test_3_repeated_and_redelivered_records_change_nothing(script, rnd: random.Random) -> None:  # type: ignore[no-untyped-def]
    live = play(Resolver(), script)
    doubled = [record for record in live.records for _ in range(rnd.choice([1, 1, 2, 3]))]
    cut = rnd.randrange(len(doubled) + 1)
    assert snapshot(folded(live, [*doubled, *live.records[cut:], *doubled[cut:]])) == snapshot(live.state)


@MANY
@given(scripts, scripts, st.randoms(use_true_random=False))
def test_4_interleaved_scopes_do_not_touch_each_other(one, other, rnd: random.Random) -> None:  # type: ignore[no-untyped-def]
    alone = [play(Resolver(), one), play(Resolver(scope=Scope("acme", "user:2")), other)]
    order = [0] * len(one) + [1] * len(other)
    rnd.shuffle(order)
    mixed = [Resolver(), Resolver(scope=Scope("acme", "user:2"))]
    left = [iter(one), iter(other)]
    for which in order:
        play_step(mixed[which], next(left[which]))
    assert [snapshot(resolver.state) for resolver in mixed] == [snapshot(resolver.state) for resolver in alone]
    heads: dict[str, str] = {}
    shuffled = [iter(resolver.records) for resolver in mixed]
    merged = [next(shuffled[which]) for which in order]
    list(valid_decisions(merged, heads))
    assert heads == {str(resolver.scope): resolver.state.head for resolver in mixed if resolver.records}


@MANY
@given(scripts, st.data())
def test_5_dropping_and_loading_the_state_changes_nothing(script, data: st.DataObject) -> None:  # type: ignore[no-untyped-def]
    live, restarted = Resolver(), Resolver()
    for step in script:
        play_step(live, step)
        if data.draw(st.booleans()):
            restarted.state = reloaded(restarted)
        play_step(restarted, step)
    assert snapshot(restarted.state) == snapshot(live.state)
    assert [record.value for record in restarted.records] == [record.value for record in live.records]
    again = load(live.scope, dict(reversed(live.blobs.items())))
    assert snapshot(again) == snapshot(live.state)
    for name in ("keys", "forms_of", "elements", "places_of", "scheduled", "pending_of", "edges_of"):
        assert dict(getattr(again, name)) == dict(getattr(live.state, name)), name
    assert list(again.form) == list(live.state.form)
    assert list(again.session) == list(live.state.session)
    assert list(again.pending) == list(live.state.pending)


@MANY
@given(scripts)
def test_evolve_leaves_the_old_state_alone(script) -> None:  # type: ignore[no-untyped-def]
    live = play(Resolver(), script)
    state = ScopeState.empty(live.scope)
    for decision, stored, given_ in zip(live.decisions, live.records, live.inputs, strict=True):
        before = snapshot(state)
        after = evolve(state, decision, *given_, hashlib.sha256(stored.value).hexdigest())
        assert snapshot(state) == before
        state = after
    assert snapshot(state) == snapshot(live.state)


@MANY
@given(scripts)
def test_no_confirmed_value_is_lost_and_versions_count_up(script) -> None:  # type: ignore[no-untyped-def]
    live = play(Resolver(), script)
    numbers: dict[tuple[str, str], int] = {}
    standing: set[tuple[str, str, str, str]] = set()
    for decision in live.decisions:
        for change in decision.changes:
            if isinstance(change, ch.SlotChanged):
                place = (change.form_id, change.slot)
                if change.reason != "elapsed":
                    numbers[place] = numbers.get(place, 0) + 1
                    assert change.version == numbers[place]
                if change.value is not None:
                    standing.add((*place, change.element, change.value.key))
                if change.supersedes is not None:
                    assert 1 <= change.supersedes < change.version
    for place in live.state.place.values():
        if place.current is not None and place.current.value is not None:
            assert (place.form_id, place.slot, place.element, place.current.value.key) in standing


@MANY
@given(scripts)
def test_every_decision_survives_its_bytes(script) -> None:  # type: ignore[no-untyped-def]
    live = play(Resolver(), script)
    for stored, decision in zip(live.records, live.decisions, strict=True):
        envelope, data = decode(stored.value)
        assert data == decision
        assert envelope.causationid == decision.input_id
    ids = [
        getattr(change, name)
        for d in live.decisions
        for change in d.changes
        for name in ("episode_id",)
        if hasattr(change, name)
    ]
    assert len(set(ids)) == len(ids)


@MANY
@given(st.permutations(range(6)), st.lists(st.sampled_from(["Rome", "Oslo", "Bern"]), min_size=6, max_size=6), st.booleans())
def test_statements_in_any_order_leave_the_newest_standing(order: list[int], values: list[str], corrects: bool) -> None:
    shuffled = Resolver()
    for day in order:
        shuffled.say(f"on day {day} {values[day]}", cand("job", text(values[day]), correction=corrects), day=day)
    assert shuffled.value("job") == values[5]
    # Readers derive the intervals from (valid_from, position): the last one must be what stands.
    versions = [(version.valid_from, number) for number, version in enumerate(shuffled.versions("job"))]
    assert shuffled.versions("job")[max(versions)[1]].value == text(values[5])


@MANY
@given(st.permutations(range(5)), st.lists(st.booleans(), min_size=5, max_size=5))
def test_an_element_added_and_removed_in_any_order_ends_as_last_said(order: list[int], kept: list[bool]) -> None:
    shuffled = Resolver()
    for day in order:
        shuffled.say(f"day {day}", cand("likes", text("tea"), op="add" if kept[day] else "remove"), day=day)
    # An end to what nobody has heard of yet is refused, and so cannot hold back what comes in late.
    if kept[4] or any(kept[day] for day in order[: order.index(4)]):
        assert shuffled.values("likes") == (["tea"] if kept[4] else [])


def digest_of_a_long_script() -> str:
    """The records of a script that touches every part, for comparison between processes."""
    resolver = Resolver()
    rnd = random.Random(7)
    for number in range(120):
        slot = rnd.choice(["home", "job", "likes", "dislikes"])
        value = rnd.choice(VALUES)
        candidate: Candidate = cand(
            slot,
            text(value),
            entity=rnd.choice(ENTITIES),
            op=rnd.choice(["set", "add", "remove"]),
            hedged=rnd.random() < 0.2,
            valid_from=rnd.choice([None, None, at(number + 5)]),
        )
        resolver.say(f"{value} {number}", candidate, day=number + rnd.choice([0, 0, -9]), session=f"s{number % 7}")
    blobs = b"".join(blob or b"" for blob in dump(resolver.state, resolver.state.keys_in_use()).values())
    return hashlib.sha256(b"".join(record.value for record in resolver.records) + blobs).hexdigest()


def test_bytes_do_not_depend_on_the_hash_seed() -> None:
    code = "from core.test_properties_core import digest_of_a_long_script as d; print(d())"
    tests = Path(__file__).parent.parent
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(tests)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "4242")
    }
    assert digests == {f"{digest_of_a_long_script()}\n"}


def test_a_stale_decision_is_passed_over() -> None:
    live = Resolver()
    live.say("I live in Rome", cand("home", text("Rome")))
    live.say("I live in Oslo", cand("home", text("Oslo")))
    stale = Resolver()
    stale.say("I live in Rome", cand("home", text("Rome")))
    stale.say("something else")
    records = [live.records[0], live.records[1], stale.records[1]]
    heads: dict[str, str] = {}
    assert [valid.decision for valid in valid_decisions(records, heads)] == live.decisions
    assert heads == {str(live.scope): live.state.head}


@pytest.mark.parametrize("value", [b"{}", b"not json"])
def test_what_is_no_decision_is_undecodable(value: bytes) -> None:
    from mnemolog.schemas.errors import Undecodable

    with pytest.raises(Undecodable):
        list(valid_decisions([Stored("memory.changes.v1", 0, 0, "a/b", value, "")], {}))
