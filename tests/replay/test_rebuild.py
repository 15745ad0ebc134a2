"""Rebuilding makes the same tables again beside the live ones; whatever happens on the way, one whole set is live."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.projections.digest import digest_store, total_digest
from mnemolog.replay.rebuild import rebuild
from mnemolog.replay.verify import verify
from mnemolog.schemas.errors import Busy, LogError
from replay.folder import STORY, Folder
from replay.hand import Writer, created, slot
from replay.logged import bring_up, record
from replay.places import Place
from replay.stories import SCOPES, tell


def everything(folder: Folder, version: int) -> dict[str, list[object]]:
    """Every row of a version's tables, as stored."""
    parts = {name.rpartition("_")[::2]: rows for name, rows in folder.place.tables().items()}
    return {name: rows for (name, number), rows in parts.items() if number == str(version)}


def test_two_rebuilds_are_the_same_byte_for_byte(folder: Folder) -> None:
    live = everything(folder, 1)
    first = rebuild(folder.log, folder.store)
    once = everything(folder, 2)
    second = rebuild(folder.log, folder.store)
    assert once == everything(folder, 3)
    assert first.digest == first.digest_before == second.digest
    assert (first.version, first.replaced, second.version, second.replaced) == (2, 1, 3, 2)
    assert (first.inputs, first.differing_scopes, first.rows["turns"]) == (len(STORY), [], len(STORY))
    assert (first.kept, first.dropped, second.kept, second.dropped) == ([1], [], [2], [1])
    assert everything(folder, 1) == {}
    assert folder.store.table_versions() == [2, 3]
    assert live == once
    assert verify(folder.log, folder.store).equal


def test_a_rebuild_repairs_what_was_edited(folder: Folder) -> None:
    before = total_digest(digest_store(folder.store))
    folder.alter("UPDATE rm_forms_1 SET name = 'Edited' WHERE scope_id = 2")
    report = rebuild(folder.log, folder.store)
    assert report.differing_scopes == [str(SCOPES[1])]
    assert (report.digest, report.digest == report.digest_before) == (before, False)
    assert verify(folder.log, folder.store).equal


def test_readers_and_writers_go_on_and_nothing_is_lost(place: Place) -> None:
    """While the new tables are built others append, project and read; the switch takes all of it along."""
    log = MemoryLog()
    items = tell(STORY * 20)
    record(log, items[:600])
    store, other = place.open(), place.open()
    bring_up(log, store)
    answers: list[int] = []

    def meanwhile(_: int) -> None:
        if len(answers) == 0:
            record(log, items[600:])
            thread = threading.Thread(target=bring_up, args=(log, other))
            thread.start()
            thread.join()
        answers.append(len(other.turns(SCOPES[0])))

    report = rebuild(log, store, progress=meanwhile)
    assert report.inputs == len(items)
    assert store.cursor() == (len(items), len(items))
    assert answers[0] > 0
    assert other.live_version() == store.live_version() == 2
    assert other.forms(SCOPES[0]) == store.forms(SCOPES[0])
    assert verify(log, other).equal
    store.close()
    other.close()


def test_the_old_tables_answer_unchanged_while_the_new_ones_build(folder: Folder) -> None:
    before = (folder.store.forms(SCOPES[0]), folder.store.history(SCOPES[0]), folder.store.summaries(SCOPES[0]))
    seen: list[object] = []

    def look(_: int) -> None:
        with folder.place.open() as reader:
            seen.append((reader.forms(SCOPES[0]), reader.history(SCOPES[0]), reader.summaries(SCOPES[0])))

    rebuild(folder.log, folder.store, progress=look)
    assert seen == [before] * len(seen) != []


def test_a_rebuild_that_fails_leaves_the_old_tables_live(folder: Folder) -> None:
    before = digest_store(folder.store)

    def crash(_: int) -> None:
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        rebuild(folder.log, folder.store, progress=crash)
    assert folder.store.live_version() == 1
    assert folder.store.table_versions() == [1, 2]
    assert digest_store(folder.store) == before
    assert rebuild(folder.log, folder.store).digest == total_digest(before)
    assert folder.store.table_versions() == [1, 2]


def test_a_killed_rebuild_leaves_the_old_tables_live(folder: Folder) -> None:
    script = (
        "import sys, os, signal; from pathlib import Path\n"
        "from mnemolog.adapters.logs.sqlite import SqliteLog; from mnemolog.projections.store import Store\n"
        "from mnemolog.replay.rebuild import rebuild\n"
        "store = Store(sys.argv[2], schema=sys.argv[3] or None)\n"
        "rebuild(SqliteLog(Path(sys.argv[1])), store, progress=lambda _: os._exit(9))\n"
    )
    before = digest_store(folder.store)
    place = folder.place
    command = [sys.executable, "-c", script, str(folder.path), str(place.target), place.schema or ""]
    ended = subprocess.run(command, env=dict(os.environ), check=False)
    assert ended.returncode == 9
    assert folder.store.table_versions() == [1, 2]
    assert (folder.store.live_version(), digest_store(folder.store)) == (1, before)
    assert rebuild(folder.log, folder.store).digest == total_digest(before)


def test_a_broken_log_is_refused(folder: Folder) -> None:
    folder.alter("DELETE FROM log_changes WHERE offset = 4")
    before = digest_store(folder.store)
    with pytest.raises(LogError, match=r"acme/user:2.*undecided.*'e4'.*offset 4"):
        rebuild(folder.log, folder.store)
    assert folder.store.table_versions() == [1]
    assert digest_store(folder.store) == before


def test_one_rebuild_at_a_time(folder: Folder) -> None:
    tried: list[str] = []

    def another(_: int) -> None:
        with folder.place.open() as store, pytest.raises(Busy, match="another rebuild") as refused:
            rebuild(folder.log, store)
        tried.append(str(refused.value))

    assert rebuild(folder.log, folder.store, progress=another).version == 2
    assert tried
    assert rebuild(folder.log, folder.store).version == 3


def test_vectors_are_kept(folder: Folder) -> None:
    folder.store.vectors_put("e/1", SCOPES[0], {"k": b"vector"})
    rebuild(folder.log, folder.store)
    assert folder.store.vectors_get("e/1", SCOPES[0], ["k"]) == {"k": b"vector"}


def test_an_empty_memory_can_be_rebuilt(place: Place) -> None:
    log = MemoryLog()
    with place.open(log_id=log.log_id) as store:
        report = rebuild(log, store)
        assert (report.inputs, report.version) == (0, 2)
        assert store.forms(SCOPES[0]) == []


def test_the_state_goes_along(place: Place) -> None:
    """Dropping the resolver's state and refolding it changes nothing."""
    log = MemoryLog()
    writer = Writer()
    writer.add(created(), slot(1, "Rome"))
    writer.add(slot(2, "Oslo", supersedes=1))
    record(log, writer.items)
    with place.open() as store:
        bring_up(log, store, size=1)
        before = store.load_state(SCOPES[0])
        assert before
        rebuild(log, store)
        assert store.load_state(SCOPES[0]) == before
