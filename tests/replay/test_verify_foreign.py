"""What no fold of the log shows is found and named all the same: rows of nobody, a tenant that is not the scope's, places that
the log does not reach, dropped tables, and what a log in a file notes of its own records."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from mnemolog import Memory
from mnemolog.replay.verify import Difference, Problem, VerifyReport
from mnemolog.schemas.errors import BrokenChain, LogError

TOLD = ("My budget is 5000 dollars.", "I live in Lisbon.", "I live in Porto now.")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("foreign") / "memory"
    with Memory(home, embedder=False) as memory:
        for user in ("ann", "bob"):
            for said in TOLD:
                memory.add(said, user_id=user, occurred_at="2026-03-02T09:00:00Z")
        memory.process()
        assert memory.verify().equal
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "memory")


def alter(home: Path, *statements: str) -> None:
    with sqlite3.connect(home / "memory.db") as file:
        for statement in statements:
            assert file.execute(statement).rowcount != 0, statement
    file.close()


def verified(home: Path) -> VerifyReport:
    with Memory(home, embedder=False) as memory:
        return memory.verify()


def the_problem(report: VerifyReport) -> Problem:
    assert not report.equal
    [found] = report.problems
    return found


def the_difference(report: VerifyReport) -> Difference:
    assert not report.equal
    [found] = report.differences
    return found


PLANT = "INSERT INTO rm_forms_1 SELECT 99, form_id, form_type, key, name, status, updated_at, hidden FROM rm_forms_1 LIMIT 1"


def test_rows_of_a_scope_that_no_decision_knows(home: Path) -> None:
    alter(home, "INSERT INTO rm_scopes (scope_id, key, tenant) VALUES (99, 'default/user:eve', 'default')", PLANT)
    report = verified(home)
    found = the_difference(report)
    assert (found.scope, found.table, found.replayed) == ("default/user:eve", "forms", "")
    assert report.differing_scopes == ["default/user:eve"]


def test_rows_of_no_scope_at_all(home: Path) -> None:
    alter(home, PLANT)
    report = verified(home)
    found = the_difference(report)
    assert (found.scope, found.table, found.key) == ("", "forms", "scope_id 99")
    assert report.differing_scopes == []


def test_a_scope_that_is_filed_under_another_tenant(home: Path) -> None:
    alter(home, "UPDATE rm_scopes SET tenant = 'acme' WHERE key = 'default/user:bob'")
    found = the_difference(verified(home))
    assert (found.scope, found.table, found.columns) == ("default/user:bob", "scopes", ["tenant"])
    assert (found.live, found.replayed) == ('{"tenant":"acme"}', '{"tenant":"default"}')


@pytest.mark.parametrize(("name", "offset"), [("changes", -1), ("dynamics", 11), ("summaries", -1)])
def test_a_place_that_the_log_does_not_reach(home: Path, name: str, offset: int) -> None:
    alter(home, f"INSERT OR REPLACE INTO rm_offsets_1 (name, value) VALUES ('{name}', 11)")  # noqa: S608 - names of ours
    found = the_problem(verified(home))
    assert (found.scope, found.kind, found.offset) == ("", "ahead", offset)
    assert f"memory.{name}.v1" in found.detail


@pytest.mark.parametrize("offset", [0, 4])
def test_a_place_that_was_set_back_is_named_and_a_rebuild_puts_it_right(home: Path, offset: int) -> None:
    alter(home, f"UPDATE rm_offsets_1 SET value = {offset} WHERE name = 'dynamics'")  # noqa: S608 - a number of ours
    found = the_problem(verified(home))
    assert (found.scope, found.kind, found.offset) == ("", "behind", offset)
    with Memory(home, embedder=False) as memory:
        user = "bob" if offset else "ann"
        with pytest.raises(BrokenChain, match=f"no input from dynamics offset {offset} on is decided") as caught:
            memory.process()
        assert caught.value.scope == f"default/user:{user}"
        memory.rebuild()
        memory.add("I live in Faro now.", user_id=user)
        memory.process()
        assert memory.verify(decide=True).equal
        assert [version.value.shown for version in memory.history(user_id=user, slot="home") if version.value][-1] == "Faro"


@pytest.mark.parametrize("table", ["forms", "turns", "resolver_state", "heads", "offsets"])
def test_a_dropped_table_is_named_and_a_rebuild_makes_it_anew(home: Path, made: Path, table: str) -> None:
    alter(home, f"DROP TABLE rm_{table}_1")
    with Memory(made, embedder=False) as memory:
        before = memory.verify().live_digest, memory.forms(user_id="ann")
    with Memory(home, embedder=False) as memory:
        if table in {"forms", "turns"}:
            found = the_problem(memory.verify())
            assert (found.kind, found.detail.split(":")[0]) == ("dropped", f"no table rm_{table}_1")
        memory.rebuild()
        report = memory.verify()
        assert report.equal
        assert (report.live_digest, memory.forms(user_id="ann")) == before


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE rm_versions_1 SET value = '{no json'",
        "UPDATE rm_versions_1 SET confidence = 'much'",
        "UPDATE rm_resolver_state_1 SET blob = x'00'",
        "UPDATE rm_turns_1 SET position = 'first' WHERE position = 0",
    ],
)
def test_a_rebuild_repairs_what_cannot_be_read_any_more(home: Path, made: Path, change: str) -> None:
    with Memory(made, embedder=False) as memory:
        before = memory.verify().live_digest, memory.history(user_id="bob")
    alter(home, change)
    with Memory(home, embedder=False) as memory:
        memory.rebuild()
        report = memory.verify()
        assert report.equal
        assert (report.live_digest, memory.history(user_id="bob")) == before


NOTES = [
    ("UPDATE log_heads SET head = head || 'x' WHERE scope = 'default/user:bob'", -1, "the head that is noted"),
    ("DELETE FROM log_heads WHERE scope = 'default/user:bob'", -1, "the head that is noted"),
    ("UPDATE log_links SET prev = prev || 'x' WHERE offset = 4", -1, "memory.changes.v1, offset 4: a link is noted there"),
    ("DELETE FROM log_links WHERE offset = 5", -1, "the head that is noted"),
    ("DELETE FROM log_seen WHERE topic = 'dynamics' AND offset = 4", 4, "is not among the ids seen"),
    ("UPDATE log_seen SET id = id || 'x' WHERE topic = 'dynamics' AND offset = 4", 4, "is not among the ids seen"),
    ("UPDATE log_seen SET offset = 90 WHERE topic = 'dynamics' AND offset = 4", 90, "no record of its scope is"),
    ("UPDATE log_seen SET content = 'x' WHERE topic = 'dynamics' AND offset = 4", 4, "another content is noted"),
    ("UPDATE log_seen SET content = 'x' WHERE topic = 'changes' AND offset = 4", -1, "another content is noted"),
]


@pytest.mark.parametrize(("change", "offset", "said"), NOTES)
def test_what_the_log_notes_of_its_records_is_compared_with_them(home: Path, change: str, offset: int, said: str) -> None:
    alter(home, change)
    report = verified(home)
    found = the_problem(report)
    assert (found.scope, found.kind, found.offset) == ("default/user:bob", "index", offset)
    assert said in found.detail
    assert report.differing_scopes == ["default/user:bob"]
    assert report.live_digest == report.replayed_digest


def test_a_head_that_nothing_fits_is_named_while_inputs_wait(home: Path) -> None:
    """Behind it no decision would ever be taken: verifying does not wait for one."""
    with Memory(home, embedder=False) as memory:
        memory.add("I live in Rome.", user_id="bob")
    alter(home, "UPDATE log_heads SET head = 'x' WHERE scope = 'default/user:bob'")
    assert the_problem(verified(home)).kind == "index"


@pytest.mark.parametrize("change", ["DELETE FROM log_meta", "UPDATE log_meta SET value = 'x' WHERE name = 'format'"])
def test_a_log_that_does_not_say_what_it_is(home: Path, change: str) -> None:
    alter(home, change)
    with pytest.raises(LogError, match="does not say any more what it is"):
        Memory(home, embedder=False)


def test_no_version_that_is_live(home: Path) -> None:
    alter(home, "DELETE FROM rm_active_versions")
    with pytest.raises(LogError, match="no version of the read models"):
        verified(home)
