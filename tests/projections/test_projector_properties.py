"""Whatever the story: batches, redelivery, the order of scopes and the hash seed leave no trace in the read models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.projections.digest import digest_store, total_digest
from mnemolog.projections.projector import DecidedInput, Projector
from mnemolog.projections.store import Store
from replay.hand import project
from replay.logged import emptied
from replay.stories import SCOPES, Step, steps, tell


def rows(store: Store) -> object:
    """Everything a reader can get, of every scope."""
    return [
        (
            store.forms(scope, include_retired=True),
            store.history(scope),
            store.timeline(scope),
            store.edges(scope, include_retired=True),
            store.pending(scope),
            store.turns(scope),
            store.turn_index(scope),
            store.load_state(scope),
            store.deadlines_due("9", scope),
            store.stats(scope),
        )
        for scope in SCOPES
    ]


def projected(items: Sequence[DecidedInput], size: int) -> tuple[dict[str, str], object]:
    store = emptied()
    project(Projector(store), items, size)
    return digest_store(store), rows(store)


@given(steps, st.integers(1, 12))
def test_any_batch_size_gives_the_same(story: list[Step], size: int) -> None:
    items = tell(story)
    assert projected(items, size) == projected(items, len(items))


@given(steps, st.integers(1, 12), st.integers(0, 40))
def test_redelivering_any_suffix_changes_nothing(story: list[Step], size: int, back: int) -> None:
    items = tell(story)
    store = emptied()
    projector = Projector(store)
    project(projector, items, size)
    before = (digest_store(store), rows(store), store.cursor())
    project(projector, items[max(0, len(items) - back) :], size)
    assert (digest_store(store), rows(store), store.cursor()) == before


@given(steps)
def test_the_order_of_independent_scopes_does_not_show(story: list[Step]) -> None:
    items = tell(story)
    by_scope = sorted(items, key=lambda item: item.scope)
    renumbered = [msgspec.structs.replace(item, offset=number, changes_offset=number) for number, item in enumerate(by_scope)]
    assert projected(items, 7)[0] == projected(renumbered, 7)[0]


@given(steps)
def test_a_scope_alone_is_as_it_is_among_others(story: list[Step]) -> None:
    items = tell(story)
    together, _ = projected(items, 5)
    for scope, group in groupby(sorted(items, key=lambda item: item.scope), key=lambda item: item.scope):
        alone, _ = projected(list(group), 5)
        assert alone == {scope: together[scope]}


@given(steps)
def test_what_is_hidden_is_in_no_answer(story: list[Step]) -> None:
    """After an erasure at the end of the story nothing of the scope is left; the other scopes are as they were."""
    items = tell(story)
    target = SCOPES[story[0][0]]
    erased = tell([*story, (story[0][0], "erase", 0)])
    others, _ = projected(items, 5)
    store = emptied()
    project(Projector(store), erased, 5)
    assert store.forms(target, include_retired=True) == store.history(target) == store.timeline(target) == []
    assert store.edges(target, include_retired=True) == store.pending(target) == store.summaries(target) == []
    assert store.turns(target) == store.turn_index(target) == store.turns_by_offset(target, range(50)) == []
    assert store.turn(target, erased[-1].input.id) is None
    assert store.deadlines_due("9", target) == []
    assert set(store.stats(target).values()) == {0}
    assert str(target) not in store.scopes()
    left = {key: digest for key, digest in digest_store(store).items() if key != str(target)}
    assert left == {key: digest for key, digest in others.items() if key != str(target)}


STORY: list[Step] = [
    (number % 3, kind, number % 9)
    for number, kind in enumerate(
        ["set", "set", "ask", "again", "set", "edge", "episode", "again", "late", "plan", "hide_turn", "set"] * 3
    )
]


def test_the_hash_seed_does_not_show() -> None:
    script = (
        "import sys, json; sys.path.insert(0, sys.argv[1])\n"
        "from replay.stories import tell; from replay.hand import project\n"
        "from mnemolog.projections.store import Store; from mnemolog.projections.projector import Projector\n"
        "from mnemolog.projections.digest import digest_store\n"
        "store = Store(':memory:'); project(Projector(store), tell(json.loads(sys.argv[2])), 4)\n"
        "print(json.dumps(digest_store(store)))\n"
    )
    tests = str(Path(__file__).parents[1])
    found = [
        subprocess.run(
            [sys.executable, "-c", script, tests, json.dumps(STORY)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "4242")
    ]
    here, _ = projected(tell(STORY), 4)
    assert [json.loads(output) for output in found] == [here, here]
    assert len(total_digest(here)) == 64
