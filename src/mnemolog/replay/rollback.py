"""Rolling back: which input is meant, what would change, and what did. What would change is decided by the same pure function
as what does, on the same past; nothing is written here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
import sqlalchemy as sa

from ..processors.about import look_back
from ..processors.core.chain import valid_decisions
from ..processors.core.decide import decide
from ..processors.core.policy import Policy
from ..processors.core.ports import EventLog
from ..projections.reader import decided_inputs, records
from ..schemas import changes as ch
from ..schemas.envelope import Envelope, Position
from ..schemas.errors import InvalidInput, NewerVersion, NotFound, Undecodable
from ..schemas.events import CHANGES, DYNAMICS, decode, make
from ..schemas.inputs import RollbackRequested
from ..schemas.observations import Observation
from ..schemas.scope import Scope
from ..schemas.values import Value
from .past_position import Part, When, position_of, recorded_time

__all__ = [
    "EdgeDifference",
    "FormDifference",
    "PendingDifference",
    "Place",
    "RollbackReport",
    "SlotDifference",
    "decision_about",
    "dry_event",
    "input_at",
    "place_of",
    "preview",
    "report_of",
    "target_of",
]

Names = Mapping[str, tuple[str, str]]
"""Form to its type and what it is called."""
_SHORTEST = 4
"""Characters of an input's id that may stand for it."""


class FormDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A Form that stands again, is called off, or is called otherwise."""

    form_id: str
    form_type: str
    before: str
    """What it was called; empty where it was called off."""
    after: str
    """What it is called; empty where it is called off."""


class SlotDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A slot, or an element of it. `scheduled`: it is about what becomes current at `valid_from`, not about what stands."""

    form_id: str
    form_type: str
    form: str
    """What the Form is called."""
    slot: str
    element: str
    before: Value | None
    after: Value | None
    confidence_before: float | None
    confidence_after: float | None
    version: int
    """The version that the rollback made."""
    restores: int | None
    """The version that it puts back."""
    scheduled: bool = False
    valid_from: str = ""


class PendingDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A question that is open again, or not any more."""

    pending_id: str
    form_id: str
    form: str
    """What the Form is called; empty where the question is which Form is meant."""
    slot: str
    value: Value | None
    before: bool
    """Whether it was open."""
    after: bool


class EdgeDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A relation that is there again, or not any more."""

    edge_id: str
    from_form: str
    from_name: str
    """What that Form is called."""
    to_form: str
    to_name: str
    relation: str
    before: bool
    after: bool


class RollbackReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a rollback changed or, as a dry run, would change."""

    scope: str
    target: str
    """scope | form | slot"""
    form_id: str
    slot: str
    to: str
    """The last input that counts."""
    to_source: str
    at: str
    """Event time of that input."""
    dry_run: bool
    outcome: str
    """changed | nothing"""
    note: str
    """Why nothing changes, where nothing does."""
    input_id: str = ""
    """Of the rollback itself; empty for a dry run. To undo it, roll back to the input before it."""
    before_input: str = ""
    """The input before the rollback: what to roll back to, to undo it."""
    position: str = ""
    """The token that `Memory.wait` takes."""
    forms: list[FormDifference] = []
    slots: list[SlotDifference] = []
    pending: list[PendingDifference] = []
    edges: list[EdgeDifference] = []


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where to go back to, as the event says it."""

    to: str = ""
    to_source: str = "mnemolog"
    to_time: str | None = None


def place_of(part: Part, scope: Scope, to: When, now: str) -> Place:
    """What `to` names: a recorded time, an input's id (four characters or more of its beginning do, where no other begins so),
    or a token that writing returned.

    Raises InvalidInput for a time in the future or before the scope's first input, for the input of another scope, and for what
    more than one input may be; NotFound for an unknown one.
    """
    time = recorded_time(to, "to")
    if time is not None:
        position_of(part, scope, to, field="to", now=now)  # refuses the future
        first = next(iter(part.log.read(DYNAMICS, 0, 1, scope=scope)), None)
        if first is None or first.recorded > time:
            raise InvalidInput(
                "to",
                f"{time} is before anything was recorded of {scope}",
                "name an input of it, or a later time; `delete_user` takes everything out of the answers",
            )
        return Place(to_time=time)
    try:
        offset = position_of(part, scope, to, field="to", now=now) - 1
    except NotFound:
        offset = _by_beginning(part, scope, str(to))
    stored = next(iter(part.log.read(DYNAMICS, offset, 1)), None)
    if stored is None or stored.offset != offset or stored.scope != str(scope):
        raise InvalidInput("to", "names an input of another memory", f"name one of {scope}: `timeline` and `history` show them")
    try:
        envelope, _ = decode(stored.value)
    except (Undecodable, NewerVersion) as error:
        raise InvalidInput("to", f"names an input that cannot be read ({error})", "name the input before it") from None
    return Place(to=envelope.id, to_source=envelope.source)


def _by_beginning(part: Part, scope: Scope, text: str) -> int:
    hint = "`to` takes an input's id, a token that writing returned, or a time"
    if len(text) < _SHORTEST:
        raise NotFound("input", text, hint)
    with part.store.reading() as (connection, t):
        mine = t.inputs.c.scope_id == part.store.scope_number(connection, scope)
        query = sa.select(t.inputs.c.event_id, t.inputs.c.position).where(
            mine, sa.func.substr(t.inputs.c.event_id, 1, len(text)) == text
        )
        found = connection.execute(query.limit(3)).all()
    if not found:
        raise NotFound("input", text, hint)
    if len(found) > 1:
        raise InvalidInput("to", f"{text!r} is the beginning of several inputs", "give more of the id")
    return int(found[0].position)


def target_of(form_id: str | None, slot: str | None) -> Literal["scope", "form", "slot"]:
    """Raises InvalidInput for a slot of no Form."""
    if slot is not None and form_id is None:
        raise InvalidInput("slot", "goes with a Form", "say whose slot it is, by form_id")
    return "scope" if form_id is None else "form" if slot is None else "slot"


def preview(part: Part, policy: Policy, event: Envelope, data: RollbackRequested) -> ch.Decision:
    """The decision that would be made about a rollback now; nothing is written."""
    fold = look_back(part.log, event.scope, data, keep_current=True)
    observed = Observation(input_id=event.id, input_type=event.type, extractor="command/1", command=event.type)
    position = Position(part.log.epoch, part.number, part.log.end(DYNAMICS))
    return decide(fold.current, event, data, observed, policy, position, fold.found)


def dry_event(data: RollbackRequested, scope: Scope, source: str, now: str) -> Envelope:
    """The command as it would be recorded now."""
    return make(data, scope=scope, event_id="dry-run", time=now, source=source, recorded=now)


def input_at(log: EventLog, offset: int) -> str:
    """The id of the input that lies there; empty where it is gone."""
    stored = next(iter(log.read(DYNAMICS, offset, 1)), None)
    return "" if stored is None or stored.offset != offset else Envelope.from_bytes(stored.value).id


def decision_about(log: EventLog, scope: Scope, event_id: str, source: str, start: int, head: str) -> ch.Decision | None:
    """The valid decision about an input that was recorded when the scope's head was `head` and the changes topic ended at
    `start`; None where there is none yet."""
    for valid in valid_decisions(records(log, CHANGES, start, scope=scope), {str(scope): head} if head else {}):
        if (valid.decision.input_id, valid.decision.input_source) == (event_id, source):
            return valid.decision
    # The head that was given had moved on already.
    for item in decided_inputs(log, 0, scope=scope):
        if (item.input.id, item.input.source) == (event_id, source):
            return item.decision
    return None


def report_of(decision: ch.Decision, data: RollbackRequested, scope: Scope, names: Names, *, dry_run: bool) -> RollbackReport:
    """What a decision about a rollback changes. names: Form id to (Form type, name), before or after it: the dry run and the
    rollback call a Form alike, as it is called then."""
    restored = [change for change in decision.changes if isinstance(change, ch.FormRestored)]
    names = {**names, **{form.form_id: (names.get(form.form_id, ("", ""))[0], form.name) for form in restored}}
    told = next((change for change in decision.changes if isinstance(change, ch.RolledBack)), None)
    made = RollbackReport(
        scope=str(scope),
        target=data.target,
        form_id=data.target_id,
        slot=data.slot,
        to=data.to if told is None else told.to,
        to_source=data.to_source if told is None else told.to_source,
        at="" if told is None else told.at,
        dry_run=dry_run,
        outcome="nothing" if told is None else "changed",
        note=decision.note,
    )
    if told is None:
        return made
    return msgspec.structs.replace(
        made,
        forms=_forms(decision, told),
        slots=_slots(decision, told, names),
        pending=_pending(decision, told, names),
        edges=_edges(decision, told, names),
    )


def _forms(decision: ch.Decision, told: ch.RolledBack) -> list[FormDifference]:
    after = {change.form_id: change.name for change in decision.changes if isinstance(change, ch.FormRestored)}
    return [
        FormDifference(
            form_id=form.form_id,
            form_type=form.form_type,
            before="" if form.retired else form.name,
            after=after.get(form.form_id, ""),
        )
        for form in told.forms
    ]


def _slots(decision: ch.Decision, told: ch.RolledBack, names: Names) -> list[SlotDifference]:
    stood = {(slot.form_id, slot.slot, slot.version): slot for slot in told.slots if slot.version}
    found: list[SlotDifference] = []
    for change in decision.changes:
        if not isinstance(change, ch.SlotChanged) or change.reason != "rolled_back":
            continue
        was = stood.get((change.form_id, change.slot, change.supersedes or 0))
        called_off = was is not None and was.scheduled
        ended = change.status == "retired"
        waits = change.status == "scheduled" or called_off
        before = None if was is None or change.status == "scheduled" else was
        found.append(
            SlotDifference(
                form_id=change.form_id,
                form_type=change.form_type,
                form=_name(names, change.form_id),
                slot=change.slot,
                element=change.element,
                before=None if before is None else before.value,
                after=None if ended else change.value,
                confidence_before=None if before is None else before.confidence,
                confidence_after=None if ended else change.confidence,
                version=change.version,
                restores=change.restores,
                scheduled=waits,
                valid_from=change.valid_from if waits else "",
            )
        )
    return found


def _pending(decision: ch.Decision, told: ch.RolledBack, names: Names) -> list[PendingDifference]:
    opened = {change.pending_id: change for change in decision.changes if isinstance(change, ch.PendingOpened)}
    was = {item.pending_id for item in told.pending}
    items: list[ch.PendingStood | ch.PendingOpened] = [item for item in told.pending if item.pending_id not in opened]
    return [
        PendingDifference(
            pending_id=item.pending_id,
            form_id=item.form_id,
            form=_name(names, item.form_id),
            slot=item.slot,
            value=item.value,
            before=item.pending_id in was,
            after=item.pending_id in opened,
        )
        for item in (*items, *opened.values())
    ]


def _edges(decision: ch.Decision, told: ch.RolledBack, names: Names) -> list[EdgeDifference]:
    edges: list[ch.EdgeStood | ch.EdgeAdded] = [*told.edges]
    edges += [change for change in decision.changes if isinstance(change, ch.EdgeAdded)]
    return [
        EdgeDifference(
            edge_id=edge.edge_id,
            from_form=edge.from_form,
            from_name=_name(names, edge.from_form),
            to_form=edge.to_form,
            to_name=_name(names, edge.to_form),
            relation=edge.relation,
            before=isinstance(edge, ch.EdgeStood),
            after=not isinstance(edge, ch.EdgeStood),
        )
        for edge in edges
    ]


def _name(names: Names, form_id: str) -> str:
    return names.get(form_id, ("", ""))[1]
