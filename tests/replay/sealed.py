"""A log whose records a test can put anywhere, and the seals over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.processors.core.ports import EventLog, Stored
from mnemolog.projections.dialect import Database
from mnemolog.replay.seal_chain import Place, Sealed, SigningKey
from mnemolog.replay.seal_check import SealCheck, check_log
from mnemolog.replay.seal_file import SealFile
from mnemolog.replay.seal_make import SealedTopic, seal_log
from mnemolog.replay.seal_store import SealStore
from mnemolog.schemas.events import DYNAMICS
from mnemolog.schemas.scope import Scope
from support.events import START

__all__ = ["DoctoredLog", "at_once", "checked", "new_store", "plain", "sealed"]

NOW = "2026-06-01T00:00:00.000000Z"


class DoctoredLog(MemoryLog):
    """Holds what it is given, at the offsets that it is given, whatever a log would do."""

    def __init__(self, records: Sequence[Stored] = ()) -> None:
        super().__init__()
        self.hold(records)

    def hold(self, records: Sequence[Stored]) -> None:
        """These, and no others."""
        for held in self._records.values():
            held.clear()
        for record in records:
            self._records[record.topic].append(record)

    def held(self, topic: str = DYNAMICS) -> list[Stored]:
        return list(self._records[topic])

    def read(
        self, topic: str, start: int = 0, limit: int | None = None, *, partition: int = 0, scope: Scope | None = None
    ) -> Iterator[Stored]:
        assert limit is None
        assert scope is None
        return iter([record for record in self._records[topic] if record.offset >= start])

    def end(self, topic: str, *, partition: int = 0) -> int:
        return self._records[topic][-1].offset + 1 if self._records[topic] else 0


def plain(offset: int, content: str, topic: str = DYNAMICS, scope: str = "acme/user:1") -> Stored:
    """A record that nobody has to be able to read."""
    return Stored(topic, 0, offset, scope, content.encode(), START)


_DATABASES = [Database(":memory:"), Database(":memory:")]


def new_store(number: int = 0) -> SealStore:
    """An empty one, in a database that all examples of a property share: to make its statements takes longer than to run them.
    Two may be used at a time."""
    database = _DATABASES[number]
    with database.writing() as connection:
        for name in database.table_names(connection):
            connection.exec_driver_sql(f"DELETE FROM {name}")  # noqa: S608 - a name of ours
    return SealStore(database)


def sealed(log: EventLog, store: SealStore, key: SigningKey | None = None, block: int = 1000) -> list[SealedTopic]:
    return seal_log(log, store, 0, lambda: NOW, key, block=block)


def checked(log: EventLog, store: SealStore, file: SealFile | None = None, key: SigningKey | None = None) -> SealCheck:
    return check_log(log, store, 0, file, key)


def at_once(log: EventLog, block: int = 1000) -> str:
    """The head of dynamics, were all of it sealed in one go."""
    store = new_store(1)
    sealed(log, store, block=block)
    return head(log, store)


def head(log: EventLog, store: SealStore) -> str:
    """The head of the last seal of dynamics."""
    _, last = store.newest(Place(log.log_id, log.epoch, 0, DYNAMICS))
    assert isinstance(last, Sealed)
    return last.seal.head
