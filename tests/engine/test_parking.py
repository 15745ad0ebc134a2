"""What cannot be understood or decided keeps its place, stops nobody else, and is taken up again, in order."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mnemolog.processors.deciding as deciding
import mnemolog.projections.reader as reader
from engine.talk import Rig, batches_of, memory_rig, sqlite_rig
from mnemolog import Memory
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.processors.core.ports import Extraction, SeenTurn
from mnemolog.processors.parking import ParkingLot
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import ModelOutputInvalid, ModelUnavailable
from mnemolog.schemas.events import OBSERVATIONS
from mnemolog.schemas.observations import Candidate, EntityRef
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.values import Value
from query.memory import HashingEmbedder
from support.events import ManualClock, turn
from support.homes import home_of

ANA, BOB = Scope("acme", "user:ana"), Scope("acme", "user:bob")


@contextmanager
def a_bug_about(word: str) -> Iterator[None]:
    """`decide` raises for turns that hold the word."""
    real = deciding.decide

    def decide(state: Any, envelope: Envelope, *rest: Any) -> Any:
        if word in str(envelope.data.get("content", "")):
            raise ZeroDivisionError("a bug of ours")
        return real(state, envelope, *rest)

    deciding.decide = decide
    try:
        yield
    finally:
        deciding.decide = real


def shown(memory: Memory, user: str, slot: str) -> list[str]:
    return [found.value.shown for form in memory.forms(user_id=user) for found in form.slots if found.slot == slot]


def found(memory: Memory, user: str, word: str) -> list[str]:
    return [hit.text for hit in memory.search(word, user_id=user, kinds=["turn"])]


@pytest.mark.parametrize("size", [1, 64])
def test_a_bug_stops_its_own_scope_and_a_start_without_it_catches_up(
    tmp_path: Path, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    talk = ["My name is Ana.", "I live in Lisbon.", "I live in Bugtown.", "I live in Porto.", "I like tea."]
    with batches_of(size), Memory(tmp_path / "home", embedder=HashingEmbedder()) as memory:
        with a_bug_about("Bugtown"):
            for number, said in enumerate(talk):
                memory.add(said, user_id="ana", id=f"a{number}", occurred_at=f"2026-03-0{number + 1}T09:00:00Z")
                memory.add(said.replace("Bugtown", "Rome"), user_id="bob", occurred_at=f"2026-03-0{number + 1}T09:00:00Z")
            rows = memory.forms(user_id="ana")
            assert rows.behind == 3
            assert shown(memory, "ana", "home") == ["Lisbon"]
            assert memory.forms(user_id="bob").behind == 0
            assert shown(memory, "bob", "home") == ["Porto"]
            assert memory.process() == memory.stats()["behind"] == 3
            # What waits is found by its words, and nothing was lost or reported as damage.
            assert found(memory, "ana", "Bugtown")[0] == "I live in Bugtown."
            assert "I like tea." in found(memory, "ana", "tea")
            report = memory.verify()
            assert (report.equal, report.parked) == (True, 3)
            memory.add("I live in Vienna.", user_id="ana", id="a5", occurred_at="2026-03-07T09:00:00Z")
            assert memory.forms(user_id="ana").behind == 4
            assert [record.levelno for record in caplog.records if "parked at input a2" in record.message] == [logging.ERROR]
        # The bug is gone, but not the process: nothing is tried again until a processor starts.
        assert memory.forms(user_id="ana").behind == 4
    with batches_of(size), Memory(tmp_path / "home", embedder=HashingEmbedder()) as memory:
        assert memory.forms(user_id="ana").behind == 0
        assert shown(memory, "ana", "home") == ["Vienna"]
        history = [version.value.shown for version in memory.history(user_id="ana", slot="home") if version.value]
        assert history == ["Lisbon", "Bugtown", "Porto", "Vienna"]
        assert memory.stats()["behind"] == 0
        report = memory.verify(decide=True)
        assert (report.equal, report.parked, report.drift) == (True, 0, [])
        # The vectors of the turns that waited are in the index, too.
        hits = memory.search("Bugtown", user_id="ana")
        assert "I live in Bugtown." in [hit.text for hit in hits]
        home = home_of(memory)
        home.finding.index()
        [vector] = HashingEmbedder().embed(["I live in Bugtown."])
        index = home.finding.vectors(home._elect())
        assert index is not None
        best = index.search(["default/user:ana"], "turn", vector, 1)[0]
        assert home.log.position_of(Scope("default", "user:ana"), "mnemolog", "a2").offset == int(best.point_id)  # type: ignore[union-attr]


def test_a_bug_that_stays_parks_again_and_counts_the_starts(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with a_bug_about("Bugtown"):
        for start in (1, 2, 3):
            rig = sqlite_rig(path)
            rig.add([turn("a", "I live in Bugtown.", ANA), turn("b", "I live in Porto.", ANA)])
            parked = rig.engine.parked[str(ANA)]
            assert (parked.offset, parked.input_id, parked.tries) == (0, "a", start)
            assert "ZeroDivisionError" in parked.error
            rig.check()
            rig.close()


class Gone(BaseException):
    pass


@pytest.mark.parametrize("moment", ["take_up", "append_processed", "apply", "release"])
@pytest.mark.parametrize("after", [False, True])
def test_a_death_while_a_scope_is_taken_up_again_loses_nothing(
    tmp_path: Path, moment: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a log of thousands: what was decided late lies far from where it is looked for first.
    monkeypatch.setattr(reader, "CHUNK", 1)
    monkeypatch.setattr(reader, "_REMEMBERED", 1)
    told = [turn(f"{who}{number}", f"I live in {place}.", scope, time=f"2026-03-0{number + 1}T09:00:00.000000Z")
            for number, place in enumerate(["Lisbon", "Bugtown", "Porto", "Rome", "Vienna"])
            for who, scope in (("a", ANA), ("b", BOB))]  # fmt: skip
    whole = memory_rig()
    whole.add(told)
    path = tmp_path / "memory.db"
    with a_bug_about("Bugtown"), batches_of(2):
        rig = sqlite_rig(path)
        rig.add(told)
        assert sorted(rig.engine.parked) == [str(ANA), str(BOB)]
        rig.close()
    rig = sqlite_rig(path)
    owner: Any = {"append_processed": rig.log, "apply": rig.projector}.get(moment, rig.engine._parking)
    real = getattr(owner, moment)

    def die(*args: Any, **kwargs: Any) -> None:
        if after:
            real(*args, **kwargs)
        raise Gone

    setattr(owner, moment, die)
    with batches_of(2), pytest.raises(Gone):
        rig.engine.process()
    rig.close()
    rig = sqlite_rig(path)
    rig.engine.process()
    assert rig.engine.parked == {}
    assert rig.digests() == whole.digests()
    rig.check()
    whole.close()
    rig.close()


def test_a_record_that_cannot_be_read_parks_its_scope(tmp_path: Path) -> None:
    import sqlite3

    rig = sqlite_rig(tmp_path / "memory.db")
    rig.add([turn("a", "I like tea.", ANA), turn("b", "I like tea.", BOB), turn("c", "I like rice.", ANA)], process=False)
    rig.add([turn("d", "I like rice.", BOB), turn("e", "I like soup.", ANA)], process=False)
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        connection.execute("UPDATE log_dynamics SET value = ? WHERE offset = 2", (b"\xff\x00 rubbish",))
    connection.close()
    rig.engine.process()
    assert {scope: parked.offset for scope, parked in rig.engine.parked.items()} == {str(ANA): 2}
    assert rig.store.stats(str(BOB))["turns"] == 2
    assert rig.store.stats(str(ANA))["turns"] == 1
    report = rig.verify()
    assert report.differing_scopes == [str(ANA)]
    rig.close()


def test_the_place_of_a_scope_is_known_to_a_process_that_opened_before(tmp_path: Path) -> None:
    rig = sqlite_rig(tmp_path / "memory.db")
    other = ParkingLot(rig.store)
    with a_bug_about("Bugtown"):
        rig.add([turn("a", "I live in Bugtown.", ANA)])
    assert other.scopes == {}
    other.reload()
    assert list(other.scopes) == [str(ANA)]
    rig.close()


class Moody:
    """Understands homes; fails as it is told to, and remembers what it was shown."""

    name = "moody/1"
    window = 3

    def __init__(self) -> None:
        self.mood = "well"
        self.asked: list[str] = []
        self.windows: list[list[str]] = []

    def extract(self, turn: SeenTurn, window: Any) -> Extraction:
        self.asked.append(turn.id)
        if self.mood == "down":
            raise ModelUnavailable("connection refused")
        if self.mood == "rubbish":
            raise ModelOutputInvalid("not JSON", raw="Sorry, I")
        if self.mood == "bug":
            raise KeyError("choices")
        if self.mood == "nonsense":
            return None  # type: ignore[return-value]
        if self.mood == "other type":
            return Extraction(candidates=["home"])  # type: ignore[list-item]
        self.windows.append([seen.id for seen in window])
        content = turn.turn.content
        start = content.find("in ") + 3
        if start < 3:
            return Extraction(candidates=[], model="m", raw="{}")
        end = content.index(".")
        place = content[start:end]
        return Extraction(
            candidates=[
                Candidate(
                    op="set",
                    entity=EntityRef("self"),
                    form_type="person",
                    slot="home",
                    value=Value("text", place),
                    quote=content[:end],
                    start=0,
                    end=end,
                )
            ],
            context_ids=[seen.id for seen in window],
        )


@pytest.mark.parametrize("mood", ["rubbish", "bug", "nonsense", "other type"])
def test_bad_output_is_recorded_and_the_turn_is_understood_later_at_its_own_time(tmp_path: Path, mood: str) -> None:
    extractor = Moody()
    with Memory(tmp_path / "home", extractor=extractor, embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id="ana", id="a", occurred_at="2026-03-01T09:00:00Z")
        assert shown(memory, "ana", "home") == ["Lisbon"]
        extractor.mood = mood
        memory.add("I live in Rome.", user_id="ana", id="b", occurred_at="2026-03-02T09:00:00Z")
        assert memory.forms(user_id="ana").behind == 0
        assert extractor.asked.count("b") == 3
        extractor.mood = "well"
        memory.add("I live in Porto.", user_id="ana", id="c", occurred_at="2026-03-03T09:00:00Z")
        assert shown(memory, "ana", "home") == ["Porto"]
        records = [Envelope.from_bytes(stored.value) for stored in home_of(memory).log.read(OBSERVATIONS)]
        [failed] = [record for record in records if record.type == "extraction.failed"]
        assert (failed.data["input_id"], failed.data["tries"]) == ("b", 3)
        assert failed.data["error"]
        assert found(memory, "ana", "Rome")[0] == "I live in Rome."
        memory.reextract("b", user_id="ana")
        assert extractor.windows[-1] == ["a"]
        assert shown(memory, "ana", "home") == ["Porto"]
        history = memory.history(user_id="ana", slot="home")
        assert [(version.value.shown, version.valid_from[:10]) for version in history if version.value] == [
            ("Lisbon", "2026-03-01"),
            ("Rome", "2026-03-02"),
            ("Porto", "2026-03-03"),
        ]
        report = memory.verify(decide=True)
        assert (report.equal, report.drift) == (True, [])


def test_while_a_model_is_down_turns_wait_and_are_decided_in_order_later(tmp_path: Path) -> None:
    extractor = Moody()
    extractor.mood = "down"
    places = ["Lisbon", "Rome", "Porto", "Vienna"]
    with Memory(tmp_path / "home", extractor=extractor, embedder=False) as memory:
        for number, place in enumerate(places):
            memory.add(f"I live in {place}.", user_id="ana", id=str(number), occurred_at=f"2026-03-0{number + 1}T09:00:00Z")
        memory.end_session("default", user_id="ana")
        rows = memory.forms(user_id="ana")
        assert (list(rows), rows.behind) == ([], 5)
        assert found(memory, "ana", "Porto")[0] == "I live in Porto."
        assert set(extractor.asked) == {"0"}
        assert memory.verify().equal
    with Memory(tmp_path / "home", extractor=extractor, embedder=False) as memory:
        assert memory.forms(user_id="ana").behind == 5
        extractor.mood = "well"
        assert memory.forms(user_id="ana").behind == 0
        assert [version.value.shown for version in memory.history(user_id="ana", slot="home") if version.value] == places
        assert extractor.windows == [[], ["0"], ["0", "1"], ["0", "1", "2"]]
        assert memory.verify(decide=True).equal


def test_a_standing_scope_waits_for_its_model_like_any_other(tmp_path: Path) -> None:
    extractor = Moody()
    path = tmp_path / "memory.db"
    rig = sqlite_rig(path, extractor)
    with a_bug_about("Bugtown"):
        rig.add([turn("a", "I live in Bugtown.", ANA), turn("b", "I live in Rome.", ANA), turn("c", "I live in Rome.", BOB)])
    assert extractor.asked == ["a", "b", "c"]
    rig.close()
    extractor.mood = "down"
    rig = sqlite_rig(path, extractor)
    rig.engine.process()
    assert rig.engine.waiting_for == "connection refused"
    rig.add([turn("d", "I live in Oslo.", ANA)])
    assert rig.store.forms(str(ANA)) == []
    extractor.mood = "well"
    rig.engine.process()
    assert rig.engine.parked == {}
    assert [version.value.shown for version in rig.store.history(str(ANA)) if version.value] == ["Bugtown", "Rome", "Oslo"]
    rig.check()
    rig.close()


def test_what_is_hidden_is_not_shown_to_an_extractor_again(tmp_path: Path) -> None:
    for size in (1, 64):
        extractor = Moody()
        rig = sqlite_rig(tmp_path / f"{size}.db", extractor)
        with batches_of(size), Memory(embedder=False) as writer:
            home_of(writer).log.close()
            home_of(writer).log = rig.log  # type: ignore[assignment]
            for number, place in enumerate(["Lisbon", "Rome"]):
                writer.add(f"I live in {place}.", subject="user:ana", tenant="acme", id=str(number))
            rig.engine.process()
            from mnemolog.schemas.events import make
            from mnemolog.schemas.inputs import RetractionRequested

            hide = RetractionRequested(target="turn", target_id="0")
            rig.add([make(hide, scope=ANA, event_id="h", time="2026-03-01T09:00:00.000000Z")], process=False)
            rig.add([turn("2", "I live in Porto.", ANA)])
            assert extractor.windows == [[], ["0"], ["1"]]
        rig.close()


def test_what_waits_for_a_newer_mnemolog_is_no_fault_of_the_log() -> None:
    rig = memory_rig()
    try:
        newer = msgspec.structs.replace(turn("2", scope=ANA), dataschema="urn:mnemolog:turn.recorded:99")
        rig.add([turn("1", scope=ANA), newer, turn("3", scope=ANA), turn("1", scope=BOB)])
        assert list(rig.engine.parked) == [str(ANA)]
        report = rig.verify()
        assert (report.equal, report.inputs, report.parked, report.problems) == (True, 2, 2, [])
    finally:
        rig.close()


def test_read_models_that_are_made_anew_go_on_behind_an_input_that_was_decided_late(tmp_path: Path) -> None:
    """The last decision on the log is of an early input; what follows it in dynamics is decided, too."""
    said = [("I live in Bugtown.", ANA), ("I live in Rome.", BOB), ("I live in Oslo.", BOB)]
    with a_bug_about("Bugtown"):
        rig = sqlite_rig(tmp_path / "memory.db")
        rig.add([turn(f"{number}", words, scope) for number, (words, scope) in enumerate(said)])
        assert list(rig.engine.parked) == [str(ANA)]
        rig.close()
    rig = sqlite_rig(tmp_path / "memory.db")
    rig.engine.process()
    digests = rig.digests()
    rig.close()
    anew = Rig(SqliteLog(tmp_path / "memory.db", clock=ManualClock()))
    assert anew.engine.process() == 0
    assert anew.store.cursor().applied_input == len(said)
    assert anew.digests() == digests
    anew.check()
    anew.close()
