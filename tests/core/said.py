"""Candidates and inputs by hand, and a resolver that decides, stores and folds them as the engine would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mnemolog.processors.core.chain import decision_envelope
from mnemolog.processors.core.decide import decide
from mnemolog.processors.core.evolve import apply, evolve
from mnemolog.processors.core.past import PastFold, PastState
from mnemolog.processors.core.policy import Policy
from mnemolog.processors.core.ports import SeenTurn, Stored
from mnemolog.processors.core.state import ScopeState, dump, load
from mnemolog.schemas import changes as ch
from mnemolog.schemas.codec import sha256_hex
from mnemolog.schemas.envelope import Envelope, Position
from mnemolog.schemas.events import CHANGES, make
from mnemolog.schemas.inputs import RollbackRequested, Turn
from mnemolog.schemas.observations import Candidate, EntityRef, ExtractionFailed, Observation
from mnemolog.schemas.registry import Registry
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import add_seconds
from mnemolog.schemas.values import Value

SCOPE = Scope("acme", "user:1")
START = "2026-03-02T09:00:00.000000Z"
DAY = 86_400
POLICY = Policy.of(Registry.load())
ME = EntityRef("self")


def at(days: float) -> str:
    return add_seconds(START, days * DAY)


def text(words: str) -> Value:
    return Value("text", words, words)


def enum(member: str) -> Value:
    return Value("enum", member, member)


def money(amount: str, currency: str = "EUR") -> Value:
    return Value("money", {"amount": amount, "currency": currency}, f"{amount} {currency}".strip())


def cand(slot: str = "", value: Value | None = None, *, quote: str = "", **fields: Any) -> Candidate:
    """A candidate about the user unless said otherwise; `quote` is searched in the turn by `Resolver.say`."""
    data: dict[str, Any] = {"op": "set", "entity": ME, "form_type": "person", "slot": slot, "value": value}
    return Candidate(**{**data, **fields}, quote=quote, start=0, end=len(quote))


class Resolver:
    """One scope, decided input by input."""

    def __init__(self, policy: Policy = POLICY, scope: Scope = SCOPE) -> None:
        self.policy, self.scope = policy, scope
        self.state = ScopeState.empty(scope)
        self.blobs: dict[str, bytes] = {}
        self.records: list[Stored] = []
        self.inputs: list[tuple[Envelope, msgspec.Struct, Position]] = []
        self.decisions: list[ch.Decision] = []

    def say(
        self,
        content: str,
        *candidates: Candidate,
        day: float | None = None,
        session: str = "s1",
        role: str = "user",
        speaker: str = "",
        event_id: str | None = None,
        importance: float | None = None,
        recorded: str | None = None,
    ) -> ch.Decision:
        """A turn with what was understood of it."""
        number = len(self.inputs)
        when = at(number if day is None else day)
        turn = Turn(
            role=role,  # type: ignore[arg-type]
            speaker=speaker,
            content=content,
            session=session,
            occurred_at=when,
            importance=importance,
        )
        return self.give(turn, *candidates, when=when, event_id=event_id, recorded=recorded)

    def give(
        self,
        data: msgspec.Struct,
        *candidates: Candidate,
        when: str | None = None,
        event_id: str | None = None,
        failed: bool = False,
        about: SeenTurn | PastState | None = None,
        recorded: str | None = None,
    ) -> ch.Decision:
        """Any input, decided and applied."""
        number = len(self.inputs)
        when = when or at(number)
        envelope = make(
            data, scope=self.scope, event_id=event_id or f"e{number}", time=when, recorded=recorded or at(10_000 + number)
        )
        content = data.content if isinstance(data, Turn) else about.turn.content if isinstance(about, SeenTurn) else ""
        placed = [place(candidate, content) for candidate in candidates]
        observation: Observation | ExtractionFailed
        if failed:
            observation = ExtractionFailed(
                input_id=envelope.id, input_type=envelope.type, extractor="t/1", error="no JSON", tries=3
            )
        else:
            observation = Observation(input_id=envelope.id, input_type=envelope.type, extractor="t/1", candidates=placed)
        position = Position(0, 0, number)
        if isinstance(data, RollbackRequested):
            about = self.past(data)
        before = snapshot(self.state)
        decision = decide(self.state, envelope, data, observation, self.policy, position, about)
        assert snapshot(self.state) == before, "deciding touched the state"
        self.take(decision, envelope, data, position)
        return decision

    def past(self, data: RollbackRequested) -> PastState | None:
        """How it stood at what a rollback names."""
        fold = PastFold(self.scope, data)
        for decision, record, (envelope, given, position) in zip(self.decisions, self.records, self.inputs, strict=True):
            fold.take(decision, envelope, given, position.offset, envelope.recordedtime or "", sha256_hex(record.value))
        return fold.found

    def take(self, decision: ch.Decision, envelope: Envelope, data: msgspec.Struct, position: Position) -> None:
        value = decision_envelope(decision, envelope, position).to_bytes()
        head = sha256_hex(value)
        pure = evolve(self.state, decision, envelope, data, position, head)
        touched = apply(self.state, decision, envelope, data, position, head)
        assert snapshot(pure) == snapshot(self.state)
        for key, blob in dump(self.state, touched).items():
            if blob is None:
                self.blobs.pop(key, None)
            else:
                self.blobs[key] = blob
        self.records.append(Stored(CHANGES, 0, len(self.records), str(self.scope), value, envelope.recordedtime or ""))
        self.inputs.append((envelope, data, position))
        self.decisions.append(decision)

    # -- looking -------------------------------------------------------------------------------------------------------

    def form(self, form_type: str, key: str) -> str:
        found = self.state.form_called(form_type, key)
        assert found is not None, f"no {form_type} {key!r}"
        return found.form_id

    def value(self, slot: str, form_type: str = "person", key: str = "self") -> str | None:
        """What the single-valued slot shows now."""
        form = self.state.form_called(form_type, key)
        current = None if form is None else self.state.current(form.form_id, slot)
        return None if current is None or current.value is None else current.value.shown

    def values(self, slot: str, form_type: str = "person", key: str = "self") -> list[str]:
        form = self.state.form_called(form_type, key)
        if form is None:
            return []
        places = self.state.standing_elements(form.form_id, slot)
        return [place.current.value.shown for place in places if place.current is not None and place.current.value is not None]

    def pendings(self) -> list[str]:
        return [f"{item.slot}={item.value.shown if item.value else ''}" for item in self.state.pending.values()]

    def versions(self, slot: str) -> list[ch.SlotChanged]:
        changes = [change for decision in self.decisions for change in decision.changes]
        return [change for change in changes if isinstance(change, ch.SlotChanged) and change.slot == slot]


def place(candidate: Candidate, content: str) -> Candidate:
    """The candidate with its quote's offsets; without a quote the whole turn is the evidence."""
    quote = candidate.quote or content
    start = content.find(quote)
    if start < 0:
        start = 0
    return msgspec.structs.replace(candidate, quote=quote, start=start, end=start + len(quote))


def snapshot(state: ScopeState) -> dict[str, bytes | None]:
    return dump(state, state.keys_in_use())


def reloaded(resolver: Resolver, blobs: Mapping[str, bytes] | None = None) -> ScopeState:
    return load(resolver.scope, resolver.blobs if blobs is None else blobs)


def of(kind: type, decision: ch.Decision) -> list[Any]:
    return [change for change in decision.changes if isinstance(change, kind)]


def kinds(decision: ch.Decision) -> Sequence[str]:
    return [type(change).__name__ for change in decision.changes]


CURRENT_FORMS = {"person": "home", "project": "budget", "lead": "name", "quote": "number"}
"""A slot of each type for tests that pick a Form at random."""
