"""What is told to a memory in a round: a conversation of several scopes, grown from a seed, and how often each piece of it is
delivered. The same seed gives the same story; nothing in it lies in the future, so that the clock takes no part in it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import msgspec

from engine.talk import SAID, memory_rig
from mnemolog.processors.core.ports import Extractor
from mnemolog.projections.store import Store
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import make
from mnemolog.schemas.inputs import (
    ConfirmationGiven,
    CorrectionRequested,
    ErasureRequested,
    ReextractRequested,
    RetractionRequested,
    SessionEnded,
    Turn,
)
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import add_seconds

__all__ = ["Story", "tell"]

START = "2024-03-04T09:00:00.000000Z"
"""A Monday."""
HOUR = 3600
SCOPES = 8

PLANS = 6
"""Scopes that say one thing that will hold some day, and nothing after it: their deadlines pass while the story goes on."""

_COMMANDS = ("correct", "confirm", "reject", "hide", "hide-form", "reextract", "end", "nowhere")
_TURNS = ("turn",) * 24 + ("assistant", "other", "again", "again", "late", "late", "later")
_ONCE_IN = 8
"""Every so many pieces a command comes."""


class Story(msgspec.Struct, frozen=True):
    """`inputs`: what counts, in the order of each scope. `deliveries`: what is published, in this order: every input at least
    once, some again, some with other content under the id of an earlier one."""

    inputs: list[Envelope]
    deliveries: list[Envelope]
    conflicts: int

    @property
    def scopes(self) -> list[str]:
        return list(dict.fromkeys(str(event.scope) for event in self.inputs))


def tell(seed: int, count: int, extractor: Extractor | None = None) -> Story:
    """A story of `count` inputs. What names a Form or a question looks it up in a memory that hears the story as it goes on,
    through `extractor` (default: the offline one)."""
    rng = random.Random(seed)
    scopes = [Scope("acme", f"user:{seed}-{number}") for number in range(SCOPES)]
    rig = memory_rig(extractor)
    events: list[Envelope] = []
    now = START
    try:
        while len(events) < count:
            now = add_seconds(now, rng.randrange(2 * HOUR))
            scope = rng.choice(scopes)
            told = [event for event in events if event.scope == scope and event.type == "turn.recorded"]
            event_id = f"e{len(events)}"
            if told and rng.randrange(_ONCE_IN) == 0:
                rig.engine.process()
                command = _command(rng, rig.store, scope, told)
                if command is None:
                    continue
                event = make(command, scope=scope, event_id=event_id, time=now)
            else:
                event = _turn(rng, scope, event_id, now, told)
            events.append(event)
            rig.log.append_inputs([event])
        # One scope asks for everything to be forgotten, and goes on.
        last = make(ErasureRequested(reason="asked for"), scope=scopes[-1], event_id="erase", time=now)
        after = [_turn(rng, scopes[-1], f"after{number}", add_seconds(now, HOUR), []) for number in range(3)]
        events += [last, *after]
        for number in range(PLANS):
            day, scope = rng.randrange(1, 28), Scope("acme", f"user:{seed}-plan{number}")
            plan = Turn(content=f"From {day} May 2024 on I work as a baker.", occurred_at=START)
            events.insert(rng.randrange(len(events)), make(plan, scope=scope, event_id="plan", time=START))
    finally:
        rig.close()
    deliveries = list(_delivered(rng, events))
    return Story(events, deliveries, sum(event.data.get("content") == OTHER for event in deliveries))


OTHER = "This is not what was said under this id."


def _delivered(rng: random.Random, events: Sequence[Envelope]) -> Iterator[Envelope]:
    """In order, with retries that come late, and with agents that use an id twice."""
    for number, event in enumerate(events):
        yield event
        if rng.randrange(10) == 0:
            yield events[rng.randrange(max(0, number - 30), number + 1)]
        if rng.randrange(60) == 0 and event.type == "turn.recorded":
            yield msgspec.structs.replace(event, data={**event.data, "content": OTHER})


def _turn(rng: random.Random, scope: Scope, event_id: str, now: str, told: Sequence[Envelope]) -> Envelope:
    kind = rng.choice(_TURNS)
    content, session, when = rng.choice(SAID), rng.choice(("morning", "evening")), now
    if kind == "again" and told:  # the same words within the same minutes: a duplicate, though the id is another
        content, session, when = told[-1].data["content"], told[-1].data["session"], add_seconds(told[-1].time, 60)
    elif kind == "late":
        when = add_seconds(now, -rng.randrange(20 * 24 * HOUR))
    elif kind == "later":
        when = add_seconds(now, rng.randrange(3 * 24 * HOUR))
    turn = Turn(
        content=content,
        role="assistant" if kind == "assistant" else "user",
        speaker="Bo" if kind == "other" else "",
        session=session,
        occurred_at=when,
    )
    return make(turn, scope=scope, event_id=event_id, time=when)


def _command(rng: random.Random, store: Store, scope: Scope, told: Sequence[Envelope]) -> msgspec.Struct | None:
    kind = rng.choice(_COMMANDS)
    if kind == "end":
        return SessionEnded(session=rng.choice(("morning", "evening")))
    if kind == "nowhere":
        return RetractionRequested(target="turn", target_id="nowhere")
    if kind == "hide":
        return RetractionRequested(target="turn", target_id=rng.choice(told).id)
    if kind == "reextract":
        return ReextractRequested(turn_id=rng.choice(told).id)
    if kind in ("confirm", "reject"):
        pending = store.pending(scope)
        return ConfirmationGiven(pending_id=rng.choice(pending).pending_id, accept=kind == "confirm") if pending else None
    forms = store.forms(scope)
    if not forms:
        return None
    form = rng.choice(forms)
    if kind == "hide-form":
        return RetractionRequested(target="form", target_id=form.form_id)
    if not form.slots:
        return None
    slot = rng.choice(form.slots)
    element = slot.value.shown if slot.element else None
    value = rng.choice((None, "7000 euros", "Vienna", "41"))
    return CorrectionRequested(form_id=form.form_id, slot=slot.slot, value=value, element=element, reason="by hand")
