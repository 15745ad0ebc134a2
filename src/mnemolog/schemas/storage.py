"""What SQLite says, as an error of ours. The log and the read models lie in one file and are opened by different modules: both
ask here, so that the same fault has the same name and the same advice wherever it is met."""

from __future__ import annotations

import re

from .errors import Busy, FolderError, LogError, MnemologError, NotOurs, ReadOnly

__all__ = ["storage_error"]

_READ_MODEL = re.compile(r"no such table: (main\.)?rm_[a-z_]+_\d+\b")
"""One of a version, which is made of the log."""
_DAMAGED = ("malformed", "unsupported file format", "no such table", "no such column")


def storage_error(where: str, text: str, waited: float) -> MnemologError:
    """The error for SQLite's message `text` about the file `where`, which others may have kept locked for `waited` seconds."""
    if "locked" in text:
        return Busy(f"{where} was kept locked for more than {waited:g} s by another writer: try again later")
    if "readonly" in text:
        return ReadOnly(f"{where} cannot be written ({text}): give write permission to it and its folder")
    if "unable to open" in text:
        return ReadOnly(f"{where} cannot be opened or made: its folder must be there, with write permission")
    if "not a database" in text:
        return NotOurs(f"{where} is not a mnemolog log ({text}): choose another path, or put a backup in its place")
    if "full" in text:
        return FolderError(f"{where} cannot grow ({text}): free some disk space; nothing was half written")
    if "disk I/O" in text:
        return FolderError(
            f"{where} cannot be read or written ({text}): look after the disk and its free space, then try again"
        )
    if _READ_MODEL.search(text):
        return LogError(f"{where} is damaged ({text}): `mnemolog rebuild` makes the read models anew from the log")
    if any(sign in text for sign in _DAMAGED):
        return LogError(f"{where} is damaged ({text}): nothing was changed; put a backup of the folder in its place")
    return LogError(f"{where}: {text}")
