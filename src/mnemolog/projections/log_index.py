"""What a partition of the log knows of itself beside Kafka: every id ever seen, the scopes' heads, the sessions' turns.

Invariant: the tables say exactly what the topics hold below each `next_offset`; the first record of an id counts, and of the
decisions only those that link. Any process may fold them on; the write lock makes it one at a time.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, PrimaryKeyConstraint, Table, Text

from ..processors.core.chain import valid_decisions
from ..processors.core.ports import IndexStep, IndexView, Stored
from ..schemas.codec import sha256_hex
from ..schemas.envelope import Envelope
from ..schemas.errors import LogError, Undecodable, UnknownLog
from ..schemas.events import CHANGES, DYNAMICS, TOPICS
from .bulk import Write, insert_rows
from .cells import Row
from .dialect import Database, Update, insert_new
from .postgres import pipelined, run_text, schema_of

__all__ = ["SqlLogIndex"]

_metadata = MetaData()
_seen = Table(
    "log_seen",
    _metadata,
    Column("topic", Integer, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
    PrimaryKeyConstraint("topic", "key"),
)
# One row an input; a turn also has its session and its id, and the offset of what hid it, if anything did. Scope, session and
# id are hashes: names may be longer than an index takes.
_inputs = Table(
    "log_inputs",
    _metadata,
    Column("scope", LargeBinary, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("session", LargeBinary),
    Column("turn", LargeBinary),
    Column("hidden_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("scope", "position"),
)
sa.Index("log_inputs_session", _inputs.c.scope, _inputs.c.session, _inputs.c.position)
sa.Index("log_inputs_turn", _inputs.c.scope, _inputs.c.turn)
_heads = Table(
    "log_heads",
    _metadata,
    Column("scope", LargeBinary, primary_key=True),
    Column("head", Text, nullable=False),
)
_offsets = Table(
    "log_offsets",
    _metadata,
    Column("topic", Text, primary_key=True),
    Column("next_offset", BigInteger, nullable=False),
    Column("recorded", Text, nullable=False),
)
_counts = Table(
    "log_counts",
    _metadata,
    Column("name", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
)
_meta = Table("log_meta", _metadata, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

_CHUNK = 500
_NEVER = 2**63 - 1
"""As `hidden_at`: nothing hid it."""

_HIDING = ("erasure.requested", "retraction.requested")

Key = tuple[str, str, str]


class SqlLogIndex:
    """The index of one partition in a database of its own (`schema` on a server). Thread-safe. Raises UnknownLog where it was
    made for another log."""

    def __init__(self, database: Path | str, *, log_id: str, schema: str | None = None) -> None:
        # On a server no commit waits for the disk: what a crash of it takes back is folded from the topics again.
        self._database = Database(database, schema=schema, durable=schema is None)
        try:
            with self._database.writing() as connection:
                _metadata.create_all(connection)
                connection.execute(insert_new(_meta, connection.dialect.name), [{"name": "log_id", "value": log_id}])
                made_for = connection.execute(sa.select(_meta.c.value).where(_meta.c.name == "log_id")).scalar_one()
            if made_for != log_id:
                raise UnknownLog(
                    f"the log's index in {schema or database} belongs to log {made_for}, not to {log_id}: the topics were made "
                    "anew, or this is another installation's database; give each its own prefix"
                )
        except BaseException:
            self._database.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[IndexView]:
        with self._database.reading() as connection:
            yield _Index(connection)

    @contextmanager
    def step(self) -> Iterator[IndexStep]:
        with self._database.writing(_OFFSETS_FIRST) as connection:
            index = _Index(connection, self._database.told())
            yield index
            index.write(last=True)

    def beside(self) -> Database:
        """The place that it lies in, for what is kept there and cannot be folded again."""
        return self._database.beside()

    def close(self) -> None:
        self._database.close()


class _Writes(NamedTuple):
    """The statements that write, in the dialect of a database."""

    seen: Write
    inputs: Write
    heads: Write
    offsets: Write
    counts: Write


@cache
def _writes(dialect: str) -> _Writes:
    more: Update = {"number": lambda old, given: old + given}
    return _Writes(
        insert_rows(_seen, dialect, keep=True),
        insert_rows(_inputs, dialect, keep=True),
        insert_rows(_heads, dialect),
        insert_rows(_offsets, dialect),
        insert_rows(_counts, dialect, more),
    )


class _Index:
    """What was looked up stays true: nobody else writes meanwhile, and a reader sees one moment. What is written goes to the
    database in one message, when it is read there or at the end."""

    def __init__(self, connection: sa.Connection, stand: Sequence[tuple[str | None, ...]] | None = None) -> None:
        self._connection = connection
        self._schema = schema_of(connection) if connection.dialect.name == "postgresql" else ""
        self._statements = _writes(connection.dialect.name)
        self._stand: dict[str, tuple[int, str]] | None = None
        if stand is not None:
            self._stand = {topic or "": (int(offset or 0), recorded or "") for topic, offset, recorded in stand}
        self._looked_up: dict[tuple[str, Key], tuple[int, str] | None] = {}
        self._heads: dict[str, str | None] = {}
        self._waiting: list[tuple[Write, list[Row]]] = []
        self._moved: dict[str, None] = {}
        self._counted: Counter[str] = Counter()

    def write(self, *, last: bool = False) -> None:
        """Sends what waits; `last`: nothing comes after it."""
        waiting, self._waiting = self._waiting, []
        if self._moved:
            rows: list[Row] = [
                {"topic": topic, "next_offset": self._stands()[topic][0], "recorded": self._stands()[topic][1]}
                for topic in self._moved
            ]
            waiting.append((self._statements.offsets, rows))
        if self._counted:
            rows = [{"name": name, "number": number} for name, number in self._counted.items()]
            waiting.append((self._statements.counts, rows))
        self._moved.clear()
        self._counted.clear()
        if waiting:
            with pipelined(self._connection, last=last):
                for statement, rows in waiting:
                    statement.run(self._connection, rows)

    def _read(self, statement: sa.Executable, parameters: dict[str, object] | None = None) -> Any:
        self.write()
        return self._connection.execute(statement, parameters)

    def _among(self, statement: sa.Executable, text: str, keys: list[bytes], **more: object) -> Any:
        """The rows of some keys."""
        if not self._schema:
            return self._read(statement, {"keys": keys, **more})
        self.write()
        return run_text(self._connection, text.format(schema=self._schema), {"keys": keys, **more})

    def next_offset(self, topic: str) -> int:
        return self._stands().get(topic, (0, ""))[0]

    def latest(self) -> str:
        return max((recorded for _, recorded in self._stands().values()), default="")

    def counts(self) -> dict[str, int]:
        return {name: int(number) for name, number in self._read(_COUNTS)}

    def _stands(self) -> dict[str, tuple[int, str]]:
        """Per topic the next offset and the newest recorded time."""
        if self._stand is None:
            self._stand = {topic: (int(offset), recorded) for topic, offset, recorded in self._connection.execute(_OFFSETS)}
        return self._stand

    def known(self, topic: str, keys: Sequence[Key]) -> dict[Key, tuple[int, str]]:
        asked = self._looked_up
        by_hash = {_key(key): key for key in keys if (topic, key) not in asked}
        hashes = list(by_hash)
        for start in range(0, len(hashes), _CHUNK):
            part = hashes[start : start + _CHUNK]
            asked.update(((topic, by_hash[hashed]), None) for hashed in part)
            for hashed, position, content in self._among(_KNOWN, _KNOWN_TEXT, part, number=_number(topic)):
                asked[topic, by_hash[bytes(hashed)]] = (position, content)
        return {key: found for key in keys if (found := asked[topic, key]) is not None}

    def heads(self, scopes: Sequence[str]) -> dict[str, str]:
        asked = self._heads
        by_hash = {_short(scope): scope for scope in scopes if scope not in asked}
        hashes = list(by_hash)
        for start in range(0, len(hashes), _CHUNK):
            part = hashes[start : start + _CHUNK]
            asked.update((by_hash[hashed], None) for hashed in part)
            asked.update((by_hash[bytes(hashed)], head) for hashed, head in self._among(_HEADS, _HEADS_TEXT, part))
        return {scope: head for scope in scopes if (head := asked[scope]) is not None}

    def last_input(self, scope: str) -> int | None:
        found: int | None = self._read(_LAST, {"scope": _short(scope)}).scalar_one()
        return found

    def session_turns(self, scope: str, session: str, before: int, limit: int, as_of: int) -> list[int]:
        rows = self._read(
            _SESSION,
            {"scope": _short(scope), "session": _short(session), "before": before, "most": limit, "as_of": as_of},
        )
        return sorted(rows.scalars())

    def turn_at(self, scope: str, turn_id: str, as_of: int) -> int | None:
        given = {"scope": _short(scope), "turn": _short(turn_id), "as_of": as_of}
        found: int | None = self._read(_TURN, given).scalar_one()
        return found

    def fold(self, topic: str, records: Sequence[Stored], next_offset: int) -> None:
        stands = self.next_offset(topic)
        fresh = [record for record in records if record.offset >= stands]
        if next_offset <= stands and not fresh:
            return
        if topic == CHANGES:
            self._fold_decisions(fresh)
        else:
            self._fold_events(topic, fresh)
        recorded = max((record.recorded for record in fresh), default="")
        self._stand_at(topic, max(next_offset, stands), recorded)

    def count(self, topic: str, next_offset: int, counts: Mapping[str, int]) -> None:
        self._counted.update({name: number for name, number in counts.items() if number})
        if next_offset > self.next_offset(topic):
            self._stand_at(topic, next_offset, "")

    def _stand_at(self, topic: str, next_offset: int, recorded: str) -> None:
        stands = self._stands()
        stands[topic] = (next_offset, max(recorded, stands.get(topic, (0, ""))[1]))
        self._moved[topic] = None

    def _fold_events(self, topic: str, records: Sequence[Stored]) -> None:
        """The first record of each id; bytes that are no event have none, and are passed over."""
        events: list[tuple[Key, Stored, Envelope]] = []
        for record in records:
            try:
                envelope = Envelope.from_bytes(record.value)
            except Undecodable:
                continue
            events.append(((record.scope, envelope.source, envelope.id), record, envelope))
        known = self.known(topic, [key for key, _, _ in events])
        seen: list[Row] = []
        inputs: list[Row] = []
        for key, record, envelope in events:
            if key in known:
                continue
            content = envelope.content_hash if topic == DYNAMICS else ""
            known[key] = self._looked_up[topic, key] = (record.offset, content)
            seen.append({"topic": _number(topic), "key": _key(key), "position": record.offset, "content": content})
            if topic == DYNAMICS:
                inputs.append(_input_row(record, envelope))
        if seen:
            self._waiting.append((self._statements.seen, seen))
        if inputs:
            self._waiting.append((self._statements.inputs, inputs))
        if topic == DYNAMICS:
            for _, record, envelope in events:
                if envelope.type in _HIDING:
                    self.write()
                    self._hide(record, envelope)

    def _hide(self, record: Stored, envelope: Envelope) -> None:
        """What was taken back is in no later turn's window."""
        here = (
            _inputs.c.scope == _short(record.scope),
            _inputs.c.position < record.offset,
            _inputs.c.hidden_at == _NEVER,
        )
        if envelope.type == "erasure.requested":
            self._connection.execute(sa.update(_inputs).where(*here).values(hidden_at=record.offset))
        elif envelope.type == "retraction.requested" and envelope.data.get("target") == "turn":
            said = _inputs.c.turn == _short(str(envelope.data.get("target_id")))
            self._connection.execute(sa.update(_inputs).where(*here, said).values(hidden_at=record.offset))

    def _note_new(self, place: tuple[str, Key], found: tuple[int, str]) -> None:
        """What was looked up and not there is what is written now; else what may be there from before counts."""
        if place in self._looked_up and self._looked_up[place] is None:
            self._looked_up[place] = found
        else:
            self._looked_up.pop(place, None)

    def _fold_decisions(self, records: Sequence[Stored]) -> None:
        before = self.heads(list(dict.fromkeys(record.scope for record in records)))
        heads = dict(before)
        seen: list[Row] = []
        for record in records:
            try:
                for valid in valid_decisions((record,), heads):
                    key = (record.scope, valid.envelope.source, valid.envelope.id)
                    self._note_new((CHANGES, key), (record.offset, valid.hash))
                    seen.append({"topic": _number(CHANGES), "key": _key(key), "position": record.offset, "content": valid.hash})
            except Undecodable:
                continue
        if seen:
            self._waiting.append((self._statements.seen, seen))
        moved: list[Row] = [
            {"scope": _short(scope), "head": head} for scope, head in heads.items() if before.get(scope) != head
        ]
        if moved:
            self._heads.update(heads)
            self._waiting.append((self._statements.heads, moved))


def _input_row(record: Stored, envelope: Envelope) -> dict[str, object]:
    turn = envelope.type == "turn.recorded"
    return {
        "scope": _short(record.scope),
        "position": record.offset,
        "session": _short(str(envelope.data.get("session", "default"))) if turn else None,
        "turn": _short(envelope.id) if turn else None,
        "hidden_at": _NEVER,
    }


def _number(topic: str) -> int:
    if topic not in TOPICS:
        raise LogError(f"there is no topic {topic!r}")
    return TOPICS.index(topic)


def _key(key: Key) -> bytes:
    return hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).digest()


def _short(name: str) -> bytes:
    return bytes.fromhex(sha256_hex(name.encode("utf-8", "surrogatepass"))[:32])


_OFFSETS = sa.select(_offsets.c.topic, _offsets.c.next_offset, _offsets.c.recorded)
_COUNTS = sa.select(_counts.c.name, _counts.c.number)
_KNOWN = sa.select(_seen.c.key, _seen.c.position, _seen.c.content).where(
    _seen.c.topic == sa.bindparam("number"), _seen.c.key.in_(sa.bindparam("keys", expanding=True))
)
_HEADS = sa.select(_heads.c.scope, _heads.c.head).where(_heads.c.scope.in_(sa.bindparam("keys", expanding=True)))
# The same for PostgreSQL, in its own words: they are asked for at every step.
_OFFSETS_FIRST = "SELECT topic, next_offset, recorded FROM {schema}.log_offsets"
_KNOWN_TEXT = "SELECT key, position, content FROM {schema}.log_seen WHERE topic = %(number)s AND key = ANY(%(keys)s::bytea[])"
_HEADS_TEXT = "SELECT scope, head FROM {schema}.log_heads WHERE scope = ANY(%(keys)s::bytea[])"
_LAST = sa.select(sa.func.max(_inputs.c.position)).where(_inputs.c.scope == sa.bindparam("scope"))
_SESSION = (
    sa.select(_inputs.c.position)
    .where(
        _inputs.c.scope == sa.bindparam("scope"),
        _inputs.c.session == sa.bindparam("session"),
        _inputs.c.position < sa.bindparam("before"),
        _inputs.c.hidden_at >= sa.bindparam("as_of"),
    )
    .order_by(_inputs.c.position.desc())
    .limit(sa.bindparam("most"))
)
_TURN = sa.select(sa.func.min(_inputs.c.position)).where(
    _inputs.c.scope == sa.bindparam("scope"),
    _inputs.c.turn == sa.bindparam("turn"),
    _inputs.c.hidden_at >= sa.bindparam("as_of"),
)
