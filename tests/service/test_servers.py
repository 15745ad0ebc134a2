"""The same routes on servers: keys in PostgreSQL, turns through the inbox and the workers, and what was refused says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mnemolog import Memory, Servers
from mnemolog.adapters.kafka.client import Outgoing
from mnemolog.query.service.app import create_app
from mnemolog.query.service.keys import KeyRing, KeyStore
from mnemolog.query.service.limits import Limits
from mnemolog.schemas.access import View
from mnemolog.schemas.events import INBOX
from support.events import SCOPE, START, turn
from support.pipeline import running
from support.services import Services


@pytest.fixture
def servers(services: Services, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Servers:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=2)


@pytest.fixture
def client(servers: Servers) -> Iterator[TestClient]:
    store = KeyStore.of_servers(servers)
    _, text = store.add(View("agent"), tenant="acme", permissions=["read", "write"])
    with Memory(None, "acme", servers=servers, embedder=False, read_timeout=30) as memory:
        app = create_app(memory, KeyRing(store), limits=Limits(write_wait=60, read_wait=60))
        with TestClient(app, headers={"Authorization": f"Bearer {text}"}) as client:
            yield client


def test_the_routes_answer_as_on_a_folder(servers: Servers, client: TestClient) -> None:
    with running(servers):
        found = client.post("/v1/turns", json={"user_id": "1", "content": "I live in Lisbon.", "wait": True})
        assert (found.status_code, found.json()["operations"][0]["outcome"]) == (200, "changed"), found.text
        written = client.post("/v1/turns", json={"user_id": "1", "content": "I moved to Porto."}).json()
        forms = client.get("/v1/forms", params={"user_id": "1", "after": written["position"]}).json()
        assert (forms["items"][0]["slots"][0]["value"]["data"], forms["lagging"]) == ("Porto", {})
        asked = {"user_id": "1", "query": "Where do I live?", "wait": True, "time_budget": 5}
        hits = client.post("/v1/search", json=asked).json()["hits"]
        assert any("Porto" in hit["text"] for hit in hits)
        assert client.post("/v1/memories/fetch", json={"ids": [hits[0]["id"]]}).status_code == 200
        assert client.get(f"/v1/operations/{written['ids'][0]}?user_id=1").json()["status"] == "done"
        assert client.get("/v1/operations/none?user_id=1").status_code == 404
        assert client.get("/ready").json()["status"] == "ready"
    assert client.get("/v1/forms?user_id=1", headers={"Authorization": "Bearer mnk_none"}).status_code == 401


def test_an_accepted_operation_ends_in_done_or_failed(servers: Servers, client: TestClient) -> None:
    written = client.post("/v1/turns", json={"user_id": "1", "content": "I live in Lisbon.", "id": "t1"}).json()
    where = f"/v1/operations/{written['ids'][0]}?user_id=1"
    waiting = client.get(where).json()
    assert (waiting["status"], waiting["reason"]) == ("waiting", "in the inbox, to be taken in")
    with running(servers) as installation:
        memory: Memory = client.app.state.service.memory  # type: ignore[attr-defined]
        memory.wait(written["position"], 60)
        assert client.get(where).json()["status"] == "done"
        # What another program publishes, and ingest refuses.
        bad = turn("t2").to_bytes().replace(b'"content"', b'"text"')
        installation.client.send_by_scope(INBOX, [Outgoing(str(SCOPE), bad, START)])
        client.post("/v1/turns", json={"user_id": "1", "content": "I moved to Porto.", "wait": True})
        refused = client.get("/v1/operations/t2?user_id=1").json()
        assert (refused["status"], refused["outcome"]) == ("failed", "refused")
        assert "text" in refused["reason"]
        assert memory.standing().dead_letters == 1
