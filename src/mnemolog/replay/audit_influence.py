"""Forwards: what a turn, or a command, has influenced. The scope's decisions from there on are read once, in order: what one of
them did because of the turn, or of a memory that the turn had made, counts, and so does what was built on that. Who only had
the turn in sight is told apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ..processors.core.ports import EventLog
from ..projections.store import Store
from ..schemas.changes import Hidden
from ..schemas.errors import NotFound
from ..schemas.events import DYNAMICS
from ..schemas.inputs import FeedbackGiven, ReextractRequested
from ..schemas.scope import Scope
from ..schemas.views import RecallView
from .audit_links import Touch, audit_id, parse_audit_id, touches
from .audit_records import Recorded, Records
from .audit_rows import Rows
from .audit_telling import Teller, input_id
from .audit_views import Influence, Influenced, RecallTold, SummaryTold
from .audit_weeks import week_of

__all__ = ["Recalls", "influence"]

Recalls = Callable[[str, Collection[str]], Sequence[RecallView]]
"""The recalls since a recorded time that gave one of some memories (or a turn, by its plain id), oldest first."""


class _Seen(NamedTuple):
    item: Recorded
    touch: Touch
    why: str
    on: str


def influence(
    log: EventLog,
    store: Store,
    scope: Scope,
    turn_id: str,
    source: str | None,
    *,
    recalls: Recalls,
    limit: int,
) -> Influence:
    """What the input of that id influenced (of that source; the first one, where none is named). `limit`: rows of `touched`.
    Raises NotFound."""
    with store.reading() as (connection, tables):
        rows, records = Rows(store, scope, connection, tables), Records(log)
        own = _own(rows, records, scope, turn_id, source)
        forward = _Forward(rows, own)
        # A record that cannot be read came to nothing: its scope stands still there.
        for item in records.between(own.stored.offset, log.end(DYNAMICS), scope=scope, broken=lambda *_: None):
            forward.take(item)
        teller = Teller(rows, records)
        told = teller.input(own)
        known = {told.id, own.input.id, *forward.influenced}
        return Influence(
            input=told,
            memories=list(forward.influenced),
            touched=[_told(teller, one) for one in forward.seen[:limit]],
            later=list(forward.later),
            in_context=list(forward.in_context),
            summaries=_summaries(rows, own.input.id, forward.influenced),
            recalls=[_given(view, known) for view in recalls(own.stored.recorded, known)],
            left_off=max(len(forward.seen) - limit, 0),
        )


def _own(rows: Rows, records: Records, scope: Scope, turn_id: str, source: str | None) -> Recorded:
    named = turn_id
    if turn_id.startswith(("turn/", "input/")):
        kind, subject, parts = parse_audit_id(turn_id)
        if kind in ("turn", "input") and subject == scope.subject:
            source, named = parts
    if source is None:
        places = rows.inputs([named]).get(named)
        source = places[0][1] if places else None
    found = None if source is None else records.find(scope, source, named)
    if found is None:
        raise NotFound("turn", turn_id, "name the same user or subject, and the source that it was written with")
    return found


class _Forward:
    """Follows one input through the decisions after it."""

    def __init__(self, rows: Rows, own: Recorded) -> None:
        self._rows, self._own = rows, own
        self.influenced: dict[str, None] = {}
        self.seen: list[_Seen] = []
        self.later: dict[str, None] = {}
        self.in_context: dict[str, None] = {}

    def take(self, item: Recorded) -> None:
        """The next input of the scope."""
        own = item.stored.offset == self._own.stored.offset
        found = [] if item.decision is None else touches(item.scope, item.decision, self._rows.asked)
        because: dict[int, tuple[str, str]] = {}
        grown = True
        while grown:  # what a decision does first may build on what it does last
            grown = False
            for touch in found:
                if touch.place not in because and (why := self._why(touch, own=own)) is not None:
                    because[touch.place] = why
                    self.influenced[touch.id] = None
                    grown = True
        self.seen += [_Seen(item, touch, *because[touch.place]) for touch in found if touch.place in because]
        if not own and (because or self._about(item)):
            self.later[input_id(item)] = None
        if self._own.input.id in getattr(item.observation, "context_ids", ()):
            self.in_context[input_id(item)] = None

    def _why(self, touch: Touch, *, own: bool) -> tuple[str, str] | None:
        if own:
            return "said", ""
        if self._own.input.id in touch.turns:
            return "quoted", ""
        for link in touch.on:
            if link.id in self.influenced:
                return link.why, link.id
        return ("goes on", touch.id) if touch.id in self.influenced else None

    def _about(self, item: Recorded) -> bool:
        """Whether a command is about the input itself, or a memory of it."""
        if isinstance(item.data, ReextractRequested):
            return item.data.turn_id == self._own.input.id
        hidden = [change for change in (() if item.decision is None else item.decision.changes) if isinstance(change, Hidden)]
        forms = {parse_audit_id(one).parts[0] for one in self.influenced if one.startswith(("slot/", "form/"))}
        return any(
            change.target == "scope" or change.target_id == self._own.input.id or change.target_id in forms for change in hidden
        ) or (isinstance(item.data, FeedbackGiven) and item.input.causationid == self._own.input.id)


def _told(teller: Teller, one: _Seen) -> Influenced:
    spoken = teller.spoken(one.item)
    described = teller.items.of(one.touch.id)
    title = teller.title(spoken, one.touch)
    return Influenced(
        id=one.touch.id,
        kind=parse_audit_id(one.touch.id).kind,
        title=title,
        how=one.touch.how,
        input=input_id(one.item),
        recorded_at=one.item.stored.recorded,
        why=one.why,
        on=one.on,
        hidden=described.hidden,
    )


def _summaries(rows: Rows, event_id: str, influenced: Collection[str]) -> list[SummaryTold]:
    told: list[SummaryTold] = []
    for name in rows.weeks():
        week = week_of(rows, name)
        if week is None:
            continue
        lines = [line for line, rests in zip(week.lines, week.rests, strict=True) if any(one in influenced for one in rests)]
        counts = event_id in week.input_ids
        if counts or lines:
            identifier = audit_id("summary", rows.scope, name)
            told.append(SummaryTold(id=identifier, week=name, revision=week.revision, counts=counts, lines=lines))
    return told


def _given(view: RecallView, known: Collection[str]) -> RecallTold:
    return RecallTold(
        recall_id=view.recall_id,
        recalled_at=view.recalled_at,
        kind=view.kind,
        question=view.question,
        agent=view.agent,
        session=view.session,
        scope=view.scopes[0],
        memories=[one.id for one in view.memories if one.id in known or one.id.rpartition("/")[2] in known],
        feedback=view.feedback,
    )
