"""The logs agree: whatever is done to a log in memory and to one in SQLite, both answer the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.processors.core.ports import EventLog
from mnemolog.schemas.codec import sha256_hex
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import MnemologError
from mnemolog.schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, SUMMARIES
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import add_seconds
from support.events import START, ManualClock, decision, observation, turn
from support.examples import examples

SCOPES = [Scope("acme", "user:1"), Scope("acme", "用户"), Scope("other", "user:1")]
TOPICS = (DYNAMICS, OBSERVATIONS, CHANGES, SUMMARIES)

# Few names, so that they meet again.
scopes = st.sampled_from(SCOPES)
inputs = st.builds(
    turn,
    st.sampled_from(["a", "b", "c", "d", "e"]),
    st.sampled_from(["tea", "咖啡"]),
    scopes,
    source=st.sampled_from(["mnemolog", "crm"]),
)
observations = st.builds(observation, inputs, raw=st.sampled_from(["", "x"]))
topics = st.sampled_from(TOPICS)


class LogsAgree(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ManualClock()
        self.count = 0
        self.memory = MemoryLog(clock=self.clock)
        self.sqlite = self.open()

    def open(self) -> SqliteLog:
        return SqliteLog(Path(self.folder.name) / "memory.db", clock=self.clock)

    def both(self, act: Callable[[EventLog], Any]) -> Any:
        """Does it to both; they return the same, or raise the same."""
        answers = [_answer(act, log) for log in (self.memory, self.sqlite)]
        assert answers[0] == answers[1]
        return answers[0]

    @rule(seconds=st.integers(-100, 100))
    def time_passes(self, seconds: int) -> None:
        self.clock.move(seconds)

    @rule(events=st.lists(inputs, max_size=4))
    def append_inputs(self, events: list[Envelope]) -> None:
        self.both(lambda log: log.append_inputs(events))

    @rule(events=st.lists(observations, max_size=4), topic=topics)
    def append_derived(self, events: list[Envelope], topic: str) -> None:
        self.both(lambda log: log.append_derived(topic, events))

    @rule(
        events=st.lists(st.tuples(inputs, st.booleans()), max_size=4),
        observed=st.lists(observations, max_size=2),
        wrong=st.booleans(),
    )
    def append_processed(self, events: list[tuple[Envelope, bool]], observed: list[Envelope], wrong: bool) -> None:
        """Decisions that chain, of which one or the other may have been decided before, or be stale."""
        heads = {scope: self.memory.head(scope) for scope in SCOPES}
        decisions: list[Envelope] = []
        for number, (event, again) in enumerate(events):
            self.count += 1
            about = event if again else turn(f"input-{self.count}", scope=event.scope)
            prev = "0" * 64 if wrong and number == len(events) - 1 else heads[event.scope]
            made = decision(about, prev)
            decisions.append(made)
            heads[event.scope] = sha256_hex(made.to_bytes())
        self.both(lambda log: log.append_processed(observed, decisions))

    @rule(topic=topics, start=st.integers(-1, 30), limit=st.none() | st.integers(0, 10), scope=st.none() | scopes)
    def read(self, topic: str, start: int, limit: int | None, scope: Scope | None) -> None:
        self.both(lambda log: list(log.read(topic, start, limit, scope=scope)))

    @rule(topic=topics, seconds=st.integers(-200, 200))
    def find_time(self, topic: str, seconds: int) -> None:
        self.both(lambda log: log.offset_at(topic, add_seconds(START, seconds)))

    @rule(topic=topics, after=st.integers(0, 30))
    def wait(self, topic: str, after: int) -> None:
        self.both(lambda log: log.wait(topic, after, 0))

    @rule(event=inputs)
    def find_input(self, event: Envelope) -> None:
        self.both(lambda log: log.position_of(event.scope, event.source, event.id))

    @precondition(lambda self: self.sqlite.end(DYNAMICS) > 0)
    @rule()
    def reopen(self) -> None:
        self.sqlite.close()
        self.sqlite = self.open()

    @invariant()
    def ends_and_heads_agree(self) -> None:
        for topic in TOPICS:
            self.both(lambda log, topic=topic: log.end(topic))
        for scope in SCOPES:
            self.both(lambda log, scope=scope: (log.head(scope), log.last_input(scope)))

    def teardown(self) -> None:
        for topic in TOPICS:
            self.both(lambda log, topic=topic: list(log.read(topic)))
        recorded = [stored.recorded for stored in self.sqlite.read(DYNAMICS)]
        assert recorded == sorted(recorded)
        self.sqlite.close()
        self.memory.close()
        self.folder.cleanup()


def _answer(act: Callable[[EventLog], Any], log: EventLog) -> Any:
    try:
        return act(log)
    except MnemologError as error:
        return type(error), str(error)


TestLogsAgree = LogsAgree.TestCase
TestLogsAgree.settings = examples(25, stateful_step_count=40)
