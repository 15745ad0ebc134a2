"""Does what a log in a file notes of its own records (ids seen, links between decisions, heads) say what the records say? The
next append rests on it: an id that is not noted is taken twice, and behind a head that is another no decision ever fits. Reads
only, inside one snapshot."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from ...processors.core.ports import IndexFault
from ...schemas.codec import sha256_hex
from ...schemas.envelope import Envelope
from ...schemas.errors import InvalidInput, Undecodable
from ...schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, SUMMARIES
from .tables import TOPIC_TABLES, cell_bytes

__all__ = ["index_faults"]

_SEEN = "SELECT offset, content FROM log_seen WHERE topic = ? AND scope = ? AND source = ? AND id = ?"


def index_faults(connection: sqlite3.Connection) -> Iterator[IndexFault]:
    """The first fault of the ids seen, by topic; then that of each chain of decisions."""
    for topic in (DYNAMICS, OBSERVATIONS, CHANGES, SUMMARIES):
        fault = _seen(connection, topic)
        if fault is not None:
            yield fault
    yield from _chains(connection)


def _seen(connection: sqlite3.Connection, topic: str) -> IndexFault | None:
    table = TOPIC_TABLES[topic]
    name = f"log_{table.short}"
    lost = connection.execute(
        f"SELECT s.scope, s.offset, s.id FROM log_seen s LEFT JOIN {name} r "  # noqa: S608 - names of ours
        "ON r.offset = s.offset AND r.scope = s.scope WHERE s.topic = ? AND r.offset IS NULL ORDER BY s.offset LIMIT 1",
        (table.short,),
    ).fetchone()
    if lost is not None:
        return IndexFault(lost[0], topic, _offset(lost[1]), f"id {lost[2]!r} was seen there, where no record of its scope is")
    for offset, scope, cell in connection.execute(f"SELECT offset, scope, value FROM {name} ORDER BY offset"):  # noqa: S608 - a name of ours
        value = cell_bytes(cell)
        try:
            event = Envelope.from_bytes(value)
            content = {DYNAMICS: event.content_hash, CHANGES: sha256_hex(value)}.get(topic, "")
        except (Undecodable, InvalidInput):
            continue  # a fold names it
        noted = connection.execute(_SEEN, (table.short, scope, event.source, event.id)).fetchone()
        if noted is None or noted[0] > offset:
            return IndexFault(scope, topic, offset, f"its id, {event.id!r}, is not among the ids seen")
        if noted[0] == offset and noted[1] != content:
            return IndexFault(scope, topic, offset, f"another content is noted for its id, {event.id!r}")
    return None


def _chains(connection: sqlite3.Connection) -> Iterator[IndexFault]:
    """Each scope's decisions, in the order of the log, by the links that are noted."""
    heads: dict[str, str] = {}
    wrong: set[str] = set()
    rows = connection.execute(
        "SELECT l.scope, l.prev, l.offset, r.value FROM log_links l LEFT JOIN log_changes r ON r.offset = l.offset AND "
        "r.scope = l.scope ORDER BY l.offset"
    )
    for scope, prev, offset, value in rows:
        if scope in wrong:
            continue
        if value is None or prev != heads.get(scope, ""):
            wrong.add(scope)
            said = "no decision of its scope is there" if value is None else "it does not follow on the one before it"
            yield IndexFault(scope, CHANGES, _offset(offset), f"a link is noted there, and {said}")
        else:
            heads[scope] = sha256_hex(cell_bytes(value))
    noted: dict[str, str] = dict(connection.execute("SELECT scope, head FROM log_heads").fetchall())
    for scope in sorted((heads.keys() | noted.keys()) - wrong):
        if heads.get(scope, "") != noted.get(scope, ""):
            yield IndexFault(scope, CHANGES, -1, "the head that is noted is not the last decision that is linked")


def _offset(cell: object) -> int:
    return cell if isinstance(cell, int) else -1
