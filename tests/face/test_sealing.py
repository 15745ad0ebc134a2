"""Sealing through the face: in a folder and on servers, in this process alone, awaited, and on the command line."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from pathlib import Path

import msgspec
import pytest

from mnemolog import AsyncMemory, Memory
from mnemolog.cli.codes import Exit
from mnemolog.cli.main import main
from mnemolog.replay.seal_file import make_key
from mnemolog.schemas.errors import InvalidInput
from mnemolog.schemas.events import DYNAMICS


def test_a_memory_is_sealed_and_proven(anywhere: Memory, tmp_path: Path) -> None:
    key, file = tmp_path / "key", tmp_path / "seals"
    make_key(key)
    for user in range(6):
        anywhere.add("I live in Lisbon.", user_id=user)
    anywhere.process()
    first = anywhere.seal(key=key, export=file)
    report = anywhere.verify(key=key, seals=str(file))
    assert report.equal
    assert report.seals is not None
    assert report.seals.intact
    assert report.seals.sealed == report.seals.checked == report.seals.signed == report.seals.file == first.sealed >= 18
    assert report.seals.unsealed == 0
    assert {(item.topic, item.partition) for item in report.seals.topics} == {
        (item.topic, item.partition) for item in first.topics
    }
    anywhere.add("I moved to Porto.", user_id=1)
    anywhere.process()
    report = anywhere.verify(seals=file)
    assert report.seals is not None
    assert (report.equal, report.seals.unsealed, report.seals.file) == (True, 3, first.sealed)
    assert anywhere.seal(export=file).sealed == 3
    assert anywhere.seal(export=file, brief=True).sealed == 0
    assert anywhere.verify(seals=file).equal


def test_on_the_records_of_one_process(tmp_path: Path) -> None:
    with Memory(embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id=1)
        memory.add("I live in Porto.", user_id=1)
        memory.process()
        assert memory.seal(export=tmp_path / "seals").sealed == 6
        records = memory._home.parts()[0].log._records[DYNAMICS]  # type: ignore[attr-defined]
        records[:] = [msgspec.structs.replace(records[1 - offset], offset=offset) for offset in (0, 1)]
        found = memory.verify(seals=tmp_path / "seals").seals
        assert found is not None
        assert [(item.kind, item.offset) for item in found.breaks] == [("reordered", 0)]


def test_awaited(tmp_path: Path) -> None:
    async def run() -> None:
        async with await AsyncMemory.open(embedder=False) as memory:
            await memory.add("I live in Lisbon.", user_id=1)
            await memory.process()
            assert (await memory.seal(export=tmp_path / "seals")).sealed == 3
            assert (await memory.verify(seals=tmp_path / "seals")).equal

    asyncio.run(run())


def test_what_proves_something_is_not_kept_beside_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Memory(home, embedder=False) as memory:
        make_key(home / "key")
        for beside in (home / "key", home / "deep" / ".." / "seals"):
            with pytest.raises(InvalidInput, match="own folder"):
                memory.seal(key=beside)
            with pytest.raises(InvalidInput, match="own folder"):
                memory.seal(export=beside)
        with pytest.raises(InvalidInput, match="make one"):
            memory.seal(key=tmp_path / "none")
        with pytest.raises(InvalidInput, match="cannot be written"):
            memory.seal(export=tmp_path / "none" / "seals")


@pytest.mark.parametrize("topic", ["dynamics", "observations", "changes"])
@pytest.mark.parametrize(
    "edit",
    [
        "value = 7",
        "value = x'ff'",
        "value = '{'",
        'value = CAST(replace(CAST(value AS TEXT), \'"tenant":"default"\', \'"tenant":""\') AS BLOB)',
        "scope = 'nobody'",
        "scope = x'00ff'",
        "recorded = 'never'",
    ],
)
def test_what_nothing_can_be_made_of_any_more_is_named_all_the_same(broken: Path, topic: str, edit: str) -> None:
    with sqlite3.connect(broken / "memory.db") as connection:
        connection.execute(f"UPDATE log_{topic} SET {edit} WHERE offset = 1")  # noqa: S608 - names of ours
    connection.close()
    with Memory(broken, embedder=False) as memory:
        report = memory.verify()
    assert not report.equal
    assert report.seals is not None
    [found] = report.seals.breaks
    assert (found.kind, found.topic, found.offset, found.scope) == ("altered", f"memory.{topic}.v1", 1, "default/user:ann")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("whole") / "home"
    with Memory(home, embedder=False) as memory:
        for place in ("Lisbon", "Porto", "Rome"):
            memory.add(f"I live in {place}.", user_id="ann")
        memory.process()
        memory.seal()
    return home


@pytest.fixture
def broken(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "home")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home, key, file = str(tmp_path / "home"), str(tmp_path / "key"), str(tmp_path / "seals")
    with Memory(home, embedder=False) as memory:
        memory.add("My budget is 5000 dollars.", user_id="ann")
        memory.process()
    assert main(["seal", "--make-key", key]) == Exit.OK
    assert main(["seal", "--home", home, "--key", key, "--export", file, "--json"]) == Exit.OK
    assert main(["verify", "--home", home, "--key", key, "--seals", file]) == Exit.OK
    out = capsys.readouterr().out
    assert "3 of 3 sealed records checked, 3 signed, 3 in the file; 0 not sealed yet" in out
    with sqlite3.connect(tmp_path / "home" / "memory.db") as connection:
        connection.execute("UPDATE log_observations SET value = CAST(CAST(value AS TEXT) || ' ' AS BLOB)")
        connection.execute("UPDATE rm_turns_1 SET content = 'x'")
    connection.close()
    assert main(["verify", "--home", home]) == Exit.NO
    out = capsys.readouterr().out
    assert "altered: memory.observations.v1, partition 0, offset 0: event " in out
    assert " of default/user:ann" in out
    assert "differs: default/user:ann, table turns, row 0" in out
    assert "content: stored 'x', by the log 'My budget is 5000 dollars.'" in out
    assert main(["verify", "--home", home, "--json"]) == Exit.NO
    found = json.loads(capsys.readouterr().out)
    assert {"equal", "live_digest", "replayed_digest", "differing_scopes", "seals"} <= found.keys()
    assert (found["equal"], found["differing_scopes"]) == (False, ["default/user:ann"])
    [broken] = found["seals"]["breaks"]
    assert (broken["kind"], broken["topic"], broken["offset"]) == ("altered", "memory.observations.v1", 0)
    with sqlite3.connect(tmp_path / "home" / "memory.db") as connection:
        connection.execute("DELETE FROM log_observations")
    connection.close()
    assert main(["seal", "--home", home]) == Exit.FOLDER
    for wrong in (["--brief"], ["--make-key", str(tmp_path / "k"), "--key", key], ["--make-key", key]):
        assert main(["seal", "--home", home, *wrong]) == Exit.USAGE
