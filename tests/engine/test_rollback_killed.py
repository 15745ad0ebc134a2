"""A process that rolls a folder back is killed at any moment: what is believed then is what stood before or what stood after,
never anything between; what was recorded is decided once, and the log and the tables say the same."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from engine.test_processes import Start, heard, home, start
from engine.worker import opened
from mnemolog import Memory
from replay.views import believed

__all__ = ["home", "start"]  # fixtures

MANY = 40
"""Values that a rollback changes: its rows are many, and a kill between two of them would show."""


def stands(memory: Memory) -> dict[str, object]:
    return believed(memory._home.store_of("default/user:ann"), "default/user:ann")


@pytest.mark.parametrize("seed", range(2))
def test_killed_while_it_rolls_back_the_old_state_stands_or_the_new(home: Path, start: Start, seed: int) -> None:
    rnd = random.Random(seed)
    with opened(str(home)) as memory:
        memory.add("I live in Lisbon.", user_id="ann", id="first")
        memory.process()
        old = stands(memory)
        likes = " ".join(f"I like thing{number}." for number in range(MANY))
        memory.add(f"I moved to Porto. {likes} The budget for project Apollo is 5000 euros.", user_id="ann", id="second")
        memory.process()
        new = stands(memory)
    assert len(new["values"]) > MANY  # type: ignore[arg-type]
    for _ in range(3):
        worker = start("roll-back", "first")
        for _ in range(rnd.randrange(1, 3)):
            heard(worker)
        # Somewhere in the next rollback: it takes some milliseconds.
        threading.Event().wait(rnd.random() * 0.2)
        worker.kill()
        worker.wait()
        with opened(str(home)) as memory:
            assert stands(memory) in (old, new)  # whatever is not processed yet
            memory.process()
            assert stands(memory) in (old, new)
            report = memory.verify(decide=True)
            assert (report.equal, report.problems, report.drift) == (True, [], [])
            memory.rollback("second", user_id="ann")
            assert stands(memory) == new
