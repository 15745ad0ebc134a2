"""Random conversations for the engine: statements, changes, corrections, hedges, answers, cancellations, commands, other
people, repetitions, late and future times, two languages, several scopes and sessions; and an engine to tell them to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import msgspec
from hypothesis import Phase, settings
from hypothesis import strategies as st

import mnemolog.processors.embedded as embedded
import support.examples
from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.home import deadline_event
from mnemolog.processors.core.extract import OfflineExtractor
from mnemolog.processors.core.policy import Policy
from mnemolog.processors.core.ports import EventLog, Extraction, Extractor, SeenTurn
from mnemolog.processors.embedded import Engine
from mnemolog.projections.digest import digest_store, total_digest
from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from mnemolog.replay.redecide import Redecide
from mnemolog.replay.verify import VerifyReport, verify
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import make
from mnemolog.schemas.inputs import (
    ConfirmationGiven,
    CorrectionRequested,
    ErasureRequested,
    ReextractRequested,
    RetractionRequested,
    RollbackRequested,
    SessionEnded,
    Turn,
)
from mnemolog.schemas.registry import Registry
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import add_seconds
from support.events import ManualClock

SCOPES = (Scope("acme", "user:1"), Scope("acme", "user:2"), Scope("umbrella", "user:1"))
SESSIONS = ("morning", "evening")
START = "2026-03-02T09:00:00.000000Z"
"""A Monday; the logs of these tests are written at noon on 7 May."""
HOUR = 3600

SAID = (
    "I live in Lisbon.",
    "I moved to Porto last week because of the rent.",
    "I live in Berlin now.",
    "No, I meant I live in Hamburg.",
    "From 1 June 2026 I will live in Madrid.",
    "My name is Ana.",
    "My sister's name is Julia.",
    "My friend Jack lives in Rome.",
    "Jack doesn't like football.",
    "I like tea.",
    "I like coffee and dark chocolate.",
    "I don't like tea any more.",
    "I am allergic to peanuts.",
    "I work as a nurse.",
    "I work at Acme.",
    "The budget for the kitchen is 5000 euros.",
    "The budget for the kitchen is about 6000 euros.",
    "We raised the kitchen budget from 5000 euros to 8000 euros because the oven broke.",
    "Actually the kitchen budget is 5000 euros again.",
    "Yes, that's right.",
    "No, that's wrong.",
    "Forget the old plan.",
    "Maybe I should move to Oslo.",
    "What is my budget?",
    "Just kidding, I hate all food.",
    "I heard that Ana moved to Paris.",
    "We decided to postpone the launch until 3 July 2026.",
    "My dentist appointment is on 12 March 2026.",
    "Please always answer in French.",
    "我住在上海。",
    "我搬到北京了，因为换了工作。",
    "不对，我住在杭州。",
    "我大概三十岁。",
    "我喜欢喝茶。",
    "我不喜欢咖啡了。",
    "我对花生过敏。",
    "厨房的预算是五千元。",
    "厨房的预算改成八千元，因为涨价了。",
    "对，没错。",
    "之前的方案作废。",
    "我朋友小王住在广州。",
    "听说小王搬家了。",
    "hmm",
)


def examples(count: int) -> settings:
    """So many examples, the same in every run; in the deep profile twenty times as many. A failure is not made smaller: the
    stories are short, and each takes its time."""
    return support.examples.examples(count, phases=(Phase.explicit, Phase.reuse, Phase.generate))


class Step(msgspec.Struct, frozen=True):
    """One thing that happens; numbers are taken modulo what there is."""

    kind: str
    scope: int
    session: int
    what: int
    hours: int


KINDS = (
    ("turn",) * 14
    + ("assistant", "other", "duplicate", "late", "future")
    + ("confirm", "reject", "correct", "empty", "end", "deadline", "hide", "hide-form", "erase", "reextract", "nothing")
    + ("rollback", "rollback", "rollback-form")
)

steps: st.SearchStrategy[list[Step]] = st.lists(
    st.builds(
        Step,
        st.sampled_from(KINDS),
        st.integers(0, len(SCOPES) - 1),
        st.integers(0, len(SESSIONS) - 1),
        st.integers(0, len(SAID) - 1),
        st.integers(0, 30),
    ),
    min_size=1,
    max_size=22,
)


@cache
def registry() -> Registry:
    return Registry.load(())


class Remembering:
    """The offline extractor, which is pure, asked once for the same turn after the same turns."""

    def __init__(self) -> None:
        self._extractor = OfflineExtractor(registry())
        self._known: dict[bytes, Extraction] = {}
        self.name, self.window = self._extractor.name, self._extractor.window

    def extract(self, turn: SeenTurn, window: Sequence[SeenTurn]) -> Extraction:
        key = msgspec.json.encode((turn, list(window)))
        if key not in self._known:
            self._known[key] = self._extractor.extract(turn, window)
        return self._known[key]


@cache
def extractor() -> Extractor:
    return Remembering()


@cache
def policy() -> Policy:
    return Policy.of(registry())


class Rig:
    """A log, a store and an engine; the clock stands still."""

    def __init__(self, log: EventLog, database: Path | str = ":memory:", understood: Extractor | None = None) -> None:
        self.log = log
        self.store = Store(database, log_id=log.log_id)
        self.projector = Projector(self.store)
        self.engine = Engine(log, self.store, self.projector, understood or extractor(), policy())

    def add(self, events: Sequence[Envelope], process: bool = True) -> None:
        self.log.append_inputs(events)
        if process:
            self.engine.process()

    def digests(self) -> dict[str, str]:
        return digest_store(self.store)

    def digest(self) -> str:
        return total_digest(self.digests())

    def verify(self, decide: bool = False) -> VerifyReport:
        return verify(self.log, self.store, decide=Redecide(self.log, policy()) if decide else None)

    def check(self) -> None:
        """Live is what a replay gives, and deciding again gives the same."""
        report = self.verify(decide=True)
        assert report.equal, report
        assert report.drift == []
        assert report.live_digest == report.replayed_digest

    def close(self) -> None:
        self.store.close()
        self.log.close()


def memory_rig(understood: Extractor | None = None) -> Rig:
    return Rig(MemoryLog(clock=ManualClock()), understood=understood)


def sqlite_rig(path: Path, understood: Extractor | None = None) -> Rig:
    return Rig(SqliteLog(path, clock=ManualClock()), path, understood)


@contextmanager
def batches_of(size: int) -> Iterator[None]:
    """The engine takes so many inputs at once."""
    before = embedded.BATCH
    embedded.BATCH = size
    try:
        yield
    finally:
        embedded.BATCH = before


def tell(story: Sequence[Step]) -> list[Envelope]:
    """The story as events. What names a Form, a question or a deadline looks it up in a memory that hears the story as it
    goes on."""
    rig = memory_rig()
    events: list[Envelope] = []
    now = START
    try:
        for number, step in enumerate(story):
            now = add_seconds(now, step.hours * HOUR)
            for event in _events(rig, step, f"e{number}", now, events):
                events.append(event)
                rig.log.append_inputs([event])
    finally:
        rig.close()
    return events


def _events(rig: Rig, step: Step, event_id: str, now: str, before: Sequence[Envelope]) -> list[Envelope]:
    scope, session = SCOPES[step.scope], SESSIONS[step.session]
    told = [event for event in before if event.scope == scope and event.type == "turn.recorded"]
    if step.kind in ("turn", "assistant", "other", "late", "future", "duplicate"):
        when = {"late": add_seconds(now, -step.what * 6 * HOUR), "future": add_seconds(now, 200 * 24 * HOUR)}.get(
            step.kind, now
        )
        content = SAID[step.what]
        if step.kind == "duplicate" and told:
            content, session, when = told[-1].data["content"], told[-1].data["session"], add_seconds(told[-1].time, 60)
        turn = Turn(
            content=content,
            role="assistant" if step.kind == "assistant" else "user",
            speaker="Bo" if step.kind == "other" else "",
            session=session,
            occurred_at=when,
            utc_offset=60 * (step.what % 3),
        )
        return [make(turn, scope=scope, event_id=event_id, time=when)]
    command = _command(rig, step, scope, session, told, now)
    if isinstance(command, Envelope):
        return [command]
    return [] if command is None else [make(command, scope=scope, event_id=event_id, time=now)]


def _command(
    rig: Rig, step: Step, scope: Scope, session: str, told: Sequence[Envelope], now: str
) -> msgspec.Struct | Envelope | None:
    rig.engine.process()
    store, what = rig.store, step.what
    if step.kind == "end":
        return SessionEnded(session=session)
    if step.kind == "erase":
        return ErasureRequested(reason="asked for")
    if step.kind == "nothing":
        return RetractionRequested(target="turn", target_id="nowhere")
    if step.kind == "deadline":
        due = store.deadlines_due("2026-12-31T00:00:00.000000Z", scope)
        return deadline_event(due[what % len(due)]) if due else None
    if step.kind in ("hide", "reextract"):
        if not told:
            return None
        turn = told[what % len(told)].id
        return (
            ReextractRequested(turn_id=turn) if step.kind == "reextract" else RetractionRequested(target="turn", target_id=turn)
        )
    if step.kind == "rollback":
        return RollbackRequested(target="scope", to=told[what % len(told)].id, reason="wrong") if told else None
    if step.kind in ("confirm", "reject"):
        pending = store.pending(scope)
        return (
            ConfirmationGiven(pending_id=pending[what % len(pending)].pending_id, accept=step.kind == "confirm")
            if pending
            else None
        )
    forms = store.forms(scope)
    if not forms:
        return None
    form = forms[what % len(forms)]
    if step.kind == "rollback-form":
        return RollbackRequested(target="form", target_id=form.form_id, to=told[what % len(told)].id) if told else None
    if step.kind == "hide-form":
        return RetractionRequested(target="form", target_id=form.form_id)
    if not form.slots:
        return None
    slot = form.slots[what % len(form.slots)]
    value = None if step.kind == "empty" else ("7000 euros", "Vienna", "41")[what % 3]
    element = slot.value.shown if slot.element else None
    return CorrectionRequested(form_id=form.form_id, slot=slot.slot, value=value, element=element, reason="by hand")
