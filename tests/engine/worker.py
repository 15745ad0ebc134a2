"""A process of its own with a Memory on a home folder: `worker.py JOB FOLDER NAME`. Each line it prints says what is done."""

from __future__ import annotations

import itertools
import sys

from mnemolog import Memory
from query.memory import HashingEmbedder
from support.homes import home_of

TURNS = 15
PLACES = ("Lisbon", "Porto", "Rome", "Vienna", "Oslo")


def say(line: object) -> None:
    print(line, flush=True)


def opened(home: str, **options: float) -> Memory:
    return Memory(home, embedder=HashingEmbedder(), **options)  # type: ignore[arg-type]


def words(number: int) -> str:
    return f"I live in {PLACES[number % len(PLACES)]}. My lucky word is word{number}."


def add_forever(home: str, name: str) -> None:
    """Adds and, every few turns, reads, until it is killed; prints the id of each acknowledged turn."""
    memory = opened(home)
    for number in itertools.count():
        say(memory.add(words(number), user_id=name, id=f"{name}-{number}").ids[0])
        if number % 5 == 4:
            memory.forms(user_id=name)


def add_and_read(home: str, name: str) -> None:
    """Adds turns to its own scope and one that all share; reads after each what it wrote."""
    with opened(home) as memory:
        owner = False
        for number in range(TURNS):
            memory.add(words(number), user_id=name, id=f"{name}-{number}")
            memory.add(f"Somebody called {name} likes number {number}.", user_id="shared", id=f"{name}-{number}")
            rows = memory.forms(user_id=name)
            [home_slot] = [slot.value.shown for form in rows for slot in form.slots if slot.slot == "home"]
            assert (rows.behind, home_slot) == (0, PLACES[number % len(PLACES)]), (number, rows.behind, home_slot)
            hits = [hit.text for hit in memory.search(f"word{number}", user_id=name, limit=40, time_budget=60)]
            assert any(f"word{number}." in text for text in hits), (number, hits)
            owner = owner or home_of(memory)._owner
        say(f"owner {owner}")
        sys.stdin.readline()  # keeps the folder, so that nobody else is elected meanwhile


def own(home: str, name: str) -> None:
    """Becomes the one that processes, indexes what it adds, and stays until it is killed."""
    memory = opened(home)
    for number in range(8):
        memory.add(words(number), user_id=name, id=f"{name}-{number}")
    memory.search("word3", user_id=name)
    home_of(memory).finding.index()
    say(home_of(memory)._owner)
    sys.stdin.read()


def add_only(home: str, name: str) -> None:
    """Adds one turn, says so, adds another when told to, and reads nothing."""
    memory = opened(home)
    for number in range(2):
        say(memory.add(words(number), user_id=name, id=f"{name}-{number}").ids[0])
        sys.stdin.readline()


def roll_back_and_forth(home: str, name: str) -> None:
    """Rolls back to the turn `name` and forth again, until it is killed; prints each input it is at."""
    memory = opened(home)
    to = name
    while True:
        report = memory.rollback(to, user_id="ann", reason="back and forth")
        say(f"{to} {report.outcome}")
        to = report.before_input


JOBS = {
    "add-forever": add_forever,
    "add-and-read": add_and_read,
    "own": own,
    "add-only": add_only,
    "roll-back": roll_back_and_forth,
}

if __name__ == "__main__":
    job, folder, who = sys.argv[1:]
    JOBS[job](folder, who)
