"""A rebuild that was ended is gone on with, what it replaced is kept, and falling back shows nothing that was hidden since."""

from __future__ import annotations

import shutil
import sqlite3
from typing import Any

import msgspec
import pytest

from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.projections.digest import digest_store, total_digest
from mnemolog.projections.tables import SCHEMA_VERSION
from mnemolog.projections.version_notes import VersionNote, write_note
from mnemolog.replay import filling
from mnemolog.replay.fall_back import fall_back
from mnemolog.replay.rebuild import Step, rebuild, rebuild_one
from mnemolog.replay.verify import verify
from mnemolog.replay.versions import list_versions, one_at_a_time
from mnemolog.schemas.changes import Hidden
from mnemolog.schemas.errors import Busy, FolderError, InvalidInput, LogError, NotFound
from mnemolog.schemas.events import CHANGES
from replay.folder import STORY, Folder
from replay.hand import SCOPE, Writer, created, quote, slot
from replay.logged import bring_up, record
from replay.places import Place
from replay.stories import SCOPES, tell


class Ended(Exception):
    """A rebuild ends here."""


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "BATCH", 7)
    monkeypatch.setattr(filling, "CLOSE", 3)


def rows(folder: Folder, version: int) -> dict[str, list[object]]:
    parts = {name.rpartition("_")[::2]: found for name, found in folder.place.tables().items()}
    return {name: found for (name, number), found in parts.items() if number == str(version)}


def end_after(batches: int) -> Any:
    left = [batches]

    def progress(_: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Ended

    return progress


def back(folder: Folder, version: int) -> Any:
    return fall_back([(folder.log, folder.store, True)], version)


def states(folder: Folder) -> dict[int, str]:
    return {view.version: view.state for view in list_versions(0, folder.log, folder.store)}


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("batches", [1, 3, 7])
def test_a_rebuild_that_was_ended_is_gone_on_with(folder: Folder, batches: int) -> None:
    with pytest.raises(Ended):
        rebuild(folder.log, folder.store, progress=end_after(batches))
    assert states(folder) == {1: "live", 2: "building"}
    steps: list[Step] = []
    report = rebuild(folder.log, folder.store, watch=steps.append)
    assert (report.version, report.resumed, report.inputs) == (2, 7 * batches, len(STORY))
    assert report.digest == report.digest_before
    assert rows(folder, 2) == rows(folder, 1)
    assert steps[0].done > 7 * batches
    assert [step.phase for step in steps][-2:] == ["check", "switch"]
    assert steps[-1].fraction == 1.0
    assert verify(folder.log, folder.store).equal


@pytest.mark.usefixtures("small_steps")
def test_what_came_while_it_lay_there_is_folded_too(place: Place) -> None:
    log, items = MemoryLog(), tell(STORY)
    record(log, items[:30])
    with place.open() as store:
        bring_up(log, store)
        with pytest.raises(Ended):
            rebuild(log, store, progress=end_after(2))
        record(log, items[30:])
        bring_up(log, store)
        report = rebuild(log, store)
        assert (report.resumed, report.inputs, report.differing_scopes) == (14, len(items), [])
        assert verify(log, store).equal


@pytest.mark.usefixtures("small_steps")
def test_what_other_code_began_is_begun_anew(folder: Folder) -> None:
    with pytest.raises(Ended):
        rebuild(folder.log, folder.store, progress=end_after(2))
    note = msgspec.structs.replace(folder.store.version_notes()[2], code="another")
    with folder.store.writing() as (connection, _):
        write_note(connection, 2, note)
    assert rebuild(folder.log, folder.store).resumed == 0
    with pytest.raises(Ended):
        rebuild(folder.log, folder.store, progress=end_after(2))
    assert rebuild(folder.log, folder.store, restart=True).resumed == 0


@pytest.mark.usefixtures("small_steps")
def test_a_log_that_broke_meanwhile_is_refused_when_it_goes_on(folder: Folder) -> None:
    with pytest.raises(Ended):
        rebuild(folder.log, folder.store, progress=end_after(1))
    folder.alter("DELETE FROM log_dynamics WHERE offset = 20")
    with pytest.raises(LogError, match=r"missing.*offset 20"):
        rebuild(folder.log, folder.store)
    assert states(folder) == {1: "live"}


def test_as_many_versions_are_kept_as_asked(folder: Folder) -> None:
    assert rebuild(folder.log, folder.store, keep=2).kept == [1]
    assert rebuild(folder.log, folder.store, keep=2).kept == [1, 2]
    report = rebuild(folder.log, folder.store, keep=2)
    assert (report.kept, report.dropped) == ([2, 3], [1])
    assert rebuild(folder.log, folder.store, keep=0).kept == []
    assert states(folder) == {5: "live"}


def test_a_version_that_is_kept_answers_again(folder: Folder) -> None:
    before = digest_store(folder.store)
    rebuild(folder.log, folder.store)
    report = back(folder, 1)
    assert (report.version, report.replaced, report.caught_up) == (1, 2, 0)
    assert (folder.store.live_version(), digest_store(folder.store)) == (1, before)
    assert states(folder) == {1: "live", 2: "kept"}
    again = rebuild(folder.log, folder.store)
    assert (again.version, again.replaced, again.kept, again.dropped) == (3, 1, [1], [2])


def test_falling_back_shows_nothing_that_was_hidden_since(place: Place) -> None:
    log, writer = MemoryLog(), Writer()
    writer.add(created(), slot(1, "Rome", evidence=[quote("e0")]))
    record(log, writer.items)
    with place.open() as store, place.open() as reader:
        bring_up(log, store)
        rebuild(log, store)
        writer.add(Hidden(target="turn", target_id="e0"), content="forget that")
        writer.add(slot(2, "Oslo", evidence=[quote("e2")]))
        record(log, writer.items[1:])
        bring_up(log, store)
        wanted = (store.turns(SCOPE), store.history(SCOPE))
        seen: list[object] = []
        report = fall_back([(log, store, True)], 1, watch=lambda _: seen.append((reader.live_version(), reader.turns(SCOPE))))
        assert report.caught_up == 2
        assert seen == [(2, wanted[0])] * len(seen) != []
        assert (reader.live_version(), (reader.turns(SCOPE), reader.history(SCOPE))) == (1, wanted)
        assert verify(log, store).equal
        assert store.cursor() == (3, 3)


def test_operators_mistakes_are_refused(folder: Folder) -> None:
    with pytest.raises(NotFound, match=r"^no version '7' of the read models \(there are 1 \(live\); `mnemolog versions` lists"):
        back(folder, 7)
    with pytest.raises(InvalidInput, match="answers already"):
        back(folder, 1)
    with pytest.raises(ValueError, match="live"):
        folder.store.drop_version(1)
    folder.store.make_version(2)
    assert states(folder) == {1: "live", 2: "unusable"}
    with pytest.raises(InvalidInput, match="unusable"):
        back(folder, 2)
    folder.store.make_version(3, VersionNote(state="ready", schema=1))
    with pytest.raises(InvalidInput, match="unusable"):
        back(folder, 3)
    with one_at_a_time(folder.store):
        for work in (lambda: rebuild(folder.log, folder.store), lambda: back(folder, 1)):
            with pytest.raises(Busy, match="another rebuild"):
                work()
    # What is of no use goes with the next rebuild.
    rebuild(folder.log, folder.store)
    assert states(folder) == {1: "kept", 4: "live"}


def outdate(folder: Folder) -> None:
    """As if the tables had been made before the last change of their shape."""
    notes = folder.store.version_notes()
    with folder.store.writing() as (connection, _):
        for number, note in notes.items():
            write_note(connection, number, msgspec.structs.replace(note, schema=SCHEMA_VERSION - 1))
    folder.store.close()
    assert folder.place.execute("UPDATE rm_meta SET value = ? WHERE name = 'schema_version'", str(SCHEMA_VERSION - 1)) == 1
    folder.store = folder.place.open(log_id=folder.log.log_id)


def test_tables_of_an_older_shape_are_told_as_such(folder: Folder) -> None:
    outdate(folder)
    [view] = list_versions(0, folder.log, folder.store)
    assert (view.version, view.state, view.schema, view.bytes) == (1, "outdated", SCHEMA_VERSION - 1, None)
    assert view.behind == folder.log.end(CHANGES)
    # A rebuild makes today's first, and does not take it for its own.
    report = rebuild(folder.log, folder.store)
    assert (report.version, report.replaced) == (3, 2)
    bring_up(folder.log, folder.store)
    assert states(folder)[3] == "live"
    assert verify(folder.log, folder.store).equal
    # So does who falls back: what is outdated is neither the one that answers nor one that can.
    outdate(folder)
    assert states(folder) == {3: "outdated"}
    with pytest.raises((NotFound, InvalidInput), match=r"there are .*4 \(live\)|it is unusable"):
        back(folder, 3)
    assert folder.store.live_version() == 4
    bring_up(folder.log, folder.store)
    assert verify(folder.log, folder.store).equal


def test_no_rebuild_begins_where_there_is_no_room(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    if folder.place.schema is not None:
        assert rebuild(folder.log, folder.store).needed_bytes is not None
        return  # a server does not tell how much room it has
    usage = shutil.disk_usage(folder.path.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(FolderError, match=r"needs about .* nothing was begun"):
        rebuild(folder.log, folder.store)
    assert states(folder) == {1: "live"}


@pytest.mark.usefixtures("small_steps")
def test_a_disk_that_is_full_in_the_middle_ends_it_cleanly(folder: Folder) -> None:
    if folder.place.schema is not None:
        return  # the server's disk is the whole run's
    before = digest_store(folder.store)
    store = folder.store
    make, most = store._database._connect_sqlite, [0]

    def limited(*args: Any, **more: Any) -> sqlite3.Connection:
        connection = make(*args, **more)
        connection.execute(f"PRAGMA max_page_count = {most[0] or 1 << 30}")
        return connection

    def fill(_: int) -> None:
        if not most[0]:
            with store.reading() as (connection, _current):
                most[0] = connection.exec_driver_sql("PRAGMA page_count").scalar_one() + 1
            store._database.engine.dispose()

    store._database._connect_sqlite = limited  # type: ignore[method-assign]
    with pytest.raises(FolderError, match="goes on from there"):
        rebuild(folder.log, store, progress=fill)
    assert (store.live_version(), digest_store(store)) == (1, before)
    most[0] = 0
    store._database.engine.dispose()
    assert states(folder) == {1: "live", 2: "building"}
    assert rebuild(folder.log, folder.store).digest == total_digest(before)


@pytest.mark.parametrize("error", [FolderError("the file cannot grow"), OSError(28, "No space left on device")], ids=repr)
def test_a_disk_that_is_full_after_the_switch_undoes_nothing(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    before = digest_store(folder.store)

    def full(version: int) -> bool:
        assert (version, folder.store.live_version()) == (1, 2)
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(folder.store, "drop_version", full)
        report = rebuild(folder.log, folder.store, keep=0)
    assert (report.version, report.dropped, report.kept) == (2, [], [1])
    [left] = report.left
    assert left.startswith(f"version 2 is live and whole, but what is older could not be dropped ({error})")
    assert "mnemolog versions drop" in left
    assert (folder.store.live_version(), digest_store(folder.store)) == (2, before)
    again = rebuild(folder.log, folder.store, keep=0)
    assert (again.version, again.dropped, again.kept, again.left) == (3, [1, 2], [], [])
    assert states(folder) == {3: "live"}


def test_a_rebuild_beside_a_fresh_scope(place: Place) -> None:
    """The number of the next version is above all that are there, also those of other parts."""
    log = MemoryLog()
    with place.open() as store:
        assert rebuild_one(log, store).report.version == 2
        record(log, tell(STORY[:5]))
        bring_up(log, store)
        assert fall_back([(log, store, True)], 1).caught_up == 5
        assert len(store.turns(SCOPES[0])) == len(store.turns(SCOPES[0], -1))
