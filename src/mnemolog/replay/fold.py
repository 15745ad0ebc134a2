"""Folding a log into an empty set of tables, and keeping count on the way of what is wrong with the log itself: an input
without a decision (the chain broke there), a decision without its input, a record that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from ..processors.core.ports import EventLog
from ..projections.projector import DecidedInput, Projector
from ..projections.reader import MissingInput, decided_inputs, records
from ..schemas.errors import NewerVersion, Undecodable
from ..schemas.events import DYNAMICS, decode
from ..schemas.scope import Scope
from .states import NoStates, StateFolder

__all__ = ["Fold", "Problem"]

BATCH = 500
"""Decided inputs per write; other writers of the same database get their turn in between."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is wrong with the log itself."""

    scope: str
    kind: str
    """undecided: an input below the cursor has no valid decision, so its scope's chain broke there | missing: a decision whose
    input is gone | undecodable: a record that cannot be read | drift: today's policy would decide otherwise | unfoldable: the
    log was altered so that it cannot be folded at all | ahead: the place in the log that is noted beside the rows lies behind
    its end | behind: it lies before what is decided | dropped: tables are gone | index: what the log notes of its own records
    is not what they say"""
    input_id: str
    offset: int
    """On dynamics; -1 where it is not known."""
    detail: str = ""


class Fold:
    """One run through a log, from its beginning, into the tables that `projector` writes.

    `seen` is called with every batch after it is written. Memory stays flat but for one byte per input.
    """

    def __init__(
        self,
        log: EventLog,
        projector: Projector,
        states: StateFolder | NoStates,
        *,
        scope: Scope | None = None,
        seen: Callable[[Sequence[DecidedInput]], None] | None = None,
    ) -> None:
        self._log = log
        self._projector = projector
        self._states = states
        self._scope = scope
        self._seen = seen
        self._heads: dict[str, str] = {}
        self._decided = bytearray()
        self._checked = 0
        self._first: dict[str, Problem] = {}
        self._stands: dict[str, Problem] = {}
        self.next_changes = 0
        self.inputs = 0
        self.last_decided = -1
        """The highest dynamics offset of an input that was decided."""
        self.parked = 0
        """Inputs that wait for a scope that stands still."""

    def resume(self, next_changes: int, heads: Mapping[str, str], decided: Iterable[int]) -> None:
        """Goes on where an earlier fold stood: the offset of the changes topic, the scopes' heads there, and the dynamics
        offsets of the inputs whose decisions lie before it."""
        self.next_changes, self._heads = next_changes, dict(heads)
        for offset in decided:
            self._mark(offset)
            self.inputs += 1

    @property
    def problems(self) -> list[Problem]:
        """The first problem of each scope, by scope."""
        first = {**self._stands, **self._first}
        return [first[scope] for scope in sorted(first)]

    @property
    def losses(self) -> list[Problem]:
        """Those of them by which rows would be lost that stood in the live tables: without what a scope stands still at because
        it cannot be read, and has no decision."""
        return [self._first[scope] for scope in sorted(self._first)]

    def advance(self, end_changes: int) -> None:
        """Folds the decisions below `end_changes`, in batches of one transaction each."""
        items = self.read(end_changes)
        while batch := list(islice(items, BATCH)):
            self._projector.apply(
                batch,
                states=self._states.fold(batch),
                next_changes=batch[-1].changes_offset + 1,
                applied_input=max([item.offset for item in batch]) + 1,
            )
            self.note(batch)
        self.next_changes = end_changes

    def read(self, end_changes: int) -> Iterator[DecidedInput]:
        """The decisions from where the fold stands up to `end_changes`."""
        return decided_inputs(
            self._log,
            self.next_changes,
            end_changes,
            scope=self._scope,
            heads=lambda: self._heads,
            on_broken=self._broken,
        )

    def note(self, batch: Sequence[DecidedInput]) -> None:
        """Counts a batch that was written."""
        for item in batch:
            self._mark(item.offset)
            self.last_decided = max(self.last_decided, item.offset)
        self.inputs += len(batch)
        if self._seen is not None and batch:
            self._seen(batch)

    def look_for_undecided(self, end: int, parked: Mapping[str, int] | None = None) -> None:
        """Every input below dynamics offset `end` has a decision, unless it repeats an earlier record, or its scope stands
        still (`parked`: at which offset) and it waits there."""
        waits = {} if parked is None else parked
        for record in records(self._log, DYNAMICS, self._checked, end, scope=self._scope):
            if record.offset < len(self._decided) and self._decided[record.offset]:
                continue
            try:
                envelope, _ = decode(record.value)
            except NewerVersion as error:
                # Where its scope waits for a newer mnemolog, nothing is wrong with the log.
                if record.offset >= waits.get(record.scope, end):
                    self.parked += 1
                else:
                    self._add(record.scope, "undecodable", "", record.offset, str(error))
                continue
            except Undecodable as error:
                known = self._stands if record.offset >= waits.get(record.scope, end) else self._first
                self._add(record.scope, "undecodable", "", record.offset, str(error), known)
                continue
            first = self._log.position_of(envelope.scope, envelope.source, envelope.id)
            if record.offset >= waits.get(record.scope, end):
                self.parked += 1
            elif first is None or first.offset == record.offset:
                self._add(
                    record.scope, "undecided", envelope.id, record.offset, "no valid decision for this input is on the log"
                )
        self._checked = max(self._checked, end)

    def _mark(self, offset: int) -> None:
        if offset >= len(self._decided):
            self._decided.extend(bytes(offset + BATCH - len(self._decided)))
        self._decided[offset] = 1

    def _broken(self, scope: str, error: Undecodable) -> None:
        if isinstance(error, MissingInput):
            self._add(scope, "missing", error.input_id, error.offset, str(error))
        else:
            self._add(scope, "undecodable", "", -1, str(error))

    def _add(
        self, scope: str, kind: str, input_id: str, offset: int, detail: str, known: dict[str, Problem] | None = None
    ) -> None:
        problem = Problem(scope=scope, kind=kind, input_id=input_id, offset=offset, detail=detail)
        first = self._first if known is None else known
        if scope not in first or offset < first[scope].offset:
            first[scope] = problem
