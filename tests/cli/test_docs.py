from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from mnemolog.cli.codes import Exit
from mnemolog.cli.parser import COMMANDS, build
from mnemolog.producers.mapping import FIELDS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "cli.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^### ([\w-]+)\n(.*?)(?=^###? |\Z)", PAGE, re.M | re.S))


def subparsers() -> dict[str, argparse.ArgumentParser]:
    (action,) = [item for item in build()._actions if isinstance(item, argparse._SubParsersAction)]
    return dict(action.choices)


def options(parser: argparse.ArgumentParser) -> set[str]:
    return {name for action in parser._actions for name in action.option_strings if name.startswith("--")}


def test_every_command_has_a_section_and_no_other() -> None:
    assert list(SECTIONS) == list(COMMANDS) == list(subparsers())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_described_where_it_belongs(command: str) -> None:
    common = options(build()) - {"--version"}
    own = options(subparsers()[command]) - common
    rows = set(re.findall(r"^\| `(--[\w-]+)", SECTIONS[command], re.M))
    assert rows == own


def test_the_common_options_are_described() -> None:
    head = PAGE.split("## Exit codes")[0]
    assert set(re.findall(r"--[a-z-]+", head)) >= options(build())


def test_every_exit_code_is_described() -> None:
    table = PAGE.split("## Exit codes")[1].split("## Commands")[0]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.M)] == sorted(Exit)


def test_every_field_of_a_record_is_described() -> None:
    page = (DOCS / "how-to" / "import.md").read_text("utf-8")
    table = page.split("| field |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.M)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} >= set(FIELDS)
