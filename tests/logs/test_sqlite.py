"""The log in SQLite keeps the contract of logs, and what is its own: opening, refusing, waiting for others, lasting."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from logs.contract import LogContract, ids
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.processors.core.ports import EventLog
from mnemolog.schemas.errors import Busy, Closed, FolderError, LogError, NewerVersion, NotOurs, ReadOnly
from mnemolog.schemas.events import DYNAMICS
from support.events import SCOPE, ManualClock, decision, turn, turns


class TestSqliteLog(LogContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.made = 0

    def make_log(self, clock: ManualClock) -> EventLog:
        self.made += 1
        return SqliteLog(self.folder / f"log {self.made} 日志.db", clock=clock)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    log = SqliteLog(path)
    yield log
    log.close()


def test_a_log_is_the_same_after_reopening(path: Path) -> None:
    first = SqliteLog(path)
    first.append_inputs(turns(3))
    [head] = first.append_decisions([decision(turn("turn-0"), "")])
    first.close()
    second = SqliteLog(path)
    assert second.log_id == first.log_id
    assert ids(second.read(DYNAMICS)) == ["turn-0", "turn-1", "turn-2"]
    assert second.head(SCOPE) == head
    assert second.last_input(SCOPE) == 2
    assert not second.append_inputs(turns(1))[0].fresh
    second.close()


def test_two_opened_at_once_see_each_other(path: Path, log: SqliteLog) -> None:
    other = SqliteLog(path)
    assert other.log_id == log.log_id
    log.append_inputs(turns(1))
    assert other.wait(DYNAMICS, 0, 60)
    other.append_inputs([turn("b")])
    assert ids(log.read(DYNAMICS)) == ["turn-0", "b"]
    other.close()


def test_wait_follows_somebody_elses_appends(path: Path, log: SqliteLog) -> None:
    other = SqliteLog(path)
    timer = threading.Timer(0.05, lambda: other.append_inputs(turns(1)))
    timer.start()
    assert log.wait(DYNAMICS, 0, 60)
    timer.join()
    other.close()


def test_many_open_one_new_file_at_once(path: Path) -> None:
    logs: list[SqliteLog] = []
    barrier = threading.Barrier(8)

    def open_one() -> None:
        barrier.wait()
        logs.append(SqliteLog(path))

    threads = [threading.Thread(target=open_one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(logs) == 8
    assert len({log.log_id for log in logs}) == 1
    for log in logs:
        log.close()


def test_the_file_is_in_wal_mode_and_its_tables_have_one_prefix(path: Path, log: SqliteLog) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")]
    assert names
    assert all(name.startswith("log_") for name in names)
    connection.close()


def test_each_write_is_synced_in_full(log: SqliteLog) -> None:
    with log._pool.writing() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("SELECT * FROM log_dynamics WHERE offset >= 5 AND offset < 9 AND scope = 'a/b' ORDER BY offset", "by_scope"),
        ("SELECT max(offset) FROM log_dynamics WHERE scope = 'a/b'", "by_scope"),
        ("SELECT * FROM log_dynamics WHERE offset >= 5 AND offset < 9 ORDER BY offset", "PRIMARY KEY"),
        ("SELECT * FROM log_seen WHERE topic = 't' AND scope = 's' AND source = 'm' AND id = 'i'", "PRIMARY KEY"),
    ],
)
def test_no_query_scans_or_sorts_a_table(path: Path, log: SqliteLog, query: str, index: str) -> None:
    connection = sqlite3.connect(path)
    [plan] = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}")]
    assert plan.startswith("SEARCH")
    assert index in plan
    connection.close()


def test_two_decisions_cannot_link_to_one_even_behind_the_logs_back(path: Path, log: SqliteLog) -> None:
    log.append_decisions([decision(turn("a"), "")])
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute("INSERT INTO log_links (scope, prev, offset) VALUES (?, '', 99)", (str(SCOPE),))
    connection.close()


def test_a_writer_that_waits_too_long_is_told_so(path: Path, log: SqliteLog) -> None:
    impatient = SqliteLog(path, busy_timeout=0.05)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match=r"memory\.db was kept locked for more than 0\.05 s"):
        impatient.append_inputs(turns(1))
    assert list(impatient.read(DYNAMICS)) == []
    blocker.execute("ROLLBACK")
    blocker.close()
    assert impatient.append_inputs(turns(1))[0].fresh
    impatient.close()


def test_threads_of_one_log_wait_no_longer_either(path: Path) -> None:
    log = SqliteLog(path, busy_timeout=0.05)
    with log._pool.writing(), pytest.raises(Busy):
        log.append_inputs(turns(1))
    log.append_inputs(turns(1))
    log.close()


def test_a_foreign_database_is_refused_and_left_as_it_was(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NotOurs, match="did not make"):
        SqliteLog(path)
    assert path.read_bytes() == before
    assert [item.name for item in path.parent.iterdir()] == ["memory.db"]


def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(path: Path) -> None:
    path.write_text("Dear diary, " * 100)
    with pytest.raises(NotOurs, match="choose another path"):
        SqliteLog(path)
    assert path.read_text() == "Dear diary, " * 100


def test_a_newer_format_is_refused(path: Path) -> None:
    SqliteLog(path).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE log_meta SET value = '99' WHERE name = 'format'")
    connection.commit()
    connection.close()
    with pytest.raises(NewerVersion, match="upgrade mnemolog"):
        SqliteLog(path)


def test_a_folder_that_is_not_there_or_a_folder_as_the_file(tmp_path: Path) -> None:
    for path in (tmp_path / "missing" / "memory.db", tmp_path):
        with pytest.raises(FolderError):
            SqliteLog(path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_became_read_only_is_reported_on_writing(log: SqliteLog) -> None:
    with log._pool.reading() as connection:
        connection.execute("PRAGMA query_only=1")
    with pytest.raises(ReadOnly, match="write permission"):
        log.append_inputs(turns(1))


def test_a_damaged_file_is_an_error_of_ours(path: Path, log: SqliteLog) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE log_dynamics")
    connection.close()
    with pytest.raises(LogError, match="log_dynamics"):
        log.end(DYNAMICS)


def test_a_full_disk_stores_nothing_of_a_batch(log: SqliteLog) -> None:
    log.append_inputs(turns(1))
    with log._pool.reading() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(FolderError, match="free some disk space"):
        log.append_inputs([turn("small"), turn("big", "x" * 1_000_000)])
    assert ids(log.read(DYNAMICS)) == ["turn-0"]


def test_an_interrupted_write_leaves_nothing(log: SqliteLog) -> None:
    def interrupt() -> None:
        with log._pool.writing() as connection:
            connection.execute("INSERT INTO log_dynamics (offset, scope, recorded, value) VALUES (0, 'a/b', '', x'00')")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert log.end(DYNAMICS) == 0
    assert log.append_inputs(turns(1))[0].fresh


def test_a_connection_that_is_out_when_the_log_closes_is_closed_when_it_comes_back(log: SqliteLog) -> None:
    with log._pool.reading() as connection:
        log.close()
        connection.execute("SELECT 1")
    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute("SELECT 1")
    with pytest.raises(Closed):
        log.end(DYNAMICS)
