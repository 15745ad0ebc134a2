from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.cli.terminal import Paint, Progress, fold, width


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_width_counts_columns_not_characters() -> None:
    assert width("abc") == 3
    assert width("预算") == 4
    assert width("e\u0301") == 1


def test_fold_breaks_at_spaces_and_between_chinese_characters() -> None:
    assert fold("one two three", 8) == "one two\nthree"
    assert fold("预算改回四千", 6, "", "- ") == "- 预算\n改回四\n千"
    assert fold("花园，预算。", 6) == "花园，\n预算。"
    assert fold("", 8, "", "> ") == ">"


@given(st.text(alphabet="ab 预算，。()-", max_size=80), st.integers(6, 20))
def test_folding_loses_nothing_and_keeps_the_width(text: str, columns: int) -> None:
    folded = fold(text, columns, "  ")
    assert all(width(line) <= columns for line in folded.split("\n"))
    assert "".join(folded.split()) == "".join(text.split())


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("mnemolog.cli.terminal._ansi_on_windows", lambda: True)
    assert Paint(Terminal())("x", "bold", "red") == "\x1b[1;31mx\x1b[0m"
    assert Paint(io.StringIO())("x", "bold") == "x"
    monkeypatch.setenv("TERM", "dumb")
    assert Paint(Terminal())("x", "bold") == "x"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert Paint(Terminal())("x", "bold") == "x"


def test_progress_is_silent_where_nobody_looks() -> None:
    quiet, seen = io.StringIO(), Terminal()
    for stream in (quiet, seen):
        bar = Progress("import", 10, stream)
        bar.add(5)
        bar.to(10, "10 read")
        bar.close()
    assert quiet.getvalue() == ""
    assert "50%" in seen.getvalue()
    assert "100% 10 read" in seen.getvalue()
    count = Terminal()
    Progress("verify", stream=count).to(1200)
    assert "verify 1,200" in count.getvalue()
