"""One line of a context: what it says, in which block, and what it rests on."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["BLOCKS", "Block", "ContextLine"]

Block = Literal["rules", "facts", "changes", "excerpts", "open"]
BLOCKS: tuple[Block, ...] = ("rules", "facts", "changes", "excerpts", "open")
"""In the order of the text. `rules` holds the standing rules and the profile and does not depend on the question; `facts` what
holds now of what is asked; `changes` how it came to be; `excerpts` what was said; `open` what has to be asked first."""


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
    id: str = ""
    """Of the memory that it shows, as `Hit.id`; an open question has its `pending_id`."""
