"""The demo tells the truth about the memory it made, fits a terminal, and its commands work when typed."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from mnemolog.cli.main import main
from mnemolog.cli.terminal import width


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    import contextlib
    import io

    home = tmp_path_factory.mktemp("demo") / "home"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["demo", "--json", "--home", str(home)]) == 0
    found: dict[str, Any] = json.loads(printed.getvalue())
    return found


def slots(answer: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for form in answer["forms"]:
        for slot in form["slots"]:
            found.setdefault(slot["slot"], []).append(slot["value"].get("text") or str(slot["value"]["data"]))
    return found


def test_the_replay_check_holds(answer: dict[str, Any]) -> None:
    assert answer["verify"]["equal"] is True
    assert answer["verify"]["live_digest"] == answer["verify"]["replayed_digest"]


def test_what_is_true_in_the_end(answer: dict[str, Any]) -> None:
    everything = json.dumps(slots(answer), ensure_ascii=False)
    for word in ("Galway", "peanuts", "团子", "physiotherapist"):
        assert word in everything, word
    for word in ("Dublin", "熊猫", "5,500", "Lisbon"):
        assert word not in everything, word


def test_a_then_b_then_back_to_a_is_three_versions_with_their_reasons(answer: dict[str, Any]) -> None:
    home = answer["home"]
    import contextlib
    import io

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["history", "--json", "--home", home, "--user", "mei"]) == 0
    rows = [row for row in json.loads(printed.getvalue()) if row["slot"] == "budget"]
    assert [row["value"]["data"]["amount"] for row in rows] == ["4000", "5500", "4000"]
    assert [bool(row["cause"]) for row in rows] == [False, True, True]


def test_every_line_of_an_answer_says_where_it_is_from(answer: dict[str, Any]) -> None:
    assert len(answer["questions"]) == 3
    for asked in answer["questions"]:
        assert "story-" in json.dumps(asked["context"])


def test_it_is_readable_in_80_columns_without_colour_and_its_commands_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--home", str(tmp_path / "h")]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    story, _, commands = printed.partition("8. Your turn")
    assert not [line for line in story.splitlines() if width(line) > 80]
    typed = [line.strip() for line in commands.splitlines() if " -m mnemolog " in line or line.startswith("  mnemolog ")]
    assert len(typed) == 7
    for line in typed:
        words = shlex.split(line) if sys.platform != "win32" else re.findall(r'"[^"]*"|\S+', line)
        words = [word.strip('"') for word in words]
        assert main(words[words.index("mnemolog") + 1 :]) == 0, line
        assert capsys.readouterr().out
