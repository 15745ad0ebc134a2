"""The one place that knows which SQL database is spoken to: upserts, connection settings and how a write transaction begins.

Everything else is SQLAlchemy Core that SQLite and PostgreSQL both understand. A write transaction takes its lock when it
begins, so that what it reads first (the cursor, the active version) cannot change before it commits.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import StaticPool

from ..schemas.errors import Closed, MnemologError, NotOurs, ReadOnly
from ..schemas.storage import storage_error

__all__ = ["Database", "insert_new", "upsert"]

BUSY_SECONDS = 30
"""How long a writer waits for another process's write transaction."""

_WRITE = {"mnemolog_write": True}


class Database:
    """An engine with short transactions. `target` is the path of a SQLite file, `:memory:`, or an SQLAlchemy URL.

    Any number of threads and processes may use one file; an in-memory database belongs to this object and serves one
    transaction at a time.
    """

    def __init__(self, target: Path | str, *, durable: bool = True) -> None:
        self.target = target
        self.path: Path | None = None
        self.read_only = False
        self._closed = False
        self._pid = os.getpid()
        self._guard: threading.RLock | None = None
        self._durable = durable
        if isinstance(target, str) and "://" in target:
            self.engine = sa.create_engine(target)
            if self.engine.dialect.name == "sqlite":
                raise ValueError("give the path of a SQLite file, not a URL")
        elif str(target) == ":memory:":
            self._guard = threading.RLock()
            self.engine = sa.create_engine(
                "sqlite://", poolclass=StaticPool, creator=lambda: self._connect_sqlite(":memory:", uri=False)
            )
            self._listen()
        else:
            self.path = path = Path(target).absolute()
            uri = self._sqlite_uri(path)
            self.engine = sa.create_engine("sqlite://", poolclass=sa.QueuePool, creator=lambda: self._connect_sqlite(uri))
            self._listen()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One snapshot: all statements inside see the same state."""
        self._check_open()
        with self._guard or nullcontext(), self._errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One atomic step; commits at the end, or nothing of it happened."""
        if self.read_only:
            raise ReadOnly(f"{self.target} cannot be written: open the memory from a place that can be written")
        self._check_open()
        with (
            self._guard or nullcontext(),
            self._errors(),
            self.engine.connect().execution_options(**_WRITE) as connection,
            connection.begin(),
        ):
            yield connection

    def close(self) -> None:
        """Closes every connection that is not in use, and lets nobody open a new one. May be called twice."""
        self._closed = True
        self.engine.dispose()

    def _check_open(self) -> None:
        """Raises Closed after `close()`; in a child made by fork leaves the parent's connections alone, unused and open."""
        if self._closed:
            raise Closed("the read models were closed: open the memory again")
        if os.getpid() != self._pid:
            self._pid = os.getpid()
            self.engine.dispose(close=False)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except exc.DBAPIError as error:
            raise self._translated(error) or error from error

    def _translated(self, error: exc.DBAPIError) -> MnemologError | None:
        if not isinstance(error.orig, sqlite3.Error) or isinstance(
            error.orig, sqlite3.ProgrammingError | sqlite3.InterfaceError
        ):
            return None
        return storage_error(str(self.target), str(error.orig), BUSY_SECONDS)

    def _sqlite_uri(self, path: Path) -> str:
        """A file that cannot be written is opened for reading; one whose folder cannot be written either is taken as frozen."""
        uri = path.as_uri()
        if not path.exists() or (_may_write(path) and _may_write(path.parent)):
            return uri
        self.read_only = True
        for mode in ("?mode=ro", "?mode=ro&immutable=1"):
            connection = sqlite3.connect(uri + mode, uri=True, timeout=BUSY_SECONDS)
            try:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.OperationalError:
                continue  # without a log that it may open, a frozen file is read as it is
            except sqlite3.DatabaseError as error:
                raise NotOurs(f"{path} is not a database of ours: {error}") from error
            else:
                return uri + mode
            finally:
                connection.close()
        raise ReadOnly(f"{path} can be neither written nor read: give read permission to it and its folder")

    def _connect_sqlite(self, name: str, uri: bool = True) -> sqlite3.Connection:
        connection = sqlite3.connect(
            name, uri=uri, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False, cached_statements=512
        )
        if self._durable:
            if uri and not self.read_only:
                _use_wal(connection)
            connection.execute("PRAGMA synchronous=FULL")
        else:
            connection.execute("PRAGMA journal_mode=OFF" if uri else "PRAGMA journal_mode=MEMORY")
            connection.execute("PRAGMA synchronous=OFF")
        return connection

    def _listen(self) -> None:
        def begin(connection: sa.Connection) -> None:
            write = connection.get_execution_options().get("mnemolog_write", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

        event.listen(self.engine, "begin", begin)


def _may_write(path: Path) -> bool:
    """Asked of the system, not tried: opening and closing the file would drop the locks that SQLite holds on it."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Readers and the writer do not wait for each other. The switch itself does not wait for other openers, so it is tried
    again; where it is made already it is nothing."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return


def upsert(table: sa.Table, dialect: str, update: dict[str, Any] | Sequence[str] | None = None) -> sa.Insert:
    """INSERT that, where the primary key is there already, updates `update` (names, or name to expression over
    `excluded`); by default every column outside the key."""
    make: Any = postgresql.insert if dialect == "postgresql" else sqlite.insert
    statement = make(table)
    keys = [column.name for column in table.primary_key]
    if update is None:
        update = [column.name for column in table.columns if column.name not in keys]
    if not isinstance(update, dict):
        update = {name: statement.excluded[name] for name in update}
    else:
        update = {
            name: value(table.c[name], statement.excluded[name]) if callable(value) else value for name, value in update.items()
        }
    result: sa.Insert = statement.on_conflict_do_update(index_elements=keys, set_=update)
    return result


def insert_new(table: sa.Table, dialect: str) -> sa.Insert:
    """INSERT that leaves a row alone whose key is there already."""
    make: Any = postgresql.insert if dialect == "postgresql" else sqlite.insert
    result: sa.Insert = make(table).on_conflict_do_nothing()
    return result
