"""The same over HTTP: a key's view decides on every route and in every MCP tool; a new route belongs into the table here."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemolog import Memory, View
from mnemolog.query.service.app import create_app
from mnemolog.query.service.keys import KeyRing, KeyStore
from mnemolog.query.service.mcp_tools import TOOLS

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
    ("POST", "/v1/rollback"),
    ("GET", "/v1/audit"),
    ("GET", "/v1/audit/influence"),
    ("GET", "/v1/audit/extractor"),
    ("GET", "/v1/audit/report"),
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
                    found = [client.post(url, json={**body, **when}) for when in ({}, {"as_of": "2030-01-01"})]
                else:
                    found = [client.get(url, params={"user_id": "1"})]
                    if not path.startswith("/v1/operations"):
                        past = ({"as_of": "2030-01-01"}, {"known_at": "chat-1"}, {"known_at": "mail-1"})
                        found += [client.get(url, params={"user_id": "1", **when}) for when in past]
                for answer in found:
                    told = answer.text.replace(str(body.get("query", "-")), "")
                    assert "work" not in told, (path, told)
                    assert "Rome" not in told, (path, told)
                    assert answer.status_code in (200, 404), (path, told)
        assert client.get("/v1/forms", params={"user_id": "2"}).status_code == 403


class Spoken:
    """A client of /mcp."""

    def __init__(self, client: TestClient, key: str) -> None:
        self._client = client
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = self._post({"id": 1, "method": "initialize", "params": about})
        self._headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        self._post({"method": "notifications/initialized"})

    def _post(self, message: dict[str, Any]) -> Any:
        return self._client.post("/mcp", json={"jsonrpc": "2.0", **message}, headers=self._headers)

    def ask(self, method: str, **params: Any) -> str:
        """Everything that the server says."""
        answer = self._post({"id": 2, "method": method, "params": params})
        assert answer.status_code == 200, answer.text
        return str(answer.text)

    def call(self, tool: str, **arguments: Any) -> str:
        return self.ask("tools/call", name=tool, arguments=arguments)


def test_every_tool_obeys_the_view_of_the_key(memory: Memory, tmp_path: Path) -> None:
    memory.add("My age is about 40.", user_id=1, source="chat", id="chat-2")
    (form,) = memory.forms(user_id=1)
    (pending,) = memory.pending(user_id=1)
    hits = [*memory.search("Where do I live? Porto age", user_id=1, history=True, limit=20)]
    hits += memory.search("Where do I live?", user_id=2, limit=20)
    mail = {hit.id for hit in hits if set(hit.event_ids) == {"mail-1"}}
    assert {hit.kind for hit in hits if hit.id not in mail} >= {"slot", "turn"}
    keys = KeyStore.of_folder(tmp_path / "home")
    _, one = keys.add(View("mail", subjects=["user:1"], sources=["mail"]), tenant="acme")
    _, many = keys.add(View("desk", subjects=["user:1", "project:*"], sources=["mail"]), tenant="acme")
    _, other = keys.add(View("globex"), tenant="globex")
    asked: dict[str, list[dict[str, Any]]] = {
        "remember": [{"text": "I like tea."}],
        "recall": [{"query": "Where do I live? Porto? Rome? age", "past": True}],
        "context": [{"query": "Where do I live? Porto? Rome? age"}],
        "history": [{}, {"form_id": form.form_id}, {"slot": "age"}],
        "pending": [{}],
        "confirm": [{"pending_id": pending.pending_id, "accept": accept} for accept in (True, False)],
        "forget": [{"ids": [hit.id]} for hit in hits if hit.id not in mail],
    }
    assert list(asked) == [tool.name for tool in TOOLS]
    before = [memory.forms(user_id=1), memory.forms(user_id=2), memory.pending(user_id=1)]
    with TestClient(create_app(memory, KeyRing(keys))) as client:
        for key, subjects in ((one, [None]), (many, ["user:1", "user:2"]), (other, ["user:1", "user:2"])):
            spoken = Spoken(client, key)
            for (tool, calls), subject in itertools.product(asked.items(), subjects):
                for arguments in calls:
                    given = arguments if subject is None else {**arguments, "subject": subject}
                    told = spoken.call(tool, **given)
                    for secret in ("because of work", "Porto", "Rome", "about 40", "How old"):
                        assert secret not in told, (tool, given, told)
                    if tool in ("confirm", "forget"):
                        assert json.loads(told.partition("data: ")[2].splitlines()[0])["result"]["isError"], (tool, told)
            for method, params in (
                ("resources/read", {"uri": "mnemolog://profile"}),
                ("resources/read", {"uri": "mnemolog://profile/user:1"}),
                ("resources/read", {"uri": "mnemolog://profile/user%3A2"}),
                ("prompts/get", {"name": "with-memory", "arguments": {"message": "Where?"}}),
                ("prompts/get", {"name": "with-memory", "arguments": {"message": "Where?", "subject": "user:2"}}),
            ):
                answer = spoken.ask(method, **params)
                assert "Porto" not in answer, (method, params)
                assert "Rome" not in answer, (method, params)
    after = [memory.forms(user_id=1), memory.forms(user_id=2), memory.pending(user_id=1)]
    assert [[form.form_id for form in forms] for forms in after[:2]] == [
        [form.form_id for form in forms] for forms in before[:2]
    ]
    assert after[2] == before[2]


def test_who_may_only_write_is_told_nothing_of_what_is_there(memory: Memory, tmp_path: Path) -> None:
    memory.add("My age is about 40.", user_id=1)
    (pending,) = memory.pending(user_id=1)
    keys = KeyStore.of_folder(tmp_path / "home")
    _, text = keys.add(View("ear", subjects=["user:1"]), tenant="acme", permissions=["write"])
    with TestClient(create_app(memory, KeyRing(keys))) as client:
        spoken = Spoken(client, text)
        told = spoken.call("remember", text="I live in Madrid.")
        assert '"understood":[],"questions":[]' in told
        for secret in ("about 40", "Porto", "Lisbon", "Madrid"):
            assert secret not in told
        assert '"understood":[]' in spoken.call("confirm", pending_id=pending.pending_id, accept=True)
    assert memory.pending(user_id=1) != [pending]
