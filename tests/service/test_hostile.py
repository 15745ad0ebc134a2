"""Callers who mean harm: what they send costs little, is understood in one way, and takes nothing from anybody else."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemolog.query.service.faults import NAMED
from mnemolog.query.service.limits import Limits
from mnemolog.schemas.errors import Busy, Closed, ConflictingContent, FolderError, LogError, ModelUnavailable, Unavailable
from service.conftest import Served

JSON = {"Content-Type": "application/json"}
MANY = 300_000


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def told(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].rpartition(":")[2]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/turns", {f"a{number}": 1 for number in range(MANY)}),
        ("/v1/turns", {"user_id": "1", "content": "x"} | {f"a{number}": 1 for number in range(15)}),
        ("/v1/turns", {"user_id": "1", "messages": [1] * MANY}),
        ("/v1/turns", {"user_id": "1", "messages": [1] * 9000}),
        ("/v1/turns", {"user_id": "1", "messages": [{f"a{number}": 1 for number in range(20)}] * 9000}),
        ("/v1/turns", {"user_id": "1", "messages": [{"content": [1] * 9000}] * 20}),
        ("/v1/turns", {"user_id": "1", "messages": [{"tool_calls": [1] * 9000}] * 20}),
        ("/v1/search", {"user_id": "1", "query": "x", "also": [1] * MANY}),
        ("/v1/search", {"user_id": "1", "query": "x", "kinds": ["x"] * MANY}),
        ("/v1/memories/fetch", {"ids": [1] * MANY}),
        ("/v1/feedback", {"user_id": "1", "recall_id": "x", "outcome": "success", "memories": [1] * MANY}),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_of_very_many_faults_a_few_are_told(client: TestClient, path: str, body: dict[str, Any]) -> None:
    """With one comparison of each to each other, these took minutes in which nobody else was answered."""
    answer = client.post(path, content=json.dumps(body), headers=JSON)
    assert answer.status_code == 422
    assert 1 <= len(answer.json()["errors"]) <= NAMED
    assert len(answer.content) < 10_000


@pytest.mark.parametrize("path", ["/health", "/ready", "/metrics", "/v1/forms"])
def test_nor_are_very_many_parameters_looked_at(client: TestClient, path: str) -> None:
    answer = client.get(f"{path}?" + "&".join(f"a{number}=1" for number in range(8000)))
    assert told(answer) == (422, "invalid-input")
    assert len(answer.content) < 1000


def test_a_method_of_the_callers_own_makes_no_series(client: TestClient) -> None:
    for method in ("ZQX1", "ZQX2"):
        assert client.request(method, "/health").status_code == 405
        assert client.request(method, "/v1/forms").status_code == 405
        assert client.request(method, "/mcp").status_code in (400, 405)
    metrics = client.get("/metrics").text
    assert "ZQX" not in metrics
    assert 'method="ANY",route="/health",status="405"} 2.0' in metrics


@pytest.mark.parametrize(
    "body",
    [
        b'{"user_id": "1", "user_id": "2", "query": "x"}',
        b'{"user_id": "1", "query": "x", "profile": {"name": "a", "semantic": 1, "semantic": 2}}',
        b'{"user_id": "1", "query": "x", "time_budget": NaN}',
        b'{"user_id": "1", "query": "x", "now": -Infinity}',
        b'{"user_id": "1", "query": ',
        b'{"user_id": "\xff", "query": "x"}',
        b"[" * 100_000,
        b'{"user_id": ' + b"1" * 5000 + b', "query": "x"}',
    ],
)
def test_what_readers_of_json_understand_differently_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/v1/search", content=body, headers=JSON)
    assert told(answer) == (400, "unreadable"), answer.text
    assert "errors" not in answer.json()


def test_so_is_a_parameter_that_is_given_twice(client: TestClient) -> None:
    for path in ("/v1/forms", "/v1/operations/x", "/v1/timeline"):
        answer = client.get(f"{path}?user_id=1&user_id=2")
        assert told(answer) == (422, "invalid-input")
        assert [item["field"] for item in answer.json()["errors"]] == ["user_id"]
    assert client.delete("/v1/memories/x?subject=a&subject=a").status_code == 422


@pytest.mark.parametrize(
    "address", ["forms?user_id=%D5%C5", "forms?user_id=a%ff", "operations/%C0%AF?user_id=1", "forms?user_id=1&slot=%ED%A0%80"]
)
def test_names_that_are_no_utf8_are_not_taken_for_one_another(client: TestClient, address: str) -> None:
    """Each of their bytes would become the same mark: whoever is called so in another encoding would share one memory."""
    assert client.post("/v1/turns", json={"user_id": "\ufffd\ufffd", "content": "My name is Mei."}).status_code == 202
    assert told(client.get(f"/v1/{address}")) == (422, "invalid-input")
    assert told(client.delete("/v1/memories/%D5%C5?user_id=1")) == (422, "invalid-input")
    assert client.get("/v1/forms?user_id=%EF%BF%BD%EF%BF%BD&wait=true").json()["items"][0]["name"] == "Mei"


def test_a_burst_reads_the_keys_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them used to queue up for a look of its own, and those that found the queue full were turned away."""
    headers = served.key()
    ring = served.app.state.service.keys
    entered, go = threading.Event(), threading.Event()
    reads: list[None] = []

    def slowly() -> None:
        reads.append(None)
        entered.set()
        assert go.wait(30)
        refresh()

    refresh = ring.refresh
    monkeypatch.setattr(ring, "refresh", slowly)
    monkeypatch.setattr(ring, "is_due", lambda _: not go.is_set())
    with ThreadPoolExecutor(40) as pool:
        answers = [pool.submit(served.client.get, "/v1/forms?user_id=1", headers=headers) for _ in range(40)]
        assert entered.wait(30)
        # How far the memory is behind is another look: it waits for no key.
        assert served.client.get("/ready").status_code == 200
        go.set()
        assert {answer.result().status_code for answer in answers} == {200}
    assert len(reads) <= 3


def test_how_far_it_is_behind_is_looked_at_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go = threading.Event(), threading.Event()
    looks: list[None] = []
    standing = served.memory.standing

    def slowly() -> Any:
        looks.append(None)
        entered.set()
        assert go.wait(30)
        return standing()

    monkeypatch.setattr(served.memory, "standing", slowly)
    with ThreadPoolExecutor(30) as pool:
        answers = [pool.submit(served.client.get, path) for path in ("/ready", "/metrics") * 15]
        assert entered.wait(30)
        assert served.client.get("/v1/forms?user_id=1", headers=served.key()).status_code == 200
        go.set()
        assert {answer.result().status_code for answer in answers} == {200}
    assert len(looks) == 1


def test_a_conflict_tells_nothing_of_what_is_recorded(client: TestClient) -> None:
    body = {"user_id": "1", "content": "The pin is 1234."}
    assert client.post("/v1/turns", json=body, headers={"Idempotency-Key": "k"}).status_code == 202
    answer = client.post("/v1/turns", json={**body, "content": "The pin is 1111."}, headers={"Idempotency-Key": "k"})
    assert told(answer) == (409, "conflicting-content")
    conflict = ConflictingContent("acme/user:1", "mnemolog", "k", "a1b2c3d4e5f6a7b8", "b1b2c3d4e5f6a7b8")
    assert answer.json()["detail"] == str(conflict)
    assert "1b2c3d4" not in str(conflict)


def test_an_id_that_is_none_is_told_plainly(client: TestClient) -> None:
    answer = client.post("/v1/memories/fetch", json={"ids": ["zq"]})
    assert told(answer) == (404, "not-found")
    assert answer.json()["detail"] == "ids: 'zq' is not the id of a memory"


@pytest.mark.parametrize("length", ["4194305", "9" * 20, "9" * 5000])
def test_a_length_is_believed_before_the_body_comes(client: TestClient, length: str) -> None:
    assert told(client.post("/v1/turns", content=b"{}", headers={**JSON, "Content-Length": length})) == (413, "too-large")


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/v1/turns", "/mcp"])
async def test_a_body_that_does_not_come_is_not_waited_for(serving: Callable[..., Served], path: str) -> None:
    import anyio

    served = serving(Limits(body_wait=0.05))
    key = served.key()["Authorization"]
    headers = {"authorization": key, "content-type": "application/json", "content-length": "100"}
    headers["accept"] = "application/json, text/event-stream"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    first, sent = [{"type": "http.request", "body": b"{", "more_body": True}], []

    async def receive() -> Any:
        if first:
            return first.pop()
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    with anyio.fail_after(30):
        await served.app(scope, receive, send)
    assert [message["status"] for message in sent if message["type"] == "http.response.start"] == [408]


@pytest.mark.parametrize("kind", [Busy, FolderError, Unavailable, ModelUnavailable, Closed, LogError, OSError])
def test_an_error_names_no_place_of_ours(
    served: Served, kind: type[Exception], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object, **__: object) -> Any:
        raise kind("/srv/secret/memory.db at 10.0.0.5 is locked")

    headers = served.key()
    memory = served.app.state.service.caller(served.app.state.service.keys.known(headers["Authorization"].split()[1])).memory
    for name in ("search", "add", "forms"):
        monkeypatch.setattr(memory, name, fails)
    monkeypatch.setattr(served.memory, "standing", fails)
    asked = [
        served.client.post("/v1/search", json={"user_id": "1", "query": "x"}, headers=headers),
        served.client.post("/v1/turns", json={"user_id": "1", "content": "x"}, headers=headers),
        served.client.get("/v1/forms?user_id=1", headers=headers),
        served.client.get("/ready"),
    ]
    for answer in asked:
        # What passes (a full disk, too) is to be tried again; a fault is not.
        assert answer.status_code == 503 or kind in (LogError, OSError)
        assert "secret" not in answer.text
        assert "10.0.0.5" not in answer.text
    assert "/srv/secret" in caplog.text
