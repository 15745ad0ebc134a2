"""Inputs that are no turns: what they change, and that an unknown target is recorded and changes nothing."""

from __future__ import annotations

import pytest

from core.said import Resolver, at, cand, kinds, money, of, reloaded, snapshot, text
from mnemolog.schemas import changes as ch
from mnemolog.schemas.inputs import (
    ConfirmationGiven,
    CorrectionRequested,
    ErasureRequested,
    RetractionRequested,
)
from mnemolog.schemas.observations import EntityRef

CURRENT = EntityRef("current")


@pytest.fixture
def r() -> Resolver:
    resolver = Resolver()
    resolver.say("I live in Rome", cand("home", text("Rome")))
    resolver.say("I like tea", cand("likes", text("tea"), op="add"))
    return resolver


@pytest.mark.parametrize("value", ["Oslo", "奥斯陆"])
def test_a_correction_by_hand(r: Resolver, value: str) -> None:
    form = r.form("person", "self")
    decision = r.give(CorrectionRequested(form_id=form, slot="home", value=value, reason="typo"))
    (version,) = of(ch.SlotChanged, decision)
    assert (version.reason, version.confidence, version.cause, version.supersedes) == ("corrected", 1.0, "typo", 1)
    assert r.value("home") == value
    r.give(CorrectionRequested(form_id=form, slot="home"))
    assert r.value("home") is None
    assert r.give(CorrectionRequested(form_id=form, slot="home")).outcome == "nothing"


def test_a_correction_of_an_element(r: Resolver) -> None:
    form = r.form("person", "self")
    r.give(CorrectionRequested(form_id=form, slot="likes", value="coffee", element="text:tea"))
    assert r.values("likes") == ["coffee"]
    r.give(CorrectionRequested(form_id=form, slot="likes", element="coffee"))
    assert r.values("likes") == []


def test_a_correction_of_what_names_the_form(r: Resolver) -> None:
    r.give(CorrectionRequested(form_id=r.form("person", "self"), slot="name", value="Mei"))
    assert r.form("person", "mei") == r.form("person", "self")


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (CorrectionRequested(form_id="f", slot="home", value="x"), "no form 'f'"),
        (ConfirmationGiven(pending_id="p", accept=True), "no pending question 'p'"),
        (RetractionRequested(target="form", target_id="f"), "no form 'f'"),
        (RetractionRequested(target="slot", target_id="f", slot="home"), "no form 'f'"),
    ],
)
def test_an_unknown_target_is_a_recorded_no_op(r: Resolver, data, note: str) -> None:  # type: ignore[no-untyped-def]
    decision = r.give(data)
    assert (decision.outcome, decision.changes, decision.note) == ("nothing", [], note)


def test_a_value_of_the_wrong_type_is_rejected(r: Resolver) -> None:
    decision = r.give(CorrectionRequested(form_id=r.form("person", "self"), slot="birthday", value="purple"))
    assert (decision.outcome, kinds(decision)) == ("rejected", ["Rejected"])
    form = r.form("person", "self")
    assert r.give(CorrectionRequested(form_id=form, slot="nose", value="x")).note == "form type 'person' has no slot 'nose'"
    assert r.give(CorrectionRequested(form_id=form, slot="likes", value="x", element="beer")).outcome == "nothing"


@pytest.mark.parametrize(
    ("answer", "how", "shown"),
    [
        ({"accept": True}, "confirmed", "6000 EUR"),
        ({"accept": False}, "rejected", None),
        ({"accept": True, "value": "6500 EUR"}, "rejected", "6500 EUR"),
        ({"accept": False, "value": "6500 EUR"}, "rejected", "6500 EUR"),
    ],
)
def test_a_pending_value_is_answered(r: Resolver, answer: dict[str, object], how: str, shown: str | None) -> None:
    r.say("about 6000", cand("budget", money("6000"), form_type="project", entity=CURRENT, hedged=True))
    (pending_id,) = r.state.pending
    decision = r.give(ConfirmationGiven(pending_id=pending_id, **answer))  # type: ignore[arg-type]
    assert [closed.how for closed in of(ch.PendingClosed, decision)] == [how]
    assert r.value("budget", "project", "current") == shown


def test_an_answer_that_is_no_value_leaves_the_question_open(r: Resolver) -> None:
    r.say("about 6000", cand("budget", money("6000"), form_type="project", entity=CURRENT, hedged=True))
    (pending_id,) = r.state.pending
    assert r.give(ConfirmationGiven(pending_id=pending_id, accept=True, value="purple")).outcome == "rejected"
    assert list(r.state.pending) == [pending_id]


def test_what_is_hidden_is_news_when_it_is_said_again(r: Resolver) -> None:
    form = r.form("person", "self")
    assert kinds(r.give(RetractionRequested(target="slot", target_id=form, slot="home"))) == ["Hidden"]
    assert r.value("home") is None
    (version,) = of(ch.SlotChanged, r.say("I live in Rome", cand("home", text("Rome"))))
    assert (version.reason, version.version) == ("new", 2)
    r.give(RetractionRequested(target="form", target_id=form))
    assert (r.value("home"), r.values("likes")) == (None, [])
    (version,) = of(ch.SlotChanged, r.say("I like tea, too", cand("likes", text("tea"), op="add")))
    assert version.version == 2


def test_a_hidden_turn_takes_along_what_rests_on_it_alone(r: Resolver) -> None:
    r.say("I do live in Rome", cand("home", text("Rome")))
    r.say("perhaps Oslo", cand("home", text("Oslo"), hedged=True))
    for turn in ("e1", "e3"):
        r.give(RetractionRequested(target="turn", target_id=turn))
    assert (r.value("home"), r.values("likes"), r.pendings()) == ("Rome", [], [])
    r.give(RetractionRequested(target="turn", target_id="e0"))
    assert r.value("home") is None  # the version was made by it


def test_a_relation_goes_with_the_last_turn_it_rests_on_and_is_news_when_it_is_said_again(r: Resolver) -> None:
    jo = cand("home", text("Bonn"), entity=EntityRef("named", "Jo", "friend"))
    r.say("my friend Jo lives in Bonn", jo)
    (edge,) = r.state.edge.values()
    assert edge.turns == ("e2",)
    r.give(RetractionRequested(target="turn", target_id="e1"))
    assert list(r.state.edge.values()) == [edge]
    r.give(RetractionRequested(target="turn", target_id="e2"))
    assert not r.state.edge
    assert not r.state.edges_of
    again = r.say("Jo, my friend, lives in Bonn", jo)
    assert [change.relation for change in of(ch.EdgeAdded, again)] == ["knows:friend"]
    assert snapshot(reloaded(r)) == snapshot(r.state)


def test_the_same_words_soon_after_a_hidden_turn_are_no_repetition(r: Resolver) -> None:
    r.say("a pilot", cand("job", text("pilot")), day=1)
    assert r.say("a pilot", cand("job", text("pilot")), day=1).outcome == "duplicate"
    r.give(RetractionRequested(target="turn", target_id="e2"))
    assert r.value("job") is None
    assert r.say("a pilot", cand("job", text("pilot")), day=1).outcome == "changed"
    assert r.value("job") == "pilot"
    assert snapshot(reloaded(r)) == snapshot(r.state)


def test_an_erased_scope_starts_again(r: Resolver) -> None:
    old = r.form("person", "self")
    assert kinds(r.give(ErasureRequested())) == ["Hidden"]
    assert not r.state.form
    assert list(r.blobs) == ["meta"]
    r.say("I live in Rome", cand("home", text("Rome")))
    assert r.form("person", "self") != old
    assert snapshot(reloaded(r)) == snapshot(r.state)


def test_a_late_correction_by_hand_goes_by_event_time(r: Resolver) -> None:
    form = r.form("person", "self")
    decision = r.give(CorrectionRequested(form_id=form, slot="home", value="Oslo"), when=at(-5))
    assert [version.status for version in of(ch.SlotChanged, decision)] == ["history"]
    assert r.value("home") == "Rome"
