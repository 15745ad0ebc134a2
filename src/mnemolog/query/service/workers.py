"""Where calls of the Memory run: a bounded number of threads and a bounded queue before them. What finds both full is refused
at once, so that nobody waits for ever and the process keeps answering."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["Overloaded", "Workers"]

T = TypeVar("T")


class Overloaded(Exception):
    """All threads are busy and the queue is full: try again in a moment."""


class Workers:
    """Belongs to one event loop; `close` waits for the calls that have begun."""

    def __init__(self, threads: int, queue: int) -> None:
        self._most = threads + queue
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mnemolog-http")
        self.pending = 0
        """Calls that run or wait."""

    @property
    def waiting(self) -> int:
        """Calls that wait for a thread."""
        return max(self.pending - self._threads, 0)

    @property
    def full(self) -> bool:
        """Whether the next call is refused."""
        return self.pending >= self._most

    async def run(self, call: Callable[[], T]) -> T:
        """The result of a call, made in a thread with the caller's context. Raises Overloaded where there is no room."""
        if self.full:
            raise Overloaded
        self.pending += 1
        context = contextvars.copy_context()
        future = asyncio.get_running_loop().run_in_executor(self._pool, context.run, call)
        # A client that goes away ends the waiting, not the call: its thread is taken until the call has ended.
        future.add_done_callback(self._ended)
        return await asyncio.shield(future)

    def _ended(self, future: asyncio.Future[T]) -> None:
        self.pending -= 1
        if not future.cancelled():
            future.exception()  # one that nobody waits for any more is no error of the loop

    def close(self) -> None:
        """Ends the threads once their calls have ended."""
        self._pool.shutdown(wait=True, cancel_futures=True)
