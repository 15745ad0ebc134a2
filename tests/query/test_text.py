"""The terms of the keyword index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.processors.core.text import MAX_WORD, STOPWORDS, query_terms, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Melanie's kids were running", ["melani", "kid", "were", "run"]),
        ("ＲＵＮＮＩＮＧ １２", ["run", "12"]),
        ("1,000.50 km on 2023-05-07", ["1000.50", "km", "on", "2023", "05", "07"]),
        ("user_id mp3", ["user", "id", "mp3"]),
        ("don’t", ["don't"]),
        ("汇率", ["汇", "汇率", "率"]),
        ("猫", ["猫"]),
        ("买iPhone吧", ["买", "iphon", "吧"]),
        ("한국어", ["한국", "국어"]),
        ("Мы работали", ["мы", "работа"]),
        ("", []),
        ("😀 !?\x00\x1b\ud800", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_question_drops_words_that_only_ask() -> None:
    assert query_terms("What is the budget of the budget meeting?") == ["budget", "meet"]
    assert "预算" in query_terms("我们的预算是多少？")
    assert "多少" not in query_terms("我们的预算是多少？")


def test_a_question_of_stop_words_alone_keeps_them() -> None:
    assert query_terms("who are you") == ["who", "are", "you"]


def test_stop_words_stay_in_the_index() -> None:
    assert all(terms(word) for words in STOPWORDS.values() for word in words)


def test_long_words_are_cut() -> None:
    assert [len(term) for term in terms("x" * 1_000_000)] == [MAX_WORD]


@given(st.text(st.characters(codec=None, exclude_categories=[])))
def test_any_text_gives_terms_that_are_found_again(text: str) -> None:
    found = terms(text)
    assert all(found)
    assert terms(text) == found
    assert set(query_terms(text)) <= set(found)
    assert bool(query_terms(text)) == bool(found)
