"""A memory that is what its log says is equal; anything altered, by hand or on the log, is found and named."""

from __future__ import annotations

import pytest

from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.projections.projector import DecidedInput
from mnemolog.replay.verify import verify
from replay.folder import STORY, Folder
from replay.logged import bring_up, record
from replay.places import Place
from replay.stories import SCOPES, tell


def test_the_live_tables_are_what_the_log_says(folder: Folder) -> None:
    report = verify(folder.log, folder.store)
    assert report.equal, report
    assert report.live_digest == report.replayed_digest
    assert (report.checked, report.inputs, report.differing_scopes) == (3, len(STORY), [])
    assert report.problems == report.differences == report.drift == []


def test_one_scope_alone(folder: Folder) -> None:
    report = verify(folder.log, folder.store, SCOPES[1])
    assert report.equal, report
    assert report.checked == 1
    assert report.inputs == sum(1 for place, _, _ in STORY if place == 1)


EDITS = [
    ("versions", "UPDATE rm_versions_1 SET value = ? WHERE scope_id = 2 AND version = 1", '{"type":"text","data":"edited"}'),
    ("forms", "UPDATE rm_forms_1 SET name = ? WHERE scope_id = 2", "Edited"),
    (
        "timeline",
        "UPDATE rm_timeline_1 SET text = ? WHERE rowid = (SELECT max(rowid) FROM rm_timeline_1 {mine})",
        "x",
    ),
    (
        "pending",
        "UPDATE rm_pending_1 SET closed = ? WHERE rowid = (SELECT max(rowid) FROM rm_pending_1 {mine})",
        "x",
    ),
    ("turns", "UPDATE rm_turns_1 SET content = ? WHERE scope_id = 2 AND position = 1", "edited"),
    ("resolver_state", "DELETE FROM rm_resolver_state_1 WHERE scope_id = 2 AND key = ?", "meta"),
    (
        "summaries",
        "UPDATE rm_summaries_1 SET lines = ? WHERE rowid = (SELECT max(rowid) FROM rm_summaries_1 {mine})",
        "[]",
    ),
]


@pytest.mark.parametrize(("table", "statement", "value"), EDITS, ids=[edit[0] for edit in EDITS])
def test_a_hand_edited_row_is_found_and_its_scope_named(folder: Folder, table: str, statement: str, value: str) -> None:
    folder.alter(statement.replace("{mine}", "WHERE scope_id = 2"), value)
    report = verify(folder.log, folder.store)
    assert not report.equal
    assert report.differing_scopes == [str(SCOPES[1])]
    [difference] = report.differences
    assert (difference.scope, difference.table) == (str(SCOPES[1]), table)
    assert difference.live != difference.replayed
    assert verify(folder.log, folder.store, SCOPES[0]).equal


def test_a_row_too_many_and_a_row_too_few(folder: Folder) -> None:
    folder.alter("DELETE FROM rm_turns_1 WHERE scope_id = 1 AND position = 0")
    [difference] = verify(folder.log, folder.store).differences
    assert (difference.table, difference.key, difference.live) == ("turns", "0", "")


@pytest.mark.parametrize("last", [False, True])
def test_a_deleted_change_breaks_the_chain_at_its_input(folder: Folder, last: bool) -> None:
    mine = [offset for offset, (place, _, _) in enumerate(STORY) if place == 2]
    offset = mine[-1] if last else mine[3]
    folder.alter("DELETE FROM log_changes WHERE offset = ?", offset)
    report = verify(folder.log, folder.store)
    assert not report.equal
    assert report.differing_scopes == [str(SCOPES[2])]
    [problem] = report.problems
    assert (problem.kind, problem.scope, problem.input_id, problem.offset) == (
        "undecided",
        str(SCOPES[2]),
        f"e{offset}",
        offset,
    )


def test_a_deleted_input_is_missing(folder: Folder) -> None:
    folder.alter("DELETE FROM log_dynamics WHERE offset = 4")
    report = verify(folder.log, folder.store)
    assert not report.equal
    assert report.differing_scopes == [str(SCOPES[1])]
    assert [(problem.kind, problem.input_id, problem.offset) for problem in report.problems] == [("missing", "e4", 4)]


def test_an_input_that_cannot_be_read_any_more(folder: Folder) -> None:
    folder.alter("UPDATE log_dynamics SET value = ? WHERE offset = 5", b"\xff not an event")
    report = verify(folder.log, folder.store)
    assert not report.equal
    assert report.differing_scopes == [str(SCOPES[2])]
    assert report.problems[0].kind == "undecodable"


def test_a_decision_that_cannot_be_read_any_more(folder: Folder) -> None:
    folder.alter("UPDATE log_changes SET value = ? WHERE offset = 5", b"{}")
    report = verify(folder.log, folder.store)
    assert not report.equal
    assert report.differing_scopes == [str(SCOPES[2])]
    assert (report.problems[0].kind, report.problems[0].scope) == ("undecodable", str(SCOPES[2]))


def test_a_decision_that_was_altered_voids_what_follows(folder: Folder) -> None:
    folder.alter(
        "UPDATE log_changes SET value = CAST(replace(CAST(value AS TEXT), 'test/1', 'test/2') AS BLOB) WHERE offset = 0"
    )
    report = verify(folder.log, folder.store)
    assert not report.equal
    assert report.differing_scopes == [str(SCOPES[0])]
    [problem] = report.problems
    assert (problem.kind, problem.offset) == ("undecided", 3)


def test_a_repeated_record_of_the_same_input_is_no_problem(folder: Folder) -> None:
    """A log adapter keeps the first record of an id; one that holds a second copy all the same reads as if it did not."""
    folder.alter(
        "INSERT INTO log_dynamics (offset, scope, recorded, value) "
        "SELECT (SELECT max(offset) + 1 FROM log_dynamics), scope, recorded, value FROM log_dynamics WHERE offset = 0"
    )
    folder.alter("UPDATE rm_offsets_1 SET value = value + 1 WHERE name = 'dynamics'")
    assert verify(folder.log, folder.store).equal


def test_what_is_appended_meanwhile_takes_no_part(place: Place) -> None:
    log = MemoryLog()
    items = tell(STORY)
    record(log, items[:20])
    store = place.open()
    bring_up(log, store)
    record(log, items[20:])
    report = verify(log, store)
    assert report.equal
    assert report.inputs == 20
    store.close()


def test_deciding_again_reports_drift_and_is_no_fault(folder: Folder) -> None:
    def decide(item: DecidedInput) -> str:
        return "another outcome" if item.offset == 7 else ""

    told: list[int] = []
    report = verify(folder.log, folder.store, decide=decide, progress=told.append)
    assert report.equal
    assert [(found.kind, found.offset, found.detail) for found in report.drift] == [("drift", 7, "another outcome")]
    assert sum(told) == len(STORY)


def test_an_empty_memory_is_equal(place: Place) -> None:
    log = MemoryLog()
    store = place.open(log_id=log.log_id)
    report = verify(log, store)
    assert report.equal
    assert report.checked == 0
    store.close()
