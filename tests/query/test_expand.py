"""From what a question names to what it means: along edges and along slots that name another Form."""

from __future__ import annotations

import pytest

from mnemolog.query.expand import MOST_PER_LAYER
from mnemolog.query.hits import Found
from mnemolog.query.trace import Walk
from mnemolog.schemas.views import EdgeView, FormView
from query.memory import START, Lists, form, recall_over, slot

ME = "acme/user:1"
NOW = "2026-05-20T12:00:00.000000Z"


def edge(a: FormView, b: FormView, relation: str, weight: float = 1.0, valid_from: str = START) -> EdgeView:
    return EdgeView(
        edge_id=f"{a.key}-{relation}-{b.key}",
        from_form=a.form_id,
        to_form=b.form_id,
        relation=relation,
        weight=weight,
        status="current",
        valid_from=valid_from,
        evidence=[],
    )


def ask(lists: Lists, question: str, **options: object) -> Found:
    return recall_over(lists).search([ME], question, now=NOW, trace=True, time_budget=60.0, **options)  # type: ignore[arg-type]


def slots(found: Found) -> list[tuple[str, str]]:
    return [(hit.form_id.rpartition(":")[2], hit.slot) for hit in found if hit.kind == "slot"]


def walks(found: Found) -> dict[str, Walk]:
    assert found.trace is not None
    return {walk.edge_id: walk for walk in found.trace.edges}


@pytest.fixture
def lists() -> Lists:
    made = Lists()
    made.say(ME, "Apollo is ours.", event_id="a1")
    apollo = form(ME, "project", "apollo", [slot("owner", "Jill", "Jill runs it"), slot("budget", "9", "nine")], name="Apollo")
    jill = form(ME, "person", "jill", [slot("home", "Oslo", "lives in Oslo"), slot("spouse", "Jack", "Jack")], name="Jill")
    jack = form(ME, "person", "jack", [slot("home", "Rome", "lives in Rome"), slot("job", "cook", "a cook")], name="Jack")
    made.form_views = [apollo, jill, jack]
    return made


def test_a_slot_that_names_a_form_leads_to_it(lists: Lists) -> None:
    found = ask(lists, "What is the home of the owner of Apollo?")
    assert slots(found)[0] == ("jill", "home") or slots(found)[:2] == [("apollo", "owner"), ("jill", "home")]
    # Another one of its kind is no answer.
    assert ("jack", "home") not in slots(found)
    (hit,) = [hit for hit in found if (hit.slot, hit.form_type) == ("home", "person")]
    assert (hit.routes, hit.why["steps"]) == (["edges"], 1.0)
    assert walks(found)[f"{ME}:project:apollo/owner"].taken


def test_two_steps_reach_further_but_not_three(lists: Lists) -> None:
    found = ask(lists, "What is the job of the spouse of the owner of Apollo?")
    assert ("jack", "job") in slots(found)
    jack = lists.form_views[2]
    lists.form_views[2] = form(ME, "person", "jack", [*jack.slots, slot("manager", "Jim", "Jim")], name="Jack")
    lists.form_views.append(form(ME, "person", "jim", [slot("job", "pilot", "a pilot")], name="Jim"))
    lists.changes += 1
    found = ask(lists, "What is the job of the manager of the spouse of the owner of Apollo?")
    assert ("jim", "job") not in slots(found)
    assert {walk.layer for walk in walks(found).values()} == {1, 2}


def test_an_edge_is_followed_where_the_question_speaks_of_it(lists: Lists) -> None:
    me = form(ME, "person", "self", [slot("home", "Bonn", "I live in Bonn")])
    anna = form(ME, "person", "anna", [slot("job", "judge", "a judge")], name="Anna")
    ben = form(ME, "person", "ben", [slot("job", "baker", "a baker")], name="Ben")
    lists.form_views = [me, anna, ben]
    lists.edge_views[ME] = [edge(me, anna, "knows:sister"), edge(me, ben, "knows:friend")]
    found = ask(lists, "What is my sister's job?")
    assert slots(found) == [("anna", "job")]
    walked = walks(found)
    assert walked["self-knows:sister-anna"].taken
    assert not walked["self-knows:friend-ben"].taken
    assert walked["self-knows:friend-ben"].why == "nothing in the question asks for this relation"


def test_the_other_end_is_found_from_either_end(lists: Lists) -> None:
    quote = form(ME, "quote", "q1", [slot("amount", "700", "seven hundred")], name="Q1")
    lead = form(ME, "lead", "acme", [slot("company", "Acme", "Acme")], name="Acme")
    lists.form_views = [quote, lead]
    lists.edge_views[ME] = [edge(quote, lead, "refers_to")]
    assert ("q1", "amount") in slots(ask(lists, "What is the quote for Acme?"))
    assert ("acme", "company") in slots(ask(lists, "Which client is Q1 for?"))


@pytest.mark.parametrize(
    ("weight", "valid_from", "status", "why"),
    [
        (0.6, START, "current", "weight 0.6 is not above 0.6"),
        (1.0, "2026-06-01T00:00:00.000000Z", "current", "it does not hold yet"),
        (1.0, START, "retired", "it leads to what was called off"),
    ],
)
def test_what_is_weak_or_not_yet_or_no_longer_is_not_followed(
    lists: Lists, weight: float, valid_from: str, status: str, why: str
) -> None:
    quote = form(ME, "quote", "q1", [slot("amount", "700", "seven hundred")], name="Q1")
    lead = form(ME, "lead", "acme", [slot("company", "Acme", "Acme")], name="Acme", status=status)
    lists.form_views = [quote, lead]
    lists.edge_views[ME] = [edge(quote, lead, "refers_to", weight, valid_from)]
    found = ask(lists, "Which client is Q1 for?")
    assert [walk.why for walk in walks(found).values()] == [why]
    assert "acme" not in [name for name, _ in slots(found)]


def test_a_layer_has_at_most_five_the_strongest_first(lists: Lists) -> None:
    project = form(ME, "project", "apollo", [], name="Apollo")
    leads = [form(ME, "lead", f"l{at}", [slot("company", f"c{at}", f"c{at}")], name=f"Lead {at}") for at in range(8)]
    lists.form_views = [project, *leads]
    lists.edge_views[ME] = [edge(project, lead, "refers_to", 0.7 + at / 100) for at, lead in enumerate(leads)]
    found = ask(lists, "Which clients is Apollo for?")
    taken = [walk for walk in walks(found).values() if walk.taken]
    assert [walk.to_form.rpartition(":")[2] for walk in taken] == ["l7", "l6", "l5", "l4", "l3"]
    assert len(taken) == MOST_PER_LAYER
    assert sum(walk.why == "more than 5 in this layer" for walk in walks(found).values()) == 3


def test_what_came_before_is_followed_only_when_history_is_asked_for(lists: Lists) -> None:
    new = form(ME, "plan", "trip-2", [slot("place", "Oslo", "Oslo")], name="Trip Two")
    old = form(ME, "plan", "trip-1", [slot("place", "Rome", "Rome")], name="Trip One", status="retired")
    lists.form_views = [new, old]
    lists.edge_views[ME] = [edge(new, old, "evolves_from")]
    assert slots(ask(lists, "What is the destination of Trip Two?")) == [("trip-2", "place")]
    past = ask(lists, "What was the destination of Trip Two before?")
    assert ("trip-1", "place") in slots(past)
    assert all(hit.status == "retired" for hit in past if hit.form_id.endswith("trip-1"))


def test_a_circle_ends(lists: Lists) -> None:
    a, b = (form(ME, "project", key, [slot("note", key, key)], name=key.title()) for key in ("alpha", "beta"))
    lists.form_views = [a, b]
    lists.edge_views[ME] = [edge(a, b, "part_of"), edge(b, a, "part_of"), edge(a, a, "part_of")]
    assert {name for name, _ in slots(ask(lists, "Which project is Alpha part of?"))} == {"alpha", "beta"}
