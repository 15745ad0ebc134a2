"""What only a memory on servers can meet: workers that lag or are not there, other processes, what was refused, and a wrong
configuration."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from numpy.typing import NDArray

from mnemolog import Memory, Servers
from mnemolog.adapters.embedders.use import UseEmbedder
from mnemolog.adapters.kafka.client import Outgoing
from mnemolog.adapters.kafka.log import PartitionLog
from mnemolog.processors.core.ports import Embedder
from mnemolog.processors.pipeline.installation import Installation
from mnemolog.projections.dialect import Database
from mnemolog.projections.tables import SCHEMA_VERSION
from mnemolog.schemas.envelope import Envelope, Position
from mnemolog.schemas.errors import (
    Closed,
    ConflictingContent,
    EmbedderMismatch,
    InvalidInput,
    Lagging,
    LogError,
    Misconfigured,
    NewerVersion,
    Unavailable,
    UnknownLog,
)
from mnemolog.schemas.events import DYNAMICS, INBOX
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.tokens import inbox_token, position_token
from support.events import OTHER, SCOPE, START, turn
from support.pipeline import Running
from support.services import Services


@pytest.fixture
def servers(services: Services, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Servers:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=2)


@pytest.fixture
def installation(servers: Servers) -> Iterator[Installation]:
    opened = Installation(servers)
    yield opened
    opened.close()


@contextmanager
def opened(servers: Servers, *, embedder: Embedder | None = None, timeout: float = 30.0) -> Iterator[Memory]:
    with Memory(None, "acme", servers=servers, embedder=embedder or False, read_timeout=timeout) as memory:
        yield memory


def homes(memory: Memory, user: str = "1") -> list[str]:
    return [slot.value.shown for form in memory.forms(user_id=user) for slot in form.slots if slot.slot == "home"]


def sent(installation: Installation, event: Envelope, topic: str = INBOX, value: bytes | None = None) -> None:
    """What another program publishes."""
    record = Outgoing(str(event.scope), event.to_bytes() if value is None else value, START)
    installation.client.send_by_scope(topic, [record])


def alter(servers: Servers, schema: str, statement: str) -> None:
    """By somebody else's hand: one row."""
    database = Database(servers.database, schema=schema)
    try:
        with database.writing() as connection:
            connection.execute(sa.text(f"SET LOCAL search_path TO {schema}"))
            assert connection.execute(sa.text(statement)).rowcount == 1
    finally:
        database.close()


class Letters:
    """Vectors that count letters."""

    dim = 26

    def __init__(self, name: str = "letters/26") -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = np.array([[1e-3 + text.lower().count(chr(97 + n)) for n in range(26)] for text in texts], np.float32)
        made: NDArray[np.float32] = counts / np.linalg.norm(counts, axis=1, keepdims=True)
        return made

    def count_tokens(self, text: str) -> int:
        return len(text.split())


# -- what became of it --------------------------------------------------------------------------------------------------


def test_an_input_that_is_taken_in_while_it_is_looked_for_is_not_unknown(
    servers: Servers, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = installation.of(SCOPE).log
    look = PartitionLog.position_of

    def taken_in_behind_the_look(self: PartitionLog, scope: Scope, source: str, event_id: str) -> Position | None:
        found = look(self, scope, source, event_id)
        with Running(installation, stages=["ingest"]):
            while True:
                with log.index.reading() as view:
                    if view.next_offset(INBOX) == log.end(INBOX):
                        return found

    with opened(servers) as memory:
        receipt = memory.add("I live in Lisbon.", user_id="1")
        with monkeypatch.context() as patch:
            patch.setattr(PartitionLog, "position_of", taken_in_behind_the_look)
            assert memory.operation(receipt.ids[0], user_id="1").status == "waiting"
        assert log.position_of(SCOPE, "mnemolog", receipt.ids[0]) is not None


# -- waiting -----------------------------------------------------------------------------------------------------------


def test_another_process_sees_a_write_once_it_has_waited_for_it(servers: Servers, installation: Installation) -> None:
    with Running(installation), opened(servers) as writer, opened(servers) as reader:
        receipt = writer.add("I live in Lisbon.", user_id="1", occurred_at="2026-05-01")
        reader.wait(receipt.position)
        assert [slot.value.shown for form in reader.forms(user_id="1", wait=False) for slot in form.slots] == ["Lisbon"]
        many = writer.add_events([turn("a", "I live in Porto."), turn("b", "I live in Rome.", OTHER)])
        reader.wait(many.position)
        assert (homes(reader, "1"), homes(reader, "2")) == (["Porto"], ["Rome"])
        partition = installation.of(SCOPE)
        place = partition.log.position_of(SCOPE, "mnemolog", "a")
        assert place is not None
        reader.wait(position_token(installation.who.log_id, place))


def test_a_wait_names_the_stage_that_lags(servers: Servers, installation: Installation) -> None:
    with opened(servers) as memory:
        receipt = memory.add("I live in Lisbon.", user_id="1")
        with pytest.raises(Lagging) as caught:
            memory.wait(receipt.position, 0.0)
        assert caught.value.laggards == {"ingest": 1}
        with Running(installation, stages=["ingest"]) as workers:
            with pytest.raises(Lagging) as caught:
                memory.wait(receipt.position, 2.0)
            assert caught.value.laggards == {"extract": 1}
            workers.start("extract", "resolve", "project")
            memory.wait(receipt.position)
        assert homes(memory) == ["Lisbon"]


def test_a_token_that_names_nothing_here_is_refused(servers: Servers, installation: Installation) -> None:
    with opened(servers) as memory:
        with pytest.raises(UnknownLog):
            memory.wait(position_token("another", Position(1, 0, 0)))
        with pytest.raises(InvalidInput, match="is not on this log"):
            memory.wait(position_token(installation.who.log_id, Position(1, 0, 7)))
        with pytest.raises(InvalidInput, match="has never had"):
            memory.wait(inbox_token(SCOPE, "mnemolog", "nobody"))
        with pytest.raises(InvalidInput, match="is not a token"):
            memory.wait("yesterday")


def test_a_token_of_what_was_refused_says_why(servers: Servers, installation: Installation) -> None:
    wrong = turn("bad", "I live in Lisbon.")
    sent(installation, wrong, value=wrong.to_bytes().replace(b'"content"', b'"text"'))
    refused = pytest.raises(InvalidInput, match=r"was refused: .*text.*dead-letters show")
    with Running(installation), opened(servers) as memory, refused:
        memory.wait(inbox_token(SCOPE, "mnemolog", "bad"))


def test_an_id_with_other_content_is_refused_before_and_after_ingest(servers: Servers, installation: Installation) -> None:
    with opened(servers) as first, opened(servers) as second:
        receipt = first.add_events([turn("m1", "I live in Lisbon.")])
        assert first.add_events([turn("m1", "I live in Lisbon.")]).fresh == 0
        with pytest.raises(ConflictingContent):
            first.add_events([turn("m2", "I live in Rome."), turn("m1", "I live in Porto.")])
        with pytest.raises(ConflictingContent):
            first.add_events([turn("m3", "one"), turn("m3", "other")])
        with Running(installation):
            second.wait(receipt.position)
            with pytest.raises(ConflictingContent):
                second.add_events([turn("m1", "I live in Porto.")])
            assert second.add_events([turn("m1", "I live in Lisbon.")]).fresh == 0
            assert second.process() == 0
        assert second.stats()["dynamics"] == 1


def test_the_program_of_the_page_on_servers_runs(
    servers: Servers, installation: Installation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "services.md"
    [program] = re.findall(r"^```py\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for name in ("kafka", "database", "prefix"):
        monkeypatch.setenv(f"MNEMOLOG_{name.upper()}", getattr(servers, name))
    with Running(installation, embedder=UseEmbedder()):
        exec(compile(program, str(page), "exec"), {"__name__": "__docs__"})  # noqa: S102
    assert capsys.readouterr().out.splitlines()[1:] == ["['Lisbon']"]


# -- workers that are not there ----------------------------------------------------------------------------------------


def test_without_workers_a_read_says_what_is_missing_and_where(
    servers: Servers, installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(servers, timeout=0.2) as memory:
        memory.add("I live in Lisbon.", user_id="1")
        rows = memory.forms(user_id="1")
        assert (list(rows), rows.behind) == ([], 1)
        assert memory.forms(user_id="2").behind == 0
        assert memory.process() == 1
        assert "ingest (1 behind)" in caplog.text
        with Running(installation, stages=["ingest"]):
            with pytest.raises(Lagging, match="extract"):
                memory.wait(memory.add("I work at Acme.", user_id="1").position, 5.0)
            # Not understood yet, but on the log: it is found by its words.
            assert "I work at Acme." in [hit.text for hit in memory.search("Acme", user_id="1", kinds=["turn"])]


def test_a_scope_that_stands_still_is_not_waited_for(
    servers: Servers, installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with Running(installation), opened(servers) as memory:
        memory.add("I live in Lisbon.", user_id="1")
        assert homes(memory) == ["Lisbon"]
        sent(installation, turn("x"), DYNAMICS, b"\xff not an event")
        partition = installation.of(SCOPE)
        memory.process()
        memory.add("I live in Porto.", user_id="1", id="late")
        rows = memory.forms(user_id="1")
        assert rows.behind >= 1
        assert [slot.value.shown for form in rows for slot in form.slots] == ["Lisbon"]
        assert "cannot decide its next input" in caplog.text
        assert partition.log.end(DYNAMICS) == 3


# -- operating ---------------------------------------------------------------------------------------------------------

TAMPERED = [
    ("", 'UPDATE rm_versions_1 SET value = \'{"type":"text","data":"edited"}\'', "versions"),
    ("resolver", "DELETE FROM rm_resolver_state_1 WHERE key = 'meta'", "resolver_state"),
    ("resolver", "UPDATE rm_heads_1 SET head = 'x'", "heads"),
]


@pytest.mark.parametrize(("part", "statement", "table"), TAMPERED, ids=[case[2] for case in TAMPERED])
def test_a_row_that_was_altered_is_found(
    servers: Servers, installation: Installation, part: str, statement: str, table: str
) -> None:
    with Running(installation), opened(servers) as memory:
        memory.add("I live in Lisbon.", user_id="1")
        memory.process()
        assert memory.verify(decide=True).equal
    alter(servers, servers.schema(installation.number_of(SCOPE), part), statement)
    with opened(servers) as memory:
        report = memory.verify()
        assert (report.equal, report.differing_scopes) == (False, [str(SCOPE)])
        assert [item.table for item in report.differences] == [table]


def test_a_rebuild_while_turns_come_in(servers: Servers, installation: Installation) -> None:
    with Running(installation), opened(servers) as memory:
        memory.add_events([turn(f"a{n}", f"I live in Town{n}.", (SCOPE, OTHER)[n % 2]) for n in range(40)])
        memory.process()
        memory.add_events([turn(f"b{n}", f"I live in City{n}.", (SCOPE, OTHER)[n % 2]) for n in range(40)])
        report = memory.rebuild()
        assert (report.version, report.replaced, report.differing_scopes) == (2, 1, [])
        assert memory.process() == 0
        found = memory.verify()
        assert found.equal
        assert found.inputs == 80
        assert memory.rebuild().digest == found.live_digest


# -- vectors -----------------------------------------------------------------------------------------------------------


def test_questions_use_vectors_that_the_worker_computed(servers: Servers, installation: Installation) -> None:
    with (
        Running(installation, embedder=Letters()),
        opened(servers, embedder=Letters()) as first,
        opened(servers, embedder=Letters()) as second,
    ):
        texts = [f"{letter * 9} said" for letter in "qwxz"]
        last = [first.add(text, user_id="1") for text in texts][-1]
        for memory in (first, second):  # the second one finds the index of this machine in use, and scans
            memory.wait(last.position)
            hits = [hit for hit in memory.search("zzzz", user_id="1") if hit.kind == "turn"]
            assert hits[0].text == texts[-1]
            assert "vectors" in hits[0].routes
    with pytest.raises(EmbedderMismatch, match="letters/26"), opened(servers, embedder=Letters("other/26")):
        pass


# -- wrong configuration -----------------------------------------------------------------------------------------------


def test_what_does_not_go_together_is_refused(servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="path"):
        Memory(tmp_path / "home", servers=servers)
    monkeypatch.delenv("MNEMOLOG_KAFKA", raising=False)
    monkeypatch.delenv("MNEMOLOG_DATABASE", raising=False)
    with pytest.raises(InvalidInput, match="MNEMOLOG_KAFKA"):
        Memory.connect()
    monkeypatch.setenv("MNEMOLOG_KAFKA", servers.kafka)
    with pytest.raises(InvalidInput, match="MNEMOLOG_DATABASE"):
        Memory.connect()
    monkeypatch.setenv("MNEMOLOG_DATABASE", servers.database)
    monkeypatch.setenv("MNEMOLOG_PREFIX", servers.prefix)
    monkeypatch.setenv("MNEMOLOG_PARTITIONS", "2")
    with Memory.connect("acme", embedder=False) as memory:
        assert memory.stats()["dynamics"] == 0
    with pytest.raises(Closed):
        memory.stats()


def test_servers_that_do_not_answer_are_named(services: Services, servers: Servers) -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        Memory(servers=Servers(kafka="127.0.0.1:1", database=services.database))
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        Memory(servers=Servers(kafka=services.kafka, database="postgresql+psycopg://x@127.0.0.1:1/x", prefix=servers.prefix))


def test_a_database_of_another_log_or_a_newer_mnemolog_is_refused(servers: Servers, installation: Installation) -> None:
    with Running(installation), opened(servers) as memory:
        memory.add_events([turn("a"), turn("b", scope=OTHER)])
        memory.process()
    for statement, kind in (
        ("UPDATE rm_meta SET value = '99' WHERE name = 'schema_version'", NewerVersion),
        ("UPDATE rm_meta SET value = 'another' WHERE name = 'log_id'", UnknownLog),
    ):
        alter(servers, servers.schema(0), statement)
        with pytest.raises(kind) as caught, opened(servers):
            pass
        alter(servers, servers.schema(0), f"UPDATE rm_meta SET value = '{SCHEMA_VERSION}' WHERE name = 'schema_version'")  # noqa: S608 - our own number
        assert isinstance(caught.value, LogError)
        assert not isinstance(caught.value, Misconfigured)
        assert "\n" not in str(caught.value)
