"""The worker as a process: how it ends, whatever state the servers are in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local_services.kafka import KafkaServer, start_kafka
from mnemolog.adapters.embedders import EMBEDDERS
from mnemolog.cli.codes import Exit
from mnemolog.cli.main import main
from mnemolog.processors.pipeline.installation import Installation
from mnemolog.processors.pipeline.live_vectors import LiveVectors
from mnemolog.settings import Servers
from support.services import Services

Start = Callable[..., "Worker"]


class Worker:
    """`mnemolog worker KIND`, started and ready."""

    def __init__(self, kafka: str, database: str, prefix: str, *words: str) -> None:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MNEMOLOG_")},
            "MNEMOLOG_KAFKA": kafka,
            "MNEMOLOG_DATABASE": database,
            "MNEMOLOG_PREFIX": prefix,
            "MNEMOLOG_PARTITIONS": "1",
        }
        command = [sys.executable, "-m", "mnemolog", "worker", *words]
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._ready = threading.Event()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        assert self._ready.wait(120), self.lines

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if "ready" in line:
                self._ready.set()
        self._ready.set()

    def end(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(90)
        self._reading.join()
        return code

    def close(self) -> None:
        """However the test ended."""
        self.process.kill()
        self.process.wait()
        self._reading.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.fixture
def start(services: Services, prefix: str) -> Iterator[Start]:
    workers: list[Worker] = []

    def start(*words: str, kafka: str = services.kafka) -> Worker:
        workers.append(Worker(kafka, services.database, prefix, *words))
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[KafkaServer]:
    """A broker that a test may take away."""
    server = start_kafka(tmp_path / "kafka")
    yield server
    server.stop()


def test_a_worker_ends_in_good_order(start: Start) -> None:
    worker = start("all", "--no-vectors")
    assert (worker.end(), worker.lines[-1]) == (Exit.OK, "mnemolog worker: ended\n")


def test_a_worker_whose_broker_is_gone_floods_no_log_and_ends_when_it_is_told_to(start: Start, kafka: KafkaServer) -> None:
    worker = start("all", "--no-vectors", "--grace", "5", kafka=kafka.bootstrap)
    kafka.kill()
    assert worker.end() in (Exit.OK, Exit.BUSY)
    assert worker.lines[-1].startswith("mnemolog worker: ended")
    # The agents' library takes it with some pages of its own, once.
    assert len(worker.lines) < 300, worker.lines
    assert not [line for line in worker.lines if "a bug" in line]


def test_a_stop_that_may_take_no_time_takes_none(start: Start) -> None:
    worker = start("ingest", "--grace", "0")
    assert worker.end() in (Exit.OK, Exit.BUSY)
    assert worker.lines[-1].startswith("mnemolog worker: ended")


def test_an_embedder_that_nobody_knows_is_refused(
    capsys: pytest.CaptureFixture[str], services: Services, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMOLOG_KAFKA", services.kafka)
    monkeypatch.setenv("MNEMOLOG_DATABASE", services.database)
    monkeypatch.setenv("MNEMOLOG_PREFIX", prefix)
    assert main(["worker", "project", "--embedder", "nobody"]) == Exit.USAGE
    assert "'nobody' does not come along (one of use, e5)" in capsys.readouterr().err
    assert main(["worker", "project", "--embedder", "use", "--no-vectors"]) == Exit.USAGE
    assert "contradict" in capsys.readouterr().err


def test_a_worker_of_an_embedder_that_is_out_of_use_ends_and_names_the_command(
    start: Start, services: Services, prefix: str
) -> None:
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=1)
    with closing(Installation(servers)) as installation:
        LiveVectors(installation).claim(EMBEDDERS["e5"])
    worker = start("all", "--embedder", "use")
    assert worker.process.wait(90) == Exit.FOLDER, worker.lines
    worker.end()
    assert "mnemolog rebuild vectors --embedder NAME" in "".join(worker.lines)


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "soon"])
def test_a_grace_that_cannot_be_meant_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["worker", "all", "--grace", seconds]) == Exit.USAGE
    assert f"--grace: {seconds!r} is not a number from 0" in capsys.readouterr().err
