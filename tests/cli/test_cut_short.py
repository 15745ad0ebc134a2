"""An import that is killed or interrupted loses nothing that was recorded, and is finished by running it again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemolog.cli.codes import Exit
from mnemolog.cli.main import main
from mnemolog.producers.importer import BATCH

LINES = [json.dumps({"id": f"t{n}", "content": f"line {n}", "occurred_at": "2026-03-02"}) for n in range(3 * BATCH)]


def recorded(home: Path) -> int:
    """Turns in the log, read beside the process that writes them."""
    if not (home / "memory.db").exists():
        return 0
    database = sqlite3.connect(home / "memory.db", timeout=30)
    try:
        with contextlib.suppress(sqlite3.OperationalError):  # the table is not made yet
            return int(database.execute("select count(*) from log_dynamics").fetchone()[0])
        return 0
    finally:
        database.close()


@contextlib.contextmanager
def children_hear_interrupts() -> Iterator[None]:
    """Whoever runs the tests in the background may have them ignored, which a child would inherit."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals that one process sends another")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, Exit.INTERRUPTED)])
def test_what_was_recorded_stays_and_the_rest_follows(
    sent: signal.Signals, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    command = [sys.executable, "-m", "mnemolog", "import", "-", "--home", str(home), "--user", "mei", "--source", "chat"]
    with children_hear_interrupts():
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(("\n".join(LINES[: 2 * BATCH + 9]) + "\n").encode())
    process.stdin.flush()
    for _ in range(600):
        if recorded(home) == 2 * BATCH or process.poll() is not None:
            break
        time.sleep(0.1)
    process.send_signal(sent)
    assert process.wait(60) == code
    _, said = process.communicate()
    if sent == signal.SIGINT:
        assert said.decode().splitlines() == ["mnemolog: interrupted: what was recorded stays"]
    assert recorded(home) == 2 * BATCH

    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join(LINES), "utf-8")
    words = ["import", str(file), "--home", str(home), "--user", "mei", "--source", "chat", "--json"]
    assert main(words) == Exit.OK
    sums = json.loads(capsys.readouterr().out)
    assert (sums["read"], sums["appended"], sums["already_there"], sums["behind"]) == (3 * BATCH, BATCH, 2 * BATCH, 0)
    assert main(["verify", "--home", str(home)]) == Exit.OK
