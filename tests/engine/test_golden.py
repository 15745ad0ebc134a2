"""Property 10, second half: what was recorded once folds today to the same memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.golden_log import FOLDER, load_log
from engine.talk import Rig
from golden.expected import FOLDER as EVENTS_FOLDER
from mnemolog.processors.core.evolve import apply
from mnemolog.processors.core.state import ScopeState, dump
from mnemolog.projections.digest import digest_store, total_digest
from mnemolog.projections.projector import DecidedInput, Projector
from mnemolog.projections.store import Store
from mnemolog.replay.fold import Fold
from mnemolog.replay.states import StateFolder
from mnemolog.schemas.changes import Decision, WeekSummarised
from mnemolog.schemas.codec import sha256_hex
from mnemolog.schemas.envelope import Envelope, Position
from mnemolog.schemas.events import CHANGES, DYNAMICS, decode
from mnemolog.schemas.inputs import Turn

LOGS: dict[str, tuple[str, str]] = {
    "log-1.jsonl": (
        "5cedf2a7bd09d38e969cf3b034966c80f690564b32e041d60a2d10399a06c832",
        "a4e5f81ea6090103769ba8f29bc419723c35a1ddf97ce0b180fbcc80d92aad37",
    ),
}
"""For each recorded log the SHA-256 of its bytes, which never changes, and the digest of the memory that it folds to.

Where the second differs, the projections make something else of decisions that were recorded: every memory there is would
fail to verify until it is rebuilt. Pin it anew only where that is meant, and say so in the changelog."""

EVERY_CHANGE = {
    1: "4a21dda64df25c53edd4d9b9f87ed474667af8fbf12398c6c11f140645e0f468",
    2: "5de81dc9988a1dc42868265d4414337ceeb4d896bb233efa57618eaf70361f0a",
}
"""The digest of the golden decision about a turn of each version, with a change of every kind, and of the golden summary."""


def test_no_recorded_log_was_deleted_or_left_unpinned() -> None:
    assert sorted(LOGS) == sorted(path.name for path in FOLDER.glob("*.jsonl"))
    assert LOGS


@pytest.mark.parametrize("name", LOGS)
def test_a_recorded_log_folds_to_the_memory_that_it_was(name: str) -> None:
    assert sha256_hex((FOLDER / name).read_bytes()) == LOGS[name][0]
    log = load_log(FOLDER / name)
    with Store(":memory:") as store:
        projector = Projector(store)
        fold = Fold(log, projector, StateFolder(store))
        fold.advance(log.end(CHANGES))
        projector.apply_summaries(log)
        fold.look_for_undecided(log.end(DYNAMICS))
        assert fold.problems == []
        assert fold.inputs == log.end(DYNAMICS) > 50
        assert total_digest(digest_store(store)) == LOGS[name][1]


@pytest.mark.parametrize("name", LOGS)
def test_an_engine_of_today_goes_on_where_a_recorded_log_ends(name: str) -> None:
    rig = Rig(load_log(FOLDER / name))
    rig.engine.process()
    report = rig.verify()
    assert (report.equal, report.live_digest) == (True, LOGS[name][1])
    last = Envelope.from_bytes(list(rig.log.read(DYNAMICS))[-1].value)
    rig.add([Envelope.from_bytes((EVENTS_FOLDER / "turn.recorded.v1.json").read_bytes())])
    assert rig.log.end(CHANGES) == rig.log.end(DYNAMICS)
    assert rig.verify().equal
    assert last.id
    rig.close()


def golden(name: str) -> tuple[Envelope, object, bytes]:
    value = (EVENTS_FOLDER / f"{name}.json").read_bytes()
    envelope, data = decode(value)
    return envelope, data, value


@pytest.mark.parametrize("version", EVERY_CHANGE)
def test_a_change_of_every_kind_folds_to_a_pinned_digest(version: int) -> None:
    given, turn, _ = golden(f"turn.recorded.v{version}")
    envelope, decision, value = golden("decision.made.v1")
    assert isinstance(turn, Turn)
    assert isinstance(decision, Decision)
    state = ScopeState.empty(given.scope)
    keys = apply(state, decision, given, turn, Position(0, 0, 7), sha256_hex(value))
    with Store(":memory:") as store:
        projector = Projector(store)
        item = DecidedInput(
            input=given,
            data=turn,
            offset=7,
            decision_envelope=envelope,
            decision=decision,
            changes_offset=0,
            hash=sha256_hex(value),
            recorded=given.recordedtime or "",
            extractor="openai/1",
        )
        states = {(str(given.scope), key): blob for key, blob in dump(state, keys).items()}
        projector.apply([item], states=states, next_changes=1, applied_input=8)
        summary, told, _ = golden("week.summarised.v1")
        assert isinstance(told, WeekSummarised)
        projector.write_summaries([(summary, told)], first=0, next_summaries=1)
        assert total_digest(digest_store(store)) == EVERY_CHANGE[version]


def test_the_folder_holds_nothing_else() -> None:
    assert [path for path in Path(FOLDER).iterdir() if not path.name.startswith("log-")] == []
