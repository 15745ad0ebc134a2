"""The same log gives the same read models on SQLite and on PostgreSQL: equal digests, and every answer the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from golden.recorded import LOGS, replay_into
from mnemolog import Memory
from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.demo import SUBJECT, story
from mnemolog.processors.core.ports import EventLog
from mnemolog.producers.turns import turns_of
from mnemolog.projections.compare import compare_scope
from mnemolog.projections.digest import digest_store, projected_scopes
from mnemolog.projections.live import LiveReader
from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.projections.weeks import due_weeks
from mnemolog.replay.verify import verify
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import parse_time
from replay.hand import Writer, created, project, quote, slot
from replay.logged import bring_up, emptied, record
from replay.places import Place, place_of
from replay.stories import Step, steps, tell
from support.examples import examples


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_of(request, "postgres", tmp_path_factory.mktemp("unused")) as made:
        yield made


@contextmanager
def both(server: Place) -> Iterator[tuple[Store, Store]]:
    """An empty store of each kind; compiling statements anew for every example would take longer than the examples."""
    with server.open() as there:
        with there.writing() as (connection, current):
            for table in current.all():
                connection.execute(sa.delete(table))
        yield emptied(), there


def answers(store: Store, log: EventLog | None = None) -> dict[str, Any]:
    """All that a reader can get, of every scope, by every way to ask."""
    reader = store if log is None else LiveReader(store, log)
    found: dict[str, Any] = {
        "scopes": store.scopes(),
        "stats": store.stats(),
        "heads": store.heads(),
        "cursor": store.cursor(),
        "due": store.deadlines_due("9"),
        "weeks": due_weeks(store),
    }
    for scope in store.scopes():
        turns = store.turns(scope)
        forms = store.forms(scope, include_retired=True)
        found[scope] = [
            store.stats(scope),
            forms,
            [store.form(scope, form.form_id) for form in forms],
            [reader.forms(scope, form.form_type) for form in forms],
            store.history(scope),
            [store.history(scope, form.form_id, held.slot) for form in forms for held in form.slots],
            reader.timeline(scope),
            reader.timeline(scope, limit=3, newest_first=True),
            reader.timeline(scope, since="2026-03-05", until="2026-03-12"),
            store.edges(scope, include_retired=True),
            reader.pending(scope),
            store.summaries(scope),
            reader.closed_summaries(scope),
            [store.week_summary(scope, view.week) for view in store.summaries(scope)],
            turns,
            [store.turn(scope, turn.event_id) for turn in turns],
            [store.session_turns(scope, turn.session, turn.offset + 1, 3) for turn in turns],
            reader.turns_by_offset(scope, [turn.offset for turn in turns]),
            reader.turn_index(scope),
            store.load_state(scope),
        ]
    return found


def assert_equal(here: Store, there: Store, log: EventLog | None = None) -> None:
    assert digest_store(here) == digest_store(there) != {}
    assert answers(here, log) == answers(there, log)
    with here.reading() as (mine, my_tables), there.reading() as (yours, your_tables):
        numbers = dict(projected_scopes(yours, your_tables))
        for scope, number in projected_scopes(mine, my_tables):
            assert compare_scope(scope, (mine, my_tables, number), (yours, your_tables, numbers[scope])) is None


def demo(folder: Path) -> EventLog:
    with Memory(folder / "demo", embedder=False) as memory:
        scope = Scope("default", SUBJECT)
        for turn in story():
            now = parse_time(turn.occurred_at)[0]
            memory.add_events(turns_of(msgspec.to_builtins(turn), scope, now=now))
        memory.process()
    return SqliteLog(folder / "demo" / "memory.db")


def recorded(_: Path) -> EventLog:
    log = MemoryLog()
    replay_into(log, LOGS[-1])
    return log


@pytest.mark.parametrize("made", [demo, recorded])
@pytest.mark.parametrize("size", [1, 1000])
def test_a_whole_log(server: Place, tmp_path: Path, made: Callable[[Path], EventLog], size: int) -> None:
    log = made(tmp_path)
    with both(server) as stores:
        for store in stores:
            bring_up(log, store, size)
        assert_equal(*stores, log)
        assert verify(log, stores[1]).equal
    log.close()


@examples(15)
@given(steps, st.integers(1, 12), st.integers(0, 40))
def test_any_story_in_any_batches(server: Place, story: list[Step], size: int, back: int) -> None:
    log = MemoryLog()
    items = tell(story)
    record(log, items)
    with both(server) as (here, there):
        bring_up(log, here, 1000)
        bring_up(log, there, size)
        # Again, from somewhere before the end: nothing happens.
        project(Projector(there), items[max(0, len(items) - back) :], size)
        # Smaller batches may close a week more often, on the log that both share: these revisions are for both.
        Projector(here).apply_summaries(log)
        assert_equal(here, there, log)


# What sorts by code point in one place alone if another's habits are followed, and what must be written apart.
ODD = ["", "a", "B", "é", "e", "\U0001f600", "\uffff", "ß", "ss", "\1", "\1\1", "\1\2", "a\1b", "\\", "\\x41", "%", "'\"{}"]
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12) | st.sampled_from(ODD)


def spoken(texts: Sequence[str], confidence: float) -> Writer:
    writer = Writer()
    for number, said in enumerate(texts):
        writer.add(
            created(form_id=f"f{said}", key=said, name=said),
            slot(
                1,
                said,
                form_id=f"f{said}",
                slot=said or "home",
                element=said,
                confidence=confidence,
                evidence=[quote(said, said)],
            ),
            content=said,
            session=said,
            event_id=f"e{number}",
        )
    return writer


@examples(20)
@given(st.lists(words, min_size=1, max_size=8), st.floats(0, 1))
def test_any_text_and_number(server: Place, texts: list[str], confidence: float) -> None:
    items = spoken(texts, confidence).items
    with both(server) as (here, there):
        for store in (here, there):
            project(Projector(store), items, 3)
        assert_equal(here, there)


@pytest.mark.parametrize("unit", ["x", "é", "語", "\U0001f600", "\\", "\1"])
def test_names_and_values_of_any_length(server: Place, unit: str) -> None:
    """Longer than an index of PostgreSQL takes, and different only at their ends."""
    alike = [unit * 20_000 + end for end in ("", "a", "b")]
    with both(server) as (here, there):
        for store in (here, there):
            writer = Writer()
            for version, long in enumerate(alike, 1):
                writer.add(
                    *([created()] if version == 1 else []),
                    slot(version, long, element=long, slot="home", evidence=[quote("e", long)]),
                    slot(1, long, slot=long),
                    content=long,
                )
            writer.add(slot(4, None, "retired", "removed", slot="home", element=alike[1], supersedes=2))
            project(Projector(store), writer.items, 2)
        [form] = there.forms("acme/user:1")
        assert sorted(held.element for held in form.slots if held.slot == "home") == [alike[0], alike[2]]
        assert_equal(here, there)


def test_numbers_at_their_limits(server: Place) -> None:
    """Offsets of 64 bits come back as they were."""
    last = 2**63 - 1
    with both(server) as stores:
        for store in stores:
            writer = Writer()
            writer.add(created(), slot(last, "Rome", evidence=[quote("e0", "Rome")]))
            Projector(store).apply(writer.items, states={}, next_changes=last, applied_input=last)
            assert store.cursor() == (last, last)
            assert store.forms("acme/user:1")[0].slots[0].version == last
