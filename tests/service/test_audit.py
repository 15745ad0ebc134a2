"""GET /v1/audit: why, what came of it, and who changed what; who may ask for it."""

from __future__ import annotations

from typing import Any

import pytest

from service.conftest import Served

ROUTES = {
    "/v1/audit": {"id": "first"},
    "/v1/audit/influence": {"turn_id": "first"},
    "/v1/audit/extractor": {"extractor": "offline"},
    "/v1/audit/report": {"since": "2020-01-01"},
}


def told(served: Served) -> str:
    served.memory.add("I live in Lisbon.", user_id=1, id="first")
    served.memory.add("I moved to Porto.", user_id=1, id="second")
    served.memory.add("I live in Rome.", user_id=2, id="third")
    served.memory.process()
    (form,) = served.memory.forms(user_id=1)
    return form.form_id


def test_a_slot_leads_to_the_words_and_a_turn_to_what_came_of_it(served: Served) -> None:
    form_id, key = told(served), served.key("boss", may="admin")
    asked = {"user_id": "1", "form_id": form_id, "slot": "home"}
    found = served.client.get("/v1/audit", params=asked, headers=key).json()
    assert [(one["facts"]["value"], one["steps"][0]["quotes"][0]["quote"]) for one in found["items"]] == [
        ("Porto", "I moved to Porto"),
        ("Lisbon", "I live in Lisbon"),
    ]
    first = served.client.get("/v1/audit", params={**asked, "version": 1}, headers=key).json()
    assert [one["event_id"] for one in first["inputs"]] == ["first"]
    came = served.client.get("/v1/audit/influence", params={"user_id": "1", "turn_id": "first"}, headers=key).json()
    assert [one["event_id"] for one in [came["input"]]] == ["first"]
    assert f"slot/user:1/{form_id}/home/2" in came["memories"]
    counted = served.client.get("/v1/audit/extractor", params={"extractor": "offline/1"}, headers=key).json()
    assert (counted["inputs"], [one["scope"] for one in counted["scopes"]]) == (3, ["acme/user:1", "acme/user:2"])
    report = served.client.get("/v1/audit/report", params={"since": "2020-01-01", "limit": 1}, headers=key).json()
    assert (report["inputs"], len(report["rows"]), report["left_off"]) == (3, 1, 2)


@pytest.mark.parametrize(("path", "asked"), ROUTES.items())
def test_a_part_of_a_scope_shows_no_audit_and_another_scope_none_either(
    served: Served, path: str, asked: dict[str, str]
) -> None:
    told(served)
    views: tuple[tuple[dict[str, Any], int], ...] = (
        ({"sources": ["mnemolog"]}, 403),
        ({"form_types": ["person"]}, 403),
        ({"subjects": ["user:2"]}, 403),
        ({"subjects": ["user:1"]}, 200),
    )
    for view, status in views:
        key = served.key(f"k{view}", may="admin", **view)
        answer = served.client.get(path, params={**asked, "user_id": "1"}, headers=key)
        assert answer.status_code == status, (view, answer.text)
    reader = served.key("reader", may="read")
    wanted = 403 if path.endswith(("extractor", "report")) else 200
    assert served.client.get(path, params={**asked, "user_id": "1"}, headers=reader).status_code == wanted
    assert served.client.get(path, params=asked, headers=served.key("w", may="write")).status_code == 403


def test_all_scopes_are_those_that_the_key_sees(served: Served) -> None:
    told(served)
    key = served.key("two", may="admin", subjects=["user:2"])
    report = served.client.get("/v1/audit/report", params={"since": "2020-01-01"}, headers=key).json()
    assert [row["event_id"] for row in report["rows"]] == ["third"]
    counted = served.client.get("/v1/audit/extractor", params={"extractor": "offline"}, headers=key).json()
    assert [one["scope"] for one in counted["scopes"]] == ["acme/user:2"]
    elsewhere = served.key("else", may="admin", tenant="beta")
    report = served.client.get("/v1/audit/report", params={"since": "2020-01-01"}, headers=elsewhere).json()
    assert (report["inputs"], report["totals"]["type"]) == (0, {})


def test_what_does_not_fit_is_named(served: Served) -> None:
    told(served)
    key = served.key("boss", may="admin")
    for path, asked, status, field in (
        ("/v1/audit", {"user_id": "1"}, 422, "id"),
        ("/v1/audit", {"user_id": "1", "id": "first", "week": "2026-W10"}, 422, "id"),
        ("/v1/audit", {"user_id": "1", "slot": "home", "id": "first"}, 422, "slot"),
        ("/v1/audit", {"user_id": "1", "id": "nobody"}, 404, ""),
        ("/v1/audit", {"user_id": "1", "id": "slot/user:1/x/home/99999999999999999999"}, 404, ""),
        ("/v1/audit", {"user_id": "1", "id": "slot/user:2/x/home/1"}, 404, ""),
        ("/v1/audit/influence", {"user_id": "1", "turn_id": "third"}, 404, ""),
        ("/v1/audit/extractor", {}, 422, "extractor"),
        ("/v1/audit/report", {"since": "2026-02-02", "until": "2026-01-01"}, 422, "until"),
    ):
        answer = served.client.get(path, params=asked, headers=key)
        assert answer.status_code == status, (asked, answer.text)
        assert not field or [one["field"] for one in answer.json()["errors"]] == [field]
