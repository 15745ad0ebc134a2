"""Seals in a file, to be kept where whoever can write to the database cannot; and the file of a signing key.

Invariant: a file is whole or refused; it is only ever replaced by one that holds every seal that it held.
"""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

import msgspec

from ..schemas.errors import InvalidInput, NewerVersion, UnknownLog
from .seal_chain import Place, Seal, Sealed, SigningKey

__all__ = ["SealFile", "make_key", "read_key", "read_seals", "write_seals"]

FORMAT = 1
_SHORTEST = 32
"""Bytes of a key at least."""


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    mnemolog_seals: int
    log_id: str
    epoch: int


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    seal: Seal
    hash: str
    marks: str = ""
    """Base64."""
    key: str = ""
    signature: str = ""


class _Tail(msgspec.Struct, frozen=True, kw_only=True):
    seals: int


class SealFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds."""

    name: str
    log_id: str
    epoch: int
    seals: dict[tuple[int, str], list[Sealed]]
    """By (partition, topic), in order."""

    def of(self, place: Place) -> list[Sealed]:
        """The seals of a place. Raises UnknownLog where the file is of another log, or of this one before it was copied."""
        if self.log_id != place.log_id:
            raise UnknownLog(f"the seals in {self.name} are of log {self.log_id}, this is {place.log_id}: name the right file")
        if self.epoch != place.epoch:
            raise UnknownLog(
                f"the seals in {self.name} are of epoch {self.epoch} of the log, which was copied since (epoch {place.epoch}); "
                "they speak of the topics that it was copied from"
            )
        return self.seals.get((place.partition, place.topic), [])


def write_seals(path: Path, log_id: str, epoch: int, seals: Iterable[Sealed], *, brief: bool = False) -> int:
    """Writes all seals of a log into one file, as JSON Lines, whole or not at all; returns how many. `brief`: without what
    tells single records apart, some 800 bytes a seal rather than 22 KB.

    Raises InvalidInput where the file is there and is something else, or holds a seal that is not among these: it then says
    what the database no longer does, and is the one to keep.
    """
    before = read_seals(path) if path.exists() else None
    if before is not None and (before.log_id, before.epoch) != (log_id, epoch):
        raise InvalidInput("export", f"{path} holds the seals of another log, or of another epoch", "name another file")
    missing = {item.hash for rows in before.seals.values() for item in rows} if before is not None else set[str]()
    passing = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    count = 0
    try:
        with passing.open("xb") as file:
            file.write(msgspec.json.encode(_Head(mnemolog_seals=FORMAT, log_id=log_id, epoch=epoch)) + b"\n")
            for item in seals:
                missing.discard(item.seal.hash)
                marks = "" if brief else base64.b64encode(item.marks).decode()
                line = _Line(seal=item.seal, hash=item.hash, marks=marks, key=item.key, signature=item.signature)
                file.write(msgspec.json.encode(line) + b"\n")
                count += 1
            file.write(msgspec.json.encode(_Tail(seals=count)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        if missing:
            raise InvalidInput(
                "export",
                f"{path} holds {len(missing)} seals that this memory does not have (any more)",
                f"keep it, and see `mnemolog verify --seals {path}`; or name another file",
            )
        os.replace(passing, path)
    except OSError as error:
        raise InvalidInput("export", f"{path} cannot be written: {error.strerror or error}", "name another file") from None
    finally:
        passing.unlink(missing_ok=True)
    return count


def read_seals(path: Path) -> SealFile:
    """The seals of a file. It is read whole: some 20 bytes a record. Raises InvalidInput where it is none or was cut short."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InvalidInput("seals", f"{path} cannot be read: {error.strerror or error}", "`mnemolog seal --export`") from None
    try:
        head = msgspec.json.decode(lines[0] if lines else b"", type=_Head)
    except msgspec.MsgspecError:
        raise InvalidInput("seals", f"{path} is not a file of seals", "`mnemolog seal --export` writes one") from None
    if head.mnemolog_seals > FORMAT:
        raise NewerVersion(f"{path} was written by a newer mnemolog (format {head.mnemolog_seals}): upgrade mnemolog")
    try:
        count = msgspec.json.decode(lines[-1], type=_Tail).seals
        rows = [_sealed(msgspec.json.decode(line, type=_Line)) for line in lines[1:-1]]
    except (msgspec.MsgspecError, ValueError) as error:
        raise InvalidInput("seals", f"{path} is damaged or was cut short: {error}", "take another copy of it") from None
    if count != len(rows):
        raise InvalidInput("seals", f"{path} holds {len(rows)} of {count} seals", "take another copy of it")
    found: dict[tuple[int, str], list[Sealed]] = {}
    for row in rows:
        of_place = found.setdefault((row.seal.partition, row.seal.topic), [])
        if row.seal.number != len(of_place):
            raise InvalidInput("seals", f"{path} lacks seal {len(of_place)} of {row.seal.topic}", "take another copy of it")
        of_place.append(row)
    return SealFile(name=str(path), log_id=head.log_id, epoch=head.epoch, seals=found)


def _sealed(line: _Line) -> Sealed:
    marks = base64.b64decode(line.marks, validate=True)
    return Sealed(seal=line.seal, hash=line.hash, marks=marks, key=line.key, signature=line.signature)


def make_key(path: Path) -> SigningKey:
    """A new key in a new file, which only its owner may read. Raises InvalidInput where the file is there."""
    text = secrets.token_hex(_SHORTEST)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(text + "\n")
    except OSError as error:
        raise InvalidInput("make_key", f"{path} cannot be made: {error.strerror or error}", "name a new file") from None
    return SigningKey(text.encode())


def read_key(path: Path) -> SigningKey:
    """The key in a file: all of its bytes but white space at the end."""
    try:
        secret = path.read_bytes().rstrip()
    except OSError as error:
        hint = f"make one: mnemolog seal --make-key {path}"
        raise InvalidInput("key", f"{path} cannot be read: {error.strerror or error}", hint) from None
    if len(secret) < _SHORTEST:
        raise InvalidInput(
            "key", f"{path} has {len(secret)} bytes, a key has {_SHORTEST} or more", "mnemolog seal --make-key FILE"
        )
    return SigningKey(secret)
