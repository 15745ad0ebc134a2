"""The routes: the same words as in Python, everything that is wrong as a problem that names the field, and reads that show
what was written before."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemolog.query.service.limits import Limits
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import DYNAMICS

from .conftest import Served


def said(client: TestClient, text: str, user: str = "1", **more: Any) -> dict[str, Any]:
    found = client.post("/v1/turns", json={"user_id": user, "content": text, "wait": True, **more})
    assert found.status_code == 200, found.text
    answer: dict[str, Any] = found.json()
    return answer


def test_a_turn_is_accepted_and_its_operation_ends(client: TestClient) -> None:
    found = client.post("/v1/turns", json={"user_id": "1", "content": "I live in Lisbon."})
    assert found.status_code == 202
    answer = found.json()
    assert (len(answer["ids"]), answer["fresh"]) == (1, 1)
    assert answer["operations"][0]["status"] == "waiting"
    forms = client.get("/v1/forms", params={"user_id": "1", "after": answer["position"]}).json()
    assert (forms["behind"], forms["lagging"]) == (0, {})
    assert forms["items"][0]["slots"][0]["value"] == {"type": "text", "data": "Lisbon"}
    operation = client.get(found.headers["Location"]).json()
    assert (operation["id"], operation["status"], operation["outcome"]) == (answer["ids"][0], "done", "changed")
    assert client.get("/v1/operations/nothing?user_id=1").status_code == 404


def test_wait_answers_with_what_became_of_it(client: TestClient) -> None:
    answer = said(client, "I live in Lisbon.", id="a/b c")
    assert answer["operations"] == [{"id": "a/b c", "source": "mnemolog", "status": "done", "outcome": "changed", "reason": ""}]
    assert client.get("/v1/operations/a%2Fb%20c?user_id=1").json()["id"] == "a/b c"


def test_a_batch_is_recorded_whole_or_not_at_all(client: TestClient, served: Served) -> None:
    messages = [{"role": "user", "content": "I live in Lisbon."}, {"role": "assistant", "content": "Nice."}]
    answer = client.post("/v1/turns", json={"user_id": "1", "session": "s", "messages": messages, "id": "b"}).json()
    assert answer["ids"] == ["b:0", "b:1"]
    before = served.memory.stats()["dynamics"]
    bad = client.post("/v1/turns", json={"user_id": "1", "messages": [*messages, {"role": "user", "content": " "}]})
    assert bad.status_code == 422
    assert bad.json()["errors"][0]["field"] == "messages[2].content"
    assert served.memory.stats()["dynamics"] == before


def test_the_idempotency_key_is_the_event_id(client: TestClient) -> None:
    turn = {"user_id": "1", "content": "I live in Lisbon."}
    first, again = (client.post("/v1/turns", json=turn, headers={"Idempotency-Key": "k1"}).json() for _ in range(2))
    assert (first["ids"], first["fresh"], again["ids"], again["fresh"]) == (["k1"], 1, ["k1"], 0)
    assert again["position"] == first["position"]
    other = client.post("/v1/turns", json={**turn, "content": "I live in Rome."}, headers={"Idempotency-Key": "k1"})
    assert other.status_code == 409
    assert other.json()["type"].endswith(":conflicting-content")
    both = client.post("/v1/turns", json={**turn, "id": "k2"}, headers={"Idempotency-Key": "k1"})
    assert (both.status_code, both.json()["errors"][0]["field"]) == (409, "id")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"content": "x"}, "subject"),
        ({"user_id": "1"}, "messages"),
        ({"user_id": "1", "subject": "user:1", "content": "x"}, "user_id"),
        ({"user_id": "1", "content": "x", "messages": "y"}, "messages"),
        ({"user_id": "1", "content": "x", "session": "a", "run_id": "b"}, "run_id"),
        ({"user_id": "1", "content": "x", "colour": "red"}, "colour"),
        ({"user_id": "1", "messages": [{"role": "user", "content": "x", "colour": "red"}]}, "messages[0].colour"),
        ({"user_id": "1", "messages": [{"role": "boss", "content": "x"}]}, "messages[0].role"),
        ({"user_id": "1", "content": "\x00"}, "content"),
        ({"user_id": "1", "content": "   "}, "content"),
        ({"user_id": "1", "content": 5}, "content"),
        ({"user_id": "1", "content": None}, "content"),
        ({"user_id": " ", "content": "x"}, "user_id"),
        ({"user_id": True, "content": "x"}, "user_id"),
        ({"subject": "a\nb", "content": "x"}, "subject"),
        ({"subject": "s" * 257, "content": "x"}, "subject"),
        ({"user_id": "1", "content": "x", "occurred_at": "yesterday"}, "occurred_at"),
        ({"user_id": "1", "content": "x", "occurred_at": "2026-02-30"}, "occurred_at"),
        ({"user_id": "1", "content": "x", "importance": 2}, "importance"),
        ({"user_id": "1", "content": "x", "metadata": {"n": 2**70}}, "metadata.n"),
        ({"user_id": "1", "content": "x", "wait": "yes"}, "wait"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(client: TestClient, given: dict[str, Any], field: str) -> None:
    found = client.post("/v1/turns", json=given)
    problem = found.json()
    assert found.status_code == 422, problem
    assert found.headers["content-type"] == "application/problem+json"
    assert [item["field"] for item in problem["errors"]] == [field]
    assert (problem["status"], problem["title"] != "") == (422, True)
    assert problem["instance"] == f"urn:mnemolog:request:{found.headers['x-request-id']}"


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/forms", "subject"),
        ("/v1/forms?user_id=1&colour=red", "colour"),
        ("/v1/forms?user_id=1&as_of=soon", "as_of"),
        ("/v1/forms?user_id=1&limit=0", "limit"),
        ("/v1/forms?user_id=1&limit=many", "limit"),
        ("/v1/forms?user_id=1&cursor=abc", "cursor"),
        ("/v1/forms?user_id=1&cursor=%20", "cursor"),
        ("/v1/forms?user_id=1&form_type=spaceship", "spaceship"),
        ("/v1/timeline?user_id=1&since=soon", "since"),
        ("/health?x=1", "x"),
        ("/v1/operations/1?user_id=1&wait=true", "wait"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_by_name(client: TestClient, path: str, field: str) -> None:
    found = client.get(path)
    assert found.status_code == 422, found.text
    assert field in found.json()["detail"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 100_000, b'{"user_id": ' + b"9" * 5000 + b"}"]
)
def test_bodies_that_cannot_be_read_are_problems(client: TestClient, body: bytes) -> None:
    found = client.post("/v1/search", content=body, headers={"Content-Type": "application/json"})
    assert found.status_code in (400, 422), found.text
    assert found.headers["content-type"] == "application/problem+json"


def test_lone_surrogates_are_refused_and_not_sent_back(client: TestClient) -> None:
    found = client.post(
        "/v1/turns", content=b'{"user_id": "1", "content": "\\ud800"}', headers={"Content-Type": "application/json"}
    )
    assert (found.status_code, found.json()["errors"][0]["field"]) == (422, "content")


def test_reads_say_the_same_as_python(client: TestClient, served: Served) -> None:
    said(client, "I live in Lisbon.", occurred_at="2026-01-05T10:00:00Z")
    said(client, "I moved to Porto because of work.", occurred_at="2026-02-05T10:00:00Z")
    [form] = client.get("/v1/forms?user_id=1").json()["items"]
    [ours] = served.memory.forms(user_id="1")
    assert form["form_id"] == ours.form_id
    assert client.get(f"/v1/forms/{ours.form_id}?user_id=1").json()["form"] == form
    versions = client.get(f"/v1/forms/{ours.form_id}/history?user_id=1&slot=home").json()["items"]
    assert [version["value"]["data"] for version in versions] == ["Lisbon", "Porto"]
    assert [week["week"] for week in client.get("/v1/summaries?user_id=1").json()["items"]] == [
        week.week for week in served.memory.summaries(user_id="1")
    ]
    timeline = client.get("/v1/timeline?user_id=1&since=2026-02-01").json()["items"]
    assert [entry["entry_id"] for entry in timeline] == [
        entry.entry_id for entry in served.memory.timeline(user_id="1", since="2026-02-01")
    ]
    for path in ("/v1/forms/none?user_id=1", "/v1/forms/none/history?user_id=1", f"/v1/forms/{ours.form_id}?user_id=2"):
        assert client.get(path).status_code == 404


def test_questions_are_answered_with_what_was_just_said(client: TestClient) -> None:
    token = client.post("/v1/turns", json={"user_id": "1", "content": "I live in Lisbon."}).json()["position"]
    asked = {"user_id": "1", "query": "Where do I live?", "after": token}
    found = client.post("/v1/search", json=asked).json()
    assert any("Lisbon" in hit["text"] for hit in found["hits"])
    assert found["recall_id"]
    context = client.post("/v1/context", json={**asked, "budget": 300}).json()["context"]
    assert "Lisbon" in context["text"]
    assert context["tokens"] <= 300
    feedback = {"user_id": "1", "recall_id": found["recall_id"], "outcome": "success"}
    assert client.post("/v1/feedback", json=feedback).status_code == 200
    assert client.post("/v1/feedback", json={**feedback, "recall_id": "nothing"}).status_code in (404, 422)
    assert client.post("/v1/feedback", json={**feedback, "outcome": "great"}).json()["errors"][0]["field"] == "outcome"


def test_pending_questions_are_answered(client: TestClient) -> None:
    said(client, "I think my budget is around 5000 euros.")
    said(client, "Maybe I will live in Rome.")
    pending = client.get("/v1/pending?user_id=1").json()["items"]
    assert pending
    first = pending[0]["pending_id"]
    assert client.post(f"/v1/pending/{first}/confirm", json={"user_id": "2"}).status_code == 404
    done = client.post(f"/v1/pending/{first}/confirm", json={"user_id": "1"}).json()
    assert done["operations"][0]["status"] == "done"
    for item in pending[1:]:
        assert client.post(f"/v1/pending/{item['pending_id']}/reject", json={"user_id": "1"}).status_code == 200
    assert client.get("/v1/pending?user_id=1").json()["items"] == []
    assert client.post(f"/v1/pending/{first}/reject", json={"user_id": "1"}).status_code == 404


def test_what_is_forgotten_is_in_no_answer(client: TestClient, served: Served) -> None:
    turn = said(client, "I live in Lisbon.")["ids"][0]
    said(client, "My dog is called Rex.")
    assert client.delete(f"/v1/memories/{turn}?user_id=1").json()["operations"][0]["status"] == "done"
    assert "Lisbon" not in client.get("/v1/forms?user_id=1").text
    assert client.delete("/v1/memories/none?user_id=1").status_code == 404
    assert client.delete("/v1/memories?user_id=1", headers=served.key(may="admin")).status_code == 200
    assert client.get("/v1/forms?user_id=1").json()["items"] == []


def test_pages_go_through_a_list_once(client: TestClient) -> None:
    for number in range(7):
        said(client, f"I met Ana{number} in Lisbon yesterday.", occurred_at=f"2026-01-{number + 1:02d}T10:00:00Z")
        said(client, f"I live in Town{number}.", occurred_at=f"2026-01-{number + 1:02d}T11:00:00Z")
    whole = client.get("/v1/timeline?user_id=1&limit=500").json()["items"]
    assert len(whole) > 6
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(len(whole)):
        more = {} if cursor is None else {"cursor": cursor}
        page = client.get("/v1/timeline", params={"user_id": "1", "limit": 3, **more}).json()
        seen += [entry["entry_id"] for entry in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [entry["entry_id"] for entry in whole]
    first = client.get("/v1/timeline?user_id=1&limit=3").json()["next"]
    for other in ({"user_id": "2"}, {"user_id": "1", "since": "2026-01-02"}):
        found = client.get("/v1/timeline", params={**other, "limit": 3, "cursor": first})
        assert (found.status_code, found.json()["type"]) == (422, "urn:mnemolog:problem:invalid-cursor")


def test_a_token_of_another_memory_is_refused(client: TestClient) -> None:
    for after in ("0" * 32 + "@1:0:0", "inbox.AAAA"):
        for found in (
            client.get("/v1/forms", params={"user_id": "1", "after": after}),
            client.post("/v1/search", json={"user_id": "1", "query": "x", "after": after}),
        ):
            assert (found.status_code, found.json()["errors"][0]["field"]) == (409, "after")
    assert client.get("/v1/forms?user_id=1&after=nonsense").status_code == 422


def test_a_read_that_waits_in_vain_says_what_lags(serving: Callable[..., Served], monkeypatch: pytest.MonkeyPatch) -> None:
    from mnemolog.schemas.errors import Lagging

    served = serving(Limits(read_wait=0.01))
    headers = served.key()
    token = served.client.post("/v1/turns", json={"user_id": "1", "content": "I live in Lisbon."}, headers=headers).json()
    waited: list[float | None] = []

    def wait(self: object, token: str, timeout: float | None = None) -> None:
        waited.append(timeout)
        raise Lagging({"read models": 1})

    monkeypatch.setattr("mnemolog.memory.Memory.wait", wait)
    found = served.client.get("/v1/forms", params={"user_id": "1", "after": token["position"]}, headers=headers)
    assert (found.status_code, found.json()["lagging"]) == (200, {"read models": 1})
    assert waited == [0.01]


def test_what_is_too_large_is_refused(serving: Callable[..., Served]) -> None:
    served = serving(Limits(batch=2))
    client, headers = served.client, served.key()
    cases: list[tuple[dict[str, Any], str]] = [
        ({"messages": [{"role": "user", "content": "x"}] * 3}, "messages"),
        ({"content": "é" * 600_000}, "content"),
        ({"messages": [{"role": "user", "content": "x" * (2**20 + 1)}]}, "messages[0].content"),
    ]
    for given, field in cases:
        found = client.post("/v1/turns", json={"user_id": "1", **given}, headers=headers)
        assert (found.status_code, found.json()["errors"][0]["field"]) == (413, field)
    long = b'{"user_id": "1", "content": "' + b"x" * 5_000_000 + b'"}'
    typed = {**headers, "Content-Type": "application/json"}
    assert client.post("/v1/turns", content=long, headers=typed).status_code == 413
    assert client.post("/v1/turns", content=iter([long[:9], long[9:]]), headers=typed).status_code == 413
    assert client.get("/v1/forms?user_id=1", headers={**headers, "X-Long": "x" * 20_000}).status_code == 431
    assert served.memory.stats()["dynamics"] == 0


def test_each_key_has_its_rate(serving: Callable[..., Served]) -> None:
    served = serving(Limits(rate=0.001, burst=3))
    one, other = served.key(), served.key()
    statuses = [served.client.get("/v1/forms?user_id=1", headers=one).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    refused = served.client.get("/v1/forms?user_id=1", headers=one)
    assert int(refused.headers["Retry-After"]) > 100
    assert refused.json()["type"].endswith(":too-many-requests")
    assert served.client.get("/v1/forms?user_id=1", headers=other).status_code == 200


def test_what_finds_no_room_is_refused_at_once(serving: Callable[..., Served], monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    served = serving(Limits(threads=1, queue=0))
    client, headers = served.client, served.key()
    begun, go_on = threading.Event(), threading.Event()

    def slow(self: object, **_: object) -> None:
        begun.set()
        assert go_on.wait(30)
        raise AssertionError("the answer is not looked at")

    monkeypatch.setattr("mnemolog.memory.Memory.forms", slow)
    waiting = threading.Thread(target=client.get, args=("/v1/forms?user_id=1",), kwargs={"headers": headers})
    waiting.start()
    assert begun.wait(30)
    refused = client.get("/v1/timeline?user_id=1", headers=headers)
    ready = client.get("/ready")
    go_on.set()
    waiting.join()
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    assert refused.json()["type"].endswith(":overloaded")
    assert ready.status_code == 503
    assert client.get("/v1/timeline?user_id=1", headers=headers).status_code == 200


def test_a_folder_that_cannot_be_written_to_is_not_ready(
    served: Served, client: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said(client, "I live in Lisbon.")
    assert client.get("/ready").json()["status"] == "ready"
    with monkeypatch.context() as patched:
        patched.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 0}))
        served.app.state.service._standing = None  # a look that counts as new for seconds
        refused = client.get("/ready")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert refused.json()["detail"] == "nothing can be written: the disk is full: 0 bytes are free"
        assert str(tmp_path) not in refused.text
        assert client.get("/v1/forms?user_id=1").status_code == 200  # reads go on
    served.app.state.service._standing = None
    assert client.get("/ready").status_code == 200


def test_a_fault_is_told_by_an_id_that_the_log_knows(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: object, **_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("mnemolog.memory.Memory.forms", broken)
    with caplog.at_level(logging.ERROR, "mnemolog.http"):
        found = client.get("/v1/forms?user_id=1")
    assert (found.status_code, found.headers["content-type"]) == (500, "application/problem+json")
    assert "secret" not in found.text
    assert "Traceback" not in found.text
    [record] = [record for record in caplog.records if record.name == "mnemolog.http"]
    assert found.json()["instance"].rpartition(":")[2] in record.getMessage()
    assert "secret detail" in caplog.text


def test_addresses_and_methods_that_are_not_there_are_problems(client: TestClient) -> None:
    for path in ("/", "/v1", "/v1/nothing", "/docs", "/redoc", "/v1/forms/"):
        found = client.get(path)
        assert (found.status_code, found.headers["content-type"]) == (404, "application/problem+json"), path
    wrong = client.put("/v1/forms?user_id=1")
    assert (wrong.status_code, "GET" in wrong.headers["Allow"]) == (405, True)
    assert wrong.json()["type"].endswith(":method-not-allowed")


def test_answers_are_guarded_and_no_other_site_is_let_in(client: TestClient) -> None:
    found = client.get("/v1/forms?user_id=1", headers={"Origin": "https://elsewhere.example"})
    assert found.headers["X-Content-Type-Options"] == "nosniff"
    assert found.headers["Cache-Control"] == "no-store"
    assert "access-control-allow-origin" not in found.headers
    asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"}
    assert client.options("/v1/forms", headers=asked).status_code == 405


def test_the_log_says_nothing_of_what_was_said(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mnemolog.http"):
        said(client, "My password is swordfish.", user="alice")
        client.post("/v1/search", json={"user_id": "alice", "query": "swordfish?"})
        client.get("/v1/forms?user_id=alice")
    told = " ".join(record.getMessage() for record in caplog.records if record.name == "mnemolog.http")
    assert "/v1/search" in told
    assert "swordfish" not in told
    assert "alice" not in told


def test_turns_keep_the_trace_that_they_came_with(client: TestClient, served: Served) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    for parent in (f"00-{trace}-b7ad6b7169203331-01", "nonsense", f"00-{'0' * 32}-b7ad6b7169203331-01"):
        assert client.post(
            "/v1/turns", json={"user_id": "1", "content": "I live in Lisbon."}, headers={"traceparent": parent}
        ).is_success
    log = served.memory._home.log  # type: ignore[attr-defined]
    kept = [Envelope.from_bytes(record.value).correlationid for record in log.read(DYNAMICS)]
    assert kept == [trace, None, None]


def test_measures_say_what_happened(client: TestClient, served: Served) -> None:
    said(client, "I live in Lisbon.")
    client.post("/v1/turns", json={"user_id": "1", "content": "x", "id": "1"})
    client.post("/v1/turns", json={"user_id": "1", "content": "y", "id": "1"})
    client.post("/v1/search", json={"user_id": "1", "query": "Where do I live?"})
    client.post("/v1/search", json={"user_id": "nobody", "query": "Where do I live?"})
    client.get("/v1/nothing")
    served.memory.process()
    text = client.get("/metrics").text
    for line in (
        'mnemolog_writes_total{result="ok"} 2.0',
        'mnemolog_writes_total{result="refused"} 1.0',
        'mnemolog_writes_total{result="failed"} 0.0',
        'mnemolog_recalls_total{kind="search",result="hit"} 1.0',
        'mnemolog_recalls_total{kind="search",result="empty"} 1.0',
        'mnemolog_recall_seconds_count{kind="search"} 2.0',
        'mnemolog_http_requests_total{method="POST",route="/v1/turns",status="409"} 1.0',
        'mnemolog_http_requests_total{method="ANY",route="none",status="404"} 1.0',
        "mnemolog_scopes_parked 0.0",
        "mnemolog_dead_letters_open 0.0",
        "mnemolog_memory_up 1.0",
    ):
        assert line in text
    assert "user:1" not in text


def test_the_document_names_every_status_that_is_answered(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    assert json.dumps(document).count('"$ref"') > 50
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert {"200", "422", "500", "503"} <= operation["responses"].keys(), path
            assert path.startswith("/v1/") == ("security" in operation), path
            if path.startswith("/v1/"):
                assert {"401", "403", "413", "429"} <= operation["responses"].keys(), path
    known = document["components"]["schemas"]
    for name in {part.split('"')[0] for part in json.dumps(document).split("#/components/schemas/")[1:]}:
        assert name in known


def test_questions_may_be_about_several_subjects_and_say_how_they_were_answered(client: TestClient) -> None:
    said(client, "I live in Lisbon.")
    turn = {"subject": "project:apollo", "content": "The budget of project Apollo is 9000 euros.", "wait": True}
    assert client.post("/v1/turns", json=turn).status_code == 200
    asked = {"user_id": "1", "query": "What is the budget of Apollo?"}
    alone = client.post("/v1/search", json=asked).json()
    assert not any("9000" in hit["text"] for hit in alone["hits"])
    assert alone["trace"] is None
    both = client.post("/v1/search", json={**asked, "also": ["project:apollo"], "trace": True, "time_budget": 5}).json()
    assert any("9000" in hit["text"] for hit in both["hits"])
    assert both["trace"]["scopes"] == ["acme/user:1", "acme/project:apollo"]
    assert 'mnemolog_recall_route_seconds_count{route="turns"} 1.0' in client.get("/metrics").text
    for profile in ("enterprise", {"name": "mine", "recency": 1, "min_confidence": 0.1}):
        found = client.post("/v1/context", json={**asked, "also": ["project:apollo"], "profile": profile, "trace": True})
        assert found.status_code == 200, found.text
        assert "9000" in found.json()["context"]["text"]
    for wrong in ("nonsense", {"name": "mine"}, {"name": "mine", "colour": 1}):
        assert client.post("/v1/search", json={**asked, "profile": wrong}).status_code == 422


def test_memories_handed_over_by_id_obey_the_receivers_view(client: TestClient, served: Served) -> None:
    said(client, "I live in Lisbon.")
    hits = client.post("/v1/search", json={"user_id": "1", "query": "Where do I live?"}).json()["hits"]
    ids = [hit["id"] for hit in hits]
    got = client.post("/v1/memories/fetch", json={"ids": ids}).json()["memories"]
    assert [hit["id"] for hit in got] == ids
    assert client.post("/v1/memories/fetch", json={"ids": ids, "user_id": "1"}).status_code == 200
    for headers in (served.key(subjects=("project:*",)), served.key(tenant="globex")):
        assert client.post("/v1/memories/fetch", json={"ids": ids}, headers=headers).status_code == 404
    for given in ({"ids": ids, "user_id": "2"}, {"ids": ["nothing"]}, {"ids": ["slot/user:1/a/b/c"]}):
        assert client.post("/v1/memories/fetch", json=given).status_code == 404
    assert client.post("/v1/memories/fetch", json={"ids": []}).status_code == 422


def test_what_is_in_doubt_is_asked_before_a_turn(client: TestClient, served: Served) -> None:
    said(client, "I live in Lisbon.")
    before = served.memory.stats()["dynamics"]
    asked = {"user_id": "1", "message": "I live in Rome now, what is the weather at home?"}
    doubts = client.post("/v1/check", json=asked).json()["doubts"]
    assert [(doubt["slot"], "Lisbon" in doubt["question"]) for doubt in doubts] == [("home", True)]
    assert client.post("/v1/check", json={**asked, "session": "s", "limit": 1}).status_code == 200
    assert client.post("/v1/check", json={"user_id": "1"}).json()["errors"][0]["field"] == "message"
    assert served.memory.stats()["dynamics"] == before


def test_the_plus_of_an_offset_may_come_as_a_blank(client: TestClient) -> None:
    for text, at in (("I live in Lisbon.", "2026-03-01T10:00:00+02:00"), ("I live in Porto.", "2026-03-01T10:00:01+02:00")):
        said(client, text, id=text, occurred_at=at)

    def homes(query: str) -> list[str]:
        found = client.get(f"/v1/forms?user_id=1&{query}")
        assert found.status_code == 200, found.text
        return [slot["value"]["data"] for form in found.json()["items"] for slot in form["slots"] if slot["slot"] == "home"]

    for plus in ("%2B", "+", "%20"):
        assert homes(f"as_of=2026-03-01T10:00:00{plus}02:00") == ["Lisbon"]
        assert homes(f"as_of=2026-03-01T10:00:01{plus}02:00") == ["Porto"]
        assert homes(f"as_of=2026-03-01T09:59:59.5{plus}02:00") == []
        assert homes(f"known_at=2026-03-01T10:00:00{plus}02:00") == []  # before it was recorded
        whole = client.get(f"/v1/timeline?user_id=1&since=2026-03-01T10:00:02{plus}02:00")
        assert (whole.status_code, whole.json()["items"]) == (200, [])
    refused = client.get("/v1/forms?user_id=1&as_of=2026-03-01+02:00")  # no clock, so no offset either
    assert refused.status_code == 422
    assert "write + as %2B" in refused.json()["detail"]


@pytest.mark.parametrize("at", ["0001-01-01", "9999-12-31", "9999-12-31T23:59:59-02:00", "0001-01-01T00:00:00+05:00"])
def test_a_time_at_the_ends_of_the_calendar_is_refused_by_name(client: TestClient, at: str) -> None:
    for path in ("/v1/forms", "/v1/timeline", "/v1/summaries", "/v1/pending"):
        found = client.get(path, params={"user_id": "1", "as_of": at})
        assert (found.status_code, found.json()["errors"][0]["field"]) == (422, "as_of")
        assert "of the years 1600 to 2999" in found.json()["detail"]
    for path, asked in (("search", {"query": "x"}), ("context", {"query": "x"}), ("check", {"message": "x"})):
        found = client.post(f"/v1/{path}", json={"user_id": "1", "as_of": at, **asked})
        assert (found.status_code, found.json()["errors"][0]["field"]) == (422, "as_of")


def test_every_read_reads_the_past_too(client: TestClient) -> None:
    first = said(client, "I live in Lisbon. My age is about 40.", id="t1", occurred_at="2026-03-02T09:00:00Z")
    said(client, "I moved to Porto because of work.", id="t2", occurred_at="2026-03-20T09:00:00Z")
    (form,) = client.get("/v1/forms?user_id=1").json()["items"]
    question = {"user_id": "1", "query": "Where do I live?", "time_budget": 10}
    for when in ({"as_of": "2026-03-10"}, {"known_at": "t1"}, {"known_at": first["position"], "as_of": "2026-12-01"}):
        answers = [
            client.get(path, params={"user_id": "1", **when})
            for path in (
                "/v1/forms",
                f"/v1/forms/{form['form_id']}",
                f"/v1/forms/{form['form_id']}/history",
                "/v1/timeline",
                "/v1/summaries",
                "/v1/pending",
            )
        ]
        answers += [
            client.post("/v1/search", json={**question, **when}),
            client.post("/v1/context", json={**question, **when}),
            client.post("/v1/check", json={"user_id": "1", "message": "I live in Madrid.", **when}),
        ]
        assert [answer.status_code for answer in answers] == [200] * len(answers), [answer.text for answer in answers]
        told = [answer.text for answer in answers]
        assert "Porto" not in "".join(told)
        assert all("Lisbon" in told[number] for number in (0, 1, 2, 4, 6, 7, 8))
        assert answers[6].json()["recall_id"] == ""
        (slot, *_) = [hit for hit in answers[6].json()["hits"] if hit["kind"] == "slot"]
        (again,) = client.post("/v1/memories/fetch", json={"ids": [slot["id"]], **when}).json()["memories"]
        assert again["status"] == "current"
    pages = client.get("/v1/forms", params={"user_id": "1", "limit": 1, "known_at": "t1"})
    assert pages.json()["next"] is None
    for given, status, word in (
        ({"known_at": "2999-01-01"}, 409, "unknown-moment"),
        ({"known_at": "nobody"}, 404, "not-found"),
        ({"known_at": "other@1:0:0"}, 409, "unknown-token"),
        ({"as_of": "soon"}, 422, "invalid-input"),
    ):
        for answer in (
            client.get("/v1/forms", params={"user_id": "1", **given}),
            client.post("/v1/search", json={**question, **given}),
        ):
            assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (status, word), answer.text
