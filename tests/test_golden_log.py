"""Property 10, second half: a log that was recorded once folds to the same state on every log adapter, for ever."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from golden.recorded import LOGS, read_log, replay_into
from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.processors.core.ports import EventLog
from mnemolog.projections.digest import digest_store, total_digest
from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.replay.fold import Fold
from mnemolog.replay.states import StateFolder
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import StaleDecision
from mnemolog.schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, SUMMARIES, decode
from mnemolog.schemas.scope import Scope

PINNED = {
    "log-1.jsonl": (
        "37d15ad5ce1cf75ad12b2377cfe6c8fa78f9d626b472e32171390898f72f6418",
        "1e0c098906e1bbb6bfd449dbe9992acad439dede43eac1f862b833d5d74a74bd",
    ),
}
"""For each recorded log the SHA-256 of its bytes and the digest that it folds to. Neither is ever changed: where a fold gives
another digest, what people stored would read differently after an upgrade."""


def new_log(kind: str, folder: Path) -> EventLog:
    return MemoryLog() if kind == "memory" else SqliteLog(folder / "log.db")


def folded(log: EventLog, path: Path) -> tuple[str, list[object]]:
    """The digest of a fresh fold and the problems found on the way."""
    store = Store(path)
    try:
        projector = Projector(store)
        fold = Fold(log, projector, StateFolder(store))
        fold.advance(log.end(CHANGES))
        projector.apply_summaries(log, log.end(SUMMARIES))
        fold.look_for_undecided(log.end(DYNAMICS))
        return total_digest(digest_store(store)), list(fold.problems)
    finally:
        store.close()


def redeliver(log: EventLog, path: Path) -> None:
    """Every record again: what is known is skipped, and a decision does not link to the head any more."""
    for topic, value in read_log(path):
        event = Envelope.from_bytes(value)
        if topic == DYNAMICS:
            assert not log.append_inputs([event])[0].fresh
        elif topic == CHANGES:
            with pytest.raises(StaleDecision):
                log.append_decisions([event])
        else:
            assert log.append_derived(topic, [event]) == 0


def test_every_recorded_log_is_pinned_and_unchanged() -> None:
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in LOGS} == {
        name: pinned[0] for name, pinned in PINNED.items()
    }


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_a_recorded_log_folds_to_the_pinned_digest(path: Path, kind: str, tmp_path: Path) -> None:
    log = new_log(kind, tmp_path)
    try:
        replay_into(log, path)
        assert folded(log, tmp_path / "first.db") == (PINNED[path.name][1], [])
        redeliver(log, path)
        assert folded(log, tmp_path / "second.db") == (PINNED[path.name][1], [])
    finally:
        log.close()


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_a_recorded_log_keeps_its_chain_byte_for_byte(path: Path) -> None:
    log = MemoryLog()
    replay_into(log, path)
    heads: dict[str, str] = {}
    for topic, value in read_log(path):
        if topic == CHANGES:
            envelope, decision = decode(value)
            assert decision.prev == heads.get(str(envelope.scope), "")
            heads[str(envelope.scope)] = hashlib.sha256(value).hexdigest()
    assert heads
    assert {scope: log.head(Scope.parse(scope)) for scope in heads} == heads


def test_the_recorded_logs_meet_every_topic_and_an_old_version() -> None:
    records = [(topic, json.loads(value)) for path in LOGS for topic, value in read_log(path)]
    assert {topic for topic, _ in records} == {DYNAMICS, OBSERVATIONS, CHANGES, SUMMARIES}
    assert any(value["dataschema"] == "urn:mnemolog:turn.recorded:1" for _, value in records)
