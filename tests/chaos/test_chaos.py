"""Rounds of faults under load, on servers of their own: `make chaos ROUNDS=100 SEED=7 KIND=kill-kafka`; by default the five of
the short run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.faults import CI, FAULTS
from chaos.rounds import play
from local_services.kafka import KafkaServer, find_kafka
from local_services.lifetime import take_down, take_up
from local_services.postgres import PostgresServer, find_postgres

ROUNDS = int(os.environ.get("ROUNDS") or 0)
SEED = int(os.environ.get("SEED") or 1)
KINDS = [kind for kind in os.environ.get("KIND", "").split(",") if kind]
TURNS = int(os.environ.get("TURNS") or 0)

THREE = "lose-broker"
"""The kind that needs three brokers, of its own since one is lost for good."""


class Places:
    """Servers, taken up when they are first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._there: dict[str, tuple[KafkaServer, PostgresServer]] = {}

    def get(self, name: str, brokers: int) -> tuple[KafkaServer, PostgresServer]:
        if name not in self._there:
            folder = self._folder / name
            take_up(folder, brokers, os.getpid())
            kafka, postgres = find_kafka(folder / "kafka"), find_postgres(folder / "postgres")
            assert kafka is not None
            assert postgres is not None
            self._there[name] = kafka, postgres
        return self._there[name]

    def drop(self, name: str) -> None:
        if self._there.pop(name, None) is not None:
            take_down(self._folder / name)

    def close(self) -> None:
        for name in list(self._there):
            self.drop(name)


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    there = Places(tmp_path)
    yield there
    there.close()


def rounds() -> list[tuple[str, int]]:
    """(kind, seed) of each round."""
    if not ROUNDS and not KINDS:
        return [(kind, SEED + number) for number, kind in enumerate(CI)]
    kinds = KINDS or list(FAULTS)
    return [(kinds[number % len(kinds)], SEED + number) for number in range(ROUNDS or len(kinds))]


def test_rounds(places: Places, tmp_path: Path) -> None:
    long = bool(ROUNDS or KINDS)
    failed: list[str] = []
    for number, (kind, seed) in enumerate(rounds(), 1):
        name = f"three-{number}" if kind == THREE else "one"
        kafka, postgres = places.get(name, 3 if kind == THREE else 1)
        folder = tmp_path / f"round-{number}"
        folder.mkdir()
        begun = time.monotonic()
        happened, wrong = play(
            kind,
            seed,
            FAULTS[kind],
            kafka,
            postgres,
            folder,
            turns=TURNS or (300 if long else 120),
            rate=100.0,
            outage=60.0 if long else 5.0,
        )
        head = f"round {number}: {kind}, seed {seed}, {time.monotonic() - begun:.1f} s: {'FAILED' if wrong else 'holds'}"
        lines = [head, *(f"    {line}" for line in happened), *(f"    WRONG: {line}" for line in wrong)]
        print("\n".join(lines), flush=True)
        if wrong:
            failed.append("\n".join(lines))
        if kind == THREE:
            places.drop(name)
    assert not failed, "\n".join(failed)
