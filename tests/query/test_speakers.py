"""Whom a question names, and what is left of it."""

from __future__ import annotations

import pytest

from mnemolog.query.speakers import named, without


@pytest.mark.parametrize(
    ("question", "speakers", "found"),
    [
        ("What does Nora keep?", ["Nora", "Ben"], ["Nora"]),
        ("what is nora's job", ["Nora", "Ben"], ["Nora"]),
        ("Does Honora know Benjamin?", ["Nora", "Ben"], []),
        ("Nora and Ben?", ["Ben", "Nora"], ["Ben", "Nora"]),
        ("小明喜欢什么？", ["小明", ""], ["小明"]),
        ("What did Jean-Luc (the old one) say?", ["Jean-Luc", "(the"], ["Jean-Luc", "(the"]),
        ("", ["Nora"], []),
    ],
)
def test_speakers_are_found_by_their_whole_names(question: str, speakers: list[str], found: list[str]) -> None:
    assert named(question, speakers) == found


@pytest.mark.parametrize(
    ("question", "names", "left"),
    [
        ("What does Nora keep at the allotment?", ["Nora"], "keep allotment"),
        ("What is Nora’s job?", ["Nora"], "job"),
        ("小明喜欢什么？", ["小明"], "喜欢什么"),
        ("Who is Nora?", ["Nora"], ""),
        ("It's Nora's state-of-the-art hive", ["Nora"], "state-of-the-art hive"),
    ],
)
def test_what_is_left_says_what_it_is_about(question: str, names: list[str], left: str) -> None:
    assert without(question, names) == left
