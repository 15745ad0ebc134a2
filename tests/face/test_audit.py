"""Audits with the right values, written by hand: from a memory back to the words, from a turn to all that came of it, and who
changed what in a period; in a folder and on servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from mnemolog import Memory, View
from mnemolog.aio import AsyncMemory
from mnemolog.processors.core.ports import Extraction, SeenTurn
from mnemolog.replay import audit_weeks
from mnemolog.schemas.errors import InvalidInput, ModelOutputInvalid, NotAllowed, NotFound
from mnemolog.schemas.events import OBSERVATIONS, decode
from mnemolog.schemas.observations import Candidate, EntityRef
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.values import Value

ME: dict[str, Any] = {"user_id": 1}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(embedder=False) as opened:
        yield opened


def self_of(memory: Memory, user_id: int = 1) -> str:
    (form,) = [form for form in memory.forms(user_id=user_id) if form.key == "self"]
    return form.form_id


def told(found: object) -> str:
    return msgspec.json.encode(found).decode()


def test_a_slot_leads_to_change_observation_turn_and_quote_and_back_again(anywhere: Memory) -> None:
    anywhere.add("I live in Rome.", **ME, id="a", session="s1", agent_id="helper", occurred_at="2026-01-05T12:00:00Z")
    anywhere.add("I live in Rome.", **ME, id="b", session="s2", occurred_at="2026-01-06T12:00:00Z")
    anywhere.add("Well, I moved to Oslo because of work.", **ME, id="c", session="s2", occurred_at="2026-03-05T12:00:00Z")
    anywhere.add("I live in Bern.", user_id=2, id="a")
    form_id = self_of(anywhere)
    found = anywhere.audit(form_id=form_id, slot="home", **ME)
    now, before = found.items
    assert (found.asked, now.title, before.title) == ([now.id], "user home: Rome → Oslo", "user home: Rome")
    assert [(step.how, step.input) for step in now.steps] == [("newer", "turn/user:1/mnemolog/c")]
    assert [(link.why, link.id) for link in now.steps[0].built_on] == [("takes the place of", before.id)]
    (quote,) = now.steps[0].quotes
    assert (quote.quote, quote.start, quote.end, quote.stands) == ("I moved to Oslo", 6, 21, True)
    assert quote.marked == "Well, ⟦I moved to Oslo⟧ because of work."
    assert [(step.how, step.input) for step in before.steps] == [
        ("new", "turn/user:1/mnemolog/a"),
        ("said again", "turn/user:1/mnemolog/b"),
    ]
    assert [one.event_id for one in found.inputs] == ["a", "b", "c"]
    last = found.inputs[-1]
    assert (last.role, last.actor, last.session, last.source, last.text) == (
        "user",
        "user",
        "s2",
        "mnemolog",
        "Well, I moved to Oslo because of work.",
    )
    assert last.occurred_at == "2026-03-05T12:00:00.000000Z" < last.recorded_at
    assert last.observation is not None
    assert last.decision is not None
    assert (last.observation.extractor, last.observation.context_ids) == ("offline/1", ["b"])
    assert [(one.slot, one.value, one.quote) for one in last.observation.candidates] == [("home", "Oslo", "I moved to Oslo")]
    assert last.decision.outcome == "changed"
    # The decisions are a chain: each names the hash of the one before it.
    hashes = [one.decision.hash for one in found.inputs if one.decision]
    assert [one.decision.prev for one in found.inputs if one.decision] == ["", *hashes[:-1]]
    assert anywhere.audit(form_id=form_id, slot="home", version=1, **ME).items == [before]
    came = anywhere.influence("a", **ME)
    assert {now.id, before.id} <= set(came.memories)
    assert [(one.how, one.why) for one in came.touched if one.kind == "slot"] == [
        ("new", "said"),
        ("said again", "goes on"),
        ("newer", "takes the place of"),
    ]
    assert came.later == ["turn/user:1/mnemolog/b", "turn/user:1/mnemolog/c"]
    assert came.in_context == []
    assert anywhere.influence("b", **ME).in_context == ["turn/user:1/mnemolog/c"]
    assert "Bern" not in told([found, came])


def test_recalls_lines_and_summaries_lead_back_and_forth(anywhere: Memory) -> None:
    anywhere.add("I live in Rome.", **ME, id="a", occurred_at="2026-01-05T12:00:00Z")
    anywhere.add("I ran 5 km yesterday.", **ME, id="b", occurred_at="2026-02-05T12:00:00Z")
    context = anywhere.context("Where do I live?", **ME)
    anywhere.feedback(context.recall_id, "success", note="right", **ME)
    anywhere.process()  # the summaries, too
    given = anywhere.audit(recall_id=context.recall_id, **ME)
    home = f"slot/user:1/{self_of(anywhere)}/home/1"
    assert (given.items[0].kind, given.items[0].title) == ("recall", "Where do I live?")
    assert given.items[0].facts["feedback 1"] == "success right"
    assert home in [item.id for item in given.items]
    assert "a" in [one.event_id for one in given.inputs]
    (line,) = [line for line in context.lines if line.slot == "home"]
    assert anywhere.audit(line.id, **ME).items[0].id == home
    came = anywhere.influence("a", **ME)
    (recall,) = [one for one in came.recalls if one.recall_id == context.recall_id]
    assert home in recall.memories
    assert [(said.outcome, said.note) for said in recall.feedback] == [("success", "right")]
    week = next(week for week in anywhere.summaries(**ME) if week.week == "2026-W02")
    assert week.lines == ["2026-01-05 home: Rome"]
    summary = anywhere.audit(week="2026-W02", line=1, **ME)
    assert [item.id for item in summary.items] == ["summary/user:1/2026-W02", home]
    assert [(one.week, one.counts, one.lines) for one in came.summaries] == [("2026-W02", True, week.lines)]
    with pytest.raises(NotFound):
        anywhere.audit(week="2026-W02", line=2, **ME)


def test_what_was_hidden_is_told_as_hidden_by_whom_and_why(anywhere: Memory) -> None:
    anywhere.add("I live in Rome.", **ME, id="a", occurred_at="2026-01-05T12:00:00Z")
    anywhere.add("I moved to Oslo.", **ME, id="b", occurred_at="2026-03-05T12:00:00Z")
    form_id = self_of(anywhere)
    anywhere.delete("a", reason="asked to", actor="support", **ME)
    found = anywhere.audit(form_id=form_id, slot="home", **ME)
    assert found.items[0].title == "user home: Oslo"
    (gone,) = [item for item in found.items if item.hidden]
    assert gone.hidden is not None
    assert (gone.title, gone.hidden.actor, gone.hidden.reason, gone.hidden.target) == (
        "(hidden)",
        "support",
        "asked to",
        "turn",
    )
    (turn,) = [one for one in found.inputs if one.event_id == "a"]
    assert turn.hidden == gone.hidden
    report = anywhere.audit_report("2020-01-01", **ME)
    assert [row.type for row in report.rows] == ["turn.recorded", "turn.recorded", "retraction.requested"]
    assert report.rows[-1].actor == "support"
    everything = [
        found,
        report,
        anywhere.influence("a", **ME),
        anywhere.audit("a", **ME),
        anywhere.extractor_influence("offline"),
    ]
    assert "Rome" not in told(everything)
    anywhere.delete_user(**ME, reason="leaves", actor="support")
    assert "Oslo" not in told([anywhere.audit("b", **ME), anywhere.audit_report("2020-01-01"), anywhere.influence("b", **ME)])
    hidden = anywhere.audit("b", **ME).inputs[0].hidden
    assert hidden is not None
    assert (hidden.target, hidden.actor, hidden.reason) == ("scope", "support", "leaves")


def test_each_line_of_a_week_is_looked_up_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        memory.add(f"I like fruit{number}.", **ME, id=f"t{number}", session=f"s{number}", occurred_at="2026-01-05T12:00:00Z")
    memory.process()
    looked: list[str] = []

    def counting(line: str, rows: list[Any]) -> list[Any]:
        looked.append(line)
        return found(line, rows)

    found = audit_weeks._rests
    monkeypatch.setattr(audit_weeks, "_rests", counting)
    came = memory.influence("t7", **ME)
    (week,) = memory.summaries(**ME)
    assert looked == week.lines
    assert [one.lines for one in came.summaries] == [["2026-01-05 likes: fruit7"]]


def test_a_confirmation_leads_to_the_question_and_to_who_made_it_be_asked(memory: Memory) -> None:
    memory.add("My age is about 40.", **ME, id="a")
    (pending,) = memory.pending(**ME)
    receipt = memory.confirm(pending.pending_id, actor="nurse", **ME)
    found = memory.audit(form_id=self_of(memory), slot="age", **ME)
    version, question = found.items
    assert [(step.how, link.why, link.id) for step in version.steps for link in step.built_on] == [
        ("confirmed", "answers", question.id)
    ]
    assert [(step.how, step.input) for step in question.steps] == [
        ("asked", "turn/user:1/mnemolog/a"),
        ("confirmed", f"input/user:1/mnemolog/{receipt.ids[0]}"),
    ]
    assert found.inputs[-1].actor == "nurse"
    assert found.inputs[-1].command["accept"] is True
    answer = memory.audit(receipt.ids[0], **ME)
    assert question.id in [item.id for item in answer.items]
    assert [(one.how, one.why) for one in memory.influence("a", **ME).touched if one.kind == "slot"] == [
        ("confirmed", "quoted")
    ]


def test_corrections_and_reverts_are_a_chain_with_their_causes(memory: Memory) -> None:
    for number, city in enumerate(("Rome", "Oslo", "Rome")):
        memory.add(f"I live in {city}.", **ME, id=f"t{number}", occurred_at=f"2026-0{number + 1}-05T12:00:00Z")
    form_id = self_of(memory)
    memory.correct(form_id, "home", "Bern", reason="a slip", actor="clerk", **ME)
    found = memory.audit(form_id=form_id, slot="home", **ME)
    assert [(item.facts["value"], item.steps[0].how) for item in found.items] == [
        ("Bern", "corrected"),
        ("Rome", "newer"),
        ("Oslo", "newer"),
        ("Rome", "new"),
    ]
    assert found.items[0].facts["cause"] == "a slip"
    correction = found.inputs[-1]
    assert (correction.type, correction.actor, correction.command["value"]) == ("correction.requested", "clerk", "Bern")
    assert {item.id for item in found.items} <= set(memory.influence("t0", **ME).memories)
    assert len(memory.audit(form_id=form_id, slot="home", limit=2, **ME).items) == 2
    assert memory.audit(form_id=form_id, slot="home", limit=2, **ME).left_off == 1


def test_a_rollback_is_told_and_leads_to_what_it_went_back_to(memory: Memory) -> None:
    memory.add("I live in Rome.", **ME, id="a")
    memory.add("I moved to Oslo.", **ME, id="b")
    memory.process()
    done = memory.rollback("a", reason="misheard", actor="boss", **ME)
    form_id = self_of(memory)
    found = memory.audit(form_id=form_id, slot="home", **ME)
    assert [(item.facts["value"], item.steps[0].how) for item in found.items] == [
        ("Rome", "rolled_back"),
        ("Oslo", "newer"),
        ("Rome", "new"),
    ]
    assert [quote.turn_id for quote in found.items[0].steps[0].quotes] == ["a"]
    assert found.inputs[-1].actor == "boss"
    back = memory.audit(done.input_id, **ME)
    assert [(link.why, link.id) for link in back.items[0].steps[0].built_on] == [("goes back to", "turn/user:1/mnemolog/a")]


def test_late_facts_other_people_and_another_language(memory: Memory) -> None:
    memory.add("I moved to Oslo.", **ME, id="new", occurred_at="2026-03-05T12:00:00Z")
    memory.add("I live in Rome.", **ME, id="late", occurred_at="2026-01-05T12:00:00Z")
    memory.add("My friend Jack lives in Paris.", **ME, id="jack", occurred_at="2026-03-06T12:00:00Z")
    memory.add("我住在北京。", user_id=2, id="zh")
    found = memory.audit(form_id=self_of(memory), slot="home", version=2, **ME)
    assert [(item.facts["value"], item.steps[0].how) for item in found.items] == [("Rome", "late")]
    (jack,) = [form for form in memory.forms(**ME) if form.name == "Jack"]
    (edge,) = memory.edges(**ME)
    related = memory.audit(edge.edge_id, **ME)
    assert related.items[0].kind == "edge"
    assert [quote.quote for quote in related.items[0].steps[0].quotes] == ["My friend Jack lives in Paris"]
    home = memory.audit(form_id=jack.form_id, slot="home", **ME)
    assert home.items[0].title == "Jack home: Paris"
    chinese = memory.audit(form_id=self_of(memory, 2), slot="home", user_id=2)
    (quote,) = chinese.items[0].steps[0].quotes
    assert (quote.quote, quote.start, quote.end, quote.marked) == ("我住在北京", 0, 5, "⟦我住在北京⟧。")


class Scribe:
    """Says what a model would: a raw answer, candidates that do not stand, and once nothing usable."""

    name, window = "scribe/2", 4

    def extract(self, turn: SeenTurn, window: object) -> Extraction:
        content = turn.turn.content
        if content == "mumble":
            raise ModelOutputInvalid("no JSON", raw="{broken")
        about = EntityRef("self")
        found = [
            Candidate(
                op="set", entity=about, form_type="person", slot="home", value=Value("text", "rome", "Rome"), quote=content,
                start=0, end=len(content),
            ),
            Candidate(
                op="set", entity=about, form_type="person", slot="diet", value=Value("text", "vegan", "vegan"),
                quote="not there", start=0, end=9,
            ),
        ]  # fmt: skip
        return Extraction(candidates=found, raw=f'{{"answer": "{content}"}}', model="m-1", prompt_hash="abcdef0123")


def test_an_observation_tells_model_prompt_raw_answer_and_what_was_refused() -> None:
    with Memory(embedder=False, extractor=Scribe()) as memory:
        memory.add("I live in Rome", **ME, id="a")
        memory.add("mumble", **ME, id="b")
        (one, other) = (memory.audit(event_id, **ME).inputs[0] for event_id in "ab")
        assert one.observation is not None
        assert one.decision is not None
        assert (one.observation.extractor, one.observation.model, one.observation.prompt_hash) == (
            "scribe/2",
            "m-1",
            "abcdef0123",
        )
        assert one.observation.raw == '{"answer": "I live in Rome"}'
        assert one.decision.rejected == ["person diet: no exact span in the turn"]
        assert other.observation is not None
        assert (other.observation.tries, other.observation.error, other.observation.raw) == (3, "no JSON", "{broken")
        assert memory.extractor_influence("scribe").inputs == 2
        counted = memory.extractor_influence(model="m-1", prompt_hash="abc")
        assert (counted.inputs, counted.candidates, counted.failed) == (1, 2, 0)
        assert counted.changes == {"created": 1, "new": 1, "rejected": 1}
        whole = memory.extractor_influence("scribe/2")
        assert [(scope.scope, scope.inputs, scope.failed, scope.standing) for scope in whole.scopes] == [
            ("default/user:1", 2, 1, 1)
        ]
        memory.delete(self_of(memory), slot="home", **ME, reason="private")
        gone = memory.audit("a", **ME).inputs[0]
        assert gone.observation is not None
        assert (gone.observation.raw, gone.observation.withheld) == ("", True)
        assert [candidate.value for candidate in gone.observation.candidates if candidate.slot == "home"] == [""]


def test_a_report_counts_everything_and_keeps_as_many_rows_as_asked_for(memory: Memory) -> None:
    memory.add("I live in Rome.", **ME, id="a", source="mail")
    memory.add("What time is it?", user_id=2, id="q")
    memory.add("My age is about 40.", user_id=2, id="h")
    (pending,) = memory.pending(user_id=2)
    memory.reject(pending.pending_id, user_id=2, actor="nurse")
    rows: list[str] = []
    report = memory.audit_report("2020-01-01", limit=1, each=lambda row: rows.append(row.event_id))
    assert (report.inputs, report.scopes, report.left_off, rows[:3]) == (4, 2, 3, ["a", "q", "h"])
    assert report.totals["type"] == {"confirmation.given": 1, "turn.recorded": 3}
    assert report.totals["outcome"] == {"changed": 3, "nothing": 1}
    assert report.totals["change"] == {"asked": 1, "created": 1, "new": 1, "rejected": 1}
    assert report.totals["source"] == {"mail": 1, "mnemolog": 3}
    assert report.totals["actor"] == {"nurse": 1, "user": 3}
    (row,) = memory.audit_report("2020-01-01", **ME).rows
    assert ([change.title for change in row.changes], [quote.quote for quote in row.quotes]) == (
        ["person: user", "user home: Rome"],
        ["I live in Rome"],
    )
    middle = row.recorded_at
    assert memory.audit_report("2020-01-01", middle).inputs == 0
    assert memory.audit_report(middle).inputs == 4
    assert memory.audit_report("2020-01-01", tenant="other").inputs == 0


def test_a_decision_and_an_observation_lead_to_what_they_made_and_to_the_turn(anywhere: Memory) -> None:
    anywhere.add("I live in Rome.", **ME, id="a", occurred_at="2026-01-05T12:00:00Z")
    anywhere.add("I moved to Oslo.", **ME, id="b", occurred_at="2026-03-05T12:00:00Z")
    [given] = anywhere.audit("b", **ME).inputs
    assert given.decision is not None
    decided = anywhere.audit(given.decision.id, **ME)
    home = f"slot/user:1/{self_of(anywhere)}/home"
    first, *others = decided.items
    assert decided.asked == [first.id] == [f"decision/user:1/{given.decision.id}"]
    assert (first.kind, first.title, first.facts["outcome"]) == ("decision", "what was decided of: I moved to Oslo.", "changed")
    [step] = first.steps
    assert (step.how, step.input) == ("decided", "turn/user:1/mnemolog/b")
    assert ("newer", f"{home}/2") in [(link.why, link.id) for link in step.built_on]
    # What it changed is told with its own past, and the decision itself with what was understood.
    assert {f"{home}/1", f"{home}/2"} <= {item.id for item in others}
    assert next(one for one in decided.inputs if one.event_id == "b") == given
    assert anywhere.audit(first.id).items == decided.items
    scope = Scope("default", "user:1")
    log = anywhere._home.part_of(scope).log
    ids = {envelope.causationid: envelope.id for envelope in (decode(one.value)[0] for one in log.read(OBSERVATIONS, 0))}
    understood = anywhere.audit(ids["b"], **ME)
    assert (understood.items[0].kind, understood.items[0].facts["extractor"]) == ("observation", "offline/1")
    assert understood.items[0].title == "what was understood of: I moved to Oslo."
    assert understood.items[0].steps[0].built_on == step.built_on
    with pytest.raises(NotFound, match="an id is that of a hit, a Form"):
        anywhere.audit(given.decision.id, user_id=2)  # of somebody else
    anywhere.delete("b", **ME)
    for one in (given.decision.id, ids["b"]):
        assert "Oslo" not in told(anywhere.audit(one, **ME))


def test_what_there_is_not_is_told_with_what_there_is(memory: Memory) -> None:
    memory.add("I live in Rome.", **ME, id="a", occurred_at="2026-01-05T12:00:00Z")
    form = self_of(memory)
    no_version = f"no version '9' in this scope (slot 'home' of Form {form} has versions up to 1)"
    no_form = "no form 'x' in this scope (`forms` lists them with their ids)"
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"form_id": form, "slot": "home", "version": 9}, no_version),
        ({"id": f"slot/user:1/{form}/home/9"}, no_version),
        ({"form_id": form, "slot": "shoe"}, f"no slot 'shoe' in this scope (Form {form} has had: home)"),
        ({"form_id": "x", "slot": "home"}, no_form),
        ({"form_id": "x", "slot": "home", "version": 1}, no_form),
        ({"form_id": "x"}, no_form),
        ({"recall_id": "x"}, "no recall 'x' in this scope"),
        ({"week": "1999-W01"}, "no week '1999-W01' in this scope (there are weeks from 2026-W02 to 2026-W02; "),
        ({"id": "x"}, "no memory 'x' in this scope (an id is that of a hit, a Form, an edge, a question, an entry, a turn, "),
    )
    for given, said in cases:
        with pytest.raises(NotFound) as refused:
            memory.audit(**given, **ME)
        assert str(refused.value).startswith(said)


def test_what_is_asked_wrongly_is_refused_with_what_to_do(memory: Memory) -> None:
    memory.add("I live in Rome.", **ME, id="a")
    calls: tuple[tuple[dict[str, Any], type[Exception]], ...] = (
        ({}, InvalidInput),
        ({"id": "a", "week": "2026-W10"}, InvalidInput),
        ({"slot": "home", "id": "a"}, InvalidInput),
        ({"id": "a", "limit": 0}, InvalidInput),
        ({"id": "nobody"}, NotFound),
        ({"id": "slot/user:2/x/home/1"}, NotFound),
        ({"form_id": "nobody"}, NotFound),
        ({"form_id": self_of(memory), "slot": "shoe"}, NotFound),
        ({"form_id": self_of(memory), "slot": "home", "version": 9}, NotFound),
        ({"week": "1999-W01"}, NotFound),
        ({"recall_id": "nobody"}, NotFound),
    )
    for given, error in calls:
        with pytest.raises(error):
            memory.audit(**given, **ME)
    for view in (View("part", sources=["mail"]), View("part", form_types=["person"])):
        seen = memory.seen_by(view)
        for call in (
            lambda seen=seen: seen.audit("a", **ME),
            lambda seen=seen: seen.influence("a", **ME),
            lambda seen=seen: seen.extractor_influence("offline"),
            lambda seen=seen: seen.audit_report("2020-01-01"),
        ):
            with pytest.raises(NotAllowed):
                call()


def test_the_same_for_asyncio(memory: Memory) -> None:
    async def ask() -> tuple[Any, ...]:
        twin = AsyncMemory(memory)
        await twin.add("I live in Rome.", **ME, id="a")
        return await twin.audit("a", **ME), await twin.influence("a", **ME), await twin.audit_report("2020-01-01")

    why, came, report = asyncio.run(ask())
    assert ([one.event_id for one in why.inputs], came.input.event_id, report.inputs) == (["a"], "a", 1)
