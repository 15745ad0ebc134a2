"""Keys: only a hash is kept, they open their own tenant and view alone, and stop opening once they are revoked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemolog.query.service.keys import REFRESH_SECONDS, KeyRing, KeyStore
from mnemolog.schemas.access import View
from mnemolog.schemas.errors import InvalidInput, NotFound

from .conftest import Served


def test_only_the_hash_of_a_key_is_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = KeyStore.of_folder(home)
    about, text = store.add(View("bot", subjects=("user:*",)), tenant="acme", permissions=["read"])
    assert KeyRing(store).known(text) == about
    store.close()
    secret = text.rpartition("_")[2] if "_" not in text.split("_", 2)[2] else text.split("_", 2)[2]
    stored = b"".join(path.read_bytes() for path in home.iterdir() if path.is_file())
    assert secret.encode() not in stored
    assert hashlib.sha256(text.encode()).hexdigest().encode() in stored


def test_keys_differ_and_a_changed_one_opens_nothing(tmp_path: Path) -> None:
    store = KeyStore.of_folder(tmp_path / "home")
    (one, first), (_, second) = (store.add(View("bot")) for _ in range(2))
    ring = KeyRing(store)
    assert first != second
    assert ring.known(first) == one
    other = "A" if first[-2] != "A" else "B"
    for wrong in (
        first[:-2] + other + first[-1],
        first[:-1],
        first + "x",
        "",
        "mnk_",
        first.replace(one.id, "0" * 12),
        "\udc80",
    ):
        assert ring.known(wrong) is None
    ring.close()


def test_a_key_says_what_it_may_do_in_known_words(tmp_path: Path) -> None:
    store = KeyStore.of_folder(tmp_path / "home")
    for wrong in ([], ["write", "fly"]):
        with pytest.raises(InvalidInput, match="permissions"):
            store.add(View("bot"), permissions=wrong)
    with pytest.raises(InvalidInput, match="tenant"):
        store.add(View("bot"), tenant="a/b")
    with pytest.raises(NotFound, match="no key"):
        store.revoke("nobody")
    store.close()


def test_a_running_service_notices_new_and_revoked_keys(tmp_path: Path) -> None:
    now = 0.0
    store, other = (KeyStore.of_folder(tmp_path / "home") for _ in range(2))
    ring = KeyRing(store, lambda: now)
    about, text = other.add(View("bot"))
    assert ring.known(text) is None
    now = 0.5
    assert ring.is_due(text), "an unknown key is looked up at once"
    assert not ring.is_due("nonsense")
    ring.refresh()
    assert ring.known(text) == about
    assert not ring.is_due(text)
    other.revoke(about.id)
    now += REFRESH_SECONDS + 0.1
    assert ring.is_due(text)
    ring.refresh()
    assert ring.known(text) is None
    assert [key.revoked != "" for key in other.list()] == [True]
    ring.close()
    other.close()


def test_without_a_key_nothing_of_v1_is_answered(served: Served) -> None:
    client = served.client
    for path in ("/v1/forms?user_id=1", "/v1/nothing"):
        for headers in ({}, {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer "}, {"Authorization": "Bearer mnk_x"}):
            found = client.get(path, headers=headers)
            assert found.status_code == 401
            assert found.headers["WWW-Authenticate"].startswith("Bearer")
            assert found.headers["content-type"] == "application/problem+json"
    for path in ("/health", "/ready", "/metrics", "/openapi.json"):
        assert client.get(path).status_code == 200


def test_a_key_may_do_what_it_says(served: Served) -> None:
    client = served.client
    turn, question = {"user_id": "1", "content": "I live in Lisbon."}, {"user_id": "1", "query": "where?"}
    reader, writer, admin = (served.key(may, may=may) for may in ("read", "write", "admin"))
    assert client.post("/v1/turns", json=turn, headers=reader).status_code == 403
    assert client.post("/v1/turns", json=turn, headers=writer).status_code == 202
    assert client.post("/v1/search", json=question, headers=writer).status_code == 403
    assert client.get("/v1/forms?user_id=1", headers=writer).status_code == 403
    assert client.get("/v1/forms?user_id=1", headers=reader).status_code == 200
    assert client.delete("/v1/memories?user_id=1", headers=writer).status_code == 403
    assert client.delete("/v1/memories?user_id=1", headers=admin).status_code == 200
    refused = client.post("/v1/turns", json=turn, headers=reader).json()
    assert refused["type"].endswith(":not-permitted")
    assert "may not write" in refused["detail"]


def test_a_key_opens_its_own_tenant_alone(served: Served) -> None:
    client = served.client
    ours, theirs = served.key(tenant="acme"), served.key(tenant="globex")
    written = client.post("/v1/turns", json={"user_id": "1", "content": "I live in Lisbon.", "wait": True}, headers=ours).json()
    assert client.get("/v1/forms?user_id=1", headers=ours).json()["items"]
    assert client.get("/v1/forms?user_id=1", headers=theirs).json()["items"] == []
    operation = f"/v1/operations/{written['ids'][0]}?user_id=1"
    assert client.get(operation, headers=ours).json()["status"] == "done"
    assert client.get(operation, headers=theirs).status_code == 404
    for field in ("tenant", "tenant_id"):
        given = {"user_id": "1", "content": "x", field: "acme"}
        assert client.post("/v1/turns", json=given, headers=theirs).status_code == 422


def test_a_key_sees_its_view_alone(served: Served) -> None:
    client = served.client
    everything, users = served.key(), served.key(subjects=("user:*",))
    for subject in ("user:1", "project:apollo"):
        turn = {"subject": subject, "content": "I live in Lisbon.", "wait": True}
        assert client.post("/v1/turns", json=turn, headers=everything).status_code == 200
    assert client.get("/v1/forms?subject=user:1", headers=users).json()["items"]
    outside = {"subject": "project:apollo"}
    for found in (
        client.get("/v1/forms", params=outside, headers=users),
        client.get("/v1/timeline", params=outside, headers=users),
        client.post("/v1/search", json={**outside, "query": "where?"}, headers=users),
        client.post("/v1/turns", json={**outside, "content": "x"}, headers=users),
        client.get("/v1/operations/x", params=outside, headers=users),
        client.delete("/v1/memories/x", params=outside, headers=users),
    ):
        assert found.status_code == 403
        assert found.json()["type"].endswith(":not-allowed")


def test_a_revoked_key_opens_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = served.key()
    assert served.client.get("/v1/forms?user_id=1", headers=headers).status_code == 200
    served.store.revoke(headers["Authorization"].split("_")[1])
    monkeypatch.setattr("mnemolog.query.service.keys.REFRESH_SECONDS", 0.0)
    assert served.client.get("/v1/forms?user_id=1", headers=headers).status_code == 401


def test_without_keys_only_this_machine_is_answered(serving: Callable[..., Served], tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from mnemolog import Memory
    from mnemolog.query.service.app import create_app

    with Memory(embedder=False) as memory, TestClient(create_app(memory, None), base_url="http://127.0.0.1:8420") as client:
        assert client.get("/v1/forms?user_id=1").status_code == 200
        assert client.get("/v1/forms?user_id=1", headers={"Host": "localhost:1"}).status_code == 200
        assert client.get("/v1/forms?user_id=1", headers={"Host": "[::1]:1"}).status_code == 200
        for headers in ({"Host": "evil.example"}, {"Host": "["}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
            found = client.get("/v1/forms?user_id=1", headers=headers)
            assert found.status_code == 403, headers
            assert found.json()["type"].endswith(":not-local")
