"""Writing on servers: inputs go to the inbox, and a token names them until ingest has placed them.

Invariants: what `publish` returned from is durable; what the log or this process knows with other content is refused before
anything is sent; what a token stands for is answered by what the log knows, never by a guess.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from ..adapters.kafka.client import KafkaClient, Outgoing
from ..adapters.kafka.log import PartitionLog
from ..processors.pipeline.accept import accept
from ..processors.pipeline.dead_letters import DeadLetters
from ..processors.pipeline.installation import Installation, Partition
from ..schemas.envelope import Envelope, Position, headers_of
from ..schemas.errors import ConflictingContent, InvalidInput, LogError, Undecodable, UnknownLog
from ..schemas.events import CHANGES, DEAD_LETTERS, DYNAMICS, INBOX, RECALLS, decode
from ..schemas.rejections import InputRejected
from ..schemas.scope import Scope
from ..schemas.tokens import InboxToken, inbox_token, parse_token
from .operations import Operation, decided, decision_key, waiting
from .ports import Written
from .recall_topic import RecallPlace

__all__ = ["Awaited", "Inbox"]

_REMEMBERED = 10_000
"""Inputs of this process that are remembered: what it has just written is known here before the log knows it."""
_BETWEEN = ","

Key = tuple[str, str, str]
"""(scope, source, id)."""


class _Own(NamedTuple):
    """An input that this process has published."""

    key: Key
    content: str
    time: str
    offset: int
    """In the inbox."""


class Awaited(NamedTuple):
    """An input that somebody waits for. `key`: who it is, None where its `position` is known; `end`: the inbox offset that it
    lies below."""

    partition: Partition
    key: Key | None
    position: Position | None
    end: int


class Inbox:
    """What one process writes to an installation. Thread-safe."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._lock = threading.Lock()
        self._own: OrderedDict[Key, _Own] = OrderedDict()
        self._last: dict[str, _Own] = {}

    # -- writing -------------------------------------------------------------------------------------------------------

    def publish(self, events: Sequence[Envelope], now: str) -> Written:
        """Sends what is not known yet.

        Raises InvalidInput for what ingest would refuse; ConflictingContent for an id that is known with other content (in
        both cases nothing is sent); Unavailable where the broker did not acknowledge in time: a part may be there, and the
        same call with the same ids completes it.
        """
        checked = [accept(event.to_bytes()) for event in events]
        known = self._contents([_key(event) for event in checked])
        new: dict[Key, Envelope] = {}
        for event in checked:
            key, content = _key(event), event.content_hash
            if key in new:
                known[key] = new[key].content_hash
            if key not in known:
                new[key] = event
            elif known[key] != content:
                raise ConflictingContent(*key, known[key], content)
        sent = self._installation.client.send_by_scope(
            INBOX, [Outgoing(str(event.scope), event.to_bytes(), now, headers_of(event)) for event in new.values()]
        )
        self._remember(new, [offset for _, offset in sent])
        return Written([event.id for event in checked], self._token(checked), len(new))

    def time_of(self, scope: Scope, source: str, event_id: str) -> str | None:
        """The event time of an input that is on the log, or that this process has published."""
        log = self._installation.of(scope).log
        position = log.position_of(scope, source, event_id)
        if position is not None:
            return decode(next(log.read(DYNAMICS, position.offset, 1)).value)[0].time
        with self._lock:
            own = self._own.get((str(scope), source, event_id))
        return None if own is None else own.time

    def _contents(self, keys: Sequence[Key]) -> dict[Key, str]:
        """The content hashes of those that are known."""
        with self._lock:
            found = {key: own.content for key in keys if (own := self._own.get(key)) is not None}
        by_partition: dict[int, list[Key]] = {}
        for key in keys:
            by_partition.setdefault(self._installation.number_of(key[0]), []).append(key)
        for number, mine in by_partition.items():
            with self._installation.partition(number).log.index.reading() as view:
                found |= {key: content for key, (_, content) in view.known(DYNAMICS, mine).items()}
        return found

    def _remember(self, new: Mapping[Key, Envelope], offsets: Sequence[int]) -> None:
        with self._lock:
            for (key, event), offset in zip(new.items(), offsets, strict=True):
                own = _Own(key, event.content_hash, event.time, offset)
                self._own[key] = self._last[key[0]] = own
            while len(self._own) > _REMEMBERED:
                _, forgotten = self._own.popitem(last=False)
                if self._last.get(forgotten.key[0]) is forgotten:
                    del self._last[forgotten.key[0]]

    def _token(self, events: Sequence[Envelope]) -> str:
        """Names the last input of each partition: ingest keeps their order."""
        last = {self._installation.number_of(event.scope): event for event in events}
        return _BETWEEN.join(inbox_token(event.scope, event.source, event.id) for event in last.values())

    def recalls(self) -> RecallPlace:
        """Where recalls are kept; how long is the topic's `retention.ms`."""
        return RecallPlace(partial(_record, self._installation.client), partial(_log_of, self._installation))

    # -- waiting -------------------------------------------------------------------------------------------------------

    def awaited(self, token: str) -> list[Awaited]:
        """What a token stands for. Raises InvalidInput, UnknownLog."""
        found: list[Awaited] = []
        for part in token.split(_BETWEEN):
            named = parse_token(part)
            if isinstance(named, InboxToken):
                found.append(self._awaited((str(named.scope), named.source, named.id)))
                continue
            who = self._installation.who
            if named.log_id != who.log_id:
                raise UnknownLog(f"the token is of log {named.log_id}, this installation's is {who.log_id}: open that one")
            partition = self._installation.partition(named.position.partition)
            if named.position.offset >= partition.log.end(DYNAMICS):
                raise InvalidInput("token", "names an input that is not on this log", "give the one that writing returned")
            found.append(Awaited(partition, None, named.position, 0))
        return found

    def last(self, scope: str) -> Awaited | None:
        """The last input of a scope that this process has published and that was not seen on the log yet."""
        with self._lock:
            own = self._last.get(scope)
        return None if own is None else self._awaited(own.key)

    def seen(self, awaited: Awaited) -> None:
        """It is on the log, or refused: `last` names it no more."""
        if awaited.key is None:
            return
        with self._lock:
            own = self._last.get(awaited.key[0])
            if own is not None and own.key == awaited.key:
                del self._last[awaited.key[0]]

    def position(self, awaited: Awaited) -> Position | None:
        """Where it lies; None while it is in the inbox. Raises InvalidInput where it was refused, or never was there."""
        if awaited.position is not None or awaited.key is None:
            return awaited.position
        with awaited.partition.log.index.reading() as view:
            found = view.known(DYNAMICS, [awaited.key]).get(awaited.key)
            taken = view.next_offset(INBOX)
        if found is not None:
            return Position(awaited.partition.log.epoch, awaited.partition.number, found[0])
        if taken < awaited.end:
            return None
        raise self._refused(awaited.partition, awaited.key)

    def waiting(self, scope: str, taken: int) -> int:
        """How many inputs of a scope this process has published at or behind an offset of the inbox."""
        with self._lock:
            return sum(own.key[0] == scope and own.offset >= taken for own in self._own.values())

    def _awaited(self, key: Key) -> Awaited:
        partition = self._installation.of(key[0])
        with self._lock:
            own = self._own.get(key)
        # Whoever has a token of it was told that it lies there: below the end as it is now.
        return Awaited(partition, key, None, partition.log.end(INBOX) if own is None else own.offset + 1)

    # -- what became of it ---------------------------------------------------------------------------------------------

    def operation(self, scope: Scope, source: str, event_id: str) -> Operation | None:
        """What became of an input; None where none of that id was published."""
        key = str(scope), source, event_id
        awaited = self._awaited(key)
        partition, log = awaited.partition, awaited.partition.log
        # This first: what is taken in meanwhile is known by the time it is looked for.
        with log.index.reading() as view:
            taken = view.next_offset(INBOX)
        position = log.position_of(scope, source, event_id)
        if position is None:
            if taken < awaited.end:
                return waiting(event_id, source, "in the inbox, to be taken in")
            found = self._letter(partition, key)
            if found is None:
                return None
            reason = f"{found[1].reason}: {found[1].detail} (dead letter {found[0]})"
            return Operation(id=event_id, source=source, status="failed", outcome="refused", reason=reason)
        decision = decision_key(scope, source, event_id)
        log.fold_index(CHANGES)
        with log.index.reading() as view:
            offset = view.known(CHANGES, [decision]).get(decision)
        record = None if offset is None else next(iter(log.read(CHANGES, offset[0], 1)))
        return decided(partition.store, scope, source, event_id, position.offset, record)

    def dead_letters(self) -> int:
        """Those that nobody has resolved, of all partitions."""
        letters = DeadLetters(self._installation)
        try:
            return len(letters.list("open"))
        finally:
            letters.close()

    def _refused(self, partition: Partition, key: Key) -> InvalidInput:
        """Why it is not on the log, though ingest has passed it."""
        event_id = key[2]
        found = self._letter(partition, key)
        if found is None:
            return InvalidInput("token", f"names an input {event_id!r} that this log has never had", "is it of another one?")
        number, data = found
        return InvalidInput(
            "token",
            f"names an input {event_id!r} that was refused: {data.detail}",
            f"`mnemolog dead-letters show {number}` has it as it was published",
        )

    def _letter(self, partition: Partition, key: Key) -> tuple[str, InputRejected] | None:
        """The newest dead letter that is about an input, with its id."""
        scope = key[0]
        with self._lock:
            own = self._own.get(key)
        found: tuple[str, InputRejected] | None = None
        for record in partition.log.read(DEAD_LETTERS, scope=Scope.parse(scope)):
            try:
                letter, data = decode(record.value)
            except LogError:
                continue
            if not isinstance(data, InputRejected):
                continue
            if _is_about(data, key) if own is None else data.offset == own.offset:
                found = letter.id, data
        return found


def _record(client: KafkaClient, events: Sequence[Envelope]) -> None:
    client.send_by_scope(
        RECALLS,
        [Outgoing(str(event.scope), event.to_bytes(), event.recordedtime or event.time, headers_of(event)) for event in events],
    )


def _log_of(installation: Installation, scope: str) -> PartitionLog:
    return installation.of(scope).log


def _key(event: Envelope) -> Key:
    return str(event.scope), event.source, event.id


class _Named(msgspec.Struct):
    id: str
    source: str


def _is_about(data: InputRejected, key: Key) -> bool:
    """Whether a dead letter is the input of that source and id, as far as what was published can be read."""
    try:
        named = msgspec.json.decode(b"" if data.value is None else data.value.to_bytes(), type=_Named)
    except (msgspec.DecodeError, UnicodeDecodeError, Undecodable):
        return False
    return (named.source, named.id) == key[1:]
