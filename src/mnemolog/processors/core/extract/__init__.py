"""The offline extractor: what a turn says, found by sentence forms whose vocabulary is the registry's; no model, no network."""

from .offline import OfflineExtractor

__all__ = ["OfflineExtractor"]
