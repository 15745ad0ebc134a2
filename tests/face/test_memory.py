"""The face as an agent's author uses it."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from mnemolog import AsyncMemory, Memory
from mnemolog.processors.core.ports import Extraction, SeenTurn
from mnemolog.query.understand import Question
from mnemolog.schemas.errors import (
    Closed,
    ConflictingContent,
    InvalidInput,
    Lagging,
    ModelUnavailable,
    NotFound,
    UnknownField,
    UnknownLog,
)
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.tokens import inbox_token

AT = "2026-03-02T09:00:00+01:00"


def shown(memory: Memory, slot: str, user: str = "42") -> list[str]:
    return [found.value.shown for form in memory.forms(user_id=user) for found in form.slots if found.slot == slot]


def recorded(memory: Memory) -> int:
    """How many inputs the log holds, once nothing waits on the way there."""
    assert memory.process() == 0
    return memory.stats()["dynamics"]


def test_a_sentence_becomes_a_slot_with_its_quote(anywhere: Memory) -> None:
    receipt = anywhere.add("I live in Lisbon.", user_id="42", id="m1", occurred_at=AT)
    assert receipt.ids == ["m1"]
    assert receipt.fresh == 1
    assert receipt.position
    (form,) = anywhere.forms(user_id="42")
    (slot,) = form.slots
    assert (slot.slot, slot.value.shown, slot.status) == ("home", "Lisbon", "confirmed")
    assert slot.evidence[0].turn_id == "m1"
    assert "I live in Lisbon."[slot.evidence[0].start : slot.evidence[0].end] == slot.evidence[0].quote


def test_a_newer_value_replaces_and_the_old_one_is_history(anywhere: Memory) -> None:
    anywhere.add("I live in Lisbon.", user_id="42", occurred_at="2026-03-02T09:00:00Z")
    anywhere.add("I live in Porto now.", user_id="42", occurred_at="2026-04-02T09:00:00Z")
    assert shown(anywhere, "home") == ["Porto"]
    history = anywhere.history(user_id="42", slot="home")
    told = [(item.value.shown if item.value else None, item.current) for item in history]
    assert told == [("Lisbon", False), ("Porto", True)]
    assert history[0].valid_to == history[1].valid_from


@pytest.mark.parametrize(
    ("before", "after", "slot"),
    [
        ("I drive a Honda Civic.", "I sold my car yesterday.", "vehicle"),
        ("I work at Acme.", "I got laid off in March.", "employer"),
        ("我在小米上班。", "我上周从小米离职了。", "employer"),
    ],
)
def test_what_ended_is_no_longer_current(memory: Memory, before: str, after: str, slot: str) -> None:
    memory.add(before, user_id="42", occurred_at="2026-02-10T10:00:00Z")
    assert shown(memory, slot)
    memory.add(after, user_id="42", occurred_at="2026-03-05T10:00:00Z")
    assert shown(memory, slot) == []
    assert not memory.history(user_id="42", slot=slot)[0].current


def test_a_retry_changes_nothing_and_other_content_is_refused(anywhere: Memory) -> None:
    assert anywhere.add("I live in Lisbon.", user_id="42", id="m1", occurred_at=AT).fresh == 1
    assert anywhere.add("I live in Lisbon.", user_id="42", id="m1", occurred_at=AT).fresh == 0
    with pytest.raises(ConflictingContent, match="m1"):
        anywhere.add("I live in Porto.", user_id="42", id="m1", occurred_at=AT)
    assert shown(anywhere, "home") == ["Lisbon"]
    assert recorded(anywhere) == 1


def test_a_retry_without_a_time_is_the_same_turn(anywhere: Memory) -> None:
    messages = [{"role": "user", "content": "I live in Lisbon."}, {"role": "assistant", "content": "Noted."}]
    assert [anywhere.add(messages, user_id="42", id="talk").fresh for _ in range(3)] == [2, 0, 0]
    with pytest.raises(ConflictingContent, match="talk:1"):
        anywhere.add([messages[0], {"role": "assistant", "content": "Other."}], user_id="42", id="talk")
    assert recorded(anywhere) == 2


def test_messages_go_in_whole_or_not_at_all(anywhere: Memory) -> None:
    messages = [{"role": "user", "content": "I live in Lisbon."}, {"role": "assistant", "content": "Noted."}]
    assert anywhere.add(messages, user_id="42", id="talk").ids == ["talk:0", "talk:1"]
    with pytest.raises(InvalidInput) as caught:
        anywhere.add([*messages, {"role": "user", "content": ""}], user_id="42", id="next")
    assert caught.value.field == "messages[2].content"
    assert recorded(anywhere) == 2


def test_scopes_do_not_leak(anywhere: Memory) -> None:
    anywhere.add("I live in Lisbon.", user_id="1")
    anywhere.add("I live in Porto.", user_id="2")
    anywhere.add("I live in Rome.", user_id="1", tenant="other")
    assert shown(anywhere, "home", "1") == ["Lisbon"]
    assert shown(anywhere, "home", "2") == ["Porto"]
    assert [hit.text for hit in anywhere.search("Where do I live?", user_id="2", kinds=["turn"])] == ["I live in Porto."]
    assert anywhere.forms(user_id="3") == []


def test_one_answer_is_about_several_subjects_wherever_they_lie(anywhere: Memory) -> None:
    subjects = [f"project:p{number}" for number in range(6)]
    for number, subject in enumerate(subjects):
        anywhere.add(f"The budget for Zeppelin{number} is {number + 1}000 euros.", subject=subject)
    anywhere.add("I live in Lisbon.", user_id="1")
    question = "What is the budget?"
    alone = anywhere.search(question, user_id="1", limit=50)
    assert {hit.scope for hit in alone} == {"default/user:1"}
    found = anywhere.search(question, user_id="1", also=subjects, limit=50, trace=True)
    assert {hit.scope for hit in found if hit.kind == "slot"} == {f"default/{subject}" for subject in subjects}
    assert found.trace is not None
    assert found.trace.scopes == ["default/user:1", *(f"default/{subject}" for subject in subjects)]
    turns = anywhere.search("Zeppelin3", user_id="1", also=subjects, kinds=["turn"], limit=3)
    assert turns[0].scope == "default/project:p3"
    assert turns.missing == {}
    text = str(anywhere.context(question, user_id="1", also=subjects, budget=4000))
    assert all(f"{number + 1}000" in text for number in range(6))


@pytest.mark.parametrize(
    ("field", "asked"),
    [
        ("also", {"also": "project:apollo"}),
        ("also", {"also": [1]}),
        ("also", {"also": [f"project:{number}" for number in range(33)]}),
        ("subject", {"also": [""]}),
        ("limit", {"limit": 0}),
        ("profile", {"profile": "nope"}),
        ("time_budget", {"time_budget": 0}),
        ("time_budget", {"time_budget": float("nan")}),
        ("time_budget", {"time_budget": "soon"}),
        ("kinds", {"kinds": "turn"}),
        ("kinds", {"kinds": []}),
        ("kinds", {"kinds": ["boat"]}),
    ],
)
def test_a_question_asked_wrongly_is_refused_by_name(memory: Memory, field: str, asked: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        memory.search("Where do I live?", user_id="1", **asked)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_models_may_read_the_question_and_order_the_answer(tmp_path: Path) -> None:
    class Backwards:
        def rerank(self, question: str, texts: Sequence[str]) -> Sequence[float]:
            return [float(at) for at in range(len(texts))]

        def read(self, question: Question, now: str) -> Question:
            return msgspec.structs.replace(question, terms=[*question.terms, "lisbon"], limit=2)

    model = Backwards()
    with Memory(tmp_path / "home", embedder=False, question_reader=model, reranker=model) as memory:
        for city in ("Lisbon", "Porto", "Braga"):
            memory.add(f"We went to {city} by train.", user_id="1")
        found = memory.search("train", user_id="1", kinds=["turn"])
        assert (len(found), found.missing) == (2, {})
        assert all("reranker" in hit.why for hit in found)
        assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_the_names_of_other_libraries_are_understood(anywhere: Memory) -> None:
    anywhere.add("I live in Lisbon.", user_id=42, agent_id="helper", run_id="r1")
    (hit,) = anywhere.search("Lisbon", subject="user:42", kinds=["turn"])
    assert hit.session == "r1"
    anywhere.add("I live in Porto.", agent_id="helper")
    assert [form.slots[0].value.shown for form in anywhere.forms(subject="agent:helper")] == ["Porto"]


@pytest.mark.parametrize(
    ("kwargs", "field"),
    [
        ({}, "subject"),
        ({"user_id": ""}, "user_id"),
        ({"subject": " "}, "subject"),
        ({"subject": "a\x00b"}, "subject"),
        ({"user_id": "1", "subject": "user:2"}, "subject"),
        ({"user_id": True}, "user_id"),
        ({"user_id": "1", "tenant": ""}, "tenant"),
        ({"user_id": "1", "tenant": "a/b"}, "tenant"),
        ({"user_id": "1", "occurred_at": "yesterday"}, "occurred_at"),
        ({"user_id": "1", "occurred_at": "2026-13-01"}, "occurred_at"),
        ({"user_id": "1", "expires_at": []}, "expires_at"),
        ({"user_id": "1", "importance": 2}, "importance"),
        ({"user_id": "1", "session": ""}, "session"),
        ({"user_id": "1", "role": "boss"}, "role"),
        ({"user_id": "1", "id": ""}, "id"),
        ({"user_id": "1", "metadata": {"x": object()}}, "metadata.x"),
        ({"user_id": "1", "session": "a", "run_id": "b"}, "session"),
    ],
)
def test_bad_input_is_refused_by_name_and_nothing_is_written(memory: Memory, kwargs: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        memory.add("I live in Lisbon.", **kwargs)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert memory.stats()["dynamics"] == 0


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("", "content"),
        ("   \n", "content"),
        ("a\x00b", "content"),
        ("lone \ud800 surrogate", "content"),
        ("x" * 1_100_000, "content"),
        (b"bytes", "messages"),
        (None, "messages"),
        ([], "messages"),
        ([{"role": "user"}], "content"),
        ([{"role": "user", "content": 5}], "content"),
        (["text"], "messages"),
        ([{"role": 1, "content": "x"}], "role"),
    ],
)
def test_bad_content_is_refused_by_name(memory: Memory, content: object, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        memory.add(content, user_id="1")  # type: ignore[arg-type]
    assert caught.value.field == field
    assert memory.stats()["dynamics"] == 0


def test_an_unknown_field_of_a_message_is_refused(memory: Memory) -> None:
    with pytest.raises(UnknownField) as caught:
        memory.add({"role": "user", "content": "x", "scope": "everyone"}, user_id="1")
    assert caught.value.field == "scope"


def test_a_megabyte_is_kept_whole_and_found(anywhere: Memory) -> None:
    text = "lorem ipsum " * 80_000 + "zanzibar"
    anywhere.add(text, user_id="1")
    (hit,) = [hit for hit in anywhere.search("zanzibar", user_id="1") if hit.kind == "turn"]
    assert hit.text == text


def test_a_read_without_waiting_says_how_far_behind_it_is(anywhere: Memory) -> None:
    for number in range(3):
        anywhere.add(f"I live in Lisbon {number}.", user_id="42")
    anywhere.add("I live in Rome.", user_id="7")
    rows = anywhere.forms(user_id="42", wait=False)
    assert rows.behind in range(4)  # whoever processes may have been quick
    assert anywhere.forms(user_id="42").behind == 0


class Down:
    """An extractor whose model is down until it is not."""

    name = "down/1"
    window = 2
    up = False

    def extract(self, turn: SeenTurn, window: object) -> Extraction:
        if not self.up:
            raise ModelUnavailable("connection refused")
        return Extraction(candidates=[])


def test_while_the_model_is_down_turns_wait_and_are_found_by_their_words(tmp_path: Path) -> None:
    extractor = Down()
    with Memory(tmp_path / "home", extractor=extractor, embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id="1")
        rows = memory.forms(user_id="1")
        assert (list(rows), rows.behind) == ([], 1)
        assert [hit.text for hit in memory.search("Lisbon", user_id="1")] == ["I live in Lisbon."]
        extractor.up = True
        assert memory.forms(user_id="1").behind == 0
        assert memory.verify().equal


def test_a_pending_value_is_confirmed_or_rejected(anywhere: Memory) -> None:
    anywhere.add("My budget for the kitchen is about 5000 euros.", user_id="42")
    (waiting,) = anywhere.pending(user_id="42")
    assert waiting.question
    anywhere.confirm(waiting.pending_id, user_id="42")
    assert anywhere.pending(user_id="42") == []
    assert shown(anywhere, waiting.slot)
    with pytest.raises(NotFound):
        anywhere.confirm(waiting.pending_id, user_id="42")
    anywhere.add("My budget for the garden is maybe 900 euros.", user_id="42")
    (other,) = anywhere.pending(user_id="42")
    anywhere.reject(other.pending_id, user_id="42")
    assert anywhere.pending(user_id="42") == []


def test_a_correction_by_hand_is_a_version_with_a_reason(anywhere: Memory) -> None:
    anywhere.add("I live in Lisbon.", user_id="42")
    (form,) = anywhere.forms(user_id="42")
    anywhere.correct(form.form_id, "home", "Porto", reason="typed by an operator", user_id="42", actor="operator:7")
    assert shown(anywhere, "home") == ["Porto"]
    assert anywhere.history(form.form_id, "home", user_id="42")[-1].reason == "corrected"
    with pytest.raises(InvalidInput):
        anywhere.correct(form.form_id, "age", "not a number", user_id="42")
    with pytest.raises(InvalidInput):
        anywhere.correct(form.form_id, "no_such_slot", "x", user_id="42")
    with pytest.raises(NotFound):
        anywhere.correct("nobody", "home", "x", user_id="42")


def test_what_is_deleted_is_in_no_answer(anywhere: Memory) -> None:
    anywhere.add("I live in Lisbon.", user_id="42", id="m1")
    anywhere.add("I work at Acme.", user_id="42", id="m2")
    anywhere.delete("m1", user_id="42")
    assert all("Lisbon" not in hit.text for hit in anywhere.search("Lisbon", user_id="42"))
    assert "Lisbon" not in str(anywhere.context("Where do I live?", user_id="42"))
    with pytest.raises(NotFound):
        anywhere.delete("nothing", user_id="42")
    anywhere.delete_user("42")
    assert anywhere.forms(user_id="42") == []
    assert list(anywhere.search("Acme", user_id="42")) == []
    anywhere.add("I live in Rome.", user_id="42")
    assert shown(anywhere, "home") == ["Rome"]
    assert anywhere.verify().equal


def test_threads_share_a_memory(anywhere: Memory) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for place in range(20):
                anywhere.add(f"I live in Town{place}.", user_id=number, id=f"{number}:{place}")
                if place % 7 == 0:
                    anywhere.forms(user_id=number)
                    anywhere.search("Town", user_id=number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert recorded(anywhere) == 120
    assert [shown(anywhere, "home", str(number)) for number in range(6)] == [["Town19"]] * 6
    assert anywhere.verify().equal


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "home", embedder=False)
    memory.close()
    memory.close()
    with pytest.raises(Closed):
        memory.add("x", user_id="1")
    with pytest.raises(Closed):
        memory.forms(user_id="1")


def test_without_a_folder_everything_works_and_nothing_stays() -> None:
    with Memory(embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id="1")
        assert shown(memory, "home", "1") == ["Lisbon"]
        assert memory.verify().equal
    with Memory(embedder=False) as memory:
        assert memory.forms(user_id="1") == []


def test_a_folder_opened_again_holds_the_same(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id="1")
    with Memory(tmp_path / "home", embedder=False) as memory:
        assert shown(memory, "home", "1") == ["Lisbon"]
        first = memory.verify()
        memory.rebuild()
        assert memory.verify().live_digest == first.live_digest
        assert shown(memory, "home", "1") == ["Lisbon"]


def test_the_async_face_has_every_method_and_shares_the_engine(tmp_path: Path) -> None:
    public = {name for name, value in inspect.getmembers(Memory) if not name.startswith("_") and callable(value)}
    assert public <= {name for name in dir(AsyncMemory) if not name.startswith("_")}

    async def talk() -> list[str]:
        async with await AsyncMemory.open(tmp_path / "home", embedder=False) as memory:
            await asyncio.gather(*(memory.add(f"I live in Town{n}.", user_id=n) for n in range(10)))
            forms = await asyncio.gather(*(memory.forms(user_id=n) for n in range(10)))
            return [found[0].slots[0].value.shown for found in forms]

    assert asyncio.run(talk()) == [f"Town{n}" for n in range(10)]


def test_a_token_is_waited_for(anywhere: Memory) -> None:
    receipt = anywhere.add("I live in Lisbon.", user_id="42")
    anywhere.wait(receipt.position)
    rows = anywhere.forms(user_id="42", wait=False)
    assert (rows.behind, [slot.value.shown for form in rows for slot in form.slots]) == (0, ["Lisbon"])
    with pytest.raises(UnknownLog):
        anywhere.wait("another@1:0:0")
    with pytest.raises(InvalidInput) as caught:
        anywhere.wait("yesterday")
    assert caught.value.field == "token"
    with pytest.raises(InvalidInput, match="this log"):
        anywhere.wait(inbox_token(Scope("default", "user:42"), "mnemolog", "nobody"))
    with pytest.raises(InvalidInput):
        anywhere.wait(7)  # type: ignore[arg-type]


def test_what_waits_for_a_model_is_named(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", extractor=Down(), embedder=False) as memory:
        receipt = memory.add("I live in Lisbon.", user_id="1")
        with pytest.raises(Lagging) as caught:
            memory.wait(receipt.position, 0.1)
        assert caught.value.laggards == {"read models": 1}


def test_memory_that_comes_back_in_a_prompt_is_not_found_in_the_place_of_what_was_said(anywhere: Memory) -> None:
    anywhere.add("The dentist said I have to come back in three weeks.", user_id="42", id="said", occurred_at=AT)
    anywhere.add("My sister has a flat near the harbour in Porto.", user_id="42", id="flat", occurred_at=AT)
    question = "What did the dentist say about weeks?"
    for number in range(7):
        given = anywhere.context("dentist three weeks harbour flat", user_id="42", budget=300)
        assert "come back in three weeks" in str(given)
        anywhere.add(f"{given}\n\nSo number {number} it is.", user_id="42", id=f"echo{number}")
        anywhere.add(str(given), user_id="42", id=f"block{number}")
    # Also before they are processed: by the words that are read off the log.
    for wait in (False, True):
        hits = anywhere.search(question, user_id="42", wait=wait)
        assert hits[0].event_ids == ["said"]
        everything = anywhere.search("dentist weeks harbour flat number", user_id="42", limit=50, wait=wait)
        assert not [hit.id for hit in everything if "mnemolog" in hit.text or "block" in hit.event_ids[0]]
        assert {hit.text for hit in everything if "echo3" in hit.event_ids[0]} == {"So number 3 it is."}
