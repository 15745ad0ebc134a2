"""A past moment of a memory is a dynamics offset: inputs below it count, what lies from it on had not been said. Within a
partition recorded times never go back, so that an input, a token and a recorded time all name exactly one offset."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

import sqlalchemy as sa

from ..processors.core.evolve import apply
from ..processors.core.ports import EventLog
from ..processors.core.state import ScopeState
from ..projections.reader import decided_inputs
from ..projections.store import Store
from ..schemas.clean import check_text
from ..schemas.envelope import DEFAULT_SOURCE, Position
from ..schemas.errors import InvalidInput, NotFound, UnknownLog
from ..schemas.events import DYNAMICS
from ..schemas.scope import Scope
from ..schemas.times import add_seconds, parse_time, to_text
from ..schemas.tokens import InboxToken, PositionToken, parse_token

__all__ = ["Part", "When", "position_of", "recorded_time", "state_at"]

When = str | int | float | datetime
"""A time as callers give it, an input's id, or a token."""
MICROSECOND = 1e-6


class Part(Protocol):
    """The log and the read models that a scope lies in (`face.ports.Part` is one)."""

    @property
    def number(self) -> int: ...
    @property
    def log(self) -> EventLog: ...
    @property
    def store(self) -> Store: ...


def position_of(part: Part, scope: Scope, when: When, *, field: str = "known_at", now: str | None = None) -> int:
    """The dynamics offset below which inputs count.

    when: a recorded time (a datetime, ISO 8601 text where a naive time is UTC, or seconds since 1970): what was recorded at or
    before it counts; or the id of an input, or a token that writing returned: that input counts, and all before it. A time
    before the scope's first input leaves nothing, which is no error. field: how the caller knows `when`; now: the machine's
    time (fixed form; default: the clock's).

    Raises InvalidInput for a time in the future, a token of another partition or scope, an id that inputs of several sources
    share; NotFound for an id that no input of the scope has; UnknownLog for a token of another log.
    """
    time = recorded_time(when, field)
    if time is not None:
        return _at_time(part.log, time, now or to_text(datetime.now(UTC)), field)
    text = check_text(field, when)
    if _is_token(text):
        return _at_tokens(part, scope, text.split(","), field) + 1
    return _at_input(part, scope, text, field) + 1


def recorded_time(when: When, field: str) -> str | None:
    """The time that `when` is, in the fixed form; None where it names an input. Raises InvalidInput for what can be neither."""
    if isinstance(when, str):
        try:
            return parse_time(when, field)[0]
        except InvalidInput:
            return None
    return parse_time(when, field)[0]


def state_at(part: Part, scope: Scope, offset: int) -> ScopeState:
    """The resolver's state of a scope as its inputs below a dynamics offset left it: the fold of their valid decisions."""
    state = ScopeState.empty(scope)
    # A scope's decisions keep the order of its inputs.
    for item in decided_inputs(part.log, 0, scope=scope):
        if item.offset >= offset:
            break
        apply(state, item.decision, item.input, item.data, Position(part.log.epoch, part.number, item.offset), item.hash)
    return state


def _at_time(log: EventLog, time: str, now: str, field: str) -> int:
    if time > now and time > _newest(log):
        raise InvalidInput(
            field,
            f"{time} is in the future (it is {now})",
            "give a time that has passed, or leave it out for what is known now",
        )
    return log.offset_at(DYNAMICS, add_seconds(time, MICROSECOND))


def _newest(log: EventLog) -> str:
    """When the last input was recorded: a log's times go on even where the clock was set back."""
    end = log.end(DYNAMICS)
    last = next(iter(log.read(DYNAMICS, max(end - 1, 0), 1)), None)
    return "" if last is None else last.recorded


def _is_token(text: str) -> bool:
    try:
        for one in text.split(","):
            parse_token(one)
    except InvalidInput:
        return False
    return True


def _at_tokens(part: Part, scope: Scope, texts: Sequence[str], field: str) -> int:
    """Servers give one text for inputs that may lie in several partitions; those that concern this scope count."""
    refused: list[InvalidInput] = []
    offsets: list[int] = []
    for text in texts:
        try:
            offsets.append(_at_token(part, scope, text, field))
        except InvalidInput as error:
            refused.append(error)
    if not offsets:
        raise refused[0]
    return max(offsets)


def _at_token(part: Part, scope: Scope, text: str, field: str) -> int:
    named = parse_token(text)
    if isinstance(named, InboxToken):
        if named.scope != scope:
            raise InvalidInput(field, "is a token of another scope", f"give one that writing to {scope} returned")
        position = part.log.position_of(scope, named.source, named.id)
        if position is None:
            raise NotFound("input", named.id, f"{field} names what is not on the log: wait for it, or look at its operation")
        return position.offset
    return _at_position(part, named, field)


def _at_position(part: Part, named: PositionToken, field: str) -> int:
    if named.log_id != part.log.log_id:
        raise UnknownLog(f"{field} is of log {named.log_id}, this memory's is {part.log.log_id}: open that one")
    if named.position.partition != part.number or named.position.epoch != part.log.epoch:
        raise InvalidInput(field, "is a token of another partition", "give one that writing to this scope returned")
    if named.position.offset >= part.log.end(DYNAMICS):
        raise InvalidInput(field, "names an input that is not on this log", "give the token that writing returned")
    return named.position.offset


def _at_input(part: Part, scope: Scope, event_id: str, field: str) -> int:
    """Of whichever source; those that are not decided yet are known by the default source only."""
    with part.store.reading() as (connection, t):
        mine = (t.inputs.c.scope_id == part.store.scope_number(connection, scope), t.inputs.c.event_id == event_id)
        found = connection.execute(sa.select(t.inputs.c.position, t.inputs.c.source).where(*mine)).all()
    if len(found) > 1:
        names = ", ".join(repr(row.source) for row in sorted(found, key=lambda row: row.position))
        raise InvalidInput(field, f"{event_id!r} is an input of several sources ({names})", "give the token of the one meant")
    if found:
        return int(found[0].position)
    position = part.log.position_of(scope, DEFAULT_SOURCE, event_id)
    if position is None:
        raise NotFound("input", event_id, f"{field} takes an input's id, a token that writing returned, or a time")
    return position.offset
