"""What became of what was accepted: an operation waits, and then it is done or failed, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mnemolog import Memory
from mnemolog.processors.core.ports import Extraction, SeenTurn
from mnemolog.schemas.errors import ModelOutputInvalid, NotFound


class Mumbling:
    """An extractor that cannot be understood."""

    name = "mumbling/1"
    window = 0

    def extract(self, turn: SeenTurn, window: Sequence[SeenTurn]) -> Extraction:
        raise ModelOutputInvalid("not JSON", "hm")


def test_an_operation_waits_until_its_decision_is_in_the_rows(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", embedder=False) as memory:
        receipt = memory.add("I live in Lisbon.", user_id="1")
        before = memory.operation(receipt.ids[0], user_id="1")
        assert before.status in ("waiting", "done")  # the background processor may have been quick
        memory.process()
        after = memory.operation(receipt.ids[0], user_id="1")
        assert (after.status, after.outcome) == ("done", "changed")
        nothing = memory.add("Hello there.", user_id="1")
        memory.process()
        assert memory.operation(nothing.ids[0], user_id="1").outcome == "nothing"


def test_an_operation_that_could_not_be_understood_says_why(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", embedder=False, extractor=Mumbling()) as memory:
        receipt = memory.add("I live in Lisbon.", user_id="1")
        memory.process()
        found = memory.operation(receipt.ids[0], user_id="1")
    assert (found.status, found.outcome) == ("failed", "failed")
    assert "not JSON" in found.reason


def test_an_input_that_cannot_be_decided_has_failed_and_those_behind_it_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    with Memory(tmp_path / "home", embedder=False) as memory:
        monkeypatch.setattr("mnemolog.processors.deciding.decide", broken)
        first = memory.add("I live in Lisbon.", user_id="1").ids[0]
        second = memory.add("I moved to Porto.", user_id="1").ids[0]
        memory.process()
        parked, behind = (memory.operation(given, user_id="1") for given in (first, second))
        standing = memory.standing()
        assert (parked.status, parked.outcome) == ("failed", "parked")
        assert "a bug" in parked.reason
        assert behind.status == "waiting"
        assert first in behind.reason
        assert (standing.parked, standing.behind) == (1, 2)
        assert standing.oldest


def test_an_operation_is_found_in_its_own_scope_alone(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", embedder=False) as memory:
        receipt = memory.add("I live in Lisbon.", user_id="1", id="x", source="app")
        assert memory.operation("x", user_id="1", source="app").id == receipt.ids[0]
        for named in ({"user_id": "2", "source": "app"}, {"user_id": "1"}, {"user_id": "1", "source": "app", "tenant": "b"}):
            with pytest.raises(NotFound, match="no operation 'x'"):
                memory.operation("x", **named)


def test_a_memory_that_is_caught_up_stands_at_nothing() -> None:
    with Memory(embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id="1")
        memory.process()
        assert memory.standing().behind == 0
        assert memory.standing().oldest == ""
