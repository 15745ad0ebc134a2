"""What a service allows, and the token bucket that keeps each key to its rate. All in this process: several processes behind a
balancer each allow the rate."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

import msgspec

__all__ = ["Limits", "RateLimiter"]

_BUCKETS = 10_000
"""Keys whose buckets are remembered; one that is forgotten starts full."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes in bytes, times in seconds, rates in requests a second.

    body: of one request; body_wait: in which it has to be there; header: all header lines together; batch: messages of one
    request; rate, burst: of one key (rate 0: no limit); threads: calls at once; queue: calls that may wait for a thread;
    read_wait: the longest that a read waits for what was written before it; write_wait: the longest that `wait=true` waits.
    """

    body: int = 4 * 1024 * 1024
    body_wait: float = 30.0
    header: int = 16 * 1024
    batch: int = 500
    rate: float = 100.0
    burst: int = 200
    threads: int = 8
    queue: int = 64
    read_wait: float = 2.0
    write_wait: float = 10.0


class RateLimiter:
    """A token bucket for each name: `burst` requests at once, `rate` a second over time. Thread-safe."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, max(burst, 1), clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Takes one token; 0 where there was one, else the seconds until there is."""
        if self._rate <= 0:
            return 0.0
        with self._lock:
            now = self._clock()
            tokens, before = self._buckets.pop(name, (float(self._burst), now))
            tokens = min(self._burst, tokens + (now - before) * self._rate)
            short = tokens < 1
            self._buckets[name] = (tokens if short else tokens - 1, now)
            while len(self._buckets) > _BUCKETS:
                self._buckets.popitem(last=False)
            return (1 - tokens) / self._rate if short else 0.0
