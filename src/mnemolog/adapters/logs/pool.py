"""SQLite connections to one file, lent to one thread at a time and never carried over a fork.

Invariant: a write transaction holds the file's write lock from its first statement on, so that what it reads cannot change
before it commits; it commits as a whole, on disk, or leaves nothing.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...schemas.errors import Busy, Closed, FolderError, MnemologError
from ...schemas.storage import storage_error

__all__ = ["Pool"]

CACHE_KIB = 8192
"""Page cache of each connection: with the default of 2 MiB, appends slow down once the index of ids outgrows it."""
MOST_IDLE = 8
"""Connections that are kept for later: what more threads than that needed at once is closed again."""
RETRY = 0.005
"""Seconds between tries where SQLite gives up at once although somebody else will soon be done."""


class Pool:
    """Connections to the SQLite file at `path`, which is made when it is not there. Thread-safe.

    A writer waits up to `busy_timeout` seconds for another one, in this process or elsewhere, then raises Busy.
    """

    def __init__(self, path: Path, busy_timeout: float) -> None:
        self.path = path
        self._busy_timeout = busy_timeout
        self._closed = False
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._guard = threading.Lock()
        # Writers of one process queue here: SQLite's own waiting sleeps in steps of up to 100 ms and is not fair.
        self._writer = threading.Lock()
        self._changed = threading.Condition()
        self._idle: list[sqlite3.Connection] = []
        self._end = weakref.finalize(self, _close_all, self._idle, self._pid)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection on which each statement sees a state of its own."""
        connection = self._borrow()
        try:
            yield connection
        except sqlite3.Error as error:
            raise self._translated(error) from error
        finally:
            self._give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One atomic write: committed, and on disk, when the block ends; undone when it raises."""
        connection = self._borrow()
        try:
            if not self._writer.acquire(timeout=self._busy_timeout):
                raise self._busy()
            try:
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    # Also after an interruption between two statements: nobody may get a connection in mid-transaction.
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            finally:
                self._writer.release()
        except sqlite3.Error as error:
            raise self._translated(error) from error
        finally:
            self._give_back(connection)

    def use_wal(self) -> None:
        """Switches the file to write-ahead logging, for good: readers and the writer then do not wait for each other."""
        deadline = time.monotonic() + self._busy_timeout
        while True:
            try:
                with self.reading() as connection:
                    mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            except Busy:  # this one statement does not always wait for other openers
                if time.monotonic() > deadline:
                    raise
                time.sleep(RETRY)
            else:
                if mode != "wal":
                    raise FolderError(f"{self.path} lies on a file system without shared memory: use a local disk")
                return

    @property
    def changed(self) -> threading.Condition:
        """What `notify()` and `close()` wake."""
        self._follow_fork()
        return self._changed

    def notify(self) -> None:
        """Wakes the threads that wait for a change."""
        changed = self.changed
        with changed:
            changed.notify_all()

    def close(self) -> None:
        """Closes the connections; one that is lent is closed when it comes back. May be called twice."""
        self._follow_fork()
        with self._guard:
            self._closed = True
        self._end()
        self.notify()

    def check_open(self) -> None:
        """Raises Closed after `close()`."""
        if self._closed:
            raise Closed("the log was closed: open a new one")

    def _borrow(self) -> sqlite3.Connection:
        self._follow_fork()
        with self._guard:
            self.check_open()
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _follow_fork(self) -> None:
        if os.getpid() != self._pid:
            # SQLite forbids using, or closing, a connection in another process than the one that made it.
            self._end.detach()
            _left_by_parent.append(self._idle)
            self._reset()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._guard:
            # The one that came back last is lent first: its pages are the freshest, and the others stay small.
            if not self._closed and len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                self.path, timeout=self._busy_timeout, isolation_level=None, check_same_thread=False, cached_statements=256
            )
        except sqlite3.Error as error:
            raise self._translated(error) from error
        try:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        except sqlite3.Error as error:
            connection.close()
            raise self._translated(error) from error
        return connection

    def _busy(self) -> MnemologError:
        return self._translated(sqlite3.OperationalError("database is locked"))

    def _translated(self, error: sqlite3.Error) -> MnemologError:
        return storage_error(str(self.path), str(error), self._busy_timeout)


_left_by_parent: list[list[sqlite3.Connection]] = []
"""Kept, so that no destructor closes them in this process."""


def _close_all(idle: list[sqlite3.Connection], pid: int) -> None:
    if os.getpid() == pid:
        while idle:
            idle.pop().close()
