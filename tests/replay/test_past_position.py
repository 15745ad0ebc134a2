"""A past moment is an offset, whichever way it is named; the state there is the one that the inputs below it left."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from mnemolog import Memory
from mnemolog.processors.core.state import ScopeState, dump
from mnemolog.replay.past_position import position_of, state_at
from mnemolog.schemas.errors import InvalidInput, NotFound, UnknownLog
from mnemolog.schemas.events import DYNAMICS
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import add_seconds, from_text

SCOPE, OTHER = Scope("default", "user:1"), Scope("default", "user:2")


def told(state: ScopeState) -> dict[str, bytes | None]:
    return dump(state, state.keys_in_use())


def test_an_input_a_token_and_a_time_name_the_same_moment(anywhere: Memory) -> None:
    tokens, states = [], [told(ScopeState.empty(SCOPE))]
    for number, place in enumerate(("Lisbon", "Porto", "Rome")):
        anywhere.add("I was in Oslo.", user_id=2)
        tokens.append(anywhere.add(f"I live in {place}.", user_id=1, id=f"t{number}").position)
        anywhere.wait(tokens[-1])
        home = anywhere._home.part_of(SCOPE)
        states.append(told(state_at(home, SCOPE, home.log.end(DYNAMICS))))
    part = anywhere._home.part_of(SCOPE)
    stored = list(part.log.read(DYNAMICS, scope=SCOPE))
    assert len({str(state) for state in states}) == 4
    for number, record in enumerate(stored):
        offset = position_of(part, SCOPE, f"t{number}")
        assert offset == record.offset + 1
        assert position_of(part, SCOPE, tokens[number]) == offset
        assert told(state_at(part, SCOPE, offset)) == states[number + 1]
        assert told(state_at(part, SCOPE, record.offset)) == states[number]
        for when in (record.recorded, from_text(record.recorded), from_text(record.recorded).replace(tzinfo=None)):
            assert told(state_at(part, SCOPE, position_of(part, SCOPE, when))) == states[number + 1]
        before = position_of(part, SCOPE, add_seconds(record.recorded, -1e-6))
        assert told(state_at(part, SCOPE, before)) == states[number]
    assert position_of(part, SCOPE, "2001-01-01") == position_of(part, SCOPE, 0) == 0
    assert told(state_at(part, SCOPE, 0)) == states[0]


def test_what_names_no_moment_is_refused_by_its_name(anywhere: Memory) -> None:
    anywhere.add("I live in Lisbon.", user_id=1, id="one", source="mail")
    anywhere.add("I live in Porto.", user_id=1, id="one", source="chat")
    receipt = anywhere.add("I live in Rome.", user_id=2, id="two")
    anywhere.process()
    part = anywhere._home.part_of(SCOPE)
    tomorrow = from_text(anywhere._home.now()) + timedelta(days=1)
    for when, word in ((tomorrow, "future"), (tomorrow.isoformat(), "future"), ("one", "sources"), (True, "time")):
        with pytest.raises(InvalidInput, match=word) as caught:
            position_of(part, SCOPE, when, field="to")
        assert caught.value.field == "to"
    for name in ("nobody", "two", ""):
        with pytest.raises(NotFound):
            position_of(part, SCOPE, name)
    with pytest.raises(UnknownLog):
        position_of(part, SCOPE, "another@1:0:0")
    with pytest.raises(InvalidInput, match="not on this log"):
        position_of(part, SCOPE, f"{part.log.log_id}@{part.log.epoch}:{part.number}:9999")
    if receipt.position.startswith("inbox."):
        with pytest.raises(InvalidInput, match="another scope"):
            position_of(part, SCOPE, receipt.position)


def test_a_clock_that_was_set_back_leaves_the_log_its_own_now(memory: Memory) -> None:
    memory.add("I live in Lisbon.", user_id=1)
    memory.process()
    part = memory._home.part_of(SCOPE)
    [record] = part.log.read(DYNAMICS)
    earlier = add_seconds(record.recorded, -3600)
    assert position_of(part, SCOPE, record.recorded, now=earlier) == 1
    with pytest.raises(InvalidInput, match="future"):
        position_of(part, SCOPE, datetime(9999, 1, 1, tzinfo=UTC), now=earlier)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(embedder=False) as opened:
        yield opened
