"""Do the seals fit what lies on the log? Each topic is read once beside its seals, and the first record that is not as it was
sealed is named: altered, deleted, inserted or reordered.

Invariant: a record's place and its content are looked at apart, so that one that is gone is not taken for one that was altered
though all behind it have moved up. Reads only; memory is that of one seal's records, and of a file of seals where one is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from ..processors.core.ports import EventLog, Stored
from ..schemas.errors import LogError
from .seal_chain import MARK, Place, Seal, Sealed, SigningKey, genesis, link, mark_of, offsets_of, scopes_of
from .seal_file import SealFile
from .seal_make import places_of
from .seal_name import Break, Found, Wanted, name_break
from .seal_store import SealStore, Stand

__all__ = ["Break", "SealCheck", "TopicCheck", "check_log", "merged_checks"]


class TopicCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One topic of one partition."""

    topic: str
    partition: int
    sealed: int
    """Records under seals."""
    checked: int
    """Of these, how many are as they were sealed: all, or those before the first that is not."""
    unsealed: int
    """Records behind the last seal: nothing says whether they are as they were."""
    signed: int
    """Records that a signature by the key that was given speaks for; 0 without one."""
    file: int
    """Records that the file that was given speaks for; 0 without one."""


class SealCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What looking at the seals found."""

    intact: bool
    sealed: int
    checked: int
    unsealed: int
    signed: int
    file: int
    breaks: list[Break]
    """By partition and topic: the first record that is not as it was sealed, and the first seal that is not as it was made."""
    topics: list[TopicCheck]


def check_log(
    log: EventLog,
    store: SealStore,
    partition: int,
    file: SealFile | None = None,
    key: SigningKey | None = None,
    progress: Callable[[int], None] | None = None,
) -> SealCheck:
    """Checks all sealed topics of a partition against their seals. `file`: seals that were kept elsewhere; where they say
    otherwise than the database, they are right. `key`: what signed the seals. `progress` is told how many more records were
    read. Raises UnknownLog for a file of another log."""
    found = [_Check(log, store, place, file, key, progress) for place in places_of(log, partition)]
    for check in found:
        check.run()
    return merged_checks([_of_topics([check.report for check in found], [item for check in found for item in check.breaks])])


def merged_checks(checks: Sequence[SealCheck]) -> SealCheck:
    """One of several partitions."""
    return _of_topics([item for check in checks for item in check.topics], [item for check in checks for item in check.breaks])


def _of_topics(topics: list[TopicCheck], breaks: list[Break]) -> SealCheck:
    return SealCheck(
        intact=not breaks,
        sealed=sum(item.sealed for item in topics),
        checked=sum(item.checked for item in topics),
        unsealed=sum(item.unsealed for item in topics),
        signed=sum(item.signed for item in topics),
        file=sum(item.file for item in topics),
        breaks=breaks,
        topics=topics,
    )


class _Check:
    """One topic of one partition."""

    def __init__(
        self,
        log: EventLog,
        store: SealStore,
        place: Place,
        file: SealFile | None,
        key: SigningKey | None,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._log, self._store, self._place, self._key, self._progress = log, store, place, key, progress
        self._kept = [] if file is None else file.of(place)
        self._named = "" if file is None else file.name
        self._record_break: Break | None = None
        self._seal_break: Break | None = None
        self._sealed = self._checked = self._unsealed = self._signed = self._file = 0
        self._end = 0

    @property
    def breaks(self) -> list[Break]:
        found = (self._record_break, self._seal_break)
        return sorted((item for item in found if item is not None), key=lambda item: item.offset)

    @property
    def report(self) -> TopicCheck:
        return TopicCheck(
            topic=self._place.topic,
            partition=self._place.partition,
            sealed=self._sealed,
            checked=self._checked,
            unsealed=self._unsealed,
            signed=self._signed,
            file=self._file,
        )

    def run(self) -> None:
        records = _Records(self._log, self._place.topic, self._progress)
        for sealed in self._trusted():
            seal = sealed.seal
            if self._record_break is None:
                self._compare(sealed, records)
            self._sealed += seal.records
            self._end = seal.end
            if self._key is not None and self._key.signed(sealed):
                self._signed = self._sealed
            if seal.number < len(self._kept):
                self._file = self._sealed
        if self._record_break is None:
            self._unsealed = sum(1 for _ in records.rest(self._end))
        if self._key is not None and self._sealed and not self._signed:
            self._break_seal(0, 0, f"no seal is signed with the key {self._key.id}")

    # -- seals ---------------------------------------------------------------------------------------------------------

    def _trusted(self) -> Iterator[Sealed]:
        """The seals to check records by: those of the file, then those of the database that follow on them. What is wrong with
        seals is noted on the way, and those that cannot be right are left out."""
        before: Seal | None = None
        whole = True
        for sealed in self._merged():
            problem = self._problem(sealed, before, whole)
            if problem:
                self._break_seal(sealed.seal.number, sealed.seal.first, problem)
            whole = not problem or sealed.is_whole(self._place)
            if not sealed.is_whole(self._place):
                continue
            yield sealed
            before = sealed.seal

    def _merged(self) -> Iterator[Sealed]:
        """The file's seals, with what the database keeps beside them; then the database's own. Those of the database are
        compared with the file's, and where it goes another way its own are not followed."""
        here = self._of_database()
        follow = True
        for kept in self._kept:
            there = next(here, None) if follow else None
            same = there is not None and there.seal.hash == kept.seal.hash
            if follow and not same:
                follow = False
                said = "is gone from the database" if there is None else f"is not the one in {self._named}"
                self._break_seal(kept.seal.number, kept.seal.first, said)
            yield _both(kept, there) if same and there is not None else kept
        if follow:
            yield from here

    def _of_database(self) -> Iterator[Sealed]:
        """In order, as many as are noted beside them when it begins: whoever seals meanwhile seals records that this check may
        not have in sight."""
        noted = self._store.stand(self._place) or Stand(0, "")
        expected, last = 0, ""
        for number, item in self._store.read(self._place):
            if number >= noted.number:
                break
            if number > expected:
                self._break_seal(expected, self._end, "is gone")
            expected = number + 1
            if isinstance(item, str):
                self._break_seal(number, self._end, f"cannot be read: {item}")
            elif item.seal.number != number:
                self._break_seal(number, self._end, "was altered")
            else:
                last = item.hash
                yield item
        if noted.number > expected:
            self._break_seal(expected, self._end, f"is gone: {noted.number} were made")
        elif noted != (expected, last) or not self._noted_newest():
            self._break_seal(max(expected - 1, 0), self._end, "is not the one that was noted as the last")

    def _noted_newest(self) -> bool:
        """Whether the newest seal is the one that is noted as such, however many there are by now."""
        stand, newest = self._store.newest(self._place)
        if stand is None or not isinstance(newest, Sealed):
            return stand is None and newest is None
        return stand == (newest.seal.number + 1, newest.hash)

    def _problem(self, sealed: Sealed, before: Seal | None, whole: bool) -> str:
        """What is wrong with a seal by itself, and with how it follows on the one before it; empty where nothing is."""
        seal = sealed.seal
        if not sealed.is_whole(self._place):
            return "was altered"
        if not whole or (before is not None and seal.number != before.number + 1) or (before is None and seal.number):
            return ""  # the one before it is gone or altered, which is noted
        previous, end = ("", 0) if before is None else (before.hash, before.end)
        head = genesis(self._place).hex() if before is None else before.head
        if (seal.previous, seal.first, seal.before) != (previous, end, head):
            return "does not follow on the one before it: one of the two was altered"
        if self._key is not None and sealed.key == self._key.id and not self._key.signed(sealed):
            return f"has a signature that is not of the key {self._key.id}"
        return ""

    def _break_seal(self, number: int, offset: int, problem: str) -> None:
        if self._seal_break is None:
            self._seal_break = Break(
                partition=self._place.partition,
                topic=self._place.topic,
                kind="seal",
                offset=offset,
                detail=f"seal {number} {problem}" if not problem.startswith("no seal") else problem,
            )

    # -- records -------------------------------------------------------------------------------------------------------

    def _compare(self, sealed: Sealed, records: _Records) -> None:
        seal = sealed.seal
        records.skip(seal.first)
        found: list[Found] = []
        marks = bytearray()
        head = bytes.fromhex(seal.before)
        for record in records.below(seal.end):
            mark = mark_of(record)
            head = link(head, record.offset, mark)
            marks += mark[:MARK]
            found.append(Found(record, mark[:MARK]))
        offsets = [item.record.offset for item in found]
        if head.hex() == seal.head and offsets == list(offsets_of(seal)):
            self._checked += seal.records
            return
        if not sealed.has_marks:
            self._record_break = Break(
                partition=self._place.partition,
                topic=self._place.topic,
                kind="altered",
                offset=seal.first,
                detail=f"a record from there to offset {seal.end - 1} was altered, deleted, inserted or reordered: the seals "
                "that were given do not tell records apart",
            )
            return
        scopes = scopes_of(sealed)
        wanted = [
            Wanted(offset, sealed.marks[place * MARK : (place + 1) * MARK], "" if scopes is None else scopes[place])
            for place, offset in enumerate(offsets_of(seal))
        ]
        at = next(
            (
                place
                for place, (a, b) in enumerate(zip(wanted, found, strict=False))
                if (a.offset, a.mark) != (b.record.offset, b.mark)
            ),
            min(len(wanted), len(found)),
        )
        if at == len(wanted) == len(found):
            self._break_seal(
                seal.number, seal.first, "has a head that is not that of its records: one of them, or it, was altered"
            )
            return
        self._checked += at
        self._record_break = name_break(self._log, self._place, wanted[at:], found[at:], self._later(seal.number + 1), seal.end)

    def _later(self, number: int) -> Iterator[Sealed]:
        """The seals from a number on, for counting."""
        yield from self._kept[number:]
        for _, item in self._store.read(self._place, max(number, len(self._kept))):
            if isinstance(item, Sealed) and item.is_whole(self._place):
                yield item


class _Records:
    """A topic's records in one pass; where the log cannot be read to its end, it ends there."""

    def __init__(self, log: EventLog, topic: str, progress: Callable[[int], None] | None) -> None:
        self._log, self._topic, self._progress = log, topic, progress
        self._stream: Iterator[Stored] | None = None
        self._next: Stored | None = None
        self._read = 0

    def skip(self, start: int) -> None:
        """Passes over what lies before an offset."""
        for _ in self.below(start):
            pass

    def below(self, end: int) -> Iterator[Stored]:
        """The next ones up to an offset."""
        while True:
            record = self._next if self._next is not None else self._fetch()
            self._next = None
            if record is None:
                return
            if record.offset >= end:
                self._next = record
                return
            yield record

    def rest(self, start: int) -> Iterator[Stored]:
        """All that follow from an offset on."""
        self.skip(start)
        while (record := self._next if self._next is not None else self._fetch()) is not None:
            self._next = None
            yield record

    def _fetch(self) -> Stored | None:
        if self._stream is None:
            try:
                # Some logs only find out on the first record that they were cut below it.
                self._stream = self._log.read(self._topic)
                record = next(self._stream, None)
            except LogError:
                self._stream, record = iter(()), None
        else:
            record = next(self._stream, None)
        self._read += 1
        if self._progress is not None and (record is None or self._read % 1000 == 0):
            self._progress(self._read % 1000 if record is None else 1000)
        return record


def _both(kept: Sealed, there: Sealed) -> Sealed:
    """The file's seal, with what only the database keeps."""
    return msgspec.structs.replace(
        kept,
        marks=kept.marks or there.marks,
        scopes=there.scopes,
        key=kept.key or there.key,
        signature=kept.signature or there.signature,
    )
