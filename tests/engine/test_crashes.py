"""A crash at any point, then a start on what is there, ends as the run without the crash did."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemolog.projections.weeks as weeks
from engine.talk import Rig, Step, batches_of, examples, memory_rig, sqlite_rig, steps, tell
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.adapters.vectors.edge import EdgeVectors
from mnemolog.processors.core.ports import Extraction
from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.projections.vectors import VectorIndexer
from mnemolog.schemas.envelope import Envelope
from query.memory import HashingEmbedder
from support.events import turn


class Crash(BaseException):
    """The process is gone: nothing may catch this and go on."""


POINTS: list[tuple[type, str]] = [
    (SqliteLog, "append_inputs"),
    (SqliteLog, "append_processed"),
    (SqliteLog, "append_derived"),
    (Projector, "apply"),
    (Projector, "write_summaries"),
    (Store, "settle_weeks"),
]


class Faults:
    """Crashes at the `at`-th call of a method, before it or after it."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: type, method: str, at: int, after: bool) -> None:
        self.calls = 0
        self.crashed = False
        real: Callable[..., Any] = getattr(owner, method)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            hit = self.calls == at
            if hit and not after:
                self.crashed = True
                raise Crash
            result = real(*args, **kwargs)
            if hit:
                self.crashed = True
                raise Crash
            return result

        patch.setattr(owner, method, call)


def add_again(rig: Rig, events: Sequence[Envelope]) -> None:
    """As a caller who does not know what was kept: everything once more."""
    for event in events:
        rig.add([event], process=False)
    rig.engine.process()


@examples(14)
@given(steps, st.sampled_from(POINTS), st.integers(1, 6), st.booleans(), st.integers(1, 6), st.integers(1, 8))
def test_a_crash_anywhere_then_a_new_start(
    story: list[Step], point: tuple[type, str], at: int, after: bool, size: int, at_once: int
) -> None:
    events = tell(story)
    whole = memory_rig()
    whole.add(events)
    with tempfile.TemporaryDirectory() as folder, batches_of(size):
        path = Path(folder) / "memory.db"
        rig = sqlite_rig(path)
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch, *point, at, after)
            try:
                for start in range(0, len(events), at_once):
                    rig.add(events[start : start + at_once])
            except Crash:
                assert faults.crashed
        rig.close()
        rig = sqlite_rig(path)
        add_again(rig, events)
        assert rig.digests() == whole.digests()
        rig.check()
        rig.close()
    whole.close()


@examples(8)
@given(steps, st.sampled_from(POINTS), st.integers(1, 6), st.booleans(), st.integers(1, 6))
def test_an_error_anywhere_then_going_on_in_the_same_process(
    story: list[Step], point: tuple[type, str], at: int, after: bool, size: int
) -> None:
    """A disk that is full for a moment, a lock that is held too long: the engine that met it goes on."""
    events = tell(story)
    whole = memory_rig()
    whole.add(events)
    with tempfile.TemporaryDirectory() as folder, batches_of(size):
        rig = sqlite_rig(Path(folder) / "memory.db")
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch, *point, at, after)
            for event in events:
                try:
                    rig.add([event])
                except Crash:
                    assert faults.crashed
                    rig.add([event], process=False)
        rig.engine.process()
        assert rig.digests() == whole.digests()
        rig.check()
        rig.close()
    whole.close()


def test_every_fault_point_is_met(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A story of some weeks passes every point, so that the tests above do not crash where nobody goes."""
    faults = [Faults(monkeypatch, owner, method, 0, False) for owner, method in POINTS]
    rig = sqlite_rig(tmp_path / "memory.db")
    for week in range(3):
        rig.add([turn(f"w{week}", f"I like dish number {week}.", time=f"2026-03-{2 + 7 * week:02}T09:00:00.000000Z")])
    # A repetition in a week that is summarised changes nothing that the summary says.
    rig.add([turn("w0-again", "I like dish number 0.", time="2026-03-02T09:05:00.000000Z")])
    rig.close()
    assert [fault.calls > 0 for fault in faults] == [True] * len(faults)


@pytest.mark.parametrize("method", ["upsert", "flush"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_crash_while_vectors_are_written(tmp_path: Path, method: str, after: bool, at: int) -> None:
    texts = [f"word{number} word{number % 7} 词{number % 5}" for number in range(90)]
    rig = sqlite_rig(tmp_path / "memory.db", understood=Silent())
    rig.add([turn(f"t{number}", text) for number, text in enumerate(texts)])
    embedder = CountingEmbedder()
    with pytest.MonkeyPatch.context() as patch:
        faults = Faults(patch, EdgeVectors, method, at + (method == "flush"), after)  # the first flush makes the shard
        shard = EdgeVectors(tmp_path / "vectors", embedder.dim, embedder.name)
        try:
            fill(VectorIndexer(rig.store, embedder, shard))
        except Crash:
            assert faults.crashed
        shard.close()
    shard = EdgeVectors(tmp_path / "vectors", embedder.dim, embedder.name)
    indexer = VectorIndexer(rig.store, embedder, shard)
    fill(indexer)
    for number in (0, 40, 89):
        [vector] = indexer.vectors_of("acme/user:1", [texts[number]])
        assert shard.search(["acme/user:1"], "turn", vector, 1)[0].point_id == str(number)
    assert shard.next_offset == 90
    assert embedder.embedded == 90  # each text once, whatever happened
    shard.close()
    rig.close()


def fill(indexer: VectorIndexer) -> None:
    while indexer.step():
        pass


class CountingEmbedder(HashingEmbedder):
    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> Any:
        self.embedded += len(texts)
        return super().embed(texts)


class Silent:
    """An extractor that understands nothing, at once."""

    name = "silent/1"
    window = 0

    def extract(self, turn: object, window: object) -> Any:
        return Extraction(candidates=[])


def test_weeks_left_out_by_a_crash_are_summarised_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = sqlite_rig(tmp_path / "memory.db")
    rig.add([turn("a", "I live in Lisbon.", time="2026-03-02T09:00:00.000000Z")])
    with monkeypatch.context() as patch:
        Faults(patch, SqliteLog, "append_derived", 1, False)
        with pytest.raises(Crash):
            rig.add([turn("b", "I live in Porto.", time="2026-03-12T09:00:00.000000Z")])
    assert rig.store.closed_summaries("acme/user:1") == []
    rig.close()
    rig = sqlite_rig(tmp_path / "memory.db")
    rig.engine.process()
    assert [view.week for view in rig.store.closed_summaries("acme/user:1")] == ["2026-W10"]
    assert weeks.due_weeks(rig.store) == []
    rig.close()
