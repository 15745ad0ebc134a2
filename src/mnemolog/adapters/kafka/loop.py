"""One event loop in a thread of its own, and blocking calls into it: the engine is synchronous, Kafka's client is not.

Invariant: after `close` nothing runs on the loop, and every call that was waiting has raised Closed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from ...schemas.errors import Closed

__all__ = ["LoopThread"]

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for any number of threads."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._closed = False
        self._lock = threading.Lock()
        self._calls: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`; raises what it raised, Closed when the loop ends first."""
        with self._lock:
            if self._closed:
                work.close()
                raise Closed("the connection to Kafka was closed: open the log again")
            future = asyncio.run_coroutine_threadsafe(self._tracked(work), self._loop)
        try:
            return future.result()
        except CancelledError:
            raise Closed("the connection to Kafka was closed meanwhile") from None

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Cancels all that runs, then runs `last`, then ends. May be called twice; the second time `last` is not run."""
        with self._lock:
            if self._closed:
                last.close()
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._cancel(), self._loop).result()
        try:
            asyncio.run_coroutine_threadsafe(last, self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _tracked(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        if task is None:  # pragma: no cover - a coroutine always runs in a task here
            raise RuntimeError("not in a task")
        self._calls.add(task)
        try:
            return await work
        finally:
            self._calls.discard(task)

    async def _cancel(self) -> None:
        """The calls that wait; the client's own tasks are its own to end."""
        calls = list(self._calls)
        for task in calls:
            task.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
