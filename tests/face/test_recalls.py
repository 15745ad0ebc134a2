"""Which memories were given for which question is on record, and what came of it; and no recall waits for that record or fails
with it."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from mnemolog import AsyncMemory, Memory
from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.cli.codes import Exit
from mnemolog.cli.main import main
from mnemolog.face.recall_topic import RecallPlace, find, in_folder, newest
from mnemolog.face.recorder import Recorder, Waiting
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import InvalidInput, NotFound, Unavailable
from mnemolog.schemas.events import CHANGES, DYNAMICS, RECALLS, decode, make
from mnemolog.schemas.recalls import GivenMemory, MemoryRecalled, recall_id, recall_time
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import add_seconds
from support.homes import home_of

TESTS = Path(__file__).parents[1]
ANA, BEN = Scope("acme", "user:1"), Scope("acme", "user:2")
START = "2026-05-01T09:00:00.000000Z"


def waiting(question: str = "q", scope: Scope = ANA, at: str = START) -> Waiting:
    data = MemoryRecalled(kind="search", question=question, scopes=[str(scope)], memories=[GivenMemory("m")])
    return Waiting(recall_id(at), scope, at, data)


def envelopes(recalls: Sequence[Waiting]) -> list[Envelope]:
    return [make(item.data, scope=item.scope, event_id=item.recall_id, time=item.time, recorded=item.time) for item in recalls]


# -- what is recorded --------------------------------------------------------------------------------------------------


def test_an_answer_is_on_record_with_what_it_gave_and_what_came_of_it(anywhere: Memory) -> None:
    anywhere.add("I live in Lisbon.", user_id="1", id="t1")
    found = anywhere.search("Where do I live?", user_id="1", agent_id="helper", run_id="r1")
    context = anywhere.context("Where do I live?", user_id="1", session="s1")
    assert recall_time(found.recall_id) is not None
    assert found.recall_id != context.recall_id

    second, first = anywhere.recalls(user_id="1")
    assert (first.recall_id, first.kind, first.agent, first.session) == (found.recall_id, "search", "helper", "r1")
    assert (first.question, first.scopes) == ("Where do I live?", ["default/user:1"])
    assert [(item.id, item.score, item.routes) for item in first.memories] == [(hit.id, hit.score, hit.routes) for hit in found]
    assert (second.recall_id, second.kind, second.agent, second.session) == (context.recall_id, "context", "default", "s1")
    assert second.tokens == context.tokens > 0
    assert second.memories

    anywhere.feedback(found.recall_id, "failure", note="moved since", memories=[found[0].id], user_id="1", actor="operator:7")
    anywhere.feedback(found.recall_id, "success", user_id="1")
    [seen] = [view for view in anywhere.recalls(user_id="1") if view.recall_id == found.recall_id]
    told = [(item.outcome, item.note, item.memories, item.actor) for item in seen.feedback]
    assert told == [("failure", "moved since", [found[0].id], "operator:7"), ("success", "", [], "user")]
    assert anywhere.recalls(user_id="1", limit=1)[0].recall_id == context.recall_id
    assert anywhere.recalls(user_id="1", since="2100-01-01") == []


def test_feedback_changes_no_memory_and_the_same_id_counts_once(anywhere: Memory) -> None:
    anywhere.add("I live in Lisbon.", user_id="1")
    found = anywhere.search("Where do I live?", user_id="1")
    before = anywhere.verify()
    given = [anywhere.feedback(found.recall_id, "unused", user_id="1", id="f1").fresh for _ in range(2)]
    assert given == [1, 0]
    after = anywhere.verify(decide=True)
    assert after.equal
    assert after.drift == []
    assert after.live_digest == before.live_digest
    assert [len(view.feedback) for view in anywhere.recalls(user_id="1")] == [1]
    counts = anywhere.stats()
    assert counts["dynamics"] == counts["changes"] == 2


def test_feedback_is_decided_nothing_and_lies_among_the_inputs(memory: Memory) -> None:
    recalled = memory.search("Where do I live?", user_id="1").recall_id
    memory.feedback(recalled, "success", user_id="1")
    assert memory.process() == 0
    log = home_of(memory).log
    [(event, data)] = [decode(record.value) for record in log.read(DYNAMICS)]
    assert (event.type, event.causationid, data.recall_id) == ("feedback.given", recalled, recalled)
    [(_, decision)] = [decode(record.value) for record in log.read(CHANGES)]
    assert (decision.outcome, decision.changes, decision.note) == ("nothing", [], "")


def test_recalls_do_not_leak_and_a_strange_one_is_not_found(anywhere: Memory) -> None:
    anywhere.add("I live in Lisbon.", user_id="1")
    found = anywhere.search("Where do I live?", user_id="1")
    assert anywhere.recalls(user_id="2") == []
    assert anywhere.recalls(user_id="1", tenant="other") == []
    old = recall_id("2026-05-01T09:00:00.000000Z")
    anywhere.search("Where do I live?", user_id="2")  # so that there are younger records
    with pytest.raises(NotFound, match="never-made"):
        anywhere.feedback("never-made", "success", user_id="1")
    with pytest.raises(InvalidInput) as caught:
        anywhere.feedback(found.recall_id, "success", memories=["turn/user:2/x"], user_id="1")
    assert caught.value.field == "memories"
    with pytest.raises(InvalidInput) as caught:
        anywhere.feedback(found.recall_id, "great", user_id="1")  # type: ignore[arg-type]
    assert caught.value.field == "outcome"
    with pytest.raises(InvalidInput) as caught:
        anywhere.feedback(found.recall_id, "success", memories="m", user_id="1")
    assert caught.value.field == "memories"
    # Older than all that is kept: it may have been, and has expired.
    assert anywhere.feedback(old, "success", user_id="1").fresh == 1


def test_one_of_another_scope_is_not_found(memory: Memory) -> None:
    memory.search("first", user_id="2")
    found = memory.search("Where do I live?", user_id="1")
    memory._recorder.flush()
    log = home_of(memory).log
    assert find(log, Scope("default", "user:1"), found.recall_id) is not None
    assert find(log, Scope("default", "user:2"), found.recall_id) is None


def test_a_recall_by_nobody_knows_whom_is_refused(memory: Memory) -> None:
    for wrong, field in (
        ({"agent_id": ""}, "agent_id"),
        ({"session": "a", "run_id": "b"}, "session"),
        ({"session": ""}, "session"),
    ):
        with pytest.raises(InvalidInput) as caught:
            memory.search("Where do I live?", user_id="1", **wrong)  # type: ignore[arg-type]
        assert caught.value.field == field
    for limit in (0, True, "3"):
        with pytest.raises(InvalidInput, match="limit"):
            memory.recalls(user_id="1", limit=limit)  # type: ignore[arg-type]


def test_nothing_is_recorded_where_it_is_not_wanted(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", embedder=False, record_recalls=False) as memory:
        assert memory.search("Where do I live?", user_id="1").recall_id == ""
        assert memory.context("Where do I live?", user_id="1").recall_id == ""
        assert memory.recalls(user_id="1") == []
        assert home_of(memory).log.end(RECALLS) == 0


def test_recalls_outlive_the_process_and_what_was_hidden_is_hidden(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id="1")
        recalled = memory.search("Where do I live?", user_id="1").recall_id  # close writes it
    with Memory(tmp_path / "home", embedder=False) as memory:
        assert [view.recall_id for view in memory.recalls(user_id="1")] == [recalled]
        assert memory.rebuild().digest == memory.verify().live_digest
        assert [view.recall_id for view in memory.recalls(user_id="1")] == [recalled]
        memory.delete_user("1")
        assert memory.recalls(user_id="1") == []
        again = memory.search("Where do I live?", user_id="1").recall_id
        assert [view.recall_id for view in memory.recalls(user_id="1")] == [again]


async def asked_and_answered(folder: Path) -> list[str]:
    async with await AsyncMemory.open(folder, embedder=False) as memory:
        found = await memory.search("Where do I live?", user_id="1")
        await memory.feedback(found.recall_id, "success", user_id="1")
        return [item.outcome for view in await memory.recalls(user_id="1") for item in view.feedback]


def test_the_async_face_has_them(tmp_path: Path) -> None:
    import asyncio

    assert asyncio.run(asked_and_answered(tmp_path / "home")) == ["success"]


# -- the topic ---------------------------------------------------------------------------------------------------------


def test_ids_are_uuids_that_tell_their_time_and_nothing_else_does() -> None:
    made = [recall_id(START) for _ in range(100)]
    assert len(set(made)) == 100
    assert {recall_time(item) for item in made} == {START}
    later = recall_id(add_seconds(START, 0.001))
    assert all(item < later for item in made)
    for strange in ("", "x", "00000000-0000-4000-8000-000000000000", made[0].upper(), "{" + made[0] + "}", "f" * 32):
        assert recall_time(strange) is None


def test_the_newest_are_found_among_many_others() -> None:
    log = MemoryLog()
    place = in_folder(log)
    mine: list[str] = []
    for number in range(2000):
        scope = ANA if number % 400 == 7 else BEN
        item = waiting(f"q{number}", scope, add_seconds(START, number))
        place.append(envelopes([item]))
        if scope == ANA:
            mine.append(item.recall_id)
    assert [event.id for event, _ in newest(log, ANA, since=None, limit=99)] == mine[::-1]
    assert [event.id for event, _ in newest(log, ANA, since=None, limit=2)] == mine[:-3:-1]
    assert [event.id for event, _ in newest(log, ANA, since=add_seconds(START, 1000), limit=9)] == mine[:-3:-1]
    assert len(newest(log, BEN, since=None, limit=10_000)) == 1995


def test_what_is_no_recall_counts_for_nothing(caplog: pytest.LogCaptureFixture) -> None:
    log = MemoryLog()
    good = waiting()
    stranger = make(MemoryRecalled(kind="search", question="", scopes=[]), scope=ANA, event_id="x", time=START)
    import msgspec

    log.append_derived(RECALLS, [*envelopes([good]), msgspec.structs.replace(stranger, type="memory.reckoned")])
    with caplog.at_level(logging.WARNING, "mnemolog.recalls"):
        assert [event.id for event, _ in newest(log, ANA, since=None, limit=9)] == [good.recall_id]
    assert "counts for nothing" in caplog.text


def test_old_ones_are_deleted_and_offsets_go_on(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", embedder=False) as memory:
        for number in range(3):
            memory.search(f"q{number}", user_id="1")
            memory._recorder.flush()
        log = home_of(memory).log
        end = log.end(RECALLS)
        assert memory.prune_recalls("2001-01-01") == 0
        assert memory.prune_recalls("2100-01-01") == 2
        assert [view.question for view in memory.recalls(user_id="1")] == ["q2"]
        memory.search("q3", user_id="1")
        assert [view.question for view in memory.recalls(user_id="1")] == ["q3", "q2"]
        assert log.end(RECALLS) == end + 1
        assert memory.verify().equal
    with Memory(embedder=False) as here, pytest.raises(InvalidInput, match="before"):
        here.prune_recalls("2100-01-01")


# -- the recorder ------------------------------------------------------------------------------------------------------


class Held:
    """A log that stores nothing until it is let go, and then fails or not."""

    def __init__(self, error: Exception | None = None) -> None:
        self.entered, self.go = threading.Event(), threading.Event()
        self.error = error
        self.stored: list[Envelope] = []

    def append(self, events: Sequence[Envelope]) -> None:
        self.entered.set()
        assert self.go.wait(30)
        if self.error is not None:
            raise self.error
        self.stored += events


def recorder_of(held: Held, **options: float) -> Recorder:
    return Recorder(RecallPlace(held.append, lambda _: MemoryLog()), **options)  # type: ignore[arg-type]


def test_a_full_queue_costs_records_and_no_waiting(caplog: pytest.LogCaptureFixture) -> None:
    held = Held()
    recorder = recorder_of(held, room=3, delay=0.0)
    recorder.put(waiting("first"))
    assert held.entered.wait(30)
    with caplog.at_level(logging.WARNING, "mnemolog.recalls"):
        for number in range(10):
            recorder.put(waiting(f"q{number}"))  # the log stands still, and this returns
    assert recorder.lost == 7
    assert len(caplog.records) == 1
    held.go.set()
    recorder.close()
    assert [decode(event.to_bytes())[1].question for event in held.stored] == ["first", "q0", "q1", "q2"]
    recorder.put(waiting("too late"))
    recorder.close()
    assert len(held.stored) == 4


def test_a_log_that_fails_costs_records_and_no_recall(caplog: pytest.LogCaptureFixture) -> None:
    held = Held(Unavailable("the broker is away"))
    held.go.set()
    recorder = recorder_of(held, delay=0.0)
    with caplog.at_level(logging.WARNING, "mnemolog.recalls"):
        for number in range(5):
            recorder.put(waiting(f"q{number}"))
            recorder.flush()
    assert recorder.lost == 5
    assert len(caplog.records) == 1
    assert "the broker is away" in caplog.text
    held.error = None
    recorder.put(waiting("later"))
    recorder.close()
    assert len(held.stored) == 1


def test_a_recall_is_given_where_its_record_fails(tmp_path: Path) -> None:
    def broken(events: Sequence[Envelope]) -> None:
        raise OSError("no space left")

    with Memory(tmp_path / "home", embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id="1")
        memory._recorder.place = memory._recorder.place._replace(append=broken)
        found = memory.search("Where do I live?", user_id="1")
        assert found
        assert memory.recalls(user_id="1") == []
        assert memory.lost_recalls == 1
        # It may well have been made: it is taken at its word.
        assert memory.feedback(found.recall_id, "success", user_id="1").fresh == 1


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", embedder=False) as memory:
        ids: list[str] = []

        def ask(user: int) -> None:
            ids.extend([memory.search(f"q{n}", user_id=user % 2).recall_id for n in range(10)])

        threads = [threading.Thread(target=ask, args=(user,)) for user in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept = [view.recall_id for user in range(2) for view in memory.recalls(user_id=user, limit=100)]
        assert sorted(kept) == sorted(ids)
        assert memory.lost_recalls == 0


def a_child_records(recorder: Recorder, log: MemoryLog) -> int:
    """The exit code of a child that records one of its own: 0 where that is the only one there."""
    child = os.fork()
    if child == 0:
        recorder.put(waiting("the child's"))
        recorder.flush()
        asked = [decode(record.value)[1].question for record in log.read(RECALLS)]
        os._exit(0 if asked == ["the child's"] else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if hasattr(os, "fork"):  # a system without fork has nothing to test

    def test_a_child_made_by_fork_records_its_own() -> None:
        log = MemoryLog()
        recorder = Recorder(in_folder(log), delay=3600.0)
        recorder.put(waiting("the parent's"))
        with warnings.catch_warnings():
            # From 3.12 on Python warns of any fork beside threads; that it is safe here is what is tested.
            warnings.simplefilter("ignore", DeprecationWarning)
            assert a_child_records(recorder, log) == 0
        recorder.close()
        assert [decode(record.value)[1].question for record in log.read(RECALLS)] == ["the parent's"]


# -- killed ------------------------------------------------------------------------------------------------------------

ASKING = """
import sys
from mnemolog import Memory
memory = Memory(sys.argv[1], embedder=False)
for number in range(10**9):
    print(memory.add(f"I live in Town{number}.", user_id="1", id=f"t{number}").ids[0], flush=True)
    found = memory.search("Where do I live?", user_id="1", wait=False)
    memory.feedback(found.recall_id, "success", user_id="1", id=f"f{number}")
"""


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "error", "-c", ASKING, str(tmp_path / "home")]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_killed_while_it_recalls_no_turn_is_lost_and_what_is_on_record_is_whole(
    tmp_path: Path, asking: Callable[[], subprocess.Popen[str]]
) -> None:
    process = asking()
    assert process.stdout is not None
    told = [process.stdout.readline().strip() for _ in range(25)]
    assert all(told), process.communicate()[1]
    time.sleep(0.1)  # somewhere within the next few recalls
    process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    rest, errors = process.communicate()
    assert errors == ""
    told += rest.split()
    with Memory(tmp_path / "home", embedder=False) as memory:
        assert memory.process() == 0
        inputs = [decode(record.value)[0].id for record in home_of(memory).log.read(DYNAMICS)]
        assert set(told) <= set(inputs)
        assert len(inputs) == len(set(inputs))
        views = memory.recalls(user_id="1", limit=10_000)
        given = [item.event_id for view in views for item in view.feedback]
        assert set(given) <= set(inputs)
        assert len(views) >= len(told) - 25  # those of the last moment may be missing, the others not
        assert views == sorted(views, key=lambda view: view.recalled_at, reverse=True)
        report = memory.verify(decide=True)
        assert report.equal
        assert report.drift == []


# -- the command line --------------------------------------------------------------------------------------------------


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ["--home", str(tmp_path / "home")]
    mei = [*home, "--user", "mei"]
    with Memory(tmp_path / "home", embedder=False) as memory:
        memory.add("I live in Haarlem.", user_id="mei")
        recalled = memory.search("Where do I live?", user_id="mei", agent_id="helper", session="s1").recall_id
    assert main(["feedback", recalled[:20], "failure", "--note", "too old", *mei]) == Exit.OK
    assert recalled in capsys.readouterr().out
    assert main(["recalls", *mei]) == Exit.OK
    shown = capsys.readouterr().out
    for part in ("Where do I live?", recalled, "helper, session s1", "slot/user:mei", "failure: too old"):
        assert part in shown
    assert main(["feedback", "nothing", "success", *mei]) != Exit.OK
    assert "no recall 'nothing'" in capsys.readouterr().err
    assert main(["feedback", recalled, "great", *mei]) == Exit.USAGE
    assert "OUTCOME" in capsys.readouterr().err
    assert main(["recalls", "--prune", "-1", *home]) == Exit.USAGE
    assert main(["recalls", "--prune", "0", *home]) == Exit.OK
    assert "deleted 0" in capsys.readouterr().out  # the newest one stays
    assert main(["recalls", "--user", "nobody", *home]) == Exit.OK
    assert "no recalls" in capsys.readouterr().err
