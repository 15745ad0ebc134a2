"""What a view shows, example by example, in a folder and on servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mnemolog import Memory, View
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import InvalidInput, NotAllowed, NotFound, UnknownFormType
from mnemolog.schemas.events import make
from mnemolog.schemas.inputs import ErasureRequested
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.tokens import inbox_token

MAIL = View("mail", sources=["mail"])
PEOPLE = View("people", form_types=["person"])


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "home", embedder=False) as opened:
        yield opened


def told(found: object) -> str:
    return msgspec.json.encode(found).decode()


def test_sources_and_subjects_are_told_apart(anywhere: Memory) -> None:
    anywhere.add("I live in Lisbon.", user_id=1, source="mail")
    anywhere.add("I moved to Porto because of work.", user_id=1, source="chat")
    anywhere.add("I live in Rome.", user_id=2, source="mail")
    whole = anywhere.search("Where do I live? Porto?", user_id=1, history=True, limit=20)
    assert "Porto" in told(list(whole))
    seen = anywhere.seen_by(MAIL)
    assert [slot.value.shown for form in seen.forms(user_id=1) for slot in form.slots] == []
    assert [(one.value.shown, one.current) for one in seen.history(user_id=1, slot="home") if one.value] == [("Lisbon", False)]
    assert "Porto" not in told(list(seen.search("Where do I live? Porto?", user_id=1, history=True, limit=20)))
    assert "Lisbon" in told(list(seen.search("Where do I live? Porto?", user_id=1, history=True, limit=20)))
    assert "Porto" not in str(seen.context("Where do I live?", user_id=1))
    assert "Porto" not in told([seen.timeline(user_id=1), seen.summaries(user_id=1), seen.stats(user_id=1)])
    for hit in whole:
        if "Porto" in hit.text:
            with pytest.raises(NotFound):
                seen.fetch([hit.id])
    one = anywhere.seen_by(View("one", subjects=["user:1"]))
    assert [slot.value.shown for form in one.forms(user_id=1) for slot in form.slots] == ["Porto"]
    with pytest.raises(NotAllowed) as caught:
        one.forms(user_id=2)
    assert (caught.value.field, caught.value.value) == ("subject", "user:2")
    receipt = seen.add("I like tea.", user_id=1)
    assert seen.operation(receipt.ids[0], user_id=1, source="mail").id == receipt.ids[0]
    assert "tea" in told(list(seen.search("tea", user_id=1)))


def test_what_a_prompt_quotes_of_others_is_not_shown_with_it(memory: Memory) -> None:
    memory.add("I moved to Porto because of work.", user_id=1, source="chat")
    prompt = f"{memory.context('Where do I live?', user_id=1)}\n\nHow do I get to the river?"
    assert "Porto" in prompt
    memory.add(prompt, user_id=1, id="prompt", source="mail")
    seen = memory.seen_by(MAIL)
    (hit,) = seen.search("Porto river", user_id=1)
    assert hit.text == "How do I get to the river?"
    (fetched,) = seen.fetch([hit.id])
    assert fetched.text == hit.text
    assert "river" in str(seen.context("Porto river", user_id=1))
    assert "Porto" not in str(seen.context("Porto river", user_id=1))
    assert [found.routes for found in seen.search("Porto", user_id=1)] == [[]], "its words find nothing"


def test_form_types_are_told_apart(memory: Memory) -> None:
    memory.add("I live in Lisbon.", user_id=1)
    memory.add("The budget of project Apollo is 5000 USD.", user_id=1)
    seen = memory.seen_by(PEOPLE)
    assert {form.form_type for form in seen.forms(user_id=1, retired=True)} == {"person"}
    assert "5000" not in told([seen.search("What is the budget of Apollo?", user_id=1, limit=20), seen.history(user_id=1)])
    assert "5000" not in told([seen.timeline(user_id=1), seen.summaries(user_id=1)]) + str(seen.context("Apollo?", user_id=1))
    (project,) = memory.forms(user_id=1, form_type="project")
    with pytest.raises(NotFound) as hidden:
        seen.get(project.form_id, user_id=1)
    with pytest.raises(NotFound) as nobody:
        seen.get("nobody", user_id=1)
    assert str(hidden.value).replace(project.form_id, "nobody") == str(nobody.value)
    with pytest.raises(NotAllowed) as caught:
        seen.forms(user_id=1, form_type="project")
    assert caught.value.field == "form_type"


def test_a_turn_that_nobody_has_understood_yet_is_not_shown_by_form_types(memory: Memory) -> None:
    memory.add("The budget of project Apollo is 5000 USD.", user_id=1, source="mail")
    assert "5000" not in told(list(memory.seen_by(PEOPLE).search("5000", user_id=1, wait=False)))
    assert "5000" in told(list(memory.seen_by(MAIL).search("5000", user_id=1, wait=False)))


def test_what_was_there_before_is_told_by_those_alone_who_saw_it(memory: Memory) -> None:
    memory.add("The budget of project Apollo is 5000 USD.", user_id=1, source="chat")
    memory.add("The budget of project Apollo is 8000 USD.", user_id=1, source="mail")
    seen = memory.seen_by(MAIL)
    (version,) = seen.history(user_id=1, slot="budget")
    assert (version.value and version.value.shown, version.before, version.supersedes) == ("8000 USD", None, None)
    (entry,) = seen.timeline(user_id=1)
    assert (entry.before, entry.after) == ("", "8000 USD")
    assert "5000" not in entry.text
    assert "5000" not in told(seen.summaries(user_id=1))


def test_an_answer_makes_nobody_see_what_was_asked_about(memory: Memory) -> None:
    memory.add("My age is about 40.", user_id=1, source="chat")
    (pending,) = memory.pending(user_id=1)
    assert memory.seen_by(MAIL).pending(user_id=1) == []
    with pytest.raises(NotFound):
        memory.seen_by(MAIL).confirm(pending.pending_id, user_id=1)
    memory.confirm(pending.pending_id, user_id=1)
    for sources in (["mnemolog"], ["chat"]):
        assert memory.seen_by(View("part", sources=sources)).history(user_id=1, slot="age") == []
    assert memory.seen_by(View("both", sources=["mnemolog", "chat"])).history(user_id=1, slot="age") != []


def test_writing_stays_inside(memory: Memory) -> None:
    seen = memory.seen_by(View("desk", subjects=["user:*"], sources=["mail", "chat"]))
    assert memory.seen_by(MAIL).operation(seen.add("I live in Lisbon.", user_id=1).ids[0], user_id=1).source == "mail"
    for call, field in (
        (lambda: seen.add("x", subject="project:apollo"), "subject"),
        (lambda: seen.add("x", user_id=1, tenant="other"), "tenant"),
        (lambda: seen.add("x", user_id=1, source="phone"), "source"),
        (lambda: seen.delete_user(1), "call"),
        (lambda: seen.add_events([_erasure()]), "events"),
        (lambda: seen.recalls(user_id=1), "call"),
        (lambda: seen.stats(), "call"),
    ):
        with pytest.raises(NotAllowed) as caught:
            call()
        assert caught.value.field == field
    (form,) = seen.forms(user_id=1)
    with pytest.raises(NotAllowed):
        seen.delete(form.form_id, user_id=1)
    seen.close()
    assert memory.forms(user_id=1) != []


def _erasure() -> Envelope:
    time = "2026-03-02T09:00:00.000000Z"
    return make(ErasureRequested(), scope=Scope("default", "user:1"), event_id="e", time=time, source="mail")


def test_no_token_leads_to_what_others_wrote(memory: Memory) -> None:
    receipt = memory.add("I live in Lisbon.", user_id=1, id="mine")
    memory.add("I live in Rome.", user_id=2, id="theirs")
    theirs = inbox_token(Scope("default", "user:2"), "mnemolog", "theirs")
    seen = memory.seen_by(View("one", subjects=["user:1"]))
    for token in (theirs, f"{receipt.position},{theirs}", f"{receipt.position},{theirs},{receipt.position}"):
        with pytest.raises(NotAllowed):
            seen.wait(token)
    seen.wait(receipt.position)


def test_views_on_views_only_narrow(memory: Memory) -> None:
    memory.add("I live in Lisbon.", user_id=1, source="mail")
    memory.add("I live in Rome.", user_id=2, source="mail")
    narrow = memory.seen_by(View("one", subjects=["user:1"])).seen_by(View("all"))
    assert narrow.forms(user_id=1) != []
    with pytest.raises(NotAllowed):
        narrow.forms(user_id=2)
    with pytest.raises(NotAllowed):
        memory.seen_by(MAIL).seen_by(View("all"), tenant="other")
    nothing = memory.seen_by(MAIL).seen_by(View("chat", sources=["chat"]))
    assert nothing.forms(user_id=1) == []
    assert nothing.search("Lisbon", user_id=1) == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"subjects": []}, "subjects"),
        ({"subjects": "user:1"}, "subjects"),
        ({"subjects": ["us*r"]}, "subjects"),
        ({"form_types": [""]}, "form_types"),
        ({"sources": [1]}, "sources"),
        ({"name": " "}, "name"),
    ],
)
def test_a_view_that_names_nothing_right_is_refused(given: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        View(**{"name": "view", **given})  # type: ignore[arg-type]
    assert caught.value.field == field


def test_a_view_survives_being_written_down(memory: Memory) -> None:
    view = View("desk", subjects=["user:*"], form_types=["person"], sources=["mail"])
    assert msgspec.json.decode(msgspec.json.encode(view), type=View) == view
    with pytest.raises(UnknownFormType):
        memory.seen_by(View("x", form_types=["nothing"]))


def test_a_store_of_an_older_shape_is_filled_anew(tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    with Memory(tmp_path / "home", embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id=1, source="mail")
        before, digest = list(memory.history(user_id=1)), memory.verify().live_digest
    with closing(sqlite3.connect(tmp_path / "home" / "memory.db")) as database, database:
        for statement in (
            "UPDATE rm_meta SET value = '1' WHERE name = 'schema_version'",
            "DROP TABLE rm_inputs_1",
            "DROP TABLE rm_mentions_1",
            "ALTER TABLE rm_edges_1 DROP COLUMN place",
        ):
            database.execute(statement)
    with Memory(tmp_path / "home", embedder=False) as memory:
        assert list(memory.history(user_id=1)) == before
        assert memory.verify().equal
        assert memory.verify().live_digest == digest
        assert memory.seen_by(MAIL).forms(user_id=1) != []
