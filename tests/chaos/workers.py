"""Worker processes as an operator runs them: started, killed, stopped and started again; whoever ends otherwise than it was
made to is remembered with what it said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mnemolog.cli.codes import Exit
from mnemolog.settings import Servers

__all__ = ["KINDS", "Worker", "Workers"]

KINDS = ("ingest", "extract", "resolve", "project", "summarise")
GRACE = 20.0
"""Seconds that a stop may take, as by default; the process itself ends a little later."""
_LOOK = 0.05

# The workers of a run that is killed end with it, where the system can do that (a signal when the parent is gone).
_WITH_PARENT = (
    "import ctypes, os, signal, sys\n"
    "if sys.platform == 'linux':\n"
    "    ctypes.CDLL(None).prctl(1, signal.SIGKILL)\n"
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
)


class Worker:
    """One process."""

    def __init__(self, kind: str, name: str, log: Path, process: subprocess.Popen[bytes]) -> None:
        self.kind, self.name, self.log, self.process = kind, name, log, process

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    @property
    def ready(self) -> bool:
        return ": ready" in self.said()

    def said(self) -> str:
        return self.log.read_text("utf-8", "replace")


class Workers:
    """Those of one installation; `options` are added to the commands of a kind."""

    def __init__(self, servers: Servers, folder: Path, options: dict[str, Sequence[str]] | None = None) -> None:
        self._folder = folder
        self._options = options or {}
        self._environment = {
            **os.environ,
            "MNEMOLOG_KAFKA": servers.kafka,
            "MNEMOLOG_DATABASE": servers.database,
            "MNEMOLOG_PREFIX": servers.prefix,
            "MNEMOLOG_PARTITIONS": str(servers.partitions),
            "MNEMOLOG_REPLICATION": str(servers.replication),
        }
        self._number = 0
        self.running: list[Worker] = []
        self.wrong: list[str] = []
        """What ended, or did not end, as it should not."""
        self.restarting = False
        """Whether one that found a server down when it started is started again, as a supervisor does."""

    def start(self, *kinds: str) -> list[Worker]:
        """Without waiting until they are ready."""
        return [self._start(kind) for kind in kinds]

    def _start(self, kind: str) -> Worker:
        self._number += 1
        name = f"{self._number}-{kind}"
        log = self._folder / f"{name}.txt"
        options = [] if kind not in ("project", "all") else ["--no-vectors"]
        command = [sys.executable, "-c", _WITH_PARENT, "-m", "mnemolog", "worker", kind, *options]
        command += self._options.get("extract" if kind == "all" else kind, ())
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, env=self._environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )
        worker = Worker(kind, name, log, process)
        self.running.append(worker)
        return worker

    def wait_until_ready(self, seconds: float) -> None:
        """Until each of those that run has its partitions. Raises TimeoutError, or AssertionError for one that ended."""
        deadline = time.monotonic() + seconds
        while waiting := [worker for worker in self.running if not worker.ready]:
            self.look()
            if self.wrong:
                raise AssertionError("\n".join(self.wrong))
            if time.monotonic() > deadline:
                raise TimeoutError(f"not ready after {seconds:g} s: {', '.join(worker.name for worker in waiting)}")
            time.sleep(_LOOK)

    def one(self, kind: str) -> Worker:
        """The oldest of a kind."""
        self.look()
        return next(worker for worker in self.running if worker.kind == kind)

    def kill(self, worker: Worker) -> None:
        """SIGKILL; returns when it is gone."""
        self.running.remove(worker)
        if worker.running:
            worker.process.kill()
            worker.process.wait()
        elif not (self.restarting and worker.process.returncode == Exit.BUSY):
            self._note(worker, "ended before it was killed")

    def stop(self, *workers: Worker) -> float:
        """SIGTERM; returns, once all are gone, how many seconds that took."""
        begun = time.monotonic()
        # One that is only starting has nothing to put in order, and ends by the signal itself.
        starting = [worker for worker in workers if not worker.ready]
        for worker in workers:
            self.running.remove(worker)
            if worker.running:
                worker.process.send_signal(signal.SIGTERM)
        for worker in workers:
            try:
                code = worker.process.wait(GRACE + 10 - (time.monotonic() - begun))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
                self._note(worker, f"did not end within {GRACE + 10:g} s")
            else:
                if code and not (code == -signal.SIGTERM and worker in starting):
                    self._note(worker, f"ended with exit code {code}")
        return time.monotonic() - begun

    def look(self) -> None:
        """Remembers those that ended by themselves."""
        for worker in [worker for worker in self.running if not worker.running]:
            self.running.remove(worker)
            if self.restarting and worker.process.returncode == Exit.BUSY:
                self.start(worker.kind)
                continue
            self._note(worker, f"ended by itself with exit code {worker.process.returncode}")

    def end(self) -> None:
        """Whatever still runs, at once."""
        for worker in self.running:
            worker.process.kill()
        for worker in self.running:
            worker.process.wait()
        self.running.clear()

    def _note(self, worker: Worker, what: str) -> None:
        self.wrong.append(f"worker {worker.name} {what}; it said at the end:\n{worker.said()[-4000:]}")
