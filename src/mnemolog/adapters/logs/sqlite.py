"""The log in one SQLite file, for any number of threads and processes on one machine.

Invariant: what one append call stores is on disk, as a whole, when the call returns; a call that raises has stored nothing.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from ...processors.core.ports import IndexFault, Placed, Stored
from ...schemas.envelope import Envelope, Position
from ...schemas.errors import InvalidInput
from ...schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, RECALLS
from ...schemas.scope import Scope
from .own_index import index_faults
from .plan import (
    Clock,
    Key,
    Known,
    NewRecord,
    check_derived,
    check_topic,
    plan_decisions,
    plan_derived,
    plan_inputs,
    stamp,
    utc_now,
)
from .pool import Pool
from .tables import TOPIC_TABLES, cell_bytes, look, make

__all__ = ["SqliteLog"]

CHUNK_ROWS = 512
"""A read fetches so many records at a time ..."""
CHUNK_BYTES = 4 * 1024 * 1024
"""... or this many bytes of them, and holds no lock and no transaction in between."""
SHORTEST_POLL = 0.002
LONGEST_POLL = 0.05
"""Seconds between two looks for what other processes appended: the longer nothing came, the longer. (Appends through the same
object wake at once.)"""

T = TypeVar("T")

_LATEST = f"SELECT max({', '.join(table.latest for table in TOPIC_TABLES.values())})"
_KNOWN = "SELECT offset, content FROM log_seen WHERE topic = ? AND scope = ? AND source = ? AND id = ?"
_SEEN = "INSERT INTO log_seen (topic, scope, source, id, offset, content) VALUES (?, ?, ?, ?, ?, ?)"
_LINK = "INSERT INTO log_links (scope, prev, offset) VALUES (?, ?, ?)"
_HEAD = "SELECT head FROM log_heads WHERE scope = ?"
_SET_HEAD = "INSERT INTO log_heads (scope, head) VALUES (?, ?) ON CONFLICT (scope) DO UPDATE SET head = excluded.head"


class SqliteLog:
    """An EventLog in the SQLite file at `path`, which is made when it is not there. Thread-safe, and safe across a fork.

    A writer waits up to `busy_timeout` seconds for others; `clock` gives the recorded time. Raises NotOurs, NewerVersion or
    ReadOnly where the file cannot be used, Busy where another writer kept it too long.
    """

    def __init__(self, path: Path | str, *, clock: Clock = utc_now, busy_timeout: float = 30.0) -> None:
        self._clock = clock
        self._pool = Pool(Path(path).absolute(), busy_timeout)
        try:
            # Looked at before anything is changed: a file that is not ours stays as it was.
            with self._pool.reading() as connection:
                meta = look(connection, self._pool.path)
            if meta is None:
                self._pool.use_wal()
                with self._pool.writing() as connection:
                    meta = make(connection, self._pool.path)
        except BaseException:
            self._pool.close()
            raise
        self._log_id = meta["log_id"]
        self._epoch = int(meta["epoch"])

    @property
    def log_id(self) -> str:
        return self._log_id

    @property
    def epoch(self) -> int:
        return self._epoch

    @property
    def partitions(self) -> int:
        return 1

    # -- writing -------------------------------------------------------------------------------------------------------

    def append_inputs(self, events: Sequence[Envelope]) -> list[Placed]:
        with self._pool.writing() as connection:
            first = _end(connection, DYNAMICS)
            recorded = self._stamp(connection)
            placed, new = plan_inputs(events, _lookup(connection, DYNAMICS), first, recorded, self._epoch)
            _store(connection, DYNAMICS, new, first, recorded)
        self._pool.notify()
        return placed

    def append_derived(self, topic: str, events: Sequence[Envelope]) -> int:
        check_derived(topic)
        with self._pool.writing() as connection:
            new = plan_derived(events, _lookup(connection, topic))
            _store(connection, topic, new, _end(connection, topic), self._stamp(connection))
        self._pool.notify()
        return len(new)

    def append_decisions(self, events: Sequence[Envelope]) -> list[str]:
        return self.append_processed([], events)

    def append_processed(self, observations: Sequence[Envelope], decisions: Sequence[Envelope]) -> list[str]:
        with self._pool.writing() as connection:
            observed = plan_derived(observations, _lookup(connection, OBSERVATIONS))
            decided = plan_decisions(decisions, _lookup(connection, CHANGES), lambda scope: _head(connection, scope))
            recorded = self._stamp(connection)
            _store(connection, OBSERVATIONS, observed, _end(connection, OBSERVATIONS), recorded)
            first = _end(connection, CHANGES)
            _store(connection, CHANGES, [decision.record for decision in decided], first, recorded)
            links = [(item.record.key.scope, item.prev, offset) for offset, item in enumerate(decided, first)]
            connection.executemany(_LINK, links)
            heads = {item.record.key.scope: item.record.content for item in decided}
            connection.executemany(_SET_HEAD, heads.items())
        self._pool.notify()
        return [item.record.content for item in decided]

    def drop_before(self, topic: str, time: str) -> int:
        """Deletes a topic's records that were appended before `time`, but for the newest one, so that no offset is given twice;
        returns how many there were. For topics that nothing is rebuilt from: recalls."""
        if topic != RECALLS:
            raise InvalidInput("topic", f"{topic} is kept for ever", f"only {RECALLS} may be cut")
        with self._pool.writing() as connection:
            end = min(_offset_at(connection, topic, time), _end(connection, topic) - 1)
            short = TOPIC_TABLES[topic].short
            connection.execute("DELETE FROM log_seen WHERE topic = ? AND offset < ?", (short, end))
            return connection.execute(TOPIC_TABLES[topic].drop, (end,)).rowcount

    def _stamp(self, connection: sqlite3.Connection) -> str:
        return stamp(self._clock, connection.execute(_LATEST).fetchone()[0])

    # -- reading -------------------------------------------------------------------------------------------------------

    def read(
        self, topic: str, start: int = 0, limit: int | None = None, *, partition: int = 0, scope: Scope | None = None
    ) -> Iterator[Stored]:
        end = self.end(topic, partition=partition)
        return self._chunks(topic, max(start, 0), end, end if limit is None else limit, scope)

    def _chunks(self, topic: str, start: int, end: int, left: int, scope: Scope | None) -> Iterator[Stored]:
        table = TOPIC_TABLES[topic]
        while start < end and left > 0:
            most = min(CHUNK_ROWS, left)
            with self._pool.reading() as connection:
                if scope is None:
                    cursor = connection.execute(table.read, (start, end, most))
                else:
                    cursor = connection.execute(table.read_scope, (start, end, str(scope), most))
                records, done = _fetch(topic, cursor)
            yield from records
            if done and len(records) < most:
                return
            start = records[-1].offset + 1
            left -= len(records)

    def end(self, topic: str, *, partition: int = 0) -> int:
        return self._look(topic, partition, lambda connection: _end(connection, topic))

    def offset_at(self, topic: str, time: str, *, partition: int = 0) -> int:
        return self._look(topic, partition, lambda connection: _offset_at(connection, topic, time))

    def position_of(self, scope: Scope, source: str, event_id: str) -> Position | None:
        key = Key(str(scope), source, event_id)
        known = self._look(DYNAMICS, 0, lambda connection: _lookup(connection, DYNAMICS)(key))
        return None if known is None else Position(self._epoch, 0, known.offset)

    def derived_offset(self, topic: str, scope: Scope, source: str, event_id: str) -> int | None:
        """Where the record of that id lies on a topic of derived ones, or None."""
        key = Key(str(scope), source, event_id)
        known = self._look(topic, 0, lambda connection: _lookup(connection, topic)(key))
        return None if known is None else known.offset

    def last_input(self, scope: Scope) -> int | None:
        query = TOPIC_TABLES[DYNAMICS].last_of_scope
        last: int | None = self._look(DYNAMICS, 0, lambda connection: connection.execute(query, (str(scope),)).fetchone()[0])
        return last

    def head(self, scope: Scope) -> str:
        return self._look(CHANGES, 0, lambda connection: _head(connection, str(scope)))

    def index_faults(self) -> list[IndexFault]:
        """Where the ids seen, the links and the heads are not what the records say."""
        with self._pool.reading() as connection:
            connection.execute("BEGIN")
            try:
                return list(index_faults(connection))
            finally:
                connection.execute("ROLLBACK")

    def wait(self, topic: str, after: int, timeout: float, *, partition: int = 0) -> bool:
        deadline = time.monotonic() + timeout
        pause = SHORTEST_POLL
        while True:
            changed = self._pool.changed
            with changed:
                if self.end(topic, partition=partition) > after:
                    return True
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                changed.wait(min(left, pause))
            pause = min(pause * 1.25, LONGEST_POLL)

    def close(self) -> None:
        self._pool.close()

    def _look(self, topic: str, partition: int, look: Callable[[sqlite3.Connection], T]) -> T:
        check_topic(topic, partition)
        with self._pool.reading() as connection:
            return look(connection)


def _store(connection: sqlite3.Connection, topic: str, new: Sequence[NewRecord], first_offset: int, recorded: str) -> None:
    table = TOPIC_TABLES[topic]
    numbered = list(enumerate(new, first_offset))
    connection.executemany(table.insert, [(offset, item.key.scope, recorded, item.value) for offset, item in numbered])
    connection.executemany(_SEEN, [(table.short, *item.key, offset, item.content) for offset, item in numbered])


def _lookup(connection: sqlite3.Connection, topic: str) -> Callable[[Key], Known | None]:
    short = TOPIC_TABLES[topic].short

    def known(key: Key) -> Known | None:
        try:
            row = connection.execute(_KNOWN, (short, *key)).fetchone()
        except UnicodeEncodeError:  # a lone surrogate: no stored key has one
            return None
        return None if row is None else Known(*row)

    return known


def _end(connection: sqlite3.Connection, topic: str) -> int:
    end: int = connection.execute(TOPIC_TABLES[topic].end).fetchone()[0]
    return end


def _head(connection: sqlite3.Connection, scope: str) -> str:
    row = connection.execute(_HEAD, (scope,)).fetchone()
    return "" if row is None else str(row[0])


def _fetch(topic: str, cursor: sqlite3.Cursor) -> tuple[list[Stored], bool]:
    """Records up to CHUNK_BYTES, and whether the cursor came to its end."""
    records: list[Stored] = []
    size = 0
    try:
        for offset, scope, value, recorded in cursor:
            if type(value) is not bytes or type(scope) is not str or type(recorded) is not str:
                # Who edits the file may put anything anywhere, and it must be readable to be named.
                scope, recorded, value = _text(scope), _text(recorded), cell_bytes(value)
            records.append(Stored(topic, 0, offset, scope, value, recorded))
            size += len(value)
            if size > CHUNK_BYTES:
                return records, False
    finally:
        cursor.close()
    return records, True


def _offset_at(connection: sqlite3.Connection, topic: str, time: str) -> int:
    """By halving: recorded times never go back, so that no index is needed."""
    low, high = 0, _end(connection, topic)
    while low < high:
        middle = (low + high) // 2
        offset, recorded = connection.execute(TOPIC_TABLES[topic].at, (middle,)).fetchone()
        if recorded < time:
            low = offset + 1
        else:
            high = middle
    return low


def _text(cell: object) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
