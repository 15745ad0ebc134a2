"""What is noted of each version of the tables, beside them: which code made it, from which log, and whether it may be read.

Invariant: a note is written in the transaction that makes what it says true. The live version may have none; any other version
without one is of unknown make, and of no use but to be dropped.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import sqlalchemy as sa

from .dialect import upsert
from .tables import store_meta

__all__ = ["VersionNote", "VersionState", "read_notes", "write_note"]

_KIND = "version:"

VersionState = Literal["building", "ready", "dropping"]


class VersionNote(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a version."""

    state: VersionState
    """building: a rebuild fills it | ready: whole up to its own offsets | dropping: what is left of it goes."""
    schema: int
    """The shape of its tables."""
    code: str = ""
    """The code that filled it; empty where that is not known. Only the same code may go on with what is half built."""
    log_id: str = ""
    """The log, and its epoch, that it was filled from."""
    run: str = ""
    """The rebuild that made it, the same in every part of a memory."""
    made_at: str = ""
    """When it was begun, UTC."""
    digest: str = ""
    """Of its rows when it went live."""


def read_notes(connection: sa.Connection) -> dict[int, VersionNote]:
    """The notes of all versions that have one."""
    query = sa.select(store_meta.c.name, store_meta.c.value).where(store_meta.c.name.startswith(_KIND, autoescape=True))
    return {
        int(name.removeprefix(_KIND)): msgspec.json.decode(value, type=VersionNote) for name, value in connection.execute(query)
    }


def write_note(connection: sa.Connection, version: int, note: VersionNote | None) -> None:
    """Notes it, or, with None, that there is nothing to note any more."""
    name = f"{_KIND}{version}"
    if note is None:
        connection.execute(sa.delete(store_meta).where(store_meta.c.name == name))
    else:
        row = {"name": name, "value": msgspec.json.encode(note).decode()}
        connection.execute(upsert(store_meta, connection.dialect.name), [row])
