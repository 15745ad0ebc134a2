"""`mnemolog keys`: a key is shown once, listed without itself, revoked by the start of its id; what `serve` refuses to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemolog.cli.codes import Exit
from mnemolog.cli.main import main
from mnemolog.query.service.keys import KeyRing, KeyStore


def test_a_key_is_added_listed_and_revoked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = str(tmp_path / "home")
    assert main(["keys", "--home", home]) == Exit.FOLDER
    assert "no memory" in capsys.readouterr().err
    assert main(["keys", "add", "bot", "--home", home, "--tenant", "acme", "--may", "read", "--sees", "user:*"]) == Exit.OK
    out, err = capsys.readouterr()
    assert "only time" in err
    text = out.strip()
    ring = KeyRing(KeyStore.of_folder(Path(home)))
    about = ring.known(text)
    ring.close()
    assert about is not None
    assert (about.tenant, about.permissions, about.view.name, about.view.subjects) == ("acme", ("read",), "bot", ("user:*",))
    assert main(["keys", "--home", home, "--json"]) == Exit.OK
    [listed] = json.loads(capsys.readouterr().out)
    assert listed["id"] == about.id
    assert text not in json.dumps(listed)
    assert main(["keys", "revoke", about.id[:5], "--home", home]) == Exit.OK
    assert "revoked 20" in capsys.readouterr().out
    assert main(["keys", "revoke", "zzzz", "--home", home]) == Exit.NO


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["keys", "add"], "NAME: is missing"),
        (["keys", "list", "bot"], "NAME: is for add and revoke"),
        (["keys", "add", "bot", "--may", "fly"], "permissions"),
        (["keys", "add", "bot", "--sees", "a*b"], "subjects"),
        (["keys", "add", "bot", "--form-type", "contrakt"], "no form type 'contrakt' (known: contract, "),
        (["serve", "--no-keys", "--host", "0.0.0.0"], "--no-keys"),  # noqa: S104
        (["serve", "there", "--servers"], "FOLDER"),
        (["serve", "--port", "70000"], "--port: '70000' is not a whole number from 0 to 65535"),
        (["serve", "--threads", "9" * 5000], "is not a whole number from 1 to 256"),
        (["serve", "--rate", "fast"], "--rate: 'fast' is not a number from 0"),
        (["serve", "--grace", "nan"], "--grace: 'nan' is not a number from 0"),
    ],
)
def test_what_does_not_fit_is_refused(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = [] if words[:2] == ["serve", "there"] else ["--home", str(tmp_path / "home")]
    assert main([*words, *home]) == Exit.USAGE
    assert said in capsys.readouterr().err


def test_a_key_may_see_a_type_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "types").mkdir()
    (tmp_path / "types" / "recipe.yaml").write_text("name: recipe\nslots:\n  serves: {type: number}\n")
    words = ["keys", "add", "cook", "--form-type", "recipe", "--home", str(tmp_path / "home")]
    assert main(words) == Exit.USAGE
    assert main([*words, "--form-types", str(tmp_path / "types"), "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["view"]["form_types"] == ["recipe"]


def test_a_folder_that_is_something_else_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["serve", str(tmp_path), "--no-keys"]) == Exit.FOLDER
    assert main(["keys", "add", "bot", "--home", str(tmp_path)]) == Exit.FOLDER
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
