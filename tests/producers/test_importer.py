from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.producers.importer import BATCH, Defaults, Importer, ImportReport
from mnemolog.producers.mapping import Mapper
from mnemolog.producers.records import Bad, Place, Record, records
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import ConflictingContent
from mnemolog.schemas.scope import Scope

NOW = "2026-05-01T00:00:00.000000Z"


class Count:
    def __init__(self, fresh: int) -> None:
        self.fresh = fresh


class Log:
    """The contract of a log's append, in a dictionary."""

    def __init__(self) -> None:
        self.events: dict[tuple[str, str, str], Envelope] = {}
        self.calls: list[int] = []

    def add_events(self, events: Sequence[Envelope]) -> Count:
        self.calls.append(len(events))
        new = dict(self.events)
        for event in events:
            key = (str(event.scope), event.source, event.id)
            there = new.setdefault(key, event)
            if there.content_hash != event.content_hash:
                raise ConflictingContent(*key, there.content_hash, event.content_hash)
        fresh = len(new) - len(self.events)
        self.events = new
        return Count(fresh)

    def time_of(self, scope: Scope, source: str, event_id: str) -> str | None:
        found = self.events.get((str(scope), source, event_id))
        return None if found is None else found.time

    def texts(self) -> list[str]:
        return [event.data["content"] for event in self.events.values()]


def load(log: Log, lines: Sequence[Any], *, now: str = NOW, strict: bool = False, **options: Any) -> ImportReport:
    data = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    mapper = options.pop("mapper", Mapper.of())
    defaults = Defaults(**{"subject": "user:1", "name": "chat.jsonl", **options})
    report = Importer(log, mapper=mapper, defaults=defaults, now=now, time_of=log.time_of, strict=strict).run(
        records(io.BytesIO(data))
    )
    assert report.balanced()
    assert report.rejected == len(report.rejects)
    return report


def counts(report: ImportReport) -> tuple[int, int, int, int]:
    return report.read, report.appended, report.already_there, report.rejected


def test_a_second_run_appends_nothing_also_without_ids_and_times() -> None:
    log = Log()
    lines = [{"content": f"turn {n}", "session": "s"} for n in range(600)]
    assert counts(load(log, lines)) == (600, 600, 0, 0)
    assert log.calls == [BATCH, BATCH, 600 - 2 * BATCH]
    assert counts(load(log, lines, now="2026-05-02T00:00:00.000000Z")) == (600, 0, 600, 0)
    assert counts(load(log, [*lines, {"content": "new"}], now="2026-05-03T00:00:00.000000Z")) == (601, 1, 600, 0)
    assert {event.time for event in list(log.events.values())[:600]} == {NOW}


def test_derived_ids_come_from_the_file_the_session_and_the_place() -> None:
    log = Log()
    load(log, [{"content": "a", "session": "s"}, {"content": "b"}])
    assert [key[2] for key in log.events] == ["chat.jsonl#s#1", "chat.jsonl#default#2"]
    load(log, [{"content": "c", "session": "s" * 256}])
    assert len([*log.events][-1][2]) == 36
    load(log, [{"content": "a", "session": "s"}], name="other.jsonl")
    assert len(log.events) == 4


def test_a_run_that_was_cut_short_is_finished_by_the_next() -> None:
    class Cut(Log):
        def add_events(self, events: Sequence[Envelope]) -> Count:
            if len(self.calls) == 1:
                self.calls.append(0)
                raise OSError("the disk is gone")
            return super().add_events(events)

    log = Cut()
    lines = [{"content": f"turn {n}", "id": str(n)} for n in range(BATCH * 2)]
    with pytest.raises(OSError, match="disk"):
        load(log, lines)
    assert counts(load(log, lines)) == (BATCH * 2, BATCH, BATCH, 0)


def test_one_conflicting_line_costs_that_line_alone() -> None:
    log = Log()
    load(log, [{"id": "77", "content": "first"}])
    lines: list[Any] = [{"id": str(n), "content": f"turn {n}"} for n in range(200)]
    report = load(log, lines)
    assert counts(report) == (200, 199, 0, 1)
    assert report.rejects[0].line == 78
    assert report.rejects[0].field == "id"
    assert "other content" in report.rejects[0].reason
    assert log.texts()[0] == "first"


def test_a_line_that_repeats_another_of_the_same_file() -> None:
    log = Log()
    report = load(log, [{"id": "1", "content": "a"}, {"id": "1", "content": "a"}, {"id": "1", "content": "b"}])
    assert counts(report) == (3, 1, 1, 1)
    assert report.rejects[0].line == 3
    assert log.texts() == ["a"]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": "  \n "}, "content"),
        ({"content": 7}, "content"),
        ({"session": "s"}, "content"),
        ({"content": "a\x00b"}, "content"),
        (b'{"content": "a\\ud83d"}', "content"),
        ({"content": "x" * 1_048_577}, "content"),
        (b'{"content": "\xff"}', "line"),
        ({"content": "a", "occurred_at": "yesterday"}, "occurred_at"),
        ({"content": "a", "role": "boss"}, "role"),
        ({"content": "a", "role": 1.5}, "role"),
        ({"content": "a", "id": True}, "id"),
        ({"content": "a", "id": ""}, "id"),
        ({"content": "a", "tenant": "a/b"}, "tenant"),
        ({"content": "a", "subject": ""}, "subject"),
        ({"content": "a", "subject": "user:1", "user_id": "2"}, "subject"),
        ({"content": "a", "user_id": ["x"]}, "user_id"),
        ({"content": "a", "metadata": "text"}, "metadata"),
        ({"content": "a", "importance": 3}, "importance"),
        ({"content": "a", "colour": "red"}, "colour"),
        ({"content": "a", "speaker": "\ud83d"}, "speaker"),
    ],
)
def test_bad_input_names_its_field_and_loses_nothing_else(line: Any, field: str) -> None:
    log = Log()
    report = load(log, [{"content": "before"}, line, {"content": "after"}])
    assert counts(report) == (3, 2, 0, 1)
    assert (report.rejects[0].line, report.rejects[0].field) == (2, field)
    assert str(report.rejects[0]).startswith("line 2: ")
    assert log.texts() == ["before", "after"]


def test_a_turn_of_exactly_one_mebibyte_is_taken() -> None:
    log = Log()
    assert counts(load(log, [{"content": "x" * 1_048_576}] * 1 + [{"content": "y" * 1_048_576}] * 12)) == (13, 13, 0, 0)
    assert len(log.calls) == 2


def test_whose_memory_it_is() -> None:
    log = Log()
    report = load(
        log,
        [
            {"content": "a", "user_id": 42},
            {"content": "b", "tenant": "acme", "subject": "project:x"},
            {"content": "c", "agent_id": "helper"},
            {"content": "d"},
        ],
        subject=None,
    )
    assert counts(report) == (4, 3, 0, 1)
    assert "--user NAME" in report.rejects[0].reason
    assert [key[0] for key in log.events] == ["default/user:42", "acme/project:x", "default/agent:helper"]
    load(log, [{"content": "e", "run_id": "r", "agent_id": "helper", "name": "Mei"}])
    event = [*log.events.values()][-1]
    assert event.subject == "user:1"
    assert (event.data["session"], event.data["agent"], event.data["speaker"]) == ("r", "helper", "Mei")


def test_messages_of_an_openai_style_list() -> None:
    log = Log()
    document = {
        "id": "chat-9",
        "messages": [
            {"role": "developer", "content": "be kind"},
            {"role": "user", "content": [{"type": "text", "text": "hello"}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
            {"role": "tool", "tool_call_id": "c1", "content": "42"},
            {"role": "assistant", "content": None},
        ],
    }
    report = load(log, [document])
    assert counts(report) == (5, 4, 0, 1)
    assert str(report.rejects[0]).startswith("line 1, message 5: content")
    assert [event.data.get("role", "user") for event in log.events.values()] == ["system", "user", "assistant", "tool"]
    assert {event.data["session"] for event in log.events.values()} == {"chat-9"}


def test_strict_stops_at_the_first_reject() -> None:
    log = Log()
    good = [{"content": str(n)} for n in range(5)]
    assert counts(load(log, [*good, b"oops", {"content": "after"}], strict=True)) == (6, 5, 0, 1)
    load(log, [{"id": "x", "content": "first"}])
    conflict = [{"content": "p"}, {"id": "x", "content": "second"}, *[{"content": f"q{n}"} for n in range(6)]]
    report = load(log, conflict, strict=True, name="b.jsonl")
    assert report.rejected == 1
    assert "q5" not in log.texts()


def test_a_source_keeps_ids_apart() -> None:
    log = Log()
    load(log, [{"id": "1", "content": "a"}], source="crm")
    assert counts(load(log, [{"id": "1", "content": "b"}], source="mail")) == (1, 1, 0, 0)
    assert {key[1] for key in log.events} == {"crm", "mail"}


_LINES = st.lists(
    st.one_of(
        st.fixed_dictionaries({"id": st.sampled_from("abc"), "content": st.sampled_from(["x", "y", ""])}),
        st.fixed_dictionaries({"content": st.text(max_size=5)}),
        st.just({"contents": "x"}),
    ),
    max_size=40,
)


@given(_LINES, _LINES)
def test_every_record_is_accounted_for_and_a_rerun_changes_nothing(first: list[Any], second: list[Any]) -> None:
    log = Log()
    items: list[Record | Bad] = [Record(Place(n), fields) for n, fields in enumerate([*first, *second], 1)]

    def go(now: str) -> ImportReport:
        importer = Importer(
            log, mapper=Mapper.of(), defaults=Defaults(subject="user:1"), now=now, time_of=log.time_of, progress=lambda _: None
        )
        return importer.run(items)

    one = go(NOW)
    kept = dict(log.events)
    two = go("2027-01-01T00:00:00.000000Z")
    assert one.balanced()
    assert one.read == len(items)
    assert one.appended == len(kept)
    assert counts(two) == (one.read, 0, one.appended + one.already_there, one.rejected)
    assert log.events == kept
