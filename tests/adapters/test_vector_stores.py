"""The contract of a vector store, against every one there is."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from qdrant_client import QdrantClient

from mnemolog.adapters.vectors.edge import EdgeVectors
from mnemolog.adapters.vectors.qdrant import QdrantVectors
from mnemolog.adapters.vectors.qdrant_server import connect
from mnemolog.adapters.vectors.scan import ScanVectors
from mnemolog.processors.core.ports import VectorStore
from mnemolog.schemas.errors import Closed, EmbedderMismatch
from support.qdrant_over_grpc import over_grpc

DIM = 16
A, B = "acme/user:1", "acme/user:2"


SERVER = os.environ.get("MNEMOLOG_QDRANT_URL", "")
KINDS = ["edge", "scan", "qdrant", "qdrant over grpc", *(["qdrant server"] if SERVER else [])]
"""`qdrant` is the client's own engine, in this process or behind gRPC; a server is there where its address is given."""


@contextmanager
def opened(kind: str, path: Path) -> Iterator[VectorStore]:
    """An empty store of that kind."""
    made: VectorStore
    if kind == "scan":
        made = ScanVectors(DIM)
    elif kind == "edge":
        made = EdgeVectors(path / "vectors", DIM, "test/16")
    else:
        with ExitStack() as stack:
            url = stack.enter_context(over_grpc()) if kind == "qdrant over grpc" else SERVER
            client = QdrantClient(":memory:") if kind == "qdrant" else connect(url)
            stack.callback(client.close)
            collection = f"test-{uuid.uuid4().hex}"
            stack.callback(client.delete_collection, collection)
            made = QdrantVectors(client, collection, DIM, "test/16")
            stack.callback(made.close)
            yield made
        return
    yield made
    made.close()


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    with opened(request.param, tmp_path) as made:
        yield made


def unit(*parts: float) -> NDArray[np.float32]:
    vector = np.zeros(DIM, np.float32)
    vector[: len(parts)] = parts
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def ids(store: VectorStore, scopes: list[str], vector: NDArray[np.float32], kind: str = "turn", limit: int = 10) -> list[str]:
    return [hit.point_id for hit in store.search(scopes, kind, vector, limit)]


def test_the_nearest_come_first_with_their_cosine(store: VectorStore) -> None:
    store.upsert(A, "turn", [("far", 1, unit(0, 1)), ("near", 2, unit(1)), ("between", 3, unit(1, 1))])
    hits = store.search([A], "turn", unit(1), 10)
    assert [hit.point_id for hit in hits] == ["near", "between", "far"]
    assert [hit.score for hit in hits] == pytest.approx([1, 2**-0.5, 0], abs=1e-3)


def test_the_limit_holds_and_an_empty_store_finds_nothing(store: VectorStore) -> None:
    assert ids(store, [A], unit(1)) == []
    store.upsert(A, "turn", [(str(at), at, unit(1, at)) for at in range(5)])
    assert ids(store, [A], unit(1), limit=2) == ["0", "1"]
    assert ids(store, [A], unit(1), limit=0) == []


def test_a_scope_sees_only_its_own_points(store: VectorStore) -> None:
    store.upsert(A, "turn", [("same", 1, unit(0, 1))])
    store.upsert(B, "turn", [("same", 1, unit(1)), ("other", 2, unit(1))])
    assert ids(store, [A], unit(1)) == ["same"]
    assert store.search([A], "turn", unit(1), 10)[0].score == pytest.approx(0, abs=1e-3)
    assert ids(store, [], unit(1)) == []
    assert ids(store, ["acme/user"], unit(1)) == []
    assert ids(store, [A, B], unit(1)) == ["other", "same", "same"]


def test_kinds_do_not_mix(store: VectorStore) -> None:
    store.upsert(A, "turn", [("1", 1, unit(1))])
    store.upsert(A, "slot", [("1", 1, unit(0, 1)), ("2", 1, unit(1))])
    assert ids(store, [A], unit(1), "turn") == ["1"]
    assert ids(store, [A], unit(1), "slot") == ["2", "1"]


def test_an_older_position_never_overwrites_a_newer_one(store: VectorStore) -> None:
    store.upsert(A, "turn", [("1", 5, unit(1))])
    store.upsert(A, "turn", [("1", 4, unit(0, 1))])
    assert store.search([A], "turn", unit(1), 1)[0].score == pytest.approx(1, abs=1e-3)
    store.upsert(A, "turn", [("1", 6, unit(0, 1))])
    assert store.search([A], "turn", unit(1), 1)[0].score == pytest.approx(0, abs=1e-3)


def test_within_one_batch_too_the_newest_stands(store: VectorStore) -> None:
    store.upsert(A, "turn", [("1", 7, unit(1)), ("1", 3, unit(0, 1))])
    assert [round(hit.score, 2) for hit in store.search([A], "turn", unit(1), 5)] == [1.0]


def test_doing_it_again_changes_nothing(store: VectorStore) -> None:
    points = [(str(at), at, unit(1, at)) for at in range(600)]
    store.upsert(A, "turn", points)
    before = store.search([A], "turn", unit(1, 2), 600)
    store.upsert(A, "turn", points)
    assert store.search([A], "turn", unit(1, 2), 600) == before
    assert len(before) == 600


def test_ties_come_in_order_of_ids(store: VectorStore) -> None:
    store.upsert(A, "turn", [(name, 1, unit(1)) for name in ("c", "a", "b")])
    assert ids(store, [A], unit(1)) == ["a", "b", "c"]


def test_ties_at_the_limit_are_cut_in_order_of_ids(store: VectorStore) -> None:
    store.upsert(A, "turn", [(f"{at:02}", at, unit(1)) for at in (*range(30, 60), *range(30))])
    store.upsert(A, "turn", [("best", 99, unit(1, 0.1))])
    assert ids(store, [A], unit(1, 0.1), limit=4) == ["best", "00", "01", "02"]


def test_a_vector_of_another_dimension_is_refused_as_another_embedders(store: VectorStore) -> None:
    store.upsert(A, "turn", [("1", 1, unit(1))])
    other = np.ones(DIM + 1, np.float32)
    with pytest.raises(EmbedderMismatch, match="rebuild"):
        store.upsert(A, "turn", [("2", 2, unit(1)), ("3", 3, other)])
    with pytest.raises(EmbedderMismatch, match="rebuild"):
        store.search([A], "turn", other, 1)
    assert ids(store, [A], unit(1)) == ["1"]


def test_a_deleted_point_is_gone_in_its_scope_only(store: VectorStore) -> None:
    for scope in (A, B):
        store.upsert(scope, "turn", [("1", 1, unit(1)), ("2", 2, unit(1, 1)), ("3", 3, unit(1, 2))])
    store.upsert(A, "slot", [("1", 1, unit(1))])
    store.delete(A, ["1", "never there"])
    store.delete(A, [])
    assert ids(store, [A], unit(1)) == ["2", "3"]
    assert ids(store, [A], unit(1), "slot") == []
    assert ids(store, [B], unit(1)) == ["1", "2", "3"]
    store.upsert(A, "turn", [("1", 1, unit(1))])
    assert ids(store, [A], unit(1)) == ["1", "2", "3"]


def test_flush_tells_from_where_to_fill_on(store: VectorStore) -> None:
    assert store.next_offset == 0
    store.flush(42)
    assert store.next_offset == 42


def test_names_in_any_script(store: VectorStore) -> None:
    store.upsert("租户/user:王芳 😀", "turn", [("一", 1, unit(1))])
    assert ids(store, ["租户/user:王芳 😀"], unit(1)) == ["一"]
    assert ids(store, ["租户/user:王芳"], unit(1)) == []


def test_a_closed_store_says_so(store: VectorStore) -> None:
    store.close()
    store.close()
    with pytest.raises(Closed):
        store.search([A], "turn", unit(1), 1)
    with pytest.raises(Closed):
        store.upsert(A, "turn", [("1", 1, unit(1))])
    with pytest.raises(Closed):
        store.delete(A, ["1"])
    with pytest.raises(Closed):
        store.flush(1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "scan"])
def test_all_stores_answer_alike(kind: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(7)
    vectors = generator.standard_normal((300, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    points = [(str(at), at, vector) for at, vector in enumerate(vectors)]
    scan = ScanVectors(DIM)
    with opened(kind, tmp_path) as store:
        for one in (store, scan):
            one.upsert(A, "turn", points)
        for wanted in vectors[:10]:
            left, right = (one.search([A], "turn", wanted, 20) for one in (store, scan))
            assert {hit.point_id: hit.score for hit in left} == pytest.approx(
                {hit.point_id: hit.score for hit in right}, abs=2e-4
            )


def test_a_scan_reads_what_came_since_it_last_looked() -> None:
    held: list[tuple[str, int, NDArray[np.float32]]] = [("0", 0, unit(1))]
    asked: list[tuple[str, str, int]] = []

    def read(scope: str, kind: str, after: int) -> list[tuple[str, int, NDArray[np.float32]]]:
        asked.append((scope, kind, after))
        return [point for point in held if point[1] > after]

    scan = ScanVectors(DIM, read)
    assert ids(scan, [A], unit(1)) == ["0"]
    held.append(("1", 9, unit(1)))
    assert ids(scan, [A], unit(1)) == ["0", "1"]
    assert asked == [(A, "turn", -1), (A, "turn", 0)]


def test_a_scan_keeps_within_its_bound_of_memory() -> None:
    reads: list[str] = []

    def read(scope: str, kind: str, after: int) -> list[tuple[str, int, NDArray[np.float32]]]:
        reads.append(scope)
        return [(str(at), at, unit(1, at)) for at in range(64) if at > after]

    scan = ScanVectors(DIM, read, max_bytes=64 * DIM * 4)
    for scope in (A, B, A):
        assert len(ids(scan, [scope], unit(1), limit=100)) == 64
    assert reads == [A, B, A]
