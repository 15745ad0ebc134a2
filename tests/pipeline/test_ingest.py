"""The inbox becomes dynamics: what an outside client publishes, what does not fit, and what happens when it is cut short, done
twice or by two at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import orjson
import psycopg
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from jsonschema import Draft202012Validator
from psycopg import sql

from mnemolog.adapters.kafka.client import Outgoing, partition_of
from mnemolog.adapters.kafka.reader import stored
from mnemolog.processors.core.ports import Stored
from mnemolog.processors.pipeline.accept import NOBODY, REFUSALS
from mnemolog.processors.pipeline.ingest import Counts, IngestCore
from mnemolog.processors.pipeline.installation import Installation, Partition
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import LogError
from mnemolog.schemas.events import DEAD_LETTERS, DYNAMICS, INBOX, decode
from mnemolog.schemas.jsonschema import read_schema
from mnemolog.schemas.rejections import InputRejected, rejection_id
from mnemolog.settings import Servers
from pipeline.outside import TIME, Outside, plain_turn
from support.events import SCOPE, START, turn, turns
from support.services import Services


@pytest.fixture
def installation(services: Services, prefix: str) -> Iterator[Installation]:
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=3)
    with closing(Installation(servers)) as installation:
        yield installation


@pytest.fixture
def outside(services: Services, prefix: str, installation: Installation) -> Outside:
    return Outside(services.kafka, prefix)


@pytest.fixture
def partition(installation: Installation) -> Partition:
    """The one that SCOPE lies in."""
    return installation.of(SCOPE)


@pytest.fixture
def core(partition: Partition) -> IngestCore:
    return IngestCore(partition)


def run(core: IngestCore) -> Counts:
    """Until nothing waits."""
    while core.counts().waiting:
        core.step(1.0)
    return core.counts()


def publish(partition: Partition, events: list[Envelope]) -> None:
    records = [Outgoing(str(event.scope), event.to_bytes(), START) for event in events]
    partition.client.send(INBOX, partition.number, records)


def appended(partition: Partition) -> list[str]:
    """The physical records of dynamics."""
    return [Envelope.from_bytes(record.value).id for record in partition.log.read(DYNAMICS)]


def letters(partition: Partition) -> list[tuple[Stored, Envelope, InputRejected]]:
    found = []
    for record in partition.log.read(DEAD_LETTERS):
        event, data = decode(record.value)
        assert isinstance(data, InputRejected)
        found.append((record, event, data))
    return found


def summed(counts: Counts) -> bool:
    parts = counts.appended + counts.seen_again + counts.dead_lettered + counts.expired + counts.blank + counts.waiting
    return counts.inbox == parts


def test_what_an_outside_client_publishes_becomes_dynamics(installation: Installation, outside: Outside) -> None:
    """Its hash is ours, its JSON is read, and the record is an input as if we had written it."""
    subjects = [f"user:{number}" for number in range(12)] + ["用户:一"]
    for number, subject in enumerate(subjects):
        where, _ = outside.turn(plain_turn(f"order-{number}", f"I prefer oat milk {number}. 我喜欢燕麦奶。", subject))
        assert where == installation.number_of(f"acme/{subject}")
    found: dict[str, Envelope] = {}
    for number in range(installation.partitions):
        core = IngestCore(installation.partition(number))
        assert summed(run(core))
        for record in installation.partition(number).log.read(DYNAMICS):
            event = Envelope.from_bytes(record.value)
            assert record.scope == f"acme/{event.subject}"
            assert event.recordedtime == record.recorded
            found[event.id] = event
    assert sorted(found) == sorted(f"order-{number}" for number in range(13))
    assert found["order-12"].data == plain_turn("", "I prefer oat milk 12. 我喜欢燕麦奶。")["data"]
    assert found["order-12"].source == "order-service"


def test_every_type_of_input_is_taken_and_an_older_version_is_read(
    partition: Partition, core: IngestCore, outside: Outside
) -> None:
    old = plain_turn("old", "")
    old |= {"dataschema": "urn:mnemolog:turn.recorded:1", "data": {"text": "hello", "occurred_at": TIME}}
    inputs: dict[str, dict[str, Any]] = {
        "session.ended": {"session": "s"},
        "correction.requested": {"form_id": "f", "slot": "budget", "value": "5"},
        "confirmation.given": {"pending_id": "p", "accept": True},
        "deadline.passed": {"kind": "valid_from", "due": TIME},
        "retraction.requested": {"target": "turn", "target_id": "old"},
        "reextract.requested": {"turn_id": "old"},
        "rollback.requested": {"target": "scope", "to": "old"},
        "feedback.given": {"recall_id": "r", "outcome": "success"},
        "erasure.requested": {},
    }
    outside.turn(old)
    for name, data in inputs.items():
        outside.turn(plain_turn(name, "", type=name, dataschema=f"urn:mnemolog:{name}:1", data=data))
    assert run(core).appended == 10
    events = [decode(record.value) for record in partition.log.read(DYNAMICS)]
    assert [event.type for event, _ in events] == ["turn.recorded", *inputs]
    assert (events[0][0].version, events[0][1].content) == (1, "hello")


def test_what_only_the_log_says_is_dropped(partition: Partition, core: IngestCore, outside: Outside) -> None:
    outside.turn(plain_turn("a", "hello", recordedtime="2031-01-01T00:00:00.000000Z", position="1:7:9", traceparent="00-1-2-3"))
    outside.turn(plain_turn("b", "hello"), headers=[("mnemologrecorded", b"2031-01-01T00:00:00.000000Z")])
    assert run(core).appended == 2
    for record in partition.log.read(DYNAMICS):
        event = Envelope.from_bytes(record.value)
        assert event.position is None
        assert event.recordedtime == record.recorded
        assert record.recorded < "2031"


NESTED = "[" * 40 + "]" * 40
BAD: dict[str, tuple[dict[str, Any] | bytes, str, str]] = {
    "garbage": (b"\xff\x00\x17 no JSON", "undecodable", "not JSON"),
    "list": (b"[1, 2]", "undecodable", "not an event"),
    "cut": (b'{"specversion": "1.0", "id"', "undecodable", "not JSON"),
    "empty": (b"", "undecodable", "no value"),
    "twice": (b'{"tenant": "acme", "subject": "user:1", "id": "1", "id": "2"}', "undecodable", "stands twice"),
    "lone surrogate": (json.dumps(plain_turn("s", "\ud800 here")).encode(), "undecodable", "not JSON"),
    "NUL": (plain_turn("n", "a\0b"), "invalid", "content: contains a NUL at character 1"),
    "huge": (plain_turn("h", "x" * 1_048_577), "invalid", "content: is 1,048,577 bytes long; at most 1,048,576"),
    "blank": (plain_turn("b", "  "), "invalid", "content: is empty"),
    "unknown type": (plain_turn("u", "x", type="turn.sung", dataschema="urn:mnemolog:turn.sung:1"), "type", "is unknown"),
    "reserved type": (
        plain_turn("r", "x", type="fact.shared", dataschema="urn:mnemolog:fact.shared:1"),
        "type",
        "is reserved",
    ),
    "our type": (
        plain_turn("o", "x", type="decision.made", dataschema="urn:mnemolog:decision.made:1"),
        "type",
        "mnemolog alone",
    ),
    "newer": (plain_turn("v", "x", dataschema="urn:mnemolog:turn.recorded:3"), "version", "newer version than v2"),
    "wrong schema": (plain_turn("w", "x", dataschema="urn:mnemolog:session.ended:1"), "invalid", "dataschema"),
    "unknown field": (
        plain_turn("f", "", data={"content": "x", "occurred_at": TIME, "mood": "good"}),
        "invalid",
        "mood: turn.recorded has no such field",
    ),
    "missing field": (plain_turn("m", "", data={"content": "x"}), "invalid", "occurred_at: is required"),
    "no such time": (plain_turn("t", "x", time="2026-02-30T09:30:00.000000Z"), "invalid", "time"),
    "no such day": (
        plain_turn("d", "", data={"content": "x", "occurred_at": "2026-02-30T09:30:00.000000Z"}),
        "invalid",
        "occurred_at",
    ),
    "two times": (
        plain_turn("2", "", data={"content": "x", "occurred_at": "2026-02-20T09:30:00.000000Z"}),
        "invalid",
        "but time is",
    ),
    "session": (
        plain_turn("e", "", data={"content": "x", "occurred_at": TIME, "session": "a\nb"}),
        "invalid",
        "session: contains the control character",
    ),
    "deep": (
        plain_turn("p", "", data={"content": "x", "occurred_at": TIME, "metadata": {"a": json.loads(NESTED)}}),
        "invalid",
        "nested more than 32 levels",
    ),
    "metadata": (
        plain_turn("a", "", data={"content": "x", "occurred_at": TIME, "metadata": {"a": "y" * 70_000}}),
        "invalid",
        "metadata",
    ),
    "tenant": (plain_turn("q", "x", tenant="a/b"), "invalid", "tenant"),
    "nobody": (plain_turn("k", "x", tenant=NOBODY), "invalid", "is reserved"),
    "keyid": (plain_turn("i", "x", keyid="k1"), "invalid", "keyid: is reserved"),
}


def test_what_does_not_fit_is_a_dead_letter_with_its_reason_and_holds_nothing_up(
    partition: Partition, core: IngestCore, outside: Outside
) -> None:
    good = []
    for number, (name, (value, _, _)) in enumerate(BAD.items()):
        raw = value if isinstance(value, bytes) else json.dumps(value).encode()
        outside.raw(str(SCOPE).encode(), raw, partition=partition.number)
        good.append(f"good-{number}")
        outside.turn(plain_turn(good[-1], f"after {name}"))
    counts = run(core)
    assert (counts.appended, counts.dead_lettered) == (len(BAD), len(BAD))
    assert summed(counts)
    assert appended(partition) == good
    found = letters(partition)
    assert len(found) == len(BAD)
    for (name, (value, reason, said)), (record, event, data), offset in zip(
        BAD.items(), found, range(0, 2 * len(BAD), 2), strict=True
    ):
        raw = value if isinstance(value, bytes) else json.dumps(value).encode()
        assert (data.reason, said in data.detail) == (reason, True), (name, data.reason, data.detail)
        assert data.reason in REFUSALS
        assert (data.topic, data.partition, data.offset) == (INBOX, partition.number, offset)
        assert (b"" if data.value is None else data.value.to_bytes()) == raw, name
        assert data.key is not None
        assert data.key.to_bytes() == b"acme/user:1"
        assert event.id == rejection_id(partition.log.log_id, INBOX, partition.number, offset)
        assert event.recordedtime == record.recorded
    scopes = {name: str(event.scope) for name, (_, event, _) in zip(BAD, found, strict=True)}
    assert scopes["garbage"] == scopes["NUL"] == scopes["tenant"] == "acme/user:1"


def test_a_record_under_another_key_or_in_another_partition_is_refused(
    installation: Installation, partition: Partition, core: IngestCore, outside: Outside
) -> None:
    body = json.dumps(plain_turn("a", "hello")).encode()
    keys: tuple[bytes | None, ...] = (None, b"acme/user:2", b"\xff\xfe", b"acme/user:1 ", "租户".encode(), b"")
    for key in keys:
        outside.raw(key, body, partition=partition.number)
    outside.raw(b"acme/user:1", None, partition=partition.number)
    outside.raw(b"\xff\xfe", None, partition=partition.number)
    elsewhere = installation.partition((partition.number + 1) % 3)
    outside.raw(str(SCOPE).encode(), body, partition=elsewhere.number)
    outside.turn(plain_turn("b", "goes on"))
    assert summed(run(core))
    assert appended(partition) == ["b"]
    found = letters(partition)
    assert [data.reason for _, _, data in found] == ["key"] * 6 + ["undecodable"] * 2
    assert "no key is not the record's scope" in found[0][2].detail
    kept = [None if data.key is None else data.key.to_bytes() for _, _, data in found]
    assert kept == [None, *keys[1:5], None, b"acme/user:1", b"\xff\xfe"]
    assert [(record.scope, event.tenant) for record, event, _ in found[-2:]] == [
        ("acme/user:1", "acme"),
        ("\ufffd\ufffd", NOBODY),
    ]
    other = IngestCore(elsewhere)
    assert summed(run(other))
    [(_, event, data)] = letters(elsewhere)
    assert (data.reason, event.tenant) == ("partition", "acme")
    assert f"lies in {partition.number}, the record in {elsewhere.number} (hash keys by murmur2" in data.detail
    assert list(elsewhere.log.read(DYNAMICS)) == []


def test_a_client_with_another_hash_is_told_so(installation: Installation, services: Services, prefix: str) -> None:
    """librdkafka's own default. A third of its records lie right by chance."""
    client = Outside(services.kafka, prefix, partitioner="consistent_random")
    wrong = 0
    for number in range(30):
        where, _ = client.turn(plain_turn("a", "hello", f"user:{number}"))
        wrong += where != partition_of(f"acme/user:{number}", 3)
    cores = [IngestCore(installation.partition(number)) for number in range(3)]
    counts = [run(core) for core in cores]
    assert 0 < wrong < 30
    assert [sum(c.dead_lettered for c in counts), sum(c.appended for c in counts)] == [wrong, 30 - wrong]
    reasons = {data.reason for number in range(3) for _, _, data in letters(installation.partition(number))}
    assert reasons == {"partition"}


def test_values_too_large_to_keep_are_cut_and_what_fits_is_kept_whole(
    partition: Partition, core: IngestCore, outside: Outside
) -> None:
    whole = json.dumps(plain_turn("a", '"' * 3_000_000)).encode()
    binary = b"\xff" * 6_000_000
    large = b'{"' + b"x" * 12_000_000
    for value in (whole, binary, large):
        outside.raw(str(SCOPE).encode(), value, partition=partition.number)
    outside.raw(b"k" * 200_000, b"{}", partition=partition.number)
    outside.turn(plain_turn("b", "goes on"))
    assert run(core).dead_lettered == 4
    assert appended(partition) == ["b"]
    values = [data.value for _, _, data in letters(partition)]
    assert all(value is not None for value in values)
    kept = [value for value in values if value is not None]
    assert [(value.size, value.cut) for value in kept] == [
        (len(whole), False), (6_000_000, False), (len(large), True), (2, False),
    ]  # fmt: skip
    assert [kept[0].to_bytes(), kept[1].to_bytes(), kept[2].to_bytes()] == [whole, binary, large[:65536]]
    assert [value.encoding for value in kept] == ["text", "base64", "text", "text"]
    key = letters(partition)[3][2].key
    assert key is not None
    assert (key.size, key.cut, len(key.to_bytes())) == (200_000, True, 65536)


def test_records_as_large_as_the_broker_takes_stop_nothing(partition: Partition, core: IngestCore, outside: Outside) -> None:
    """A dead letter and an input are longer than what was published, and must still be taken."""
    whole = json.dumps(plain_turn("a", "\1" * 1_048_576)).encode()
    commands = [
        plain_turn(str(size), "", type="reextract.requested", dataschema="urn:mnemolog:reextract.requested:1", data=data)
        for size in (1_000_000, 1_048_576)
        for data in [{"turn_id": "\1" * size, "reason": "\1" * size}]
    ]
    outside.raw(str(SCOPE).encode(), whole, partition=partition.number)
    for command in commands:
        outside.turn(command)
    outside.raw(b"k" * 8_000_000, b'"' * 7_000_000, partition=partition.number)
    outside.raw(b"k" * 65_536, b'"' * 7_340_032, partition=partition.number)
    outside.raw(None, b"x" * 15_900_000, partition=partition.number)
    outside.turn(plain_turn("b", "goes on"))
    assert summed(run(core))
    assert appended(partition) == ["a", "1000000", "b"]
    found = letters(partition)
    assert [data.value and data.value.size for _, _, data in found] == [
        len(json.dumps(commands[1])), 7_000_000, 7_340_032, 15_900_000,
    ]  # fmt: skip
    assert [record.scope[:20] for record, _, _ in found] == ["acme/user:1", f"{NOBODY}/"[:20], "k" * 20, ""]


def test_the_same_again_is_counted_and_other_content_is_a_dead_letter(
    partition: Partition, core: IngestCore, outside: Outside
) -> None:
    """Within a batch and across batches; the first one stands, and the others go on."""
    first, other = plain_turn("a", "first"), plain_turn("a", "second")
    for event in (first, other, first, plain_turn("b", "b"), other):
        outside.turn(event)
    counts = run(core)
    assert (counts.appended, counts.seen_again, counts.dead_lettered) == (2, 1, 2)
    for event in (first, other, plain_turn("c", "c"), {**first, "source": "elsewhere"}):
        outside.turn(event)
    counts = run(core)
    assert (counts.appended, counts.seen_again, counts.dead_lettered) == (4, 2, 3)
    assert summed(counts)
    assert appended(partition) == ["a", "b", "c", "a"]
    hashes = [Envelope.from_bytes(json.dumps(event).encode()).content_hash for event in (first, other)]
    for _, event, data in letters(partition):
        assert (data.reason, event.causationid) == ("conflict", "a")
        assert "already recorded with other content" in data.detail
        # A dead letter is told to whoever may see the list, who need not be allowed to read what is recorded.
        assert not [item for item in hashes if item[:12] in data.detail]


class Cut(Exception):
    pass


@pytest.mark.parametrize(("topic", "cuts"), [(DYNAMICS, 1), (DEAD_LETTERS, 2)])
def test_cut_short_after_the_send_nothing_is_doubled(
    partition: Partition, core: IngestCore, topic: str, cuts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker has it, our database does not: the next try finds it on the topic."""
    publish(partition, [*turns(5), turn("turn-0", "other content"), *turns(7)])
    send, times = partition.client.send, [0]

    def cut(to: str, *given: Any) -> list[int]:
        offsets = send(to, *given)
        if to == topic:
            times[0] += 1
            if times[0] <= cuts:
                raise Cut
        return offsets

    monkeypatch.setattr(partition.client, "send", cut)
    for _ in range(cuts):
        with pytest.raises(Cut):
            core.step(5.0)
        assert core.counts() == Counts(inbox=13, waiting=13)
        assert core.position == 0
    counts = run(IngestCore(partition))
    assert summed(counts)
    assert counts.dead_lettered == 1
    assert counts.appended + counts.seen_again == 12
    # Of dynamics not even the physical log holds anything twice; of a dead letter the first counts.
    assert appended(partition) == [f"turn-{number}" for number in range(7)]
    assert len({event.id for _, event, _ in letters(partition)}) == 1


def test_cut_short_before_the_send_or_before_the_commit(
    partition: Partition, core: IngestCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(partition, turns(4))
    monkeypatch.setattr(partition.client, "send", lambda *_: (_ for _ in ()).throw(Cut()))
    with pytest.raises(Cut):
        core.step(5.0)
    monkeypatch.undo()
    with pytest.raises(Cut):
        sent_but_not_committed(partition, turns(2))
    assert core.counts() == Counts(inbox=4, waiting=4)
    assert run(core) == Counts(inbox=4, appended=2, seen_again=2)
    assert appended(partition) == [f"turn-{number}" for number in range(4)]


def sent_but_not_committed(partition: Partition, events: list[Envelope]) -> None:
    with partition.log.index.step() as step:
        partition.log.append_in(step, events)
        step.count(INBOX, len(events), {"appended": len(events)})
        raise Cut


def test_two_at_once_on_one_partition_double_nothing(installation: Installation, partition: Partition) -> None:
    """Two processes, each with connections of its own."""
    with closing(Installation(installation.servers)) as second:
        cores = [IngestCore(partition), IngestCore(second.partition(partition.number))]
        events = [turn(f"t{number}", "same" if number % 3 else f"other {number}") for number in range(400)]
        done = threading.Event()
        failed: list[BaseException] = []

        def work(core: IngestCore) -> None:
            try:
                while not done.is_set() or core.counts().waiting:
                    core.step(0.05)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(core,)) for core in cores]
        for thread in threads:
            thread.start()
        for start in range(0, 400, 20):
            publish(partition, events[start : start + 20] + events[:5])
        done.set()
        for thread in threads:
            thread.join(60)
        assert failed == []
        assert cores[0].counts() == cores[1].counts() == Counts(inbox=500, appended=400, seen_again=100)
        assert appended(partition) == [event.id for event in events]


def records_of(partition: Partition) -> list[Stored]:
    found, _ = partition.client.fetch(INBOX, partition.number, 0, 1000, 5.0)
    return found


def test_any_suffix_delivered_again_changes_nothing(partition: Partition, core: IngestCore) -> None:
    events = [*turns(3), turn("turn-1", "other"), *turns(2), *turns(9)]
    publish(partition, events)
    records = records_of(partition)
    assert core.take(records[:4]) == 4
    after = run(core)
    assert after == Counts(inbox=15, appended=9, seen_again=5, dead_lettered=1)
    for start in range(len(records)):
        assert core.take(records[start:]) == 0
        assert IngestCore(partition).take(records[start:]) == 0
    assert core.counts() == after
    assert len(appended(partition)) == 9
    assert len(letters(partition)) == 1


def test_a_gap_in_what_is_delivered_is_read_from_the_inbox(partition: Partition, core: IngestCore) -> None:
    publish(partition, turns(10))
    records = records_of(partition)
    assert core.take([records[0], records[4], records[9]]) >= 10
    assert core.position == 10
    assert appended(partition) == [f"turn-{number}" for number in range(10)]
    with pytest.raises(LogError, match="has no record 99"):
        core.take([stored(INBOX, partition.number, 99, b"k", b"v", 0)])
    assert core.take([]) == 0


def test_what_a_transaction_left_behind_is_counted_as_blank(partition: Partition, services: Services, prefix: str) -> None:
    outside = Outside(services.kafka, prefix, **{"transactional.id": f"{prefix}x"})
    for number, ends in enumerate((outside.commit, outside.abort, outside.commit)):
        with ends():
            outside.turn(plain_turn(f"t{number}", "hello"))
    counts = run(IngestCore(partition))
    assert (counts.inbox, counts.appended, counts.blank) == (6, 2, 4)
    assert summed(counts)
    assert appended(partition) == ["t0", "t2"]


def test_what_expired_before_it_was_taken_in_is_counted_and_said(
    installation: Installation, partition: Partition, core: IngestCore, caplog: pytest.LogCaptureFixture
) -> None:
    publish(partition, turns(6))
    core.step(5.0)
    publish(partition, turns(4, prefix="lost"))
    cut_off(partition, 9)
    with closing(Installation(installation.servers)) as later:  # the first one may have fetched them already
        again = later.partition(partition.number)
        assert run(IngestCore(again)) == Counts(inbox=10, appended=7, expired=3)
        assert appended(again)[-1] == "lost-3"
        # One that was left behind finds itself overtaken.
        assert core.step(0.1) <= 4
        assert core.position == 10
        assert core.counts() == Counts(inbox=10, appended=7, expired=3)
    assert "the records from 6 on expired" in caplog.text


def cut_off(partition: Partition, offset: int) -> None:
    """What retention does."""
    servers = partition.client.servers
    admin = AdminClient({"bootstrap.servers": servers.kafka})
    [done] = admin.delete_records([TopicPartition(servers.topic(INBOX), partition.number, offset)]).values()
    done.result(30)


def test_an_index_that_was_lost_takes_the_inbox_in_again_and_doubles_nothing(
    installation: Installation, partition: Partition, core: IngestCore
) -> None:
    publish(partition, turns(20))
    run(core)
    drop_schema(installation.servers.database, installation.servers.schema(partition.number, "log"))
    with closing(Installation(installation.servers)) as again:
        assert run(IngestCore(again.partition(partition.number))) == Counts(inbox=20, seen_again=20)
        assert len(appended(again.partition(partition.number))) == 20


def drop_schema(url: str, name: str) -> None:
    with psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://", 1), autocommit=True) as link:
        link.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def test_many_and_large_records_are_taken_in_steps(partition: Partition, core: IngestCore) -> None:
    large = [turn(f"large-{number}", "x" * 1_000_000) for number in range(20)]
    publish(partition, large)
    publish(partition, turns(1200))
    steps = 0
    while core.counts().waiting:
        core.step(5.0)
        steps += 1
    assert steps > 2
    assert core.counts() == Counts(inbox=1220, appended=1220)
    assert len(appended(partition)) == 1220


def test_a_record_of_any_shape_is_a_stored_record() -> None:
    assert stored(INBOX, 0, 1, None, None, -1).recorded == "1970-01-01T00:00:00.000000Z"
    assert stored(INBOX, 0, 1, b"\xff", b"", 2**62).recorded == "9999-12-31T23:59:59.999999Z"
    assert stored(DYNAMICS, 0, 1, b"\xff", b"", 0).scope == "\ufffd"
    headers = (("mnemologrecorded", b"2026-03-02T09:30:00.123456Z"),)
    assert stored(DYNAMICS, 0, 1, b"k", b"v", 0, headers).recorded == "2026-03-02T09:30:00.123456Z"
    assert stored(INBOX, 0, 1, b"k", b"v", 0, headers).recorded == "1970-01-01T00:00:00.000000Z"


def test_a_dead_letter_fits_its_schema(partition: Partition, core: IngestCore, outside: Outside) -> None:
    outside.raw(None, b"\xff", partition=partition.number)
    run(core)
    [(record, _, _)] = letters(partition)
    Draft202012Validator(read_schema("input.rejected", 1)).validate(orjson.loads(record.value))
