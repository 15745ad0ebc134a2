"""On servers the vectors of another embedder are filled beside those that answer, and take their place at once, whole, or not
at all; nobody is ever answered from a mixture."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from qdrant_client import QdrantClient

import mnemolog.processors.pipeline.live_vectors as live_vectors
from face.test_rebuild_vectors import Counted
from mnemolog import Memory, Servers
from mnemolog.adapters.vectors.qdrant import QdrantVectors
from mnemolog.processors.pipeline.indexing import DatabaseVectors, LiveIndexer
from mnemolog.processors.pipeline.installation import Installation
from mnemolog.processors.pipeline.live_vectors import VECTORS, Embedders, LiveVectors, Named
from mnemolog.projections.tables import store_meta, vectors
from mnemolog.schemas.errors import Busy, EmbedderMismatch, LogError
from support.pipeline import Running
from support.services import Services

OLD, NEW = "letters/1", "letters/2"
TOWNS = ("Lisbon", "Porto", "Braga", "Faro", "Evora")
USERS = ("ann", "bob", "cy", "dee", "eve", "fay")
TURNS = len(USERS) * len(TOWNS)
ASKED = itertools.count()


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Everybody looks each time whose vectors answer, and keeps its cache to the test."""
    monkeypatch.setattr("mnemolog.face.partitions.LOOK_SECONDS", 0.0)
    monkeypatch.setattr("mnemolog.processors.pipeline.indexing.LOOK_SECONDS", 0.0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def servers(services: Services, prefix: str) -> Servers:
    return Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=2)


@pytest.fixture
def installation(servers: Servers) -> Iterator[Installation]:
    with closing(Installation(servers)) as made:
        assert {made.number_of(f"default/user:{user}") for user in USERS} == {0, 1}
        yield made


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, Counted]:
    """Two embedders that come along, by their names; the first one is the default."""
    made = {OLD: Counted(OLD, 32), NEW: Counted(NEW, 48)}
    monkeypatch.setattr(live_vectors, "embedder_named", made.get)
    monkeypatch.setattr(live_vectors, "EMBEDDERS", {"use": OLD, "e5": NEW})
    return made


@pytest.fixture
def qdrant(monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantClient]:
    """What answers at every address."""
    engine = QdrantClient(":memory:")
    end = engine.close
    monkeypatch.setattr(engine, "close", lambda: None)
    monkeypatch.setattr("mnemolog.adapters.vectors.qdrant.connect", lambda _url: engine)
    yield engine
    end()


def fill(memory: Memory, town: str = "") -> None:
    for user in USERS:
        for name in (town,) if town else TOWNS:
            memory.add(f"I have been to {name} in spring.", user_id=user)
    memory.process()


def routes(memory: Memory, user: str = "ann", town: str = "Porto") -> set[str]:
    """Each time of another question: the vector of one that was asked before is kept."""
    question = f"I have been to {town} in spring" + "!" * (next(ASKED) % 9)
    hits = memory.search(question, user_id=user, time_budget=10.0)
    assert not hits.missing
    return {route for hit in hits for route in hit.routes}


def reach(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def answer(memory: Memory) -> None:
    """Of both partitions, once their vectors are in the index of this process."""
    for user in USERS:
        reach(lambda user=user: "vectors" in routes(memory, user))  # type: ignore[misc]


def cached(installation: Installation) -> dict[str, int]:
    """How many vectors there are, by embedder."""
    found: dict[str, int] = {}
    for number in range(installation.partitions):
        with installation.partition(number).store.reading() as (connection, _):
            query = sa.select(vectors.c.embedder, sa.func.count()).group_by(vectors.c.embedder)
            for name, count in connection.execute(query):
                found[name] = found.get(name, 0) + count
    return found


def step_all(installation: Installation, embedders: Embedders) -> None:
    """The vectors of all partitions, by a worker that then ends."""
    for number in range(installation.partitions):
        indexer = LiveIndexer(installation, installation.partition(number), embedders)
        while indexer.step():
            pass


# -- in the database ---------------------------------------------------------------------------------------------------


def test_another_embedder_is_filled_beside_and_takes_the_place_at_once(installation: Installation, servers: Servers) -> None:
    old, new = Counted(OLD, 32), Counted(NEW, 48)
    worker = Running(installation, embedder=old)
    with Memory(servers=servers, embedder=old) as memory, Memory(servers=servers, embedder=old) as reader:
        fill(memory)
        answer(reader)
        seen: list[tuple[int, int]] = []

        def watch(done: int, end: int) -> None:
            seen.append((done, end))
            assert "vectors" in routes(reader), "the old ones answer meanwhile"
            with pytest.raises(EmbedderMismatch, match=OLD):
                Memory(servers=servers, embedder=new)

        report = memory.rebuild_vectors(new, watch=watch)
        assert seen[-1][0] == seen[-1][1] > 0
        assert (report.embedder, report.replaced, report.resumed) == (NEW, OLD, False)
        assert (report.turns, report.computed, report.checked) == (TURNS, TURNS, TURNS)
        answer(memory)
        refused = r"'letters/1'.*mnemolog rebuild vectors"
        with pytest.raises(EmbedderMismatch, match=refused):
            routes(reader)
        with pytest.raises(EmbedderMismatch, match=refused):
            Memory(servers=servers, embedder=old)
        with pytest.raises(EmbedderMismatch, match=refused):
            reach(lambda: bool(worker._failed) and worker.close() is None)
        with Running(installation, embedder=new):
            fill(memory, "Sintra")
            reach(lambda: "vectors" in routes(memory, town="Sintra"))
        assert cached(installation) == {OLD: TURNS, NEW: TURNS + len(USERS)}
        assert memory.drop_old_vectors() == [OLD]
        assert memory.drop_old_vectors() == []
        assert cached(installation) == {NEW: TURNS + len(USERS)}
        answer(memory)


def test_who_was_given_no_embedder_follows_and_nothing_is_missed_between(
    installation: Installation, servers: Servers, known: dict[str, Counted]
) -> None:
    embedders = Embedders("live")
    with Memory(servers=servers) as memory, Running(installation):
        fill(memory)
        worker = {
            number: LiveIndexer(installation, installation.partition(number), embedders)
            for number in range(installation.partitions)
        }

        def work() -> None:
            for indexer in worker.values():
                while indexer.step():
                    pass

        work()
        answer(memory)
        assert LiveVectors(installation).named() == Named(OLD, "")
        assert cached(installation) == {OLD: TURNS}

        def watch(done: int, end: int) -> None:
            if cached(installation)[OLD] == TURNS:
                work()  # sees what is being filled
                fill(memory, "Sintra")
                work()
                counts = cached(installation)
                assert counts[OLD] == TURNS + len(USERS)
                assert counts[NEW] >= len(USERS), "what came meanwhile has a vector of either"

        asked = known[NEW].texts
        report = memory.rebuild_vectors(known[NEW], watch=watch)
        assert (report.turns, report.checked) == (TURNS + len(USERS), TURNS + len(USERS))
        assert report.computed == TURNS
        assert known[NEW].texts == asked + TURNS + len(USERS), "nothing was computed twice"
        fill(memory, "Tavira")
        before = known[OLD].texts
        work()
        assert known[OLD].texts == before
        assert cached(installation) == {OLD: TURNS + len(USERS), NEW: TURNS + 2 * len(USERS)}
        with Memory(servers=servers) as other:
            reach(lambda: "vectors" in routes(other, town="Tavira"))
            other.rebuild_vectors(known[OLD])
            answer(other)


def test_a_default_reader_follows_a_switch_that_somebody_else_made(
    installation: Installation, servers: Servers, known: dict[str, Counted]
) -> None:
    with Memory(servers=servers) as reader, Memory(servers=servers) as operator, Running(installation, embedder="live"):
        fill(operator)
        answer(reader)
        operator.rebuild_vectors(known[NEW])
        before, asked = known[OLD].texts, known[NEW].texts
        answer(reader)
        assert known[OLD].texts == before
        assert known[NEW].texts > asked


CHILD = """
import os, sys, threading
sys.path.insert(0, {tests!r})
from face.test_rebuild_vectors import Counted
from mnemolog import Memory, Servers

class Stuck(Counted):
    def embed(self, texts):
        if self.texts:
            print("second", flush=True)
            threading.Event().wait()
        return super().embed(texts)

with Memory(servers=Servers(**{servers!r}), embedder=False) as memory:
    memory.rebuild_vectors(Stuck({new!r}, 48))
"""


def test_a_run_that_was_killed_is_gone_on_with_partition_by_partition(installation: Installation, servers: Servers) -> None:
    old, new = Counted(OLD, 32), Counted(NEW, 48)
    with Running(installation), Memory(servers=servers, embedder=old) as memory:
        fill(memory)
        step_all(installation, Embedders(old))
        answer(memory)
        given = {name: getattr(servers, name) for name in ("kafka", "database", "prefix", "partitions")}
        program = CHILD.format(tests=str(Path(__file__).resolve().parent.parent), servers=given, new=NEW)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOLOG_")}
        with subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True) as child:
            try:
                assert child.stdout is not None
                assert child.stdout.readline() == "second\n"
                with pytest.raises(Busy):
                    memory.rebuild_vectors(new)
            finally:
                child.send_signal(signal.SIGKILL)
        first = installation.partition(0).store.stats()["turns"]
        assert 0 < first < TURNS
        assert LiveVectors(installation).named() == Named(OLD, NEW)
        assert cached(installation) == {OLD: TURNS, NEW: first}
        assert DatabaseVectors(installation.partition(0).store, NEW).next_offset > 0
        answer(memory)
        reach(lambda: _free(installation))
        report = memory.rebuild_vectors(new)
        assert (report.resumed, report.computed, report.turns, report.checked) == (True, TURNS - first, TURNS - first, TURNS)
        answer(memory)
        with pytest.raises(EmbedderMismatch):
            reach(lambda: _stopped(installation, old))


def _free(installation: Installation) -> bool:
    """Whether the database has noticed that the process is gone."""
    try:
        with installation.partition(0).store.alone("rebuild"):
            return True
    except Busy:
        return False


def _stopped(installation: Installation, embedder: Counted) -> bool:
    LiveIndexer(installation, installation.partition(0), Embedders(embedder)).step()
    return False


def test_a_vector_that_is_missing_refuses_the_switch_and_is_counted(installation: Installation, servers: Servers) -> None:
    old, new = Counted(OLD, 32), Counted(NEW, 48)
    with Memory(servers=servers, embedder=old) as memory, Running(installation):
        fill(memory)
        step_all(installation, Embedders(old))

        def lose(done: int, end: int) -> None:
            store = installation.partition(1).store
            with store.writing() as (connection, _):
                found = connection.execute(sa.select(vectors.c.content_key).where(vectors.c.embedder == NEW)).scalars().all()
                connection.execute(sa.delete(vectors).where(vectors.c.embedder == NEW, vectors.c.content_key.in_(found[:2])))

        second = installation.partition(1).store.stats()["turns"]
        with pytest.raises(LogError, match=rf"partition 1: \d+ of {second} turns have no vector.*run it again"):
            memory.rebuild_vectors(new, watch=lose)
        assert LiveVectors(installation).named() == Named(OLD, NEW)
        answer(memory)
        report = memory.rebuild_vectors(new)
        assert (report.resumed, report.checked) == (True, TURNS)
        assert 0 < report.computed < TURNS
        answer(memory)


def test_a_package_that_the_new_embedder_needs_is_missed_by_nobody_but_who_fills(
    installation: Installation, servers: Servers, known: dict[str, Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_texts: object) -> None:
        raise ModuleNotFoundError("No module named 'letters'")

    monkeypatch.setattr(known[NEW], "embed", fail)
    with Memory(servers=servers) as memory, Running(installation):
        indexer = LiveIndexer(installation, installation.partition(0), Embedders("live"))
        indexer.step()
        fill(memory)
        with pytest.raises(ModuleNotFoundError):
            memory.rebuild_vectors(known[NEW])
        assert LiveVectors(installation).named() == Named(OLD, NEW)
        while indexer.step():
            pass
        assert cached(installation) == {OLD: installation.partition(0).store.stats()["turns"]}
        step_all(installation, Embedders("live"))
        answer(memory)


def test_the_same_embedder_fills_what_is_missing(installation: Installation, servers: Servers) -> None:
    old = Counted(OLD, 32)
    with Memory(servers=servers, embedder=old) as memory, Running(installation):
        fill(memory)
        step_all(installation, Embedders(old))
        for number in range(installation.partitions):
            with installation.partition(number).store.writing() as (connection, _):
                connection.execute(sa.delete(vectors))
        report = memory.rebuild_vectors()
        assert (report.embedder, report.replaced, report.computed) == (OLD, OLD, TURNS)
        assert LiveVectors(installation).named() == Named(OLD, "")
        assert memory.rebuild_vectors().computed == 0


def test_an_installation_that_names_none_goes_on_with_the_one_it_has(installation: Installation, servers: Servers) -> None:
    with installation.partition(1).store.writing() as (connection, _):
        connection.execute(sa.insert(store_meta), [{"name": VECTORS + OLD, "value": "7"}])
    live = LiveVectors(installation)
    assert live.named() == Named(OLD, "")
    with pytest.raises(EmbedderMismatch, match=OLD):
        Memory(servers=servers, embedder=Counted(NEW))
    with pytest.raises(EmbedderMismatch, match="does not come along"):
        Memory(servers=servers)
    with pytest.raises(EmbedderMismatch, match="does not come along"):
        LiveIndexer(installation, installation.partition(1), Embedders("live")).step()
    with pytest.raises(EmbedderMismatch, match=OLD):
        LiveIndexer(installation, installation.partition(0), Embedders(Counted(NEW))).step()
    assert live.claim(NEW) == Named(OLD, "")


# -- on a Qdrant server ------------------------------------------------------------------------------------------------


def test_another_collection_is_filled_beside_and_never_mixed(services: Services, prefix: str, qdrant: QdrantClient) -> None:
    old, new = Counted(OLD, 32), Counted(NEW, 32)
    servers = Servers(
        kafka=services.kafka, database=services.database, prefix=prefix, partitions=2, qdrant="http://127.0.0.1:6333"
    )

    def collections() -> dict[str, int]:
        return {item.name: qdrant.count(item.name).count for item in qdrant.get_collections().collections}

    with (
        closing(Installation(servers)) as installation,
        Running(installation),
        Memory(servers=servers, embedder=old) as memory,
        Memory(servers=servers, embedder=old) as reader,
    ):
        fill(memory)
        step_all(installation, Embedders(old))
        places = installation.partitions
        assert collections() == {f"{prefix}mnemolog": TURNS + places}
        answer(reader)

        def end(done: int, _end: int) -> None:
            assert "vectors" in routes(reader)
            raise RuntimeError("out of luck")

        with pytest.raises(RuntimeError, match="out of luck"):
            memory.rebuild_vectors(new, watch=end)
        answer(reader)
        (beside,) = collections().keys() - {f"{prefix}mnemolog"}
        report = memory.rebuild_vectors(new)
        assert (report.resumed, report.checked, report.replaced) == (True, TURNS, OLD)
        assert 0 < report.computed <= TURNS
        assert collections() == {f"{prefix}mnemolog": TURNS + places, beside: TURNS + places}
        answer(memory)
        with pytest.raises(EmbedderMismatch, match="mnemolog rebuild vectors"):
            routes(reader)
        fill(memory, "Sintra")
        step_all(installation, Embedders(new))
        assert "vectors" in routes(memory, town="Sintra")
        assert collections() == {f"{prefix}mnemolog": TURNS + places, beside: TURNS + len(USERS) + places}
        other = f"{prefix}mnemolog-of-somebody-else"
        QdrantVectors(qdrant, other, 8, "e/1")
        assert memory.drop_old_vectors() == [OLD]
        assert collections().keys() == {beside, other}
        answer(memory)


def test_a_point_that_is_missing_refuses_the_switch_and_is_counted(
    services: Services, prefix: str, qdrant: QdrantClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = Counted(OLD, 32), Counted(NEW, 48)
    servers = Servers(
        kafka=services.kafka, database=services.database, prefix=prefix, partitions=1, qdrant="http://127.0.0.1:6333"
    )
    with closing(Installation(servers)) as installation, Running(installation), Memory(servers=servers, embedder=old) as memory:
        fill(memory)
        step_all(installation, Embedders(old))
        whole = QdrantVectors.upsert
        with monkeypatch.context() as patch:
            patch.setattr(QdrantVectors, "upsert", lambda self, scope, kind, points: whole(self, scope, kind, points[1:]))
            with pytest.raises(LogError, match=rf"partition 0: {len(USERS)} of {TURNS} turns have no vector"):
                memory.rebuild_vectors(new)
        answer(memory)
        report = memory.rebuild_vectors(new)
        assert (report.resumed, report.computed, report.checked) == (True, 0, TURNS)
        answer(memory)
