"""What a seal is: the fingerprint of a run of one topic's stored records, linked to the seal before it.

Invariant: `head` runs on record by record, each in offset order, so that it says the same wherever one seal ends and the next
begins; a seal's own hash covers all that it says, and the hash of the seal before it.
"""

from __future__ import annotations

import hmac
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

import msgspec

from ..processors.core.ports import Stored
from ..schemas.codec import canonical, sha256_hex
from ..schemas.events import CHANGES, DEAD_LETTERS, DYNAMICS, OBSERVATIONS, SUMMARIES

__all__ = [
    "BLOCK",
    "MARK",
    "SEALED",
    "Place",
    "Seal",
    "Sealed",
    "SigningKey",
    "genesis",
    "link",
    "make_seal",
    "mark_of",
    "offsets_of",
    "scopes_of",
]

SEALED = (DYNAMICS, OBSERVATIONS, CHANGES, SUMMARIES, DEAD_LETTERS)
"""The topics that are kept for ever. The first four are what everything is rebuilt from; a dead letter is the only trace of
what was refused. The inbox expires by itself and recalls may be pruned: their seals would break without anybody's fault."""

BLOCK = 1000
"""Records of a seal at most."""
MARK = 16
"""Bytes kept of each record's hash, to tell which record of a seal it is; `head` rests on all 32 bytes of it."""

_FORMAT = "mnemolog seal 1"


class Place(NamedTuple):
    """Which records: one topic of one partition, in one epoch of one log."""

    log_id: str
    epoch: int
    partition: int
    topic: str


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """What is signed and linked. All hashes are SHA-256 in hexadecimal."""

    log_id: str
    epoch: int
    partition: int
    topic: str
    number: int
    """Of the place's seals, from 0."""
    first: int
    """The offset from which on it speaks: where the seal before it ended."""
    end: int
    """One more than the offset of its last record."""
    runs: list[tuple[int, int]]
    """(offset, count) of its records, in order; more than one run where the topic has gaps."""
    before: str
    """The head of all records before it."""
    head: str
    """`before`, taken on over each of its records: SHA-256(head, offset as 8 bytes, SHA-256 of the record)."""
    marks: str
    """The hash of its records' marks, one after the other."""
    scopes: str
    """The hash of what `scopes_of` reads."""
    sealed_at: str
    previous: str
    """The hash of the seal before it; empty where it is the first."""

    @property
    def place(self) -> Place:
        return Place(self.log_id, self.epoch, self.partition, self.topic)

    @property
    def records(self) -> int:
        return sum(count for _, count in self.runs)

    @property
    def hash(self) -> str:
        return sha256_hex(canonical(self))


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """A seal with what is kept beside it."""

    seal: Seal
    hash: str
    """Its own, as kept."""
    marks: bytes = b""
    """MARK bytes a record; empty where only the head was kept."""
    scopes: bytes = b""
    """Whose the records are; empty where that was not kept."""
    key: str = ""
    """Which key signed it; empty where none did."""
    signature: str = ""

    @property
    def has_marks(self) -> bool:
        return bool(self.marks) or not self.seal.runs

    def is_whole(self, place: Place) -> bool:
        """Whether it is of that place and, with what is kept beside it, what its own hash says."""
        seal = self.seal
        return (
            self.hash == seal.hash
            and seal.place == place
            and (not self.marks or (len(self.marks) == MARK * seal.records and sha256_hex(self.marks) == seal.marks))
            and (not self.scopes or sha256_hex(self.scopes) == seal.scopes)
        )


class SigningKey:
    """A secret that signs seals: HMAC-SHA256 over a seal's hash. Who has it can check and could forge; who can only write to
    the database can do neither."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self.id = self._hmac("which key")[:16]
        """Names the key without telling it."""

    def sign(self, sealed: Sealed) -> Sealed:
        """The same, signed."""
        return msgspec.structs.replace(sealed, key=self.id, signature=self._hmac(sealed.seal.hash))

    def signed(self, sealed: Sealed) -> bool:
        """Whether this key signed just that."""
        return sealed.key == self.id and hmac.compare_digest(sealed.signature, self._hmac(sealed.seal.hash))

    def _hmac(self, text: str) -> str:
        return hmac.new(self._secret, f"{_FORMAT}\n{text}".encode(), sha256).hexdigest()


def genesis(place: Place) -> bytes:
    """The head before the first record."""
    return sha256(canonical([_FORMAT, *place])).digest()


def mark_of(record: Stored) -> bytes:
    """The whole hash (32 bytes) of a record as stored: its key, its recorded time and its bytes, wherever it lies. The lengths
    come first, so that nothing can move from one to the other."""
    scope = record.scope.encode("utf-8", "surrogatepass")
    recorded = record.recorded.encode("utf-8", "surrogatepass")
    return sha256(b"%d %d\n%b%b%b" % (len(scope), len(recorded), scope, recorded, record.value)).digest()


def link(head: bytes, offset: int, mark: bytes) -> bytes:
    """The head after one more record."""
    return sha256(head + offset.to_bytes(8, "big") + mark).digest()


def make_seal(place: Place, before: Seal | None, records: Sequence[Stored], sealed_at: str) -> Sealed:
    """The seal that follows `before` over these records, which follow on its own."""
    head = started = genesis(place) if before is None else bytes.fromhex(before.head)
    marks = bytearray()
    for record in records:
        mark = mark_of(record)
        head = link(head, record.offset, mark)
        marks += mark[:MARK]
    scopes = _packed([record.scope for record in records])
    seal = Seal(
        log_id=place.log_id,
        epoch=place.epoch,
        partition=place.partition,
        topic=place.topic,
        number=0 if before is None else before.number + 1,
        first=0 if before is None else before.end,
        end=records[-1].offset + 1,
        runs=_runs([record.offset for record in records]),
        before=started.hex(),
        head=head.hex(),
        marks=sha256_hex(bytes(marks)),
        scopes=sha256_hex(scopes),
        sealed_at=sealed_at,
        previous="" if before is None else before.hash,
    )
    return Sealed(seal=seal, hash=seal.hash, marks=bytes(marks), scopes=scopes)


def offsets_of(seal: Seal) -> Iterator[int]:
    """The offset of each of its records."""
    for first, count in seal.runs:
        yield from range(first, first + count)


def scopes_of(sealed: Sealed) -> list[str] | None:
    """The scope of each of its records; None where that was not kept."""
    if not sealed.scopes:
        return None
    names, places = msgspec.msgpack.decode(zlib.decompress(sealed.scopes), type=tuple[list[str], list[int]])
    return [names[place] for place in places]


def _packed(scopes: Sequence[str]) -> bytes:
    names = {name: place for place, name in enumerate(dict.fromkeys(scopes))}
    plain = [name.encode("utf-8", "replace").decode() for name in names]
    return zlib.compress(msgspec.msgpack.encode((plain, [names[scope] for scope in scopes])), 1)


def _runs(offsets: Sequence[int]) -> list[tuple[int, int]]:
    first, last = offsets[0], offsets[-1]
    if last - first + 1 == len(offsets):
        return [(first, len(offsets))]
    runs = [(first, 1)]
    for before, offset in pairwise(offsets):
        if offset == before + 1:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((offset, 1))
    return runs
