"""The log's tables in the SQLite file, all named `log_...`: a table of records for each topic, one of the ids seen, one of the
links between decisions, one of heads, and what the file is. No record is ever updated, and none but recalls ever deleted."""

from __future__ import annotations

import sqlite3
import uuid
from pathlib import Path
from typing import NamedTuple

from ...schemas.errors import LogError, NewerVersion, NotOurs
from ...schemas.events import TOPICS
from .plan import EPOCH

__all__ = ["TOPIC_TABLES", "TopicTable", "look", "make"]

FORMAT = 1
"""The version of these tables."""
APPLICATION_ID = 0x6D6E656D
"""`mnem`: what SQLite's header calls the file's owner."""


class TopicTable(NamedTuple):
    """One topic's table and the statements on it. (The names come from the fixed list of topics, never from outside.)"""

    topic: str
    short: str
    create: str
    create_index: str
    insert: str
    end: str
    latest: str
    read: str
    read_scope: str
    at: str
    last_of_scope: str
    drop: str


def _table(topic: str) -> TopicTable:
    short = topic.split(".")[1].replace("-", "_")
    name = f"log_{short}"
    columns = "offset, scope, value, recorded"
    return TopicTable(
        topic=topic,
        short=short,
        create=f"CREATE TABLE {name} "
        "(offset INTEGER PRIMARY KEY, scope TEXT NOT NULL, recorded TEXT NOT NULL, value BLOB NOT NULL)",
        # An index of SQLite ends in the row id, here the offset, so that this one serves (scope, offset).
        create_index=f"CREATE INDEX {name}_by_scope ON {name} (scope)",
        insert=f"INSERT INTO {name} (offset, scope, recorded, value) VALUES (?, ?, ?, ?)",  # noqa: S608
        end=f"SELECT coalesce(max(offset), -1) + 1 FROM {name}",  # noqa: S608
        latest=f"coalesce((SELECT recorded FROM {name} ORDER BY offset DESC LIMIT 1), '')",  # noqa: S608
        read=f"SELECT {columns} FROM {name} WHERE offset >= ? AND offset < ? ORDER BY offset LIMIT ?",  # noqa: S608
        read_scope=f"SELECT {columns} FROM {name} "  # noqa: S608
        "WHERE offset >= ? AND offset < ? AND scope = ? ORDER BY offset LIMIT ?",
        at=f"SELECT offset, recorded FROM {name} WHERE offset >= ? ORDER BY offset LIMIT 1",  # noqa: S608
        last_of_scope=f"SELECT max(offset) FROM {name} WHERE scope = ?",  # noqa: S608
        drop=f"DELETE FROM {name} WHERE offset < ?",  # noqa: S608
    )


TOPIC_TABLES = {topic: _table(topic) for topic in TOPICS}

# One statement sees one state: somebody may be making the tables right now.
_OWNER = "SELECT application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id"

_CREATE = (
    "CREATE TABLE log_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE log_seen (topic TEXT NOT NULL, scope TEXT NOT NULL, source TEXT NOT NULL, id TEXT NOT NULL, "
    "offset INTEGER NOT NULL, content TEXT NOT NULL, PRIMARY KEY (topic, scope, source, id)) WITHOUT ROWID",
    # Two decisions of one scope can never link to the same one before them.
    "CREATE TABLE log_links (scope TEXT NOT NULL, prev TEXT NOT NULL, offset INTEGER NOT NULL, "
    "PRIMARY KEY (scope, prev)) WITHOUT ROWID",
    "CREATE TABLE log_heads (scope TEXT PRIMARY KEY, head TEXT NOT NULL) WITHOUT ROWID",
)


def look(connection: sqlite3.Connection, path: Path) -> dict[str, str] | None:
    """What the file says of itself, or None where it is empty; changes nothing.

    Raises NotOurs for somebody else's database, NewerVersion for tables of a newer mnemolog.
    """
    owner, tables = connection.execute(_OWNER).fetchone()
    if owner != APPLICATION_ID:
        if owner or tables:
            raise NotOurs(f"{path} is a database that mnemolog did not make: choose another path")
        return None
    meta: dict[str, str] = dict(connection.execute("SELECT name, value FROM log_meta").fetchall())
    try:
        known = int(meta["format"])
        _ = (meta["log_id"], int(meta["epoch"]))
    except (KeyError, ValueError) as error:
        raise LogError(
            f"{path} does not say any more what it is (log_meta: {error}): put a backup of the folder in its place"
        ) from None
    if known > FORMAT:
        raise NewerVersion(f"{path} has format {known}, this mnemolog knows {FORMAT}: upgrade mnemolog")
    return meta


def make(connection: sqlite3.Connection, path: Path) -> dict[str, str]:
    """Makes the tables, inside the caller's write transaction, unless somebody just did; returns what `look` returns."""
    meta = look(connection, path)
    if meta is not None:
        return meta
    for statement in _CREATE:
        connection.execute(statement)
    for table in TOPIC_TABLES.values():
        connection.execute(table.create)
        connection.execute(table.create_index)
    meta = {"format": str(FORMAT), "log_id": uuid.uuid4().hex, "epoch": str(EPOCH)}
    connection.executemany("INSERT INTO log_meta (name, value) VALUES (?, ?)", meta.items())
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    return meta


def cell_bytes(cell: object) -> bytes:
    """A record's bytes, also where somebody who edited the file put text there."""
    return cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "surrogatepass")
