"""What only the vectors on a Qdrant server have: what outlives the process, partitions in one collection, and servers that are
away, too old, somebody else's or that answer in a way nobody knows."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from mnemolog.adapters.vectors.qdrant import QdrantVectors
from mnemolog.adapters.vectors.qdrant_server import connect
from mnemolog.schemas.errors import (
    Closed,
    EmbedderMismatch,
    InvalidInput,
    Misconfigured,
    MnemologError,
    Unavailable,
    UnknownLog,
)

DIM = 8
SCOPE = "acme/user:1"


@pytest.fixture
def client() -> Iterator[QdrantClient]:
    made = QdrantClient(":memory:")
    yield made
    made.close()


def opened(client: QdrantClient, name: str = "one/8", dim: int = DIM, **options: Any) -> QdrantVectors:
    return QdrantVectors(client, "vectors", dim, name, **options)


def points(start: int, end: int) -> list[tuple[str, int, np.ndarray]]:
    made = []
    for at in range(start, end):
        vector = np.random.default_rng(at).standard_normal(DIM).astype(np.float32)
        made.append((str(at), at, vector / np.linalg.norm(vector)))
    return made


WANTED = points(0, 1)[0][2]


# -- what outlives the process -----------------------------------------------------------------------------------------


def test_what_was_flushed_is_there_again(tmp_path: Path) -> None:
    client = QdrantClient(path=str(tmp_path))
    store = opened(client)
    store.upsert(SCOPE, "turn", points(0, 600))
    store.flush(600)
    before = store.search([SCOPE], "turn", WANTED, 1000)
    client.close()
    client = QdrantClient(path=str(tmp_path))
    store = opened(client)
    assert store.next_offset == 600
    assert store.search([SCOPE], "turn", WANTED, 1000) == before
    assert len(before) == 600
    client.close()


def test_each_partition_fills_on_from_its_own_place_and_all_are_searched(client: QdrantClient) -> None:
    first, second = opened(client, partition=0), opened(client, partition=1)
    first.upsert("acme/user:1", "turn", points(0, 5))
    first.flush(5)
    second.upsert("acme/user:2", "turn", points(0, 3))
    second.flush(3)
    assert [opened(client, partition=at).next_offset for at in range(3)] == [5, 3, 0]
    reader = opened(client)
    assert len(reader.search(["acme/user:1", "acme/user:2"], "turn", WANTED, 100)) == 8
    assert len(reader.search(["acme/user:2"], "turn", WANTED, 100)) == 3


def test_next_offset_may_go_back_where_a_scope_stood_still(client: QdrantClient) -> None:
    store = opened(client)
    store.flush(50)
    store.flush(20)
    assert opened(client).next_offset == 20


def test_a_slow_writer_does_not_overwrite_what_another_wrote_meanwhile(client: QdrantClient) -> None:
    slow, quick = opened(client), opened(client)
    (_, _, old), (_, _, new) = points(1, 3)
    quick.upsert(SCOPE, "turn", [("1", 9, new), ("2", 9, new)])
    slow.upsert(SCOPE, "turn", [("1", 8, old), ("2", 10, old), ("3", 1, old)])
    near_old = {hit.point_id for hit in slow.search([SCOPE], "turn", old, 10) if hit.score > 0.999}
    assert near_old == {"2", "3"}


def test_the_place_is_not_noted_when_the_points_were_not_taken(client: QdrantClient, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(client)
    late = models.UpdateResult(operation_id=1, status=models.UpdateStatus.WAIT_TIMEOUT)
    monkeypatch.setattr(client, "upsert", lambda *_, **__: late)
    with pytest.raises(Unavailable, match="wait_timeout"):
        store.upsert(SCOPE, "turn", points(0, 1))
    with pytest.raises(Unavailable):
        store.flush(1)
    assert store.next_offset == 0


def test_a_removed_collection_is_told_and_opened_again_from_the_start(client: QdrantClient) -> None:
    store = opened(client)
    store.upsert(SCOPE, "turn", points(0, 3))
    store.flush(3)
    client.delete_collection("vectors")
    for call in (lambda: store.upsert(SCOPE, "turn", points(3, 4)), lambda: store.search([SCOPE], "turn", WANTED, 1)):
        with pytest.raises(Closed, match="open it again"):
            call()
    assert opened(client).next_offset == 0


def test_a_place_in_a_collection_that_was_removed_is_not_believed_in_the_next(client: QdrantClient) -> None:
    slow = opened(client)
    slow.upsert(SCOPE, "turn", points(0, 3))
    slow.flush(3)
    client.delete_collection("vectors")
    other = opened(client)  # made anew before the slow one looks again
    slow.upsert(SCOPE, "turn", points(3, 4))
    with pytest.raises(Closed, match="made anew"):
        slow.flush(4)
    assert slow.next_offset == 3
    assert other.next_offset == opened(client).next_offset == 0


# -- whose collection it is --------------------------------------------------------------------------------------------


def test_another_embedder_is_refused_by_name(client: QdrantClient) -> None:
    opened(client)
    for dim, name in ((DIM, "two/8"), (DIM * 2, "one/8")):
        with pytest.raises(EmbedderMismatch, match=r"one/8.*rebuild"):
            opened(client, name, dim)
    opened(client)
    client.delete_collection("vectors")
    opened(client, "two/8")


def test_a_collection_changed_under_an_open_store_is_an_embedder_mismatch(client: QdrantClient) -> None:
    store = opened(client)
    client.delete_collection("vectors")
    opened(client, "two/16", DIM * 2)
    with pytest.raises(EmbedderMismatch, match="rebuild"):
        store.upsert(SCOPE, "turn", points(0, 1))


def test_somebody_elses_collection_is_left_alone(client: QdrantClient) -> None:
    params = models.VectorParams(size=DIM, distance=models.Distance.DOT)
    for vectors, metadata in ((params, None), ({"image": params}, None), (params, {"mnemolog": {"layout": 99}})):
        client.create_collection("vectors", vectors_config=vectors, metadata=metadata)  # type: ignore[arg-type]
        with pytest.raises(Misconfigured, match="choose another prefix"):
            opened(client)
        assert client.count("vectors").count == 0
        client.delete_collection("vectors")


def test_points_of_another_log_are_not_filled_on(client: QdrantClient) -> None:
    opened(client, log_id="aaa").flush(7)
    assert opened(client, log_id="aaa").next_offset == 7
    opened(client).flush(8)  # one that does not look keeps what is noted
    with pytest.raises(UnknownLog, match=r"aaa.*bbb"):
        opened(client, log_id="bbb")
    assert opened(client, partition=1, log_id="bbb").next_offset == 0


def test_a_point_of_unknown_shape_is_refused(client: QdrantClient) -> None:
    store = opened(client)
    client.upsert(
        "vectors", [models.PointStruct(id=1, vector=WANTED.tolist(), payload={"scope": SCOPE, "kind": "turn", "id": 5})]
    )
    with pytest.raises(Misconfigured, match="did not write"):
        store.search([SCOPE], "turn", WANTED, 1)


def test_two_that_make_the_collection_at_once_share_it(client: QdrantClient, monkeypatch: pytest.MonkeyPatch) -> None:
    there = client.collection_exists

    def exists_a_moment_later(name: str) -> bool:
        monkeypatch.setattr(client, "collection_exists", there)
        opened(client).flush(4)
        return False

    monkeypatch.setattr(client, "collection_exists", exists_a_moment_later)
    assert opened(client).next_offset == 4


# -- servers -----------------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


Answer = Callable[[str, str], tuple[int, Any]]


@contextmanager
def http_server(answer: Answer) -> Iterator[str]:
    """A server that answers (method, path) with (status, JSON)."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status, body = answer(self.command, self.path)
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_PUT = do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def grpc_server(code: grpc.StatusCode, details: str) -> Iterator[str]:
    """A server that refuses every call."""

    class Refusing(grpc.GenericRpcHandler):
        def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            return grpc.unary_unary_rpc_method_handler(lambda request, context: context.abort(code, details))

    server = grpc.server(futures.ThreadPoolExecutor(1), handlers=[Refusing()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"grpc://127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@pytest.mark.parametrize("scheme", ["http://", "grpc://", "https://secret@", "grpcs://secret@"])
def test_a_server_that_is_not_there_is_unavailable(scheme: str) -> None:
    port = free_port()
    with pytest.raises(Unavailable, match=f"127.0.0.1:{port}") as caught:
        QdrantVectors(f"{scheme}127.0.0.1:{port}", "vectors", DIM, "one/8")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


DIMENSION = "Wrong input: Vector dimension error: expected dim: 8, got 16"
STATUSES: list[tuple[int, type[MnemologError]]] = [
    (503, Unavailable),
    (500, Unavailable),
    (429, Unavailable),
    (401, Misconfigured),
    (418, Misconfigured),
    (404, Closed),
]


@pytest.mark.parametrize(("status", "error"), STATUSES)
def test_what_a_server_refuses_over_http_is_one_of_our_errors(status: int, error: type[MnemologError]) -> None:
    with http_server(lambda *_: (status, {"status": {"error": "no"}})) as url, pytest.raises(error):
        QdrantVectors(url, "vectors", DIM, "one/8")


CODES: list[tuple[grpc.StatusCode, type[MnemologError]]] = [
    (grpc.StatusCode.UNAVAILABLE, Unavailable),
    (grpc.StatusCode.DEADLINE_EXCEEDED, Unavailable),
    (grpc.StatusCode.UNAUTHENTICATED, Misconfigured),
    (grpc.StatusCode.UNIMPLEMENTED, Misconfigured),
    (grpc.StatusCode.NOT_FOUND, Closed),
]


@pytest.mark.parametrize(("code", "error"), CODES, ids=str)
def test_what_a_server_refuses_over_grpc_is_one_of_our_errors(code: grpc.StatusCode, error: type[MnemologError]) -> None:
    with grpc_server(code, "no") as url, pytest.raises(error):
        QdrantVectors(url, "vectors", DIM, "one/8")


def test_a_wrong_dimension_is_the_same_error_over_every_transport() -> None:
    with (
        http_server(lambda *_: (400, {"status": {"error": DIMENSION}})) as url,
        pytest.raises(EmbedderMismatch, match="rebuild"),
    ):
        QdrantVectors(url, "vectors", DIM, "one/8")
    with grpc_server(grpc.StatusCode.INVALID_ARGUMENT, DIMENSION) as url, pytest.raises(EmbedderMismatch, match="rebuild"):
        QdrantVectors(url, "vectors", DIM, "one/8")


@pytest.mark.parametrize("body", [b"<html>", {"hello": 1}, [], None, {"title": "x", "version": "unknown"}])
def test_what_is_no_qdrant_is_refused(body: Any) -> None:
    with http_server(lambda *_: (200, body)) as url, pytest.raises(Misconfigured):
        QdrantVectors(url, "vectors", DIM, "one/8")


def test_a_server_that_would_ignore_the_position_guard_is_refused() -> None:
    asked = []

    def answer(method: str, path: str) -> tuple[int, Any]:
        asked.append((method, path))
        return 200, {"title": "qdrant", "version": "1.15.5"}

    with http_server(answer) as url, pytest.raises(Misconfigured, match=r"1\.15\.5.*1\.16"):
        QdrantVectors(url, "vectors", DIM, "one/8")
    assert asked == [("GET", "/")]


@pytest.mark.parametrize("url", ["", "localhost:6333", "redis://:secret@h", "http://", "http://h:port", "http://h:99999"])
def test_an_address_that_is_none_is_refused_and_its_key_not_shown(url: str) -> None:
    with pytest.raises(InvalidInput, match="qdrant_url") as caught:
        connect(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "grpc_port", "port", "key"),
    [
        ("http://h", 6334, 6333, None),
        ("grpc://h", 6334, 6333, None),
        ("grpc://h:7000", 7000, 7000, None),
        ("https://a%2Fb@h:443/db", 443, 443, "a/b"),
        ("http://[::1]:1", 1, 1, None),
    ],
)
def test_what_an_address_says(url: str, grpc_port: int, port: int, key: str | None) -> None:
    client = connect(url)
    options = client.init_options
    assert (options["grpc_port"], options["port"], options["api_key"]) == (grpc_port, port, key)
    assert options["prefer_grpc"] == url.startswith("grpc")
    client.close()
