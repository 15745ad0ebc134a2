"""The tables of the read models. Every projected table carries a version suffix, so that a rebuild can make the next version
beside the live one; `active_versions` names the live one. What is not projected (scopes' numbers, vectors, facts about the
store) has no version."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Float, Index, Integer, LargeBinary, MetaData, PrimaryKeyConstraint, Table

from .columns import LONG, StoredText, conflict_key, long_text

__all__ = [
    "PREFIX",
    "PROJECTED",
    "SCHEMA_VERSION",
    "Tables",
    "active_versions",
    "create",
    "scopes",
    "store_meta",
    "tables",
    "vectors",
]

SCHEMA_VERSION = 7
"""The shape of all tables here; a store with a higher one was written by a newer mnemolog, and one with a lower one is filled
anew from the log. 2: which source and which Forms a row rests on. 3: a turn's terms without what a memory had put into it.
4: names and repeated values of hidden inputs are hidden. 7: a state knows what was called off and rolled back (as 5 and 6)."""

PREFIX = "rm_"
"""Of every table here: the log's own tables may lie in the same database."""

common = MetaData()

scopes = Table(
    PREFIX + "scopes",
    common,
    Column("scope_id", Integer, primary_key=True),
    Column("key", StoredText, nullable=False, unique=True),
    Column("tenant", StoredText, nullable=False, index=True),
)
store_meta = Table(
    PREFIX + "meta", common, Column("name", StoredText, primary_key=True), Column("value", StoredText, nullable=False)
)
active_versions = Table(
    PREFIX + "active_versions",
    common,
    Column("projection", StoredText, primary_key=True),
    Column("version", Integer, nullable=False),
)
vectors = Table(
    PREFIX + "vectors",
    common,
    Column("embedder", StoredText, nullable=False),
    Column("scope_id", Integer, nullable=False),
    Column("content_key", StoredText, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    PrimaryKeyConstraint("embedder", "scope_id", "content_key"),
)

PROJECTED = (
    "forms",
    "slots",
    "versions",
    "evidence",
    "timeline",
    "edges",
    "pending",
    "summaries",
    "turns",
    "deadlines",
    "rejected",
    "inputs",
    "rests",
    "mentions",
    "names",
    "weeks",
    "resolver_state",
    "heads",
    "offsets",
)
"""The tables that a rebuild makes anew."""


def _text(name: str) -> Column[str]:
    return Column(name, StoredText, nullable=False)


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, autoincrement=False)


def _hidden() -> Column[int]:
    return Column("hidden", Integer, nullable=False)


class Tables:
    """One version of all projected tables."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.metadata = MetaData()
        self.forms = self._table(
            "forms",
            _number("scope_id"),
            _text("form_id"),
            _text("form_type"),
            _text("key"),
            _text("name"),
            _text("status"),
            _text("updated_at"),
            _hidden(),
            key=("scope_id", "form_id"),
        )
        # What stands now: a pointer to a version. Lane 0 is the standing truth, lane N the scheduled version N.
        self.slots = self._table(
            "slots",
            _number("scope_id"),
            _text("form_id"),
            long_text("slot"),
            long_text("element"),
            _number("lane"),
            _number("version"),
            key=("scope_id", "form_id", "slot", "element", "lane"),
        )
        self.versions = self._table(
            "versions",
            _number("scope_id"),
            _text("form_id"),
            _text("form_type"),
            long_text("slot"),
            _text("element"),
            _number("version"),
            Column("value", StoredText),
            _text("status"),
            _text("reason"),
            Column("confidence", Float, nullable=False),
            _text("authority"),
            _text("valid_from"),
            Column("supersedes", BigInteger),
            Column("before", StoredText),
            _text("cause"),
            _number("pieces"),
            _number("position"),
            _number("place"),
            _text("input_id"),
            _text("event_time"),
            _text("session"),
            _text("extractor"),
            _text("recorded_at"),
            _hidden(),
            key=("scope_id", "form_id", "slot", "version"),
        )
        self._index(self.versions, "scope_id", "event_time")
        # The first five and the last five pieces of evidence of a version; `seq` counts them all from 0.
        self.evidence = self._table(
            "evidence",
            _number("scope_id"),
            _text("form_id"),
            long_text("slot"),
            _number("version"),
            _number("seq"),
            _text("turn_id"),
            _text("quote"),
            _number("start"),
            _number("end"),
            key=("scope_id", "form_id", "slot", "version", "seq"),
        )
        self._index(self.evidence, "scope_id", "turn_id")
        self.timeline = self._table(
            "timeline",
            _number("scope_id"),
            _number("position"),
            _number("place"),
            _text("entry_id"),
            _text("occurred_at"),
            _text("kind"),
            _text("text"),
            _text("actor"),
            _text("action"),
            _text("object"),
            _text("before"),
            _text("after"),
            _text("cause"),
            _text("form_id"),
            _text("slot"),
            _text("input_id"),
            _text("session"),
            _text("evidence"),
            _hidden(),
            key=("scope_id", "position", "place"),
        )
        self._index(self.timeline, "scope_id", "occurred_at", "position", "place")
        self.edges = self._table(
            "edges",
            _number("scope_id"),
            _text("edge_id"),
            _text("from_form"),
            _text("to_form"),
            _text("relation"),
            Column("weight", Float, nullable=False),
            _text("status"),
            _text("valid_from"),
            _number("position"),
            _number("place"),
            _text("input_id"),
            _text("evidence"),
            _hidden(),
            key=("scope_id", "edge_id"),
        )
        self.pending = self._table(
            "pending",
            _number("scope_id"),
            _text("pending_id"),
            _text("form_id"),
            _text("form_type"),
            _text("name"),
            _text("slot"),
            Column("value", StoredText),
            _text("why"),
            _text("question"),
            Column("confidence", Float, nullable=False),
            _text("authority"),
            _text("opened_at"),
            _number("position"),
            _number("place"),
            _text("input_id"),
            _text("evidence"),
            _text("closed"),
            _hidden(),
            key=("scope_id", "pending_id"),
        )
        self.summaries = self._table(
            "summaries",
            _number("scope_id"),
            _text("week"),
            _number("revision"),
            _number("turns"),
            _number("sessions"),
            _text("lines"),
            _text("input_ids"),
            _number("position"),
            key=("scope_id", "week", "revision"),
        )
        self.turns = self._table(
            "turns",
            _number("scope_id"),
            _number("position"),
            _text("event_id"),
            _text("source"),
            long_text("session"),
            _text("agent"),
            _text("role"),
            _text("speaker"),
            _text("content"),
            _text("occurred_at"),
            _text("event_time"),
            Column("expires_at", StoredText),
            _text("terms"),
            # A repetition within ten minutes: kept, found by its id, out of every list.
            Column("folded", Integer, nullable=False, default=0),
            _hidden(),
            key=("scope_id", "position"),
        )
        self._index(self.turns, "position")
        self._index(self.turns, "scope_id", "event_id")
        self._index(self.turns, "scope_id", "session", "position")
        self._index(self.turns, "scope_id", "event_time")
        self.deadlines = self._table(
            "deadlines",
            _number("scope_id"),
            _text("deadline_id"),
            _text("deadline"),
            _text("due"),
            _text("form_id"),
            _text("slot"),
            _number("version"),
            key=("scope_id", "deadline_id"),
        )
        self._index(self.deadlines, "due")
        self.rejected = self._table(
            "rejected",
            _number("scope_id"),
            _number("position"),
            _number("place"),
            _text("input_id"),
            _text("reason"),
            _text("form_type"),
            _text("slot"),
            _text("quote"),
            _hidden(),
            key=("scope_id", "position", "place"),
        )
        # Which source each input came from, turn or command.
        self.inputs = self._table(
            "inputs", _number("scope_id"), _number("position"), _text("event_id"), _text("source"), key=("scope_id", "position")
        )
        self._index(self.inputs, "scope_id", "event_id")
        # The other inputs that a change (named by where its decision's input lies, and its place there) rests on.
        self.rests = self._table(
            "rests",
            _number("scope_id"),
            _number("position"),
            _number("place"),
            _text("event_id"),
            key=("scope_id", "position", "place", "event_id"),
        )
        # What was heard of in an input: a Form, or a Form type where there is no Form yet, or the question that it answers.
        self.mentions = self._table(
            "mentions",
            _number("scope_id"),
            _text("event_id"),
            _text("form_type"),
            _text("form_id"),
            _text("pending_id"),
            key=("scope_id", "event_id", "form_type", "form_id", "pending_id"),
        )
        # What a Form was called from which change on; hidden where nothing but hidden inputs gave that name there.
        self.names = self._table(
            "names",
            _number("scope_id"),
            _text("form_id"),
            _number("position"),
            _number("place"),
            _text("name"),
            _hidden(),
            key=("scope_id", "form_id", "position", "place"),
        )
        # The literal that queries have: with a parameter in its place the index would not be looked at.
        gone = self.names.c.hidden == sa.literal_column("1")
        Index(f"{self.names.name}_hidden", self.names.c.scope_id, sqlite_where=gone, postgresql_where=gone)
        # Which weeks a scope has, and which of them changed (dynamics offset `touched`) after what their last summary covers;
        # a summary that does not cover `hidden_at` may tell of what was hidden there, and is not shown.
        self.weeks = self._table(
            "weeks",
            _number("scope_id"),
            _text("week"),
            _number("touched"),
            _number("summarised"),
            Column("inputs", Integer, nullable=False),
            _number("hidden_at"),
            key=("scope_id", "week"),
        )
        due = self.weeks.c.touched > self.weeks.c.summarised
        Index(f"{self.weeks.name}_due", self.weeks.c.scope_id, self.weeks.c.week, sqlite_where=due, postgresql_where=due)
        self.resolver_state = self._table(
            "resolver_state",
            _number("scope_id"),
            _text("key"),
            Column("blob", LargeBinary, nullable=False),
            key=("scope_id", "key"),
        )
        # The hash of each scope's newest projected decision: where reading the changes goes on from.
        self.heads = self._table("heads", _number("scope_id"), _text("head"), key=("scope_id",))
        self.offsets = self._table("offsets", _text("name"), _number("value"), key=("name",))

    def all(self) -> list[Table]:
        """Every table of this version, in the order of PROJECTED."""
        return [self.metadata.tables[self.name(name)] for name in PROJECTED]

    def name(self, table: str) -> str:
        return f"{PREFIX}{table}_{self.version}"

    def _table(self, name: str, *columns: Column[Any], key: tuple[str, ...]) -> Table:
        primary = PrimaryKeyConstraint(*key)
        table = Table(self.name(name), self.metadata, *columns, primary)
        long = [name for name in key if LONG in table.c[name].info]
        if long:
            # PostgreSQL has no key of an expression, but a unique index does the same.
            primary.ddl_if(dialect="sqlite")
            short = [table.c[name] for name in key if name not in long]
            Index(f"{table.name}_key", *short, *(conflict_key(table.c[name]) for name in long), unique=True).ddl_if(
                dialect="postgresql"
            )
        return table

    @staticmethod
    def _index(table: Table, *columns: str) -> None:
        name, plain = f"{table.name}_{'_'.join(columns)}", [table.c[name] for name in columns]
        short = [conflict_key(column) for column in plain]
        if short == plain:
            Index(name, *plain)
        else:
            Index(name, *plain).ddl_if(dialect="sqlite")
            Index(f"{name}_digest", *short).ddl_if(dialect="postgresql")


@lru_cache(maxsize=8)
def tables(version: int) -> Tables:
    """The tables of one version; made once, so that compiled statements are found again."""
    return Tables(version)


def create(connection: sa.Connection, version: int) -> None:
    """Makes the tables of a version, and those without one, where they are missing."""
    common.create_all(connection)
    tables(version).metadata.create_all(connection)
