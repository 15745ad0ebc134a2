"""Many threads on one Memory, also while it is closed; and a Memory that nobody closes ends cleanly."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.worker import opened, words
from mnemolog import Memory
from mnemolog.processors.core.ports import Extraction, SeenTurn
from mnemolog.schemas.errors import Closed
from query.memory import HashingEmbedder
from support.homes import home_of

TESTS = Path(__file__).parents[1]


def run(*jobs: Callable[[], None]) -> list[BaseException]:
    """Runs the jobs at once; returns what they raised."""
    errors: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.parametrize("filed", [True, False])
def test_adds_reads_searches_and_processing_at_once(tmp_path: Path, filed: bool) -> None:
    with opened(str(tmp_path / "home")) if filed else Memory(embedder=HashingEmbedder()) as memory:

        def writer(user: int) -> Callable[[], None]:
            def write() -> None:
                for number in range(12):
                    memory.add(words(number), user_id=user, id=str(number))
                    if number % 4 == 3:
                        assert memory.forms(user_id=user).behind == 0

            return write

        def reader() -> None:
            for number in range(6):
                memory.search(f"word{number}", user_id=number % 3)
                memory.context("Where do I live?", user_id=number % 3)
                memory.timeline(user_id=number % 3, wait=False)
                memory.stats()

        def process() -> None:
            for _ in range(4):
                memory.process()
                memory.verify()

        assert run(*(writer(user) for user in range(4)), reader, reader, process) == []
        for user in range(4):
            assert [hit.text for hit in memory.search("word11", user_id=user, limit=1)] == [words(11)]
        stats = memory.stats()
        assert (stats["turns"], stats["changes"], stats["behind"]) == (48, 48, 0)
        assert memory.verify(decide=True).equal


def test_closed_while_others_use_it_every_call_ends_or_says_closed(tmp_path: Path) -> None:
    memory = opened(str(tmp_path / "home"))
    acknowledged: list[str] = []
    begun = threading.Event()

    def write() -> None:
        for number in range(10_000):
            acknowledged.extend(memory.add(words(number), user_id=1, id=str(number)).ids)
            begun.set()

    def read() -> None:
        for number in range(10_000):
            memory.search(f"word{number}", user_id=1)
            memory.forms(user_id=1, wait=number % 2 == 0)

    def process() -> None:
        for _ in range(10_000):
            memory.process()
            memory.summaries(user_id=1)

    def close() -> None:
        begun.wait(30)
        time.sleep(0.3)
        memory.close()

    errors = run(write, read, read, process, close)
    assert [type(error) for error in errors] == [Closed] * 4, errors
    with opened(str(tmp_path / "home")) as again:
        assert again.process() == 0
        assert again.stats()["dynamics"] >= len(acknowledged) > 0
        assert again.verify(decide=True).equal


class Slow:
    """An extractor whose model takes its time, and says when it was asked."""

    name = "slow/1"
    window = 1

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.answer = threading.Event()
        self.turns: list[str] = []

    def extract(self, turn: SeenTurn, window: object) -> Extraction:
        self.turns.append(turn.id)
        self.asked.release()
        assert self.answer.wait(30)
        return Extraction(candidates=[])


def test_closing_waits_for_the_turn_that_is_being_understood_and_no_longer(tmp_path: Path) -> None:
    slow = Slow()
    memory = Memory(tmp_path / "home", extractor=slow, embedder=False)
    for number in range(20):
        memory.add(words(number), user_id=1, id=str(number))
    closing = threading.Thread(target=memory.close)
    assert slow.asked.acquire(timeout=30)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    slow.answer.set()
    closing.join(30)
    assert not closing.is_alive()
    assert slow.turns == ["0"]
    with Memory(tmp_path / "home", extractor=slow, embedder=False) as again:
        # What was understood is not asked again.
        assert again.process() == 0
        assert slow.turns == [str(number) for number in range(20)]


def test_a_forgotten_memory_gives_the_folder_back_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    for home in (str(tmp_path / "home"), None):
        memory: Memory | None = Memory(home, embedder=HashingEmbedder())
        assert memory is not None
        memory.add("I live in Lisbon.", user_id=1)
        memory.search("Lisbon", user_id=1)
        gone = weakref.ref(home_of(memory))
        threads = list(home_of(memory)._threads)
        temporary = home_of(memory)._temporary
        memory = None
        deadline = time.monotonic() + 30
        while (gone() is not None or threads[0].is_alive()) and time.monotonic() < deadline:
            gc.collect()
            time.sleep(0.01)
        assert gone() is None
        assert not threads[0].is_alive()
        assert temporary is None or not temporary.exists()
    with opened(str(tmp_path / "home")) as again:
        again.process()
        assert home_of(again)._owner
    assert list((tmp_path / "temporary").iterdir()) == []


LEFT_OPEN = """
import sys
from mnemolog import Memory
from query.memory import HashingEmbedder
home = sys.argv[1] or None
kept = Memory(home, embedder=HashingEmbedder())
for number in range(int(sys.argv[2])):
    kept.add(f"I live in Lisbon {number}.", user_id=1)
if sys.argv[3] == "read":
    assert kept.search("Lisbon", user_id=1)
if sys.argv[3] == "raise":
    raise SystemExit("goodbye")
"""


@pytest.mark.parametrize(("filed", "turns", "then"), [(True, 40, ""), (False, 40, ""), (True, 3, "read"), (False, 3, "raise")])
def test_an_interpreter_that_ends_without_closing_ends_cleanly(tmp_path: Path, filed: bool, turns: int, then: str) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "dev",
            "-W",
            "error",
            "-c",
            LEFT_OPEN,
            str(tmp_path / "home") if filed else "",
            str(turns),
            then,
        ],
        env={**os.environ, "PYTHONPATH": str(TESTS), "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ("goodbye\n" if then == "raise" else "")
    assert done.returncode == (1 if then == "raise" else 0)
    assert list(temporary.iterdir()) == []
    if filed:
        with opened(str(tmp_path / "home")) as memory:
            assert memory.process() == 0
            assert memory.stats()["turns"] == turns
            assert memory.verify().equal


FORK = """
import os, sys
from engine.worker import opened, words
from support.homes import home_of

with opened(sys.argv[1]) as memory:
    memory.add(words(1), user_id=1)
    assert memory.search("word1", user_id=1)
    child = os.fork()
    if child == 0:
        memory.add(words(2), user_id=1)
        memory.add(words(3), user_id=2)
        rows = memory.forms(user_id=2)
        assert rows and rows.behind == 0, rows.behind
        assert [hit.text for hit in memory.search("word2", user_id=1, limit=20)].count(words(2)) == 1
        assert not home_of(memory)._owner
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    memory.add(words(4), user_id=1)
    assert memory.process() == 0
    assert home_of(memory)._owner
    assert memory.stats()["changes"] == 4
    assert memory.verify(decide=True).equal
print("done")
"""

if hasattr(os, "fork"):  # a system without fork has nothing to test

    def test_a_fork_shares_the_folder_and_nothing_else(tmp_path: Path) -> None:
        done = subprocess.run(
            # From 3.12 on Python warns of any fork beside threads; that it is safe here is what is tested.
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, str(tmp_path / "home")],
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


def test_a_question_right_after_a_turn_finds_it_by_its_vector(tmp_path: Path) -> None:
    with opened(str(tmp_path / "home")) as memory:
        for number in range(5):
            memory.add(words(number), user_id=1)
            memory.search("lucky", user_id=1)
            index = home_of(memory).finding.vectors(owner=True)
            assert index is not None
            [vector] = HashingEmbedder().embed([words(number)])
            assert [hit.point_id for hit in index.search(["default/user:1"], "turn", vector, 1)] == [str(number)]
