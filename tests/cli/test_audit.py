"""`mnemolog audit`: a tree that folds to the terminal, JSON, and what was said never obeyed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemolog.cli.codes import Exit
from mnemolog.cli.main import main
from mnemolog.cli.terminal import width


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MNEMOLOG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "60")
    for event_id, text in (("a", "I live in Rome."), ("b", "I moved to Oslo because of the \x1b[31mwork\x1b[2J.")):
        assert main(["add", "--user", "1", "--id", event_id, text]) == Exit.OK
    return tmp_path / "home"


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = Exit.OK) -> str:
    capsys.readouterr()
    assert main([*arguments]) == code
    printed = capsys.readouterr()
    return printed.out if code == Exit.OK else printed.err


def form_of(capsys: pytest.CaptureFixture[str]) -> str:
    found: str = json.loads(run(capsys, "forms", "--user", "1", "--json"))[0]["form_id"]
    return found


def test_why_is_a_tree_that_folds_and_obeys_nothing_that_was_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form_id = form_of(capsys)
    tree = run(capsys, "audit", "why", form_id[:8], "home", "--user", "1")
    assert "\x1b" not in tree
    assert [line for line in tree.splitlines() if width(line) > 60 and " " in line.strip()] == []
    for part in ("user home: Rome → Oslo", "⟦I moved to Oslo⟧", "takes the place of: user home: Rome", "⟦I live in Rome⟧"):
        assert part in tree
    assert tree.index("⟦I moved to Oslo⟧") < tree.index("takes the place of")
    assert "offline/1" in tree
    found = json.loads(run(capsys, "audit", "why", form_id, "home", "--user", "1", "--version", "1", "--json"))
    assert [one["event_id"] for one in found["inputs"]] == ["a"]


def test_influence_extractor_and_report(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    came = run(capsys, "audit", "influence", "a", "--user", "1")
    assert "newer: user home: Rome → Oslo" in came
    assert "2 inputs, 2 candidates, 0 failed" in run(capsys, "audit", "extractor", "offline")
    report = run(capsys, "audit", "report", "--since", "2020-01-01")
    assert "2 inputs in 1 scopes" in report
    assert "⟦I live in Rome⟧" in report
    rows = json.loads(run(capsys, "audit", "report", "--since", "2020-01-01", "--json", "--limit", "1"))
    assert (len(rows["rows"]), rows["left_off"]) == (1, 1)


def test_what_is_missing_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "give one of them" in run(capsys, "audit", "why", "--user", "1", code=Exit.USAGE)
    assert "--since" in run(capsys, "audit", "report", code=Exit.USAGE)
    assert "mnemolog audit why FORM SLOT" in run(capsys, "audit", "why", "a", "--version", "1", "--user", "1", code=Exit.USAGE)
    assert "nobody" in run(capsys, "audit", "why", "nobody", "--user", "1", code=Exit.NO)
