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

from ..schemas.errors import Busy, Closed, MnemologError, NotOurs, ReadOnly
from ..schemas.storage import storage_error
from .columns import conflict_key
from .postgres import DEFAULT_SCHEMA, LOCK_SECONDS, Server, advisory_number, begin_with, check_schema, join

__all__ = ["Database", "Update", "insert_new", "on_conflict", "upsert"]

BUSY_SECONDS = 30
"""How long a writer waits for another process's write transaction."""

KEPT, MOST = 12, 64
"""Connections to a file that are kept, of 2 MiB of pages each at most; and that may be open at once."""
_WRITE = {"mnemolog_write": True}

_OPEN = sa.text(
    "SELECT virtualtransaction FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE locktype = 'virtualxid' AND datname = current_database() AND pid <> pg_backend_pid()"
)
"""The transactions of this database that are open."""


class Database:
    """An engine with short transactions. `target` is the path of a SQLite file, `:memory:`, or the URL of a PostgreSQL server.

    Any number of threads and processes may use one file or server; an in-memory database belongs to this object and serves
    one transaction at a time. On a server everything lies in `schema` (by default `mnemolog`), which comes with the first
    write, and all databases of one URL in a process share its connections.
    """

    @classmethod
    def with_tables(cls, target: Path | str, metadata: sa.MetaData, *, schema: str | None = None) -> Database:
        """One that has these tables: they are made where they are not there."""
        database = cls(target, schema=schema)
        try:
            with database.writing() as connection:
                metadata.create_all(connection)
        except BaseException:
            database.close()
            raise
        return database

    def __init__(self, target: Path | str, *, schema: str | None = None, durable: bool = True) -> None:
        self.target = target
        self.path: Path | None = None
        self.schema: str | None = None
        self._server: Server | None = None
        self.read_only = False
        self._closed = False
        self._pid = os.getpid()
        self._guard: threading.RLock | None = None
        self._made = False
        self._durable = durable
        self._told = threading.local()
        self._url = ""
        if isinstance(target, str) and "://" in target:
            self._url = target
            self.schema = check_schema(DEFAULT_SCHEMA if schema is None else schema)
            self._server = join(target)
            self.target = f"{self._server.shown} (schema {self.schema})"
            self.engine = self._server.engine
            here = self.engine.execution_options(schema_translate_map={None: self.schema})
            self._reader: sa.Engine = here.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            self._writer: sa.Engine = here
        elif str(target) == ":memory:":
            self._guard = threading.RLock()
            self.engine = sa.create_engine(
                "sqlite://",
                poolclass=StaticPool,
                creator=lambda: self._connect_sqlite(":memory:", uri=False),
                hide_parameters=True,
            )
            self._listen()
        else:
            self.path = path = Path(target).absolute()
            uri = self._sqlite_uri(path)
            self.engine = sa.create_engine(
                "sqlite://",
                poolclass=sa.QueuePool,
                # Opening one costs more than most reads: so many are kept, the last one used first, and more come as needed.
                pool_size=KEPT,
                max_overflow=MOST - KEPT,
                pool_use_lifo=True,
                creator=lambda: self._connect_sqlite(uri),
                hide_parameters=True,  # errors are logged, and what was said is not
            )
            self._listen()
        if self._server is None:
            self._reader, self._writer = self.engine, self.engine.execution_options(**_WRITE)

    def beside(self) -> Database:
        """Another one of the same place, whose commits are on disk when they return."""
        return Database(self._url or self.target, schema=self.schema)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One snapshot: all statements inside see the same state."""
        self._check_open()
        with self._guard or nullcontext(), self._errors(), self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, first: str = "") -> Iterator[sa.Connection]:
        """One atomic step; commits at the end, or nothing of it happened. `first`: on a server, a query in its own words (with
        `{schema}` for the schema) that comes along with the lock; `told` has its rows."""
        if self.read_only:
            raise ReadOnly(f"{self.target} cannot be written: open the memory from a place that can be written")
        self._check_open()
        with (
            self._guard or nullcontext(),
            self._errors(),
            self._writer.connect() as connection,
            connection.begin(),
        ):
            if self._server is not None:
                self._begin_write(connection, first)
            yield connection
        self._made = True

    def told(self) -> list[tuple[str | None, ...]] | None:
        """The rows that `writing` was asked for first, as text, once; None where they were not to be had."""
        rows: list[tuple[str | None, ...]] | None = getattr(self._told, "rows", None)
        self._told.rows = None
        return rows

    @contextmanager
    def alone(self, purpose: str) -> Iterator[None]:
        """Only one at a time, in all processes: Busy where another one is at it. On a server only (a file has locks of its
        own); the lock is gone with the connection that holds it."""
        self._check_open()
        number = advisory_number(f"{self.schema}:{purpose}")
        with self._errors(), self.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            if not connection.execute(sa.select(sa.func.pg_try_advisory_lock(number))).scalar_one():
                raise Busy(f"another {purpose} of {self.target} is running: wait for it")
            try:
                yield
            finally:
                try:
                    connection.execute(sa.select(sa.func.pg_advisory_unlock(number)))
                except exc.DBAPIError:
                    connection.invalidate()  # the lock goes with it

    def outwait_readers(self) -> bool:
        """Waits, on a server, until every transaction that is open now has ended, at most as long as for a writer. Then nobody
        reads by what was true before, and tables that are out of use may be dropped; dropping them at once would take them
        from under a reader, and wait for it with everything locked. False where some are still open."""
        if self._server is None:
            return True
        self._check_open()
        deadline = time.monotonic() + LOCK_SECONDS
        with self._errors(), self.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            before = set(connection.execute(_OPEN).scalars())
            while before:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.02)
                before &= set(connection.execute(_OPEN).scalars())
        return True

    def has_table(self, connection: sa.Connection, name: str) -> bool:
        return sa.inspect(connection).has_table(name, schema=self.schema)

    def table_names(self, connection: sa.Connection) -> list[str]:
        """Of this database, or of another one that stands in for it."""
        return sa.inspect(connection).get_table_names(schema=None if connection.dialect.name == "sqlite" else self.schema)

    @property
    def lost(self) -> int:
        """Grows where a connection to a server broke: what is remembered of its content is to be looked up again."""
        return 0 if self._server is None else self._server.lost

    def close(self) -> None:
        """Closes every connection that is not in use and not shared, and lets nobody open a new one. May be called twice."""
        if self._closed:
            return
        self._closed = True
        if self._server is None:
            # The one connection of a database in memory is closed when nobody is using it.
            with self._guard or nullcontext():
                self.engine.dispose()
        else:
            self._server.leave()

    def _begin_write(self, connection: sa.Connection, first: str) -> None:
        """What BEGIN IMMEDIATE is to a file: the lock comes before the first look, and every later statement sees what was
        committed before it. Making the schema, and tables in it, at the same time as others would fail without it."""
        # Every write finds its rows by a key. A plan that was made while the tables were small must not scan them later.
        off = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin"]
        if not self._durable:
            off.append("synchronous_commit")
        taken = [f"pg_advisory_xact_lock({advisory_number(str(self.schema))})"]
        taken += [f"set_config('{name}', 'off', true)" for name in off]
        script = f"SELECT {', '.join(taken)}"
        self._told.rows = None
        if self._made and first:
            try:
                self._told.rows = begin_with(connection, f"{script}; {first.format(schema=self.schema)}")
                return
            except exc.DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) not in ("42P01", "3F000"):
                    raise
                _roll_back(connection)  # the tables are gone: they are made anew
        begin_with(connection, script)
        # IF NOT EXISTS alone would ask for the right to make schemas even where it is there.
        if not self._made and connection.execute(sa.select(sa.func.to_regnamespace(self.schema))).scalar_one() is None:
            connection.execute(sa.schema.CreateSchema(self.schema or "", if_not_exists=True))

    def _check_open(self) -> None:
        """Raises Closed after `close()`; in a child made by fork leaves the parent's connections alone, unused and open."""
        if self._closed:
            raise Closed("the read models were closed: open the memory again")
        if os.getpid() != self._pid:
            self._pid = os.getpid()
            if self._server is None:
                self.engine.dispose(close=False)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (exc.DBAPIError, exc.TimeoutError) as error:
            raise self._translated(error) or error from error

    def _translated(self, error: exc.DBAPIError | exc.TimeoutError) -> MnemologError | None:
        if self._server is not None:
            return self._server.error(error)
        if (
            isinstance(error, exc.TimeoutError)
            or not isinstance(error.orig, sqlite3.Error)
            or isinstance(error.orig, sqlite3.ProgrammingError | sqlite3.InterfaceError)
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
            if connection.get_execution_options().get("mnemolog_write", False):
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                return
            # Takes no lock and waits for nobody; every read has one, and the long way costs more than the answer.
            raw: Any = connection.connection.dbapi_connection
            try:
                raw.execute("BEGIN")
            except sqlite3.Error:
                connection.exec_driver_sql("BEGIN")

        event.listen(self.engine, "begin", begin)


def _roll_back(connection: sa.Connection) -> None:
    raw = connection.connection.dbapi_connection
    if raw is not None:
        raw.rollback()


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


Update = dict[str, Any] | Sequence[str]
"""Names of columns, or name to an expression, or to a function of the old and the new value."""


def upsert(table: sa.Table, dialect: str, update: Update | None = None) -> sa.Insert:
    """INSERT that, where the primary key is there already, updates `update`; by default every column outside the key."""
    return on_conflict(None, table, dialect, update)


def insert_new(table: sa.Table, dialect: str) -> sa.Insert:
    """INSERT that leaves a row alone whose key is there already."""
    return on_conflict(None, table, dialect, keep=True)


def on_conflict(
    statement: Any, table: sa.Table, dialect: str, update: Update | None = None, *, keep: bool = False
) -> sa.Insert:
    """An INSERT (by default one of values) with what to do where the primary key is there already."""
    result: sa.Insert
    if statement is None:
        statement = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    if keep:
        result = statement.on_conflict_do_nothing()
        return result
    keys = [column.name for column in table.primary_key]
    if update is None:
        update = [column.name for column in table.columns if column.name not in keys]
    if not isinstance(update, dict):
        update = {name: statement.excluded[name] for name in update}
    else:
        update = {
            name: value(table.c[name], statement.excluded[name]) if callable(value) else value for name, value in update.items()
        }
    elements = [conflict_key(table.c[name]) if dialect == "postgresql" else name for name in keys]
    result = statement.on_conflict_do_update(index_elements=elements, set_=update)
    return result
