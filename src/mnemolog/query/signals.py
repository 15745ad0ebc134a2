"""What speaks for a turn, signal by signal, over all turns of a scope: how close it and what surrounds it are to the question,
whether it is by whom the question speaks of, of the time that it names, and whether it says much or only asks."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..processors.core.ports import VectorHit
from ..processors.core.text import query_terms, terms
from .lexical import ScopeIndex
from .periods import Period
from .speakers import named

__all__ = ["ASKS", "NEIGHBOURS", "SIGNALS", "WEIGHTS", "WORDS_ALONE", "Floats", "asking", "in_units", "measured", "summed"]

Floats = NDArray[np.float32]

NEIGHBOURS = 200
"""Turns whose closeness in meaning is asked for; every other one counts as far as the last of them."""
SIGNALS = (
    "vectors",
    "vectors_nearby",
    "keywords",
    "keywords_nearby",
    "speaker",
    "role",
    "period",
    "told",
    "asks",
)
WEIGHTS: tuple[float, ...] = (0.63, 0.85, 0.22, 0.15, 1.94, 2.37, 1.75, 2.85, -2.4)
"""Fitted by `benchmarks/fit_weights.py` on LongMemEval's tuning half and the conversations in `benchmarks/conversations`, and
rounded. The fit gives all weight of words to the neighbours; that a turn's own words get the larger part costs nothing there,
and what is looked for by an exact name or number is then the turn that holds it."""
WORDS_ALONE: tuple[float, ...] = (0.0, 0.0, 0.5, 0.6, 1.94, 2.0, 1.75, 1.3, -2.4)
"""The same where there is no vector: words have to do it all, and how much a turn says must not drown them."""
ASKS = SIGNALS.index("asks")
"""The one signal that is read from the text itself, for the best turns alone."""
_SPREADS = (0.1, 0.05)
"""One unit of closeness: the spread of cosines between a question and the turns of a conversation; a mean of five varies
less."""
_LEXICAL_BOUNDS = (0.1, 0.15)
_SPEAKER_BOUNDS = (0.1, 1.0)
"""The least and the most that the spread of a signal is taken for, as shares of its highest value."""
_SENTENCE = re.compile(r"[^.!?。！？\n]*[.!?。！？\n]*")
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|me|my|mine|we|our|us)\b|我|咱", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"\b(?:you|you've|your|yours)\b|你|您", re.IGNORECASE)


def measured(index: ScopeIndex, question: str, near: Sequence[VectorHit], period: Period | None) -> Floats:
    """(len(SIGNALS), turns): raw signals of one scope. `near`: its nearest turns, best first; none where there is no vector."""
    meant = frozenset(named(question, index.speaker_names))
    speakers = [code for code, name in enumerate(index.speaker_names) if name in meant]
    lexical = index.score(_looked_for(index, question, speakers))
    inside = index.within(period.since, period.until) if period is not None else np.zeros(len(index), np.bool_)
    rows = (
        *_closeness(index, near),
        lexical.turn,
        lexical.window,
        np.isin(index.speakers, speakers),
        _by_role(index, question),
        inside,
        index.told(),
        np.zeros(len(index)),
    )
    return np.stack(rows, dtype=np.float32, casting="same_kind")


def in_units(signals: Floats) -> Floats:
    """Closeness in units of a fixed spread (only the nearest are known), words and speaker by the mean and spread of all turns,
    the rest as measured."""
    units = signals.copy()
    units[:2] /= np.array(_SPREADS, np.float32)[:, None]
    rest = signals[2:5]
    most = rest.max(axis=1, keepdims=True)
    # Words count by their spread over the turns, within bounds that keep a small memory in line with a large one: where nearly
    # all turns score alike their differences mean little, and among a handful of turns one match is still a match.
    bounds = np.array([_LEXICAL_BOUNDS, _LEXICAL_BOUNDS, _SPEAKER_BOUNDS], np.float32)
    spread = np.clip(rest.std(axis=1, keepdims=True), bounds[:, :1] * most, bounds[:, 1:] * most)
    units[2:5] = (rest - rest.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
    return units


def summed(weights: Sequence[float], units: Floats) -> Floats:
    """The weighted sum of each turn's signals. Not as a product of matrices: that starts threads, which on a busy machine cost
    many times what they save, and may round equal turns differently."""
    total = np.zeros(units.shape[1], np.float32)
    for weight, unit in zip(weights, units, strict=True):
        if weight and unit.any():
            total += np.float32(weight) * unit
    return total


def asking(text: str) -> float:
    """The share of a text that is questions, 0..1: a turn that only asks answers nothing."""
    if "?" not in text and "？" not in text:
        return 0.0
    asked = total = 0
    for sentence in _SENTENCE.findall(text):
        said = sentence.strip()
        total += len(said)
        asked += len(said) if said.endswith(("?", "？")) else 0
    return asked / total if total else 0.0


def _looked_for(index: ScopeIndex, question: str, speakers: Sequence[int]) -> list[str]:
    """The question's terms without the names of speakers: those are asked about, and mostly stand where others address them."""
    wanted = query_terms(question)
    names = {term for code in speakers for term in terms(index.speaker_names[code])}
    return [term for term in wanted if term not in names] or wanted


def _closeness(index: ScopeIndex, near: Sequence[VectorHit]) -> tuple[Floats, Floats]:
    """Of each turn; and the mean of it and up to two turns before and two after it in its session."""
    if not near:
        return np.zeros(len(index), np.float32), np.zeros(len(index), np.float32)
    rows = index.rows_of(np.array([int(hit.point_id) for hit in near], np.int64))
    scores = np.array([hit.score for hit in near], np.float32)
    # A full answer left out only what is further away; otherwise it left out turns that have no vector yet, which may be
    # anything, and must not lose to noise for being new.
    unknown = scores.min() if len(near) >= NEIGHBOURS else scores.mean()
    rows, above = rows[rows >= 0], scores[rows >= 0] - unknown
    closeness = np.full(len(index), unknown, np.float32)
    closeness[rows] += above
    # Only around those that are near does the mean differ from that of unknown ones.
    around = np.zeros(len(index), np.float32)
    around[rows] = above
    for link in (index.previous, index.following):
        once = link[rows]
        twice = np.where(once >= 0, link[once], -1)
        for beside in (once, twice):
            there = beside >= 0
            around[beside[there]] += above[there]
    return closeness, unknown + around / index.company()


def _by_role(index: ScopeIndex, question: str) -> Floats:
    """1 for turns of the user and -1 for those of the assistant, where the question speaks of "me" and not of "you"."""
    if not _FIRST_PERSON.search(question) or _SECOND_PERSON.search(question):
        return np.zeros(len(index), np.float32)
    return index.by_user
