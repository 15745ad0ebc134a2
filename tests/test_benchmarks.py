"""The benchmarks still run, on a handful of turns: what they measure is looked at by people, not here."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("bench")


def test_made_turns_are_the_same_from_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    made_turns = importlib.import_module("turns").made_turns
    first = list(made_turns(100, subjects=3))
    assert first == list(made_turns(100, subjects=3))
    assert first[:50] == list(made_turns(50, subjects=3)), "more turns begin with the same ones"
    assert first != list(made_turns(100, subjects=3, seed=8))
    assert {turn.subject for turn in first} == {"user:0", "user:1", "user:2"}
    assert any("\u4e00" <= char <= "\u9fff" for turn in first for char in turn.content)


@pytest.mark.parametrize(("part", "sizes"), [("add", (10,)), ("replay", (20,)), ("recall", (20, 2)), ("scaling", (2,))])
def test_each_part_measures(bench: Any, tmp_path: Path, part: str, sizes: tuple[int, ...]) -> None:
    rows = getattr(bench, f"bench_{part}")(tmp_path, *sizes)
    assert rows
    for row in rows:
        assert row.value > 0
        assert row.floor is None or row.floor > 0
        assert row.name in bench.shown(row)


def test_a_rebuild_is_measured(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rebuild = importlib.import_module("rebuild")
    monkeypatch.setattr(sys, "argv", ["rebuild.py", "--changes", "2000", "--out", str(tmp_path / "rebuild.json")])
    assert rebuild.main() == 0
    written = json.loads((tmp_path / "rebuild.json").read_text("utf-8"))
    names = {row["name"] for row in written["results"]}
    assert {"read and fold", "switch, writers wait", "question, idle, p95"} <= names
    assert "2,000 change events in 500 decisions" in capsys.readouterr().out


def test_memory_is_measured_in_a_process_of_its_own(bench: Any, tmp_path: Path) -> None:
    if sys.platform == "win32":
        assert bench.bench_memory(tmp_path, 20) == []
        return
    assert all(row.value > 0 for row in bench.bench_memory(tmp_path, 20))


def test_the_report_is_json_too(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "bench_replay", lambda folder, count: [bench.Row("one", 2.0, "x", 1.0, 3.0)])
    monkeypatch.setattr(sys, "argv", ["bench.py", "--only", "replay", "--out", str(tmp_path / "out" / "bench.json")])
    assert bench.main() == 0
    written = json.loads((tmp_path / "out" / "bench.json").read_text("utf-8"))
    assert written["results"] == [
        {"name": "one", "value": 2.0, "unit": "x", "floor": 1.0, "target": 3.0, "better": "lower", "note": "", "met": True}
    ]
    assert "one" in capsys.readouterr().out


def test_sealing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    sealing = importlib.import_module("sealing")
    monkeypatch.setattr(sealing, "TURNS", 5)
    monkeypatch.setattr(sys, "argv", ["sealing.py", "--records", "3000", "--rounds", "1", "--out", str(tmp_path / "o.json")])
    assert sealing.main() == 0
    written = json.loads((tmp_path / "o.json").read_text("utf-8"))
    assert written["records"] == 3000
    assert all(seconds > 0 for seconds in written["cpu_seconds"].values())
    assert written["bytes_a_record"]["brief file"] < 2 < written["bytes_a_record"]["file"] < 25
    assert "check with brief file" in capsys.readouterr().out
