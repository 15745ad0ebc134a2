"""The pipeline in threads of the test: what the workers' cores do for every partition, until it is closed.

An error of a core ends its thread and is raised by `close`, so that no test passes while the pipeline stands still; a server
that is down is waited for, as a worker does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from mnemolog.processors.core.extract import OfflineExtractor
from mnemolog.processors.core.ports import Extractor
from mnemolog.processors.pipeline.core import Core
from mnemolog.processors.pipeline.installation import Installation
from mnemolog.processors.pipeline.live_vectors import Chosen
from mnemolog.processors.pipeline.worker import KINDS, core_of
from mnemolog.schemas.errors import Closed, ModelUnavailable, Unavailable
from mnemolog.settings import Servers

__all__ = ["Running", "running"]

_WAIT = 0.1
"""Seconds of one wait for records; closing is noticed in between."""


class Running:
    """Runs `stages` of all partitions of an installation, which stays the caller's to close, after this."""

    def __init__(
        self,
        installation: Installation,
        *,
        stages: Collection[str] = KINDS,
        extractor: Extractor | None = None,
        embedder: Chosen = None,
    ) -> None:
        self._installation = installation
        self._embedder: Chosen = embedder
        self._extractor = OfflineExtractor(installation.registry) if extractor is None else extractor
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._failed: list[BaseException] = []
        self.start(*stages)

    def start(self, *stages: str) -> None:
        """More stages."""
        for stage in stages:
            make = core_of(stage, self._installation, self._extractor, self._embedder)
            for number in range(self._installation.partitions):
                thread = threading.Thread(target=self._run, args=(make, number), name=f"{stage}-{number}", daemon=True)
                thread.start()
                self._threads.append(thread)

    def close(self) -> None:
        """Ends every thread and raises what made one of them fail. May be called twice."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        failed, self._failed = self._failed, []
        if failed:
            raise failed[0]

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, make: Callable[[int], Core], number: int) -> None:
        try:
            core = make(number)
            while not self._stop.is_set():
                try:
                    core.step(_WAIT)
                except (Unavailable, ModelUnavailable):
                    self._stop.wait(_WAIT)
        except Closed as error:
            if not self._stop.is_set():
                self._failed.append(error)
        except BaseException as error:
            self._failed.append(error)


@contextmanager
def running(servers: Servers, *, extractor: Extractor | None = None, embedder: Chosen = None) -> Iterator[Installation]:
    """An installation of its own with all stages running."""
    installation = Installation(servers)
    try:
        with Running(installation, extractor=extractor, embedder=embedder):
            yield installation
    finally:
        installation.close()
