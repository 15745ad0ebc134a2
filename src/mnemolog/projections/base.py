"""The life of a store: which database, which log it was built from, which version of the tables is live, and what the
engine keeps beside the read models (cursor, resolver state, heads, vectors). An empty store reads as empty; its tables come
with the first write."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import sqlalchemy as sa

from ..schemas.errors import NewerVersion, UnknownLog
from ..schemas.scope import Scope
from .dialect import Database, insert_new, upsert
from .stand import LIVE, MEMORY, ask_file, find_live, known_shape, read_live, read_numbers
from .statements import Statements
from .tables import SCHEMA_VERSION, Tables, active_versions, create, scopes, store_meta, tables, vectors
from .version_notes import write_note

__all__ = ["CHUNK", "Cursor", "StoreBase"]

CHUNK = 500
"""Keys per IN list."""
OFFSETS = ("changes", "dynamics", "summaries")


class Cursor(NamedTuple):
    """How far the projections are."""

    next_changes: int
    """The offset of the changes topic to go on from."""
    applied_input: int
    """The dynamics offset below which every input is in the tables."""


class StoreBase:
    """Opens `database`: the path of a SQLite file, `:memory:`, or the URL of a PostgreSQL server, where everything lies in
    `schema`. Connections to a server are shared by all stores of its URL in a process; Unavailable where it is down, which may
    be raised by any method: the store works again once the server does.

    With `log_id` the store belongs to that log: UnknownLog where it was built from another one. NewerVersion where a newer
    mnemolog wrote it. `durable=False` is for what can be made again: a file may break with the machine; on a server a crash
    of it takes the newest commits back, in order.
    """

    def __init__(
        self, database: Path | str, *, schema: str | None = None, log_id: str | None = None, durable: bool = True
    ) -> None:
        self._database = Database(database, schema=schema, durable=durable)
        self._expected_log = log_id
        self._ready = False
        self._empty: list[Database] = []
        self._emptying = threading.Lock()
        self._scope_ids: dict[str, int] = {}
        self._lost = 0
        self._local = threading.local()
        self._dialect = self._database.engine.dialect.name
        try:
            with self._database.reading() as connection:
                self._check(connection)
        except BaseException:
            self._database.close()
            raise

    @property
    def read_only(self) -> bool:
        return self._database.read_only

    @property
    def path(self) -> Path | None:
        """The SQLite file; None for a database in memory or on a server."""
        return self._database.path

    @property
    def schema(self) -> str | None:
        """The schema on a server; None for SQLite."""
        return self._database.schema

    @property
    def log_id(self) -> str | None:
        """The log that this store was built from; None while it is empty and was not told."""
        with self._database.reading() as connection:
            return self._meta(connection).get("log_id", self._expected_log) if self._check(connection) else self._expected_log

    def close(self) -> None:
        self._database.close()
        with self._emptying:
            for empty in self._empty:
                empty.close()
            self._empty.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- transactions --------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self, version: int | None = None) -> Iterator[tuple[sa.Connection, Tables]]:
        """One snapshot of the live tables (or of those of `version`); inside `snapshot`, that one."""
        held: tuple[sa.Connection, Tables] | None = getattr(self._local, "held", None)
        if held is not None and version is None:
            yield held
            return
        with self._database.reading() as connection:
            if self._check(connection):
                yield connection, tables(read_live(connection) if version is None else version)
                return
        with self._nothing().reading() as connection:
            yield connection, tables(1)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All reads of this thread inside it see the tables as they are at its beginning, and cost one transaction."""
        if getattr(self._local, "held", None) is not None:
            yield
            return
        with self.reading() as (connection, current):
            self._local.held, self._local.cursor = (connection, current), None
            try:
                yield
            finally:
                self._local.held = self._local.cursor = None

    @contextmanager
    def writing(self, version: int | None = None) -> Iterator[tuple[sa.Connection, Tables]]:
        """One atomic write to the live tables (or to those of `version`), which are made where they are missing."""
        with self._database.writing(LIVE if version is None else "") as connection:
            told = self._database.told()
            if not self._check(connection):
                self._create(connection)
            self._local.numbered = {}
            if version is None:
                version = known_shape(told[0]) if told else read_live(connection)
            yield connection, tables(version)
        # Only now is it certain that they stay.
        self._scope_ids.update(self._local.numbered)
        self._ready = True

    def live_version(self) -> int:
        with self.reading() as (_, current):
            return current.version

    def statements(self, current: Tables) -> Statements:
        return _statements(current, self._dialect)

    def _check(self, connection: sa.Connection) -> bool:
        """Whether our tables are there; raises where they are not for us."""
        if self._lost != self._database.lost:
            self._lost, self._ready, self._scope_ids = self._database.lost, False, {}
        if self._ready:
            return True
        if not self._database.has_table(connection, store_meta.name):
            return False
        meta = self._meta(connection)
        if "schema_version" not in meta:
            return False
        if int(meta["schema_version"]) > SCHEMA_VERSION:
            raise NewerVersion(
                f"{self._database.target} holds read models of schema {meta['schema_version']}, this mnemolog knows "
                f"{SCHEMA_VERSION}: upgrade mnemolog"
            )
        older = int(meta["schema_version"]) < SCHEMA_VERSION
        built_from = meta.get("log_id")
        if self._expected_log is not None and built_from is not None and built_from != self._expected_log:
            raise UnknownLog(
                f"the read models in {self._database.target} were built from log {built_from}, not from log "
                f"{self._expected_log}: open them with their own log, or delete them and rebuild"
            )
        if older:
            return False
        self._ready = True
        return True

    def _create(self, connection: sa.Connection) -> None:
        """Makes the tables. Those of an older shape are left: the first write makes new ones beside them, which are filled from
        the log's beginning like those of an empty store."""
        there = self._database.has_table(connection, active_versions.name)
        before: int = (find_live(connection) or 0) if there else 0
        if before:
            tables(before + 1).metadata.drop_all(connection)  # what a rebuild of the older shape left there
            write_note(connection, before + 1, None)
        create(connection, before + 1)
        rows = [{"name": "schema_version", "value": str(SCHEMA_VERSION)}]
        if self._expected_log is not None:
            rows.append({"name": "log_id", "value": self._expected_log})
        connection.execute(upsert(store_meta, self._dialect), rows)
        self.set_live(connection, before + 1)
        if before and self._database.schema is None:
            tables(before).metadata.drop_all(connection)

    def _nothing(self) -> Database:
        # One for each thread: a database in memory serves one transaction at a time, and a snapshot may last.
        empty: Database | None = getattr(self._local, "empty", None)
        if empty is None:
            empty = Database(":memory:")
            with empty.writing() as connection:
                create(connection, 1)
            self._local.empty = empty
            with self._emptying:
                self._empty.append(empty)
        return empty

    @staticmethod
    def _meta(connection: sa.Connection) -> dict[str, str]:
        return _pairs(connection, sa.select(store_meta.c.name, store_meta.c.value))

    # -- scopes --------------------------------------------------------------------------------------------------------

    def scope_ids(self, connection: sa.Connection, names: Sequence[str]) -> dict[str, int]:
        """The numbers of scopes, given where they are new. Only inside a write transaction."""
        numbered: dict[str, int] = self._local.numbered
        found = {name: known[name] for known in (self._scope_ids, numbered) for name in names if name in known}
        missing = [name for name in names if name not in found]
        if missing:
            known = self._look_up(connection, missing)
            new = [name for name in missing if name not in known]
            if new:
                connection.execute(sa.insert(scopes), [{"key": name, "tenant": Scope.parse(name).tenant} for name in new])
                known |= self._look_up(connection, new)
            numbered.update(known)
            found |= known
        return found

    def scope_number(self, connection: sa.Connection, scope: Scope | str) -> int:
        """The number of a scope; -1, which no row has, for one that is not known."""
        key = str(scope)
        number = self._scope_ids.get(key)
        if number is None:
            number = self._look_up(connection, [key]).get(key)
            if number is None:
                return -1
            self._scope_ids[key] = number
        return number

    @staticmethod
    def _look_up(connection: sa.Connection, names: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for start in range(0, len(names), CHUNK):
            query = sa.select(scopes.c.key, scopes.c.scope_id).where(scopes.c.key.in_(names[start : start + CHUNK]))
            found |= _pairs(connection, query)
        return found

    # -- what the engine keeps here ------------------------------------------------------------------------------------

    def cursor(self) -> Cursor:
        """How far the live projections are."""
        known: Cursor | None = getattr(self._local, "cursor", None)
        if known is not None:
            return known
        with self.reading() as (connection, current):
            offsets = self.read_offsets(connection, current)
        cursor = Cursor(offsets["changes"], offsets["dynamics"])
        if getattr(self._local, "held", None) is not None:
            self._local.cursor = cursor
        return cursor

    def stand(self, scope: Scope | str) -> tuple[int, str, int]:
        """(the live version, the hash of the scope's newest projected decision, where the summaries go on): while it stays the
        same, so do the scope's rows."""
        with self.reading() as (connection, current):
            number = self.scope_number(connection, scope)
            if connection.dialect.name == "sqlite":
                rows = ask_file(connection, f"SELECT head FROM {current.heads.name} WHERE scope_id = ?", number)  # noqa: S608
                found = rows[0][0] if rows else None
            else:
                head = sa.select(current.heads.c.head).where(current.heads.c.scope_id == number)
                found = connection.execute(head).scalar_one_or_none()
            return current.version, found or "", self.read_offsets(connection, current)["summaries"]

    @staticmethod
    def read_offsets(connection: sa.Connection, current: Tables) -> dict[str, int]:
        """`changes`, `dynamics` and `summaries`: where each topic goes on; 0 at the start."""
        stored = read_numbers(connection, current.offsets)
        return {name: stored.get(name, 0) for name in OFFSETS}

    def heads(self, version: int | None = None) -> dict[str, str]:
        """The hash of each scope's newest projected decision: what reading the changes from the cursor on starts with."""
        with self.reading(version) as (connection, current):
            query = sa.select(scopes.c.key, current.heads.c.head).join(scopes, scopes.c.scope_id == current.heads.c.scope_id)
            return _pairs(connection, query)

    def load_state(
        self, scope: Scope | str, version: int | None = None, connection: sa.Connection | None = None
    ) -> dict[str, bytes]:
        """The resolver's state of a scope, by key. `version` and `connection`: of other tables than the live ones, and inside
        an open transaction."""
        if connection is not None and version is not None:
            return self._state(connection, tables(version), scope)
        with self.reading(version) as (opened, current):
            return self._state(opened, current, scope)

    def _state(self, connection: sa.Connection, current: Tables, scope: Scope | str) -> dict[str, bytes]:
        table = current.resolver_state
        query = sa.select(table.c.key, table.c.blob).where(table.c.scope_id == self.scope_number(connection, scope))
        return {key: bytes(blob) for key, blob in connection.execute(query.order_by(table.c.key))}

    # -- vectors -------------------------------------------------------------------------------------------------------

    def vectors_get(self, embedder: str, scope: Scope | str, content_keys: Iterable[str]) -> dict[str, bytes]:
        """The cached vectors of contents, those that are there."""
        keys = sorted(set(content_keys))
        found: dict[str, bytes] = {}
        with self.reading() as (connection, _):
            mine = (vectors.c.embedder == embedder, vectors.c.scope_id == self.scope_number(connection, scope))
            for start in range(0, len(keys), CHUNK):
                query = sa.select(vectors.c.content_key, vectors.c.vector).where(
                    *mine, vectors.c.content_key.in_(keys[start : start + CHUNK])
                )
                found |= {key: bytes(blob) for key, blob in connection.execute(query)}
        return found

    def vectors_put(self, embedder: str, scope: Scope | str, items: Mapping[str, bytes]) -> None:
        """Caches vectors by content key; a key that is there already keeps its vector."""
        self.vectors_put_all(embedder, {str(scope): items})

    def vectors_put_all(self, embedder: str, items: Mapping[str, Mapping[str, bytes]]) -> None:
        """The same for several scopes (`tenant/subject`), in one write."""
        if not any(items.values()):
            return
        with self.writing() as (connection, _):
            numbers = self.scope_ids(connection, list(items))
            rows = [
                {"embedder": embedder, "scope_id": numbers[scope], "content_key": key, "vector": blob}
                for scope, blobs in items.items()
                for key, blob in blobs.items()
            ]
            connection.execute(insert_new(vectors, self._dialect), rows)

    def vectors_scan(self, embedder: str, wanted: Sequence[Scope | str]) -> list[tuple[str, str, bytes]]:
        """(scope, content key, vector) of everything cached for these scopes, sorted."""
        with self.reading() as (connection, _):
            names = {self.scope_number(connection, scope): str(scope) for scope in wanted}
            found: list[tuple[str, str, bytes]] = []
            for number in sorted(names, key=lambda number: names[number]):
                query = (
                    sa.select(vectors.c.content_key, vectors.c.vector)
                    .where(vectors.c.embedder == embedder, vectors.c.scope_id == number)
                    .order_by(vectors.c.content_key)
                )
                found += [(names[number], key, bytes(blob)) for key, blob in connection.execute(query)]
            return found

    def drop_vectors(self, kept: Sequence[str]) -> list[str]:
        """Drops the cached vectors of all embedders but those that are kept, a scope at a time, so that no writer waits for all
        of them; returns whose."""
        unkept = vectors.c.embedder.not_in(kept)
        with self.reading() as (connection, _):
            found = sorted(connection.execute(sa.select(vectors.c.embedder, vectors.c.scope_id).where(unkept).distinct()).all())
        for embedder, number in found:
            with self.writing() as (connection, _):
                connection.execute(sa.delete(vectors).where(vectors.c.embedder == embedder, vectors.c.scope_id == number))
        return sorted({str(embedder) for embedder, _ in found})

    def alone(self, purpose: str) -> AbstractContextManager[None]:
        """On a server: a lock for one process at a time, Busy where another one has it."""
        return self._database.alone(purpose)

    # -- which version is live ------------------------------------------------------------------------------------------

    def set_live(self, connection: sa.Connection, version: int) -> None:
        """Makes a version the live one, inside a write transaction."""
        connection.execute(upsert(active_versions, self._dialect), [{"projection": MEMORY, "version": version}])


def _pairs(connection: sa.Connection, query: sa.Executable) -> dict[str, Any]:
    return {key: value for key, value in connection.execute(query).all()}  # noqa: C416 - rows are no pairs to a type checker


@lru_cache(maxsize=16)
def _statements(current: Tables, dialect: str) -> Statements:
    return Statements(current, dialect)
