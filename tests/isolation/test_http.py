"""The same over HTTP: a key's view decides on every route, and a new route belongs into the table here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mnemolog import Memory, View
from mnemolog.query.service.app import create_app
from mnemolog.query.service.keys import KeyRing, KeyStore

QUESTION = {"user_id": "1", "query": "Where do I live? Porto? Lisbon?", "wait": True, "time_budget": 5, "limit": 20}
READS: dict[tuple[str, str], dict[str, object]] = {
    ("POST", "/v1/search"): {**QUESTION, "trace": True, "history": True},
    ("POST", "/v1/context"): {**QUESTION, "trace": True},
    ("POST", "/v1/check"): {"user_id": "1", "message": "I live in Madrid."},
    ("GET", "/v1/forms"): {},
    ("GET", "/v1/forms/{id}"): {},
    ("GET", "/v1/forms/{id}/history"): {},
    ("GET", "/v1/timeline"): {},
    ("GET", "/v1/summaries"): {},
    ("GET", "/v1/pending"): {},
    ("POST", "/v1/memories/fetch"): {},
    ("GET", "/v1/operations/{id}"): {},
}
"""Routes that return what is remembered, with what they are asked."""
OTHERS = {
    ("POST", "/v1/turns"),
    ("POST", "/v1/pending/{id}/confirm"),
    ("POST", "/v1/pending/{id}/reject"),
    ("POST", "/v1/feedback"),
    ("DELETE", "/v1/memories/{id}"),
    ("DELETE", "/v1/memories"),
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/metrics"),
}
"""Routes that return nothing of it."""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "home", "acme", embedder=False) as opened:
        opened.add("I live in Lisbon.", user_id=1, source="mail", id="mail-1")
        opened.add("I moved to Porto because of work.", user_id=1, source="chat", id="chat-1")
        opened.add("I live in Rome.", user_id=2, source="mail", id="mail-2")
        opened.process()
        yield opened


def test_every_route_obeys_the_view_of_the_key(memory: Memory, tmp_path: Path) -> None:
    keys = KeyStore.of_folder(tmp_path / "home")
    _, text = keys.add(View("mail", subjects=["user:1"], sources=["mail"]), tenant="acme", permissions=["read", "write"])
    (form,) = memory.forms(user_id=1)
    ids = [hit.id for hit in memory.search("Where do I live? Porto", user_id=1, history=True, limit=20)]
    app = create_app(memory, KeyRing(keys))
    routes = {(method.upper(), path) for path, methods in app.openapi()["paths"].items() for method in methods}
    assert routes == READS.keys() | OTHERS
    with TestClient(app, headers={"Authorization": f"Bearer {text}"}) as client:
        for (method, path), body in READS.items():
            for name in (form.form_id, "chat-1", "nobody"):
                url = path.replace("{id}", name)
                if path == "/v1/memories/fetch":
                    found = [client.post(url, json={"ids": [one]}) for one in ids]
                elif method == "POST":
                    found = [client.post(url, json=body)]
                else:
                    found = [client.get(url, params={"user_id": "1"})]
                for answer in found:
                    told = answer.text.replace(str(body.get("query", "-")), "")
                    assert "work" not in told, (path, told)
                    assert "Rome" not in told, (path, told)
                    assert answer.status_code in (200, 404), (path, told)
        assert client.get("/v1/forms", params={"user_id": "2"}).status_code == 403
