"""The home folder: a marker that says what it is, the SQLite file, the vector index, and the lock that elects one processor.

Invariant: a folder is ours exactly when it holds the marker; a call that fails leaves nothing behind that it made.
"""

from __future__ import annotations

import errno
import os
import secrets
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import filelock
import msgspec

from ...schemas.errors import FolderError, NewerVersion, NotOurs, ReadOnly

__all__ = ["FORMAT", "MARKER", "Folder", "ProcessorLock", "check_database", "check_there", "open_folder"]

FORMAT = 1
"""The version of the folder's layout that this mnemolog writes and the highest it reads."""
MARKER = "mnemolog.json"
_PASSING = ".mnemolog-"
"""Files with this prefix exist for a moment, or are what a killed process left."""


class _Marker(msgspec.Struct, frozen=True):
    mnemolog: str
    format: int


class Folder(msgspec.Struct, frozen=True):
    """A home folder that is there, is ours and can be written."""

    path: Path
    """Absolute, without links."""

    @property
    def database(self) -> Path:
        """The SQLite file of log, state and read models."""
        return self.path / "memory.db"

    @property
    def vectors(self) -> Path:
        """Where the vector index may keep its files: a cache, which can be deleted."""
        return self.path / "vectors"

    @property
    def lock(self) -> Path:
        """The file whose lock the processor holds."""
        return self.path / "processor.lock"


def open_folder(path: Path | str, *, create: bool = True) -> Folder:
    """The home folder at `path`; with `create` it and its parents are made where they are missing.

    Raises NotOurs for a file, for a folder with other things in it and, without `create`, where there is no memory;
    NewerVersion for a folder of a newer mnemolog; ReadOnly where it cannot be written.
    """
    given = Path(path)
    with _explained(given):
        home = Path(os.path.realpath(given.expanduser()))
        made = _make_folders(home, create)
        try:
            if not _is_ours(home):
                if not create:
                    raise NotOurs(f"there is no memory in {given}: check the path, or add something there first")
                _write_marker(home)
            _try_writing(home)
        except BaseException:
            for folder in reversed(made):
                # Somebody else may have begun to use it meanwhile: then it is not empty, and stays.
                with suppress(OSError):
                    folder.rmdir()
            raise
    return Folder(home)


def check_database(folder: Folder) -> None:
    """Raises FolderError where the database of a folder that was in use is gone or empty: a new one in its place would pass
    for a memory in which nothing was ever said."""
    with _explained(folder.path):
        if (folder.database.exists() and folder.database.stat().st_size) or not (
            folder.lock.exists() or folder.vectors.exists()
        ):
            return
    raise FolderError(
        f"{folder.database} is missing or empty although this folder was in use: put a backup of it there, "
        "or remove the folder to begin anew"
    )


def check_there(folder: Folder) -> None:
    """Raises FolderError where the database was removed while it was open: what is written to it then is gone with it."""
    if not folder.database.exists():
        raise FolderError(f"{folder.database} was removed while it was open: nothing was recorded; open the memory again")


def _make_folders(home: Path, create: bool) -> list[Path]:
    """Makes `home` and its parents where they are missing; returns those that were made, outermost first."""
    if not create:
        return []
    missing: list[Path] = []
    at = home
    while not os.path.lexists(at):
        missing.append(at)
        at = at.parent
    made: list[Path] = []
    try:
        for folder in reversed(missing):
            with suppress(FileExistsError):
                folder.mkdir()
                made.append(folder)
    except OSError as error:
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()
        if error.errno == errno.ENOENT:  # /proc and its like: the parent is there, and nothing can be made in it
            raise PermissionError(errno.EACCES, "nothing can be made there", str(error.filename)) from error
        raise
    return made


def _is_ours(home: Path) -> bool:
    """Whether the marker is there; raises NotOurs where something else is, NewerVersion for a newer marker."""
    try:
        names = os.listdir(home)
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        raise NotOurs(f"{home} is a file, not a folder: choose another path") from None
    if MARKER not in names:
        others = sorted(name for name in names if not name.startswith(_PASSING))
        if others:
            shown = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
            raise NotOurs(
                f"{home} is not a memory and not empty (it holds {shown}): choose an empty folder or one that is not there yet"
            )
        return False
    data = (home / MARKER).read_bytes()
    try:
        marker = msgspec.json.decode(data, type=_Marker)
    except msgspec.MsgspecError as error:
        raise NotOurs(f"{home / MARKER} is not what mnemolog writes ({error}): choose another folder") from error
    if marker.format > FORMAT:
        raise NewerVersion(
            f"{home} was written by a newer mnemolog (folder format {marker.format}, this one knows {FORMAT}): upgrade mnemolog"
        )
    return True


def _write_marker(home: Path) -> None:
    """Whole or not at all, also for somebody who opens the folder at the same moment."""
    passing = home / f"{_PASSING}{secrets.token_hex(8)}"
    try:
        with passing.open("xb") as file:
            file.write(msgspec.json.encode(_Marker("memory", FORMAT)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(passing, home / MARKER)
    finally:
        passing.unlink(missing_ok=True)
    if os.name == "posix":  # Windows cannot open a folder, and orders these writes itself
        handle = os.open(home, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _try_writing(home: Path) -> None:
    """Permission bits do not say all (administrators, read-only disks), so a file is made and removed."""
    passing = home / f"{_PASSING}{secrets.token_hex(8)}"
    try:
        passing.open("xb").close()
    finally:
        passing.unlink(missing_ok=True)


@contextmanager
def _explained(given: Path) -> Iterator[None]:
    """Turns the system's errors into ours."""
    try:
        yield
    except OSError as error:
        _explain(given, error)
    except (ValueError, RuntimeError) as error:  # a NUL in the path; `~somebody` who is not there
        raise FolderError(f"{given} cannot be the path of a folder: {error}") from error


def _explain(given: Path, error: OSError) -> NoReturn:
    what = error.strerror or str(error)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        raise ReadOnly(f"{given} cannot be written ({what}): give write permission, or choose another folder") from error
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        raise NotOurs(f"{given} leads through a file, or through a link to nothing ({what}): choose another path") from error
    raise FolderError(f"{given} cannot be used as a memory: {what}") from error


class ProcessorLock:
    """At most one holder among all processes and all locks on one folder; the system frees it when the holder's process ends,
    however it ends. A child made by fork does not hold it. Thread-safe."""

    def __init__(self, folder: Folder) -> None:
        self._path = folder.lock
        self._guard = threading.Lock()
        self._new()
        _locks.add(self)

    def _new(self) -> None:
        self._lock = filelock.FileLock(self._path, timeout=0, thread_local=False)

    @property
    def held(self) -> bool:
        """Whether this object holds the lock, in this process."""
        return self._lock.is_locked

    def acquire(self) -> bool:
        """Takes the lock if it is free, without waiting; True also when it is held already."""
        with self._guard, _explained(self._path):
            if self._lock.is_locked:
                return True
            try:
                self._lock.acquire(timeout=0)
            except filelock.Timeout:
                return False
            return True

    def release(self) -> None:
        """Gives the lock up; nothing happens where it is not held."""
        with self._guard:
            if self._lock.is_locked:
                self._lock.release()

    def leave_to_parent(self) -> None:
        """In a child made by fork: forgets the lock without freeing it, which would free the parent's."""
        context = getattr(self._lock, "_context", None)
        handle = getattr(context, "lock_file_fd", None)
        if handle is not None and context is not None:
            # The lock belongs to the open file that both processes share: it is the parent's until both have closed it, and
            # an unlocking (which filelock's own destructor would do) ends it for both.
            context.lock_file_fd = None
            with suppress(OSError):
                os.close(handle)
        self._guard = threading.Lock()
        self._new()


_locks: weakref.WeakSet[ProcessorLock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_locks):
        lock.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
