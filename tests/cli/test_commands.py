"""The commands on a real folder: what goes in comes out, in text and as JSON, and the exit codes say what happened."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mnemolog.cli.codes import Exit
from mnemolog.cli.main import main


class Shell:
    """Runs commands in this process on one folder."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def __call__(self, *words: str, user: str | None = "mei") -> int:
        whose = [] if user is None else ["--user", user]
        code = main([*words, "--home", str(self.home), *whose])
        self.out, self.err = self._capsys.readouterr()
        return code

    def json(self, *words: str, user: str | None = "mei", code: int = Exit.OK) -> Any:
        assert self(*words, "--json", user=user) == code, self.err
        return json.loads(self.out)


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path / "home", capsys)


def test_a_sentence_becomes_a_form_with_its_source(shell: Shell) -> None:
    added = shell.json("add", "I live in Haarlem.", "--id", "t1", "--occurred-at", "2026-03-21T20:00:00+01:00")
    assert added["ids"] == ["t1"]
    assert added["fresh"] == 1
    assert any("Haarlem" in line for line in added["understood"])
    (form,) = shell.json("forms")
    (slot,) = form["slots"]
    assert slot["value"]["data"] == "Haarlem"
    assert slot["evidence"][0]["turn_id"] == "t1"
    assert slot["evidence"][0]["quote"] in "I live in Haarlem."
    assert shell("forms") == Exit.OK
    assert "Haarlem" in shell.out
    assert "(t1)" in shell.out


def test_the_same_id_again_changes_nothing_also_without_a_time(shell: Shell) -> None:
    words = ("add", "I live in Haarlem.", "--id", "t1", "--occurred-at", "2026-03-21T20:00:00+01:00")
    assert shell(*words) == Exit.OK
    assert shell.json(*words)["fresh"] == 0
    assert shell("add", "I live in Leiden.", "--id", "t1", "--occurred-at", "2026-03-21T20:00:00+01:00") == Exit.USAGE
    assert "already recorded with other content" in shell.err
    assert len(shell.json("history")) == 1


def test_what_is_not_understood_is_kept_and_found(shell: Shell) -> None:
    assert shell("add", "The sea was like hammered tin that evening.", "--id", "t1") == Exit.OK
    assert "kept, searchable, no Form" in shell.out
    (hit,) = shell.json("search", "hammered tin")
    assert hit["event_ids"] == ["t1"]
    assert shell("search", "hammered tin") == Exit.OK
    assert "t1" in shell.out
    assert shell("search", "anything", user="nobody") == Exit.NO
    assert "nothing found" in shell.err
    assert shell.out == ""


def test_text_from_stdin(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\ufeff我住在厦门。".encode())))
    assert shell("add", "-", "--id", "t1") == Exit.OK
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9")))
    assert shell("add", "-") == Exit.USAGE
    assert "TEXT: is not UTF-8: byte 0xE9 at byte 3" in shell.err
    assert "用户：家：厦门" in [hit["text"] for hit in shell.json("search", "厦门")]


def test_history_of_a_change(shell: Shell) -> None:
    shell("add", "I live in Rotterdam.", "--id", "t1", "--occurred-at", "2026-03-02")
    shell("add", "I live in Haarlem now.", "--id", "t2", "--occurred-at", "2026-03-21")
    rows = shell.json("history")
    assert [row["current"] for row in rows] == [False, True]
    form, slot = rows[0]["form_id"], rows[0]["slot"]
    assert shell.json("history", form[:8], slot) == rows
    assert shell("history", form[:8]) == Exit.OK
    assert shell.out.index("Rotterdam") < shell.out.index("Haarlem")
    assert shell("history", form, "no-such-slot") == Exit.NO
    assert shell("history", "ffffffff") == Exit.NO
    assert "no form 'ffffffff'" in shell.err
    entries = shell.json("timeline", "--since", "2026-03-20")
    assert {entry["input_id"] for entry in entries} <= {"t2"}
    assert shell("timeline", "--since", "soon") == Exit.USAGE
    assert "since: 'soon' is not a time" in shell.err


def test_pending_is_listed_confirmed_and_rejected(shell: Shell) -> None:
    shell("add", "I think I'm allergic to cats.", "--id", "t1")
    (question,) = shell.json("pending")
    assert shell("pending") == Exit.OK
    assert question["question"].split()[0] in shell.out
    assert shell("pending", "confirm", "nothing") == Exit.NO
    answer = shell.json("pending", "confirm", question["pending_id"][:8])
    assert answer["pending_id"] == question["pending_id"]
    assert shell.json("pending") == []
    assert "cats" in json.dumps(shell.json("forms"))
    shell("add", "I think I'm allergic to dust.", "--id", "t2")
    (question,) = shell.json("pending")
    assert shell("pending", "reject", question["pending_id"]) == Exit.OK
    assert "dust" not in json.dumps(shell.json("forms"))
    assert shell("pending") == Exit.OK
    assert "nothing is open" in shell.err


def test_a_question_may_be_about_several_subjects_and_tells_how_it_was_answered(shell: Shell) -> None:
    shell.json("add", "The budget for Apollo is 4000 euros.", "--id", "t1")
    shell.json("add", "The budget for Zeus is 900 euros.", "--id", "t2", "--subject", "project:zeus", user=None)
    question = ("search", "What is the budget of Zeus?", "--also", "project:zeus")
    assert any("900" in hit["text"] for hit in shell.json(*question))
    found = shell.json(*question, "--trace", "--profile", "enterprise", "--time-budget", "60")
    assert found["missing"] == {}
    assert found["trace"]["profile"] == "enterprise"
    assert found["trace"]["scopes"] == ["default/user:mei", "default/project:zeus"]
    assert [placed["id"] for placed in found["trace"]["order"]] == [hit["id"] for hit in found["hits"]]
    assert shell(*question, "--trace") == Exit.OK
    assert "understood  state, en" in shell.out
    assert "slots project.budget" in shell.out
    assert shell("context", "What is the budget of Zeus?", "--also", "project:zeus", "--trace") == Exit.OK
    assert "900" in shell.out
    assert "profile relevance" in shell.out


def test_what_an_answer_goes_without_is_said_beside_it(shell: Shell) -> None:
    shell.json("add", "I live in Haarlem.")
    shell("search", "Where do I live?", "--time-budget", "0.0000001")
    assert "without slots: no answer after" in shell.err
    assert "without turns: no answer after" in shell.err


@pytest.mark.parametrize(
    ("option", "field"),
    [(("--profile", "nope"), "profile"), (("--time-budget", "-1"), "time_budget"), (("--also", ""), "subject")],
)
def test_a_question_asked_wrongly_is_refused_by_name(shell: Shell, option: tuple[str, str], field: str) -> None:
    shell.json("add", "I live in Haarlem.")
    assert shell("search", "Where do I live?", *option) != Exit.OK
    assert field in shell.err


def test_context_is_the_prompt_text(shell: Shell) -> None:
    shell("add", "I'm allergic to peanuts.", "--id", "t1")
    assert shell("context", "What should I cook?") == Exit.OK
    assert "peanuts" in shell.out
    assert shell("context", "What should I cook?", "--sources") == Exit.OK
    assert "t1" in shell.out
    assert "peanuts" in json.dumps(shell.json("context", "What should I cook?"))
    assert shell("context", "What should I cook?", "--budget", "0") == Exit.USAGE
    assert "budget" in shell.err


def test_verify_rebuild_and_stats(shell: Shell) -> None:
    shell("add", "I live in Haarlem.", "--id", "t1")
    report = shell.json("verify", user=None)
    assert report["equal"] is True
    assert report["live_digest"] == report["replayed_digest"]
    assert report["differing_scopes"] == []
    assert shell.json("rebuild", user=None)["digest"] == report["live_digest"]
    assert shell("verify", "--decide", user=None) == Exit.OK
    assert "equal" in shell.out
    assert shell.json("stats", user=None)
    assert shell("stats") == Exit.OK


def test_the_vector_index_is_made_anew(shell: Shell) -> None:
    shell("add", "I live in Haarlem.", "--id", "t1")
    report = shell.json("rebuild", "vectors", user=None)
    assert (report["index"], report["turns"], report["resumed"]) == (1, 1, False)
    assert shell.json("rebuild", "vectors", "--embedder", "use", user=None)["computed"] == 0
    assert "Haarlem" in json.dumps(shell.json("search", "Where do I live?"))
    assert shell("rebuild", "vectors", "--embedder", "nobody", user=None) == Exit.USAGE
    assert "one of use, e5" in shell.err
    assert shell("rebuild", "--embedder", "use", user=None) == Exit.USAGE
    assert shell.json("rebuild", "vectors", "--drop-old", user=None) == {"dropped": []}
    assert shell("rebuild", "--drop-old", user=None) == Exit.USAGE
    assert shell("rebuild", "vectors", "--drop-old", "--embedder", "use", user=None) == Exit.USAGE
    assert shell("rebuild", "vectors", "--keep", "2", user=None) == Exit.USAGE
    assert shell("rebuild", "timeline", user=None) == Exit.USAGE


def test_versions_are_listed_fallen_back_to_and_dropped(shell: Shell) -> None:
    shell("add", "I live in Haarlem.", "--id", "t1")
    assert shell("rebuild", user=None) == Exit.OK
    assert "version 1 is kept" in shell.err
    listed = shell.json("versions", user=None)
    assert [(view["version"], view["state"]) for view in listed] == [(1, "kept"), (2, "live")]
    shell("add", "I live in Delft.", "--id", "t2")
    back = shell.json("versions", "fall-back", "1", user=None)
    assert (back["version"], back["replaced"]) == (1, 2)
    assert "Delft" in json.dumps(shell.json("forms"))
    assert shell("versions", "fall-back", "1", user=None) == Exit.USAGE
    assert "answers already" in shell.err
    assert shell("versions", "drop", "1", user=None) == Exit.USAGE
    assert "fall back to another one first" in shell.err
    assert shell("versions", "drop", "2", user=None) == Exit.OK
    assert shell("versions", "drop", "2", user=None) == Exit.NO
    assert shell("versions", user=None) == Exit.OK
    assert "live" in shell.out
    assert "kept" not in shell.out
    assert shell("versions", "drop", user=None) == Exit.USAGE
    assert shell("versions", "list", "3", user=None) == Exit.USAGE
    assert shell("rebuild", "--keep", "11", user=None) == Exit.USAGE
    assert shell.json("verify", user=None)["equal"] is True


def test_verify_says_where_a_row_was_changed_by_hand(shell: Shell) -> None:
    import sqlite3

    shell("add", "I live in Haarlem.", "--id", "t1")
    database = sqlite3.connect(shell.home / "memory.db")
    with database:
        names = [
            name
            for (name,) in database.execute("select name from sqlite_master where type = 'table' and name like 'rm_versions_%'")
        ]
        changed = [database.execute(f"update {name} set confidence = 0.123").rowcount for name in names]  # noqa: S608
    database.close()
    assert sum(changed) == 1
    assert shell.json("verify", user=None, code=Exit.NO)["differing_scopes"] == ["default/user:mei"]


def test_import_counts_and_resumes(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    lines = [json.dumps({"chat": 1, "n": n, "who": "mei", "text": f"line {n} 预算"}, ensure_ascii=False) for n in range(5)]
    file.write_text("\n".join([*lines, "", "oops"]), "utf-8")
    words = ("import", str(file), "--map", "id={chat}:{n}", "--map", "content=text", "--map", "subject=user:{who}")
    sums = shell.json(*words, user=None, code=Exit.NO)
    assert {name: sums[name] for name in ("read", "appended", "already_there", "rejected", "behind")} == {
        "read": 6,
        "appended": 5,
        "already_there": 0,
        "rejected": 1,
        "behind": 0,
    }
    assert sums["rejects"] == [
        {"file": str(file), "line": 7, "message": 0, "field": "line", "reason": sums["rejects"][0]["reason"]}
    ]
    file.write_text("\n".join(lines), "utf-8")
    assert shell(*words, "--no-process", user=None) == Exit.OK
    assert shell.out == "read 5 appended 0 already there 5 rejected 0\n"
    assert shell.err == ""
    assert [hit["event_ids"] for hit in shell.json("search", "line 3", "--limit", "1")] == [["1:3"]]


def test_import_without_ids_and_times_is_the_same_the_second_time(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]), "utf-8")
    assert shell.json("import", str(file))["appended"] == 2
    assert shell.json("import", str(file))["already_there"] == 2


def test_import_shows_some_rejects_and_counts_the_rest(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(["oops"] * 30), "utf-8")
    assert shell("import", str(file)) == Exit.NO
    assert shell.err.count("\n") == 21
    assert "and 10 more" in shell.err
    assert shell("import", str(file), "--strict") == Exit.NO
    assert shell.out.startswith("read 1 ")


def test_import_of_stdin(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"content": "hello"}\n')))
    assert shell.json("import", "-")["appended"] == 1


def test_summaries_of_a_closed_week(shell: Shell) -> None:
    shell("add", "I live in Haarlem.", "--occurred-at", "2026-03-02")
    shell("add", "The tram was late.", "--occurred-at", "2026-03-10")
    weeks = shell.json("summaries")
    assert weeks[0]["week"] == "2026-W10"
    assert weeks[0]["closed"] is True
    assert shell("summaries") == Exit.OK
    assert "2026-W10" in shell.out


def test_readers_of_an_empty_memory_say_so(shell: Shell) -> None:
    shell("add", "hello", user="other")
    for command in ("forms", "timeline", "summaries", "pending", "history"):
        assert shell.json(command) == []
        assert shell(command) == Exit.OK
        assert shell.out == ""
        assert shell.err.startswith("mnemolog: no")


def test_a_folder_that_is_not_ours(shell: Shell) -> None:
    shell.home.mkdir()
    (shell.home / "letter.txt").write_text("mine", "utf-8")
    assert shell("add", "hello") == Exit.FOLDER
    assert shell.err.startswith("mnemolog: ")
    assert shell.err.count("\n") == 1
    assert [path.name for path in shell.home.iterdir()] == ["letter.txt"]


def test_utf8_in_a_c_locale_and_options_before_the_command(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "MNEMOLOG_HOME": str(tmp_path / "家"),
    }
    environment.pop("PYTHONIOENCODING", None)

    def run(*words: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "mnemolog", "--user", "美", *words]
        return subprocess.run(command, capture_output=True, env=environment, timeout=120, check=False)

    added = run("add", "我住在厦门。", "--id", "t1")
    assert added.returncode == 0, added.stderr
    found = run("search", "厦门", "--json")
    assert "用户：家：厦门" in [hit["text"] for hit in json.loads(found.stdout.decode("utf-8"))]
    assert b"\\u" not in found.stdout
    assert (tmp_path / "家").is_dir()


def test_what_was_called_off_does_not_look_as_if_it_stood(shell: Shell) -> None:
    shell("add", "I have a trip to Lisbon on April 18.", "--occurred-at", "2026-03-10")
    shell("add", "The trip to Lisbon is off.", "--occurred-at", "2026-03-20")
    assert shell("history") == Exit.OK
    assert "April 18 [2026-03-10, called off]" in shell.out
    assert "confirmed" not in shell.out


def test_a_hit_that_no_route_vouches_for_is_called_a_weak_match(shell: Shell) -> None:
    shell("add", "The tram was late.", "--id", "t1")
    assert shell("search", "zebra quantum") == Exit.OK
    assert "; a weak match; from t1" in " ".join(shell.out.split())


def test_a_slot_that_a_form_does_not_have_is_answered_with_those_it_has(shell: Shell) -> None:
    shell("add", "I live in Haarlem.")
    (form,) = shell.json("forms")
    assert shell("history", form["form_id"], "house") == Exit.NO
    assert "no versions of a slot 'house' (this Form has: home)" in shell.err


def test_one_turn_is_no_plural(shell: Shell) -> None:
    shell("add", "I live in Haarlem.", "--occurred-at", "2026-03-02")
    assert shell("summaries") == Exit.OK
    assert "1 turn in 1 session," in shell.out


def test_the_help_of_demo_names_the_folder_that_demo_uses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["demo", "--help"])
    assert "MNEMOLOG_HOME" not in capsys.readouterr().out


def test_what_is_in_doubt_is_asked_before_a_message_is_answered(shell: Shell) -> None:
    shell("add", "I live in Haarlem.", "--id", "t1", "--occurred-at", "2026-03-21T20:00:00+01:00")
    assert shell("check", "I live in Delft.") == Exit.OK
    assert "So far: Haarlem, since 2026-03-21." in shell.out
    assert "(t1)" in shell.out
    (doubt,) = shell.json("check", "I live in Delft.", "--limit", "1")
    assert (doubt["kind"], doubt["slot"], [value["value"] for value in doubt["values"]]) == (
        "conflict",
        "home",
        ["Haarlem", "Delft"],
    )
    assert shell("check", "Hello.") == Exit.OK
    assert shell.out == ""
    assert "nothing" in shell.err


def test_every_command_that_reads_reads_the_past_too(shell: Shell) -> None:
    for name, day, words in (
        ("t1", "2026-03-02", "I live in Haarlem. My age is about 40."),
        ("t2", "2026-03-20", "I moved to Porto because of work."),
    ):
        assert shell("add", words, "--id", name, "--occurred-at", f"{day}T09:00:00Z") == Exit.OK
    for when in (("--as-of", "2026-03-10"), ("--known-at", "t1")):
        told = [
            shell.json("forms", *when),
            shell.json("history", *when),
            shell.json("timeline", *when),
            shell.json("summaries", *when),
            shell.json("pending", *when),
            shell.json("search", "Where do I live?", *when),
            shell.json("context", "Where do I live?", "--sources", *when),
            shell.json("check", "I live in Leiden.", *when),
        ]
        assert "Haarlem" in str(told[0])
        assert "Haarlem" in str(told[5])
        assert "Haarlem" in str(told[7])
        assert "Porto" not in str(told)
        assert shell("context", "Where do I live?", "--sources", *when) == Exit.OK
        assert "Porto" not in shell.out
    (form,) = shell.json("forms", "--as-of", "2026-03-10", "--known-at", "t2")
    assert form["slots"][0]["value"]["data"] == "Haarlem"
    (asked,) = shell.json("pending", "--known-at", "t1")
    assert shell("pending", "confirm", asked["pending_id"], "--as-of", "2026-03-10") == Exit.USAGE
    assert "--as-of" in shell.err
    assert shell("forms", "--known-at", "2999-01-01") == Exit.USAGE
    assert "known_at" in shell.err
    assert "future" in shell.err
    assert shell("forms", "--as-of", "soon") == Exit.USAGE
    assert "as_of" in shell.err
    assert shell("forms", "--known-at", "t9") == Exit.NO
    assert "t9" in shell.err
