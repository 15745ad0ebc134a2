"""The default embedder."""

from __future__ import annotations

import numpy as np
import pytest

from mnemolog.adapters.embedders.use import MAX_CHARS, UseEmbedder


@pytest.fixture(scope="module")
def embedder() -> UseEmbedder:
    return UseEmbedder()


TEXTS = [
    "I moved to Rotterdam last spring.",
    "我上个月搬到了鹿特丹。",
    "ok",
    "The budget is 5,000 euros, " * 40,
    "😀",
    "",
    " \t\n",
    "\x00\x1b",
    "\ud800 broken",
]


def test_every_text_has_a_unit_vector(embedder: UseEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dim)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-4)


def test_no_texts_no_vectors(embedder: UseEmbedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dim)


def test_alone_or_among_others_a_text_has_the_same_vector(embedder: UseEmbedder) -> None:
    many = [f"{text} {at}" for at in range(20) for text in TEXTS]
    together = embedder.embed(many)
    alone = np.vstack([embedder.embed([text]) for text in many])
    assert np.abs(together - alone).max() < 1e-6


def test_meaning_crosses_languages(embedder: UseEmbedder) -> None:
    english, chinese, other = embedder.embed(["I love cats.", "我喜欢猫。", "The train leaves at noon."])
    assert english @ chinese > english @ other + 0.3


def test_only_the_beginning_of_a_long_text_counts(embedder: UseEmbedder) -> None:
    long = "word " * MAX_CHARS
    one, two = embedder.embed([long + "ends here", long + "ends otherwise"])
    assert np.array_equal(one, two)


def test_tokens_are_counted(embedder: UseEmbedder) -> None:
    assert embedder.count_tokens("") == 0
    assert embedder.count_tokens(" \n") == 0
    assert embedder.count_tokens("Hello world") == 2
    assert embedder.count_tokens("\ud800") > 0
    short = embedder.count_tokens("The budget is 5,000 euros. ")
    assert 800 * short <= embedder.count_tokens("The budget is 5,000 euros. " * 1000) <= 1100 * short


@pytest.mark.parametrize(
    "text",
    [
        "The budget is 5,000 euros.\n我的预算是五千元。  Noted.",
        "a \u2581 b\u2581c",
        "\x85one \x1ctwo\x1d three\u200b four",
        "x\u3000y z\xa0w \ufdfa \xb4 \ufb01ne",
        "\u0301x e\u0301 \ufe0f 😀😀 😀",
        "\u1100 \u1161 한국 어",
    ],
)
def test_the_tokens_of_a_text_are_those_of_the_whole(embedder: UseEmbedder, text: str) -> None:
    """Words are counted one by one only where that is the same."""
    whole = len(embedder._loaded()._tokenizer.encode(text, add_bos=False, add_eos=False))
    assert embedder.count_tokens(text) == embedder.count_tokens(text) == whole
