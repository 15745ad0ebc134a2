"""Whether the database has room for another version of the tables, asked before a rebuild begins, and what is said where the
disk is full on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..projections.store import Store
from ..schemas.errors import FolderError, MnemologError, Unavailable

__all__ = ["check_room", "needed_bytes", "told_when_full"]

MARGIN, LEAST = 1.2, 16 * 1024 * 1024
"""Room beyond what the live tables take: for the log of the writes, and for what comes in meanwhile."""

_FULL = ("cannot grow", "No space left", "disk is full")


def needed_bytes(store: Store, live: int, building: int | None = None) -> int | None:
    """What a copy of the live tables will take beyond what is there of it already; None where the database cannot tell."""
    size = store.version_bytes(live)
    if size is None:
        size = store.used_bytes()  # of the whole file: more than that it cannot be
    if size is None:
        return None
    there = 0 if building is None else store.version_bytes(building) or 0
    return max(int(size * MARGIN) + LEAST - there, LEAST)


def check_room(store: Store, needed: int | None) -> None:
    """Raises FolderError where it will not fit. A server does not tell how much room it has."""
    free = store.free_bytes()
    if needed is not None and free is not None and needed > free:
        raise FolderError(
            f"{store.path} has room for {_mib(free)} more, and another version of the tables needs about {_mib(needed)}: "
            "nothing was begun; free some disk space, or drop a version that is kept (`mnemolog versions` lists them)"
        )


@contextmanager
def told_when_full(version: int) -> Iterator[None]:
    """Says what to do where the disk is full in the middle: what answers is untouched, and what was written is gone on with."""
    try:
        yield
    except (FolderError, Unavailable) as error:
        if not any(sign in str(error) for sign in _FULL):
            raise
        raise _full(version, error) from error


def _full(version: int, error: MnemologError) -> FolderError:
    return FolderError(
        f"{error} The rebuild has ended; the tables that answer are untouched. Version {version} is half built: make room and "
        f"rebuild again, it goes on from there, or give its room back with `mnemolog versions drop {version}`"
    )


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
