"""The keyword index of one scope."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.query import lexical
from mnemolog.query.lexical import IndexRow, ScopeIndex


def row(offset: int, text: str, session: str = "s", speaker: str = "") -> IndexRow:
    return (offset, f"t{offset}", session, speaker, "user", f"2026-05-{1 + offset % 28:02d}T00:00:00.000000Z", text)


def index_of(rows: Sequence[IndexRow]) -> ScopeIndex:
    index = ScopeIndex()
    index.extend(rows)
    return index


def test_rare_words_weigh_more_than_common_ones() -> None:
    index = index_of([row(0, "budget meet"), row(1, "meet lunch"), row(2, "meet train")])
    scores = index.score(["budget", "meet"]).turn
    assert scores[0] > scores[1]
    assert scores[1] == scores[2] > 0


def test_a_window_is_three_turns_of_one_session() -> None:
    index = index_of([row(0, "cat", "a"), row(1, "dog", "b"), row(2, "fox", "a"), row(3, "owl", "a"), row(4, "hen", "b")])
    assert (index.score(["cat"]).window > 0).tolist() == [True, False, True, False, False]
    assert (index.score(["hen"]).window > 0).tolist() == [False, True, False, False, True]
    assert index.previous.tolist() == [-1, -1, 0, 2, 1]
    assert index.following.tolist() == [2, 4, 3, -1, -1]


def test_unknown_words_and_an_empty_index_score_nothing() -> None:
    assert index_of([row(0, "cat")]).score(["dog"]).turn.tolist() == [0]
    assert ScopeIndex().score(["dog"]).turn.tolist() == []
    assert index_of([row(0, "")]).score(["dog"]).window.tolist() == [0]


def test_turns_must_come_in_order() -> None:
    index = index_of([row(3, "a")])
    for rows in ([row(3, "b")], [row(5, "b"), row(4, "c")]):
        with pytest.raises(ValueError, match="order"):
            index.extend(rows)


def test_offsets_find_their_rows() -> None:
    index = index_of([row(3, "a"), row(7, "b")])
    assert index.rows_of(np.array([7, 3, 5, 99, -1])).tolist() == [1, 0, -1, -1, -1]
    assert ScopeIndex().rows_of(np.array([1])).tolist() == [-1]
    assert index.last_offset == 7


def test_times_are_compared() -> None:
    index = index_of([row(0, "a"), row(1, "a"), row(2, "a")])
    inside = index.within("2026-05-02T00:00:00.000000Z", "2026-05-03T00:00:00.000000Z")
    assert inside.tolist() == [False, True, False]


WORD = st.sampled_from(["cat", "dog", "fox", "猫", "5000"])
TURN = st.tuples(st.lists(WORD, max_size=6), st.sampled_from("ab"))


@given(st.lists(TURN, max_size=30), st.lists(st.integers(0, 30), max_size=4), st.integers(0, 10))
def test_the_steps_in_which_turns_come_do_not_matter(turns: list[tuple[list[str], str]], cuts: list[int], tail: int) -> None:
    rows = [row(at, " ".join(words), session) for at, (words, session) in enumerate(turns)]
    whole = index_of(rows)
    pieces = ScopeIndex()
    old = lexical._MIN_TAIL
    lexical._MIN_TAIL = tail
    try:
        edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
        for start, end in itertools.pairwise(edges):
            pieces.extend(rows[start:end])
    finally:
        lexical._MIN_TAIL = old
    for query in (["cat"], ["dog", "猫", "nothing"], ["cat", "dog", "fox", "猫", "5000"]):
        assert whole.score(query).turn.tolist() == pieces.score(query).turn.tolist()
        assert whole.score(query).window.tolist() == pieces.score(query).window.tolist()


@given(st.lists(TURN, min_size=1, max_size=12))
def test_scores_are_those_of_the_formula(turns: list[tuple[list[str], str]]) -> None:
    index = index_of([row(at, " ".join(words), session) for at, (words, session) in enumerate(turns)])
    documents = [words for words, _ in turns]
    mean = max(sum(map(len, documents)) / len(documents), 1.0)
    holding = sum("cat" in words for words in documents)
    idf = np.log1p((len(documents) - holding + 0.5) / (holding + 0.5))
    expected = [
        idf * words.count("cat") * 2.2 / (words.count("cat") + 1.2 * (0.25 + 0.75 * len(words) / mean)) if "cat" in words else 0
        for words in documents
    ]
    assert index.score(["cat"]).turn.tolist() == pytest.approx(expected, rel=1e-4)


@given(st.lists(TURN, max_size=90), st.lists(st.integers(0, 90), max_size=6), st.integers(0, 10))
def test_how_much_a_turn_says_does_not_depend_on_the_steps(
    turns: list[tuple[list[str], str]], cuts: list[int], tail: int
) -> None:
    rows = [row(at, " ".join(words), session) for at, (words, session) in enumerate(turns)]
    whole, pieces = index_of(rows), ScopeIndex()
    old = lexical._MIN_TAIL
    lexical._MIN_TAIL = tail
    try:
        edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
        for start, end in itertools.pairwise(edges):
            pieces.extend(rows[start:end])
            if end % 3:
                assert len(pieces.told()) == end
    finally:
        lexical._MIN_TAIL = old
    assert whole.told().tolist() == pieces.told().tolist()


def test_rare_words_say_more_and_repetition_says_nothing() -> None:
    index = index_of([row(0, "cat cat cat"), row(1, "cat dog"), row(2, "cat"), row(3, ""), row(4, "cat dog fox owl")])
    told = index.told()
    assert told[0] == told[2] > told[3] == 0
    assert told[4] > told[1] > told[0]
    assert np.expm1(told[4]) - np.expm1(told[1]) == pytest.approx(2)


def test_turns_know_whether_the_user_said_them() -> None:
    index = ScopeIndex()
    index.extend([(at, f"t{at}", "s", "", role, "2026-05-01T00:00:00.000000Z", "cat") for at, role in enumerate(
        ("user", "assistant", "tool"))])  # fmt: skip
    assert index.by_user.tolist() == [1, -1, 0]


def test_nothing_says_more_than_enough() -> None:
    index = index_of([row(at, " ".join(f"w{at}x{word}" for word in range(40))) for at in range(3)])
    assert index.told().tolist() == pytest.approx([np.log(17)] * 3)


@given(st.lists(st.sampled_from("ab"), max_size=12))
def test_company_is_who_is_around_in_the_session(sessions: list[str]) -> None:
    index = index_of([row(at, "cat", session) for at, session in enumerate(sessions)])
    for at, session in enumerate(sessions):
        mine = [place for place, other in enumerate(sessions) if other == session]
        place = mine.index(at)
        assert index.company()[at] == len(mine[max(place - 2, 0) : place + 3])
