"""The keyword index of one scope, in memory: BM25 over turns and over windows of three turns, and how much each turn says at
all. It is extended turn by turn as the scope grows, and what it answers depends only on the turns it holds, not on the steps
in which they came."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["IndexRow", "LexicalScores", "ScopeIndex"]

Floats = NDArray[np.float32]
IndexRow = tuple[int, str, str, str, str, str, str]
"""(offset, event id, session, speaker, role, occurred_at, terms joined by spaces)."""

K1 = 1.2
B = 0.75
"""BM25's customary constants (Robertson and Zaragoza 2009, The Probabilistic Relevance Framework)."""
_BY_USER = {"user": 1.0, "assistant": -1.0}
_MIN_TAIL = 4096
_STEPS = 4
"""How rare words are is counted anew whenever the scope has grown by 2 ** (1 / 4), about a fifth."""
_MOST_TOLD = 16.0
"""Rare words: with so many a turn says enough, and a long one is no better."""
_EXACT = 64
"""Up to this many turns it is counted anew with each."""


class LexicalScores(NamedTuple):
    """One score per turn of the scope, in order of offsets."""

    turn: Floats
    window: Floats


class ScopeIndex:
    """Turns of one scope in order of offsets; row numbers count them from 0. Not thread-safe while it is extended."""

    def __init__(self) -> None:
        self._speakers: dict[str, int] = {}
        self.speakers: NDArray[np.int32] = np.empty(0, np.int32)
        """Who said each turn: a number into `speaker_names`."""
        self.by_user: Floats = np.empty(0, np.float32)
        """1 for turns of the user, -1 for the assistant's, 0 for any other role."""
        self._offsets: NDArray[np.int64] = np.empty(0, np.int64)
        self._times: NDArray[np.bytes_] = np.empty(0, "S26")
        self._lengths: Floats = np.empty(0, np.float32)
        self._previous: NDArray[np.int32] = np.empty(0, np.int32)
        self._following: NDArray[np.int32] = np.empty(0, np.int32)
        self._normed: tuple[Floats, Floats] | None = None
        self._last_of_session: dict[str, int] = {}
        self._vocabulary: dict[str, int] = {}
        # Postings sorted by term, where those of term t are [starts[t]:starts[t + 1]], and a short unsorted tail.
        self._starts: NDArray[np.int64] = np.zeros(1, np.int64)
        self._rows: NDArray[np.int32] = np.empty(0, np.int32)
        self._counts: Floats = np.empty(0, np.float32)
        self._tail: tuple[NDArray[np.int32], NDArray[np.int32], Floats] = _no_postings()
        self._told: NDArray[np.float64] = np.empty(0, np.float64)
        self._rarity: NDArray[np.float64] = np.empty(0, np.float64)
        self._counted = 0
        self._said: Floats | None = None
        self._company: Floats | None = None
        self._untold: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The dynamics offset of each row, ascending."""
        return self._offsets

    @property
    def last_offset(self) -> int:
        """The highest offset held; -1 where there is none."""
        return int(self._offsets[-1]) if len(self._offsets) else -1

    @property
    def speaker_names(self) -> list[str]:
        """The names of all speakers, in order of their first turn."""
        return list(self._speakers)

    @property
    def previous(self) -> NDArray[np.int32]:
        """The row of the turn before, in the same session; -1 for none."""
        return self._previous

    @property
    def following(self) -> NDArray[np.int32]:
        """The row of the turn after, in the same session; -1 for none."""
        return self._following

    def rows_of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row of each offset; -1 where the scope has no such turn."""
        if not len(self._offsets):
            return np.full(len(offsets), -1, np.int64)
        at = np.searchsorted(self._offsets, offsets)
        at[at == len(self._offsets)] = 0
        return np.where(self._offsets[at] == offsets, at, -1)

    def within(self, since: str, until: str) -> NDArray[np.bool_]:
        """Which turns occurred from `since` on and before `until` (fixed UTC form)."""
        inside: NDArray[np.bool_] = (self._times >= since.encode()[:26]) & (self._times < until.encode()[:26])
        return inside

    def company(self) -> Floats:
        """How many turns are around each one, itself included: up to two before and two after it in its session."""
        if self._company is None:
            count = np.ones(len(self), np.float32)
            for link in (self._previous, self._following):
                there = np.flatnonzero(link >= 0)
                count[there] += 1
                count[there] += link[link[there]] >= 0
            self._company = count
        return self._company

    def told(self) -> Floats:
        """How much each turn says: log(1 + n), where n is the rarities of its different words summed up, in units of a word
        that stands in one turn alone, at most 16. Words that most turns have add next to nothing."""
        if self._said is None:
            self._said = np.log1p(np.minimum(self._summed(), _MOST_TOLD)).astype(np.float32)
        return self._said

    def _summed(self) -> NDArray[np.float64]:
        counted = _counted_at(len(self))
        if counted != self._counted:
            self._counted = counted
            sizes = np.diff(self._starts)
            ids = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), self._tail[0]])
            rows = np.concatenate([self._rows, self._tail[1]])
            holding = np.bincount(ids[rows < counted], minlength=len(self._vocabulary))
            self._rarity = _rarity(counted, holding)
            self._told = _sums(rows, self._rarity[ids], len(self))
        else:
            for ids, at in self._untold:
                # Words that are newer than the count are as rare as can be.
                fresh = np.full(len(self._vocabulary) - len(self._rarity), _rarity(counted, np.zeros(1, np.int64))[0])
                self._rarity = np.concatenate([self._rarity, fresh])
                self._told = np.concatenate([self._told, _sums(at - len(self._told), self._rarity[ids], 0)])
            # Turns without a word at the very end.
            self._told = np.concatenate([self._told, np.zeros(len(self) - len(self._told))])
        self._untold.clear()
        return self._told

    def extend(self, rows: Sequence[IndexRow]) -> None:
        """Adds turns behind those held, in order of offsets."""
        if not rows:
            return
        self._normed = self._said = self._company = None
        base = len(self._offsets)
        if rows[0][0] <= self.last_offset or any(a[0] >= b[0] for a, b in pairwise(rows)):
            raise ValueError("turns must come in order of offsets")
        term_ids: list[int] = []
        lengths: list[int] = []
        previous: list[int] = []
        speakers: list[int] = []
        for row, (_, _, session, speaker, _, _, text) in enumerate(rows, base):
            found = text.split(" ") if text else []
            term_ids.extend(self._vocabulary.setdefault(term, len(self._vocabulary)) for term in found)
            lengths.append(len(found))
            previous.append(self._last_of_session.get(session, -1))
            self._last_of_session[session] = row
            speakers.append(self._speakers.setdefault(speaker, len(self._speakers)))
        self._offsets = np.concatenate([self._offsets, np.array([row[0] for row in rows], np.int64)])
        # Without the closing Z, text order is time order at any precision.
        times = np.array([row[5].encode("ascii", "replace")[:26] for row in rows], "S26")
        self._times = np.concatenate([self._times, times])
        self.speakers = np.concatenate([self.speakers, np.array(speakers, np.int32)])
        roles = np.array([_BY_USER.get(row[4], 0.0) for row in rows], np.float32)
        self.by_user = np.concatenate([self.by_user, roles])
        self._lengths = np.concatenate([self._lengths, np.array(lengths, np.float32)])
        self._previous = np.concatenate([self._previous, np.array(previous, np.int32)])
        following = np.concatenate([self._following, np.full(len(rows), -1, np.int32)])
        linked = np.flatnonzero(self._previous[base:] >= 0) + base
        following[self._previous[linked]] = linked
        self._following = following
        self._post(np.array(term_ids, np.int64), np.repeat(np.arange(base, base + len(rows)), lengths))

    def _post(self, term_ids: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        packed, counts = np.unique(term_ids << 32 | rows, return_counts=True)
        self._untold.append((packed >> 32, packed & 0xFFFFFFFF))
        self._tail = (
            np.concatenate([self._tail[0], (packed >> 32).astype(np.int32)]),
            np.concatenate([self._tail[1], (packed & 0xFFFFFFFF).astype(np.int32)]),
            np.concatenate([self._tail[2], counts.astype(np.float32)]),
        )
        if len(self._tail[0]) > max(_MIN_TAIL, len(self._rows) // 4):
            self._merge()

    def _merge(self) -> None:
        sizes = np.diff(self._starts)
        ids = np.concatenate([np.repeat(np.arange(len(sizes), dtype=np.int32), sizes), self._tail[0]])
        order = np.argsort(ids, kind="stable")
        self._rows = np.concatenate([self._rows, self._tail[1]])[order]
        self._counts = np.concatenate([self._counts, self._tail[2]])[order]
        self._starts = np.zeros(len(self._vocabulary) + 1, np.int64)
        np.cumsum(np.bincount(ids, minlength=len(self._vocabulary)), out=self._starts[1:])
        self._tail = _no_postings()

    def _postings(self, term: str) -> tuple[NDArray[np.int32], Floats]:
        term_id = self._vocabulary.get(term)
        if term_id is None:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        low, high = (self._starts[term_id], self._starts[term_id + 1]) if term_id + 1 < len(self._starts) else (0, 0)
        recent = self._tail[0] == term_id
        rows = np.concatenate([self._rows[low:high], self._tail[1][recent]])
        return rows, np.concatenate([self._counts[low:high], self._tail[2][recent]])

    def _norms(self) -> tuple[Floats, Floats]:
        """What long turns and long windows are held back by."""
        if self._normed is None:
            lengths = self._lengths
            windows = lengths + _shifted(lengths, self._previous) + _shifted(lengths, self._following)
            self._normed = _norm(lengths), _norm(windows)
        return self._normed

    def score(self, query_terms: Sequence[str]) -> LexicalScores:
        """BM25 of every turn, by itself and as the middle of a window of up to three turns of its session."""
        size = len(self._offsets)
        turn = np.zeros(size, np.float32)
        window = np.zeros(size, np.float32)
        if not size:
            return LexicalScores(turn, window)
        before, after = self._previous, self._following
        norm, window_norm = self._norms()
        for term in query_terms:
            rows, counts = self._postings(term)
            if not len(rows):
                continue
            turn[rows] += _idf(size, len(rows)) * counts * (K1 + 1) / (counts + norm[rows])
            spread = np.zeros(size, np.float32)
            spread[rows] = counts
            for link in (before, after):
                beside = link[rows]
                there = beside >= 0
                spread[beside[there]] += counts[there]
            touched = np.flatnonzero(spread)
            many = spread[touched]
            window[touched] += _idf(size, len(touched)) * many * (K1 + 1) / (many + window_norm[touched])
        return LexicalScores(turn, window)


def _norm(lengths: Floats) -> Floats:
    return (K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))).astype(np.float32)


def _sums(rows: NDArray[np.integer], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The sum of the values of each row, from row 0 to the last one, `size` rows at least."""
    return np.asarray(np.bincount(rows, values, size), np.float64)


def _counted_at(size: int) -> int:
    """The size, up to this one, at which rarity was counted last."""
    if size <= _EXACT:
        return size
    step = int(np.floor(np.log2(size) * _STEPS + 1e-9))
    return int(np.floor(2 ** (step / _STEPS) + 1e-9))


def _rarity(size: int, holding: NDArray[np.int64]) -> NDArray[np.float64]:
    """BM25's weight of words that so many of `size` turns hold; 1 for a word of one turn."""
    rare: NDArray[np.float64] = np.log1p((size - holding + 0.5) / (holding + 0.5)) / np.log1p((size - 0.5) / 1.5)
    return rare


def _no_postings() -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)


def _shifted(values: Floats, link: NDArray[np.int32]) -> Floats:
    """The value at the linked row, 0 where there is no link."""
    return np.where(link >= 0, values[link], np.float32(0))


def _idf(size: int, holding: int) -> np.float32:
    return np.float32(np.log1p((size - holding + 0.5) / (holding + 0.5)))
