"""Property 8 on the pure core: after a rollback what is true is what was true then, whatever was said in between, before and
after; a rollback of it brings back what stood before it; and the fold of the record is the live state."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.said import POLICY, Resolver, at, cand, of, reloaded, snapshot, text
from core.test_properties_core import commands, folded, play, play_step, turns
from mnemolog.processors.core.finer import is_finer
from mnemolog.processors.core.past import PastState
from mnemolog.processors.core.state import ScopeState
from mnemolog.schemas import changes as ch
from mnemolog.schemas.inputs import RollbackRequested
from support.examples import examples

announced = st.tuples(
    st.just("turn"),
    st.integers(0, 20),
    st.just("s1"),
    st.just("user"),
    st.just(""),
    st.just("I announce it"),
    st.lists(
        st.builds(
            lambda slot, value, **more: cand(slot, text(value), **more),
            st.sampled_from(["home", "job", "likes"]),
            st.sampled_from(["Rome", "Oslo", "red"]),
            op=st.sampled_from(["set", "set", "remove"]),
            correction=st.booleans(),
            valid_from=st.sampled_from([at(22), at(24), at(40)]),
        ),
        min_size=1,
        max_size=2,
    ),
)
"""What is to come: some of it is due before a rollback, some is not."""
scripts = st.lists(st.one_of(turns, turns, turns, announced, commands), max_size=25)
MANY = examples(150)


def stands(state: ScopeState, now: str = "") -> dict[str, Any]:
    """What is true: living Forms with their names and values, questions, relations. `now`: what is due by then counts."""
    forms: dict[str, Any] = {}
    waits: dict[str, Any] = {}
    for place in state.place.values():
        form = state.form[place.form_id]
        if form.retired:
            continue
        found = place.current
        for version in sorted(place.scheduled, key=lambda item: (item.valid_from, item.place, item.version)):
            if version.valid_from <= now:
                found = None if version.value is None else version
            else:
                key = (place.form_id, place.slot, place.element, version.valid_from)
                waits.setdefault(repr(key), []).append((version.value, version.confidence, version.authority))
        if found is not None:
            value = (found.value, found.confidence, found.authority, found.evidence, found.count)
            forms[repr((place.form_id, place.slot, place.element))] = value
    return {
        "values": forms,
        "waits": {key: sorted(map(repr, found)) for key, found in waits.items()},
        "forms": {form.form_id: form.name for form in state.form.values() if not form.retired},
        "keys": {key: form_id for key, form_id in state.keys.items() if not state.form[form_id].retired},
        "pending": {
            item.pending_id: (item.slot, item.op, item.value, item.confidence, item.session) for item in state.pending.values()
        },
        "edges": {(edge.from_form, edge.to_form, edge.relation) for edge in state.edge.values()},
    }


def expected(past: PastState, now: str) -> dict[str, Any]:
    return stands(past.state, now)


HIDES = ("hide", "turn", "erase")


@MANY
@given(scripts, st.integers(0, 30), st.integers(15, 25))
def test_8_a_rollback_restores_what_stood_and_a_rollback_of_it_what_stood_before(  # type: ignore[no-untyped-def]
    script, to: int, day: int
) -> None:
    live = play(Resolver(), script)
    if not live.inputs:
        return
    to %= len(live.inputs)
    target = RollbackRequested(target="scope", to=f"e{to}", reason="wrong", actor="operator")
    past = live.past(target)
    assert past is not None
    before = f"e{len(live.inputs) - 1}"
    stood_before = stands(live.state, max(at(day), live.state.latest))
    decision = live.give(target, when=at(day))
    assert decision.outcome in ("changed", "nothing"), decision.note
    now = live.state.latest
    found, wanted = stands(live.state), expected(past, now)
    assert found == wanted
    assert snapshot(folded(live, live.records)) == snapshot(live.state)
    assert snapshot(reloaded(live)) == snapshot(live.state)
    again = reloaded(live)
    for name in ("keys", "forms_of", "elements", "places_of", "scheduled", "pending_of", "edges_of"):
        assert {k: sorted(v) if name in ("pending_of", "edges_of") else v for k, v in getattr(again, name).items()} == {
            k: sorted(v) if name in ("pending_of", "edges_of") else v for k, v in getattr(live.state, name).items()
        }, name
    # The same again has nothing to do; back again, what stood before stands.
    assert live.give(target, when=at(day)).note == "nothing differs from how it stood then"
    live.give(RollbackRequested(target="scope", to=before), when=at(day))
    assert stands(live.state) == stood_before


@MANY
@given(scripts, scripts, st.integers(0, 30))
def test_what_comes_after_a_rollback_goes_on_and_folds(script, later, to: int) -> None:  # type: ignore[no-untyped-def]
    live = play(Resolver(), script)
    if not live.inputs:
        return
    live.give(RollbackRequested(target="scope", to=f"e{to % len(live.inputs)}"), when=at(10))
    restarted = reloaded(live)
    assert snapshot(restarted) == snapshot(live.state)
    for number, step in enumerate(later):
        play_step(live, step)
        if number % 7 == 3:
            live.give(RollbackRequested(target="scope", to=f"e{(to + number) % len(live.inputs)}"), when=at(20))
    assert snapshot(folded(live, live.records)) == snapshot(live.state)
    assert snapshot(reloaded(live)) == snapshot(live.state)
    for decision in live.decisions:
        for change in decision.changes:
            if isinstance(change, ch.SlotChanged) and change.supersedes is not None:
                assert change.supersedes < change.version


@MANY
@given(scripts, st.integers(0, 30), st.integers(0, 5), st.booleans())
def test_a_slot_or_a_form_goes_back_and_nothing_else_moves(script, to: int, which: int, whole: bool) -> None:  # type: ignore[no-untyped-def]
    live = play(Resolver(), script)
    forms = list(live.state.form)
    if not forms:
        return
    to %= len(live.inputs)
    form_id = forms[which % len(forms)]
    slots = sorted({place.slot for place in live.state.place.values() if place.form_id == form_id})
    slot = "" if whole or not slots else slots[which % len(slots)]
    if not slot and not whole:
        return
    target = RollbackRequested(target="form" if whole else "slot", target_id=form_id, slot=slot, to=f"e{to}")
    past = live.past(target)
    assert past is not None
    before = stands(live.state, max(at(20), live.state.latest))
    retired = live.state.form[form_id].retired
    decision = live.give(target, when=at(20))
    after, wanted = stands(live.state), expected(past, live.state.latest)
    if slot and retired:
        assert decision.note == "the Form is called off: roll the Form back"
        return
    mine = re.compile(re.escape(repr((form_id, slot))[:-1] if slot else repr((form_id,))[:-1]))
    for part in ("values", "waits"):
        assert {k: v for k, v in after[part].items() if mine.match(k)} == {
            k: v for k, v in wanted[part].items() if mine.match(k)
        }
        assert {k: v for k, v in after[part].items() if not mine.match(k)} == {
            k: v for k, v in before[part].items() if not mine.match(k)
        }
    if whole:
        assert after["forms"].get(form_id) == wanted["forms"].get(form_id)


@MANY
@given(scripts, scripts, st.integers(0, 30))
def test_what_comes_to_light_late_undoes_no_rollback(script, later, to: int) -> None:  # type: ignore[no-untyped-def]
    live = play(Resolver(), script)
    if not live.inputs:
        return
    live.give(RollbackRequested(target="scope", to=f"e{to % len(live.inputs)}", reason="wrong"), when=at(30))
    if not live.state.rollback:
        return  # nothing differed
    stood = values(live.state)
    off = [form for form in live.state.form.values() if form.retired]
    living = {form.form_id for form in live.state.form.values() if not form.retired}
    parted = {(edge.from_form, edge.to_form, edge.relation) for edge in of(ch.RolledBack, live.decisions[-1])[0].edges}
    for step in later:
        if step[0] == "turn":
            play_step(live, step)
    now = values(live.state)
    for key, value in stood.items():
        slot = POLICY.slot(live.state.form[live.state.place[key].form_id].form_type, live.state.place[key].slot)
        assert key in now
        assert slot is not None
        assert now[key] == value or is_finer(now[key], value, slot)
    assert all(live.state.form[form.form_id].retired for form in off)
    assert not [form_id for form_id in living if live.state.form[form_id].retired]
    assert not parted & {(edge.from_form, edge.to_form, edge.relation) for edge in live.state.edge.values()}
    names = {(form.form_type, form.key) for form in off}
    made = [form for form in live.state.form.values() if not form.retired and form.form_id not in living]
    assert not [form for form in made if (form.form_type, form.key) in names]
    assert snapshot(folded(live, live.records)) == snapshot(live.state)


def values(state: ScopeState) -> dict[str, Any]:
    """What stands in the slots of living Forms."""
    return {
        key: found.value
        for key, place in state.place.items()
        if (found := place.current) is not None and not state.form[place.form_id].retired
    }
