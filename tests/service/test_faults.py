"""What is wrong with a request is told in words, under the names that the caller used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemolog.query.service.fields import PATTERNS
from service.conftest import Served

NO_TIME = "is not a time: give ISO 8601 such as 2026-05-07T13:00:00+02:00, of the years 1600 to 2999"
NO_QUERY_TIME = NO_TIME.replace("+02:00", "%2B02:00 (write + as %2B in an address)")


def problems(answer: Any) -> dict[str, str]:
    assert answer.status_code == 422, answer.text
    return {item["field"]: item["problem"] for item in answer.json()["errors"]}


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"occurred_at": "yesterday"}, {"occurred_at": NO_TIME}),
        ({"occurred_at": 1e300}, {"occurred_at": "input should be less than or equal to 32000000000"}),
        ({"occurred_at": True}, {"occurred_at": "should be a text or a number"}),
        ({"user_id": [1]}, {"user_id": "should be a text or a whole number"}),
        ({"user_id": "a\x07"}, {"user_id": "is empty, or has a control character"}),
        ({"user_id": 2**60}, {"user_id": "input should be less than or equal to 9007199254740991"}),
        ({"content": " \n"}, {"content": "is empty, or has a NUL character"}),
        ({"content": 5, "colour": "red"}, {"content": "should be a text", "colour": "there is no such field"}),
        ({"messages": ["hello"], "content": None}, {"messages[0]": "should be an object", "content": "should be a text"}),
        ({"wait": "yes"}, {"wait": "should be true or false"}),
    ],
)
def test_the_fields_of_a_turn(client: TestClient, fields: dict[str, Any], wrong: dict[str, str]) -> None:
    assert problems(client.post("/v1/turns", json={"user_id": "1", "content": "x", **fields})) == wrong


def test_a_question(client: TestClient) -> None:
    asked = {"user_id": "1", "query": "x", "profile": "fast", "after": "then", "also": "user:2"}
    assert problems(client.post("/v1/search", json=asked)) == {
        "profile": "is none of relevance, forms-dynamics, enterprise",
        "after": "is no token: give `position` as writing returned it",
        "also": "should be a list",
    }


def test_parameters_and_headers(client: TestClient) -> None:
    assert problems(client.get("/v1/timeline?user_id=1&since=soon&cursor=%21")) == {
        "since": NO_QUERY_TIME,
        "cursor": "is no cursor: give `next` of the page before as it is",
    }
    answer = client.post("/v1/turns", json={"user_id": "1", "content": "x"}, headers={"Idempotency-Key": "k" * 300})
    assert problems(answer) == {"idempotency-key": "string should have at most 256 characters"}


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_that_does_not_say_that_it_is_json(client: TestClient, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = client.post("/v1/turns", content=b'{"user_id": "1", "content": "x"}', headers=headers)
    assert problems(answer) == {"body": "should be a JSON object, sent with Content-Type: application/json"}


@pytest.mark.parametrize("fraction", ["", ".1", ".12", ".123", ".1234567", ".123456789"])
def test_a_second_may_be_given_as_finely_as_others_write_it(client: TestClient, fraction: str) -> None:
    turn = {"user_id": "1", "content": "I live in Porto.", "occurred_at": f"2026-05-07T13:00:00{fraction}+02:00", "wait": True}
    assert client.post("/v1/turns", json=turn).status_code == 200
    said = client.post("/v1/search", json={"user_id": "1", "query": "Porto", "kinds": ["turn"]}).json()["hits"]
    assert [hit["occurred_at"] for hit in said] == [f"2026-05-07T11:00:00.{fraction[1:7]:0<6}Z"]


def test_every_pattern_has_its_words(served: Served) -> None:
    document = served.app.openapi()
    asked = [document["components"]["schemas"]]
    asked += [operation.get("parameters", []) for path in document["paths"].values() for operation in path.values()]
    found = set(_patterns(asked))
    assert len(found) > 4
    assert found <= set(PATTERNS)


def _patterns(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        for item in node.values():
            yield from _patterns(item)
    elif isinstance(node, list):
        for item in node:
            yield from _patterns(item)
