"""The PostgreSQL server behind a URL: one pool of connections per URL and process, shared by every schema that is read or
written there; which servers are accepted; and what a server's errors are to us.

Invariant: whatever may pass by itself (a server that is down, full or busy) is Unavailable, everything else stays loud.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.pool import ConnectionPoolEntry

from ..schemas.errors import FolderError, InvalidInput, LogError, Misconfigured, MnemologError, ReadOnly, Unavailable

__all__ = [
    "DEFAULT_SCHEMA",
    "LOCK_SECONDS",
    "OLDEST",
    "Server",
    "advisory_number",
    "begin_with",
    "big_number",
    "check_schema",
    "join",
    "pipelined",
    "run_text",
    "schema_of",
]

OLDEST = 14
"""The oldest PostgreSQL that is accepted."""
LOCK_SECONDS = 30
"""How long a writer waits for another one's transaction."""
CONNECT_SECONDS = 10
"""How long a connection may take to be made, where the URL does not say (`connect_timeout`)."""
IDLE_SECONDS = 1
"""A connection that was not used for longer is asked whether it is still there."""
DEFAULT_SCHEMA = "mnemolog"

_USED = "mnemolog_used"

_SCHEMA = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
_SETTINGS = (
    "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), "
    f"set_config('lock_timeout', '{LOCK_SECONDS}s', false)"
)

_WRONG = (
    "does not exist",
    "authentication failed",
    "no password supplied",
    "pg_hba.conf",
    "not permitted to log in",
    "permission denied",
    "SSL",
    "invalid connection option",
    "invalid connection string",
)
"""In what is said when no connection is made: waiting will not help."""


def check_schema(name: str) -> str:
    """The name of a schema, as it is. Raises InvalidInput for one that would have to be quoted or is PostgreSQL's own."""
    if not _SCHEMA.fullmatch(name):
        raise InvalidInput(
            "schema", f"{name!r} is no name of a schema", "give at most 63 of a-z, 0-9 and _, not beginning with a digit or pg_"
        )
    return name


def advisory_number(name: str) -> int:
    """The number of the advisory lock that goes by `name`: 64 bits, signed."""
    return int.from_bytes(hashlib.sha256(f"mnemolog:{name}".encode()).digest()[:8], "big", signed=True)


class Server:
    """The engine of one URL. Get one with `join`, give it back with `leave`."""

    def __init__(self, url: sa.URL) -> None:
        self.shown = url.render_as_string(hide_password=True)
        """The URL without its password, for messages."""
        self.users = 0
        self.lost = 0
        """How many connections broke so far. What was read before may not be there any more: the server that answers now may be
        another one, which knows less."""
        defaults = {
            "connect_timeout": str(CONNECT_SECONDS),
            "application_name": "mnemolog",
            "keepalives_idle": "30",
            "keepalives_interval": "10",
            "keepalives_count": "3",
            "tcp_user_timeout": "60000",
        }
        try:
            self.engine = sa.create_engine(
                url.set(query={**defaults, **url.query}),
                # What people said is not for the messages of errors.
                hide_parameters=True,
                pool_size=8,
                max_overflow=56,
                pool_timeout=LOCK_SECONDS,
            )
        except ImportError:
            raise InvalidInput("database", "needs the psycopg package", "pip install 'mnemolog[postgres]'") from None
        event.listen(self.engine, "connect", self._check)
        event.listen(self.engine, "checkin", _note_use)
        event.listen(self.engine, "checkout", self._ping)
        event.listen(self.engine, "invalidate", self._count_lost)

    def _check(self, connection: Any, _: object) -> None:
        """A new connection: is it to a server that can hold a memory?"""
        # A statement is prepared once per connection and schema; the default of 100 would throw them out again and again.
        connection.prepared_max = 2000
        try:
            self._accept(connection)
        except BaseException:
            connection.close()
            raise

    def _accept(self, connection: Any) -> None:
        before, connection.autocommit = connection.autocommit, True
        version, encoding, _ = connection.execute(_SETTINGS).fetchone()
        connection.autocommit = before
        if version < OLDEST * 10_000:
            raise Misconfigured(f"{self.shown} is PostgreSQL {version // 10_000}: mnemolog needs {OLDEST} or a newer one")
        if encoding != "UTF8":
            raise Misconfigured(f"{self.shown} is encoded in {encoding}: make a database with the encoding UTF8")

    def _ping(self, connection: Any, record: ConnectionPoolEntry, _: object) -> None:
        """A server may have been restarted: what was not used for a while is asked first, and made anew where it is gone."""
        if time.monotonic() - record.info.get(_USED, time.monotonic()) > IDLE_SECONDS:
            try:
                self.engine.dialect.do_ping(connection)
            except self.engine.dialect.loaded_dbapi.Error as error:
                raise exc.DisconnectionError from error

    def _count_lost(self, *_: object) -> None:
        self.lost += 1

    def leave(self) -> None:
        """One user less; the last one closes the connections."""
        with _lock:
            self.users -= 1
            if self.users > 0:
                return
            for key in [key for key, server in _servers.items() if server is self]:
                del _servers[key]
        self.engine.dispose()

    def error(self, error: exc.DBAPIError | exc.TimeoutError) -> MnemologError | None:
        """What an error of the database is to us; None for one that is a fault of ours."""
        if isinstance(error, exc.TimeoutError):
            return Unavailable(f"{self.shown}: every connection has been in use for {LOCK_SECONDS} s: try again later")
        text = " ".join(str(error.orig).split())
        code = getattr(error.orig, "sqlstate", None)
        if code is None:
            if not isinstance(error, exc.OperationalError | exc.InterfaceError):
                return None
            if not error.connection_invalidated and any(sign in text for sign in _WRONG):
                return Misconfigured(f"{self.shown} cannot be used ({text}): look after the URL and its rights")
            return Unavailable(f"{self.shown} cannot be reached ({text}): wait for it, then try again")
        if code == "55P03":
            return Unavailable(
                f"{self.shown} was kept locked for more than {LOCK_SECONDS} s by another writer: try again later"
            )
        if code in ("42501", "25006"):
            return ReadOnly(f"{self.shown} cannot be written ({text}): give the rights to it, or name the primary server")
        if code in ("42P01", "3F000", "42703"):
            return LogError(f"{self.shown}: tables are not as they were made ({text}): rebuild the read models")
        if code == "58030":
            return FolderError(f"{self.shown} cannot be read or written ({text}): look after its disk, then try again")
        if code[:2] in _PASSING or error.connection_invalidated:
            return Unavailable(f"{self.shown} cannot go on now ({text}): wait for it, then try again")
        return None


def _note_use(_: object, record: ConnectionPoolEntry) -> None:
    record.info[_USED] = time.monotonic()


@contextmanager
def pipelined(connection: sa.Connection, *, last: bool = False) -> Iterator[None]:
    """On PostgreSQL: the statements inside are sent without waiting for each answer, and their errors come at the end. None
    of them may return rows that are looked at. `last`: nothing follows them, so the transaction's commit goes with them."""
    if connection.dialect.name != "postgresql":
        yield
        return
    driver, raw = _driver(connection)
    if not driver.Pipeline.is_supported():
        yield
        return
    with _errors(connection), raw.pipeline():
        yield
        if last:
            raw.commit()


def begin_with(connection: sa.Connection, script: str) -> list[tuple[str | None, ...]]:
    """Begins a transaction with some statements in one message; the rows of the last of them, as text."""
    driver, raw = _driver(connection)
    with _errors(connection):
        result = raw.pgconn.exec_(f"BEGIN; {script}".encode())
        if result.status not in (driver.pq.ExecStatus.TUPLES_OK, driver.pq.ExecStatus.COMMAND_OK):
            if raw.closed:
                raise driver.OperationalError(result.error_message.decode("utf-8", "replace"))
            raise driver.errors.error_from_result(result)
    return [
        tuple(None if (value := result.get_value(row, column)) is None else value.decode() for column in range(result.nfields))
        for row in range(result.ntuples)
    ]


def run_text(connection: sa.Connection, text: str, parameters: Mapping[str, object]) -> Any:
    """Runs a statement that is written as psycopg takes it; the cursor, which has its rows."""
    _, raw = _driver(connection)
    with _errors(connection):
        return raw.execute(text, parameters)


def schema_of(connection: sa.Connection) -> str:
    """The schema that the statements of a connection are about."""
    names: Mapping[None, str] = connection.get_execution_options()["schema_translate_map"]
    return names[None]


def _driver(connection: sa.Connection) -> tuple[Any, Any]:
    return connection.dialect.loaded_dbapi, connection.connection.dbapi_connection


@contextmanager
def _errors(connection: sa.Connection) -> Iterator[None]:
    """What psycopg raises, as SQLAlchemy does."""
    driver, raw = _driver(connection)
    try:
        yield
    except driver.Error as error:
        lost = raw.closed or raw.broken
        if lost:
            connection.invalidate(error)
        raise exc.DBAPIError.instance(None, None, error, driver.Error, connection_invalidated=lost) from error


def big_number(value: int | None) -> Any:
    """As a number of one size: else a statement is prepared once for each of the sizes that its numbers have."""
    from psycopg.types.numeric import Int8

    return None if value is None else Int8(value)


_PASSING = ("08", "40", "53", "57")
"""Classes of SQLSTATE: connection lost, serialisation or deadlock, resources (disk full, too many clients), intervention."""

# What it warns of (that a pipeline could not be ended well) is raised here too; without this it is also printed.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

_servers: dict[sa.URL, Server] = {}
_lock = threading.Lock()


def join(url: str) -> Server:
    """The server behind a URL, one more user of it. Connects to nothing yet."""
    try:
        parsed = sa.make_url(url)
    except exc.ArgumentError:
        raise InvalidInput("database", "is no URL of a database", "give postgresql+psycopg://user@host/name") from None
    if parsed.drivername not in ("postgresql", "postgresql+psycopg"):
        raise InvalidInput(
            "database",
            f"{parsed.drivername} is not a database of ours",
            "give the path of a SQLite file, or postgresql+psycopg://user@host/name",
        )
    parsed = parsed.set(drivername="postgresql+psycopg")
    with _lock:
        server = _servers.get(parsed)
        if server is None:
            server = _servers[parsed] = Server(parsed)
        server.users += 1
        return server


def _after_fork() -> None:
    """A child has copies of the parent's connections: it lets them go, unused and open, and makes its own."""
    global _lock
    _lock = threading.Lock()
    for server in _servers.values():
        server.engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
