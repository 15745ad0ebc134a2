"""The measurements on servers still run, on a handful of turns; those that start worker processes are left to `make
bench-servers ARGS=--quick`."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.services import Services

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


def module(monkeypatch: pytest.MonkeyPatch, name: str) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


def check(bench: Any, rows: Iterable[Any]) -> list[str]:
    """Each figure is one, and is shown; returns their names."""
    names = []
    for row in rows:
        assert row.value > 0
        assert row.floor is None or row.floor > 0
        assert row.name in bench.shown(row)
        names.append(row.name)
    return names


def test_reading_back_is_measured(monkeypatch: pytest.MonkeyPatch, services: Services) -> None:
    reading, bench = module(monkeypatch, "reading"), module(monkeypatch, "bench")
    names = check(bench, reading.bench_rebuild(services.kafka, services.database, turns=30, rounds=1))
    assert names[0] == "rebuild, read and fold from Kafka"


def test_what_a_long_history_costs_is_measured(monkeypatch: pytest.MonkeyPatch, services: Services) -> None:
    growth, bench = module(monkeypatch, "growth"), module(monkeypatch, "bench")
    names = check(bench, growth.bench_history(services.kafka, services.database, changes=200))
    assert "resolver starts with its state, one turn" in names


def test_every_part_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = module(monkeypatch, "on_servers")
    assert tuple(pipeline.parts(1000)) == pipeline.PARTS
