"""Publishes a story as an agent does: in small batches, waiting for the broker's acknowledgement of each, and again where none
came. What it tells of its progress is what the faults of a round are timed by."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence

from mnemolog.adapters.kafka.client import KafkaClient, Outgoing
from mnemolog.adapters.kafka.log import headers_of
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import Unavailable
from mnemolog.schemas.events import INBOX

__all__ = ["Teller"]

_MOST = 8
_PATIENCE = 180.0


class Teller:
    """A thread that publishes `deliveries` at about `rate` a second (0: as fast as it goes)."""

    def __init__(self, client: KafkaClient, deliveries: Sequence[Envelope], seed: int, rate: float) -> None:
        self._client, self._deliveries, self._rate = client, deliveries, rate
        self._rng = random.Random(seed)
        self._moved = threading.Condition()
        self._published = 0
        self._error: BaseException | None = None
        self.again = 0
        """Batches that were published again, since nobody knew whether they had arrived."""
        self._thread = threading.Thread(target=self._run, name="teller", daemon=True)
        self._thread.start()

    @property
    def published(self) -> int:
        return self._published

    def wait_for(self, count: int) -> None:
        """Until so many are published. Raises what went wrong."""
        deadline = time.monotonic() + _PATIENCE
        with self._moved:
            while self._published < count and self._error is None:
                if not self._moved.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"only {self._published} of {count} were published in {_PATIENCE:g} s")
        if self._error is not None:
            raise self._error

    def join(self) -> None:
        self.wait_for(len(self._deliveries))
        self._thread.join()

    def _run(self) -> None:
        try:
            begun = time.monotonic()
            while (at := self._published) < len(self._deliveries):
                batch = self._deliveries[at : at + self._rng.randint(1, _MOST)]
                self._send(batch)
                with self._moved:
                    self._published += len(batch)
                    self._moved.notify_all()
                if self._rate:
                    time.sleep(max(0.0, min(begun + self._published / self._rate - time.monotonic(), 1.0)))
        except BaseException as error:
            with self._moved:
                self._error = error
                self._moved.notify_all()

    def _send(self, batch: Sequence[Envelope]) -> None:
        deadline = time.monotonic() + _PATIENCE
        records = [Outgoing(str(event.scope), event.to_bytes(), event.time, headers_of(event)) for event in batch]
        while True:
            try:
                self._client.send_by_scope(INBOX, records)
            except Unavailable:
                if time.monotonic() > deadline:
                    raise
                self.again += 1
                time.sleep(0.1)
            else:
                return
