"""Dialogues with their gold notes, and what of the notes holds at a moment. A story is the dialogues of one user in order; a
moment is a turn of one of them. Nothing here knows who is measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Change", "Dialogue", "Gold", "Hop", "Question", "Said", "Spelled", "Story", "Turn", "dialogues", "stories"]

Spelled = tuple[str, ...]
"""One value in each spelling that counts."""


class Turn(NamedTuple):
    t: int
    role: str
    text: str
    at: datetime


class Said(NamedTuple):
    """A value that was said and meant, or for `constraints` the words of a rule."""

    slot: str
    of: str
    words: tuple[Spelled, ...]
    turn: int


class Change(NamedTuple):
    slot: str
    of: str
    before: Spelled
    after: Spelled
    turn: int


class Hop(NamedTuple):
    words: tuple[Spelled, ...]
    dialogue: str
    turn: int


class Question(NamedTuple):
    id: str
    kind: str
    """slot | overview | rule | change | two-hop"""
    text: str
    after: int
    slot: str
    of: str
    answer: tuple[Spelled, ...]
    hops: tuple[Hop, ...]


class Dialogue(NamedTuple):
    id: str
    user: str
    lang: str
    turns: tuple[Turn, ...]
    entities: tuple[Said, ...]
    changes: tuple[Change, ...]
    constraints: tuple[Said, ...]
    questions: tuple[Question, ...]


class Gold(NamedTuple):
    """What the notes say after some turn."""

    changes: tuple[Change, ...]
    """All so far, oldest first."""
    current: tuple[Said, ...]
    """Entities whose value still stands."""
    superseded: tuple[Change, ...]
    """For each value that stands no longer the change that ended it."""


class Story(NamedTuple):
    user: str
    dialogues: tuple[Dialogue, ...]

    def said(self, dialogue: str, turn: int) -> str:
        """The text of one turn."""
        return next(one.text for given in self.dialogues if given.id == dialogue for one in given.turns if one.t == turn)

    def gold(self, dialogue: str, turn: int) -> Gold:
        """What holds after that turn."""
        changes: list[Change] = []
        entities: list[Said] = []
        for given in self.dialogues:
            last = turn if given.id == dialogue else len(given.turns)
            changes += [one for one in given.changes if one.turn <= last]
            entities += [one for one in given.entities if one.turn <= last]
            if given.id == dialogue:
                break
        latest = {(one.slot, one.of): one for one in changes}
        ended = [one for one in changes if not set(one.before) & set(latest[one.slot, one.of].after)]
        gone = {(one.slot, one.of, spelling) for one in ended for spelling in one.before}
        current = [one for one in entities if not any((one.slot, one.of, word) in gone for word in one.words[0])]
        standing = {word.casefold() for one in current for word in one.words[0]}
        # A value that something else has now cannot be told from the old one by looking at a text.
        ended = [one for one in ended if not any(word.casefold() in standing for word in one.before)]
        return Gold(tuple(changes), tuple(current), tuple(ended))


def dialogues(paths: Sequence[Path]) -> Iterator[Dialogue]:
    """The files' lines, in the format of dialogues/README.md."""
    for path in paths:
        with path.open(encoding="utf-8") as file:
            for line in file:
                yield read(json.loads(line))


def read(row: dict[str, Any]) -> Dialogue:
    """One line. Raises KeyError for a missing field."""
    start = datetime.fromisoformat(row["start"])
    return Dialogue(
        id=row["id"],
        user=row["user"],
        lang=row["lang"],
        turns=tuple(Turn(t["t"], t["role"], t["text"], start + timedelta(minutes=t["t"])) for t in row["turns"]),
        entities=tuple(Said(e["slot"], e["of"], (tuple(e["value"]),), e["turn"]) for e in row["entities"]),
        changes=tuple(Change(c["slot"], c["of"], tuple(c["before"]), tuple(c["after"]), c["turn"]) for c in row["changes"]),
        constraints=tuple(Said("", c["text"], _groups(c["words"]), c["turn"]) for c in row["constraints"]),
        questions=tuple(
            Question(
                id=q["id"],
                kind=q["kind"],
                text=q["text"],
                after=q["after"],
                slot=q.get("slot", ""),
                of=q.get("of", ""),
                answer=_groups(q.get("answer", [])),
                hops=tuple(Hop(_groups(h["words"]), h["dialogue"], h["turn"]) for h in q.get("hops", [])),
            )
            for q in row["questions"]
        ),
    )


def _groups(words: Sequence[Sequence[str]]) -> tuple[Spelled, ...]:
    return tuple(tuple(group) for group in words)


def stories(given: Sequence[Dialogue]) -> list[Story]:
    """The dialogues by user, each user's in the order given."""
    users = dict.fromkeys(one.user for one in given)
    return [Story(user, tuple(one for one in given if one.user == user)) for user in users]
