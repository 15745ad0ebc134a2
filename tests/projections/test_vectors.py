"""The vector index beside the read models: whoever projects, whoever embeds, whoever answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException

from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.adapters.vectors.edge import EdgeVectors
from mnemolog.adapters.vectors.qdrant import QdrantVectors
from mnemolog.adapters.vectors.scan import ScanVectors
from mnemolog.processors.core.markers import mark_injected
from mnemolog.processors.core.ports import VectorStore
from mnemolog.projections.live import LiveReader
from mnemolog.projections.parked import Parked, note_parked
from mnemolog.projections.projector import DecidedInput, Projector
from mnemolog.projections.store import Store
from mnemolog.projections.vectors import FLUSH_EVERY, TURN, VectorIndexer, read_points
from mnemolog.query.recall import Recall
from mnemolog.replay.rebuild import rebuild
from mnemolog.schemas import changes as ch
from mnemolog.schemas.errors import Unavailable
from mnemolog.schemas.inputs import ErasureRequested, RetractionRequested
from query.memory import HashingEmbedder
from replay.hand import OTHER, SCOPE, Writer, project
from replay.logged import record

Open = Callable[[], Store]


class CountingEmbedder(HashingEmbedder):
    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        return super().embed(texts)


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same store again and again, each time as another process would."""
    stores: list[Store] = []
    server = request.getfixturevalue("services").database if request.param == "postgres" else ""
    schema = request.getfixturevalue("prefix") + "mnemolog_p3" if server else None

    def again() -> Store:
        stores.append(Store(server or tmp_path / "memory.sqlite", schema=schema))
        return stores[-1]

    yield again
    for store in stores:
        store.close()


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


def story(turns: int) -> Writer:
    writer = Writer()
    for number in range(turns):
        writer.add(scope=OTHER if number % 3 == 2 else SCOPE, content=f"word{number} word{number % 7} 词{number % 5}")
    return writer


def fill(indexer: VectorIndexer) -> int:
    done = 0
    while step := indexer.step():
        done += step
    return done


def nearest(vectors: VectorStore, text: str, limit: int = 5) -> list[str]:
    """Ids from both scopes; what is alike in score but for the last digits is alike."""
    [wanted] = HashingEmbedder().embed([text])
    hits = vectors.search([str(SCOPE), str(OTHER)], TURN, wanted, limit)
    return [hit.point_id for hit in sorted(hits, key=lambda hit: (-round(hit.score, 2), hit.point_id))]


# -- what a memory had put into a turn ----------------------------------------------------------------------------------


def test_what_a_memory_put_into_a_turn_is_not_embedded(opened: Open, embedder: CountingEmbedder) -> None:
    writer = Writer()
    block = mark_injected("The dentist wants to see you in three weeks.")
    for content in ("word one", f"{block}\nWhere is the flat?", block):
        writer.add(scope=SCOPE, content=content)
    project(Projector(opened()), writer.items)
    assert fill(VectorIndexer(opened(), embedder, ScanVectors(embedder.dim))) == 3
    assert sorted(embedder.embedded) == ["", "Where is the flat?", "word one"]
    scan = ScanVectors(embedder.dim, partial(read_points, opened(), embedder.name))
    assert nearest(scan, "Where is the flat?")[0] == "1"
    assert len(nearest(scan, "dentist")) == 3


def test_vectors_that_were_made_of_the_whole_turn_are_still_read(opened: Open, embedder: CountingEmbedder) -> None:
    writer = Writer()
    content = f"{mark_injected('The dentist wants to see you.')}\nWhere is the flat?"
    for text in (content, "word one"):
        writer.add(scope=SCOPE, content=text)
    project(Projector(opened()), writer.items)
    VectorIndexer(opened(), embedder, ScanVectors(embedder.dim)).vectors_of(str(SCOPE), [content, "word one"])
    reader = VectorIndexer(opened(), embedder, ScanVectors(embedder.dim), embeds=False)
    assert fill(reader) == 2
    scan = ScanVectors(embedder.dim, partial(read_points, opened(), embedder.name))
    assert sorted(nearest(scan, "dentist")) == ["0", "1"]


# -- whose rows, whose vectors -----------------------------------------------------------------------------------------


def test_one_projects_another_embeds_and_each_reader_has_an_index_of_its_own(
    opened: Open, embedder: CountingEmbedder, tmp_path: Path
) -> None:
    writer = story(150)
    projecting, embedding = opened(), opened()
    client = QdrantClient(":memory:")
    server = QdrantVectors(client, "vectors", embedder.dim, embedder.name, partition=3)
    at_the_server = VectorIndexer(embedding, embedder, server)
    shard = EdgeVectors(tmp_path / "reader", embedder.dim, embedder.name)
    reader = VectorIndexer(opened(), embedder, shard, embeds=False)
    scan = ScanVectors(embedder.dim, partial(read_points, opened(), embedder.name))
    assert fill(at_the_server) == fill(reader) == 0
    for start, end in ((0, 70), (70, 150)):
        project(Projector(projecting), writer.items[start:end], size=9)
        assert fill(at_the_server) == end - start
        assert fill(reader) == end - start
        assert server.next_offset == shard.next_offset == end
        for number in (0, 20, end - 1):
            text = writer.items[number].data.content  # type: ignore[attr-defined]
            assert nearest(server, text)[0] == str(number)
            assert nearest(server, text) == nearest(shard, text) == nearest(scan, text)
    assert sorted(embedder.embedded) == sorted(item.data.content for item in writer.items)  # type: ignore[attr-defined]
    shard.close()
    client.close()


def test_a_reader_that_does_not_embed_follows_the_one_that_does(opened: Open, embedder: CountingEmbedder) -> None:
    writer = story(12)
    project(Projector(opened()), writer.items)
    scan = ScanVectors(embedder.dim)
    reader = VectorIndexer(opened(), embedder, scan, embeds=False)
    embedding = VectorIndexer(opened(), embedder, ScanVectors(embedder.dim))
    assert fill(reader) == 0
    # The other scope's turns, 2, 5, 8 and 11, come first there; the reader goes no further than the first that has none.
    embedding.vectors_of(str(OTHER), [writer.items[number].data.content for number in (2, 5, 8, 11)])  # type: ignore[attr-defined]
    assert (fill(reader), reader.next_offset) == (0, 0)
    embedding.vectors_of(str(SCOPE), [writer.items[number].data.content for number in (0, 1, 3)])  # type: ignore[attr-defined]
    assert (fill(reader), reader.next_offset, scan.next_offset) == (4, 4, 4)
    assert fill(embedding) == 12
    assert (fill(reader), reader.next_offset) == (8, 12)
    assert len(embedder.embedded) == 12
    assert len(nearest(scan, "word", 100)) == 12


def test_an_index_that_is_lost_is_filled_again_without_embedding(opened: Open, embedder: CountingEmbedder) -> None:
    writer = story(FLUSH_EVERY + 90)
    project(Projector(opened()), writer.items, size=500)
    client = QdrantClient(":memory:")
    first = VectorIndexer(opened(), embedder, QdrantVectors(client, "vectors", embedder.dim, embedder.name))
    for _ in range(17):
        first.step()
    # Killed behind a flush: what came later is looked up again, not computed again.
    again = QdrantVectors(client, "vectors", embedder.dim, embedder.name)
    assert 0 < again.next_offset < first.next_offset
    count = len(embedder.embedded)
    fill(VectorIndexer(opened(), embedder, again))
    assert again.next_offset == len(embedder.embedded) == len(writer.items)
    client.delete_collection("vectors")
    anew = QdrantVectors(client, "vectors", embedder.dim, embedder.name)
    assert fill(VectorIndexer(opened(), embedder, anew)) == len(writer.items)
    assert len(embedder.embedded) == len(writer.items) > count
    client.close()


@pytest.mark.parametrize("when", range(6))
def test_a_server_that_goes_away_at_any_call_is_waited_for(
    opened: Open, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch, when: int
) -> None:
    writer = story(100)
    project(Projector(opened()), writer.items)
    client = QdrantClient(":memory:")
    index = QdrantVectors(client, "vectors", embedder.dim, embedder.name)
    indexer = VectorIndexer(opened(), embedder, index)
    calls = 0
    write = client.upsert

    def upsert(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == when + 1:
            raise ResponseHandlingException(httpx.ConnectError("refused"))
        return write(*args, **options)

    monkeypatch.setattr(client, "upsert", upsert)
    away = 0
    while index.next_offset < 100:
        try:
            indexer.step()
        except Unavailable:
            away += 1
    assert away == (when < 5)  # two scopes in each of two batches, and the place
    assert len(nearest(index, "word", 1000)) == len(embedder.embedded) == 100
    client.close()


# -- scopes that stand still -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restarted", [False, True])
def test_turns_of_a_scope_that_stood_still_are_indexed_when_it_goes_on(
    opened: Open, embedder: CountingEmbedder, restarted: bool
) -> None:
    writer = story(31)
    projecting = opened()
    client = QdrantClient(":memory:")
    waiting = [item for item in writer.items if item.scope == str(OTHER) and item.offset >= 5]
    note_parked(projecting, str(OTHER), Parked(5, "e5", "a bug", 1))
    project(Projector(projecting), [item for item in writer.items if item not in waiting])
    index = QdrantVectors(client, "vectors", embedder.dim, embedder.name)
    indexer = VectorIndexer(opened(), embedder, index)
    assert fill(indexer) == 31 - len(waiting)
    assert (indexer.next_offset, index.next_offset) == (31, 5)
    if restarted:
        index = QdrantVectors(client, "vectors", embedder.dim, embedder.name)
    # It catches up; the note goes when it has.
    late(projecting, waiting)
    note_parked(projecting, str(OTHER), None)
    fill(VectorIndexer(opened(), embedder, index) if restarted else indexer)
    assert index.next_offset == 31
    assert len(nearest(index, "word", 100)) == 31
    assert len(embedder.embedded) == 31
    client.close()


def test_turns_of_a_scope_that_stands_still_again_further_on_are_indexed_up_to_there(
    opened: Open, embedder: CountingEmbedder
) -> None:
    writer = story(31)
    projecting = opened()
    waiting = [item for item in writer.items if item.scope == str(OTHER) and item.offset >= 5]
    note_parked(projecting, str(OTHER), Parked(5, "e5", "a bug", 1))
    project(Projector(projecting), [item for item in writer.items if item not in waiting])
    scan = ScanVectors(embedder.dim)
    indexer = VectorIndexer(opened(), embedder, scan)
    fill(indexer)
    late(projecting, [item for item in waiting if item.offset < 20])
    note_parked(projecting, str(OTHER), Parked(20, "e20", "another bug", 1))
    assert fill(indexer) >= 5
    assert len(nearest(scan, "word", 100)) == 31 - sum(item.offset >= 20 for item in waiting)
    assert scan.next_offset == 20
    late(projecting, [item for item in waiting if item.offset >= 20])
    note_parked(projecting, str(OTHER), None)
    fill(indexer)
    assert len(nearest(scan, "word", 100)) == scan.next_offset == 31


def late(store: Store, items: Sequence[DecidedInput]) -> None:
    """Writes what stood still, behind what was written since."""
    with store.writing() as (connection, current):
        connection.execute(current.offsets.update().where(current.offsets.c.name == "changes").values(value=0))
    project(Projector(store), items)


# -- what is hidden ----------------------------------------------------------------------------------------------------


def test_what_is_hidden_before_it_is_indexed_is_never_embedded(opened: Open, embedder: CountingEmbedder) -> None:
    writer = story(3)
    writer.add(ch.Hidden(target="turn", target_id="e1"), data=RetractionRequested(target="turn", target_id="e1"))
    project(Projector(opened()), writer.items)
    scan = ScanVectors(embedder.dim)
    indexer = VectorIndexer(opened(), embedder, scan)
    assert fill(indexer) == 2
    assert sorted(nearest(scan, "word", 10)) == ["0", "2"]
    assert embedder.embedded == ["word0 word0 词0", "word2 word2 词2"]


@pytest.mark.parametrize("kind", ["edge", "scan", "qdrant"])
def test_what_is_hidden_after_it_was_indexed_is_no_answer(
    opened: Open, embedder: CountingEmbedder, tmp_path: Path, kind: str
) -> None:
    writer = Writer()
    for number in range(40):
        writer.add(content=f"The secret number {number} is cinnamon.")
    writer.add(content="Breakfast was porridge with cinnamon.")
    writer.add(content="The train leaves at noon.")
    store = opened()
    project(Projector(store), writer.items)
    client = QdrantClient(":memory:")
    vectors: VectorStore
    if kind == "edge":
        vectors = EdgeVectors(tmp_path / "shard", embedder.dim, embedder.name)
    elif kind == "qdrant":
        vectors = QdrantVectors(client, "vectors", embedder.dim, embedder.name)
    else:
        vectors = ScanVectors(embedder.dim, partial(read_points, opened(), embedder.name))
    indexer = VectorIndexer(opened(), embedder, ScanVectors(embedder.dim) if kind == "scan" else vectors)
    fill(indexer)
    recall = Recall(LiveReader(opened(), MemoryLog()), embedder, vectors)
    question = "secret number cinnamon"
    assert "secret" in recall.search([SCOPE], question, limit=5, kinds=["turn"])[0].text
    for number in range(40):
        writer.add(
            ch.Hidden(target="turn", target_id=f"e{number}"), data=RetractionRequested(target="turn", target_id=f"e{number}")
        )
    project(Projector(store), writer.items[42:])
    fill(indexer)
    for answering in (recall, Recall(LiveReader(opened(), MemoryLog()), embedder, vectors)):
        texts = [hit.text for hit in answering.search([SCOPE], question, limit=5, kinds=["turn"])]
        assert texts == ["Breakfast was porridge with cinnamon.", "The train leaves at noon."]
    writer.add(ch.Hidden(target="scope"), data=ErasureRequested())
    writer.add(content="Cinnamon again.")
    project(Projector(store), writer.items[82:])
    fill(indexer)
    assert [hit.text for hit in recall.search([SCOPE], question, limit=5, kinds=["turn"])] == ["Cinnamon again."]
    vectors.close()
    client.close()


# -- a rebuild ---------------------------------------------------------------------------------------------------------


def test_a_rebuild_leaves_the_index_right(embedder: CountingEmbedder, tmp_path: Path) -> None:
    log, writer = MemoryLog(), story(60)
    writer.add(ch.Hidden(target="turn", target_id="e1"), data=RetractionRequested(target="turn", target_id="e1"))
    record(log, writer.items)
    client = QdrantClient(":memory:")
    index = QdrantVectors(client, "vectors", embedder.dim, embedder.name)
    with Store(tmp_path / "memory.sqlite") as store, Store(tmp_path / "memory.sqlite") as beside:
        project(Projector(store), writer.items[:40])
        indexer = VectorIndexer(beside, embedder, index)
        assert fill(indexer) == 40
        before = nearest(index, "word3 词4", 100)
        project(Projector(store), writer.items[40:])
        assert rebuild(log, store).version == 2
        # The one beside goes on in the new tables, from the same place; offsets are the log's, whatever the version.
        assert fill(indexer) == 20
        assert index.next_offset == 60
        assert set(before) | {str(number) for number in range(40, 60)} == set(nearest(index, "word3 词4", 100))
        assert len(embedder.embedded) == 60
        found = Recall(LiveReader(beside, log), embedder, index).search([SCOPE], "word1", limit=50, kinds=["turn"])
        assert "word1 word1 词1" not in [hit.text for hit in found]
        assert len(found) == 39
    client.close()


def test_an_index_is_flushed_seldom_while_turns_keep_coming_and_at_the_end(opened: Open, embedder: CountingEmbedder) -> None:
    writer = story(30)
    store, seconds = opened(), [0.0]
    scan = ScanVectors(embedder.dim)
    indexer = VectorIndexer(store, embedder, scan, flush_seconds=5.0, clock=lambda: seconds[0])
    project(Projector(store), writer.items[:10])
    fill(indexer)
    # Found already, though not flushed.
    assert (indexer.next_offset, scan.next_offset) == (10, 0)
    assert nearest(scan, "word", 100)
    seconds[0] = 5.0
    fill(indexer)
    assert scan.next_offset == 10
    project(Projector(store), writer.items[10:])
    fill(indexer)
    assert (indexer.next_offset, scan.next_offset) == (30, 10)
    indexer.flush()
    assert scan.next_offset == 30
