"""Server processes that outlive who started them: each is known by its process id and its start time in a file of its folder.

The start time tells a server of ours from a stranger that got the same number later, so that nothing else is ever signalled.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

__all__ = ["Daemon", "Detached", "ServicesError", "free_ports", "group_of", "is_alive", "started_at"]

# Below the ports that systems give to outgoing connections: one that was free stays free while its server restarts.
PORTS = range(20000, 30000)
POLL = 0.05
TAIL = 4000


class ServicesError(RuntimeError):
    """A server cannot be started, reached or ended; the message says which, why and what to do."""


class Detached(subprocess.Popen[bytes]):
    """A process that may go on when its starter ends, which is nothing to warn of."""

    def __del__(self, *_: object) -> None:
        """Leave it alone."""


def free_ports(count: int) -> list[int]:
    """That many different loopback ports that nobody listens on now."""
    found: list[int] = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        with socket.socket() as probe, suppress(OSError):
            if os.name == "posix":
                # As the servers bind: what a former connection left in TIME_WAIT is no hindrance.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise ServicesError(f"of the ports {PORTS.start} to {PORTS.stop - 1} not even {count} are free on 127.0.0.1")


def started_at(pid: int) -> float | None:
    """When the process began, in seconds since 1970; None where there is none, or only its remains."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.NoSuchProcess:
        return None


def is_alive(pid: int, started: float) -> bool:
    """Whether that very process still runs."""
    now = started_at(pid)
    return now is not None and abs(now - started) < 1.0


@dataclass(frozen=True)
class Daemon:
    """One server process and the folder that has its `pid.json` and its `log.txt`."""

    name: str
    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / "log.txt"

    @property
    def _pidfile(self) -> Path:
        return self.folder / "pid.json"

    @property
    def pid(self) -> int | None:
        """The process id while it runs; None when it does not."""
        try:
            noted = json.loads(self._pidfile.read_text("utf-8"))
        except FileNotFoundError:
            return None
        return noted["pid"] if is_alive(noted["pid"], noted["started"]) else None

    def start(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None, user: str | None = None
    ) -> Detached:
        """Start it in the background, in its folder; its output is appended to the log.

        `environment`: all of it (None: ours); `user`: a system user's name (None: whoever asks).

        Errors: ServicesError when it runs already or ends at once.
        """
        if (running := self.pid) is not None:
            raise ServicesError(f"{self.name} runs already, as process {running}")
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            process = Detached(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=environment,
                start_new_session=True,
                user=user,
                group=group_of(user),
                extra_groups=[] if user else None,
            )
        started = started_at(process.pid)
        if started is None:
            process.wait()
            raise ServicesError(f"{self.name} ended at once with {process.returncode}\n{self.tail()}")
        waiting = self._pidfile.with_suffix(".tmp")
        waiting.write_text(json.dumps({"pid": process.pid, "started": started}), "utf-8")
        waiting.replace(self._pidfile)
        return process

    def finish(self, command: Sequence[str], *, environment: Mapping[str, str] | None = None, user: str | None = None) -> None:
        """Run a tool to its end, known by its folder like a server. Errors: ServicesError with what it said when it fails."""
        if code := self.start(command, environment=environment, user=user).wait():
            raise ServicesError(f"{self.name} failed with {code}:\n{self.tail()}")

    def wait_until(self, ready: Callable[[], str | None], seconds: float) -> None:
        """Ask `ready` until it gives None; a text says what is still wrong.

        Errors: ServicesError when the process ends or `seconds` are over, with the last answer and the tail of the log.
        """
        deadline = time.monotonic() + seconds
        while True:
            if self.pid is None:
                raise ServicesError(f"{self.name} ended while it started; the end of {self.log}:\n{self.tail()}")
            if (wrong := ready()) is None:
                return
            if time.monotonic() > deadline:
                raise ServicesError(
                    f"{self.name} is not ready after {seconds:g} s: {wrong}; the end of {self.log}:\n{self.tail()}"
                )
            time.sleep(POLL)

    def kill(self) -> None:
        """End it and what it started with SIGKILL, and wait until they are gone; nothing happens when it does not run."""
        self._end(None, 0.0)

    def stop(self, grace: float = 20.0, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask it to end, wait `grace` seconds, then SIGKILL; nothing happens when it does not run."""
        self._end(how, grace)

    def _end(self, how: signal.Signals | None, grace: float) -> None:
        pid = self.pid
        if pid is None:
            return
        try:
            process = psutil.Process(pid)
            family = [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        if how is not None:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(how) if os.name == "posix" else process.terminate()
            if _wait(family, grace):
                return
        for member in family:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        if not _wait(family, 30.0):
            raise ServicesError(f"{self.name} (process {pid}) did not end, not even by SIGKILL")

    def said(self) -> str:
        """All that it logged."""
        try:
            return self.log.read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def tail(self) -> str:
        """The last lines that it logged."""
        return self.said()[-TAIL:] or "(it logged nothing)"


def group_of(user: str | None) -> int | None:
    """The main group of a user; None for None, which is whoever asks."""
    if user is None:
        return None
    import pwd

    return pwd.getpwnam(user).pw_gid


def _gone(process: psutil.Process) -> bool:
    """Ended, or a zombie that its parent has not collected; collected here where the parent is this process."""
    if os.name == "posix":
        with suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _wait(family: Sequence[psutil.Process], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not all(_gone(process) for process in family):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL)
    return True
