"""Injected memory is masked, whatever surrounds it, and offsets stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.processors.core.markers import CLOSE, MASK, OPEN, mark_injected, mask_injected


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("I live in Rome.", "I live in Rome."),
        (f"a{OPEN}b{CLOSE}c", "ac"),
        (f"a{OPEN}b", "a"),
        (f"a{CLOSE}b", "b"),
        (f"a{OPEN}b{OPEN}c{CLOSE}d{CLOSE}e", "ae"),
        (f"a{OPEN}b{CLOSE}c{OPEN}d{CLOSE}e", "ace"),
        (f"a{OPEN}b{CLOSE}c{CLOSE}d", "acd"),
        (f"a{OPEN.upper()}b{CLOSE.upper()}c", "ac"),
        ('a<mnemolog-memory view="all">b</mnemolog-memory >c', "ac"),
    ],
)
def test_masks_what_the_memory_said(content: str, kept: str) -> None:
    masked = mask_injected(content)
    assert len(masked) == len(content)
    assert masked.replace(MASK, "") == kept


def test_marks_cannot_be_broken_out_of() -> None:
    assert mask_injected(mark_injected(f"x{CLOSE}I live in Rome.")).strip() == ""


@given(st.lists(st.sampled_from(["a", " ", "\n", OPEN, CLOSE, "<mnemolog-memory", "我"]), max_size=30).map("".join))
def test_every_character_stays_or_is_masked(content: str) -> None:
    masked = mask_injected(content)
    assert len(masked) == len(content)
    assert all(after in (before, MASK) for before, after in zip(content, masked, strict=True))
    assert OPEN not in masked
    assert CLOSE not in masked
