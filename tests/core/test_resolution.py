"""The resolution table, row by row, in English and in Chinese."""

from __future__ import annotations

from typing import Any

import pytest

from core.said import DAY, ME, Resolver, at, cand, enum, kinds, money, of, reloaded, text
from mnemolog.schemas import changes as ch
from mnemolog.schemas.observations import Candidate, EntityRef
from mnemolog.schemas.values import Value

PROJECT = EntityRef("named", "Apollo")
CURRENT = EntityRef("current")


@pytest.fixture
def r() -> Resolver:
    return Resolver()


def budget(value: Value | None, **fields: Any) -> Candidate:
    return cand("budget", value, form_type="project", entity=fields.pop("entity", CURRENT), **fields)


# -- evidence --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["I live in Rome.", "我住在罗马。"])
def test_without_an_exact_span_it_is_rejected_and_recorded(r: Resolver, content: str) -> None:
    decision = r.say(content, cand("home", text("Paris"), quote="Paris"))
    assert decision.outcome == "rejected"
    (refused,) = of(ch.Rejected, decision)
    assert (refused.reason, refused.slot, refused.quote) == ("no exact span in the turn", "home", "Paris")


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (cand("home", None), "a value is required"),
        (cand("home", money("5")), "the slot takes text, not money"),
        (cand("gender", enum("robot")), "'robot' is none of female, male, nonbinary"),
        (cand("beard_length", text("43")), "form type 'person' has no slot 'beard_length'"),
        (cand("home", text("")), "the value is empty"),
        (cand("x", text("y"), form_type="starship"), "unknown form type 'starship'"),
        (cand("home", text("x"), entity=EntityRef("named", " ")), "a named entity needs a name"),
        (cand(op="episode"), "an episode needs an action or an object"),
        (cand(op="retire"), "the user cannot be called off"),
    ],
)
def test_what_does_not_fit_its_slot_is_rejected(r: Resolver, candidate, reason: str) -> None:  # type: ignore[no-untyped-def]
    decision = r.say("some words", candidate)
    assert decision.outcome == "rejected"
    assert [refused.reason for refused in of(ch.Rejected, decision)] == [reason]


def test_open_slots_take_any_value(r: Resolver) -> None:
    r.say("The boiler was made in 1998", cand("made_in", text("1998"), form_type="entity", entity=EntityRef("named", "boiler")))
    assert r.value("made_in", "entity", "boiler") == "1998"


# -- speaker ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "value", "role"),
    [("You live in Rome.", "Rome", "assistant"), ("你住在罗马。", "罗马", "assistant"), ("city: Rome", "Rome", "tool")],
)
def test_the_assistant_or_a_tool_makes_no_user_fact(r: Resolver, content: str, value: str, role: str) -> None:
    decision = r.say(content, cand("home", text(value)), role=role)
    assert kinds(decision) == ["EpisodeSeen", "WorkingNoted"]
    assert r.value("home") is None


@pytest.mark.parametrize(
    ("content", "yes"), [("You live in Rome, right?", "Yes, right."), ("你住在罗马，对吗？", "对，没错。")]
)
def test_unless_the_user_then_confirms_it(r: Resolver, content: str, yes: str) -> None:
    r.say(content, cand("home", text("Rome")), role="assistant")
    r.say(yes, cand(op="confirm", form_type="", quote=yes[:2]))
    (version,) = r.versions("home")
    assert (version.authority, version.reason) == ("user", "confirmed")
    assert [piece.turn_id for piece in version.evidence] == ["e0", "e1"]


def test_a_yes_to_something_else_confirms_nothing(r: Resolver) -> None:
    r.say("You live in Rome.", cand("home", text("Rome")), role="assistant")
    r.say("Let us talk about lunch.")
    assert r.say("Yes.", cand(op="confirm", form_type="")).note == "there was no question to answer"
    assert r.value("home") is None


def test_an_echo_reinforces_nothing(r: Resolver) -> None:
    r.say("I live in Rome", cand("home", text("Rome")))
    decision = r.say("So you live in Rome", cand("home", text("Rome")), role="assistant")
    assert not of(ch.SlotReinforced, decision)


def test_case_5_the_assistant_fixed_the_bug(r: Resolver) -> None:
    decision = r.say("I fixed the bug", cand(op="episode", form_type="", action="fixed", object="the bug"), role="assistant")
    (seen,) = of(ch.EpisodeSeen, decision)
    assert seen.actor == "assistant"


# -- authority and hedge ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("authority", ["model", "hearsay", "hypothetical", "joke", "question", "quoted", "speculated"])
@pytest.mark.parametrize("content", ["I live in Rome", "我住在罗马"])
def test_what_is_not_the_users_own_word_is_pending_at_most(r: Resolver, authority: str, content: str) -> None:
    r.say("I live in Oslo", cand("home", text("Oslo")))
    r.say(content, cand("home", text("Rome"), authority=authority))
    assert r.value("home") == "Oslo"
    assert r.pendings() == ["home=Rome"]


@pytest.mark.parametrize(
    ("content", "question"),
    [("The budget is about 6000", "Is the budget of {} 6000 EUR?"), ("预算大概六千", "{}的预算是6000 EUR吗？")],
)
def test_a_hedged_number_is_pending_until_the_user_says_yes(r: Resolver, content: str, question: str) -> None:
    decision = r.say(content, budget(money("6000"), hedged=True))
    (asked,) = of(ch.PendingOpened, decision)
    assert (asked.why, asked.confidence, asked.form_id) == ("hedged", 0.5, "")
    assert "6000 EUR" in asked.question
    assert ("吗" in asked.question) == ("吗" in question)
    r.say("Yes, exactly", cand(op="confirm", form_type=""))
    assert r.value("budget", "project", "current") == "6000 EUR"
    assert r.pendings() == []
    assert r.versions("budget")[0].reason == "confirmed"


def test_below_the_threshold_it_is_asked_first(r: Resolver) -> None:
    (asked,) = of(ch.PendingOpened, r.say("home Rome", cand("home", text("Rome"), confidence=0.7)))
    assert asked.why == "threshold"


def test_the_same_question_again_gains_evidence_and_another_takes_its_place(r: Resolver) -> None:
    first = of(ch.PendingOpened, r.say("about 6000", budget(money("6000"), hedged=True)))[0]
    again = of(ch.PendingOpened, r.say("roughly 6000", budget(money("6000"), hedged=True)))[0]
    assert again.pending_id == first.pending_id
    assert len(again.evidence) == 2
    other = r.say("roughly 7000", budget(money("7000"), hedged=True))
    assert [closed.how for closed in of(ch.PendingClosed, other)] == ["superseded"]
    assert r.pendings() == ["budget=7000 EUR"]


def test_a_plain_statement_answers_the_question(r: Resolver) -> None:
    r.say("I live in Oslo", cand("home", text("Oslo")))
    r.say("maybe I live in Rome", cand("home", text("Rome"), hedged=True))
    decision = r.say("I live in Rome", cand("home", text("Rome")))
    assert [closed.how for closed in of(ch.PendingClosed, decision)] == ["confirmed"]
    r.say("maybe I live in Bern", cand("home", text("Bern"), hedged=True))
    decision = r.say("I live in Paris", cand("home", text("Paris")))
    assert [closed.how for closed in of(ch.PendingClosed, decision)] == ["superseded"]


@pytest.mark.parametrize(("hedged", "no"), [("about 6000", "No, 6500"), ("大概6000", "不，是6500")])
def test_no_with_another_value_sets_that(r: Resolver, hedged: str, no: str) -> None:
    r.say(hedged, budget(money("6000"), hedged=True))
    decision = r.say(no, cand("budget", money("6500"), op="reject", form_type="project"))
    assert [closed.how for closed in of(ch.PendingClosed, decision)] == ["rejected"]
    assert r.value("budget", "project", "current") == "6500 EUR"
    assert [piece.turn_id for piece in r.versions("budget")[0].evidence] == ["e1"]


def test_no_drops_the_question(r: Resolver) -> None:
    r.say("about 6000", budget(money("6000"), hedged=True))
    r.say("No.", cand(op="reject", form_type=""))
    assert (r.pendings(), r.versions("budget")) == ([], [])


def test_a_hedged_repetition_of_what_stands_asks_nothing(r: Resolver) -> None:
    r.say("I live in Rome", cand("home", text("Rome")))
    assert r.say("I think I live in Rome", cand("home", text("Rome"), hedged=True)).outcome == "nothing"


# -- importance ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["my umbrella is blue", "我的伞是蓝色的"])
def test_below_importance_it_stays_in_working_memory_until_the_session_ends(r: Resolver, content: str) -> None:
    from mnemolog.schemas.inputs import SessionEnded

    decision = r.say(content, cand("home", text("x"), importance=0.1))
    assert kinds(decision) == ["WorkingNoted"]
    assert list(r.state.working) == ["s1"]
    assert kinds(r.give(SessionEnded(session="s1"))) == ["WorkingCleared"]
    assert list(r.state.working) == []
    assert r.give(SessionEnded(session="s1")).outcome == "nothing"


# -- entity ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name", "relation", "thing"),
    [
        ("My friend Jack can't stand football.", "Jack", "friend", "football"),
        ("我的朋友乔纳斯不喜欢足球。", "乔纳斯", "朋友", "足球"),
    ],
)
def test_case_6_somebody_elses_preference(r: Resolver, content: str, name: str, relation: str, thing: str) -> None:
    decision = r.say(content, cand("dislikes", text(thing), op="add", entity=EntityRef("named", name, relation)))
    assert r.values("dislikes") == []
    assert r.values("dislikes", "person", name.lower()) == [thing]
    (edge,) = of(ch.EdgeAdded, decision)
    assert edge.relation == f"knows:{relation}"
    assert edge.from_form == r.form("person", "self")
    r.say("he likes tea", cand("likes", text("tea"), op="add", entity=EntityRef("anaphor", "he")))
    assert r.values("likes", "person", name.lower()) == ["tea"]
    r.say("again", cand("likes", text("tea"), op="add", entity=EntityRef("relative", "", relation)))
    assert len(r.state.form) == 2


def test_my_mother_and_my_mother_anna_are_one(r: Resolver) -> None:
    r.say("my mother lives in Rome", cand("home", text("Rome"), entity=EntityRef("relative", "", "mother")))
    r.say("my mother Anna is a nurse", cand("job", text("nurse"), entity=EntityRef("named", "Anna", "mother")))
    assert r.value("home", "person", "anna") == "Rome"
    assert r.state.form[r.form("person", "anna")].name == "Anna"


def test_jack_is_jack_smith_while_there_is_only_one(r: Resolver) -> None:
    r.say("Jack Smith lives in Rome", cand("home", text("Rome"), entity=EntityRef("named", "Jack Smith")))
    r.say("Jack is a cook", cand("job", text("cook"), entity=EntityRef("named", "Jack")))
    assert r.value("job", "person", "jack smith") == "cook"


def test_a_second_speaker_is_somebody_else(r: Resolver) -> None:
    r.say("I live in Rome", cand("home", text("Rome")), speaker="Ann")
    r.say("I live in Oslo", cand("home", text("Oslo")), speaker="Bob")
    r.say("I live in Bern now", cand("home", text("Bern")), speaker="Ann")
    assert (r.value("home"), r.value("home", "person", "bob")) == ("Bern", "Oslo")
    assert r.form("person", "ann") == r.form("person", "self")


def test_the_current_form_is_the_one_last_talked_about_in_the_session(r: Resolver) -> None:
    r.say("Apollo costs 5", budget(money("5"), entity=PROJECT), session="a")
    r.say("Zeus costs 7", budget(money("7"), entity=EntityRef("named", "Zeus")), session="b")
    r.say("the budget is 6", budget(money("6")), session="a")
    assert r.value("budget", "project", "apollo") == "6 EUR"
    r.say("the budget is 8", budget(money("8")), session="c")
    assert r.value("budget", "project", "apollo") == "8 EUR"


def test_what_points_back_to_nothing_is_asked_about(r: Resolver) -> None:
    (asked,) = of(ch.PendingOpened, r.say("that plan costs 5", budget(money("5"), entity=EntityRef("anaphor", "that plan"))))
    assert (asked.why, asked.question) == ("unresolved", 'Which project do you mean by "that plan"?')


def test_an_identifying_value_makes_or_finds_its_form(r: Resolver) -> None:
    lead = {"form_type": "lead", "entity": CURRENT}
    r.say("new lead Acme", cand("name", text("Acme"), **lead))
    r.say("new lead Zenith", cand("name", text("Zenith"), **lead))
    r.say("the lead Acme again, budget 5", cand("name", text("acme"), **lead), cand("budget", money("5"), **lead))
    assert r.value("budget", "lead", "acme") == "5 EUR"
    assert r.value("budget", "lead", "zenith") is None


def test_a_quote_refers_to_its_lead(r: Resolver) -> None:
    r.say("new lead Acme", cand("name", text("Acme"), form_type="lead", entity=CURRENT))
    decision = r.say("quote Q-7", cand("number", text("Q-7"), form_type="quote", entity=CURRENT))
    (edge,) = of(ch.EdgeAdded, decision)
    assert (edge.relation, edge.to_form) == ("refers_to", r.form("lead", "acme"))
    assert edge.from_form == r.form("quote", "q-7")


def test_a_relation_with_a_trigger_needs_its_word(r: Resolver) -> None:
    r.say("Apollo costs 5", budget(money("5"), entity=PROJECT))
    plan = {"form_type": "plan", "entity": CURRENT}
    assert not of(ch.EdgeAdded, r.say("dentist on Monday", cand("what", text("dentist"), **plan)))
    (edge,) = of(ch.EdgeAdded, r.say("kick-off for the project", cand("what", text("kick-off"), **plan)))
    assert edge.to_form == r.form("project", "apollo")


def test_a_relation_that_is_said(r: Resolver) -> None:
    said = cand(
        op="relate",
        form_type="project",
        entity=PROJECT,
        relation="led_by",
        target=EntityRef("named", "Jack"),
        target_type="person",
    )
    (edge,) = of(ch.EdgeAdded, r.say("Jack leads Apollo", said))
    assert (edge.from_form, edge.to_form, edge.relation) == (r.form("project", "apollo"), r.form("person", "jack"), "led_by")
    assert r.say("Jack leads Apollo!", said).outcome == "nothing"


# -- time ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("new", "old"), [("I live in Rome", "I live in Oslo"), ("我住在罗马", "我住在奥斯陆")])
def test_what_is_older_goes_into_history(r: Resolver, new: str, old: str) -> None:
    r.say(new, cand("home", text("Rome")), day=10)
    decision = r.say(old, cand("home", text("Oslo")), day=5)
    (late,) = of(ch.SlotChanged, decision)
    assert (late.status, late.reason, late.valid_from) == ("history", "late", at(5))
    assert r.value("home") == "Rome"
    between = of(ch.SlotChanged, r.say("in between", cand("home", text("Bern")), day=7))[0]
    assert (between.status, between.supersedes) == ("history", late.version)
    again = r.say("Bern, I said", cand("home", text("Bern")), day=8)
    assert [change.version for change in of(ch.SlotReinforced, again)] == [between.version]


@pytest.mark.parametrize(("content", "later"), [("From April on the budget is 6", "ok"), ("从四月起预算是6", "好")])
def test_what_is_to_come_is_scheduled_and_becomes_current_in_time(r: Resolver, content: str, later: str) -> None:
    r.say("The budget is 5", budget(money("5")), day=0)
    decision = r.say(content, budget(money("6"), valid_from=at(30)), day=1)
    (scheduled,), (deadline,) = of(ch.SlotChanged, decision), of(ch.DeadlineSet, decision)
    assert (scheduled.status, deadline.due, deadline.version) == ("scheduled", at(30), scheduled.version)
    assert r.value("budget", "project", "current") == "5 EUR"
    assert r.say("not yet", day=29).changes == []
    passed = r.say(later, day=31)
    (elapsed,) = of(ch.SlotChanged, passed)
    assert (elapsed.reason, elapsed.status, elapsed.version, elapsed.supersedes) == ("elapsed", "confirmed", 2, 1)
    assert of(ch.DeadlineDone, passed)[0].deadline_id == deadline.deadline_id
    assert r.value("budget", "project", "current") == "6 EUR"
    assert not r.state.deadline


def test_a_deadline_command_does_the_same(r: Resolver) -> None:
    from mnemolog.schemas.inputs import DeadlinePassed

    r.say("From April on 6", budget(money("6"), valid_from=at(30)), day=1)
    r.give(DeadlinePassed(kind="valid_from", due=at(30)), when=at(30))
    assert r.value("budget", "project", "current") == "6 EUR"


def test_an_end_that_is_to_come(r: Resolver) -> None:
    r.say("I work at Acme", cand("employer", text("Acme")), day=0)
    r.say("I leave Acme in April", cand("employer", text("Acme"), op="remove", valid_from=at(30)), day=1)
    assert r.value("employer") == "Acme"
    r.say("hello", day=40)
    assert r.value("employer") is None


def test_a_clock_that_runs_ahead_is_clamped(r: Resolver) -> None:
    decision = r.say("I live in Rome", cand("home", text("Rome")), day=50, recorded=at(1))
    assert of(ch.SlotChanged, decision)[0].valid_from == "2026-03-03T09:05:00.000000Z"


# -- same, correction, newer, finer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("content", "again"), [("I live in Rome.", "I live in ROME!"), ("我住在罗马", "我住在罗马。")])
def test_case_2_the_same_again_is_reinforced(r: Resolver, content: str, again: str) -> None:
    r.say(content, cand("home", text("Rome")), day=0)
    decision = r.say(again, cand("home", text("rome")), day=1)
    (more,) = of(ch.SlotReinforced, decision)
    assert (more.version, more.count) == (1, 2)
    assert len(r.versions("home")) == 1


@pytest.mark.parametrize(("content", "correction"), [("the budget is 5", "no, I meant 6"), ("预算是5", "不对，是6")])
def test_a_correction_replaces_what_it_corrects(r: Resolver, content: str, correction: str) -> None:
    r.say(content, budget(money("5")))
    decision = r.say(correction, budget(money("6"), before=money("5"), correction=True))
    (version,) = of(ch.SlotChanged, decision)
    assert (version.reason, version.supersedes, version.before) == ("corrected", 1, money("5"))
    (told,) = of(ch.EpisodeSeen, decision)
    assert (told.episode, told.before, told.after) == ("decision", "5 EUR", "6 EUR")


def test_a_correction_of_an_older_value_stays_in_the_past(r: Resolver) -> None:
    r.say("I live in Milan", cand("home", text("Milan")), day=0)
    r.say("I live in Oslo", cand("home", text("Oslo")), day=5)
    r.say("Back then it was Rome, not Milan", cand("home", text("Rome"), before=text("Milan"), correction=True), day=6)
    assert r.value("home") == "Oslo"
    last = r.versions("home")[-1]
    assert (last.status, last.reason, last.valid_from, last.supersedes) == ("history", "corrected", at(0), 1)


def test_the_old_value_tells_which_slot_a_correction_means(r: Resolver) -> None:
    r.say("the budget is 5", budget(money("5")))
    r.say("not 5 but 6", cand("", money("6"), before=money("5"), correction=True, form_type=""))
    assert r.value("budget", "project", "current") == "6 EUR"


@pytest.mark.parametrize(
    ("first", "then", "why"),
    [("I am vegetarian", "I eat steak now", "the doctor said so"), ("我吃素", "我现在吃肉了", "医生建议的")],
)
def test_case_1_the_newer_value_replaces_the_older(r: Resolver, first: str, then: str, why: str) -> None:
    r.say(first, cand("home", text("A")), day=0)
    decision = r.say(then, cand("home", text("B"), cause=why), day=21)
    (version,) = of(ch.SlotChanged, decision)
    assert (version.reason, version.supersedes, version.before, version.cause) == ("newer", 1, text("A"), why)
    (told,) = of(ch.EpisodeSeen, decision)
    assert (told.before, told.after, told.cause, told.occurred_at) == ("A", "B", why, at(21))


def test_a_then_b_then_a_is_three_versions_and_two_decisions(r: Resolver) -> None:
    for value, why in (("5", ""), ("8", "a new vendor"), ("5", "the vendor left")):
        r.say(f"budget {value} {why}", budget(money(value), cause=why))
    assert [version.version for version in r.versions("budget")] == [1, 2, 3]
    told = [(seen.before, seen.after, seen.cause) for decision in r.decisions for seen in of(ch.EpisodeSeen, decision)]
    assert told == [("5 EUR", "8 EUR", "a new vendor"), ("8 EUR", "5 EUR", "the vendor left")]


def test_case_8_another_slot_is_not_touched(r: Resolver) -> None:
    r.say("I work at A", cand("employer", text("A")))
    r.say("I also maintain A's repos", cand("job", text("maintainer")))
    assert (r.value("employer"), r.value("job")) == ("A", "maintainer")


def test_case_9_another_number_is_a_new_version(r: Resolver) -> None:
    r.say("5 years", cand("years_at_job", Value("duration", "P5Y", "5 years")), day=0)
    r.say("6 years", cand("years_at_job", Value("duration", "P6Y", "6 years")), day=365)
    assert r.value("years_at_job") == "6 years"
    assert len(r.versions("years_at_job")) == 2


@pytest.mark.parametrize(
    ("slot", "coarse", "fine"),
    [
        ("home", text("Munich"), text("Munich, Germany")),
        ("home", text("Germany"), text("Munich, Germany")),
        ("home", text("上海"), text("上海浦东")),
        ("job", text("engineer"), text("software engineer")),
        ("birthday", Value("date", "1990"), Value("date", "1990-05-07")),
        ("salary", money("5000", ""), money("5000", "EUR")),
    ],
)
def test_a_finer_value_of_the_same_thing(r: Resolver, slot: str, coarse: Value, fine: Value) -> None:
    r.say("coarse", cand(slot, coarse))
    decision = r.say("fine", cand(slot, fine))
    assert [(v.reason, v.supersedes) for v in of(ch.SlotChanged, decision)] == [("refined", 1)]
    assert not of(ch.EpisodeSeen, decision)
    again = r.say("coarse again", cand(slot, coarse))
    assert [more.version for more in of(ch.SlotReinforced, again)] == [2]
    assert r.value(slot) == fine.shown


@pytest.mark.parametrize(
    ("slot", "one", "other"),
    [("origin", "York", "New York"), ("job", "president", "vice president"), ("job", "engineer", "former engineer")],
)
def test_what_only_looks_finer_is_another_value(r: Resolver, slot: str, one: str, other: str) -> None:
    r.say("one", cand(slot, text(one)))
    assert [v.reason for v in of(ch.SlotChanged, r.say("other", cand(slot, text(other))))] == ["newer"]


# -- multi -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("things", [("tea", "red wine", "wine"), ("茶", "红酒", "酒")])
def test_elements_come_and_go_one_by_one(r: Resolver, things: tuple[str, ...]) -> None:
    for thing in things:
        r.say(f"I like {thing}", cand("likes", text(thing), op="add"))
    assert r.values("likes") == list(things)
    r.say("no more tea", cand("likes", text(things[0]), op="remove"))
    assert r.values("likes") == list(things[1:])
    r.say("tea after all", cand("likes", text(things[0]), op="set"))
    assert sorted(r.values("likes")) == sorted(things)


def test_a_finer_element_is_kept_beside_the_coarser(r: Resolver) -> None:
    r.say("I like red", cand("likes", text("red"), op="add"))
    decision = r.say("I like deep red", cand("likes", text("deep red"), op="add"))
    assert [v.reason for v in of(ch.SlotChanged, decision)] == ["refined"]
    assert r.values("likes") == ["red", "deep red"]


@pytest.mark.parametrize(("like", "dislike", "thing"), [("I like it", "I hate it", "football"), ("我喜欢", "我讨厌", "足球")])
def test_what_is_liked_is_no_longer_disliked(r: Resolver, like: str, dislike: str, thing: str) -> None:
    r.say(dislike, cand("dislikes", text(thing), op="add"), day=1)
    decision = r.say(like, cand("likes", text(thing), op="add"), day=2)
    assert (r.values("likes"), r.values("dislikes")) == ([thing], [])
    (told,) = of(ch.EpisodeSeen, decision)
    assert thing in told.object
    r.say("long ago I hated it", cand("dislikes", text(thing), op="add"), day=0)
    assert (r.values("likes"), r.values("dislikes")) == ([thing], [])


def test_not_tea_but_coffee_swaps_one_element(r: Resolver) -> None:
    r.say("I like tea", cand("likes", text("tea"), op="add"))
    r.say("I like cake", cand("likes", text("cake"), op="add"))
    decision = r.say("not tea but coffee", cand("likes", text("coffee"), op="add", before=text("tea"), correction=True))
    assert r.values("likes") == ["cake", "coffee"]
    assert [(seen.before, seen.after) for seen in of(ch.EpisodeSeen, decision)] == [("tea", "coffee")]


def test_a_remove_ends_a_single_value_and_only_the_one_it_names(r: Resolver) -> None:
    r.say("I work at Acme", cand("employer", text("Acme")))
    assert r.say("I left Zenith", cand("employer", text("Zenith"), op="remove")).outcome == "rejected"
    (ended,) = of(ch.SlotChanged, r.say("I left Acme", cand("employer", text("Acme"), op="remove", cause="pay")))
    assert (ended.status, ended.value, ended.supersedes, ended.cause) == ("retired", text("Acme"), 1, "pay")
    assert r.value("employer") is None
    r.say("I work at Acme again", cand("employer", text("Acme")))
    assert r.value("employer") == "Acme"


def test_a_remove_without_a_value_empties_the_slot(r: Resolver) -> None:
    for thing in ("cats", "dogs"):
        r.say(thing, cand("likes", text(thing), op="add"))
    r.say("I like nothing any more", cand("likes", None, op="remove"))
    assert r.values("likes") == []


def test_a_remove_of_second_hand_is_asked(r: Resolver) -> None:
    r.say("I work at Acme", cand("employer", text("Acme")))
    r.say("they say I left", cand("employer", text("Acme"), op="remove", authority="hearsay"))
    assert r.value("employer") == "Acme"
    r.say("yes", cand(op="confirm", form_type=""))
    assert r.value("employer") is None


# -- cancel ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["forget the old plan", "之前的方案作废"])
def test_a_plan_that_is_called_off_goes_with_its_edges(r: Resolver, words: str) -> None:
    r.say("Apollo costs 5", budget(money("5"), entity=PROJECT))
    plan = {"form_type": "plan", "entity": CURRENT}
    r.say("kick-off for the project", cand("what", text("kick-off"), **plan))
    r.say("on Monday", cand("place", text("Rome"), **plan, valid_from=at(90)))
    old = r.form("plan", "kick-off")
    decision = r.say(words, cand(op="retire", form_type="plan", entity=EntityRef("anaphor", words), cause="too dear"))
    assert of(ch.FormRetired, decision)[0].form_id == old
    assert len(of(ch.EdgeRetired, decision)) == 1
    assert [(v.status, v.supersedes) for v in of(ch.SlotChanged, decision)] == [("retired", 1)]
    assert of(ch.EpisodeSeen, decision)[0].episode == "cancelled"
    again = r.say("kick-off after all", cand("what", text("kick-off"), **plan))
    assert r.form("plan", "kick-off") != old
    assert ("evolves_from", old) in [(edge.relation, edge.to_form) for edge in of(ch.EdgeAdded, again)]


# -- input as a whole ------------------------------------------------------------------------------------------------------


def test_w12_the_same_words_within_ten_minutes_are_a_repetition(r: Resolver) -> None:
    minute = 60 / DAY
    first = r.say("I live in Rome", cand("home", text("Rome")), day=0)
    assert first.outcome == "changed"
    assert r.say("I live in Rome", cand("home", text("Rome")), day=10 * minute).outcome == "duplicate"
    assert r.say("I live in Rome", cand("home", text("Rome")), day=10 * minute, session="s2").outcome == "changed"
    assert r.say("I live in Rome", cand("home", text("Rome")), day=10 * minute, speaker="Ann").outcome == "changed"
    assert r.say("I live in Rome", cand("home", text("Rome")), day=10.1 * minute).outcome == "changed"


def test_case_16_a_failed_extraction_is_recorded_and_can_be_asked_again(r: Resolver) -> None:
    from mnemolog.processors.core.ports import SeenTurn
    from mnemolog.schemas.inputs import ReextractRequested, Turn

    turn = Turn(content="I live in Rome", occurred_at=at(0), session="s1")
    assert r.give(turn, when=at(0), event_id="t", failed=True).outcome == "failed"
    r.say("I live in Oslo", cand("home", text("Oslo")), day=3)
    again = ReextractRequested(turn_id="t")
    assert r.give(again, when=at(5)).note == "no turn 't'"
    decision = r.give(again, cand("home", text("Rome")), when=at(6), about=SeenTurn("t", turn))
    (late,) = of(ch.SlotChanged, decision)
    assert (late.status, late.valid_from, late.evidence[0].turn_id) == ("history", at(0), "t")
    assert r.value("home") == "Oslo"


def test_an_episode_is_seen_at_its_time(r: Resolver) -> None:
    shopping = cand(op="episode", form_type="", actor="I", action="went", object="shopping", valid_from=at(-1))
    (seen,) = of(ch.EpisodeSeen, r.say("I went shopping yesterday", shopping))
    assert (seen.episode, seen.occurred_at, seen.action) == ("event", at(-1), "went")
    (plan,) = of(ch.EpisodeSeen, r.say("going to Rome", cand(op="episode", action="go", object="Rome", valid_from=at(90))))
    assert plan.episode == "plan"
    assert r.say("if I went", cand(op="episode", action="go", authority="hypothetical")).outcome == "rejected"


def test_ids_are_the_same_whenever_it_is_decided_again() -> None:
    made = []
    for _ in range(2):
        r = Resolver()
        r.say("My friend Jack lives in Rome", cand("home", text("Rome"), entity=EntityRef("named", "Jack", "friend")))
        made.append([record.value for record in r.records])
    assert made[0] == made[1]
    assert ME.kind == "self"


@pytest.mark.parametrize(
    ("first", "then"), [("I am vegetarian", "not any more, I eat fish now"), ("我吃素", "不吃素了，我现在吃鱼")]
)
def test_an_end_and_its_successor_are_one_decision(r: Resolver, first: str, then: str) -> None:
    r.say(first, cand("home", text("A")))
    decision = r.say(then, cand("home", text("A"), op="remove", cause="iron"), cand("home", text("B")))
    assert [(v.reason, v.supersedes, v.cause) for v in of(ch.SlotChanged, decision)] == [("newer", 1, "iron")]
    assert [(seen.before, seen.after) for seen in of(ch.EpisodeSeen, decision)] == [("A", "B")]
    r.say("not B any more, maybe C", cand("home", text("B"), op="remove"), cand("home", text("C"), hedged=True))
    assert (r.value("home"), r.pendings()) == (None, ["home=C"])


def test_a_value_that_was_said_again_is_corrected_like_any_other(r: Resolver) -> None:
    r.say("home Rome", cand("home", text("Rome")))
    r.say("Rome, as I said", cand("home", text("Rome")))
    r.state = reloaded(r)
    decision = r.say("not Rome but Bern", cand("home", text("Bern"), correction=True, before=text("Rome")))
    assert [(change.reason, change.status) for change in of(ch.SlotChanged, decision)] == [("corrected", "confirmed")]
    assert r.value("home") == "Bern"
