"""What was known at an input is what the memory said right after it; what held at a moment is what a small model makes of what
was said, whenever it was said; and what is hidden today is hidden in every past."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.talk import Rig, Step, examples, memory_rig, sqlite_rig, steps, tell
from mnemolog import Memory, View
from mnemolog.demo import SUBJECT, story
from mnemolog.processors.core.moments import event_time
from mnemolog.processors.core.ports import Extraction, SeenTurn
from mnemolog.projections.read_models import ReadModels
from mnemolog.replay.past import Pasts
from mnemolog.replay.past_fold import PastFold
from mnemolog.schemas.changes import Decision, Hidden
from mnemolog.schemas.errors import Closed, InvalidInput, NotAllowed, NotFound
from mnemolog.schemas.events import CHANGES, DYNAMICS, decode
from mnemolog.schemas.observations import Candidate, EntityRef
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import add_seconds
from mnemolog.schemas.tokens import inbox_token
from mnemolog.schemas.values import Value
from query.memory import HashingEmbedder

DAY = 86_400
START = "2026-03-02T09:00:00.000000Z"


def reads(store: ReadModels, scope: str) -> dict[str, object]:
    """All that readers are told of a scope."""
    return {
        "forms": store.forms(scope, None, True),
        "history": store.history(scope),
        "timeline": store.timeline(scope),
        "edges": store.edges(scope, True),
        "pending": store.pending(scope),
        "summaries": store.summaries(scope),
        "turns": store.turns(scope),
        "index": store.turn_index(scope),
        "counts": store.stats(scope),
    }


def hides(rig: Rig) -> dict[str, list[int]]:
    """Of each scope, the dynamics offsets of the inputs that hid something."""
    found: dict[str, list[int]] = {}
    inputs = {(record.scope, decode(record.value)[0].id): record.offset for record in rig.log.read(DYNAMICS)}
    for record in rig.log.read(CHANGES):
        decision = decode(record.value)[1]
        assert isinstance(decision, Decision)
        if any(isinstance(change, Hidden) for change in decision.changes):
            found.setdefault(record.scope, []).append(inputs[record.scope, decision.input_id])
    return found


@examples(10)
@given(steps, st.booleans())
def test_what_was_known_at_each_input_is_what_was_read_right_after_it(story: list[Step], filed: bool) -> None:
    events = tell(story)
    with tempfile.TemporaryDirectory() as folder:
        rig = sqlite_rig(Path(folder) / "memory.db") if filed else memory_rig()
        told: list[tuple[int, str, dict[str, object]]] = []
        for event in events:
            rig.add([event])
            scope = str(event.scope)
            told.append((rig.log.end(DYNAMICS), scope, reads(rig.store, scope)))
        hidden = hides(rig)
        for offset, scope, then in told:
            if any(at >= offset for at in hidden.get(scope, [])):
                continue
            fold = PastFold(rig.log, Scope.parse(scope), offset, None, ":memory:")
            assert reads(fold.store, scope) == then
            assert fold.store.scopes() in ([], [scope])
            assert fold.still_holds()
            fold.store.close()
        rig.close()


@examples(10)
@given(steps)
def test_what_is_hidden_today_is_hidden_in_every_past(story: list[Step]) -> None:
    """Hidden turns have words that nobody else says."""
    rig = memory_rig()
    rig.add(tell(story))
    for scope, offsets in hides(rig).items():
        seen = {view.event_id for view in rig.store.turns(scope)}
        said = {
            envelope.id
            for record in rig.log.read(DYNAMICS, scope=Scope.parse(scope))
            if (envelope := decode(record.value)[0]).type == "turn.recorded"
        }
        for offset in sorted({1, *offsets, *(at + 1 for at in offsets), rig.log.end(DYNAMICS)}):
            for as_of in (None, "2026-03-04T00:00:00.000000Z", "2030-01-01T00:00:00.000000Z"):
                fold = PastFold(rig.log, Scope.parse(scope), offset, as_of, ":memory:")
                text = repr(reads(fold.store, scope))
                folded = {view.event_id for view in fold.store.turns(scope)}
                assert folded <= seen
                gone = said - seen - _folded(rig, scope)
                assert not [
                    event_id for event_id in gone if f"turn_id='{event_id}'" in text or f"event_id='{event_id}'" in text
                ]
                now = repr(reads(rig.store, scope))
                assert set(re.findall(r"quote='([^']+)'", text)) <= set(re.findall(r"quote='([^']+)'", now)) | _said(rig, seen)
                fold.store.close()
    rig.close()


def _folded(rig: Rig, scope: str) -> set[str]:
    """Repetitions, which no list shows."""
    return {
        decode(record.value)[1].input_id  # type: ignore[attr-defined]
        for record in rig.log.read(CHANGES, scope=Scope.parse(scope))
        if decode(record.value)[1].outcome == "duplicate"  # type: ignore[attr-defined]
    }


def _said(rig: Rig, seen: set[str]) -> set[str]:
    texts = [
        str(envelope.data["content"]) for record in rig.log.read(DYNAMICS) if (envelope := decode(record.value)[0]).id in seen
    ]
    return {text[start:end] for text in texts for start in range(len(text)) for end in range(start + 1, len(text) + 1)}


# -- what held, against a model --------------------------------------------------------------------------------------------


class Said(NamedTuple):
    """A value said on `day` that holds from `shift` days later (or earlier) on; without `sets` it ends what holds."""

    day: int
    shift: int
    sets: bool = True


class Shifted:
    """Understands `cargo is WORD, DAYS days on`."""

    name = "shifted/1"
    window = 0

    def extract(self, turn: SeenTurn, window: object) -> Extraction:
        word, days = turn.turn.content.split()[2:4]
        held = add_seconds(turn.turn.occurred_at, int(days) * DAY)
        value = Value("text", word, word)
        quote = turn.turn.content
        candidate = Candidate(
            op="set",
            form_type="project",
            slot="goal",
            entity=EntityRef("current"),
            value=value,
            valid_from=held,
            quote=quote,
            start=0,
            end=len(quote),
        )
        return Extraction(candidates=[candidate])


TALK = st.lists(st.builds(Said, st.integers(0, 20), st.sampled_from((0, 0, 0, -40, -3, 5, 12))), min_size=1, max_size=8)


def stands(talk: list[Said], known: int, day: float) -> str | None:
    """Of the first `known` things said, the value that holds on `day`: the newest by (from when, order)."""
    begun = [(said.day + said.shift, number) for number, said in enumerate(talk[:known]) if said.day + said.shift <= day]
    return f"word{max(begun)[1]}" if begun else None


@examples(12)
@given(TALK, st.lists(st.tuples(st.integers(0, 8), st.integers(-45, 40)), min_size=1, max_size=4))
def test_what_held_is_the_newest_by_event_time_of_what_was_known(talk: list[Said], asked: list[tuple[int, int]]) -> None:
    with Memory(embedder=False, extractor=Shifted()) as memory:  # type: ignore[arg-type]
        for number, said in enumerate(talk):
            moment = add_seconds(START, said.day * DAY)
            memory.add(f"goal is word{number} {said.shift} days on", user_id=1, id=f"t{number}", occurred_at=moment)
        memory.process()
        for known, day in asked:
            for count, known_at in ((len(talk), None), (min(known, len(talk) - 1) + 1, f"t{min(known, len(talk) - 1)}")):
                as_of = add_seconds(START, day * DAY)
                forms = memory.forms(user_id=1, as_of=as_of, known_at=known_at)
                slots = [slot for form in forms for slot in form.slots if slot.status != "scheduled"]
                expected = stands(talk, count, day)
                assert [slot.value.shown for slot in slots] == ([] if expected is None else [expected]), (talk, day, known_at)
                assert {slot.status for slot in slots} <= {"confirmed"}
                planned = {slot.value.shown for form in forms for slot in form.slots if slot.status == "scheduled"}
                assert planned <= {
                    f"word{number}" for number, said in enumerate(talk[:count]) if said.day <= day < said.day + said.shift
                }
                history = memory.history(user_id=1, as_of=as_of, known_at=known_at)
                current = [version.value.shown for version in history if version.current and version.value is not None]
                assert current == ([] if expected is None else [expected])
                assert {entry.occurred_at <= as_of for entry in memory.timeline(user_id=1, as_of=as_of, known_at=known_at)} <= {
                    True
                }


# -- a story with right values ---------------------------------------------------------------------------------------------


def tell_of_homes(memory: Memory, user: int = 1) -> dict[str, str]:
    """Lisbon, Porto, a late word about Oslo, a move to Rome announced: the tokens by name."""
    tokens = {}
    for name, moment, words in (
        ("lisbon", "2026-03-02T09:00:00", "I live in Lisbon."),
        ("age", "2026-03-03T09:00:00", "My age is about 40."),
        ("porto", "2026-03-20T09:00:00", "I moved to Porto because of work."),
        ("rome", "2026-04-02T09:00:00", "I live in Rome from 2026-06-01."),
    ):
        receipt = memory.add(words, user_id=user, occurred_at=moment, id=name)
        memory.wait(receipt.position)
        tokens[name] = receipt.position
    memory.process()
    return tokens


def homes(memory: Memory, user: int = 1, **when: str) -> list[tuple[str, str]]:
    forms = memory.forms(user_id=user, **when)  # type: ignore[arg-type]
    return [(slot.value.shown, slot.status) for form in forms for slot in form.slots if slot.slot == "home"]


def test_the_past_of_a_story(anywhere: Memory) -> None:
    tokens = tell_of_homes(anywhere)
    anywhere.add("I live in Paris.", user_id=2)
    assert homes(anywhere, known_at="lisbon") == homes(anywhere, known_at=tokens["lisbon"]) == [("Lisbon", "confirmed")]
    assert homes(anywhere, known_at="rome") == [("Porto", "confirmed"), ("Rome", "scheduled")]
    assert homes(anywhere, as_of="2026-03-01") == []
    assert homes(anywhere, as_of="2026-03-02T09:00:00Z") == [("Lisbon", "confirmed")]
    assert homes(anywhere, as_of="2026-03-20T10:59:59+02:00") == [("Lisbon", "confirmed")]
    assert homes(anywhere, as_of="2026-03-20T11:00:00+02:00") == [("Porto", "confirmed")]
    assert homes(anywhere, as_of="2026-05-01") == [("Porto", "confirmed"), ("Rome", "scheduled")]
    assert homes(anywhere, as_of="2026-06-01") == homes(anywhere, as_of="2030-01-01") == [("Rome", "confirmed")]
    assert homes(anywhere, as_of="2030-01-01", known_at="porto") == [("Porto", "confirmed")]
    assert homes(anywhere, as_of="2026-03-10", known_at="porto") == [("Lisbon", "confirmed")]

    assert anywhere.pending(user_id=1, as_of="2026-03-02T10:00:00") == []
    (asked,) = anywhere.pending(user_id=1, as_of="2026-03-03T09:00:00")
    assert asked.slot == "age"
    assert anywhere.pending(user_id=1, known_at="lisbon") == []
    assert [entry.text for entry in anywhere.timeline(user_id=1, as_of="2026-05-01")] == [
        "home: Lisbon → Porto (because of work)"
    ]
    assert anywhere.timeline(user_id=1, as_of="2026-05-01", until="2026-03-01") == []
    weeks = anywhere.summaries(user_id=1, as_of="2026-03-31")
    assert [(week.week, week.closed) for week in weeks] == [("2026-W10", True), ("2026-W12", True)]
    assert [version.value.shown for version in anywhere.history(user_id=1, slot="home", known_at="porto") if version.value] == [
        "Lisbon",
        "Porto",
    ]
    assert anywhere.edges(user_id=1, as_of="2026-03-02") == []

    found = anywhere.search("Where do I live?", user_id=1, as_of="2026-03-10", time_budget=30)
    assert "home: Lisbon" in found[0].text
    assert not [hit for hit in found if "Porto" in hit.text or "Rome" in hit.text]
    assert found.recall_id == ""
    text = str(anywhere.context("Where do I live?", user_id=1, known_at="porto", time_budget=30))
    assert "Porto" in text
    assert "Rome" not in text
    (doubt, *_) = anywhere.check("I live in Madrid.", user_id=1, as_of="2026-03-10")
    assert "Lisbon" in doubt.question
    then = anywhere.search("home", user_id=1, as_of="2026-03-10", kinds=["slot"], time_budget=30)
    (again,) = anywhere.fetch([then[0].id], as_of="2026-03-10")
    assert again.status == "current"
    assert anywhere.fetch([then[0].id])[0].status == "superseded"
    with pytest.raises(NotFound):
        anywhere.fetch([then[0].id], known_at="2001-01-01")
    (form,) = anywhere.forms(user_id=1)
    assert anywhere.get(form.form_id, user_id=1, known_at="lisbon").slots[0].value.shown == "Lisbon"
    assert anywhere.forms(user_id=1, known_at="2001-01-01") == []
    assert "Paris" not in repr([homes(anywhere, as_of="2030-01-01"), found, text])


def test_what_names_no_past_is_refused(anywhere: Memory) -> None:
    tell_of_homes(anywhere)
    for given_, field in (({"as_of": "porto"}, "as_of"), ({"known_at": "2999-01-01"}, "known_at")):
        for read in (anywhere.forms, anywhere.history, anywhere.timeline, anywhere.pending, anywhere.edges, anywhere.summaries):
            with pytest.raises(InvalidInput) as caught:
                read(user_id=1, **given_)  # type: ignore[operator]
            assert caught.value.field == field
    with pytest.raises(NotFound):
        anywhere.search("home", user_id=1, known_at="nobody")
    with pytest.raises(NotFound):
        anywhere.forms(user_id=2, known_at="porto")


def test_deleting_reaches_into_the_past(anywhere: Memory) -> None:
    tell_of_homes(anywhere)
    assert homes(anywhere, known_at="lisbon") == [("Lisbon", "confirmed")]
    anywhere.delete("lisbon", user_id=1)
    anywhere.process()
    for when in (
        {"known_at": "lisbon"},
        {"as_of": "2026-03-10"},
        {"known_at": "porto"},
        {"known_at": "rome", "as_of": "2026-03-10"},
    ):
        told = repr([anywhere.forms(user_id=1, **when), anywhere.history(user_id=1, **when)])  # type: ignore[arg-type]
        told += repr(anywhere.search("Where do I live? Lisbon", user_id=1, time_budget=30, **when))  # type: ignore[arg-type]
        told += repr([anywhere.timeline(user_id=1, **when), anywhere.summaries(user_id=1, **when)])  # type: ignore[arg-type]
        assert "I live in Lisbon" not in told
        assert "value=Value(kind='text', data='Lisbon'" not in told
    assert homes(anywhere, as_of="2026-03-25") == [("Porto", "confirmed")]
    anywhere.delete_user(1)
    anywhere.process()
    assert homes(anywhere, as_of="2026-03-25") == homes(anywhere, known_at="porto") == []


# -- what is kept ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "home", embedder=False) as opened:
        yield opened


def test_pasts_are_kept_few_and_gone_when_the_memory_closes(memory: Memory) -> None:
    tell_of_homes(memory)
    memory._pasts = pasts = Pasts(kept=2)
    for name in ("lisbon", "age", "porto", "rome", "lisbon"):
        memory.forms(user_id=1, known_at=name)
        assert len(pasts._made) <= 2
    folder = pasts._folder
    assert folder is not None
    assert len(list(folder.glob("*.sqlite"))) == 2
    first = next(reversed(pasts._made.values()))
    memory.forms(user_id=1, known_at="lisbon")
    assert next(reversed(pasts._made.values())) is first
    memory.close()
    assert not folder.exists()
    with pytest.raises(Closed):
        memory.forms(user_id=1, known_at="lisbon")


def test_threads_share_a_past_that_more_is_told_beside(memory: Memory) -> None:
    tell_of_homes(memory)
    memory._pasts = Pasts(kept=1)
    wrong: list[object] = []

    def ask(name: str, expected: list[tuple[str, str]]) -> None:
        try:
            for _ in range(8):
                found = homes(memory, known_at=name)
                if found != expected:
                    wrong.append((name, found))
        except BaseException as error:
            wrong.append(error)

    threads = [
        threading.Thread(target=ask, args=asked)
        for asked in (("lisbon", [("Lisbon", "confirmed")]), ("porto", [("Porto", "confirmed")])) * 2
    ]
    for thread in threads:
        thread.start()
    for number in range(5):
        memory.add(f"I like tea number {number}.", user_id=1)
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(memory._pasts._made) == 1


def test_a_question_about_the_past_is_no_recall(memory: Memory) -> None:
    tell_of_homes(memory)
    memory.search("home", user_id=1, as_of="2026-03-10")
    memory.context("home", user_id=1, known_at="porto")
    assert memory.recalls(user_id=1) == []
    memory.search("home", user_id=1)
    assert len(memory.recalls(user_id=1)) == 1


def test_several_subjects_have_one_past(anywhere: Memory) -> None:
    memory = anywhere
    memory.add("The budget of project Apollo is 5000 USD.", subject="project:apollo", occurred_at="2026-03-05")
    memory.process()
    tell_of_homes(memory)
    memory.add("The budget of project Apollo is 8000 USD.", subject="project:apollo", occurred_at="2026-04-05")
    found = memory.search(
        "What is the budget of Apollo? Where do I live?",
        user_id=1,
        also=["project:apollo"],
        as_of="2026-03-10",
        limit=20,
        time_budget=30,
    )
    told = " ".join(hit.text for hit in found)
    assert "5000 USD" in told
    assert "Lisbon" in told
    assert "8000" not in told
    assert "Porto" not in told
    found = memory.search("budget of Apollo", user_id=1, also=["project:apollo"], known_at="rome", limit=20, time_budget=30)
    told = " ".join(hit.text for hit in found)
    assert "5000 USD" in told
    assert "8000" not in told


def test_the_past_of_the_demo_story(memory: Memory) -> None:
    """Values as the story tells them, worked out by hand."""
    for turn in story():
        memory.add(
            turn.content,
            subject=SUBJECT,
            role=turn.role,
            speaker=turn.speaker,
            session=turn.session,
            occurred_at=turn.occurred_at,
            id=turn.id,
            agent_id=turn.agent,
        )
    memory.process()

    def held(form_type: str, slot: str, **when: str) -> list[str]:
        forms = memory.forms(subject=SUBJECT, form_type=form_type, **when)  # type: ignore[arg-type]
        return sorted(view.value.shown for form in forms for view in form.slots if view.slot == slot)

    assert held("project", "budget", as_of="2026-03-01") == []
    assert held("project", "budget", as_of="2026-03-09") == ["4,000 euros"]
    assert held("project", "budget", as_of="2026-03-11") == ["5,500 euros"]
    assert held("project", "budget", as_of="2026-03-18") == ["4,000 euros"]
    assert held("project", "budget", known_at="story-24") == ["4,000 euros"]
    assert held("project", "budget", known_at="story-25") == ["5,500 euros"]
    assert held("project", "budget", known_at="story-41", as_of="2026-03-11") == ["5,500 euros"]
    assert held("person", "home", as_of="2026-03-21T20:00:00Z") == ["Dublin"]
    assert held("person", "home", as_of="2026-03-22") == ["Galway"]
    assert held("person", "diet", known_at="story-60") == ["吃素"]
    assert held("person", "diet", as_of="2026-03-27") == ["pescatarian"]
    assert held("plan", "date", as_of="2026-03-06T12:05:30Z") == ["March 12"]
    assert held("plan", "date", as_of="2026-03-07") == ["March 13"]
    assert held("plan", "what", as_of="2026-03-12") == ["trip to Lisbon", "vet appointment"]
    assert held("plan", "what", as_of="2026-03-31") == ["moving to Galway", "vet appointment"]


def test_a_view_names_no_moment_by_what_it_does_not_show(memory: Memory) -> None:
    memory.add("I live in Lisbon.", user_id=1, source="mail", id="m1")
    token = memory.add("I live in Porto.", user_id=1, source="chat", id="c1").position
    memory.add("I live in Rome.", user_id=1, source="mail", id="m2")
    seen = memory.seen_by(View("mail", subjects=["user:1"], sources=["mail"]))
    assert homes(seen, known_at="m1") == [("Lisbon", "confirmed")]
    assert homes(seen, known_at=token) == []  # what stood then is not seen, and no older value passes for it
    assert homes(memory, known_at="c1") == [("Porto", "confirmed")]
    for name in ("c1", "nobody"):
        with pytest.raises(NotFound):
            seen.forms(user_id=1, known_at=name)
    with pytest.raises(NotAllowed):
        seen.forms(user_id=2, known_at="m1")
    with pytest.raises(NotAllowed):
        seen.forms(user_id=1, known_at=inbox_token(Scope("default", "user:1"), "chat", "c1"))


class Counting(HashingEmbedder):
    """Keeps what it was asked to embed."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return super().embed(texts)


def test_a_past_question_finds_by_meaning_and_embeds_nothing_but_itself(tmp_path: Path) -> None:
    embedder = Counting()
    with Memory(tmp_path / "home", embedder=embedder) as memory:
        first = memory.add("The lighthouse keeper whistled.", user_id=1, id="first")
        last = memory.add("The lighthouse keeper sang.", user_id=1, id="last")
        for receipt in (first, last):
            memory.wait(receipt.position)
        embedder.asked.clear()
        found = memory.search("Who whistled at the lighthouse?", user_id=1, known_at="first", time_budget=30)
        assert [hit.text for hit in found] == ["The lighthouse keeper whistled."]
        assert "vectors" in found[0].routes
        assert found.missing == {}
        assert not [text for text in embedder.asked if text.startswith("The lighthouse")]
        now = memory.search("Who whistled at the lighthouse?", user_id=1, time_budget=30)
        assert {hit.text for hit in now} == {"The lighthouse keeper whistled.", "The lighthouse keeper sang."}


@examples(10)
@given(steps)
def test_what_holds_at_the_latest_moment_is_what_the_memory_says(story: list[Step]) -> None:
    """As of the newest event time of all, every word is taken in: whatever the order in which it was told."""
    rig = memory_rig()
    rig.add(tell(story))
    latest: dict[str, str] = {}
    for record in rig.log.read(DYNAMICS):
        moment = event_time(decode(record.value)[0])
        latest[record.scope] = max(latest.get(record.scope, ""), moment)
    for scope, moment in latest.items():
        fold = PastFold(rig.log, Scope.parse(scope), rig.log.end(DYNAMICS), moment, ":memory:")
        for read in (
            lambda store, scope=scope: store.forms(scope, None, True),
            lambda store, scope=scope: store.history(scope),
            lambda store, scope=scope: store.edges(scope, True),
            lambda store, scope=scope: store.pending(scope),
            lambda store, scope=scope: store.turns(scope),
            lambda store, scope=scope, moment=moment: store.timeline(scope, None, add_seconds(moment, 1e-6)),
        ):
            assert read(fold.store) == read(rig.store)
        fold.store.close()
    rig.close()
