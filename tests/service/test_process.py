"""A real `mnemolog serve`: what it accepted is there after it was killed, and a stop in good order ends it with 0."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from mnemolog import Memory
from mnemolog.cli.main import main


@contextmanager
def running(*words: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """The process and a client of it; killed at the end, if it is still there."""
    command = [sys.executable, "-m", "mnemolog", "serve", "--port", "0", "--no-vectors", *words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOLOG_")}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    rest: threading.Thread | None = None
    try:
        told = []
        for line in process.stderr:
            told.append(line)
            if "listening on " in line:
                break
        else:
            pytest.fail("it never listened: " + "".join(told))
        # What it says later must not fill the pipe.
        rest = threading.Thread(target=process.stderr.read, daemon=True)
        rest.start()
        with httpx.Client(base_url=told[-1].split()[-1], timeout=60) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
        if rest is not None:
            rest.join()
        process.stderr.close()


def test_what_was_accepted_is_there_after_a_kill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = str(tmp_path / "home")
    assert main(["keys", "add", "bot", "--home", home]) == 0
    headers = {"Authorization": f"Bearer {capsys.readouterr().out.strip()}"}
    accepted: list[str] = []
    with running(home) as (process, client):
        assert client.get("/v1/forms?user_id=1").status_code == 401
        for number in range(20):
            turn = {"user_id": "1", "content": f"I live in Town{number}."}
            found = client.post("/v1/turns", json=turn, headers=headers)
            assert found.status_code == 202
            accepted += found.json()["ids"]
        process.kill()
        process.wait()
    with running("--home", home) as (process, client):
        for event_id in accepted:
            operation = client.get(f"/v1/operations/{event_id}?user_id=1", headers=headers)
            assert operation.status_code == 200, "accepted and lost"
        client.get("/v1/forms?user_id=1&wait=true", headers=headers)
        ended = [client.get(f"/v1/operations/{event_id}?user_id=1", headers=headers).json()["status"] for event_id in accepted]
        assert ended == ["done"] * len(accepted)
        [form] = client.get("/v1/forms?user_id=1", headers=headers).json()["items"]
        assert form["slots"][0]["value"]["data"] == "Town19"
        if os.name == "posix":
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    with Memory(home, embedder=False) as memory:
        assert memory.verify().equal


def test_a_port_that_is_taken_is_said_to_be(tmp_path: Path) -> None:
    with running(str(tmp_path / "one"), "--no-keys") as (_, client):
        command = [sys.executable, "-m", "mnemolog", "serve", str(tmp_path / "two"), "--no-keys", "--no-vectors"]
        command += ["--port", str(client.base_url.port)]
        second = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode == 4
    assert "cannot listen" in second.stderr


def test_what_a_killed_one_left_behind_is_processed_though_nobody_asks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asking what became of it, and whether the service is ready, waits for nothing."""
    home = str(tmp_path / "home")
    assert main(["keys", "add", "bot", "--home", home]) == 0
    headers = {"Authorization": f"Bearer {capsys.readouterr().out.strip()}"}
    with running(home) as (process, client):
        messages = [{"content": f"I live in Town{number}."} for number in range(100)]
        found = client.post("/v1/turns", json={"user_id": "1", "messages": messages}, headers=headers)
        process.kill()
        process.wait()
    with running(home) as (_, client):
        deadline = time.monotonic() + 60
        while True:
            answer = client.get(f"/v1/operations/{found.json()['ids'][-1]}", params={"user_id": "1"}, headers=headers).json()
            if answer["status"] != "waiting" or time.monotonic() > deadline:
                break
            time.sleep(0.05)
    assert answer["status"] == "done"
