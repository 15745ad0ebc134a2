"""No query that names its scope reads a whole table on PostgreSQL, nor does any write. `benchmarks/explain.py` asks the same of
a million rows."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from replay.places import place_of

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def test_every_query_has_its_index(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    benchmark = importlib.import_module("explain")
    with place_of(request, "postgres", tmp_path) as place, place.open() as store:
        items = benchmark.told(tmp_path / "memory", store)
        sizes = benchmark.fill(store, 40_000)
        assert sum(sizes.values()) >= 40_000
        plans = benchmark.explained(store, items, sizes)
    assert len(plans) > 200
    assert [(plan.asked, plan.whole) for plan in plans if plan.whole and plan.asked not in benchmark.EVERYTHING] == []
    indexes = {name for plan in plans for name in plan.indexes}
    assert {
        "rm_slots_1_key",
        "rm_versions_1_key",
        "rm_evidence_1_key",
        "rm_turns_1_scope_id_session_position_digest",
    } <= indexes
