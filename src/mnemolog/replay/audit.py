"""Backwards: from a memory to the decisions that made it, what was understood, the turn and the words, and on to whatever those
decisions built on. What is read of the log is the records about that memory alone, looked up where they lie."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..processors.core.ports import EventLog
from ..projections.store import Store
from ..projections.views import pieces as _evidence
from ..schemas.changes import SlotChanged
from ..schemas.errors import InvalidInput, NotFound
from ..schemas.inputs import FeedbackGiven, RollbackRequested, Turn
from ..schemas.scope import Scope
from ..schemas.views import RecallView
from .audit_asked import Asked, no_slot, nothing
from .audit_decided import KINDS, derived, tell_derived
from .audit_items import Described
from .audit_links import Link, Touch, audit_id, parse_audit_id
from .audit_records import Recorded, Records
from .audit_rows import Rows
from .audit_telling import Spoken, Teller, input_id
from .audit_views import Audit, Audited, BuiltOn, HidingTold, QuoteTold, Step
from .audit_weeks import Week, week_of

__all__ = ["LOOK", "Asked", "audit"]

LOOK = 200
"""Later decisions about the same Form that are looked through for what they did to one of its values."""
_ELAPSED = 2_000
"""Later inputs that are looked through for the one at which something came true by itself."""
_FOREVER = 2**62

Recall = Callable[[str], RecallView | None]


def audit(log: EventLog, store: Store, scope: Scope, asked: Asked, *, recall: Recall, limit: int) -> Audit:
    """Why a scope believes what is asked about. `recall` finds a recall of the scope; `limit`: items at most.

    Raises NotFound where there is no such thing, InvalidInput for an id that is none.
    """
    with store.reading() as (connection, tables):
        rows = Rows(store, scope, connection, tables)
        walk = _Walk(rows, Records(log), recall)
        roots = walk.roots(asked)
        return walk.run(asked, roots, limit)


class _Found(NamedTuple):
    item: Recorded
    touch: Touch


class _Walk:
    """One audit. Memories are taken newest bound first, so that each is told once, with all decisions that bear on it."""

    def __init__(self, rows: Rows, records: Records, recall: Recall) -> None:
        self.rows, self.records, self.teller = rows, records, Teller(rows, records)
        self._scope, self._recall = rows.scope, recall
        self._heap: list[tuple[int, int, str]] = []
        self._spoken: dict[int, Spoken] = {}
        self._line: int | None = None
        self._pushed = 0
        self._missing: dict[str, None] = {}

    # -- what is asked about -------------------------------------------------------------------------------------------

    def roots(self, asked: Asked) -> list[str]:
        """The ids that are meant."""
        scope, rows = self._scope, self.rows
        if asked.recall_id:
            return [audit_id("recall", scope, asked.recall_id)]
        if asked.week:
            self._line = asked.line
            return [audit_id("summary", scope, asked.week)]
        if asked.id:
            return [self._resolved(asked.id)]
        if not asked.slot:
            standing = [audit_id("slot", scope, asked.form_id, *row) for row in rows.standing(asked.form_id)]
            return [audit_id("form", scope, asked.form_id), *standing]
        if asked.version is not None:
            return [audit_id("slot", scope, asked.form_id, asked.slot, asked.version)]
        numbers = [row.version for row in rows.standing(asked.form_id, asked.slot)]
        latest = rows.latest(asked.form_id, asked.slot)
        if latest is None:
            raise no_slot(rows, asked.form_id, asked.slot)
        # Of a slot in which nothing stands, the version that says so.
        return [audit_id("slot", scope, asked.form_id, asked.slot, number) for number in numbers or [latest]]

    def _resolved(self, text: str) -> str:
        """The id that a text means: an id of a memory, or that of a Form, a question, an edge, an entry, an input, a decision,
        an observation or a recall."""
        try:
            named = parse_audit_id(text)
        except InvalidInput:
            found = self.bare(text)
            record = derived(self.records, self._scope, text) if found.startswith("recall/") else None
            return found if record is None else audit_id(record.kind, self._scope, text)
        if named.subject != self._scope.subject:
            raise NotFound("memory", text, "it is of another subject")
        return text

    def bare(self, text: str) -> str:
        """What a plain id means; where it means nothing, a recall, which is looked for last."""
        rows, scope = self.rows, self._scope
        for kind, found in (("pending", rows.pending), ("form", rows.form), ("edge", rows.edge), ("event", rows.entry)):
            if found(text) is not None:
                return audit_id(kind, scope, text)
        places = rows.inputs([text]).get(text)
        if places:
            item = self.records.at(places[0][0])
            if item is not None:
                return input_id(item)
        return audit_id("recall", scope, text)

    # -- walking -------------------------------------------------------------------------------------------------------

    def run(self, asked: Asked, roots: Sequence[str], limit: int) -> Audit:
        for place, root in enumerate(roots):
            heapq.heappush(self._heap, (-_FOREVER, place, root))
        told: dict[str, Audited] = {}
        first = set(roots)
        while self._heap and len(told) < max(limit, len(roots)):
            bound, place, identifier = heapq.heappop(self._heap)
            if identifier in told:
                continue
            found = self._audited(identifier, -bound)
            if found is None:
                if identifier in first:
                    raise nothing(self.rows, asked, identifier)
                continue
            told[identifier] = found
        left = {identifier for _, _, identifier in self._heap} - told.keys()
        inputs = sorted(self._spoken)
        return Audit(
            scope=str(self._scope),
            asked=list(roots),
            items=sorted(told.values(), key=lambda one: roots.index(one.id) if one.id in first else len(roots)),
            inputs=[self.teller.input(self._spoken[offset].item, self._spoken[offset]) for offset in inputs],
            missing=list(self._missing),
            left_off=len(left),
        )

    def _audited(self, identifier: str, bound: int) -> Audited | None:
        kind, subject, parts = parse_audit_id(identifier)
        if subject != self._scope.subject:
            return None
        if kind in ("turn", "input"):
            return self._input(identifier, parts[0], parts[1], bound)
        if kind == "summary":
            return self._summary(identifier, parts[0], bound)
        if kind == "recall":
            return self._given(identifier, parts[0], bound)
        if kind in KINDS:
            return self._derived(parts[0])
        described = self.teller.items.of(identifier)
        if described.offset < 0 and kind != "form":
            return None
        if kind == "form" and not described.title:
            return None
        offsets, left = self._offsets(described, parts)
        found = self._touching(identifier, [offset for offset in offsets if offset <= bound])
        return Audited(
            id=identifier,
            kind=described.kind,
            title=described.title,
            facts=described.facts,
            steps=[self._step(one) for one in found],
            left_off=left,
            hidden=self._hiding(described, found),
        )

    def _hiding(self, described: Described, found: Sequence[_Found]) -> HidingTold | None:
        if not described.hidden:
            return None
        turns = {turn for one in found for turn in (one.item.input.id, *one.touch.turns)}
        return self.teller.hidings.of_memory(described.offset, form_id=described.form_id, slot=described.slot, turns=turns)

    def _offsets(self, described: Described, parts: Sequence[str]) -> tuple[list[int], int]:
        """Where the inputs lie whose decisions may have touched a memory, and how many more of them there are."""
        rows, at = self.rows, described.offset
        if described.kind == "slot":
            turns = rows.evidence(parts[0], parts[1], int(parts[2]))
            later = rows.heard_of([parts[0]], after=at)
            came = self._elapsed(parts, at) if described.facts.get("reason") == "elapsed" else []
            return [at, *self._of(turns), *later[:LOOK], *came], max(len(later) - LOOK, 0)
        if described.kind == "pending":
            row = rows.pending(parts[0])
            turns = [] if row is None else [piece.turn_id for piece in _evidence(row.evidence)]
            heard = rows.heard_of([row.form_id]) if row is not None and row.form_id else []
            known = [at, *self._of(turns), *rows.answered(parts[0])]
        elif described.kind == "edge":
            ends = [str(described.facts["from_form"]), str(described.facts["to_form"])]
            heard = [*rows.heard_of(ends)]
            if described.facts.get("status") == "retired":
                heard += [offset for end in ends for offset in rows.heard_of([end], after=at)]
            known = [at]
        elif described.kind == "form":
            heard, known = rows.heard_of([parts[0]]), rows.named(parts[0])
        else:
            return [at], 0
        # A rollback ends what was made since, and says of it no more than its id.
        back = rows.commands(after=min([*known, *heard]), limit=LOOK) if known or heard else []
        return [*known, *heard[-LOOK:], *back], max(len(heard) - LOOK, 0)

    def _of(self, turns: Iterable[str]) -> list[int]:
        return [offset for places in self.rows.inputs(turns).values() for offset, _ in places]

    def _elapsed(self, parts: Sequence[str], at: int) -> list[int]:
        """The input at which a scheduled version came true: nothing names it beforehand."""
        looked = 0
        while looked < _ELAPSED and (offsets := self.rows.after(at, LOOK)):
            for item in self.records.at_all(offsets):
                for change in () if item.decision is None else item.decision.changes:
                    if (
                        isinstance(change, SlotChanged)
                        and change.reason == "elapsed"
                        and (change.form_id, change.slot, str(change.version)) == tuple(parts)
                    ):
                        return [item.stored.offset]
            at, looked = offsets[-1], looked + len(offsets)
        return []

    def _touching(self, identifier: str, offsets: Iterable[int]) -> list[_Found]:
        wanted = sorted(set(offsets))
        known = [self._spoken[offset] for offset in wanted if offset in self._spoken]
        items = self.records.at_all([offset for offset in wanted if offset not in self._spoken])
        spoken = [*known, *(self.teller.spoken(item) for item in items)]
        return [
            _Found(one.item, touch)
            for one in sorted(spoken, key=lambda one: one.item.stored.offset)
            for touch in one.touched
            if touch.id == identifier
        ]

    def _step(self, found: _Found) -> Step:
        spoken = self._tell(found.item)
        quotes = self.teller.quotes(spoken, found.touch)
        self._tell_quoted(quotes)
        self._follow(found.touch.on, found.item.stored.offset)
        return Step(
            how=found.touch.how,
            input=input_id(found.item),
            quotes=quotes,
            built_on=[BuiltOn(link.why, link.id) for link in found.touch.on],
        )

    def _tell(self, item: Recorded) -> Spoken:
        """Notes an input as one that is told."""
        offset = item.stored.offset
        if offset not in self._spoken:
            self._spoken[offset] = self.teller.spoken(item)
        return self._spoken[offset]

    def _tell_quoted(self, quotes: Iterable[QuoteTold]) -> None:
        for one in quotes:
            for offset, source in self.rows.inputs([one.turn_id]).get(one.turn_id, ()):
                if one.source in ("", source):
                    item = self.records.at(offset)
                    if item is not None:
                        self._tell(item)
                    break
            else:
                self._missing[one.turn_id] = None

    def _follow(self, links: Iterable[Link], bound: int) -> None:
        for link in links:
            self._pushed += 1  # of one bound, in the order of the links
            heapq.heappush(self._heap, (-bound, self._pushed, link.id))

    # -- what is no row ------------------------------------------------------------------------------------------------

    def _input(self, identifier: str, source: str, event_id: str, bound: int) -> Audited | None:
        """A turn is where an audit ends; a command leads to what it was about."""
        item = self.records.find(self._scope, source, event_id)
        if item is None or item.stored.offset > bound:
            return None
        spoken = self._tell(item)
        on = [] if isinstance(item.data, Turn) else self._about(item, spoken)
        self._follow(on, item.stored.offset)
        told = self.teller.input(item)
        return Audited(
            id=identifier,
            kind="turn" if isinstance(item.data, Turn) else "input",
            title=told.text or told.type,
            facts={"event_id": event_id, "source": source, "type": told.type},
            steps=[Step(how="said" if isinstance(item.data, Turn) else "asked for", input=identifier, built_on=_plain(on))],
            hidden=told.hidden,
        )

    def _derived(self, event_id: str) -> Audited | None:
        found = derived(self.records, self._scope, event_id)
        if found is None:
            return None
        audited, links = tell_derived(found, self._tell(found.item), self.teller)
        self._follow(links, found.item.stored.offset)
        return audited

    def _about(self, item: Recorded, spoken: Spoken) -> list[Link]:
        if isinstance(item.data, FeedbackGiven):
            return [Link("is about", audit_id("recall", self._scope, item.data.recall_id))]
        if isinstance(item.data, RollbackRequested) and item.data.to:
            back = self.records.find(self._scope, item.data.to_source, item.data.to)
            return [] if back is None else [Link("goes back to", input_id(back))]
        named = getattr(item.data, "turn_id", "")
        about = [Link("is about", self.bare(named))] if named else []
        return about + [
            link
            for touch in spoken.touched
            for link in (*((Link("is about", touch.id),) if touch.id.startswith("pending/") else ()), *touch.on)
        ]

    def _summary(self, identifier: str, week: str, bound: int) -> Audited | None:
        found = week_of(self.rows, week)
        if found is None:
            return None
        lines = self._lines(found)
        on = [Link("tells of", one) for number in lines for one in found.rests[number]]
        self._follow(on, bound)
        counted = found.input_ids if self._line is None else []
        offsets = self._of(counted)
        items = [item for item in self.records.at_all(offsets[:LOOK]) if isinstance(item.data, Turn)]
        steps = [Step(how="counts", input=input_id(self._tell(item).item)) for item in items]
        if on:
            # The lines lead on; what they rest on is told by itself.
            steps.append(Step(how="tells of", input="", built_on=_plain(on)))
        return Audited(
            id=identifier,
            kind="summary",
            title=week if self._line is None else found.lines[self._line - 1],
            facts={
                "week": week,
                "revision": found.revision,
                "turns": found.turns,
                "sessions": found.sessions,
                **{f"line {number + 1}": found.lines[number] for number in lines},
            },
            steps=steps,
            left_off=max(len(offsets) - LOOK, 0),
        )

    def _lines(self, found: Week) -> list[int]:
        if self._line is None:
            return list(range(len(found.lines)))
        if not 1 <= self._line <= len(found.lines):
            raise NotFound("line", str(self._line), f"week {found.week} has {len(found.lines)}")
        return [self._line - 1]

    def _given(self, identifier: str, recall_id: str, bound: int) -> Audited | None:
        view = self._recall(recall_id)
        if view is None:
            return None
        on = [Link("gave", one.id if "/" in one.id else self.bare(one.id)) for one in view.memories]
        self._follow(on, bound)
        for said in view.feedback:
            for offset, _ in self.rows.inputs([said.event_id]).get(said.event_id, ()):
                item = self.records.at(offset)
                if item is not None:
                    self._tell(item)
        return Audited(
            id=identifier,
            kind="recall",
            title=view.question,
            facts={
                "recall_id": view.recall_id,
                "recalled_at": view.recalled_at,
                "kind": view.kind,
                "agent": view.agent,
                "session": view.session,
                "profile": view.profile,
                "behind": view.behind,
                **{f"feedback {place}": f"{said.outcome} {said.note}".strip() for place, said in enumerate(view.feedback, 1)},
            },
            steps=[Step(how="given", input="", built_on=_plain(on))],
        )


def _plain(links: Iterable[Link]) -> list[BuiltOn]:
    return [BuiltOn(link.why, link.id) for link in dict.fromkeys(links)]
