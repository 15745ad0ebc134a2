"""API keys: 256 random bits each, of which only the SHA-256 is kept (a password wants a slow hash; these cannot be guessed), in
a table of the memory's own database. A key names its tenant, what it may do and what it may see."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import msgspec
import sqlalchemy as sa
from sqlalchemy import Column, MetaData, Table, Text

from ...projections.dialect import Database
from ...schemas.access import View
from ...schemas.errors import InvalidInput, NotFound
from ...schemas.scope import Scope
from ...schemas.times import to_text
from ...settings import Servers

__all__ = ["PERMISSIONS", "ApiKey", "KeyRing", "KeyStore", "Permission"]

Permission = Literal["read", "write", "admin"]
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)

REFRESH_SECONDS = 2.0
"""So long at most a running service goes by what it knew of a key."""
_ASK_SECONDS = 0.25
"""Unknown keys make the table be read at most so often."""
_PREFIX = "mnk"
_SHAPE = re.compile(rf"{_PREFIX}_([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})")

_metadata = MetaData()
_keys = Table(
    "service_keys",
    _metadata,
    Column("id", Text, primary_key=True),
    Column("hash", Text, nullable=False),
    Column("about", Text, nullable=False),
    Column("revoked", Text, nullable=False),
)


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a key; never the key itself.

    permissions: read, write, admin (which includes both); view: what of its tenant it may see, under the name that people know
    it by; created, revoked: when (fixed UTC form), `revoked` empty while it is valid.
    """

    id: str
    tenant: str
    permissions: tuple[Permission, ...]
    view: View
    created: str = ""
    revoked: str = ""

    def may(self, permission: Permission) -> bool:
        """Whether it has a permission; an admin has all."""
        return permission in self.permissions or "admin" in self.permissions


class KeyStore:
    """The table of keys of a folder (a SQLite file) or of an installation (a schema of its own). Thread-safe."""

    def __init__(self, database: Path | str, *, schema: str | None = None) -> None:
        self._database = Database.with_tables(database, _metadata, schema=schema)

    @classmethod
    def of_folder(cls, folder: Path) -> KeyStore:
        """In the database of a folder that is a memory."""
        from ...adapters.logs.folder import open_folder
        from ...adapters.logs.sqlite import SqliteLog

        home = open_folder(folder)
        SqliteLog(home.database).close()  # makes the file what it is to be, or says that it is not ours
        return cls(home.database)

    @classmethod
    def of_servers(cls, servers: Servers) -> KeyStore:
        """In the installation's PostgreSQL."""
        return cls(servers.database, schema=f"{servers.prefix}mnemolog_service")

    def add(
        self,
        view: View,
        *,
        tenant: str = "default",
        permissions: Iterable[str] = ("read", "write"),
    ) -> tuple[ApiKey, str]:
        """Makes a key for what a view names and returns it with its text, which is shown this once and kept nowhere. Raises
        InvalidInput."""
        Scope(tenant, "check")
        about = ApiKey(
            id=secrets.token_hex(6),
            tenant=tenant,
            permissions=_permissions(permissions),
            view=view,
            created=to_text(datetime.now(UTC)),
        )
        secret = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode("ascii").rstrip("=")
        text = f"{_PREFIX}_{about.id}_{secret}"
        row = {"id": about.id, "hash": _hash(text), "about": msgspec.json.encode(about).decode(), "revoked": ""}
        with self._database.writing() as connection:
            connection.execute(sa.insert(_keys), [row])
        return about, text

    def revoke(self, identifier: str) -> ApiKey:
        """From now on the key opens nothing (running services notice in seconds). Raises NotFound."""
        now = to_text(datetime.now(UTC))
        with self._database.writing() as connection:
            here = _keys.c.id == identifier
            connection.execute(sa.update(_keys).where(here, _keys.c.revoked == "").values(revoked=now))
            row = connection.execute(sa.select(_keys).where(here)).one_or_none()
        if row is None:
            raise NotFound("key", identifier, "`mnemolog keys list` shows them with their ids", "of this memory")
        return _about(row)

    def list(self) -> list[ApiKey]:
        """All of them, revoked ones too, the oldest first."""
        with self._database.reading() as connection:
            found = [_about(row) for row in connection.execute(sa.select(_keys))]
        return sorted(found, key=lambda key: (key.created, key.id))

    def valid(self) -> dict[str, tuple[str, ApiKey]]:
        """(hash, key) of those that are not revoked, by id."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(_keys).where(_keys.c.revoked == "")).all()
        return {row.id: (row.hash, _about(row)) for row in rows}

    def close(self) -> None:
        self._database.close()


class KeyRing:
    """The valid keys as a running service knows them. Thread-safe."""

    def __init__(self, store: KeyStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._lock = threading.Lock()
        self._known = store.valid()
        self._read = clock()

    def known(self, text: str) -> ApiKey | None:
        """The key of a text, by what is known now; costs no look at the database."""
        shape = _SHAPE.fullmatch(text)
        stored, about = self._known.get(shape[1], ("", None)) if shape is not None else ("", None)
        # Compared in constant time, though of a 256-bit hash no part can be guessed by its timing.
        return about if hmac.compare_digest(stored, _hash(text)) else None

    def is_due(self, text: str) -> bool:
        """Whether the table is to be read before an answer: it was read too long ago, or it may have this new key by now."""
        age = self._clock() - self._read
        return age > REFRESH_SECONDS or (age > _ASK_SECONDS and _SHAPE.fullmatch(text) is not None and self.known(text) is None)

    def refresh(self) -> None:
        """Reads the table, unless another thread has just done so."""
        before = self._read
        with self._lock:
            if self._read == before:
                began = self._clock()
                self._known = self._store.valid()
                self._read = began

    def __len__(self) -> int:
        return len(self._known)

    def close(self) -> None:
        self._store.close()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _about(row: sa.Row[tuple[str, str, str, str]]) -> ApiKey:
    return msgspec.structs.replace(msgspec.json.decode(row.about, type=ApiKey), revoked=row.revoked)


def _permissions(given: Iterable[str]) -> tuple[Permission, ...]:
    wanted = set(given)
    for name in sorted(wanted.difference(PERMISSIONS)):
        raise InvalidInput("permissions", f"{name!r} is none", f"give some of {', '.join(PERMISSIONS)}")
    if not wanted:
        raise InvalidInput("permissions", "are missing", f"give some of {', '.join(PERMISSIONS)}")
    return tuple(name for name in PERMISSIONS if name in wanted)
