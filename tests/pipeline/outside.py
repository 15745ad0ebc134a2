"""A client of another family than ours, as an outside program has it: librdkafka, plain JSON, no code of mnemolog's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Producer

__all__ = ["Outside", "plain_turn"]

TIME = "2026-03-02T09:30:00.000000Z"


def plain_turn(event_id: str, content: str, subject: str = "user:1", tenant: str = "acme", **changes: Any) -> dict[str, Any]:
    """A turn as the how-to page shows it."""
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": event_id,
        "source": "order-service",
        "type": "turn.recorded",
        "tenant": tenant,
        "subject": subject,
        "time": TIME,
        "dataschema": "urn:mnemolog:turn.recorded:2",
        "data": {"content": content, "occurred_at": TIME},
    }
    return {**event, **changes}


class Outside:
    """Publishes to the inbox of an installation."""

    def __init__(self, bootstrap: str, prefix: str, **settings: Any) -> None:
        self._topic = f"{prefix}memory.inbox.v1"
        given = {"partitioner": "murmur2_random", "acks": "all", "enable.idempotence": True, "message.max.bytes": 16_000_000}
        self._producer = Producer({"bootstrap.servers": bootstrap, **given, **settings})
        if "transactional.id" in settings:
            self._producer.init_transactions(30)

    @contextmanager
    def commit(self) -> Iterator[None]:
        """What is published inside is there at the end."""
        self._producer.begin_transaction()
        yield
        self._producer.commit_transaction(30)

    @contextmanager
    def abort(self) -> Iterator[None]:
        """What is published inside is never there."""
        self._producer.begin_transaction()
        yield
        self._producer.abort_transaction(30)

    def turn(self, event: dict[str, Any], **to: Any) -> tuple[int, int]:
        """Under the key that the page names."""
        return self.raw(f"{event['tenant']}/{event['subject']}".encode(), json.dumps(event).encode(), **to)

    def raw(self, key: bytes | None, value: bytes | None, **to: Any) -> tuple[int, int]:
        """Returns partition and offset once the broker has it."""
        placed: list[tuple[int, int]] = []

        def done(error: object, message: Any) -> None:
            assert error is None, error
            placed.append((message.partition(), message.offset()))

        self._producer.produce(self._topic, value=value, key=key, on_delivery=done, **to)
        assert self._producer.flush(30) == 0
        return placed[0]
