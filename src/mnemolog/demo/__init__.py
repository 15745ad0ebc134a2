"""The story that `mnemolog demo` plays: four weeks of an invented person's life, English and Chinese, and what to ask of it."""

from __future__ import annotations

from importlib.resources import files

import msgspec

__all__ = ["SUBJECT", "Question", "StoryTurn", "questions", "story"]

SUBJECT = "user:mei"
"""Whose memory the story makes."""


class StoryTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the story; the fields are those of an imported turn."""

    id: str
    session: str
    role: str
    speaker: str
    content: str
    occurred_at: str
    agent: str


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent might want to know at the end."""

    lang: str
    question: str


def story() -> list[StoryTurn]:
    """The turns, oldest first."""
    text = (files(__name__) / "story.jsonl").read_text("utf-8")
    return [msgspec.json.decode(line, type=StoryTurn) for line in text.splitlines()]


def questions() -> list[Question]:
    """The three questions."""
    return msgspec.json.decode((files(__name__) / "questions.json").read_bytes(), type=list[Question])
