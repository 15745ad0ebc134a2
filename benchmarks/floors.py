"""What the same work costs at the least: the fsync of the disk, the bare decoding of the same bytes, the bare search. A figure
of ours is only worth something beside such a floor, measured in the same run, in turns with it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from mnemolog.processors.core.ports import EventLog
from mnemolog.schemas.events import CHANGES, DYNAMICS, OBSERVATIONS

__all__ = ["BareAppend", "bare_decode", "bare_search"]


class BareAppend:
    """One row with the text, one commit, one fsync: the settings of the log's own file and nothing else."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("CREATE TABLE record (offset INTEGER PRIMARY KEY, value BLOB NOT NULL)")

    def append(self, value: bytes) -> None:
        self._connection.execute("INSERT INTO record (value) VALUES (?)", (value,))

    def close(self) -> None:
        self._connection.close()


def bare_decode(log: EventLog) -> int:
    """Reads every record of the three topics that a replay reads and decodes it with orjson; returns how many inputs."""
    count = 0
    for topic in (DYNAMICS, OBSERVATIONS, CHANGES):
        for stored in log.read(topic):
            orjson.loads(stored.value)
            count += topic == DYNAMICS
    return count


def bare_search(vectors: NDArray[np.float32], query: NDArray[np.float32], limit: int = 10) -> NDArray[np.intp]:
    """The places of the nearest rows, by a plain product: what finding by meaning costs at the least without an index."""
    scores = vectors @ query
    return np.argsort(-scores)[:limit]
