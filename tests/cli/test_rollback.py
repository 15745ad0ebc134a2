"""`mnemolog rollback`: it shows the difference, asks before it writes, and refuses where nobody can be asked."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemolog import Memory
from mnemolog.cli.codes import Exit
from mnemolog.cli.main import main


class Typed(io.StringIO):
    """A terminal at which somebody types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    with Memory(path, embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id="me", id="first")
        memory.add(
            "I moved to Porto. Maybe I like opera. The budget for project Apollo is 5000 euros.", user_id="me", id="second"
        )
        memory.process()
    return path


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    def run(*options: str, typed: str | None = None) -> int:
        monkeypatch.setattr(sys, "stdin", io.StringIO("y\n") if typed is None else Typed(typed))
        return main(["rollback", "--home", str(home), "--user", "me", *options])

    return run


def believed(home: Path) -> list[str]:
    with Memory(home, embedder=False) as memory:
        return [slot.value.shown for form in memory.forms(user_id="me") for slot in form.slots]


def test_a_dry_run_shows_and_writes_nothing(run: Callable[..., int], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = believed(home)
    assert run("--to", "first", "--dry-run") == Exit.OK
    told = capsys.readouterr()
    assert "user (person) home: Porto → Lisbon" in told.out
    assert "Apollo (project): called off: it was not there" in told.out
    assert "user likes opera: the question is closed" in told.out
    assert "nothing was written" in told.err
    assert believed(home) == before


def test_it_asks_and_does_what_is_answered(run: Callable[..., int], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = believed(home)
    for answer in ("n\n", "\n", ""):
        assert run("--to", "first", typed=answer) == Exit.NO
    assert "nothing was changed" in capsys.readouterr().err
    assert believed(home) == before
    assert run("--to", "first", "--reason", "misheard", typed="y\n") == Exit.OK
    told = capsys.readouterr()
    assert told.out.count("home: Porto → Lisbon") == 1
    assert "mnemolog rollback --subject user:me --to second` undoes it" in told.err
    assert believed(home) == ["Lisbon"]
    with Memory(home, embedder=False) as memory:
        assert memory.forms(user_id="me")[0].slots[0].cause == "operator: misheard"


def test_where_nobody_can_be_asked_it_wants_a_yes(
    run: Callable[..., int], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = believed(home)
    assert run("--to", "first") == Exit.USAGE
    assert "--dry-run" in capsys.readouterr().err
    assert believed(home) == before
    assert run("--to", "first", "--yes", "--json") == Exit.OK
    report = json.loads(capsys.readouterr().out)
    assert (report["outcome"], report["slots"][0]["after"]["data"], report["before_input"]) == ("changed", "Lisbon", "second")
    assert run("--to", "first", "--yes") == Exit.OK
    assert "nothing differs" in capsys.readouterr().err


def test_one_slot_of_a_form_by_the_beginning_of_its_id(
    run: Callable[..., int], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Memory(home, embedder=False) as memory:
        (form,) = [form for form in memory.forms(user_id="me") if form.form_type == "person"]
    assert run("--to", "first", "--form", form.form_id[:8], "--slot", "home", "--yes") == Exit.OK
    assert sorted(believed(home)) == ["5000 euros", "Lisbon"]
    assert run("--to", "first", "--slot", "home", "--yes") == Exit.USAGE
    assert run("--to", "first", "--form", "nobody", "--yes") == Exit.NO
    assert run("--to", "unknown", "--yes") == Exit.NO
    assert run("--to", "2999-01-01", "--yes") == Exit.USAGE
    assert "goes with --form" in capsys.readouterr().err
