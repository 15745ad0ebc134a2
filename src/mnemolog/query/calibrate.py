"""How near is near: embedders spread texts differently, so the similarity from which a turn counts as found by its meaning is
taken from the embedder itself: what questions have in common with statements that answer none of them, and well above that."""

from __future__ import annotations

import numpy as np

from ..processors.core.ports import Embedder

__all__ = ["USUAL", "similarity_floor"]

USUAL = 0.2
"""With the default embedder: questions lie at .11 (spread .11) from any turn and at .27 from one that answers them."""
_KNOWN = {"use-multilingual-v3/512": USUAL}
_DEVIATIONS = 2.5
"""Standard deviations above the mean: for the default embedder this gives the .20 that was measured with known answers."""
_QUESTIONS = (
    "Where does my sister work now?",
    "What did we decide about the budget?",
    "When is the dentist appointment?",
    "Which books did she recommend?",
    "Why was the launch postponed?",
    "我上次说的餐厅叫什么？",
    "他的生日是哪天？",
    "我们什么时候搬家？",
)
_STATEMENTS = (
    "The tomatoes on the balcony need more water.",
    "It snowed all night and the train was late.",
    "He plays the cello in a small orchestra.",
    "Our neighbours have painted their fence green.",
    "I never liked the taste of coriander.",
    "昨天晚上的足球赛踢成了平局。",
    "这台洗衣机的声音太大了。",
    "小猫打翻了桌上的花瓶。",
)


def similarity_floor(embedder: Embedder) -> float:
    """The cosine similarity from which a text counts as near a question. Raises what the embedder raises."""
    known = _KNOWN.get(embedder.name)
    if known is not None:
        return known
    vectors = embedder.embed([*_QUESTIONS, *_STATEMENTS])
    common = vectors[: len(_QUESTIONS)] @ vectors[len(_QUESTIONS) :].T
    usual = float(np.mean(common))
    # An embedder that spreads texts widely would otherwise find nothing near but the same words.
    return min(usual + _DEVIATIONS * float(np.std(common)), (usual + 1) / 2)
