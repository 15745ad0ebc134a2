"""Tells inputs, with what was understood of them and what was decided, as far as it may be told: nothing of what is hidden, not
in a raw answer, a candidate, a quote or a note either. Whatever cannot be told apart from what is hidden counts as hidden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ..schemas import changes as ch
from ..schemas.inputs import ConfirmationGiven, CorrectionRequested, RetractionRequested, Turn
from ..schemas.observations import Candidate, Evidence, ExtractionFailed, Observation
from .audit_hidden import Hidings
from .audit_items import HIDDEN, Described, Items
from .audit_links import Touch, audit_id, touches
from .audit_records import Recorded, Records
from .audit_rows import Rows
from .audit_views import AuditedInput, CandidateTold, ChangeTold, DecisionTold, Facts, HidingTold, ObservationTold, QuoteTold

__all__ = ["Spoken", "Teller", "input_id"]

_AROUND = 60
"""Characters on either side of a marked quote."""
_WORDS = ("value", "element", "reason", "note")
"""What a command says in words of its own."""


def input_id(item: Recorded) -> str:
    """The id of an input: a turn's is the one that its hits have."""
    kind = "turn" if isinstance(item.data, Turn) else "input"
    return audit_id(kind, item.stored.scope, item.input.source, item.input.id)


class Spoken(NamedTuple):
    """An input and what of it may be told."""

    item: Recorded
    touched: list[Touch]
    hiding: HidingTold | None
    """Set where its own words are hidden."""
    unsure: bool
    """It touched, or was heard beside, something hidden: what cannot be told apart from that is not told."""
    shown: frozenset[tuple[str, str]]
    """(form type, slot) of the values it touched that may be told, where none of the same slot is hidden."""


class Teller:
    """Tells the inputs of one scope."""

    def __init__(self, rows: Rows, records: Records) -> None:
        self.rows, self.records = rows, records
        self.items = Items(rows)
        self.hidings = Hidings(rows, records)
        self._gone: dict[str, bool] = {}

    # -- what may be told ----------------------------------------------------------------------------------------------

    def spoken(self, item: Recorded) -> Spoken:
        """What may be told of an input."""
        touched = [] if item.decision is None else touches(item.scope, item.decision, self.rows.asked)
        about = [self.items.of(one) for touch in touched for one in (touch.id, *(link.id for link in touch.on))]
        hidden = [one for one in about if one.hidden]
        beside = {turn for touch in touched for turn in touch.turns} | set(getattr(item.observation, "context_ids", ()))
        unsure = bool(hidden) or any(map(self._is_hidden, beside - {item.input.id}))
        gone = {(one.facts.get("form_type"), one.slot) for one in hidden}
        shown = {
            (str(one.facts.get("form_type")), one.slot)
            for one in about
            if one.kind == "slot" and not one.hidden and (one.facts.get("form_type"), one.slot) not in gone
        }
        return Spoken(item, touched, self._hiding(item, hidden), unsure, frozenset(shown))

    def _is_hidden(self, event_id: str) -> bool:
        """Whether a turn of that id is hidden, or not to be found: then nobody can tell."""
        if event_id not in self._gone:
            places = self.rows.inputs([event_id]).get(event_id, [])
            found = [self.rows.turn(offset) for offset, _ in places]
            self._gone[event_id] = not places or any(row is not None and row.hidden for row in found)
        return self._gone[event_id]

    def _hiding(self, item: Recorded, touched: Sequence[Described]) -> HidingTold | None:
        if isinstance(item.data, Turn):
            row = self.rows.turn(item.stored.offset)
            if row is None:
                return HidingTold(reason="not processed yet")
            return self.hidings.of_turn(item.input.id, item.stored.offset) if row.hidden else None
        erased = self.hidings.of_command(item)
        if erased is not None:
            return erased
        if touched:
            one = touched[0]
            return self.hidings.of_memory(item.stored.offset - 1, form_id=one.form_id, slot=one.slot)
        about = self._about(item.data)
        return None if about is None else self.hidings.of_memory(item.stored.offset, form_id=about[0], slot=about[1])

    def _about(self, data: Any) -> tuple[str, str] | None:
        """(Form, slot) that a command is about, where something there is hidden."""
        if isinstance(data, CorrectionRequested):
            row = self.rows.form(data.form_id)
            if row is None or row.hidden or (row.form_type, data.slot) in self.rows.hidden_slots():
                return data.form_id, data.slot
        if isinstance(data, ConfirmationGiven):
            one = self.items.of(audit_id("pending", self.rows.scope, data.pending_id))
            if one.hidden:
                return one.form_id, one.slot
        return None

    # -- telling -------------------------------------------------------------------------------------------------------

    def input(self, item: Recorded, spoken: Spoken | None = None) -> AuditedInput:
        """An input with what was understood and decided. spoken: what may be told of it, where that is known."""
        spoken = self.spoken(item) if spoken is None else spoken
        data, envelope, hidden = item.data, item.input, spoken.hiding is not None
        turn = data if isinstance(data, Turn) else None
        speaker = "" if turn is None or hidden else turn.speaker
        observation = None if item.observation is None else self._observation(spoken)
        withheld = hidden or (observation is not None and observation.withheld)
        return AuditedInput(
            id=input_id(item),
            event_id=envelope.id,
            source=envelope.source,
            type=envelope.type,
            scope=item.stored.scope,
            offset=item.stored.offset,
            occurred_at=envelope.time,
            recorded_at=item.stored.recorded,
            actor=self.actor(spoken),
            role="" if turn is None else turn.role,
            speaker=speaker,
            session=getattr(data, "session", ""),
            agent="" if turn is None else turn.agent,
            text="" if turn is None or hidden else turn.content,
            command={} if turn is not None else _command(data, hidden),
            hidden=spoken.hiding,
            observation=observation,
            decision=None if item.decision is None else self._decision(spoken, withheld),
        )

    @staticmethod
    def actor(spoken: Spoken) -> str:
        """On whose behalf."""
        data = spoken.item.data
        if isinstance(data, Turn):
            return data.role if spoken.hiding is not None else data.speaker or data.role
        return str(getattr(data, "actor", ""))

    def _observation(self, spoken: Spoken) -> ObservationTold:
        item = spoken.item
        found = item.observation
        assert found is not None  # noqa: S101 - the caller looked
        candidates = [] if isinstance(found, ExtractionFailed) else [self._candidate(spoken, one) for one in found.candidates]
        withheld = spoken.hiding is not None or spoken.unsure or any(one.withheld for one in candidates)
        failed = found if isinstance(found, ExtractionFailed) else None
        return ObservationTold(
            extractor=found.extractor,
            model=found.model,
            prompt_hash=found.prompt_hash,
            recorded_at="" if item.observed is None else item.observed.recordedtime or "",
            context_ids=found.context_ids if isinstance(found, Observation) else [],
            candidates=candidates,
            raw="" if withheld else found.raw,
            withheld=withheld,
            error="" if failed is None or withheld else failed.error,
            tries=0 if failed is None else failed.tries,
        )

    def _candidate(self, spoken: Spoken, one: Candidate) -> CandidateTold:
        withheld = self._withheld(spoken, one.form_type, one.slot)
        return CandidateTold(
            op=one.op,
            form_type=one.form_type,
            slot=one.slot,
            value="" if withheld else _candidate_value(one),
            quote="" if withheld else one.quote,
            start=one.start,
            end=one.end,
            authority=one.authority,
            confidence=one.confidence,
            importance=one.importance,
            withheld=withheld,
        )

    def _withheld(self, spoken: Spoken, form_type: str, slot: str) -> bool:
        if spoken.hiding is not None:
            return True
        if slot and (form_type, slot) in spoken.shown:
            return False
        return spoken.unsure or (form_type, slot) in self.rows.hidden_slots()

    def _decision(self, spoken: Spoken, withheld: bool) -> DecisionTold:
        item = spoken.item
        assert item.decision is not None  # noqa: S101 - the caller looked
        assert item.decided is not None  # noqa: S101
        return DecisionTold(
            id=item.decision_id,
            outcome=item.decision.outcome,
            policy=item.decision.policy,
            note="" if withheld else item.decision.note,
            prev=item.decision.prev,
            hash=item.hash,
            recorded_at=item.decided.recorded,
            rejected=[self._reason(spoken, touch.change) for touch in spoken.touched if isinstance(touch.change, ch.Rejected)],
        )

    def _reason(self, spoken: Spoken, change: ch.Rejected) -> str:
        if self._withheld(spoken, change.form_type, change.slot):
            return HIDDEN
        about = f"{change.form_type} {change.slot}".strip()
        return f"{about}: {change.reason}" if about else change.reason

    def changes(self, spoken: Spoken) -> list[ChangeTold]:
        """What a decision did, in a line each."""
        return [ChangeTold(id=touch.id, how=touch.how, title=self.title(spoken, touch)) for touch in spoken.touched]

    def title(self, spoken: Spoken, touch: Touch) -> str:
        """What a touched memory is called."""
        change = touch.change
        if isinstance(change, ch.Rejected):
            return self._reason(spoken, change)
        if isinstance(change, ch.WorkingNoted):
            one = change.candidate
            if self._withheld(spoken, one.form_type, one.slot):
                return HIDDEN
            return f"{one.form_type} {one.slot} {_candidate_value(one)}".strip()
        return self.items.of(touch.id).title

    def quotes(self, spoken: Spoken, touch: Touch) -> list[QuoteTold]:
        """The words that a change rests on, each looked up in its turn."""
        hidden = self.items.of(touch.id).hidden
        pieces: list[Evidence] = getattr(touch.change, "evidence", [])
        return [self._quote(spoken.item, piece, hidden) for piece in pieces]

    def _quote(self, item: Recorded, piece: Evidence, hidden: bool) -> QuoteTold:
        source, content = self._said(item, piece)
        if hidden or content is None:
            return QuoteTold(turn_id=piece.turn_id, source=source, quote="", start=piece.start, end=piece.end, stands=None)
        return QuoteTold(
            turn_id=piece.turn_id,
            source=source,
            quote=piece.quote,
            start=piece.start,
            end=piece.end,
            stands=content[piece.start : piece.end] == piece.quote,
            marked=_marked(content, piece),
        )

    def _said(self, item: Recorded, piece: Evidence) -> tuple[str, str | None]:
        """(source, words) of the turn that a piece of evidence names; where several sources used its id, of the one in which
        the quote stands. None where it is hidden."""
        if piece.turn_id == item.input.id and isinstance(item.data, Turn):
            row = self.rows.turn(item.stored.offset)
            return item.input.source, None if row is None or row.hidden else row.content
        found: tuple[str, str | None] = ("", None)
        for offset, source in self.rows.inputs([piece.turn_id]).get(piece.turn_id, ()):
            row = self.rows.turn(offset)
            if row is None or offset > item.stored.offset:
                continue
            content = None if row.hidden else row.content
            if content is not None and content[piece.start : piece.end] == piece.quote:
                return source, content
            found = found if found[0] else (source, content)
        return found


def _candidate_value(one: Candidate) -> str:
    if one.value is not None:
        return one.value.shown
    if one.op == "episode":
        return " ".join(part for part in (one.actor, one.action, one.object) if part)
    if one.op == "relate" and one.target is not None:
        return f"{one.relation} {one.target.name or one.target.relation}".strip()
    return one.entity.name if one.op == "retire" else ""


def _command(data: msgspec.Struct, hidden: bool) -> Facts:
    """The fields of a command; what is hidden keeps none of its words. Why something was hidden is always told."""
    plain: dict[str, Any] = msgspec.to_builtins(data)
    own = hidden and not isinstance(data, RetractionRequested)
    left = {name: value for name, value in plain.items() if not (own and name in _WORDS)}
    return {name: ", ".join(map(str, value)) if isinstance(value, list) else value for name, value in left.items()}


def _marked(content: str, piece: Evidence) -> str:
    start, end = max(piece.start - _AROUND, 0), min(piece.end + _AROUND, len(content))
    before = ("…" if start else "") + content[start : piece.start]
    after = content[piece.end : end] + ("…" if end < len(content) else "")
    return f"{before}⟦{content[piece.start : piece.end]}⟧{after}"
