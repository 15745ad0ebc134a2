"""The commands on servers: the same answers as on a folder, and what whoever runs the servers asks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemolog import Memory
from mnemolog.adapters.kafka.client import Outgoing
from mnemolog.cli.codes import Exit
from mnemolog.cli.main import main
from mnemolog.processors.pipeline.installation import Installation
from mnemolog.schemas.events import INBOX
from mnemolog.settings import Servers
from support.events import SCOPE, START, turn
from support.pipeline import Running
from support.services import Services


class Shell:
    """Runs commands in this process on the servers of the environment."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def __call__(self, *words: str) -> int:
        code = main([*words])
        self.out, self.err = self._capsys.readouterr()
        return code

    def json(self, *words: str, code: int = Exit.OK) -> Any:
        assert self(*words, "--json") == code, self.err
        return json.loads(self.out)


@pytest.fixture
def installation(services: Services, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    monkeypatch.delenv("MNEMOLOG_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, value in (("KAFKA", services.kafka), ("DATABASE", services.database), ("PREFIX", prefix), ("PARTITIONS", "2")):
        monkeypatch.setenv(f"MNEMOLOG_{name}", value)
    servers = Servers.from_environment()
    assert servers is not None
    opened = Installation(servers)
    yield opened
    opened.close()


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_the_commands_answer_as_on_a_folder(installation: Installation, shell: Shell, tmp_path: Path) -> None:
    lines = [
        {"content": "I moved to Porto.", "user_id": "mei", "id": "f1"},
        {"content": "I work at Acme.", "user_id": "bo", "id": "f2"},
    ]
    file = tmp_path / "turns.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    with Running(installation):
        added = shell.json(
            "add", "I live in Haarlem.", "--user", "mei", "--id", "t1", "--occurred-at", "2026-03-21T20:00:00+01:00"
        )
        assert (added["ids"], added["fresh"]) == (["t1"], 1)
        assert any("Haarlem" in line for line in added["understood"])
        assert shell("add", "I live in Rome.", "--user", "mei", "--id", "t1") == Exit.USAGE
        assert "already recorded with other content" in shell.err
        found = shell.json("import", str(file))
        assert (found["appended"], found["already_there"], found["behind"]) == (2, 0, 0)
        assert shell.json("import", str(file))["already_there"] == 2
        [form] = shell.json("forms", "--servers", "--user", "mei")
        assert [slot["value"]["data"] for slot in form["slots"] if slot["slot"] == "home"] == ["Porto"]
        assert shell("search", "Where do I live?", "--user", "mei") == Exit.OK
        assert "Porto" in shell.out
        assert shell.json("verify")["equal"] is True
        assert shell.json("rebuild")["differing_scopes"] == []
        report = shell.json("rebuild", "vectors", "--embedder", "use")
        assert (report["embedder"], report["checked"], report["computed"]) == ("use-multilingual-v3/512", 3, 3)
        assert shell.json("rebuild", "vectors")["computed"] == 0
        assert shell.json("rebuild", "vectors", "--drop-old") == {"dropped": []}
        assert shell.json("stats")["dynamics"] == 3


def test_topics_lag_and_the_sum(installation: Installation, shell: Shell) -> None:
    names = [item["name"] for item in shell.json("topics")]
    assert f"{installation.servers.prefix}memory.dynamics.v1" in names
    assert shell("lag") == Exit.OK
    assert "nothing is behind" in shell.err
    record = turn("a", "I live in Lisbon.")
    installation.client.send_by_scope(INBOX, [Outgoing(str(SCOPE), record.to_bytes(), START)])
    assert shell("lag", "--watch", "0") == Exit.OK
    assert "1 behind" in shell.out
    assert shell("lag", "--watch", "0.01") == Exit.NO
    assert "lagging and not moving" in shell.out
    number = installation.number_of(SCOPE)
    sums = shell.json("reconcile")
    assert (sums[number]["inbox"]["waiting"], sums[number]["holds"]) == (1, True)
    assert shell("reconcile") == Exit.OK
    assert f"partition {number}: 0 inputs" in shell.out


def test_dead_letters_are_shown_published_again_and_dismissed(installation: Installation, shell: Shell, tmp_path: Path) -> None:
    good = turn("a", "I live in Lisbon.").to_bytes()
    for value in (good.replace(b'"content"', b'"text"'), b"nothing"):
        installation.client.send_by_scope(INBOX, [Outgoing(str(SCOPE), value, START)])
    with Running(installation):
        with Memory.connect(embedder=False) as memory:
            assert memory.process() == 0
        wrong, junk = shell.json("dead-letters")
        assert wrong["scope"] == str(SCOPE)
        assert shell("dead-letters") == Exit.OK
        assert "content" in shell.out
        assert shell("dead-letters", "show", wrong["id"][:8]) == Exit.OK
        assert "I live in Lisbon." in shell.out
        assert shell("dead-letters", "requeue", wrong["id"]) == Exit.USAGE
        put_right = tmp_path / "right.json"
        put_right.write_bytes(good)
        assert shell("dead-letters", "requeue", wrong["id"], "--value", str(put_right)) == Exit.OK
        assert shell("dead-letters", "dismiss", junk["id"], "--note", "not ours") == Exit.OK
        assert shell.json("dead-letters") == []
        assert [item["resolution"]["how"] for item in shell.json("dead-letters", "--which", "all")] == ["requeued", "dismissed"]
        assert shell("dead-letters", "show", "00000000") == Exit.NO
        assert shell("dead-letters", "show") == Exit.USAGE


def test_where_the_memory_is_must_be_clear(
    installation: Installation, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("stats", "--servers", "--home", str(tmp_path)) == Exit.USAGE
    assert shell("add", "I live in Rome.", "--user", "1", "--home", str(tmp_path / "home")) == Exit.OK
    monkeypatch.setenv("MNEMOLOG_HOME", str(tmp_path / "home"))
    assert shell("stats") == Exit.USAGE
    assert "MNEMOLOG_HOME" in shell.err
    assert shell.json("stats", "--servers")["dynamics"] == 0
    monkeypatch.setenv("MNEMOLOG_KAFKA", "127.0.0.1:1")
    assert shell("stats", "--servers") == Exit.BUSY
    assert shell.err == "mnemolog: no Kafka broker answers at 127.0.0.1:1\n"
    monkeypatch.delenv("MNEMOLOG_KAFKA")
    monkeypatch.delenv("MNEMOLOG_DATABASE")
    assert shell("topics") == Exit.USAGE
    assert "MNEMOLOG_KAFKA" in shell.err
