"""Rolling back row by row: what each kind of thing goes back to, what does not, and how later turns go on from there."""

from __future__ import annotations

from typing import Any

import pytest

from core.said import Resolver, at, cand, kinds, money, of, text
from mnemolog.processors.core import resolve_rollback
from mnemolog.schemas import changes as ch
from mnemolog.schemas.inputs import (
    ConfirmationGiven,
    CorrectionRequested,
    ErasureRequested,
    RetractionRequested,
    RollbackRequested,
)
from mnemolog.schemas.observations import EntityRef

APOLLO = EntityRef("named", "Apollo")


@pytest.fixture
def r() -> Resolver:
    return Resolver()


def back(r: Resolver, to: str, *, day: float = 50, **fields: Any) -> ch.Decision:
    data = {"target": "scope", "to": to, "reason": "wrong", "actor": "operator", **fields}
    return r.give(RollbackRequested(**data), when=at(day))


def home(r: Resolver, value: str, day: float, **more: Any) -> ch.Decision:
    return r.say(f"home {value}", cand("home", text(value), **more), day=day)


def test_a_value_is_put_back_as_it_stood_with_its_evidence(r: Resolver) -> None:
    home(r, "Rome", 1)
    home(r, "Oslo", 2)
    decision = back(r, "e0")
    assert kinds(decision) == ["SlotChanged", "EpisodeSeen", "EpisodeSeen", "RolledBack"]
    changed, entry, whole, told = decision.changes
    first = r.versions("home")[0]
    assert isinstance(changed, ch.SlotChanged)
    assert (changed.value, changed.confidence, changed.authority, changed.evidence) == (
        first.value,
        first.confidence,
        first.authority,
        first.evidence,
    )
    assert (changed.version, changed.supersedes, changed.restores, changed.origin) == (3, 2, 1, "e0")
    assert (changed.reason, changed.status, changed.cause) == ("rolled_back", "confirmed", "operator: wrong")
    assert (changed.valid_from, changed.before) == (at(50), text("Oslo"))
    assert isinstance(entry, ch.EpisodeSeen)
    assert (entry.object, entry.before, entry.after, entry.cause) == ("home", "Oslo", "Rome", "wrong")
    assert isinstance(whole, ch.EpisodeSeen)
    assert (whole.actor, whole.action, whole.object) == ("operator", "rolled back", "everything to 2026-03-03 09:00:00 UTC")
    assert isinstance(told, ch.RolledBack)
    assert (told.to, told.at, told.reason, told.actor) == ("e0", at(1), "wrong", "operator")
    (stood,) = told.slots
    assert (stood.version, stood.value, stood.valid_from) == (2, text("Oslo"), at(2))


def test_it_is_told_in_the_language_of_the_scope(r: Resolver) -> None:
    r.say("我住在北京", cand("home", text("北京")), day=1)
    r.say("我搬到上海了", cand("home", text("上海")), day=2)
    decision = back(r, "e0", reason="听错了")
    entry, whole = of(ch.EpisodeSeen, decision)
    assert entry.before == "上海"
    assert (whole.action, whole.object) == ("回滚了", "全部记忆：回到 2026-03-03 09:00:00 UTC 的状态")
    assert of(ch.SlotChanged, decision)[0].cause == "operator：听错了"


def test_what_was_not_there_is_emptied_and_its_history_stays(r: Resolver) -> None:
    r.say("my name is Ann", cand("name", text("Ann")), day=1)
    home(r, "Oslo", 2)
    decision = back(r, "e0")
    (ended,) = of(ch.SlotChanged, decision)
    assert (ended.status, ended.reason, ended.value, ended.supersedes) == ("retired", "rolled_back", text("Oslo"), 1)
    assert r.value("home") is None
    assert len(r.versions("home")) == 2


def test_support_that_came_since_is_taken_away(r: Resolver) -> None:
    home(r, "Rome", 1)
    r.say("really Rome", cand("home", text("Rome"), confidence=0.99), day=2)
    assert r.state.current(r.form("person", "self"), "home").count == 2  # type: ignore[union-attr]
    back(r, "e0")
    current = r.state.current(r.form("person", "self"), "home")
    assert current is not None
    assert (current.count, current.value, [piece.turn_id for piece in current.evidence]) == (1, text("Rome"), ["e0"])


def test_elements_go_back_one_by_one(r: Resolver) -> None:
    r.say("tea and jazz", cand("likes", text("tea"), op="add"), cand("likes", text("jazz"), op="add"), day=1)
    r.say("no tea, but wine", cand("likes", text("tea"), op="remove"), cand("likes", text("wine"), op="add"), day=2)
    decision = back(r, "e0")
    assert {(change.element, change.status) for change in of(ch.SlotChanged, decision)} == {
        ("text:tea", "confirmed"),
        ("text:wine", "retired"),
    }
    assert sorted(r.values("likes")) == ["jazz", "tea"]


def test_a_form_made_since_is_called_off_and_comes_back_with_a_rollback_of_the_rollback(r: Resolver) -> None:
    home(r, "Rome", 1)
    r.say("Apollo has 5", cand("budget", money("5"), form_type="project", entity=APOLLO), day=2)
    apollo = r.form("project", "apollo")
    decision = back(r, "e0", day=10)
    (retired,) = of(ch.FormRetired, decision)
    assert (retired.form_id, retired.valid_from) == (apollo, at(10))
    assert r.state.form_called("project", "apollo") is None
    again = back(r, "e1", day=11)
    (restored,) = of(ch.FormRestored, again)
    assert (restored.form_id, restored.name, restored.keys, restored.origin) == (apollo, "Apollo", ["apollo"], "e1")
    assert r.value("budget", "project", "apollo") == "5 EUR"
    (stood,) = of(ch.RolledBack, again)[0].forms
    assert (stood.form_id, stood.retired) == (apollo, True)


def test_a_form_called_off_since_stands_again_with_its_relations_and_is_found_by_its_name(r: Resolver) -> None:
    friend = EntityRef("named", "Jack", "friend")
    r.say("my friend Jack likes tea", cand("likes", text("tea"), op="add", entity=friend), day=1)
    r.say("Apollo has 5", cand("budget", money("5"), form_type="project", entity=APOLLO), day=1)
    r.say("forget Apollo", cand(op="retire", form_type="project", entity=APOLLO), day=2)
    r.say("Apollo has 7", cand("budget", money("7"), form_type="project", entity=APOLLO), day=3)
    other = r.form("project", "apollo")
    edges = set(r.state.edge)
    decision = back(r, "e1")
    assert {change.form_id for change in of(ch.FormRetired, decision)} == {other}
    assert r.form("project", "apollo") != other
    assert r.value("budget", "project", "apollo") == "5 EUR"
    assert [edge.relation for edge in r.state.edge.values()] == ["knows:friend"]
    assert len(edges) == 2
    back(r, "e3")
    assert r.form("project", "apollo") == other
    assert {edge.relation for edge in r.state.edge.values()} == {"knows:friend", "evolves_from"}


def test_a_relation_retired_since_is_added_as_it_was(r: Resolver) -> None:
    lead = cand("name", text("Acme"), form_type="lead", entity=EntityRef("current"))
    quote = cand("number", text("Q1"), form_type="quote", entity=EntityRef("current"))
    r.say("a lead, Acme", lead, day=1)
    r.say("quote Q1", quote, day=1)
    (edge,) = r.state.edge.values()
    (added,) = [change for decision in r.decisions for change in of(ch.EdgeAdded, decision)]
    r.say("forget the lead", cand(op="retire", form_type="lead", entity=EntityRef("current")), day=2)
    assert not r.state.edge
    decision = back(r, "e1")
    (again,) = of(ch.EdgeAdded, decision)
    assert (again.edge_id, again.relation, again.valid_from, again.evidence) == (
        edge.edge_id,
        added.relation,
        added.valid_from,
        added.evidence,
    )
    assert again.origin == edge.input_id


def test_questions_close_and_open_again_with_their_words_and_session(r: Resolver) -> None:
    asked = r.say("maybe I'm 40", cand("age", text("x"), hedged=True, form_type="person"), day=1)
    del asked
    r.say("about Rome", cand("home", text("Rome"), hedged=True), day=2, session="s9")
    (pending,) = [item for item in r.state.pending.values() if item.slot == "home"]
    r.give(ConfirmationGiven(pending_id=pending.pending_id, accept=True), when=at(3))
    r.say("perhaps a pilot", cand("job", text("pilot"), hedged=True), day=4)
    decision = back(r, "e1")
    assert [change.how for change in of(ch.PendingClosed, decision)] == ["superseded"]
    (opened,) = of(ch.PendingOpened, decision)
    first = next(change for d in r.decisions for change in of(ch.PendingOpened, d) if change.pending_id == pending.pending_id)
    assert (opened.question, opened.why, opened.value, opened.evidence) == (
        first.question,
        first.why,
        first.value,
        first.evidence,
    )
    assert (opened.session, opened.origin) == ("s9", "e1")
    assert r.state.pending[pending.pending_id].session == "s9"
    assert r.value("home") is None
    r.give(ConfirmationGiven(pending_id=pending.pending_id, accept=True), when=at(60))
    assert r.value("home") == "Rome"


def test_a_name_goes_back_and_the_names_learned_since_are_forgotten(r: Resolver) -> None:
    mother = EntityRef("relative", "", "mother")
    r.say("my mother likes tea", cand("likes", text("tea"), op="add", entity=mother), day=1)
    r.say(
        "my mother Anna likes jazz", cand("likes", text("jazz"), op="add", entity=EntityRef("named", "Anna", "mother")), day=2
    )
    form = r.form("person", "anna")
    decision = back(r, "e0")
    (restored,) = of(ch.FormRestored, decision)
    assert (restored.form_id, restored.name, restored.keys) == (form, "mother", ["relation:mother"])
    assert r.state.form_called("person", "anna") is None
    r.say("Anna likes opera", cand("likes", text("opera"), op="add", entity=EntityRef("named", "Anna")), day=60)
    assert r.form("person", "anna") != form


# -- time ------------------------------------------------------------------------------------------------------------------


def test_what_is_scheduled_since_is_called_off_with_its_deadline(r: Resolver) -> None:
    home(r, "Rome", 1)
    home(r, "Oslo", 2, valid_from=at(90))
    decision = back(r, "e0")
    (off,) = of(ch.SlotChanged, decision)
    assert (off.status, off.value, off.supersedes, off.valid_from) == ("retired", text("Oslo"), 2, at(90))
    assert [change.deadline_id for change in of(ch.DeadlineDone, decision)]
    assert not r.state.deadline
    assert not r.state.scheduled
    r.say("hello", day=100)
    assert r.value("home") == "Rome"


def test_what_was_scheduled_then_is_scheduled_again(r: Resolver) -> None:
    home(r, "Rome", 1)
    home(r, "Oslo", 2, valid_from=at(90))
    r.say("I stay", cand("home", text("Rome"), correction=True, valid_from=at(90)), day=3)
    r.give(CorrectionRequested(form_id=r.form("person", "self"), slot="home", value="Bern"), when=at(4))
    decision = back(r, "e1")
    assert [(change.status, change.value) for change in of(ch.SlotChanged, decision)] == [
        ("confirmed", text("Rome")),
        ("retired", text("Rome")),
        ("scheduled", text("Oslo")),
    ]
    assert of(ch.DeadlineSet, decision)[0].due == at(90)
    r.say("hello", day=100)
    assert r.value("home") == "Oslo"


def test_what_has_become_due_since_has_happened(r: Resolver) -> None:
    home(r, "Rome", 1)
    home(r, "Oslo", 2, valid_from=at(20))
    home(r, "Bern", 30)
    decision = back(r, "e1", day=40)
    (changed,) = of(ch.SlotChanged, decision)
    assert (changed.value, changed.status, changed.restores) == (text("Oslo"), "confirmed", 2)
    assert r.value("home") == "Oslo"


def test_a_late_fact_older_than_the_rollback_is_filed_and_undoes_nothing(r: Resolver) -> None:
    home(r, "Rome", 1)
    home(r, "Oslo", 5)
    r.say("my name is Ann", cand("name", text("Ann")), cand("job", text("pilot")), day=6)
    back(r, "e0", day=10)
    for day in (0, 3, 7):
        late = home(r, f"Bern{day}", day)
        assert of(ch.SlotChanged, late)[0].status == "history"
    late = r.say("a pilot then", cand("job", text("nurse")), day=7)
    assert of(ch.SlotChanged, late)[0].status == "history"
    assert (r.value("home"), r.value("job")) == ("Rome", None)
    assert of(ch.SlotChanged, home(r, "Paris", 11))[0].status == "confirmed"
    assert r.value("home") == "Paris"


def apollo(r: Resolver, budget: str, day: float, **more: Any) -> ch.Decision:
    words = f"Apollo has {budget}"
    return r.say(words, cand("budget", money(budget), **{"form_type": "project", "entity": APOLLO, **more}), day=day)


@pytest.mark.parametrize("by", ["rollback", "user"])
def test_a_late_fact_about_what_was_called_off_since_is_filed_there_and_brings_nothing_back(r: Resolver, by: str) -> None:
    home(r, "Rome", 1)
    apollo(r, "5", 5)
    called_off = r.form("project", "apollo")
    if by == "rollback":
        back(r, "e0", day=10)
    else:
        r.say("forget Apollo", cand(op="retire", form_type="project", entity=APOLLO), day=10)
    assert {form_id: found.when for form_id, found in r.state.retired.items()} == {called_off: at(10)}
    # A rollback affirms what stood; in what the user called off, what was true until then goes on.
    affirmed, ended = (["history", "confirmed"], ["history"]) if by == "rollback" else (["confirmed"], ["retired"])
    for day, entity, statuses in ((3, APOLLO, ["history"]), (7, APOLLO, affirmed), (8, EntityRef("current"), affirmed[:1])):
        late = apollo(r, str(day), day, entity=entity)
        assert not of(ch.FormCreated, late)
        assert [(change.form_id, change.status) for change in of(ch.SlotChanged, late)] == [(called_off, s) for s in statuses]
    assert r.state.form[called_off].retired
    no_budget = cand("budget", op="remove", form_type="project", entity=APOLLO)
    over = r.say("Apollo has no budget any more", no_budget, day=9)
    assert [(change.form_id, change.status) for change in of(ch.SlotChanged, over)] == [(called_off, s) for s in ended]
    for number, more in enumerate(({"hedged": True, "confidence": 0.5}, {"valid_from": at(90)})):
        refused = apollo(r, f"9{number}", 9, **more)
        assert kinds(refused) == ["Rejected"], more
        assert of(ch.Rejected, refused)[0].reason == "what it is about was called off since it was said"
    assert not r.pendings()
    assert r.value("budget", "project", "apollo") is None
    again = apollo(r, "10", 11)
    assert of(ch.FormCreated, again)
    assert r.value("budget", "project", "apollo") == "10 EUR"


def test_a_late_fact_about_a_user_whom_a_rollback_took_back_is_filed(r: Resolver) -> None:
    apollo(r, "5", 1)
    home(r, "Rome", 2)
    r.say("my friend Jo", cand("home", text("Bonn"), entity=EntityRef("named", "Jo", "friend")), day=3)
    user, friend = r.form("person", "self"), r.form("person", "jo")
    back(r, "e0", day=10)
    late = of(ch.SlotChanged, home(r, "Oslo", 4))
    assert [(change.form_id, change.status, change.valid_from) for change in late] == [
        (user, "history", at(4)),
        (user, "confirmed", at(10)),
    ]
    told = r.say("my friend is a nurse", cand("job", text("nurse"), entity=EntityRef("relative", "", "friend")), day=5)
    assert kinds(told) == ["SlotChanged"]
    assert of(ch.SlotChanged, told)[0].form_id == friend
    other = r.say("my friend Al", cand("home", text("Pisa"), entity=EntityRef("named", "Al", "friend")), day=6)
    assert [(change.key, change.name) for change in of(ch.FormCreated, other)] == [("al", "Al")]
    related = cand(op="relate", relation="works_on", target=APOLLO, target_type="project", entity=EntityRef("named", "Jo"))
    assert kinds(r.say("Jo works on Apollo", related, day=6)) == ["Rejected"]
    assert r.value("home") is None
    assert kinds(home(r, "Bern", 11))[0] == "FormCreated"
    assert r.value("home") == "Bern"


def test_who_is_put_back_by_a_rollback_of_a_rollback_is_spoken_of_as_ever(r: Resolver) -> None:
    home(r, "Rome", 1)
    apollo(r, "5", 2)
    back(r, "e0", day=10)
    back(r, "e1", day=12)
    assert not r.state.retired
    assert of(ch.SlotChanged, apollo(r, "6", 5))[0].status == "history"
    assert of(ch.SlotChanged, apollo(r, "7", 13))[0].status == "confirmed"
    assert r.value("budget", "project", "apollo") == "7 EUR"


def test_what_is_said_after_a_rollback_holds_however_long_it_is_said_to_have_been_so(r: Resolver) -> None:
    r.say("my name is Ann", cand("name", text("Ann")), cand("likes", text("tea"), op="add"), day=1)
    home(r, "Rome", 2)
    r.say("no more tea", cand("likes", text("tea"), op="remove"), day=3)
    back(r, "e0", day=10)
    since = {"valid_from": at(5)}
    home(r, "Oslo", 11, **since)
    assert r.value("home") == "Oslo"
    r.say("my name has been Eve since", cand("name", text("Eve"), **since), day=11)
    assert r.value("name") == "Eve"
    assert r.values("likes") == ["tea"]
    r.say("no tea since", cand("likes", text("tea"), op="remove", **since), day=11)
    assert r.values("likes") == []
    r.say("tea since", cand("likes", text("tea"), op="add", **since), day=12)


@pytest.mark.parametrize("target", ["scope", "form"])
def test_what_a_rollback_left_as_it_stood_is_not_undone_by_a_late_fact_either(r: Resolver, target: str) -> None:
    home(r, "Rome", 1)
    r.say("tea, no coffee", cand("likes", text("tea"), op="add"), cand("dislikes", text("coffee"), op="add"), day=2)
    r.say("Ann", cand("name", text("Ann")), day=5)
    back(r, "e1", day=10, **({} if target == "scope" else {"target": "form", "target_id": r.form("person", "self")}))
    late = of(ch.SlotChanged, home(r, "Bern", 6))
    assert [(change.value.shown, change.status, change.valid_from) for change in late] == [
        ("Bern", "history", at(6)),
        ("Rome", "confirmed", at(10)),
    ]
    assert r.value("home") == "Rome"
    r.say("no tea", cand("likes", text("tea"), op="remove"), day=7)
    assert r.values("likes") == ["tea"]
    r.say("a pilot", cand("job", text("pilot")), day=7)
    assert r.value("job") == "pilot", "nobody had known it: there is nothing to undo"
    home(r, "Bern", 12, valid_from=at(6))
    assert r.value("home") == "Bern"


def test_a_rollback_holds_from_the_latest_that_happened_where_its_own_time_is_earlier(r: Resolver) -> None:
    home(r, "Rome", 1)
    home(r, "Oslo", 30)
    decision = back(r, "e0", day=20)
    assert of(ch.SlotChanged, decision)[0].valid_from == at(30)
    assert r.value("home") == "Rome"


def test_a_recorded_time_counts_what_was_recorded_by_then(r: Resolver) -> None:
    home(r, "Rome", 1)
    home(r, "Oslo", 2)
    home(r, "Bern", 3)
    back(r, "", to_time=at(10_001))
    assert r.value("home") == "Oslo"
    assert back(r, "", to_time=at(9_999)).note == "nothing was recorded in this scope by then"


# -- going on from there ---------------------------------------------------------------------------------------------------


def test_later_turns_reinforce_replace_and_correct_what_was_put_back(r: Resolver) -> None:
    home(r, "Rome", 1)
    home(r, "Oslo", 2)
    back(r, "e0")
    assert kinds(home(r, "Rome", 51)) == ["SlotReinforced"]
    r.say("not Rome but Bern", cand("home", text("Bern"), correction=True, before=text("Rome")), day=52)
    assert r.value("home") == "Bern"
    assert r.versions("home")[-1].reason == "corrected"
    r.give(CorrectionRequested(form_id=r.form("person", "self"), slot="home", value="Riga"), when=at(53))
    assert r.value("home") == "Riga"


def test_a_turn_that_comes_after_a_hide_of_its_id_is_no_hidden_one(r: Resolver) -> None:
    home(r, "Rome", 1)
    r.give(RetractionRequested(target="turn", target_id="e2"), when=at(2))
    r.say("perhaps a pilot", cand("job", text("pilot"), hedged=True, confidence=0.5), day=3)
    back(r, "e0", day=10)
    assert not r.pendings()
    back(r, "e2", day=11)
    assert r.pendings() == ["job=pilot"]


def test_what_was_hidden_since_stays_hidden(r: Resolver) -> None:
    home(r, "Rome", 1)
    r.say("tea", cand("likes", text("tea"), op="add"), day=1)
    home(r, "Oslo", 2)
    r.give(RetractionRequested(target="turn", target_id="e0"), when=at(3))
    r.give(RetractionRequested(target="slot", target_id=r.form("person", "self"), slot="likes"), when=at(3))
    decision = back(r, "e1")
    assert [(change.value, change.status) for change in of(ch.SlotChanged, decision)] == [(text("Oslo"), "retired")]
    assert r.value("home") is None
    assert not r.values("likes")
    assert "Rome" not in repr(decision)


def test_the_name_that_a_hidden_turn_gave_is_not_given_again(r: Resolver) -> None:
    r.say("my name is Ann", cand("name", text("Ann")), day=1)
    r.say("my name is Bea", cand("name", text("Bea"), correction=True), day=2)
    r.give(RetractionRequested(target="turn", target_id="e0"), when=at(3))
    back(r, "e0")
    assert r.state.form[r.form("person", "self")].name == "Bea"


def test_nothing_comes_back_from_before_an_erasure(r: Resolver) -> None:
    home(r, "Rome", 1)
    r.give(ErasureRequested(), when=at(2))
    home(r, "Oslo", 3)
    decision = back(r, "e0")
    assert "Rome" not in repr(decision)
    assert r.state.form_called("person", "self") is None


# -- the target ------------------------------------------------------------------------------------------------------------


def test_a_slot_goes_back_alone(r: Resolver) -> None:
    home(r, "Rome", 1)
    r.say("Oslo, pilot", cand("home", text("Oslo")), cand("job", text("pilot")), day=2)
    decision = back(r, "e0", target="slot", target_id=r.form("person", "self"), slot="home")
    assert [change.slot for change in of(ch.SlotChanged, decision)] == ["home"]
    assert (r.value("home"), r.value("job")) == ("Rome", "pilot")
    assert of(ch.EpisodeSeen, decision)[-1].object == "home to 2026-03-03 09:00:00 UTC"


def test_a_form_goes_back_alone(r: Resolver) -> None:
    home(r, "Rome", 1)
    r.say("Apollo has 5", cand("budget", money("5"), form_type="project", entity=APOLLO), day=1)
    home(r, "Oslo", 2)
    r.say("Apollo has 6", cand("budget", money("6"), form_type="project", entity=APOLLO), day=2)
    back(r, "e1", target="form", target_id=r.form("project", "apollo"))
    assert (r.value("home"), r.value("budget", "project", "apollo")) == ("Oslo", "5 EUR")
    back(r, "e0", target="form", target_id=r.form("project", "apollo"))
    assert r.state.form_called("project", "apollo") is None
    assert r.value("home") == "Oslo"


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"to": "nobody"}, "no input 'nobody' of this scope, from 'mnemolog', before the rollback"),
        ({"to": "e0", "to_source": "mail"}, "no input 'e0' of this scope, from 'mail', before the rollback"),
        ({"to": "e0", "to_time": at(10_000)}, "a rollback goes either to an input or to a time"),
        ({"to": ""}, "a rollback goes either to an input or to a time"),
        ({"to": "e0", "target": "form", "target_id": "nobody"}, "no form 'nobody'"),
        ({"to": "e0", "target": "slot", "target_id": "SELF"}, "the slot is not named"),
        ({"to": "e0", "target": "slot", "target_id": "APOLLO", "slot": "budget"}, "the Form is called off: roll the Form back"),
        ({"to": "e0", "target": "slot", "target_id": "SELF", "slot": "home"}, "nothing differs from how it stood then"),
        ({"to": "e4"}, "no input 'e4' of this scope, from 'mnemolog', before the rollback"),
    ],
)
def test_what_cannot_be_put_back_is_recorded_and_changes_nothing(r: Resolver, fields: dict[str, str], note: str) -> None:
    home(r, "Rome", 1)
    r.say("Apollo has 5", cand("budget", money("5"), form_type="project", entity=APOLLO), day=1)
    ids = {"SELF": r.form("person", "self"), "APOLLO": r.form("project", "apollo")}
    r.say("forget Apollo", cand(op="retire", form_type="project", entity=APOLLO), day=2)
    named: dict[str, Any] = {name: ids.get(value, value) for name, value in fields.items()}
    decision = back(r, **named)
    assert (decision.outcome, decision.changes, decision.note) == ("nothing", [], note)


def test_more_than_a_decision_can_hold_changes_nothing(r: Resolver, monkeypatch: pytest.MonkeyPatch) -> None:
    home(r, "Rome", 1)
    home(r, "Oslo", 2)
    monkeypatch.setattr(resolve_rollback, "MAX_BYTES", 100)
    decision = back(r, "e0")
    assert (decision.outcome, decision.changes) == ("nothing", [])
    assert decision.note == "more would change than one decision can hold: roll back Form by Form"
    assert r.value("home") == "Oslo"
