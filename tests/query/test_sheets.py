"""What is made of a scope's facts for contexts lives as long as they do."""

from __future__ import annotations

import gc
import time
import weakref

import pytest

from mnemolog import Memory
from mnemolog.query.facts import Facts
from mnemolog.query.sheets import sheet_of
from mnemolog.schemas.registry import Registry


def test_facts_that_are_replaced_are_let_go_of() -> None:
    """A context keeps what it made of a scope's facts for as long as they are the newest, and no longer."""
    with Memory(embedder=False) as memory:
        recall = memory._home.recall_of("default/user:1")
        seen = []
        for town in ("Lisbon", "Oslo", "Rome", "Lima"):
            memory.add(f"I live in {town}.", user_id="1")
            assert town in str(memory.context("Where do I live?", user_id="1"))
            seen.append(weakref.ref(recall.facts_of("default/user:1")))
        deadline = time.monotonic() + 10
        while [one() for one in seen[:-1]] != [None] * 3 and time.monotonic() < deadline:
            gc.collect()
        assert [one() is None for one in seen] == [True, True, True, False]


def test_a_sheet_is_used_with_its_facts() -> None:
    facts, registry = Facts([], [], Registry.load()), Registry.load()
    sheet = sheet_of(facts, registry)
    assert sheet.facts is facts
    assert sheet_of(facts, registry) is sheet
    del facts
    with pytest.raises(ReferenceError, match="hold them"):
        _ = sheet.facts
