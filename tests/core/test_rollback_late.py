"""What is said late about a time before a rollback, or about what was called off since, against what is said after it: the one
undoes nothing, the other is never taken for old."""

from __future__ import annotations

from typing import Any

import pytest

from core.said import Resolver, at, cand, kinds, money, of, reloaded, snapshot, text
from core.test_rollback import APOLLO, apollo, back, home
from mnemolog.schemas import changes as ch
from mnemolog.schemas.inputs import ErasureRequested
from mnemolog.schemas.observations import EntityRef

FORGET = cand(op="retire", form_type="project", entity=APOLLO)
JO = EntityRef("named", "Jo")


@pytest.fixture
def r() -> Resolver:
    return Resolver()


def project(slot: str, words: str, **more: Any) -> Any:
    return cand(slot, text(words), form_type="project", entity=APOLLO, **more)


# -- late: nothing comes back ----------------------------------------------------------------------------------------------


def test_a_late_fact_about_a_form_that_was_called_off_goes_there_and_not_to_the_new_one_of_its_name(r: Resolver) -> None:
    home(r, "Rome", 1)
    apollo(r, "5", 2)
    old = r.form("project", "apollo")
    r.say("forget Apollo", FORGET, day=10)
    r.say("Apollo is about gardens", project("goal", "gardens"), day=12)
    new = r.form("project", "apollo")
    assert new != old
    late = apollo(r, "7", 3)
    assert [change.form_id for change in of(ch.SlotChanged, late)] == [old]
    assert r.value("budget", "project", "apollo") is None
    asked = r.say("Apollo has perhaps 9", cand("budget", money("9"), hedged=True, form_type="project", entity=APOLLO), day=4)
    assert (kinds(asked), r.pendings()) == (["Rejected"], [])
    again = r.say("forget Apollo!", FORGET, day=5)
    assert of(ch.Rejected, again)[0].reason == "what was meant has been called off since"
    between = apollo(r, "8", 11)
    assert [change.form_id for change in of(ch.SlotChanged, between)] == [new]
    assert r.value("budget", "project", "apollo") == "8 EUR"
    assert snapshot(reloaded(r)) == snapshot(r.state)


def test_who_was_put_back_is_meant_also_by_words_from_the_time_of_another_one_of_that_name(r: Resolver) -> None:
    apollo(r, "5", 1)
    old = r.form("project", "apollo")
    r.say("forget Apollo", FORGET, day=2)
    apollo(r, "6", 3)
    back(r, "e0", day=10)
    assert r.form("project", "apollo") == old
    for day in (1.5, 5):
        assert {change.form_id for change in of(ch.SlotChanged, apollo(r, f"7{day}", day))} == {old}
    assert r.value("budget", "project", "apollo") == "5 EUR"


def test_another_friend_of_the_same_kind_is_not_taken_for_the_one_that_was_called_off(r: Resolver) -> None:
    friend = EntityRef("relative", "", "friend")
    r.say("my friend Jo", cand("home", text("Bonn"), entity=EntityRef("named", "Jo", "friend")), day=1)
    r.say("my friend Kim", cand("home", text("Rome"), entity=EntityRef("named", "Kim", "friend")), day=3)
    r.say("forget Jo", cand(op="retire", entity=JO), day=10)
    told = r.say("my friend is a nurse", cand("job", text("nurse"), entity=friend), day=5)
    assert of(ch.SlotChanged, told)[0].form_id == r.form("person", "kim")
    assert r.value("job", key="kim") == "nurse"


def test_a_part_of_a_name_or_a_word_for_it_brings_back_nobody(r: Resolver) -> None:
    home(r, "Rome", 1)
    r.say("Jack Smith", cand("job", text("pilot"), entity=EntityRef("named", "Jack Smith")), day=2)
    jack = r.form("person", "jack smith")
    back(r, "e0", day=10)
    for day, entity in ((3, EntityRef("named", "Jack")), (4, EntityRef("anaphor", "he"))):
        told = r.say(f"he likes {day}", cand("likes", text(f"tea {day}"), op="add", entity=entity), day=day)
        assert [(kind, change.form_id) for kind, change in zip(kinds(told), told.changes, strict=True)] == [  # type: ignore[union-attr]
            ("SlotChanged", jack)
        ]
    assert [form.form_id for form in r.state.form.values() if not form.retired] == [r.form("person", "self")]


def test_a_late_word_calls_off_nothing_that_a_rollback_left(r: Resolver) -> None:
    home(r, "Rome", 1)
    apollo(r, "5", 1)
    r.say("forget Apollo", FORGET, day=3)
    back(r, "e1", day=10)
    late = r.say("forget Apollo!", FORGET, day=4)
    assert [change.reason for change in of(ch.Rejected, late)] == [
        "a rollback has come since it was said: what that left goes on"
    ]
    assert r.value("budget", "project", "apollo") == "5 EUR"
    r.say("forget Apollo now", FORGET, day=11)
    assert r.state.form_called("project", "apollo") is None


def test_a_relation_that_a_rollback_ended_comes_back_only_by_what_is_said_after_it(r: Resolver) -> None:
    apollo(r, "5", 1)
    r.say("Jo", cand("job", text("pilot"), entity=JO), day=1)
    works = cand(op="relate", relation="works_on", target=APOLLO, target_type="project", entity=JO)
    r.say("Jo works on Apollo", works, day=3)
    back(r, "e1", day=10)
    late = r.say("Jo works on Apollo!", works, day=4)
    assert [change.reason for change in of(ch.Rejected, late)] == ["a rollback has ended this relation since it was said"]
    assert not r.state.edge
    assert snapshot(reloaded(r)) == snapshot(r.state)
    r.say("Jo works on Apollo again", works, day=11)
    assert (len(r.state.edge), r.state.parted) == (1, {})
    assert snapshot(reloaded(r)) == snapshot(r.state)


def test_a_name_that_a_rollback_took_away_is_not_shown_again(r: Resolver) -> None:
    r.say("my name is Ann", cand("name", text("Ann")), day=1)
    user = r.form("person", "self")
    r.say("Jack", cand("job", text("pilot"), entity=EntityRef("named", "Jack")), day=1)
    jack = r.form("person", "jack")
    r.say("my name is Eve", cand("name", text("Eve")), day=3)
    smith = EntityRef("named", "Jack Smith")
    r.say("Jack Smith", cand("likes", text("tea"), op="add", entity=smith), day=3)
    back(r, "e1", day=10)
    r.say("I am Eve", cand("name", text("Eve")), day=4)
    late = r.say("Jack Smith!", cand("home", text("Bonn"), entity=smith), day=4)
    assert [change.form_id for change in of(ch.SlotChanged, late)] == [jack]
    assert (r.state.form[user].name, r.state.form[jack].name) == ("Ann", "Jack")
    r.say("Eve it is", cand("name", text("Eve")), day=11)
    r.say("Jack Smith it is", cand("likes", text("rum"), op="add", entity=smith), day=11)
    assert (r.state.form[user].name, r.state.form[jack].name) == ("Eve", "Jack Smith")


def test_an_older_name_does_not_become_the_one_that_is_shown(r: Resolver) -> None:
    r.say("my name is Ann", cand("name", text("Ann")), day=5)
    r.say("my name was Eve", cand("name", text("Eve")), day=2)
    user = r.state.form[r.form("person", "self")]
    assert (user.name, [key for key, _ in user.keys]) == ("Ann", ["self", "ann", "eve"])


def test_a_late_word_exchanges_no_element_that_a_rollback_left(r: Resolver) -> None:
    r.say("tea", cand("likes", text("tea"), op="add"), day=1)
    home(r, "Rome", 2)
    back(r, "e0", day=10)
    instead = cand("likes", text("coffee"), op="add", before=text("tea"), correction=True)
    late = of(ch.SlotChanged, r.say("not tea but coffee", instead, day=5))
    assert [(change.element, change.status, change.valid_from) for change in late] == [
        ("text:tea", "history", at(5)),
        ("text:tea", "confirmed", at(10)),
        ("text:coffee", "confirmed", at(5)),
    ]
    assert sorted(r.values("likes")) == ["coffee", "tea"]


# -- after it: nothing is taken for old ------------------------------------------------------------------------------------


def test_what_is_said_after_a_rollback_counts_against_what_that_left(r: Resolver) -> None:
    likes = (cand("likes", text(words), op="add") for words in ("tea", "red wine", "jazz"))
    r.say("tea, red wine, jazz", *likes, day=1)
    home(r, "Rome", 2)
    back(r, "e0", day=10)
    since = {"valid_from": at(5)}
    r.say("I have hated tea since", cand("dislikes", text("tea"), op="add", **since), day=12)
    assert (sorted(r.values("likes")), r.values("dislikes")) == (["jazz", "red wine"], ["tea"])
    r.say("no wine since", cand("likes", text("wine"), op="remove", **since), day=12)
    assert r.values("likes") == ["jazz"]
    r.say("not jazz but rock since", cand("likes", text("rock"), op="add", before=text("jazz"), **since), day=12)
    assert r.values("likes") == ["rock"]


def test_all_that_a_rollback_left_can_end_by_one_word_and_what_was_said_later_stays(r: Resolver) -> None:
    r.say("tea", cand("likes", text("tea"), op="add"), day=1)
    home(r, "Rome", 2)
    back(r, "e0", day=10)
    r.say("jazz", cand("likes", text("jazz"), op="add"), day=11)
    r.say("nothing since", cand("likes", None, op="remove", valid_from=at(5)), day=12)
    assert r.values("likes") == ["jazz"]


def test_a_correction_of_what_was_put_back_counts_from_the_rollback_on(r: Resolver) -> None:
    home(r, "Rome", 1)
    home(r, "Oslo", 2)
    back(r, "e0", day=10)
    home(r, "Bern", 12, valid_from=at(5), correction=True, before=text("Rome"))
    assert r.value("home") == "Bern"
    home(r, "Oslo", 13)
    filed = of(ch.SlotChanged, home(r, "Kiel", 14, valid_from=at(11), correction=True, before=text("Bern")))
    assert [(change.status, change.valid_from) for change in filed] == [("history", at(10))]
    assert r.value("home") == "Oslo"


def test_somebody_else_whose_clock_was_ahead_before_the_rollback_makes_nothing_late_that_was_said_after_it(r: Resolver) -> None:
    home(r, "Rome", 1)
    apollo(r, "5", 2)
    home(r, "Oslo", 10.003)
    (told,) = of(ch.RolledBack, back(r, "e0", day=10.001))
    assert (told.since, told.asked) == (at(10.003), at(10.001))
    home(r, "Bonn", 10.0005)
    assert r.value("home") == "Rome"
    home(r, "Bern", 10.002)
    assert r.value("home") == "Bern"
    assert of(ch.FormCreated, apollo(r, "9", 10.002))
    assert r.value("budget", "project", "apollo") == "9 EUR"


def test_a_rollback_of_one_slot_says_nothing_of_another_that_holds_from_the_same_moment(r: Resolver) -> None:
    home(r, "Rome", 1)
    home(r, "Oslo", 5)
    r.say("a pilot", cand("job", text("pilot")), day=6)
    back(r, "e0", day=3, target="slot", target_id=r.form("person", "self"), slot="home")
    assert list(r.state.rollback.values()) == [at(3)]
    r.say("a nurse since", cand("job", text("nurse"), valid_from=at(2)), day=7)
    assert r.value("job") == "pilot"
    home(r, "Bern", 7, valid_from=at(2))
    assert r.value("home") == "Bern"


def test_nothing_of_a_rollback_outlives_an_erasure(r: Resolver) -> None:
    apollo(r, "5", 1)
    r.say("Jo", cand("job", text("pilot"), entity=JO), day=2)
    r.say("Jo works on it", cand(op="relate", relation="on", target=APOLLO, target_type="project", entity=JO), day=3)
    back(r, "e0", day=10)
    assert r.state.retired
    assert r.state.rollback
    assert r.state.parted
    r.give(ErasureRequested(reason="asked for"), when=at(11))
    assert [len(found) for found in (r.state.retired, r.state.rollback, r.state.parted)] == [0, 0, 0]
    assert snapshot(reloaded(r)) == snapshot(r.state)
    apollo(r, "9", 5)
    assert r.value("budget", "project", "apollo") == "9 EUR"
