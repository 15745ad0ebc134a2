"""The rules of a test run are themselves tested: a skip fails it when MNEMOLOG_NO_SKIPS is set, and servers that the
environment names are used, by the tests that ask for them alone.
"""

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
    run = run_one(tmp_path, f"import pytest\n\ndef test_it():\n    {body}\n", MNEMOLOG_NO_SKIPS=strict)
    assert run.returncode == expected, run.stdout + run.stderr


@pytest.mark.parametrize("workers", ["0", "2"])
def test_servers_that_the_environment_names_are_used_by_those_who_ask(tmp_path: Path, workers: str) -> None:
    body = (
        "import os\n\ndef test_it(services):\n"
        "    assert (services.kafka, services.database) == ('127.0.0.1:9', 'postgresql+psycopg://me@127.0.0.1/x')\n"
        "    assert 'MNEMOLOG_KAFKA' not in os.environ and 'MNEMOLOG_DATABASE' not in os.environ\n"
    )
    given = {"MNEMOLOG_KAFKA": "127.0.0.1:9", "MNEMOLOG_DATABASE": "postgresql+psycopg://me@127.0.0.1/x"}
    path = os.pathsep.join([str(CONFTEST.parent), str(CONFTEST.parent.parent / "infra")])
    run = run_one(tmp_path, body, "-n", workers, PYTHONPATH=path, **given)
    assert run.returncode == 0, run.stdout + run.stderr


def test_half_of_the_servers_is_refused(tmp_path: Path) -> None:
    run = run_one(tmp_path, "def test_it():\n    pass\n", MNEMOLOG_KAFKA="127.0.0.1:9")
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "set both MNEMOLOG_KAFKA and MNEMOLOG_DATABASE" in run.stderr


def run_one(folder: Path, body: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """One test file under these very rules, in a pytest of its own."""
    (folder / "conftest.py").write_text(CONFTEST.read_text("utf-8"), "utf-8")
    (folder / "test_one.py").write_text(body, "utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "MNEMOLOG_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)],
        env=environment | variables,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
