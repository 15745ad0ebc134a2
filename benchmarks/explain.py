"""Which index does PostgreSQL take for every query that recall, the readers and the writers use? Fills a schema of its own with
a story that is copied for thousands of scopes, asks for the plan of every statement that the read models send, and names each
plan that reads a whole table.

    python benchmarks/explain.py --database postgresql+psycopg://user@host/name [--rows 1000000] [--keep]

Exit status 1 where a query that names its scope reads a whole table.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql

from mnemolog import Memory
from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.demo import SUBJECT, story
from mnemolog.producers.turns import turns_of
from mnemolog.projections.digest import digest_scope
from mnemolog.projections.hiding import hide
from mnemolog.projections.live import LiveReader
from mnemolog.projections.parked import undecided_from
from mnemolog.projections.projector import DecidedInput, Projector
from mnemolog.projections.reader import decided_inputs
from mnemolog.projections.store import Store
from mnemolog.projections.tables import scopes, vectors
from mnemolog.projections.vectors import VectorIndexer
from mnemolog.projections.weeks import due_weeks
from mnemolog.replay.states import StateFolder
from mnemolog.schemas.access import Sight, View
from mnemolog.schemas.changes import Hidden
from mnemolog.schemas.events import SUMMARIES
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import parse_time

SCHEMA = "mnemolog_explain"
BIG = 20
"""One of so many copies lies in the first scope: one that is larger than the others."""
STRIDE = 1000
"""Offsets between two copies."""
LARGE = 2000
"""Rows from which on a table may not be read whole."""
EVERYTHING = ("scopes", "stats of all", "heads", "due_weeks of all")
"""What reads a table whole by its nature."""
NAMES = (
    "form_id",
    "edge_id",
    "pending_id",
    "deadline_id",
    "event_id",
    "turn_id",
    "entry_id",
    "from_form",
    "to_form",
    "input_id",
)
"""Columns whose values name something of one copy."""


class Plan(NamedTuple):
    """One statement's plan."""

    asked: str
    """By which call."""
    statement: str
    indexes: list[str]
    whole: list[str]
    """Tables that it reads whole, among the large ones."""
    milliseconds: float | None
    """How long it took; None for one that writes, which is only planned."""


def told(folder: Path, store: Store) -> list[DecidedInput]:
    """The demo's story, decided, and projected with its weeks' summaries."""
    with Memory(folder, embedder=False) as memory:
        for turn in story():
            memory.add_events(
                turns_of(msgspec.to_builtins(turn), Scope("default", SUBJECT), now=parse_time(turn.occurred_at)[0])
            )
        memory.process()
    log = SqliteLog(folder / "memory.db")
    try:
        items = list(decided_inputs(log, 0))
        end = items[-1].offset + 1
        Projector(store).apply(items, states=StateFolder(store).fold(items), next_changes=end, applied_input=end)
        Projector(store).apply_summaries(log)
        return items
    finally:
        log.close()


def write(store: Store, items: Sequence[DecidedInput], shift: int) -> None:
    """The story again, behind everything."""
    shifted = [
        msgspec.structs.replace(item, offset=item.offset + shift, changes_offset=item.changes_offset + shift) for item in items
    ]
    end, scope = shifted[-1].offset + 1, items[0].scope
    states = {(scope, "written"): b"state", (scope, "gone"): None}
    Projector(store).apply(shifted, states=states, next_changes=end, applied_input=end)


def fill(store: Store, rows: int) -> dict[str, int]:
    """Copies of the story that the store holds until all tables together hold so many rows; returns the rows of each."""
    with store.writing() as (connection, t):
        number = store.scope_number(connection, f"default/{SUBJECT}")
        template = {table.name: _count(connection, table) for table in t.all()}
        copies = max(BIG, rows // sum(template.values()))
        big = copies // BIG
        connection.execute(sa.text("SELECT setval(pg_get_serial_sequence(:name, 'scope_id'), :last)"), {
            "name": f"{store.schema}.{scopes.name}", "last": number + copies,
        })  # fmt: skip
        copy = sa.func.generate_series(1, copies).table_valued(sa.column("n", sa.BigInteger), name="copy").render_derived()
        scope = sa.case((copy.c.n <= big, number), else_=number + copy.c.n)
        connection.execute(
            sa.insert(scopes).from_select(
                ["scope_id", "key", "tenant"],
                sa.select(
                    number + copy.c.n, sa.func.concat("default/user:", copy.c.n), sa.literal("default")
                ).where(copy.c.n > big),
            )
        )  # fmt: skip
        for table in t.all():
            if table is t.offsets:
                continue
            columns = [_copied(column, copy.c.n, scope) for column in table.columns]
            query = sa.select(*columns).select_from(sa.join(table, copy, sa.true())).where(table.c.scope_id == number)
            given = [column.name for column in table.columns]
            connection.execute(postgresql.insert(table).from_select(given, query).on_conflict_do_nothing())
        turns = t.turns.c
        every_fifth = turns.position % 5 == 0
        # What this story has none of.
        connection.execute(
            sa.insert(t.deadlines).from_select(
                ["scope_id", "deadline_id", "deadline", "due", "form_id", "slot", "version"],
                sa.select(
                    turns.scope_id,
                    turns.event_id,
                    sa.literal("valid_from"),
                    turns.occurred_at,
                    turns.event_id,
                    sa.literal("x"),
                    1,
                ).where(every_fifth),
            )
        )
        connection.execute(
            sa.insert(t.rejected).from_select(
                ["scope_id", "position", "place", "input_id", "reason", "form_type", "slot", "quote", "hidden"],
                sa.select(
                    turns.scope_id, turns.position, sa.literal(0), turns.event_id, sa.literal("no span"), sa.literal("person"),
                    sa.literal("x"), turns.content, sa.literal(0),
                ).where(every_fifth),
            )
        )  # fmt: skip
        connection.execute(
            sa.insert(vectors).from_select(
                ["embedder", "scope_id", "content_key", "vector"],
                sa.select(
                    sa.literal("bench/1"),
                    t.turns.c.scope_id,
                    sa.func.md5(t.turns.c.event_id),
                    sa.func.decode("00000000", "hex"),
                ),
            )
        )
        end = (copies + 1) * STRIDE
        connection.execute(sa.update(t.offsets).values(value=end))
    with store.writing() as (connection, t):
        for table in (*t.all(), scopes, vectors):
            connection.exec_driver_sql(f'ANALYZE "{store.schema}"."{table.name}"')
        return {table.name: _count(connection, table) for table in (*t.all(), scopes, vectors)}


def _copied(column: sa.Column[Any], copy: sa.ColumnElement[Any], scope: sa.ColumnElement[Any]) -> Any:
    if column.name == "scope_id":
        return scope
    if column.name in ("position", "touched"):
        return column + copy * STRIDE
    if column.name in NAMES:
        return sa.func.concat(column, "-", copy)
    return column


def _count(connection: sa.Connection, table: sa.Table) -> int:
    return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


class _Indexed:
    """A vector index that takes everything and stands where it is told."""

    def __init__(self, next_offset: int) -> None:
        self.next_offset = next_offset

    def upsert(self, scope: str, kind: str, points: Sequence[Any]) -> None: ...

    def flush(self, next_offset: int) -> None: ...


class _Embedder:
    name = "bench/2"

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.zeros((len(texts), 4), np.float32)


def calls(store: Store, scope: str, items: Sequence[DecidedInput], shift: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Everything that is asked of the read models, by name."""
    reader = LiveReader(store, MemoryLog())
    form = store.forms(scope)[0]
    turns = store.turns(scope, limit=50)
    yield "recall: forms", lambda: reader.forms(scope, include_retired=True)
    yield "recall: history", lambda: reader.history(scope)
    yield "recall: timeline, newest", lambda: reader.timeline(scope, limit=200, newest_first=True)
    yield "recall: timeline of a period", lambda: reader.timeline(scope, "2026-03-05", "2026-03-12", 200, True)
    yield "recall: pending", lambda: reader.pending(scope)
    yield "recall: closed_summaries", lambda: reader.closed_summaries(scope)
    yield "recall: turns_by_offset", lambda: reader.turns_by_offset(scope, [turn.offset for turn in turns])
    yield "recall: turn_index", lambda: reader.turn_index(scope)
    yield "recall: turn_index, the rest", lambda: reader.turn_index(scope, turns[-1].offset)
    yield "forms of a type", lambda: store.forms(scope, form.form_type)
    yield "form", lambda: store.form(scope, form.form_id)
    yield "history of a slot", lambda: store.history(scope, form.form_id, form.slots[0].slot)
    yield "edges", lambda: store.edges(scope)
    yield "summaries", lambda: store.summaries(scope)
    yield "week_summary", lambda: store.week_summary(scope, "2026-W10")
    yield "turns", lambda: store.turns(scope, turns[10].offset, 20)
    yield "turn", lambda: store.turn(scope, turns[0].event_id)
    yield "session_turns", lambda: store.session_turns(scope, turns[0].session, turns[-1].offset, 12)
    yield "deadlines_due", lambda: store.deadlines_due("2026-03-01")
    yield "deadlines_due of a scope", lambda: store.deadlines_due("2027-01-01", scope)
    yield "stats", lambda: store.stats(scope)
    yield "cursor", store.cursor
    yield "load_state", lambda: store.load_state(scope)
    yield "undecided_from", lambda: undecided_from(store, scope)
    yield "vectors_get", lambda: store.vectors_get("bench/1", scope, [f"{number:032x}" for number in range(64)])
    yield "vectors_scan", lambda: store.vectors_scan("bench/1", [scope])
    yield from seen(store, scope)
    embedder: Any = _Embedder()
    index: Any = _Indexed(turns[0].offset)
    yield "vectors: next turns", VectorIndexer(store, embedder, index).step
    yield "due_weeks", lambda: due_weeks(store, [(scope, "2026-W10")])
    yield "digest", lambda: _digest(store, scope)
    yield "scopes of a tenant", lambda: store.scopes("nobody")
    yield "write: apply", lambda: write(store, items, shift)
    yield "write: hide a turn", lambda: _hide(store, scope, Hidden(target="turn", target_id=turns[3].event_id))
    yield "write: hide a form", lambda: _hide(store, scope, Hidden(target="form", target_id=form.form_id))
    yield "write: apply_summaries", lambda: Projector(store).apply_summaries(_EMPTY)
    yield "scopes", store.scopes
    yield "stats of all", store.stats
    yield "heads", store.heads
    yield "due_weeks of all", lambda: due_weeks(store)


def seen(store: Store, scope: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is asked through views of some Form types, of some sources, and of both."""
    form, turn = store.forms(scope)[0], store.turns(scope, limit=1)[0]
    tenant = Scope.parse(scope).tenant
    for name, view in (
        ("types", View("types", form_types=["person"])),
        ("sources", View("sources", sources=["mnemolog"])),
        ("both", View("both", form_types=["person"], sources=["mnemolog", "mail"])),
    ):
        part = store.seen_by(Sight(tenant, (view,)))
        reads: dict[str, Callable[[], object]] = {
            "forms": partial(part.forms, scope, include_retired=True),
            "form": partial(part.form, scope, form.form_id),
            "history": partial(part.history, scope),
            "history of a slot": partial(part.history, scope, form.form_id, form.slots[0].slot),
            "timeline, newest": partial(part.timeline, scope, limit=200, newest_first=True),
            "entry": partial(part.entry, scope, "nobody"),
            "edges": partial(part.edges, scope),
            "pending": partial(part.pending, scope),
            "summaries": partial(part.summaries, scope),
            "turns": partial(part.turns, scope, turn.offset, 20),
            "turn": partial(part.turn, scope, turn.event_id),
            "turns_by_offset": partial(part.turns_by_offset, scope, [turn.offset]),
            "turn_index": partial(part.turn_index, scope),
            "stats": partial(part.stats, scope),
        }
        for asked, read in reads.items():
            yield f"seen by {name}: {asked}", read


_EMPTY = MemoryLog()
assert _EMPTY.end(SUMMARIES) == 0


def _digest(store: Store, scope: str) -> None:
    with store.reading() as (connection, t):
        digest_scope(connection, t, store.scope_number(connection, scope))


def _hide(store: Store, scope: str, what: Hidden) -> None:
    with store.writing() as (connection, t):
        hide(connection, t, store.scope_number(connection, scope), 0, what)


@contextmanager
def listening(store: Store) -> Iterator[list[tuple[str, Any]]]:
    """The statements that are sent meanwhile, with their parameters; none of them twice."""
    sent: dict[str, Any] = {}

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool) -> None:
        if statement.lstrip().startswith(("SELECT", "INSERT", "UPDATE", "DELETE")) and "pg_" not in statement:
            sent.setdefault(statement, parameters[0] if many else parameters)

    found: list[tuple[str, Any]] = []
    event.listen(store._database.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(store._database.engine, "before_cursor_execute", note)
        found += sent.items()


def explain(store: Store, asked: str, statement: str, parameters: Any, sizes: dict[str, int]) -> Plan:
    """The plan as the server makes it, under the settings that reads or writes have."""
    reads = statement.lstrip().startswith("SELECT")
    options = "(ANALYZE, TIMING OFF, FORMAT JSON)" if reads else "(FORMAT JSON)"
    within = store._database.reading() if reads and not asked.startswith("write") else store._database.writing()
    with within as connection:
        [plan] = connection.exec_driver_sql(f"EXPLAIN {options} {statement}", parameters).scalar_one()
    nodes = list(_nodes(plan["Plan"]))
    whole = [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]
    indexes = [node["Index Name"] for node in nodes if "Index Name" in node]
    large = sorted({name for name in whole if sizes.get(name, 0) >= LARGE})
    return Plan(asked, statement, sorted(set(indexes)), large, plan.get("Execution Time"))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def explained(store: Store, items: Sequence[DecidedInput], sizes: dict[str, int]) -> list[Plan]:
    """The plans of all statements that are sent about a scope of usual size and about the large one."""
    plans: list[Plan] = []
    copies = max(sizes.values())
    for place, scope in enumerate((f"default/{SUBJECT}", store.scopes()[-1])):
        # Behind every copy: what is written is new.
        for asked, call in calls(store, scope, items, (copies + 1 + place) * STRIDE):
            if place and asked in EVERYTHING:
                continue
            with listening(store) as sent:
                call()
            plans += [explain(store, asked, statement, parameters, sizes) for statement, parameters in sent]
    return plans


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", required=True, help="URL of a PostgreSQL server")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows in all tables together")
    parser.add_argument("--schema", default=SCHEMA, help="made, and removed at the end")
    parser.add_argument("--keep", action="store_true", help="leave the schema there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Store(given.database, schema=given.schema) as store:
        items = told(Path(folder) / "memory", store)
        began = time.perf_counter()
        sizes = fill(store, given.rows)
        print(f"{sum(sizes.values()):,} rows in {time.perf_counter() - began:.0f} s: ", end="")
        print(", ".join(f"{name} {count:,}" for name, count in sizes.items()))
        try:
            plans = explained(store, items, sizes)
        finally:
            if not given.keep:
                with store.writing() as (connection, _):
                    connection.execute(sa.schema.DropSchema(given.schema, cascade=True))
    bad = [plan for plan in plans if plan.whole and plan.asked not in EVERYTHING]
    for plan in plans:
        took = "   planned" if plan.milliseconds is None else f"{plan.milliseconds:7.2f} ms"
        print(f"{plan.asked:30} {took}  {', '.join(plan.indexes)}" + (f"  WHOLE {plan.whole}" if plan.whole else ""))
    for plan in bad:
        print(f"\n{plan.asked} reads {plan.whole} whole:\n{plan.statement}")
    print(f"\n{len(plans)} plans, {len(bad)} that read a table whole without need")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
