"""The recalls that an audit asks for: one by its id, and those that gave some memories. What a scope was asked before
everything in it was hidden is told no more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from ..processors.core.ports import EventLog
from ..schemas.envelope import Envelope
from ..schemas.errors import Undecodable
from ..schemas.events import RECALLS, decode
from ..schemas.recalls import MemoryRecalled
from ..schemas.scope import Scope
from ..schemas.views import RecallView
from .recall_topic import erased_and_feedback, find, with_feedback

__all__ = ["recall_of", "recalls_of"]


def recall_of(log: EventLog, scope: Scope, identifier: str, has: Callable[[str], bool]) -> RecallView | None:
    """The recall of that id in a scope."""
    found = find(log, scope, identifier)
    if found is None or not all(map(has, found[1].scopes)):
        return None
    erased, given = erased_and_feedback(log, scope, found[0].time)
    return with_feedback(*found, given.get(identifier, [])) if found[0].time > erased else None


def recalls_of(
    logs: Sequence[EventLog], scope: Scope, since: str, memories: Collection[str], has: Callable[[str], bool]
) -> list[RecallView]:
    """The recalls since a recorded time that read the scope and gave one of these memories (a line of a context names the turn
    it rests on by its plain id), whoever asked, oldest first."""
    named = msgspec.json.encode(str(scope))
    found: dict[str, tuple[EventLog, Envelope, MemoryRecalled]] = {}
    for log in logs:
        for record in log.read(RECALLS, log.offset_at(RECALLS, since)):
            if named not in record.value:
                continue
            try:
                envelope, data = decode(record.value)
            except Undecodable:
                continue
            if (
                isinstance(data, MemoryRecalled)
                and str(scope) in data.scopes
                and all(map(has, data.scopes))
                and any(one.id in memories for one in data.memories)
            ):
                found.setdefault(envelope.id, (log, envelope, data))
    views: list[RecallView] = []
    for log, envelope, data in sorted(found.values(), key=lambda one: (one[1].time, one[1].id)):
        erased, given = erased_and_feedback(log, envelope.scope, envelope.time)
        if envelope.time > erased:
            views.append(with_feedback(envelope, data, given.get(envelope.id, [])))
    return views
