"""The rule that CI skips nothing is itself tested: a skip fails the run when MNEMOLOG_NO_SKIPS is set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")


@pytest.mark.parametrize(
    ("body", "strict", "expected"),
    [
        ("pytest.skip('no')", "1", 1),
        ("pytest.xfail('no')", "1", 1),
        ("pytest.skip('no')", "", 0),
        ("assert True", "1", 0),
    ],
)
def test_a_skip_fails_the_run_only_where_nothing_may_be_skipped(tmp_path: Path, body: str, strict: str, expected: int) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text("utf-8"), "utf-8")
    (tmp_path / "test_one.py").write_text(f"import pytest\n\ndef test_it():\n    {body}\n", "utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "MNEMOLOG_"))}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        env=environment | {"MNEMOLOG_NO_SKIPS": strict},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == expected, run.stdout + run.stderr
