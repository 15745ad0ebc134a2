"""What every worker's core is: a partition's work, done step by step from a place of its own that survives a crash. Whoever
calls it (a Faust agent, a plain runner, a test) decides when; never what, nor from where."""

from __future__ import annotations

from typing import Protocol

__all__ = ["BATCH", "Core"]

BATCH = 256
"""Records of one step at most: one round of commits each."""


class Core(Protocol):
    """One kind of work on one partition; one thread at a time.

    Any step may raise Unavailable or ModelUnavailable: nothing is lost, the next step goes on from the durable place. Any other
    error is a fault, and ends the worker.
    """

    @property
    def topic(self) -> str:
        """The topic whose records it works through."""
        ...

    @property
    def position(self) -> int:
        """The next offset of that topic."""
        ...

    def step(self, timeout: float) -> int:
        """Works through what there is, waiting up to `timeout` seconds for the first record; returns how many records it took
        (0: it is up to date)."""
        ...
