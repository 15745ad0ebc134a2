"""What happens to a memory while nobody waits for it: its background goes on by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemolog import Memory, home


def eventually(what: Callable[[], bool]) -> bool:
    """Whether it becomes true within a minute."""
    deadline = time.monotonic() + 60
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def homes(memory: Memory) -> list[str]:
    return [slot.value.shown for form in memory.forms(user_id=1, wait=False) for slot in form.slots if slot.slot == "home"]


def test_what_becomes_due_takes_effect_for_readers_that_do_not_wait(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id=1, occurred_at="2026-03-02T09:00:00Z")
        memory.add("From next month on I live in Rome.", user_id=1, occurred_at="2026-03-03T09:00:00Z")
        assert eventually(lambda: homes(memory) == ["Rome"])


@pytest.mark.parametrize("ask", ["read", "stand"])
def test_what_an_earlier_process_left_is_seen_to(tmp_path: Path, ask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, Memory(tmp_path / "home", embedder=False) as memory:
        patch.setattr(home.Home, "background_step", lambda _home, seen: seen)  # it ends before anything is processed
        memory.add("I live in Lisbon.", user_id=1)
    with Memory(tmp_path / "home", embedder=False) as memory:
        asked = (lambda: memory.forms(user_id=1, wait=False).behind) if ask == "read" else (lambda: memory.standing().behind)
        assert asked() == 1
        assert eventually(lambda: asked() == 0)
        assert homes(memory) == ["Lisbon"]


def test_a_failure_that_nothing_foresaw_ends_no_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(home, "TRY_AGAIN", 0.01)
    with Memory(tmp_path / "home", embedder=False) as memory:
        step = home.Home.background_step
        failures = iter([MemoryError("once"), RuntimeError("twice")])

        def stumbling(self: home.Home, seen: int) -> int:
            for failure in failures:
                raise failure
            return step(self, seen)

        monkeypatch.setattr(home.Home, "background_step", stumbling)
        memory.add("I live in Lisbon.", user_id=1)
        assert eventually(lambda: homes(memory) == ["Lisbon"])
    assert [record.message for record in caplog.records if "trying again" in record.message] != []


def test_an_error_of_the_database_tells_nothing_of_what_was_said(tmp_path: Path) -> None:
    import sqlalchemy as sa
    from sqlalchemy.exc import DBAPIError

    from mnemolog.projections.dialect import Database

    for target in (":memory:", tmp_path / "x.db"):
        database = Database(target)
        try:
            with pytest.raises(DBAPIError) as caught, database.engine.connect() as connection:
                connection.execute(sa.text("INSERT INTO nowhere VALUES (:said)"), {"said": "The pin is 1234."})
            assert "1234" not in str(caught.value)
        finally:
            database.close()
