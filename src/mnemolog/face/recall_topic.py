"""The topic of recalls as the face uses it, the same way on every log: records lie in the order in which they were written, a
recall's id begins with its time, and so both the newest ones and one of a known id are found without an index of their own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from ..processors.core.ports import EventLog, Stored
from ..schemas.envelope import Envelope
from ..schemas.errors import Undecodable
from ..schemas.events import DYNAMICS, RECALLS, decode
from ..schemas.inputs import ErasureRequested, FeedbackGiven
from ..schemas.recalls import MemoryRecalled, recall_time
from ..schemas.scope import Scope
from ..schemas.times import add_seconds
from ..schemas.views import FeedbackView, RecallView

__all__ = ["RecallPlace", "erased_and_feedback", "find", "in_folder", "newest", "was_kept", "with_feedback"]

_log = logging.getLogger("mnemolog.recalls")

LATEST_SECONDS = 300.0
"""A record is written soon after its recall; when it is so late, it is not looked for any more."""
_BEGIN = "1970-01-01T00:00:00.000000Z"
_FIRST_WINDOW, _LARGEST_WINDOW = 256, 65_536
"""Records looked at in one step back from the end; each step is twice as large."""
_ABOUT = (b'"feedback.given"', b'"erasure.requested"')

Recalled = tuple[Envelope, MemoryRecalled]


class RecallPlace(NamedTuple):
    """Where recalls are kept. `append`: makes records durable; `log_of`: the log that holds a scope's; `drop_before`: deletes
    what was recorded before a time and says how many there were, None where the log sees to that by itself."""

    append: Callable[[Sequence[Envelope]], object]
    log_of: Callable[[str], EventLog]
    drop_before: Callable[[str], int] | None = None


def in_folder(log: EventLog) -> RecallPlace:
    """The one log of a folder, or of a process."""
    drop = getattr(log, "drop_before", None)
    return RecallPlace(partial(log.append_derived, RECALLS), lambda _: log, None if drop is None else partial(drop, RECALLS))


def newest(log: EventLog, scope: Scope, *, since: str | None, limit: int) -> list[Recalled]:
    """A scope's last recalls, newest first; `since`: from then on (fixed UTC form)."""
    first, upper, size = log.offset_at(RECALLS, since or _BEGIN), log.end(RECALLS), _FIRST_WINDOW
    found: dict[str, Recalled] = {}
    while upper > first and len(found) < limit:
        lower = max(first, upper - size)
        for envelope, data in reversed(list(_read(log, scope, lower, upper))):
            if since is None or envelope.time >= since:
                found[envelope.id] = envelope, data  # the first one of an id is the one that counts
        upper, size = lower, min(2 * size, _LARGEST_WINDOW)
    return sorted(found.values(), key=lambda item: (item[0].time, item[0].id), reverse=True)[:limit]


def find(log: EventLog, scope: Scope, identifier: str) -> Recalled | None:
    """The recall of that id in this scope."""
    time = recall_time(identifier)
    if time is None:
        return None
    latest = add_seconds(time, LATEST_SECONDS)
    start = log.offset_at(RECALLS, time)
    for record in takewhile(lambda item: item.recorded <= latest, log.read(RECALLS, start, scope=scope)):
        if identifier.encode() in record.value and (recalled := _recalled(record)) and recalled[0].id == identifier:
            return recalled
    return None


def was_kept(log: EventLog, identifier: str) -> bool:
    """Whether a recall of that id would still be on the topic: no record that is younger than it has expired."""
    time = recall_time(identifier)
    if time is None:
        return True
    oldest = next(iter(log.read(RECALLS, log.offset_at(RECALLS, _BEGIN), 1)), None)
    return oldest is not None and oldest.recorded <= time


def erased_and_feedback(log: EventLog, scope: Scope, since: str) -> tuple[str, dict[str, list[FeedbackView]]]:
    """What the scope's inputs since then say of its recalls: when everything was last hidden (empty where it was not), and the
    feedback by recall id."""
    erased = ""
    given: dict[str, list[FeedbackView]] = {}
    for record in log.read(DYNAMICS, log.offset_at(DYNAMICS, since), scope=scope):
        if not any(name in record.value for name in _ABOUT):
            continue
        try:
            envelope, data = decode(record.value)
        except Undecodable:
            continue  # the processors alarm
        if isinstance(data, ErasureRequested):
            erased = record.recorded
            given.clear()
        elif isinstance(data, FeedbackGiven):
            view = FeedbackView(
                event_id=envelope.id,
                outcome=data.outcome,
                memories=data.memories,
                note=data.note,
                actor=data.actor,
                given_at=envelope.time,
            )
            known = given.setdefault(data.recall_id, [])
            if all(item.event_id != view.event_id for item in known):
                known.append(view)
    return erased, given


def with_feedback(envelope: Envelope, data: MemoryRecalled, feedback: list[FeedbackView]) -> RecallView:
    """A recall as it is shown."""
    return RecallView(
        recall_id=envelope.id,
        recalled_at=envelope.time,
        kind=data.kind,
        question=data.question,
        scopes=data.scopes,
        agent=data.agent,
        session=data.session,
        profile=data.profile,
        memories=data.memories,
        missing=data.missing,
        tokens=data.tokens,
        behind=data.behind,
        feedback=feedback,
    )


def _read(log: EventLog, scope: Scope, lower: int, upper: int) -> Iterator[Recalled]:
    for record in takewhile(lambda item: item.offset < upper, log.read(RECALLS, lower, scope=scope)):
        recalled = _recalled(record)
        if recalled is not None:
            yield recalled


def _recalled(record: Stored) -> Recalled | None:
    """What is no recall of this scope counts for nothing."""
    try:
        envelope, data = decode(record.value)
    except Undecodable as error:
        _log.warning("%s, offset %d counts for nothing: %s", record.topic, record.offset, error)
        return None
    return (envelope, data) if isinstance(data, MemoryRecalled) and str(envelope.scope) == record.scope else None
