"""Several real processes on one folder: nothing is lost, nothing is torn, one of them is elected, another takes over."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logs.worker import BATCH, BATCHES
from mnemolog.adapters.logs.folder import Folder, ProcessorLock, open_folder
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.schemas.codec import sha256_hex
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import CHANGES, DYNAMICS, OBSERVATIONS
from mnemolog.schemas.scope import Scope
from support.events import SCOPE, turns

TESTS = Path(__file__).parents[1]
Start = Callable[[str, str], "subprocess.Popen[str]"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "my memory 记忆"


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Starts a worker; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(job: str, name: str) -> subprocess.Popen[str]:
        worker = subprocess.Popen(
            [sys.executable, str(TESTS / "logs" / "worker.py"), job, str(home), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
        )
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.kill()
        worker.communicate()


def say(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline().strip()


def open_log(home: Path) -> SqliteLog:
    return SqliteLog(open_folder(home, create=False).database)


def scope_of(name: str) -> Scope:
    return Scope("acme", name)


def test_processes_that_append_at_once_lose_nothing(home: Path, start: Start) -> None:
    workers = {name: start("append", name) for name in ("a", "b", "c")}
    for worker in workers.values():
        out, _ = worker.communicate()
        assert worker.returncode == 0
        assert out.split() == [str(number) for number in range(BATCHES)]
    log = open_log(home)
    for name in workers:
        mine = [Envelope.from_bytes(stored.value).id for stored in log.read(DYNAMICS, scope=scope_of(name))]
        assert mine == [f"{name}-{number}-{item}" for number in range(BATCHES) for item in range(BATCH)]
    assert [stored.offset for stored in log.read(DYNAMICS)] == list(range(3 * BATCHES * BATCH))
    log.close()


def test_another_process_is_followed_as_it_appends(home: Path, start: Start) -> None:
    log = SqliteLog(open_folder(home).database)
    worker = start("append", "a")
    at = 0
    while at < BATCHES * BATCH:
        assert log.wait(DYNAMICS, at, 60)
        for stored in log.read(DYNAMICS, at):
            assert stored.offset == at
            at += 1
    worker.communicate()
    log.close()


@pytest.mark.parametrize("batches", [1, 7, 20])
def test_a_writer_killed_between_batches_leaves_whole_ones_and_all_that_it_acknowledged(
    home: Path, start: Start, batches: int
) -> None:
    survivor = start("append", "other")
    worker = start("append-forever", "killed")
    told = [say(worker) for _ in range(batches)]
    worker.kill()
    rest, _ = worker.communicate()
    # The last line may be cut off, where the kill came in the middle of printing it.
    acknowledged = len(told) + rest.count("\n")
    survivor.communicate()
    assert survivor.returncode == 0
    log = open_log(home)
    mine = [Envelope.from_bytes(stored.value).id for stored in log.read(DYNAMICS, scope=scope_of("killed"))]
    whole = len(mine) // BATCH
    assert mine == [f"killed-{number}-{item}" for number in range(whole) for item in range(BATCH)]
    assert acknowledged <= whole <= acknowledged + 1
    assert len(list(log.read(DYNAMICS, scope=scope_of("other")))) == BATCHES * BATCH
    # Whoever sends again what was not acknowledged has it once.
    placed = log.append_inputs(turns(BATCH, scope=scope_of("killed"), prefix=f"killed-{acknowledged}"))
    assert len({item.fresh for item in placed}) == 1
    assert len(list(log.read(DYNAMICS, scope=scope_of("killed")))) == max(whole, acknowledged + 1) * BATCH
    log.close()


@pytest.mark.parametrize("inputs", [1, 15])
def test_a_processor_killed_between_steps_leaves_as_many_observations_as_decisions(
    home: Path, start: Start, inputs: int
) -> None:
    worker = start("process", "p")
    heads = [say(worker) for _ in range(inputs)]
    worker.kill()
    worker.communicate()
    log = open_log(home)
    hashes = [sha256_hex(stored.value) for stored in log.read(CHANGES)]
    assert hashes[: len(heads)] == heads
    assert len(list(log.read(OBSERVATIONS))) == len(hashes)
    assert log.head(scope_of("p")) == hashes[-1]
    log.close()


def test_deciders_in_two_processes_make_one_chain(home: Path, start: Start) -> None:
    workers = [start("decide", name) for name in ("x", "y")]
    for worker in workers:
        worker.communicate()
    assert [worker.returncode for worker in workers] == [0, 0]
    log = open_log(home)
    head = ""
    for stored in log.read(CHANGES):
        assert Envelope.from_bytes(stored.value).data["prev"] == head
        head = sha256_hex(stored.value)
    assert head == log.head(SCOPE)
    assert log.end(CHANGES) == 60
    log.close()


def acquire_within(lock: ProcessorLock, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if lock.acquire():
            return True
        time.sleep(0.01)
    return False


def test_one_process_is_elected_and_another_takes_over_when_it_is_killed(home: Path, start: Start) -> None:
    folder: Folder = open_folder(home)
    lock = ProcessorLock(folder)
    owner = start("hold", "owner")
    assert say(owner) == "owner True"
    second = start("hold", "second")
    assert say(second) == "second False"
    assert not lock.acquire()
    assert not lock.held
    owner.kill()
    owner.wait()
    assert acquire_within(lock, 30)
    third = start("hold", "third")
    assert say(third) == "third False"
    lock.release()
    fourth = start("hold", "fourth")
    assert say(fourth) == "fourth True"


def test_a_process_that_ends_by_itself_gives_the_lock_up(home: Path, start: Start) -> None:
    lock = ProcessorLock(open_folder(home))
    owner = start("hold", "owner")
    assert say(owner) == "owner True"
    owner.communicate("")
    assert owner.returncode == 0
    assert acquire_within(lock, 30)
    lock.release()


FORK = """
import os, sys
from mnemolog.adapters.logs.folder import ProcessorLock, open_folder
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.schemas.events import DYNAMICS
from support.events import turns

folder = open_folder(sys.argv[1])
lock = ProcessorLock(folder)
log = SqliteLog(folder.database)
assert lock.acquire()
log.append_inputs(turns(1, prefix="before"))
child = os.fork()
if child == 0:
    assert not lock.held
    assert not lock.acquire()
    lock.release()
    log.append_inputs(turns(3, prefix="child"))
    log.close()
    sys.exit(0)
log.append_inputs(turns(3, prefix="parent"))
_, status = os.waitpid(child, 0)
assert status == 0, status
assert lock.held
assert not ProcessorLock(folder).acquire()
assert log.end(DYNAMICS) == 7
log.append_inputs(turns(1, prefix="after"))
child = os.fork()
if child == 0:
    sys.stdin.read()  # outlives its parent
    os._exit(0)
print("done", flush=True)
os._exit(0)
"""


def check_fork(home: Path) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", FORK, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert say(worker) == "done"
    assert worker.wait() == 0
    # The second child still lives, with everything that it inherited.
    lock = ProcessorLock(open_folder(home))
    assert acquire_within(lock, 30)
    lock.release()
    worker.communicate("")
    log = open_log(home)
    assert log.end(DYNAMICS) == 8
    log.close()


if hasattr(os, "fork"):  # a system without fork has nothing to test, which is no skipped test

    def test_a_fork_shares_neither_the_lock_nor_a_connection(home: Path) -> None:
        check_fork(home)
