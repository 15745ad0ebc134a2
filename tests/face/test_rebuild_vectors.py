"""Another vector index is filled beside the one that answers, with vectors of one embedder only."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemolog import Memory
from mnemolog.adapters.vectors.edge import EdgeVectors, embedder_in
from mnemolog.schemas.errors import Busy, EmbedderMismatch, InvalidInput, LogError

TOWNS = ("Lisbon", "Porto", "Braga", "Faro", "Evora")


class Counted:
    """Letters, in one order or another, and how many texts were asked for."""

    def __init__(self, name: str, dim: int = 32) -> None:
        self.name, self.dim, self.texts = name, dim, 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += len(texts)
        made = np.full((len(texts), self.dim), 0.01, np.float32)
        for row, text in zip(made, texts, strict=True):
            for char in text.lower():
                row[ord(char) % self.dim] += 1
        unit: NDArray[np.float32] = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit

    def count_tokens(self, text: str) -> int:
        return len(text)


def fill(memory: Memory) -> None:
    for town in TOWNS:
        memory.add(f"I have been to {town} in spring.", user_id="1")
    memory.process()


ASKED = itertools.count()


def routes(memory: Memory) -> set[str]:
    """Each time of another question: the vector of one that was asked before is kept."""
    hits = memory.search("I have been to Porto in spring" + "!" * (next(ASKED) % 9), user_id="1", time_budget=5.0)
    assert not hits.missing
    return {route for hit in hits for route in hit.routes}


def test_the_same_embedder_computes_nothing_again(tmp_path: Path) -> None:
    embedder = Counted("letters/1")
    with Memory(tmp_path / "home", embedder=embedder) as memory:
        fill(memory)
        assert "vectors" in routes(memory)
        report = memory.rebuild_vectors()
        assert (report.index, report.turns, report.computed, report.resumed) == (1, len(TOWNS), 0, False)
        assert (report.embedder, report.replaced) == ("letters/1", "letters/1")
        assert "vectors" in routes(memory)
        memory.add("I have been to Sintra in spring.", user_id="1")
        memory.process()
        assert "vectors" in routes(memory)
    with Memory(tmp_path / "home", embedder=embedder) as memory:
        assert "vectors" in routes(memory)
        assert not (tmp_path / "home" / "vectors").exists(), "what is out of use goes"
        assert memory.verify().equal


def test_another_embedder_takes_the_place_and_nothing_is_mixed(tmp_path: Path) -> None:
    old, new = Counted("letters/1"), Counted("letters/2", 48)
    home = tmp_path / "home"
    with Memory(home, embedder=old) as memory:
        fill(memory)
        assert "vectors" in routes(memory)
        steps: list[tuple[int, int]] = []

        def watch(done: int, end: int) -> None:
            steps.append((done, end))
            assert "vectors" in routes(memory), "the old one answers meanwhile"
            assert old.texts > before

        before = old.texts
        report = memory.rebuild_vectors(new, watch=watch)
        assert (report.computed, report.turns, report.replaced) == (len(TOWNS), len(TOWNS), "letters/1")
        assert steps
        asked, before = new.texts, old.texts
        assert "vectors" in routes(memory)
        assert new.texts > asked
        assert old.texts == before
    with Memory(home, embedder=old) as memory, pytest.raises(EmbedderMismatch, match="mnemolog rebuild vectors"):
        routes(memory)
    with Memory(home, embedder=new) as memory:
        assert "vectors" in routes(memory)
        assert memory.rebuild_vectors(old).computed == 0, "the cache keeps what was computed once"


def test_who_does_not_process_is_refused_by_name_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Memory(home, embedder=Counted("letters/1")) as memory:
        fill(memory)
        routes(memory)
        with Memory(home, embedder=Counted("letters/2")) as other:
            with pytest.raises(EmbedderMismatch, match="letters/1"):
                routes(other)
            with pytest.raises(Busy, match="owns this folder"):
                other.rebuild_vectors()


def test_a_run_that_was_ended_is_gone_on_with(tmp_path: Path) -> None:
    old, new, third = Counted("letters/1"), Counted("letters/2"), Counted("letters/3")
    home = tmp_path / "home"

    def end(_done: int, _end: int) -> None:
        raise RuntimeError("out of luck")

    with Memory(home, embedder=old) as memory:
        fill(memory)
        with pytest.raises(RuntimeError, match="out of luck"):
            memory.rebuild_vectors(new, watch=end)
        assert "vectors" in routes(memory)
        assert (embedder_in(home / "vectors"), embedder_in(home / "vectors-1")) == ("letters/1", "letters/2")
        report = memory.rebuild_vectors(new)
        assert (report.index, report.resumed, report.computed) == (1, True, 0)
        with pytest.raises(RuntimeError):
            memory.rebuild_vectors(third, watch=end)
        report = memory.rebuild_vectors(old)
        assert (report.index, report.resumed, report.embedder) == (2, False, "letters/1")
        assert "vectors" in routes(memory)


def test_a_point_that_is_missing_refuses_the_switch_and_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = Counted("letters/1"), Counted("letters/2", 48)
    with Memory(tmp_path / "home", embedder=old) as memory:
        fill(memory)
        assert "vectors" in routes(memory)
        whole = EdgeVectors.upsert
        with monkeypatch.context() as patch:
            patch.setattr(EdgeVectors, "upsert", lambda self, scope, kind, points: whole(self, scope, kind, points[2:]))
            refused = rf"the new index: 2 of {len(TOWNS)} turns have no vector, the first at dynamics offset 0.*run it again"
            with pytest.raises(LogError, match=refused):
                memory.rebuild_vectors(new)
        assert "vectors" in routes(memory)
        assert memory.drop_old_vectors() == [], "what is half filled stays"
        report = memory.rebuild_vectors(new)
        assert (report.resumed, report.computed, report.checked) == (True, 0, len(TOWNS))
        assert "vectors" in routes(memory)


def test_old_vectors_are_kept_until_they_are_dropped(tmp_path: Path) -> None:
    old, new = Counted("letters/1"), Counted("letters/2", 48)
    with Memory(tmp_path / "home", embedder=old) as memory:
        fill(memory)
        assert "vectors" in routes(memory)
        memory.rebuild_vectors(new)
        assert memory.rebuild_vectors(old).computed == 0
        memory.rebuild_vectors(new)
        assert memory.drop_old_vectors() == ["letters/1"]
        assert memory.drop_old_vectors() == []
        assert "vectors" in routes(memory)
        assert memory.rebuild_vectors(old).computed == len(TOWNS)


def test_what_has_no_index_says_so() -> None:
    with Memory(embedder=False) as memory:
        for call in (memory.rebuild_vectors, memory.drop_old_vectors):
            with pytest.raises(InvalidInput, match="no index"):
                call()
