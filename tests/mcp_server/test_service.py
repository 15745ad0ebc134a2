"""The MCP server of a running service: keys open it, and decide what there is and whose it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemolog import Memory
from mnemolog.query.service.app import create_app
from mnemolog.query.service.keys import KeyRing, KeyStore
from mnemolog.query.service.limits import Limits
from mnemolog.schemas.access import View

VERSION = "2025-11-25"
ACCEPTS = {"Accept": "application/json, text/event-stream"}


class Spoken:
    """One client of /mcp, with its key and its session."""

    def __init__(self, client: TestClient, key: str | None) -> None:
        self._client = client
        self.headers = ACCEPTS | ({} if key is None else {"Authorization": f"Bearer {key}"})
        self._next = 0

    def post(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> Any:
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params or {}}
        return self._client.post("/mcp", json=message, headers={**self.headers, **headers})

    def get(self, path: str) -> str:
        return str(self._client.get(path).text)

    def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = self.post(method, params)
        assert answer.status_code == 200, answer.text
        (line,) = [line for line in answer.text.splitlines() if line.startswith("data: {")]
        found: dict[str, Any] = json.loads(line.removeprefix("data: "))
        return found

    def begin(self) -> Spoken:
        hello = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = self.post("initialize", hello)
        assert answer.status_code == 200, answer.text
        self.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert self._client.post("/mcp", json=note, headers=self.headers).status_code == 202
        return self

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.result("tools/list")["result"]["tools"]]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.result("tools/call", {"name": tool, "arguments": arguments})["result"]
        return answer


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    KeyStore.of_folder(tmp_path / "home").close()
    with Memory(tmp_path / "home", "acme", embedder=False) as opened:
        yield opened


@pytest.fixture
def speak(memory: Memory, tmp_path: Path) -> Iterator[Callable[..., Spoken]]:
    """Makes a client with a key of its own; `key=False`: with none."""
    store = KeyStore.of_folder(tmp_path / "home")
    with ExitStack() as stack:
        app = create_app(memory, KeyRing(store), limits=Limits(body=200_000))
        client = stack.enter_context(TestClient(app))

        def make(*, may: str = "read,write", key: bool = True, tenant: str = "acme", **view: Any) -> Spoken:
            if not key:
                return Spoken(client, None)
            _, text = store.add(View("agent", **view), tenant=tenant, permissions=may.split(","))
            app.state.service.keys.refresh()
            return Spoken(client, text)

        yield make


def test_without_a_key_nothing_is_said(speak: Callable[..., Spoken]) -> None:
    answer = speak(key=False).post("initialize")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    stranger = speak(key=False)
    stranger.headers["Authorization"] = "Bearer mnk_000000000000_" + "x" * 43
    assert stranger.post("initialize").status_code == 401


def test_a_key_of_one_subject_fixes_it(speak: Callable[..., Spoken], memory: Memory) -> None:
    memory.add("I live in Rome.", subject="user:ben")
    ana = speak(subjects=("user:ana",)).begin()
    assert len(ana.tools()) == 7
    said = ana.call("remember", text="I live in Lisbon.")
    assert said["structuredContent"]["new"] is True
    assert [slot.value.shown for form in memory.forms(subject="user:ana") for slot in form.slots] == ["Lisbon"]
    found = ana.call("recall", query="Where do I live?")["structuredContent"]["memories"]
    assert all("Rome" not in item["text"] for item in found)
    assert ana.call("recall", query="Where do I live?", subject="user:ben")["isError"]
    theirs = memory.search("Where do I live?", subject="user:ben")[0].id
    assert ana.call("forget", ids=[theirs])["isError"]
    assert "Rome" in str(memory.context("Where do I live?", subject="user:ben"))


def test_a_key_of_several_names_whom_and_sees_no_other(speak: Callable[..., Spoken], memory: Memory) -> None:
    memory.add("I live in Rome.", subject="user:ben")
    memory.add("I live in Oslo.", subject="project:x")
    memory.add("I live in Graz.", subject="user:ben", tenant="other")
    agent = speak(subjects=("user:*",)).begin()
    found = agent.call("context", query="Where do I live?", subject="user:ben")
    assert "Rome" in found["structuredContent"]["text"]
    assert "Graz" not in found["structuredContent"]["text"]
    for tool, arguments in {
        "remember": {"text": "hello"},
        "recall": {"query": "Where do I live?"},
        "context": {"query": "Where do I live?"},
        "history": {},
        "pending": {},
        "confirm": {"pending_id": "p", "accept": True},
        "forget": {"ids": ["turn/project:x/mnemolog/t"]},
    }.items():
        refused = agent.call(tool, subject="project:x", **arguments)
        assert refused["isError"], tool
        assert "Oslo" not in json.dumps(refused)
    assert "error" in agent.result("resources/read", {"uri": "mnemolog://profile/project%3Ax"})
    assert "error" in agent.result(
        "prompts/get", {"name": "with-memory", "arguments": {"subject": "project:x", "message": "x"}}
    )


def test_what_a_key_may_do_decides_which_tools_it_has(speak: Callable[..., Spoken]) -> None:
    reader = speak(may="read", subjects=("user:ana",)).begin()
    assert reader.tools() == ["recall", "context", "history", "pending"]
    assert "Unknown tool" in json.dumps(reader.result("tools/call", {"name": "remember", "arguments": {"text": "x"}}))
    writer = speak(may="write", subjects=("user:ana",)).begin()
    assert writer.tools() == ["remember", "confirm", "forget"]


def test_a_session_is_continued_with_its_own_key_alone(speak: Callable[..., Spoken]) -> None:
    first, second = speak(subjects=("user:ana",)).begin(), speak(subjects=("user:ana",)).begin()
    second.headers["mcp-session-id"] = first.headers["mcp-session-id"]
    assert second.post("tools/list").status_code == 404
    assert len(first.tools()) == 7


def test_a_page_of_another_origin_may_not_ask_though_it_has_a_key(speak: Callable[..., Spoken]) -> None:
    ana = speak(subjects=("user:ana",)).begin()
    assert ana.post("tools/list", Origin="http://evil.example.com").status_code == 403
    assert ana.post("tools/list", Origin="http://testserver").status_code == 200


def test_requests_are_counted_under_their_route(speak: Callable[..., Spoken]) -> None:
    ana = speak(subjects=("user:ana",)).begin()
    ana.tools()
    counted = ana.get("/metrics")
    assert 'mnemolog_http_requests_total{method="POST",route="/mcp",status="200"} 2.0' in counted


def test_the_limits_of_the_service_hold_here_too(speak: Callable[..., Spoken]) -> None:
    ana = speak(subjects=("user:ana",)).begin()
    large = ana.post("tools/call", {"name": "remember", "arguments": {"text": "x" * 300_000}})
    assert large.status_code == 413


def test_a_question_without_end_is_refused(speak: Callable[..., Spoken]) -> None:
    spoken = speak(subjects=["user:1"]).begin()
    for tool in ("recall", "context"):
        answer = spoken.call(tool, query="q" * 100_001)
        assert answer["isError"]
        assert "query" in answer["content"][0]["text"]
    asked = {"name": "with-memory", "arguments": {"message": "q" * 100_001}}
    assert "message" in spoken.result("prompts/get", asked)["error"]["message"]
