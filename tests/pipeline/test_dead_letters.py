"""Dead letters as an operator meets them: listed, shown, put right, published again once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from mnemolog.adapters.kafka.client import Outgoing
from mnemolog.processors.pipeline.dead_letters import DeadLetters
from mnemolog.processors.pipeline.ingest import Counts, IngestCore
from mnemolog.processors.pipeline.installation import Installation, Partition
from mnemolog.projections.resolutions import Resolution, Resolutions
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import InvalidInput, NewerVersion, NotFound, Undecodable
from mnemolog.schemas.events import DEAD_LETTERS, DYNAMICS, INBOX
from mnemolog.settings import Servers
from pipeline.outside import plain_turn
from support.events import OTHER, SCOPE, START, ManualClock
from support.services import Services


@pytest.fixture
def installation(services: Services, prefix: str) -> Iterator[Installation]:
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=2)
    with closing(Installation(servers)) as installation:
        yield installation


@pytest.fixture
def letters(installation: Installation) -> Iterator[DeadLetters]:
    with closing(DeadLetters(installation, clock=ManualClock())) as letters:
        yield letters


def lay(installation: Installation, key: str, value: bytes, number: int | None = None) -> None:
    """A record in the inbox, in its scope's partition or another one."""
    where = installation.number_of(key) if number is None else number
    installation.client.send(INBOX, where, [Outgoing(key, value, START)])


def run(installation: Installation) -> list[Counts]:
    counts = []
    for number in range(installation.partitions):
        core = IngestCore(installation.partition(number))
        while core.counts().waiting:
            core.step(1.0)
        counts.append(core.counts())
    return counts


def appended(partition: Partition) -> list[str]:
    return [Envelope.from_bytes(record.value).id for record in partition.log.read(DYNAMICS)]


def turn_bytes(event_id: str, content: str = "hello", **changes: object) -> bytes:
    return json.dumps(plain_turn(event_id, content, **changes)).encode()  # type: ignore[arg-type]


def test_they_are_listed_by_partition_and_shown_by_id(installation: Installation, letters: DeadLetters) -> None:
    assert letters.list() == []
    lay(installation, str(SCOPE), b"garbage")
    lay(installation, str(SCOPE), turn_bytes("a", "  "))
    lay(installation, "no scope", b"\xff", 1 - installation.number_of(SCOPE))
    run(installation)
    found = letters.list()
    assert len(found) == 3
    here = installation.number_of(SCOPE)
    of_scope = letters.list(partition=here)
    assert [(letter.scope, letter.rejected.reason) for letter in of_scope] == [
        ("acme/user:1", "undecodable"), ("acme/user:1", "invalid"),
    ]  # fmt: skip
    [nobody] = letters.list(partition=1 - here)
    assert (nobody.scope, nobody.rejected.reason) == (None, "undecodable")
    assert nobody.rejected.key is not None
    assert nobody.rejected.key.content == "no scope"
    assert START < of_scope[0].published <= of_scope[0].recorded, "the broker says when it came"
    assert letters.show(of_scope[1].id) == of_scope[1]
    assert letters.list(limit=2) == found[:2]
    assert (letters.list("resolved"), letters.list("all")) == ([], found)
    with pytest.raises(NotFound):
        letters.show("nothing")
    for wrong in ({"which": "closed"}, {"partition": 2}, {"partition": -1}, {"limit": 0}):
        with pytest.raises(InvalidInput):
            letters.list(**wrong)  # type: ignore[arg-type]


def test_one_that_was_put_right_is_published_once(installation: Installation, letters: DeadLetters) -> None:
    lay(installation, str(SCOPE), turn_bytes("a", "  "))
    run(installation)
    [letter] = letters.list()
    corrected = turn_bytes("a", "now with words")
    done = letters.requeue(letter.id, corrected)
    here = installation.number_of(SCOPE)
    assert done == Resolution(letter.id, "requeued", START, "corrected", here, 1)
    assert run(installation)[here] == Counts(inbox=2, appended=1, dead_lettered=1)
    assert appended(installation.partition(here)) == ["a"]
    [record] = installation.partition(here).log.read(DYNAMICS)
    assert (record.scope, Envelope.from_bytes(record.value).data["content"]) == ("acme/user:1", "now with words")
    assert letters.list() == []
    assert letters.list("resolved") == letters.list("all") == [letters.show(letter.id)]
    assert letters.show(letter.id).resolution == done
    for again in (lambda: letters.requeue(letter.id), lambda: letters.requeue(letter.id, corrected)):
        with pytest.raises(InvalidInput):
            again()
    with pytest.raises(InvalidInput, match=r"was requeued at 2026-05-07T13:00:00\.000000Z"):
        letters.dismiss(letter.id)
    assert run(installation)[here].inbox == 2


def test_one_under_a_wrong_key_or_in_a_wrong_partition_goes_where_its_scope_lies(
    installation: Installation, letters: DeadLetters
) -> None:
    here = installation.number_of(SCOPE)
    lay(installation, str(SCOPE), turn_bytes("partition"), 1 - here)
    lay(installation, str(OTHER), turn_bytes("key"))
    run(installation)
    assert sorted(letter.rejected.reason for letter in letters.list()) == ["key", "partition"]
    for letter in letters.list():
        done = letters.requeue(letter.id)
        assert (done.partition, done.note) == (here, "")
    run(installation)
    assert sorted(appended(installation.partition(here))) == ["key", "partition"]
    assert letters.list() == []


def test_what_would_be_refused_again_is_not_published(installation: Installation, letters: DeadLetters) -> None:
    newer = turn_bytes("newer", dataschema="urn:mnemolog:turn.recorded:3")
    for value in (b"garbage", b"", turn_bytes("a", "  "), newer, b"x" * 8_000_000):
        lay(installation, str(SCOPE), value)
    run(installation)
    garbage, empty, blank, later, large = (letter.id for letter in letters.list())
    refused: dict[str, type[Exception]] = {garbage: Undecodable, blank: InvalidInput, later: NewerVersion}
    for identifier, error in refused.items():
        with pytest.raises(error):
            letters.requeue(identifier)
    with pytest.raises(InvalidInput, match="had no value"):
        letters.requeue(empty)
    with pytest.raises(InvalidInput, match=r"too large to be kept whole \(8,000,000 bytes\)"):
        letters.requeue(large)
    with pytest.raises(Undecodable):
        letters.requeue(blank, b"[]")
    with pytest.raises(NotFound):
        letters.requeue("nothing")
    assert len(letters.list()) == 5
    done = letters.dismiss(garbage, "a test of ours")
    assert (done.how, done.note, done.offset) == ("dismissed", "a test of ours", None)
    assert letters.list("resolved")[0].resolution == done
    with pytest.raises(InvalidInput, match="was dismissed"):
        letters.requeue(garbage, turn_bytes("b"))


def test_cut_short_after_it_was_published_it_can_be_done_again(
    installation: Installation, letters: DeadLetters, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = installation.number_of(SCOPE)
    lay(installation, str(OTHER), turn_bytes("a"), here)
    run(installation)
    [letter] = letters.list()
    send = installation.client.send

    def cut(*given: object) -> None:
        send(*given)  # type: ignore[arg-type]
        raise ConnectionError

    monkeypatch.setattr(installation.client, "send", cut)
    with pytest.raises(ConnectionError):
        letters.requeue(letter.id)
    monkeypatch.undo()
    assert letters.list() == [letter]
    letters.requeue(letter.id)
    assert run(installation)[here] == Counts(inbox=3, appended=1, seen_again=1, dead_lettered=1)


def test_of_one_that_is_there_twice_the_first_counts_and_what_is_none_is_passed_over(
    installation: Installation, letters: DeadLetters, caplog: pytest.LogCaptureFixture
) -> None:
    here = installation.number_of(SCOPE)
    lay(installation, str(SCOPE), b"garbage")
    run(installation)
    [record] = installation.partition(here).log.read(DEAD_LETTERS)
    client = installation.client
    client.send(DEAD_LETTERS, here, [Outgoing("k", record.value, START), Outgoing("k", b"?", START)])
    client.send(DEAD_LETTERS, here, [Outgoing("k", turn_bytes("a"), START)])
    assert len(letters.list("all")) == 1
    assert caplog.text.count("is no dead letter") == 2


def test_resolutions_are_kept_by_who_opens_them_again(services: Services, prefix: str) -> None:
    done = Resolution("a", "requeued", START, "", 1, 2)
    for _ in range(2):
        with closing(Resolutions(services.database, schema=f"{prefix}letters")) as resolutions:
            if not resolutions.all():
                with resolutions.resolving("a") as step:
                    step.write(done)
            assert resolutions.all() == {"a": done}
