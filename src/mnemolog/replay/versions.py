"""The versions of the read models as an operator sees them: which there are, which code made each, how far each goes.

Invariant: whoever makes, switches or drops versions is alone at it, and the version that answers is never dropped. What may be
read of an old version is decided when it is to answer again, not before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib.metadata import version as version_of
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

import filelock
import msgspec
import sqlalchemy as sa

from ..processors.core.ports import EventLog
from ..projections.store import Store
from ..projections.tables import SCHEMA_VERSION
from ..projections.version_notes import VersionNote, read_notes, write_note
from ..schemas.errors import Busy, NotFound
from ..schemas.events import CHANGES

__all__ = [
    "VersionView",
    "kept_versions",
    "list_versions",
    "log_of",
    "made_by",
    "no_version",
    "one_at_a_time",
    "readable_note",
    "switch",
]


VersionState = Literal["live", "kept", "building", "dropping", "unusable", "outdated"]


class VersionView(msgspec.Struct, frozen=True, kw_only=True):
    """One version of the read models, in one part of the memory."""

    version: int
    part: int
    """The partition on servers; 0 in a folder."""
    state: VersionState
    """live: it answers | kept: it can be fallen back to | building: a rebuild was ended before it was done, the next one goes
    on | dropping: tables that somebody still read when they were to go | unusable: of an older shape, or of unknown make |
    outdated: it was live before the shape of the tables changed, and answers nothing: the next write (on servers the next start
    of a worker) makes new ones, which are filled from the log."""
    behind: int
    """Records of the changes topic that are not in it."""
    bytes: int | None
    """The room it takes, indexes included; None where the database does not tell."""
    made_at: str
    """When it was begun; empty where that was not noted: what the first write made."""
    code: str
    """Which code filled it; empty where that was not noted."""
    schema: int = SCHEMA_VERSION
    """The shape of its tables."""
    digest: str
    """Of its rows when it went live."""


@cache
def made_by() -> str:
    """What must be the same for a half built version to be gone on with: the version of the package, the shape of the tables,
    and the code that makes rows of records."""
    digest = hashlib.sha256()
    package = files("mnemolog")
    for name in ("schemas", "processors/core", "projections"):
        for path, text in sorted(_sources(package.joinpath(*name.split("/")), name)):
            digest.update(path.encode() + b"\n" + text + b"\n")
    return f"{version_of('mnemolog')}/{SCHEMA_VERSION}/{digest.hexdigest()[:16]}"


def _sources(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_file() and entry.name.endswith((".py", ".yaml")):
            yield f"{name}/{entry.name}", entry.read_bytes()


def log_of(log: EventLog) -> str:
    """The log and its epoch, as a version notes them."""
    return f"{log.log_id}:{log.epoch}"


def readable_note(note: VersionNote | None, log: EventLog) -> bool:
    """Whether what a note tells of can answer: whole, of today's shape and of this log."""
    return note is not None and note.state == "ready" and note.schema == SCHEMA_VERSION and note.log_id in ("", log_of(log))


def list_versions(part: int, log: EventLog, store: Store) -> list[VersionView]:
    """All versions of one part, by number."""
    old = store.outdated()
    if old is not None:
        behind = log.end(CHANGES)
        return [
            VersionView(
                version=old.version,
                part=part,
                state="outdated",
                behind=behind,
                bytes=None,
                made_at="",
                code="",
                digest="",
                schema=old.schema,
            )
        ]
    live, notes = store.live_version(), store.version_notes()
    end = log.end(CHANGES)
    found: list[VersionView] = []
    for version in store.table_versions():
        note = notes.get(version)
        readable = readable_note(note, log)
        state: VersionState
        if version == live:
            state = "live"
        elif note is None or (note.state == "ready" and not readable):
            state = "unusable"
        else:
            state = "kept" if note.state == "ready" else note.state
        found.append(
            VersionView(
                version=version,
                part=part,
                state=state,
                behind=end - store.version_offsets(version)["changes"] if state in ("live", "kept", "building") else 0,
                bytes=store.version_bytes(version),
                made_at="" if note is None else note.made_at,
                code="" if note is None else note.code,
                digest="" if note is None else note.digest,
                schema=SCHEMA_VERSION if note is None or version == live else note.schema,
            )
        )
    return found


def no_version(version: int, views: Iterable[VersionView]) -> NotFound:
    """There is no such version: which there are."""
    there = ", ".join(f"{number} ({state})" for number, state in sorted({(view.version, view.state) for view in views}))
    return NotFound("version", str(version), f"there are {there}; `mnemolog versions` lists them", "of the read models")


def kept_versions(store: Store, log: EventLog) -> list[int]:
    """The versions that can be fallen back to, by number."""
    live, notes = store.live_version(), store.version_notes()
    return [number for number in store.table_versions() if number != live and readable_note(notes.get(number), log)]


def switch(
    connection: sa.Connection, store: Store, log: EventLog, replaced: int, version: int, digest: str | None = None
) -> None:
    """Makes a version the live one, inside a write transaction in which both stand at the same place. The notes say from now on
    what can be fallen back to. `digest`: of the rows of a version that was just filled."""
    notes = read_notes(connection)
    if replaced not in notes:
        write_note(connection, replaced, VersionNote(state="ready", schema=SCHEMA_VERSION, log_id=log_of(log)))
    if digest is not None:
        write_note(connection, version, msgspec.structs.replace(notes[version], state="ready", digest=digest))
    store.set_live(connection, version)


def one_at_a_time(store: Store) -> AbstractContextManager[object]:
    """A lock beside the file or on the server, held by the process and gone with it; an in-memory database has no other
    process."""
    if store.schema is not None:
        return store.alone("rebuild")
    if store.path is None:
        return nullcontext()
    return _locked(store.path)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = filelock.FileLock(path.with_name(path.name + ".rebuild.lock"), timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise Busy(f"another rebuild of {path} is running, or a version of it is being switched: wait for it") from None
    try:
        yield
    finally:
        lock.release()
