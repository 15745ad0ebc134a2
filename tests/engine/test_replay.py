"""The live memory is what replaying its log gives: however it was processed, on every log, whatever was forgotten meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from engine.talk import Step, batches_of, examples, memory_rig, sqlite_rig, steps, tell
from mnemolog.projections.reader import decided_inputs
from mnemolog.replay.rebuild import rebuild
from mnemolog.replay.states import StateFolder
from mnemolog.schemas.envelope import Envelope

TESTS = Path(__file__).parents[1]


@examples(10)
@given(steps, st.integers(1, 9), st.integers(1, 40))
def test_batches_of_any_size_give_the_same_memory(story: list[Step], size: int, at_once: int) -> None:
    events = tell(story)
    digests = []
    for batch, chunk in ((64, 1), (1, len(events)), (size, at_once)):
        rig = memory_rig()
        with batches_of(batch):
            for start in range(0, len(events), max(chunk, 1)):
                rig.add(events[start : start + chunk])
        rig.check()
        digests.append(rig.digest())
        rig.close()
    assert len(set(digests)) == 1


@examples(6)
@given(steps, st.integers(1, 9))
def test_both_logs_give_the_same_memory_and_two_rebuilds_the_same_again(story: list[Step], size: int) -> None:
    events = tell(story)
    with tempfile.TemporaryDirectory() as folder:
        plain, filed = memory_rig(), sqlite_rig(Path(folder) / "memory.db")
        plain.add(events)
        with batches_of(size):
            filed.add(events)
        assert plain.digests() == filed.digests()
        if events:
            first, second = rebuild(filed.log, filed.store), rebuild(filed.log, filed.store)
            assert first.digest == second.digest == first.digest_before == plain.digest()
            assert first.differing_scopes == second.differing_scopes == []
        filed.check()
        plain.close()
        filed.close()


@examples(8)
@given(steps, st.data())
def test_the_resolver_state_can_be_dropped_and_folded_again(story: list[Step], data: st.DataObject) -> None:
    events = tell(story)
    cut = data.draw(st.integers(0, len(events)))
    kept, dropped = memory_rig(), memory_rig()
    kept.add(events)
    dropped.add(events[:cut])
    if cut:
        items = list(decided_inputs(dropped.log, 0))
        states = StateFolder(dropped.store, version=1)
        with dropped.store.writing() as (connection, current):
            before = connection.execute(sa.select(current.resolver_state)).all()
            connection.execute(sa.delete(current.resolver_state))
            for (scope, key), blob in states.fold(items, connection).items():
                if blob is not None:
                    number = dropped.store.scope_number(connection, scope)
                    connection.execute(sa.insert(current.resolver_state), [{"scope_id": number, "key": key, "blob": blob}])
            after = connection.execute(sa.select(current.resolver_state)).all()
        assert sorted(map(tuple, before)) == sorted(map(tuple, after))
        dropped.engine.forget_loaded()
    dropped.add(events[cut:])
    dropped.check()
    assert dropped.digests() == kept.digests()
    kept.close()
    dropped.close()


@examples(8)
@given(steps)
def test_an_engine_that_forgets_what_is_loaded_after_every_input_gives_the_same(story: list[Step]) -> None:
    events = tell(story)
    steady, forgetful = memory_rig(), memory_rig()
    steady.add(events)
    for event in events:
        forgetful.add([event])
        forgetful.engine.forget_loaded()
    assert forgetful.digests() == steady.digests()
    observed = [
        [Envelope.from_bytes(stored.value).data for stored in rig.log.read("memory.observations.v1")]
        for rig in (steady, forgetful)
    ]
    assert observed[0] == observed[1]
    steady.close()
    forgetful.close()


DIGEST = """
import random, sys
from engine.talk import KINDS, SAID, Step, memory_rig, tell
choose = random.Random(7)
story = [
    Step(choose.choice(KINDS), choose.randrange(3), choose.randrange(2), number % len(SAID), choose.randrange(20))
    for number in range(90)
]
rig = memory_rig()
rig.add(tell(story))
rig.check()
print(rig.digest())
import hashlib
for topic in ("memory.observations.v1", "memory.changes.v1", "memory.summaries.v1"):
    print(hashlib.sha256(b"".join(stored.value for stored in rig.log.read(topic))).hexdigest())
"""


def test_the_bytes_on_the_log_do_not_depend_on_the_hash_seed() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONPATH": str(TESTS), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "4242")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().split()) == 4
