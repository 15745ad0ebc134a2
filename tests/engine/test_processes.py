"""Several real processes with a Memory on one folder: killed, stopped, taking over; what was acknowledged is there, decided
once, and everybody reads what they wrote."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.worker import PLACES, TURNS, opened, words
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import CHANGES, DYNAMICS
from support.homes import home_of

TESTS = Path(__file__).parents[1]
Worker = subprocess.Popen[str]
Start = Callable[[str, str], Worker]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "my memory 记忆"


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Starts a worker; whatever still runs at the end is killed."""
    started: list[Worker] = []

    def start(job: str, name: str) -> Worker:
        worker = subprocess.Popen(
            [sys.executable, "-W", "error", str(TESTS / "engine" / "worker.py"), job, str(home), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
        )
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.kill()
        worker.communicate()


def heard(worker: Worker) -> str:
    assert worker.stdout is not None
    line = worker.stdout.readline().strip()
    if not line:
        worker.kill()
        raise AssertionError(worker.communicate()[1])
    return line


def tell(worker: Worker) -> None:
    assert worker.stdin is not None
    worker.stdin.write("go\n")
    worker.stdin.flush()


def current_home(memory: object, user: str) -> list[str]:
    return [slot.value.shown for form in memory.forms(user_id=user) for slot in form.slots if slot.slot == "home"]  # type: ignore[attr-defined]


def test_killed_at_any_moment_all_that_was_acknowledged_is_there_and_decided_once(home: Path, start: Start) -> None:
    acknowledged: dict[str, int] = {}
    for number, (turns, delay) in enumerate([(1, 0.0), (11, 0.2), (24, 0.05)]):
        worker = start("add-forever", f"w{number}")
        told = [heard(worker) for _ in range(turns)]
        time.sleep(delay)
        worker.kill()
        rest, errors = worker.communicate()
        assert errors == ""
        acknowledged[f"w{number}"] = len(told) + rest.count("\n")
    with opened(str(home)) as memory:
        assert memory.process() == 0
        log = home_of(memory).log
        inputs = [Envelope.from_bytes(stored.value).id for stored in log.read(DYNAMICS)]
        for name, count in acknowledged.items():
            mine = [event_id for event_id in inputs if event_id.startswith(f"{name}-")]
            assert mine == [f"{name}-{number}" for number in range(len(mine))]
            assert len(mine) >= count
            assert current_home(memory, name) == [PLACES[(len(mine) - 1) % len(PLACES)]]
        decided = [Envelope.from_bytes(stored.value).causationid for stored in log.read(CHANGES)]
        assert sorted(map(str, decided)) == sorted(inputs)
        report = memory.verify(decide=True)
        assert (report.equal, report.drift) == (True, []), report


def test_a_receipt_means_that_the_turn_survives_a_kill_at_once(home: Path, start: Start) -> None:
    for number in range(2):
        worker = start("add-only", f"w{number}")
        receipt = heard(worker)
        worker.kill()
        worker.wait()
        with opened(str(home)) as memory:
            assert [hit.text for hit in memory.search("word0", user_id=f"w{number}", limit=1)] != []
            assert home_of(memory).store.turn(f"default/user:w{number}", receipt) is not None


def test_processes_that_add_and_read_at_once(home: Path, start: Start) -> None:
    names = ("a", "b", "c")
    workers = [start("add-and-read", name) for name in names]
    owners = [heard(worker) for worker in workers]
    assert sorted(owners) == ["owner False"] * (len(names) - 1) + ["owner True"]
    for worker in workers:
        tell(worker)
    for worker in workers:
        _, errors = worker.communicate()
        assert (worker.returncode, errors) == (0, "")
    with opened(str(home)) as memory:
        # Each has read its own scope; the last turn of the shared one may still wait.
        memory.process()
        stats = memory.stats()
        assert (stats["dynamics"], stats["changes"], stats["behind"]) == (2 * TURNS * len(names), 2 * TURNS * len(names), 0)
        for name in names:
            turns = home_of(memory).store.turns(f"default/user:{name}")
            assert [turn.content for turn in turns] == [words(number) for number in range(TURNS)]
        assert memory.verify().equal


def test_another_process_takes_over_when_the_owner_is_killed(home: Path, start: Start) -> None:
    owner = start("own", "a")
    assert heard(owner) == "True"
    waiting = start("add-only", "b")
    assert heard(waiting) == "b-0"
    with opened(str(home)) as reader:
        assert reader.forms(user_id="b").behind == 0
        assert not home_of(reader)._owner
        owner.kill()
        owner.wait()
        tell(waiting)
        assert heard(waiting) == "b-1"
        # Nobody reads: whoever has something waiting takes over.
        store = home_of(reader).store
        deadline = time.monotonic() + 30
        while store.cursor().applied_input < 10 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert store.cursor().applied_input == 10
        assert not home_of(reader)._owner
    waiting.kill()
    waiting.wait()
    with opened(str(home)) as memory:
        assert current_home(memory, "b") == [PLACES[1]]
        assert home_of(memory)._owner
        assert memory.verify().equal


def test_what_the_owner_embedded_is_found_by_others(home: Path, start: Start) -> None:
    owner = start("own", "a")
    assert heard(owner) == "True"
    with opened(str(home)) as reader:
        hits = reader.search("lucky word5", user_id="a")
        assert words(5) in [hit.text for hit in hits]
        assert not home_of(reader)._owner
        index = home_of(reader).finding.vectors(owner=False)
        assert index is not None
        [vector] = home_of(reader).finding.embedder().embed([words(5)])  # type: ignore[union-attr]
        [nearest] = index.search(["default/user:a"], "turn", vector, 1)
        assert (nearest.point_id, round(nearest.score, 2)) == ("5", 1.0)


if hasattr(signal, "SIGSTOP"):  # a system that cannot stop a process has nothing to test here

    def test_an_owner_that_stands_still_holds_up_nobody(home: Path, start: Start) -> None:
        owner = start("own", "a")
        assert heard(owner) == "True"
        with opened(str(home), read_timeout=0.5) as reader:
            owner.send_signal(signal.SIGSTOP)
            try:
                reader.add("I live in Oslo.", user_id="a")
                rows = reader.forms(user_id="a")
                assert rows.behind == 1
                assert rows != []
                assert "I live in Oslo." in [hit.text for hit in reader.search("Oslo", user_id="a", limit=20, kinds=["turn"])]
                assert reader.stats()["behind"] == 1
                assert reader.verify().equal
            finally:
                owner.send_signal(signal.SIGCONT)
        with opened(str(home), read_timeout=30) as reader:
            assert current_home(reader, "a") == ["Oslo"]
            assert not home_of(reader)._owner
