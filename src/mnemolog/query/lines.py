"""One line of a context: what it says, in which block, and what it rests on."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["BLOCKS", "Block", "ContextLine"]

Block = Literal["rules", "changes", "excerpts", "open"]
BLOCKS: tuple[Block, ...] = ("rules", "changes", "excerpts", "open")
"""In the order of the text."""


class ContextLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the prompt text and where it comes from."""

    block: Block
    text: str
    scope: str
    event_ids: list[str]
    """The turns it rests on."""
    status: str
    """current | scheduled | superseded | changed | happened | said | open"""
    confidence: float
    occurred_at: str
    form_id: str = ""
    slot: str = ""
    pending_id: str = ""
