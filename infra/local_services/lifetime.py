"""Both servers in one folder: taken up together, known by the folder, taken down from it by whoever comes, at any time.

A lock file in the folder makes every change one at a time, so that two who take it up get the same servers. With an owner, a
watcher process takes them down when the owner is gone, however it ended.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from local_services.kafka import find_kafka, start_kafka
from local_services.postgres import find_postgres, remove_postgres, start_postgres
from local_services.processes import Daemon, ServicesError, is_alive, started_at

__all__ = ["Addresses", "find", "take_down", "take_up", "watch"]

WATCH_SECONDS = 0.5
KAFKA_PIDS = ("*/pid.json", "*/format/pid.json", "first/*/pid.json", "first/*/format/pid.json")
DATA = ("kafka", "postgres", "watcher")
NOTES = ("services.json", "services.tmp")
LOCK = "lock"
PROGRAM = Path(__file__).resolve().parent.parent / "services.py"


@dataclass(frozen=True)
class Addresses:
    """Where the servers are: `kafka` are bootstrap servers, `database` is a URL for SQLAlchemy with psycopg 3."""

    kafka: str
    database: str


def take_up(folder: Path, brokers: int = 1, owner: int | None = None) -> tuple[Addresses, bool]:
    """Start what does not run yet, and tell whether anything had to be.

    `brokers`: 1 or 3; `owner`: the id of the process that they may not outlive.
    Errors: ServicesError, with the reason and the end of the server's log.
    """
    folder = Path(folder).resolve()
    _check_ours(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _lock(folder):
        if (known := _running(folder)) is not None:
            return known, False
        if owner is not None:
            _start_watcher(folder, owner)
        # Both start at once; PostgreSQL is there long before Kafka.
        failures: list[BaseException] = []

        def start_database() -> None:
            try:
                start_postgres(folder / "postgres")
            except BaseException as error:
                failures.append(error)

        starting = threading.Thread(target=start_database)
        starting.start()
        try:
            kafka = start_kafka(folder / "kafka", brokers)
        finally:
            starting.join()
        if failures:
            raise failures[0]
        database = find_postgres(folder / "postgres")
        assert database is not None  # noqa: S101 - it was started
        addresses = Addresses(kafka.bootstrap, database.url)
        waiting = folder / "services.tmp"
        waiting.write_text(json.dumps(asdict(addresses)), "utf-8")
        waiting.replace(folder / "services.json")
        return addresses, True


def find(folder: Path) -> Addresses | None:
    """Where the servers of a folder are, when all of them run; None when not."""
    folder = Path(folder).resolve()
    return _running(folder) if folder.exists() else None


def take_down(folder: Path) -> bool:
    """End every server of the folder and remove it with all data; tell whether there was anything.

    Errors: ServicesError when a process cannot be ended, or the folder holds anything else: then nothing is touched.
    """
    folder = Path(folder).resolve()
    if not folder.exists():
        return False
    _check_ours(folder)
    with _lock(folder):
        # Whatever was started, also by a start that was cut short, left its process id in one of these places. (Not every
        # folder is looked through: a broker that still runs removes some of its own meanwhile.)
        started = [path.parent for pattern in KAFKA_PIDS for path in (folder / "kafka").glob(pattern)]
        daemons = [Daemon(str(path.relative_to(folder)), path) for path in started]
        ends = [threading.Thread(target=daemon.stop) for daemon in daemons]
        for end in ends:
            end.start()
        remove_postgres(folder / "postgres")
        for end in ends:
            end.join()
        if left := [f"{daemon.name} (process {daemon.pid})" for daemon in daemons if daemon.pid is not None]:
            raise ServicesError(f"these did not end: {', '.join(left)}")
        for name in (*DATA, *NOTES):
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _check_ours(folder: Path) -> None:
    """Raises ServicesError for a folder that holds anything but what is put there here."""
    strange = sorted({path.name for path in folder.iterdir()} - {*DATA, *NOTES, LOCK}) if folder.exists() else []
    if strange:
        raise ServicesError(f"{folder} holds {strange[0]!r}, which is not of these servers: name a folder for them alone")


def watch(folder: Path, owner: int, started: float) -> None:
    """Return once the folder is gone; when the owner is gone before, take the folder down."""
    while folder.exists():
        if not is_alive(owner, started):
            take_down(folder)
            return
        time.sleep(WATCH_SECONDS)


def _lock(folder: Path) -> FileLock:
    return FileLock(folder / LOCK)


def _running(folder: Path) -> Addresses | None:
    noted = folder / "services.json"
    kafka, database = find_kafka(folder / "kafka"), find_postgres(folder / "postgres")
    if not noted.exists() or kafka is None or database is None or database.pid is None or None in kafka.pids:
        return None
    return Addresses(**json.loads(noted.read_text("utf-8")))


def _start_watcher(folder: Path, owner: int) -> None:
    started = started_at(owner)
    if started is None:
        raise ServicesError(f"process {owner}, which the servers were for, is gone")
    watcher = Daemon("the watcher", folder / "watcher")
    if watcher.pid is None:
        command = [
            sys.executable,
            str(PROGRAM),
            "watch",
            "--dir",
            str(folder),
            "--owner",
            str(owner),
            "--started",
            repr(started),
        ]
        watcher.start(command)
