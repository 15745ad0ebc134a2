"""On the real log, in a file: every sealed topic, each tampering, in the first, a middle and the last place; seals that were
altered themselves; the file that is kept elsewhere and the key; a sealer that is killed, and two at once."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.adapters.logs.tables import TOPIC_TABLES
from mnemolog.processors.core.ports import Stored
from mnemolog.projections.store import Store
from mnemolog.replay.seal_chain import SEALED, SigningKey, mark_of
from mnemolog.replay.seal_check import Break, SealCheck, check_log
from mnemolog.replay.seal_file import SealFile, make_key, read_key, read_seals, write_seals
from mnemolog.replay.seal_make import places_of, seal_log
from mnemolog.replay.seal_store import SealStore
from mnemolog.schemas.errors import InvalidInput, LogError, UnknownLog
from mnemolog.schemas.events import CHANGES, DEAD_LETTERS, DYNAMICS, RECALLS, make
from mnemolog.schemas.rejections import InputRejected
from mnemolog.schemas.scope import Scope
from replay.folder import STORY
from replay.logged import bring_up, record
from replay.sealed import NOW, DoctoredLog, checked, new_store, plain, sealed
from replay.stories import tell
from support.events import START, turn

KEY = SigningKey(b"k" * 32)


class Memory:
    """A log of every topic in one file, its seals, and somebody who edits the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = SqliteLog(path)
        self.store = Store(path, log_id=self.log.log_id)
        self.seals = SealStore.beside(self.log, self.store)

    def tell(self) -> None:
        record(self.log, tell(STORY))
        bring_up(self.log, self.store)
        for number in range(5):
            letter = InputRejected(topic="memory.inbox.v1", partition=0, offset=number, reason="bad", detail="no JSON")
            scope = Scope("acme", f"user:{number}")
            self.log.append_derived(DEAD_LETTERS, [make(letter, scope=scope, event_id=f"letter {number}", time=START)])

    def seal(self, key: SigningKey | None = None, block: int = 7) -> int:
        return sum(item.sealed for item in seal_log(self.log, self.seals, 0, lambda: NOW, key, block=block))

    def check(self, file: SealFile | None = None, key: SigningKey | None = None) -> SealCheck:
        return check_log(self.log, self.seals, 0, file, key)

    def broken(self, file: SealFile | None = None, key: SigningKey | None = None) -> Break:
        found = self.check(file, key)
        assert not found.intact
        [broken] = found.breaks
        return broken

    def alter(self, *statements: str, values: tuple[object, ...] = ()) -> None:
        connection = sqlite3.connect(self.path, timeout=30)
        with connection:
            for statement in statements:
                assert connection.execute(statement, values).rowcount > 0, statement
        connection.close()

    def records(self, topic: str) -> list[Stored]:
        return list(self.log.read(topic))

    def export(self, path: Path, *, brief: bool = False) -> SealFile:
        rows = (item for place in places_of(self.log, 0) for _, item in self.seals.read(place) if not isinstance(item, str))
        write_seals(path, self.log.log_id, self.log.epoch, rows, brief=brief)
        return read_seals(path)

    def close(self) -> None:
        self.seals.close()
        self.store.close()
        self.log.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    made = Memory(tmp_path / "memory.db")
    made.tell()
    yield made
    made.close()


def table(topic: str) -> str:
    return f"log_{TOPIC_TABLES[topic].short}"


def move_back(topic: str, start: int, by: int) -> tuple[str, str]:
    """All from an offset on lie `by` places later; in two steps, since each place is taken."""
    name = table(topic)
    return (
        f"UPDATE {name} SET offset = -offset - {by} WHERE offset >= {start}",  # noqa: S608
        f"UPDATE {name} SET offset = -offset WHERE offset < 0",  # noqa: S608
    )


@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("topic", SEALED)
def test_each_tampering_of_each_topic_is_named(memory: Memory, topic: str, place: str) -> None:
    records = memory.records(topic)
    assert len(records) >= 3, topic
    assert memory.seal() == memory.check().checked > 0
    assert memory.check().intact
    at = {"first": 0, "middle": len(records) // 2, "last": len(records) - 1}[place]
    other = at - 1 if place == "last" else at + 1
    victim, name = records[at], table(topic)
    first = min(at, other)
    event_id = msgspec.json.decode(victim.value)["id"]
    original = memory.path.with_suffix(".whole")
    with sqlite3.connect(memory.path) as connection, sqlite3.connect(original) as copy:
        connection.backup(copy)
    connection.close()
    copy.close()
    swapped = (
        f"UPDATE {name} SET offset = -1 WHERE offset = {records[at].offset}",  # noqa: S608
        f"UPDATE {name} SET offset = {records[at].offset} WHERE offset = {records[other].offset}",  # noqa: S608
        f"UPDATE {name} SET offset = {records[other].offset} WHERE offset = -1",  # noqa: S608
    )
    new = f"INSERT INTO {name} (offset, scope, recorded, value) SELECT {victim.offset}, scope, recorded, CAST('x' AS BLOB) "
    tampered: list[tuple[str, int, str, str, tuple[str, ...]]] = [
        ("altered", at, victim.scope, event_id, (_set(name, victim, "value = CAST(CAST(value AS TEXT) || ' ' AS BLOB)"),)),
        ("altered", at, victim.scope, event_id, (_set(name, victim, "scope = 'acme/user:thief'"),)),
        ("altered", at, victim.scope, event_id, (_set(name, victim, "recorded = '2020-01-01T00:00:00.000000Z'"),)),
        ("altered", at, victim.scope, event_id, (_set(name, victim, "recorded = x'00'"),)),
        ("deleted", at, victim.scope, "", (f"DELETE FROM {name} WHERE offset = {victim.offset}",)),  # noqa: S608
        ("deleted", at, victim.scope, "", (f"DELETE FROM {name} WHERE offset >= {victim.offset}",)),  # noqa: S608
        ("reordered", first, records[max(at, other)].scope, "", swapped),
        (
            "inserted",
            at,
            victim.scope,
            "",
            (*move_back(topic, victim.offset, 1), new + f"FROM {name} WHERE offset = {victim.offset + 1}"),
        ),
    ]
    if place != "last":
        moved_up = (
            f"DELETE FROM {name} WHERE offset = {victim.offset}",  # noqa: S608
            f"UPDATE {name} SET offset = -offset + 1 WHERE offset > {victim.offset}",  # noqa: S608
            f"UPDATE {name} SET offset = -offset WHERE offset < 0",  # noqa: S608
        )
        if victim.offset > 0:
            tampered.append(("deleted", at, victim.scope, "", moved_up))
    for kind, where, scope, known_id, statements in tampered:
        memory.alter(*statements)
        broken = memory.broken()
        assert (broken.kind, broken.topic, broken.offset) == (kind, topic, records[where].offset), (statements, broken)
        assert broken.scope == scope, statements
        if known_id:
            assert broken.event_id == known_id, statements
        if kind == "deleted" and topic == DYNAMICS:
            assert broken.event_id == event_id, "what was derived from it tells"
        _restore(memory, original)
        assert memory.check().intact


def _set(name: str, victim: Stored, change: str) -> str:
    return f"UPDATE {name} SET {change} WHERE offset = {victim.offset}"  # noqa: S608


def _restore(memory: Memory, original: Path) -> None:
    with sqlite3.connect(original) as copy, sqlite3.connect(memory.path) as connection:
        copy.backup(connection)
    connection.close()
    copy.close()


def test_bytes_that_are_no_event_are_named_by_what_was_derived_from_them(memory: Memory) -> None:
    memory.seal()
    victim = memory.records(DYNAMICS)[3]
    memory.alter("UPDATE log_dynamics SET value = x'00' WHERE offset = 3")
    broken = memory.broken()
    assert (broken.kind, broken.offset, broken.scope) == ("altered", 3, victim.scope)
    assert broken.event_id == msgspec.json.decode(victim.value)["id"]


def test_what_may_go_is_not_sealed(memory: Memory) -> None:
    from mnemolog.schemas.recalls import MemoryRecalled

    said = MemoryRecalled(kind="search", question="what?", scopes=["acme/user:1"])
    memory.log.append_derived(RECALLS, [make(said, scope=Scope("acme", "user:1"), event_id="r", time=START)])
    memory.seal()
    memory.alter("DELETE FROM log_recalls")
    assert memory.check().intact


SEAL_EDITS = {
    "a mark": "UPDATE log_seals SET marks = zeroblob(length(marks)) WHERE {}",
    "the hash": "UPDATE log_seals SET hash = hex(randomblob(32)) WHERE {}",
    "whose": "UPDATE log_seals SET scopes = x'00' WHERE {}",
    "what it says": "UPDATE log_seals SET seal = CAST(replace(CAST(seal AS TEXT), '2026-06', '2025-06') AS BLOB) WHERE {}",
    "no seal": "UPDATE log_seals SET seal = x'7b7d' WHERE {}",
    "gone": "DELETE FROM log_seals WHERE {}",
}


@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("edit", SEAL_EDITS)
def test_a_seal_that_was_altered_or_deleted_is_named(memory: Memory, edit: str, place: str) -> None:
    memory.seal()
    count = -(-len(memory.records(CHANGES)) // 7)
    number = {"first": 0, "middle": count // 2, "last": count - 1}[place]
    memory.alter(SEAL_EDITS[edit].format(f"topic = '{CHANGES}' AND number = {number}"))
    broken = memory.broken()
    assert (broken.kind, broken.topic, broken.offset) == ("seal", CHANGES, number * 7)
    assert f"seal {number} " in broken.detail
    if place == "last":
        with pytest.raises(LogError, match="verify"):
            memory.seal()


def test_two_seals_that_changed_places_are_named(memory: Memory) -> None:
    memory.seal()
    memory.alter(
        f"UPDATE log_seals SET number = -1 WHERE topic = '{CHANGES}' AND number = 1",  # noqa: S608
        f"UPDATE log_seals SET number = 1 WHERE topic = '{CHANGES}' AND number = 2",  # noqa: S608
        f"UPDATE log_seals SET number = 2 WHERE topic = '{CHANGES}' AND number = -1",  # noqa: S608
    )
    assert (memory.broken().kind, memory.broken().offset) == ("seal", 7)


def test_a_broken_seal_does_not_hide_a_broken_record(memory: Memory) -> None:
    memory.seal()
    memory.alter(f"DELETE FROM log_seals WHERE topic = '{CHANGES}' AND number = 1")  # noqa: S608
    memory.alter("UPDATE log_changes SET value = x'00' WHERE offset = 15")
    found = memory.check().breaks
    assert [(item.kind, item.offset) for item in found] == [("seal", 7), ("altered", 15)]


def test_a_seal_made_anew_over_an_altered_record_is_found_by_the_file(memory: Memory, tmp_path: Path) -> None:
    memory.seal()
    file, brief = memory.export(tmp_path / "seals"), memory.export(tmp_path / "brief", brief=True)
    assert memory.check(file).file == memory.check(brief).file == memory.check().sealed
    victim = memory.records(CHANGES)[9]
    memory.alter("UPDATE log_changes SET value = x'00' WHERE offset = 9")
    memory.alter("DELETE FROM log_seals", "DELETE FROM log_seal_ends")
    memory.seal()
    assert memory.check().intact, "who can edit both leaves no trace there"
    found = memory.check(file).breaks
    assert [(item.kind, item.topic, item.offset) for item in found] == [("seal", CHANGES, 7), ("altered", CHANGES, 9)]
    assert found[1].scope == victim.scope
    found = memory.check(brief).breaks
    assert [(item.kind, item.topic, item.offset) for item in found] == [("altered", CHANGES, 7), ("seal", CHANGES, 7)]
    with pytest.raises(InvalidInput, match="does not have"):
        memory.export(tmp_path / "seals")
    assert read_seals(tmp_path / "seals") == file


def test_a_log_put_back_to_an_earlier_seal_is_found_by_the_file_alone(memory: Memory, tmp_path: Path) -> None:
    memory.seal(KEY)
    original = memory.path.with_suffix(".whole")
    with sqlite3.connect(memory.path) as connection, sqlite3.connect(original) as copy:
        connection.backup(copy)
    connection.close()
    copy.close()
    memory.log.append_inputs([turn("later", "a promise")])
    memory.seal(KEY)
    file = memory.export(tmp_path / "seals")
    _restore(memory, original)
    assert memory.check(None, KEY).intact
    found = memory.check(file, KEY).breaks
    assert [(item.kind, item.offset) for item in found] == [("deleted", len(STORY)), ("seal", len(STORY))]


def test_seals_that_are_all_gone_are_found_by_the_file(memory: Memory, tmp_path: Path) -> None:
    memory.seal()
    file = memory.export(tmp_path / "seals")
    memory.alter("DELETE FROM log_seals", "DELETE FROM log_seal_ends")
    assert (memory.check().sealed, memory.check().intact) == (0, True)
    found = memory.check(file)
    assert [(item.kind, item.offset) for item in found.breaks] == [("seal", 0)] * len(SEALED)
    assert found.checked == found.sealed == sum(len(memory.records(topic)) for topic in SEALED)


def test_a_key_speaks_for_what_it_signed(memory: Memory, tmp_path: Path) -> None:
    memory.seal()
    assert [item.kind for item in memory.check(None, KEY).breaks] == ["seal"] * len(SEALED), "nothing is signed"
    assert memory.seal(KEY) == 0
    total = memory.check().sealed
    assert (memory.check(None, KEY).intact, memory.check(None, KEY).signed) == (True, total)
    memory.log.append_inputs([turn("later", "more")])
    memory.seal()
    assert (memory.check(None, KEY).intact, memory.check(None, KEY).signed) == (True, total)
    memory.seal(KEY)
    assert memory.check(None, KEY).signed == total + 1
    stranger = SigningKey(b"s" * 32)
    assert not memory.check(None, stranger).intact
    memory.alter(f"UPDATE log_seals SET signature = 'x', key_id = '{KEY.id}' WHERE topic = '{DYNAMICS}' AND number = 1")  # noqa: S608
    assert (memory.broken(None, KEY).topic, memory.broken(None, KEY).kind) == (DYNAMICS, "seal")


def test_a_key_is_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "key"
    made = make_key(path)
    assert read_key(path).id == made.id
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(InvalidInput, match="cannot be made"):
        make_key(path)
    with pytest.raises(InvalidInput, match="--make-key"):
        read_key(tmp_path / "none")
    path.write_bytes(b"short")
    with pytest.raises(InvalidInput, match="5 bytes"):
        read_key(path)


def test_a_file_that_is_not_whole_is_refused(memory: Memory, tmp_path: Path) -> None:
    memory.seal()
    path = tmp_path / "seals"
    memory.export(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for damaged in (lines[:-1], lines[:1] + lines[2:], [*lines[:2], b"x\n", *lines[3:]], lines[1:], []):
        path.write_bytes(b"".join(damaged))
        with pytest.raises(InvalidInput):
            read_seals(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_seals(tmp_path / "none")
    path.write_bytes(b"a list of things to buy\n")
    with pytest.raises(InvalidInput, match="not a file of seals"):
        memory.export(path)
    assert path.read_bytes() == b"a list of things to buy\n"


def test_seals_in_a_file_that_were_altered_are_named(memory: Memory, tmp_path: Path) -> None:
    memory.seal()
    path = tmp_path / "seals"
    memory.export(path)
    path.write_bytes(path.read_bytes().replace(b'"end":14', b'"end":13', 1))
    broken = memory.check(read_seals(path)).breaks[0]
    assert (broken.kind, broken.topic) == ("seal", DYNAMICS)


def test_the_file_of_another_log_is_refused(memory: Memory, tmp_path: Path) -> None:
    memory.seal()
    file = memory.export(tmp_path / "seals")
    with pytest.raises(UnknownLog, match="right file"):
        memory.check(msgspec.structs.replace(file, log_id="another"))
    with pytest.raises(UnknownLog, match="copied"):
        memory.check(msgspec.structs.replace(file, epoch=0))


def test_a_copy_of_a_log_is_sealed_from_its_beginning() -> None:
    class Copied(DoctoredLog):
        epoch = 2  # type: ignore[assignment]

    store = new_store()
    log = DoctoredLog([plain(0, "a"), plain(1, "b")])
    sealed(log, store)
    copy = Copied([plain(0, "b")])
    copy._log_id = log.log_id
    assert checked(copy, store).sealed == 0
    sealed(copy, store)
    assert (checked(copy, store).sealed, checked(copy, store).intact) == (1, True)
    assert (checked(log, store).sealed, checked(log, store).intact) == (2, True)


def test_a_log_that_is_shorter_than_what_was_sealed_is_not_sealed_over(memory: Memory) -> None:
    memory.seal()
    memory.alter(f"DELETE FROM log_dynamics WHERE offset >= {len(STORY) - 2}")  # noqa: S608
    with pytest.raises(LogError, match=r"dynamics.*ends at offset.*deleted"):
        memory.seal()


def test_fields_cannot_pass_into_each_other() -> None:
    one = Stored(DYNAMICS, 0, 0, "ab", b"c", "t")
    assert (
        len({mark_of(one), mark_of(Stored(DYNAMICS, 0, 0, "a", b"bc", "t")), mark_of(Stored(DYNAMICS, 0, 0, "a", b"c", "bt"))})
        == 3
    )
    assert mark_of(one) == mark_of(Stored(CHANGES, 3, 9, "ab", b"c", "t")), "where it lies takes no part"


def test_a_sealer_that_is_killed_leaves_a_chain_to_go_on_with(memory: Memory) -> None:
    script = (
        "import os, sys; from mnemolog.adapters.logs.sqlite import SqliteLog; from mnemolog.projections.store import Store\n"
        "from mnemolog.replay.seal_make import seal_log; from mnemolog.replay.seal_store import SealStore\n"
        "log = SqliteLog(sys.argv[1]); store = SealStore.beside(log, Store(sys.argv[1])); left = [int(sys.argv[2])]\n"
        "def progress(_):\n"
        "    left[0] -= 1\n"
        "    if not left[0]: os._exit(9)\n"
        "seal_log(log, store, 0, lambda: sys.argv[3], None, progress, block=1)\n"
    )
    for after in (1, 2, 4):
        ended = subprocess.run([sys.executable, "-c", script, str(memory.path), str(after), NOW], check=False)
        assert ended.returncode == 9
        assert memory.check().intact
    assert 0 < memory.check().sealed < sum(len(memory.records(topic)) for topic in SEALED)
    memory.seal()
    found = memory.check()
    assert (found.intact, found.unsealed, found.sealed) == (True, 0, sum(len(memory.records(topic)) for topic in SEALED))


def test_two_at_once_make_one_chain(memory: Memory) -> None:
    start = threading.Barrier(3)
    counts: list[int] = []

    def run() -> None:
        with SealStore.beside(memory.log, memory.store) as store:
            start.wait()
            counts.append(sum(item.sealed for item in seal_log(memory.log, store, 0, lambda: NOW, block=1)))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert memory.check().intact
    for thread in threads:
        thread.join()
    total = sum(len(memory.records(topic)) for topic in SEALED)
    assert sum(counts) == total
    found = memory.check()
    assert (found.intact, found.sealed, found.unsealed) == (True, total, 0)
