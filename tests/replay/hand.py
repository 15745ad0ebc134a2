"""Hand-made decided inputs: what the resolver would decide, written out, for tests of what is projected from it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mnemolog.projections.projector import DecidedInput
from mnemolog.schemas import changes as ch
from mnemolog.schemas.codec import derived_id, sha256_hex
from mnemolog.schemas.envelope import Envelope, Position
from mnemolog.schemas.events import make
from mnemolog.schemas.inputs import Turn
from mnemolog.schemas.observations import Evidence
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import add_seconds
from mnemolog.schemas.values import Value

SCOPE = Scope("acme", "user:1")
OTHER = Scope("acme", "user:2")
START = "2026-03-02T09:00:00.000000Z"
"""A Monday."""
DAY = 86_400


def at(days: float) -> str:
    return add_seconds(START, days * DAY)


def text(value: str) -> Value:
    return Value("text", value)


def quote(turn_id: str, words: str = "words", start: int = 0) -> Evidence:
    return Evidence(turn_id, words, start, start + len(words))


def slot(version: int, value: str | None, status: str = "confirmed", reason: str = "new", **fields: object) -> ch.SlotChanged:
    """A change of the slot `home` of the Form `me`, unless `fields` say otherwise."""
    data: dict[str, object] = {
        "form_id": "me",
        "form_type": "person",
        "slot": "home",
        "version": version,
        "value": None if value is None else text(value),
        "status": status,
        "reason": reason,
        "confidence": 0.9,
        "authority": "user",
        "valid_from": at(version),
    }
    return ch.SlotChanged(**{**data, **fields})  # type: ignore[arg-type]


def created(form_id: str = "me", form_type: str = "person", key: str = "self", name: str = "I") -> ch.FormCreated:
    return ch.FormCreated(form_id=form_id, form_type=form_type, key=key, name=name)


class Writer:
    """Numbers and links decided inputs as a log would."""

    def __init__(self) -> None:
        self.items: list[DecidedInput] = []
        self._heads: dict[str, str] = {}

    def add(
        self,
        *changes: ch.Change,
        scope: Scope = SCOPE,
        content: str = "some words",
        data: msgspec.Struct | None = None,
        day: float | None = None,
        event_id: str | None = None,
        session: str = "s1",
        outcome: ch.Outcome | None = None,
    ) -> DecidedInput:
        offset = len(self.items)
        when = at(offset if day is None else day)
        turn = data or Turn(content=content, occurred_at=when, session=session)
        recorded = add_seconds(at(1000), offset)
        given: Envelope = make(turn, scope=scope, event_id=event_id or f"e{offset}", time=when, recorded=recorded)
        decision = ch.Decision(
            input_id=given.id,
            input_source=given.source,
            input_type=given.type,
            prev=self._heads.get(str(scope), ""),
            outcome=outcome or ("changed" if changes else "nothing"),
            changes=list(changes),
            session=session,
            role="user",
            policy="test/1",
        )
        envelope = make(
            decision,
            scope=scope,
            event_id=derived_id(scope.tenant, scope.subject, given.source, given.id, "decide", 0),
            time=when,
            position=str(Position(0, 0, offset)),
            causation=given.id,
            recorded=recorded,
        )
        head = sha256_hex(envelope.to_bytes())
        self._heads[str(scope)] = head
        item = DecidedInput(
            input=given,
            data=turn,
            offset=offset,
            decision_envelope=envelope,
            decision=decision,
            changes_offset=offset,
            hash=head,
            recorded=recorded,
            extractor="offline/1",
        )
        self.items.append(item)
        return item


def project(projector: object, items: Sequence[DecidedInput], size: int = 1000) -> None:
    """Applies items in batches of `size`, with a resolver state that only counts."""
    for start in range(0, len(items), size):
        batch = items[start : start + size]
        states = {(item.scope, "state"): str(item.offset).encode() for item in batch}
        projector.apply(  # type: ignore[attr-defined]
            batch,
            states=states,
            next_changes=batch[-1].changes_offset + 1,
            applied_input=batch[-1].offset + 1,
        )
