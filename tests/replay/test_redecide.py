"""Deciding again says nothing under the policy that decided, and names the inputs where another one would differ."""

from __future__ import annotations

import msgspec
import pytest

from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.processors.core.extract import OfflineExtractor
from mnemolog.processors.core.policy import Policy
from mnemolog.processors.core.state import dump
from mnemolog.processors.embedded import Engine
from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.replay.rebuild import rebuild
from mnemolog.replay.redecide import Redecide
from mnemolog.replay.states import fold_states
from mnemolog.replay.verify import verify
from mnemolog.schemas.events import make
from mnemolog.schemas.inputs import ReextractRequested, RetractionRequested, Turn
from mnemolog.schemas.registry import Registry
from replay.hand import SCOPE, at

SAID = [
    "I live in Rome.",
    "I moved to Oslo because of a new job.",
    "My budget for the Apollo project is roughly 5000 euros.",
    "我住在上海。",
    "I have a dog named Rex.",
    "I live in Oslo.",
]


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy.of(Registry.load())


@pytest.fixture(scope="module")
def log(policy: Policy) -> MemoryLog:
    made = MemoryLog()
    inputs = [Turn(content=content, occurred_at=at(day)) for day, content in enumerate(SAID)]
    for number, data in enumerate(
        [
            *inputs,
            ReextractRequested(turn_id="e1"),
            RetractionRequested(target="turn", target_id="e2"),
            ReextractRequested(turn_id="e2"),
        ]
    ):
        made.append_inputs([make(data, scope=SCOPE, event_id=f"e{number}", time=at(number))])
    return made


def test_the_same_policy_decides_the_same_and_another_one_is_named(log: MemoryLog, policy: Policy) -> None:
    with Store(":memory:") as store:
        engine = Engine(log, store, Projector(store), OfflineExtractor(Registry.load()), policy)
        assert engine.process() == len(SAID) + 3
        assert store.forms(SCOPE)
        same = verify(log, store, decide=Redecide(log, policy))
        assert same.equal, same
        assert same.drift == []

        stricter = msgspec.structs.replace(policy, types={})
        other = verify(log, store, decide=Redecide(log, stricter))
        assert other.equal
        assert [found.kind for found in other.drift][:1] == ["drift"]
        assert other.drift[0].input_id == "e0"

        state = fold_states(log)[str(SCOPE)]
        assert dump(state, state.keys_in_use()) == store.load_state(SCOPE)
        assert fold_states(log, SCOPE).keys() == {str(SCOPE)}
        report = rebuild(log, store)
        assert report.digest == report.digest_before
        assert dump(state, state.keys_in_use()) == store.load_state(SCOPE)
