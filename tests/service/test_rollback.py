"""POST /v1/rollback: a dry run and a rollback, who may ask for it, and what is refused with a word about what to do."""

from __future__ import annotations

from typing import Any

from service.conftest import Served


def said(served: Served) -> dict[str, str]:
    served.memory.add("I live in Lisbon.", user_id=1, id="first")
    served.memory.add("I moved to Porto.", user_id=1, id="second")
    return served.key("boss", may="admin")


def test_what_would_change_is_told_and_then_done(served: Served) -> None:
    boss = said(served)
    asked = {"user_id": "1", "to": "first", "reason": "misheard"}
    look = served.client.post("/v1/rollback", json={**asked, "dry_run": True}, headers=boss).json()
    assert [(slot["before"]["data"], slot["after"]["data"]) for slot in look["slots"]] == [("Porto", "Lisbon")]
    assert (look["dry_run"], look["outcome"], look["input_id"]) == (True, "changed", "")
    (form,) = served.memory.forms(user_id=1)
    assert [slot.value.shown for slot in form.slots] == ["Porto"]
    done = served.client.post("/v1/rollback", json=asked, headers=boss).json()
    assert done["slots"] == look["slots"]
    (form,) = served.memory.forms(user_id=1)
    assert [(slot.value.shown, slot.cause) for slot in form.slots] == [("Lisbon", "operator: misheard")]
    back = {"user_id": "1", "to": done["before_input"], "form_id": form.form_id, "slot": "home"}
    assert served.client.post("/v1/rollback", json=back, headers=boss).json()["outcome"] == "changed"
    assert served.client.post("/v1/rollback", json=back, headers=boss).json()["note"] != ""
    assert served.memory.verify(decide=True).equal


def test_only_an_admin_who_sees_the_scope_whole_may(served: Served) -> None:
    said(served)
    asked = {"user_id": "1", "to": "first", "dry_run": True}
    cases: tuple[tuple[str, dict[str, Any], int], ...] = (
        ("read,write", {}, 403),
        ("admin", {"subjects": ["user:2"]}, 403),
        ("admin", {"sources": ["mnemolog"]}, 403),
        ("admin", {"form_types": ["person"]}, 403),
        ("admin", {"subjects": ["user:1"]}, 200),
    )
    for may, view, status in cases:
        key = served.key(f"k{may}{view}", may=may, **view)
        answer = served.client.post("/v1/rollback", json=asked, headers=key)
        assert answer.status_code == status, (may, view, answer.text)
        written = served.client.post("/v1/rollback", json={**asked, "dry_run": False, "to": "second"}, headers=key)
        assert written.status_code == status


def test_mistakes_are_refused_by_name(served: Served) -> None:
    boss = said(served)
    served.memory.add("I live in Rome.", user_id=2, id="other")
    (form,) = served.memory.forms(user_id=1)
    for body, status, word in (
        ({"to": "nothing"}, 404, "nothing"),
        ({"to": "other"}, 404, "other"),
        ({"to": "2999-01-01T00:00:00Z"}, 422, "future"),
        ({"to": "2001-01-01"}, 422, "before anything"),
        ({"to": "first", "slot": "home"}, 422, "slot"),
        ({"to": "first", "form_id": "nobody"}, 404, "nobody"),
        ({"to": "first", "form_id": form.form_id, "slot": "shoes"}, 404, "shoes"),
        ({"to": "first", "what": 1}, 422, "what"),
        ({}, 422, "to"),
    ):
        answer = served.client.post("/v1/rollback", json={"user_id": "1", **body}, headers=boss)
        assert (answer.status_code, word in answer.text) == (status, True), (body, answer.text)
    assert served.memory.stats(user_id=1)["turns"] == 2
