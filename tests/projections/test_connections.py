"""So many connections to a file are kept, however many threads read at once: each holds files and pages."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from mnemolog.adapters.logs.pool import MOST_IDLE, Pool
from mnemolog.projections.dialect import KEPT, Database


def at_once(count: int, reading: Callable[[], AbstractContextManager[object]]) -> None:
    """So many threads read at the same time."""
    inside = threading.Barrier(count)

    def read() -> None:
        with reading():
            inside.wait(30)

    threads = [threading.Thread(target=read) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("threads", [3, 40])
def test_a_log_keeps_few_connections(tmp_path: Path, threads: int) -> None:
    pool = Pool(tmp_path / "log.db", 5.0)
    at_once(threads, pool.reading)
    assert len(pool._idle) == min(threads, MOST_IDLE)
    pool.close()


@pytest.mark.parametrize("threads", [3, 40])
def test_the_read_models_keep_few_connections(tmp_path: Path, threads: int) -> None:
    database = Database(tmp_path / "memory.db")
    with database.writing():
        pass
    at_once(threads, database.reading)
    assert database.engine.pool.checkedin() == min(threads, KEPT)  # type: ignore[attr-defined]
    database.close()
