"""A log with a story on it, and the read models made from it, to damage."""

from __future__ import annotations

from pathlib import Path

from mnemolog.adapters.logs.sqlite import SqliteLog
from replay.logged import bring_up, record
from replay.places import Place
from replay.stories import Step, tell

__all__ = ["STORY", "Folder"]

STORY: list[Step] = [
    (number % 3, kind, number % 17)
    for number, kind in enumerate(
        ["set", "set", "set", "again", "ask", "edge", "episode", "plan", "again", "late", "set", "rejected", "hide_turn"] * 4
    )
]


class Folder:
    """A log in a SQLite file and a store, in the same file or on a server, and a way to alter both from outside."""

    def __init__(self, path: Path, place: Place) -> None:
        self.path = path
        self.place = place
        self.log = SqliteLog(path)
        record(self.log, tell(STORY))
        self.store = place.open(log_id=self.log.log_id)
        bring_up(self.log, self.store)

    def alter(self, statement: str, *values: object) -> None:
        place = self.place if "rm_" in statement else Place(self.path)
        assert place.execute(statement, *values) == 1

    def close(self) -> None:
        self.store.close()
        self.log.close()
