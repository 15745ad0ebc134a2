"""What only a server can do to a memory: be down, go away, be old, be full of others; and how it is shared all the same."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import exc

from local_services.postgres import PostgresServer, remove_postgres, start_postgres
from local_services.processes import free_ports
from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.projections import postgres
from mnemolog.projections.columns import StoredText
from mnemolog.projections.dialect import Database
from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.replay.rebuild import rebuild
from mnemolog.schemas.errors import Closed, FolderError, InvalidInput, LogError, Misconfigured, ReadOnly, Unavailable
from replay.hand import SCOPE, project
from replay.logged import bring_up, record
from replay.places import Place, place_of
from replay.stories import SCOPES, tell

ITEMS = tell([(number % 3, "set", number % 5) for number in range(12)])


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with place_of(request, "postgres", tmp_path) as made:
        yield made


def cut(server: Place, connection: sa.Connection) -> None:
    """Ends a connection as a server does that goes away; returns when it has ended."""
    pid = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
    with closing(Database(server.target, schema="unused")) as database, database.reading() as other:
        other.execute(sa.text(f"SELECT pg_terminate_backend({pid}, 60000)"))


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[PostgresServer]:
    """A server that a test may kill."""
    yield start_postgres(tmp_path / "server")
    remove_postgres(tmp_path / "server")


# -- what is stored ----------------------------------------------------------------------------------------------------


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\0\1\2"), max_size=6)))
def test_a_text_is_written_so_that_it_comes_back_and_sorts_as_it_was(texts: list[str]) -> None:
    dialect = sa.make_url("postgresql+psycopg://").get_dialect()()
    write, read = StoredText().bind_processor(dialect), StoredText().result_processor(dialect, None)
    written = [write(text) for text in texts]
    assert not any("\0" in text for text in written)
    assert [read(text) for text in written] == texts
    assert sorted(texts) == [read(text) for text in sorted(written)]
    assert write(None) is read(None) is None


def test_a_nul_is_stored(server: Place) -> None:
    with server.open() as store, store.writing() as (connection, t):
        rows = [{"name": name, "value": number} for number, name in enumerate(["b", "\1", "\0", "", "a\0b", "a"])]
        connection.execute(sa.insert(t.offsets), rows)
        found = connection.execute(sa.select(t.offsets.c.name).order_by(t.offsets.c.name)).scalars().all()
        assert found == sorted(["b", "\1", "\0", "", "a\0b", "a"])
        assert connection.execute(sa.select(t.offsets.c.value).where(t.offsets.c.name == "\0")).scalar_one() == 2


# -- a server that cannot be used --------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_unavailable() -> None:
    (port,) = free_ports(1)
    with pytest.raises(Unavailable, match=rf"127\.0\.0\.1:{port}/memories .*cannot be reached.*try again") as raised:
        Store(f"postgresql+psycopg://me:secret@127.0.0.1:{port}/memories", schema="mnemolog_p0")
    assert "secret" not in str(raised.value)


def test_a_database_that_does_not_exist_is_no_reason_to_wait(server: Place) -> None:
    with pytest.raises(Misconfigured, match="does not exist"):
        Store(sa.make_url(str(server.target)).set(database="nowhere").render_as_string(hide_password=False), schema="a")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("mysql://localhost/x", "mysql is not a database of ours"),
        ("sqlite:///x", "give the path of a SQLite file"),
        ("postgresql+psycopg2://localhost/x", "not a database of ours"),
        ("://", "is no URL"),
    ],
)
def test_another_database_is_refused(url: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        Store(url)


@pytest.mark.parametrize("name", ["", "Upper", "1st", "pg_mine", 'a"b', "a.b", "x" * 64, "ü"])
def test_a_name_that_would_be_read_otherwise_is_no_schema(name: str) -> None:
    with pytest.raises(InvalidInput, match="is no name of a schema"):
        Store("postgresql+psycopg://localhost/x", schema=name)


def test_a_server_that_is_too_old_is_refused(server: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "OLDEST", 99)
    url = sa.make_url(str(server.target)).update_query_dict({"application_name": "old"})
    with pytest.raises(Misconfigured, match=r"is PostgreSQL \d+: mnemolog needs 99 or a newer one"):
        Store(url.render_as_string(hide_password=False), schema="mnemolog_p0")


def test_a_statement_that_takes_too_long_may_be_tried_again(server: Place) -> None:
    url = sa.make_url(str(server.target)).update_query_dict({"options": "-c statement_timeout=20"})
    with (
        Store(url.render_as_string(hide_password=False), schema="mnemolog_p0") as store,
        pytest.raises(Unavailable, match="statement timeout"),
        store._database.reading() as connection,
    ):
        connection.execute(sa.text("SELECT pg_sleep(60)"))


def test_reading_writes_nothing(server: Place) -> None:
    with (
        server.open() as store,
        pytest.raises(ReadOnly, match="read-only transaction"),
        store._database.reading() as connection,
    ):
        connection.execute(sa.schema.CreateSchema("never"))


def test_tables_that_were_taken_away_are_named(server: Place) -> None:
    with server.open() as store:
        project(Projector(store), ITEMS)
        server.execute("DROP TABLE rm_forms_1")
        with pytest.raises(LogError, match="rm_forms_1"):
            store.forms(SCOPES[0])


def test_a_fault_of_ours_stays_loud(server: Place) -> None:
    with server.open() as store, pytest.raises(exc.ProgrammingError), store.writing() as (connection, _):
        connection.execute(sa.text("SELEC 1"))


class Said(Exception):
    """What psycopg raises, as far as it is looked at."""

    def __init__(self, sqlstate: str | None, text: str = "as it says") -> None:
        super().__init__(text)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("53100", Unavailable),  # disk full
        ("53300", Unavailable),  # too many clients
        ("57P01", Unavailable),  # shutting down
        ("57P03", Unavailable),  # starting up
        ("57014", Unavailable),  # statement timeout
        ("40001", Unavailable),  # serialisation
        ("40P01", Unavailable),  # deadlock
        ("55P03", Unavailable),  # lock timeout
        ("08006", Unavailable),  # connection lost
        (None, Unavailable),
        ("42501", ReadOnly),
        ("25006", ReadOnly),
        ("42P01", LogError),
        ("58030", FolderError),
        ("23505", None),
        ("42601", None),
        ("XX001", None),
    ],
)
def test_what_may_pass_is_unavailable_and_the_rest_is_loud(code: str | None, kind: type[Exception] | None) -> None:
    server = postgres.Server(sa.make_url("postgresql+psycopg://me:secret@nowhere/x"))
    error = server.error(exc.OperationalError("SELECT 1", {}, Said(code)))
    assert (None if error is None else type(error)) is kind
    assert error is None or ("as it says" in str(error) or code == "55P03")
    assert "secret" not in str(error)
    server.engine.dispose()


def test_all_connections_in_use_may_pass() -> None:
    server = postgres.Server(sa.make_url("postgresql+psycopg://nowhere/x"))
    assert isinstance(server.error(exc.TimeoutError("pool")), Unavailable)


def test_without_the_package_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidInput, match=r"needs the psycopg package.*pip install 'mnemolog\[postgres\]'"):
        Store("postgresql+psycopg://nowhere/another")


# -- a server that goes away -------------------------------------------------------------------------------------------


def test_a_connection_that_was_cut_is_unavailable_and_then_made_anew(server: Place) -> None:
    with server.open() as store:
        project(Projector(store), ITEMS[:6])

        def lose() -> None:
            with store.writing() as (connection, _):
                cut(server, connection)
                connection.execute(sa.text("SELECT 1"))

        with pytest.raises(Unavailable):
            lose()
        project(Projector(store), ITEMS)
        assert store.cursor() == (12, 12)


def test_a_connection_that_is_cut_while_rows_are_sent_leaves_none_of_them(
    server: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a pipeline the error comes later than its cause."""
    with server.open() as store:
        project(Projector(store), ITEMS[:6])
        sent = postgres.pipelined

        def cut_first(connection: sa.Connection) -> object:
            cut(server, connection)
            return sent(connection)

        with monkeypatch.context() as patch:
            patch.setattr("mnemolog.projections.projector.pipelined", cut_first)
            with pytest.raises(Unavailable):
                project(Projector(store), ITEMS)
        assert store.cursor() == (6, 6)
        project(Projector(store), ITEMS)
        assert store.cursor() == (12, 12)


def test_a_server_that_was_killed_and_started_again_serves_the_same_store(
    own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(own_server.url, schema="mnemolog_p0") as store:
        project(Projector(store), ITEMS[:6])
        own_server.kill()
        for _ in range(2):
            with pytest.raises(Unavailable):
                store.forms(SCOPES[0])
            with pytest.raises(Unavailable):
                project(Projector(store), ITEMS)
        own_server.restart()
        assert store.cursor() == (6, 6)
        project(Projector(store), ITEMS)
        assert store.stats()["turns"] == 12
        # Restarted between two uses that lie apart: no error at all is met.
        monkeypatch.setattr(postgres, "IDLE_SECONDS", -1)
        own_server.restart()
        assert store.stats()["turns"] == 12


def test_after_a_failover_nothing_is_taken_for_known(server: Place) -> None:
    """The server that answers after a break may be one that never saw the last writes: numbers are asked for again."""
    mine, other = tell([(0, "set", 0)]), tell([(1, "set", 0), (2, "set", 1), (0, "set", 2)])
    with server.open() as store:
        project(Projector(store), mine)
        assert len(store.turns(SCOPES[0])) == 1

        def lose() -> None:
            with store._database.reading() as connection:
                cut(server, connection)
                connection.execute(sa.text("SELECT 1"))

        with pytest.raises(Unavailable):
            lose()
        server.remove()
        with server.open() as restored:
            project(Projector(restored), other)
        assert [turn.offset for turn in store.turns(SCOPES[0])] == [2]
        assert [turn.offset for turn in store.turns(SCOPES[1])] == [0]


# -- sharing -----------------------------------------------------------------------------------------------------------


def test_many_make_the_same_schema_at_once(server: Place) -> None:
    """CREATE ... IF NOT EXISTS of several connections at once fails on a server, if nothing keeps them apart."""
    errors: list[BaseException] = []
    start = threading.Barrier(6)

    def write() -> None:
        try:
            with server.open() as store:
                start.wait()
                project(Projector(store), ITEMS, 3)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with server.open() as store:
        assert (store.cursor(), store.stats()["turns"]) == ((12, 12), 12)


def test_schemas_lie_apart(server: Place) -> None:
    with server.open() as one, Store(server.target, schema=f"{server.schema}_2") as two:
        project(Projector(one), ITEMS)
        assert two.scopes() == []
        project(Projector(two), ITEMS[:3])
        assert (one.cursor(), two.cursor()) == ((12, 12), (3, 3))
        with two._database.writing() as connection:
            connection.execute(sa.schema.DropSchema(f"{server.schema}_2", cascade=True))
        assert one.stats()["turns"] == 12


def test_the_stores_of_a_server_share_its_connections(server: Place) -> None:
    one, two = server.open(), Store(server.target, schema=f"{server.schema}_2")
    assert one._database.engine is two._database.engine
    one.close()
    one.close()
    with pytest.raises(Closed):
        one.forms(SCOPE)
    assert two.forms(SCOPE) == []
    two.close()
    assert two._database.engine.pool.checkedin() == 0  # type: ignore[attr-defined]


FORKED = """
import os, sys, warnings
from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store

warnings.simplefilter("ignore", DeprecationWarning)
store = Store(sys.argv[1], schema=sys.argv[2])
Projector(store).apply([], states={}, next_changes=1, applied_input=1)
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        Projector(store).apply([], states={}, next_changes=number + 2, applied_input=number + 2)
        store.close()
        sys.exit(0)
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
print(store.cursor().next_changes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_makes_connections_of_its_own(server: Place) -> None:
    command = [sys.executable, "-c", FORKED, str(server.target), str(server.schema)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("4\n", "")


def test_a_reader_keeps_its_tables_until_it_is_done(server: Place) -> None:
    """Tables that are out of use are not dropped under a reader, and nobody waits for it with anything locked."""
    log = MemoryLog()
    record(log, ITEMS)
    with server.open() as store, server.open() as reader, server.open() as writer:
        bring_up(log, store)
        before = store.forms(SCOPES[0])
        thread = threading.Thread(target=rebuild, args=(log, store), kwargs={"keep": 0})
        with reader.snapshot():
            assert reader.live_version() == 1
            thread.start()
            while writer.live_version() == 1:
                pass
            writer.vectors_put("e/1", SCOPE, {"k": b"v"})
            assert thread.is_alive()
            assert reader.forms(SCOPES[0]) == before
        thread.join()
        assert reader.forms(SCOPES[0]) == before
        assert store.table_versions() == [2]


def test_tables_that_somebody_reads_for_long_stay_until_the_next_time(server: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    log = MemoryLog()
    record(log, ITEMS)
    with server.open() as store, server.open() as reader:
        bring_up(log, store)
        with monkeypatch.context() as patience, reader.snapshot():
            patience.setattr("mnemolog.projections.dialect.LOCK_SECONDS", 0)
            assert reader.live_version() == 1
            assert rebuild(log, store, keep=0).version == 2
            assert store.table_versions() == [1, 2]
        # Whoever else uses the database for a moment is waited for.
        assert rebuild(log, store, keep=0).version == 3
        assert store.table_versions() == [3]


def test_a_batch_that_is_too_long_for_one_message_goes_in_several(server: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemolog.projections.bulk.MESSAGE", 100)
    with server.open() as store:
        project(Projector(store), ITEMS)
        assert store.stats()["turns"] == len(ITEMS)
