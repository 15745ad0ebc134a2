"""Imports records in batches, each line once: `read = appended + already there + rejected`. A run that was cut short, or is run
again, goes on where it stopped; one bad line costs that line alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from ..schemas.codec import derived_id
from ..schemas.envelope import DEFAULT_SOURCE, Envelope
from ..schemas.errors import ConflictingContent, InvalidInput
from ..schemas.scope import MAX_ID, Scope
from .mapping import Mapper
from .records import Bad, Place, Record
from .turns import resolve_subject, turns_of

__all__ = ["BATCH", "Defaults", "ImportReport", "Importer", "Rejected", "Sink"]

BATCH = 256
"""Turns per append: one wait for the disk for all of them."""
_BATCH_BYTES = 8 * 1024 * 1024
_WHOSE = "give the record a subject or user_id, or name one for all of them: --user NAME"
_BULKY = ("content", "metadata")


class _Appended(Protocol):
    @property
    def fresh(self) -> int: ...


class Sink(Protocol):
    """Where turns go: a Memory is one."""

    def add_events(self, events: Sequence[Envelope]) -> _Appended:
        """All or nothing; raises ConflictingContent. `fresh` of what it returns counts the new ones."""
        ...


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for a record that does not say it itself."""

    tenant: str = "default"
    subject: str | None = None
    source: str = DEFAULT_SOURCE
    """The source of the events: ids are unique within it."""
    name: str = "stdin"
    """What derived ids begin with: the file's base name, or the source."""


class Rejected(msgspec.Struct, frozen=True):
    """A record that was not taken. `line` and `message` count from 1; 0 where there is none."""

    line: int
    message: int
    field: str
    reason: str

    def __str__(self) -> str:
        where = Place(self.line, self.message).describe()
        return f"{where}: {self.reason}" if where else self.reason


class ImportReport(msgspec.Struct):
    """The sums of an import; `read` is always `appended + already_there + rejected`."""

    read: int = 0
    appended: int = 0
    already_there: int = 0
    rejected: int = 0
    rejects: list[Rejected] = []

    def balanced(self) -> bool:
        """Whether every record read is accounted for."""
        return self.read == self.appended + self.already_there + self.rejected


class _Ready(msgspec.Struct, frozen=True):
    """A record as an event. `dated`: the time in it is not just the time of this run."""

    place: Place
    event: Envelope
    dated: bool


class Importer:
    """Sends records to a sink in batches.

    time_of: the event time that an id is already recorded with, or None. It is asked only for records without a time of their
    own, once they conflict with what is there: on a second run they keep the time of the first, and so stay the same turns.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        mapper: Mapper,
        defaults: Defaults,
        now: str,
        time_of: Callable[[Scope, str, str], str | None],
        strict: bool = False,
        progress: Callable[[ImportReport], None] | None = None,
    ) -> None:
        self._sink = sink
        self._mapper = mapper
        self._defaults = defaults
        self._now = now
        self._time_of = time_of
        self._strict = strict
        self._progress = progress
        self.report = ImportReport()

    def run(self, found: Iterable[Record | Bad]) -> ImportReport:
        """Imports them all. With `strict` it stops at the first reject: what came before it is in, nothing after it is."""
        for batch in self._batches(found):
            self._send(batch)
            if self._progress is not None:
                self._progress(self.report)
            if self._strict and self.report.rejected:
                break
        done = self.report
        if self._strict and done.rejected:
            done.read = done.appended + done.already_there + done.rejected  # the rest of a batch was not looked at
        return done

    def _batches(self, found: Iterable[Record | Bad]) -> Iterator[list[_Ready]]:
        batch: list[_Ready] = []
        size = 0
        for item in found:
            self.report.read += 1
            if isinstance(item, Bad):
                self._reject(item.place, item.field, f"{item.field}: {item.reason}")
            else:
                try:
                    ready = self._ready(item)
                except InvalidInput as error:
                    self._reject(item.place, error.field, str(error))
                else:
                    batch.append(ready)
                    size += sum(len(str(ready.event.data.get(name, ""))) for name in _BULKY)
            if self._strict and self.report.rejected:
                break
            if len(batch) >= BATCH or size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
        yield batch

    def _ready(self, record: Record) -> _Ready:
        """The input event of a record. Raises InvalidInput naming the field."""
        fields = self._mapper.apply(record.fields)
        scope = self._scope(fields)
        for other, ours in (("run_id", "session"), ("agent_id", "agent")):
            value = fields.pop(other, None)
            if value is not None and ours not in fields:
                fields[ours] = value
        if fields.get("id") is None:
            fields["id"] = self._derived(scope, fields, record.place)
        event = turns_of(fields, scope, now=self._now, source=self._defaults.source)[0]
        return _Ready(record.place, event, "occurred_at" in fields)

    def _dated(self, ready: _Ready) -> _Ready:
        """With the time that the same id is recorded with, where the record says none."""
        event = ready.event
        recorded = None if ready.dated else self._time_of(event.scope, event.source, event.id)
        if recorded is not None:
            event = msgspec.structs.replace(event, time=recorded, data={**event.data, "occurred_at": recorded})
        return _Ready(ready.place, event, True)

    def _scope(self, fields: dict[str, Any]) -> Scope:
        tenant, subject = fields.pop("tenant", None), fields.pop("subject", None)
        user, agent = fields.pop("user_id", None), fields.get("agent_id")
        if subject is None and user is None:
            subject = self._defaults.subject
        if subject is None and user is None and agent is None:
            raise InvalidInput("subject", "is missing", _WHOSE)
        named = resolve_subject(subject, user, agent)
        return Scope(self._defaults.tenant if tenant is None else tenant, named)

    def _derived(self, scope: Scope, fields: Mapping[str, Any], place: Place) -> str:
        """The same id for the same place of the same file, run after run."""
        session = fields.get("session", "default")
        text = f"{self._defaults.name}#{session}#{place}"
        if len(text) <= MAX_ID:
            return text
        return derived_id(scope.tenant, scope.subject, self._defaults.name, f"{session}#{place}", "import", 0)

    def _send(self, batch: Sequence[_Ready]) -> None:
        """Appends a batch; where one of it conflicts with what is there, halves it until that one stands alone."""
        if not batch:
            return
        try:
            fresh = self._sink.add_events([ready.event for ready in batch]).fresh
        except ConflictingContent as error:
            if not all(ready.dated for ready in batch):
                self._send([self._dated(ready) for ready in batch])
            elif len(batch) == 1:
                self._reject(batch[0].place, "id", f"id: {error}")
            else:
                middle = len(batch) // 2
                self._send(batch[:middle])
                if not (self._strict and self.report.rejected):
                    self._send(batch[middle:])
            return
        self.report.appended += fresh
        self.report.already_there += len(batch) - fresh

    def _reject(self, place: Place, field: str, reason: str) -> None:
        self.report.rejected += 1
        self.report.rejects.append(Rejected(place.line, place.message, field, reason))
