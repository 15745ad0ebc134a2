"""What only the store on disk has: durability, one process at a time, one embedder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mnemolog.adapters.vectors.edge import EdgeVectors
from mnemolog.processors.core.ports import VectorHit
from mnemolog.schemas.errors import Busy, EmbedderMismatch, NotOurs

DIM = 8
SCOPE = "acme/user:1"


def points(start: int, end: int) -> list[tuple[str, int, np.ndarray]]:
    made = []
    for at in range(start, end):
        vector = np.random.default_rng(at).standard_normal(DIM).astype(np.float32)
        made.append((str(at), at, vector / np.linalg.norm(vector)))
    return made


def hits(store: EdgeVectors) -> list[VectorHit]:
    return store.search([SCOPE], "turn", points(0, 1)[0][2], 1000)


def test_what_was_flushed_is_there_again(tmp_path: Path) -> None:
    store = EdgeVectors(tmp_path / "v", DIM, "one/8")
    store.upsert(SCOPE, "turn", points(0, 100))
    store.flush(100)
    before = hits(store)
    store.close()
    store = EdgeVectors(tmp_path / "v", DIM, "one/8")
    assert store.next_offset == 100
    assert hits(store) == before
    store.close()


def test_another_embedder_is_refused_by_name(tmp_path: Path) -> None:
    EdgeVectors(tmp_path / "v", DIM, "one/8").close()
    for dim, name in ((DIM, "two/8"), (DIM * 2, "one/8")):
        with pytest.raises(EmbedderMismatch, match=r"one/8.*rebuild"):
            EdgeVectors(tmp_path / "v", dim, name)
    store = EdgeVectors(tmp_path / "v", DIM, "one/8")
    store.close()
    shutil.rmtree(tmp_path / "v")
    EdgeVectors(tmp_path / "v", DIM, "two/8").close()


def test_a_second_owner_is_told(tmp_path: Path) -> None:
    store = EdgeVectors(tmp_path / "v", DIM, "one/8")
    with pytest.raises(Busy, match="another process"):
        EdgeVectors(tmp_path / "v", DIM, "one/8")
    store.close()
    EdgeVectors(tmp_path / "v", DIM, "one/8").close()


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"meow")
    with pytest.raises(NotOurs, match=r"cat\.jpg"):
        EdgeVectors(tmp_path / "photos", DIM, "one/8")
    with pytest.raises(NotOurs):
        EdgeVectors(tmp_path / "photos" / "cat.jpg", DIM, "one/8")
    assert (tmp_path / "photos" / "cat.jpg").read_bytes() == b"meow"
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.jpg"]


@pytest.mark.parametrize("damage", ["meta.json", "next_offset", "shard"])
def test_a_damaged_index_is_made_anew_from_the_start(tmp_path: Path, damage: str) -> None:
    store = EdgeVectors(tmp_path / "v", DIM, "one/8")
    store.upsert(SCOPE, "turn", points(0, 10))
    store.flush(10)
    store.close()
    if damage == "shard":
        for path in (tmp_path / "v" / "shard").rglob("*"):
            if path.is_file():
                path.write_bytes(b"")
    else:
        (tmp_path / "v" / damage).write_text("x")
    store = EdgeVectors(tmp_path / "v", DIM, "one/8")
    assert store.next_offset == 0
    assert hits(store) == []
    store.upsert(SCOPE, "turn", points(0, 10))
    assert len(hits(store)) == 10
    store.close()


KILLED = """
import sys
sys.path.insert(0, {tests!r})
from test_edge import DIM, SCOPE, points
from mnemolog.adapters.vectors.edge import EdgeVectors
store = EdgeVectors({path!r}, DIM, "one/8")
store.upsert(SCOPE, "turn", points(0, 300))
store.flush(300)
store.upsert(SCOPE, "turn", points(300, 500))
print("ready", flush=True)
import time
time.sleep(60)
"""


@pytest.mark.parametrize("how", ["kill", "unflushed close"])
def test_after_a_crash_filling_on_from_next_offset_gives_the_same_hits(tmp_path: Path, how: str) -> None:
    path = tmp_path / "v"
    if how == "kill":
        code = KILLED.format(tests=str(Path(__file__).parent), path=str(path))
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        os.kill(process.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        process.wait()
        process.stdout.close()
    else:
        store = EdgeVectors(path, DIM, "one/8")
        store.upsert(SCOPE, "turn", points(0, 300))
        store.flush(300)
        store.upsert(SCOPE, "turn", points(300, 500))
        store.close()
    store = EdgeVectors(path, DIM, "one/8")
    assert store.next_offset == 300
    assert {hit.point_id for hit in hits(store)} >= {str(at) for at in range(300)}
    store.upsert(SCOPE, "turn", points(store.next_offset, 500))
    store.flush(500)
    recovered = hits(store)
    store.close()
    fresh = EdgeVectors(tmp_path / "fresh", DIM, "one/8")
    fresh.upsert(SCOPE, "turn", points(0, 500))
    assert recovered == hits(fresh)
    assert len(recovered) == 500
    fresh.close()


def test_around_is_the_nearest_where_no_scores_are_equal(tmp_path: Path) -> None:
    store = EdgeVectors(tmp_path / "v", DIM, "one/8")
    store.upsert(SCOPE, "turn", points(0, 100))
    vector = points(0, 1)[0][2]
    assert store.around([SCOPE], "turn", vector, 10) == store.search([SCOPE], "turn", vector, 10)
    assert store.around([SCOPE], "turn", vector, 1000) == store.search([SCOPE], "turn", vector, 1000)
    assert store.around([], "turn", vector, 10) == store.around([SCOPE], "turn", vector, 0) == []
    same = [(str(at), at, vector) for at in range(200, 300)]
    store.upsert(SCOPE, "turn", same)
    found = store.around([SCOPE], "turn", vector, 50)
    assert [hit.score for hit in found] == [hit.score for hit in store.search([SCOPE], "turn", vector, 50)]
    store.close()
