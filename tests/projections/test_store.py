"""The store itself: whose rows a read returns, which log it belongs to, who may share its file."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.projections.tables import SCHEMA_VERSION
from mnemolog.schemas.errors import NewerVersion, NotOurs, ReadOnly, UnknownLog
from mnemolog.schemas.scope import Scope
from replay.hand import OTHER, SCOPE, Writer, at, created, project, quote, slot
from replay.places import Place
from replay.stories import tell


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.sqlite"


def fill(store: Store, scope: Scope = SCOPE, name: str = "Rome") -> Writer:
    writer = Writer()
    writer.add(created(), slot(1, name, evidence=[quote("e0", name)]), scope=scope, content=f"I live in {name}")
    project(Projector(store), writer.items)
    return writer


# -- isolation ---------------------------------------------------------------------------------------------------------


def _entry_ids(store: Store) -> list[str]:
    """Of all scopes."""
    return sorted({entry.entry_id for scope in store.scopes() for entry in store.timeline(scope)})


READS: dict[str, Callable[[Store, Scope], object]] = {
    "forms": lambda store, scope: store.forms(scope, include_retired=True),
    "form": lambda store, scope: store.form(scope, "me"),
    "history": lambda store, scope: store.history(scope),
    "timeline": lambda store, scope: store.timeline(scope),
    "entry": lambda store, scope: [found for one in _entry_ids(store) if (found := store.entry(scope, one))],
    "edges": lambda store, scope: store.edges(scope, include_retired=True),
    "pending": lambda store, scope: store.pending(scope),
    "summaries": lambda store, scope: store.summaries(scope),
    "closed_summaries": lambda store, scope: store.closed_summaries(scope),
    "week_summary": lambda store, scope: store.week_summary(scope, "2026-W10")[0].lines,
    "turns": lambda store, scope: store.turns(scope),
    "turn": lambda store, scope: store.turn(scope, "e1"),
    "turns_by_offset": lambda store, scope: store.turns_by_offset(scope, range(100)),
    "session_turns": lambda store, scope: [turn for day in range(9) for turn in store.session_turns(scope, f"s{day}", 999, 99)],
    "turn_index": lambda store, scope: store.turn_index(scope),
    "stand": lambda store, scope: store.stand(scope)[1],
    "load_state": lambda store, scope: store.load_state(scope),
    "deadlines_due": lambda store, scope: store.deadlines_due("9", scope),
    "vectors_get": lambda store, scope: store.vectors_get("e/1", scope, ["k"]),
    "vectors_scan": lambda store, scope: store.vectors_scan("e/1", [scope]),
    "stats": lambda store, scope: {name: count for name, count in store.stats(scope).items() if count},
}


def test_every_read_that_names_a_scope_is_tried() -> None:
    """A new read method must be added above."""
    methods = {
        name
        for name, method in inspect.getmembers(Store, inspect.isfunction)
        if not name.startswith("_") and {"scope", "wanted"} & inspect.signature(method).parameters.keys()
    }
    assert methods - {"scope_number", "vectors_put"} == READS.keys()


@pytest.mark.parametrize("name", READS)
def test_no_row_of_another_scope_is_ever_read(store: Store, name: str) -> None:
    read = READS[name]
    kinds = ["set", "again", "ask", "edge", "episode", "plan", "rejected"]
    mine = tell([(0, kind, day) for day, kind in enumerate(kinds)])
    project(Projector(store), mine)
    store.vectors_put("e/1", Scope.parse(mine[0].scope), {"k": b"vector"})
    for stranger in (Scope("acme", "user:2"), Scope("umbrella", "user:1"), Scope("acme", "user:11")):
        assert not read(store, stranger)
    before = read(store, mine[0].input.scope)
    if name != "closed_summaries":
        assert before
    others = tell([(place, kind, day) for place in (0, 1, 2) for day, kind in enumerate(kinds)])
    rest = [item for item in others if item.scope != mine[0].scope]
    project(Projector(store), rest)
    assert read(store, mine[0].input.scope) == before


def test_the_scopes_of_a_tenant(store: Store) -> None:
    writer = Writer()
    for scope in (OTHER, SCOPE, Scope("umbrella", "user:1")):
        writer.add(created(), scope=scope)
    project(Projector(store), writer.items)
    assert store.scopes() == ["acme/user:1", "acme/user:2", "umbrella/user:1"]
    assert store.scopes("acme") == ["acme/user:1", "acme/user:2"]
    assert store.scopes("nobody") == []


# -- whose store it is -------------------------------------------------------------------------------------------------


def test_an_empty_store_reads_as_empty_and_makes_no_tables(store: Store, place: Place) -> None:
    assert store.forms(SCOPE) == store.turns(SCOPE) == store.scopes() == []
    assert store.cursor() == (0, 0)
    assert store.heads() == {}
    assert store.log_id is None
    assert set(store.stats().values()) == {0}
    assert place.tables() == {}


def test_a_store_belongs_to_the_log_it_was_built_from(place: Place) -> None:
    with place.open(log_id="one") as store:
        assert store.log_id == "one"
        fill(store)
    with place.open(log_id="one") as again, place.open() as unasked:
        assert again.log_id == unasked.log_id == "one"
    with pytest.raises(UnknownLog, match="built from log one, not from log two"):
        place.open(log_id="two")


def test_a_store_of_a_newer_version_is_refused(place: Place) -> None:
    with place.open() as store:
        fill(store)
    place.execute("UPDATE rm_meta SET value = ? WHERE name = 'schema_version'", str(SCHEMA_VERSION + 1))
    with pytest.raises(NewerVersion, match="upgrade mnemolog"):
        place.open()


def test_a_store_that_a_newer_version_takes_over_while_it_is_open_is_neither_read_nor_written_any_more(place: Place) -> None:
    with place.open() as store:
        writer = fill(store)
        shown = store.forms(SCOPE)
        place.execute("UPDATE rm_meta SET value = ? WHERE name = 'schema_version'", str(SCHEMA_VERSION + 1))
        with pytest.raises(NewerVersion, match="upgrade"):
            store.forms(SCOPE)
        writer.add(slot(2, "Oslo", evidence=[quote("e0", "Oslo")]), content="I live in Oslo")
        with pytest.raises(NewerVersion, match="upgrade"):
            project(Projector(store), writer.items)
        place.execute("UPDATE rm_meta SET value = ? WHERE name = 'schema_version'", str(SCHEMA_VERSION))
        assert store.forms(SCOPE) == shown


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(NotOurs, match="not a database"):
        Store(path)
    assert path.read_bytes().startswith(b"not a database at all")


READ_ONLY = """
import os, sys
from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.schemas.errors import ReadOnly

with Store(":memory:") as warm:
    Projector(warm).apply([], states={}, next_changes=1, applied_input=1)
if os.geteuid() == 0:
    os.seteuid(65534)  # root may write everywhere
with Store(sys.argv[1]) as store:
    print(store.read_only, store.forms("acme/user:1")[0].slots[0].value.data)
    try:
        Projector(store).apply([], states={}, next_changes=9, applied_input=9)
    except ReadOnly as error:
        print(error)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of this system are others")
@pytest.mark.parametrize("folder_too", [False, True])
def test_a_file_that_cannot_be_written_can_be_read(folder_too: bool) -> None:
    # An administrator's own temporary folder may be closed to the user that the other process becomes.
    folder = Path(tempfile.mkdtemp(prefix="mnemolog-test-", dir="/tmp" if os.geteuid() == 0 else None))
    path = folder / "memory.sqlite"
    try:
        with Store(path) as store:
            fill(store)
        path.chmod(0o444)
        folder.chmod(0o555 if folder_too else 0o777)
        done = subprocess.run([sys.executable, "-c", READ_ONLY, str(path)], capture_output=True, text=True, check=False)
        assert (done.stdout.splitlines()[:1], done.stderr) == (["True Rome"], "")
        assert "cannot be written" in done.stdout
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_read_only_is_said_before_anything_is_tried(store: Store) -> None:
    fill(store)
    store._database.read_only = True
    with pytest.raises(ReadOnly, match="cannot be written"):
        store.vectors_put("e/1", SCOPE, {"k": b""})


# -- sharing -----------------------------------------------------------------------------------------------------------


def test_threads_share_a_store(store: Store) -> None:
    items = tell([(number % 3, "set", number % 5) for number in range(120)])
    errors: list[BaseException] = []

    def write() -> None:
        try:
            project(Projector(store), items, 7)
        except BaseException as error:
            errors.append(error)

    def read() -> None:
        try:
            for _ in range(30):
                turns = [
                    turn.offset for scope in ("acme/user:1", "acme/user:2", "umbrella/user:1") for turn in store.turns(scope)
                ]
                assert len(set(turns)) == len(turns)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=target) for target in (write, write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert store.cursor() == (120, 120)
    assert store.stats()["turns"] == 120


def test_processes_share_a_database(place: Place) -> None:
    """Two processes project the same decisions at the same time; each is applied once."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from mnemolog.projections.store import Store; from mnemolog.projections.projector import Projector\n"
        "from replay.hand import project; from replay.stories import tell\n"
        "items = tell([(number % 3, 'set', number % 5) for number in range(90)])\n"
        "store = Store(sys.argv[1], schema=sys.argv[3] or None); project(Projector(store), items, 5)\n"
        "print(store.cursor().next_changes)\n"
    )
    command = [sys.executable, "-c", script, str(place.target), str(Path(__file__).parents[1]), place.schema or ""]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].strip() for process in running] == ["90", "90"]
    assert [process.returncode for process in running] == [0, 0]
    with place.open() as store, Store(":memory:") as alone:
        project(Projector(alone), tell([(number % 3, "set", number % 5) for number in range(90)]), 90)
        for scope in alone.scopes():
            assert store.history(scope) == alone.history(scope)


# -- vectors -----------------------------------------------------------------------------------------------------------


def test_vectors_are_kept_by_embedder_scope_and_content(store: Store) -> None:
    store.vectors_put("e/1", SCOPE, {"a": b"1", "b": b"2"})
    store.vectors_put("e/1", SCOPE, {"a": b"other"})
    store.vectors_put("e/2", SCOPE, {"a": b"3"})
    store.vectors_put("e/1", OTHER, {"c": b"4"})
    store.vectors_put("e/1", OTHER, {})
    assert store.vectors_get("e/1", SCOPE, ["a", "b", "c"]) == {"a": b"1", "b": b"2"}
    assert store.vectors_get("e/2", SCOPE, ["a", "b"]) == {"a": b"3"}
    assert store.vectors_scan("e/1", [OTHER, SCOPE]) == [
        (str(SCOPE), "a", b"1"),
        (str(SCOPE), "b", b"2"),
        (str(OTHER), "c", b"4"),
    ]


def test_many_keys_at_once(store: Store) -> None:
    store.vectors_put("e/1", SCOPE, {f"k{number:04}": b"v" for number in range(1500)})
    assert len(store.vectors_get("e/1", SCOPE, [f"k{number:04}" for number in range(0, 3000, 2)])) == 750


def test_times_are_text_that_sorts(store: Store) -> None:
    fill(store)
    assert store.turns(SCOPE)[0].occurred_at == at(0)
