"""The workers' cores, in whatever order they get their turn and wherever they are cut off, come to the state that the embedded
engine comes to; and nobody's fault is anybody else's."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine.talk as talk
import mnemolog.processors.pipeline.extract as extract
import mnemolog.processors.pipeline.ingest as ingest
import mnemolog.processors.pipeline.project as project
import mnemolog.processors.pipeline.resolve as resolve
from engine.talk import examples, extractor, memory_rig, steps, tell
from engine.test_parking import a_bug_about
from mnemolog.adapters.kafka.client import Outgoing
from mnemolog.adapters.kafka.log import PartitionLog, headers_of
from mnemolog.processors.core.ports import Extraction, Extractor, SeenTurn, Stored
from mnemolog.processors.parking import ParkingLot
from mnemolog.processors.pipeline.core import Core
from mnemolog.processors.pipeline.inputs import read_input
from mnemolog.processors.pipeline.installation import Installation, Partition
from mnemolog.processors.pipeline.worker import KINDS, core_of
from mnemolog.projections.digest import digest_store
from mnemolog.projections.parked import parked_offsets
from mnemolog.projections.projector import Projector
from mnemolog.projections.resolver_state import ResolverState
from mnemolog.projections.tables import SCHEMA_VERSION
from mnemolog.projections.version_notes import VersionNote, write_note
from mnemolog.replay.verify import check
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import ModelUnavailable, NewerVersion, Unavailable
from mnemolog.schemas.events import CHANGES, DYNAMICS, INBOX, OBSERVATIONS, SUMMARIES, make
from mnemolog.schemas.inputs import ErasureRequested, ReextractRequested, RetractionRequested
from mnemolog.schemas.scope import Scope
from mnemolog.settings import Servers
from support.events import START, ManualClock, turn
from support.services import Services

NUMBERS = itertools.count()


class Cut(BaseException):
    """The process died here."""


class Rig:
    """The cores of all partitions, stepped by hand; the clock stands still."""

    def __init__(self, installation: Installation, understood: Extractor | None = None) -> None:
        self.installation = installation
        self.understood = understood or extractor()
        self.cores: dict[tuple[str, int], Core] = {}

    def publish(self, events: Sequence[Envelope]) -> None:
        self.installation.client.send_by_scope(
            INBOX, [Outgoing(str(event.scope), event.to_bytes(), START, headers_of(event)) for event in events]
        )

    def step(self, kind: str, number: int) -> int:
        """One step; a cut leaves nothing of the core."""
        key = (kind, number)
        try:
            if key not in self.cores:
                self.cores[key] = core_of(kind, self.installation, self.understood, None)(number)
            return self.cores[key].step(0.0)
        except (Cut, Unavailable):
            self.cores.pop(key, None)
            return 1

    def reach(self, *kinds: str) -> None:
        """One kind after the other works through all that lies before it, in every partition."""
        for kind in kinds:
            for number in range(self.installation.partitions):
                self.step(kind, number)
                log = self.installation.partition(number).log
                while (core := self.cores[kind, number]).position < log.end(core.topic):
                    self.step(kind, number)

    def finish(self) -> None:
        """Until nobody finds anything to do, and nothing is left."""
        partitions = [self.installation.partition(number) for number in range(self.installation.partitions)]
        for _ in range(2000):
            done = sum(self.step(kind, partition.number) for kind in KINDS for partition in partitions)
            if not done and all(self._is_done(partition) for partition in partitions):
                return
        raise AssertionError("the pipeline does not come to an end")

    @staticmethod
    def _is_done(partition: Partition) -> bool:
        with partition.log.index.reading() as view:
            taken = view.next_offset(INBOX)
        done = partition.store.cursor().applied_input >= partition.log.end(DYNAMICS)
        return done and taken >= partition.client.end(INBOX, partition.number)

    def digests(self, scopes: Sequence[Scope]) -> dict[str, str]:
        names = [str(scope) for scope in scopes]
        found: dict[str, str] = {}
        for number in range(self.installation.partitions):
            found |= digest_store(self.installation.partition(number).store)
        return {name: found[name] for name in names if name in found}


@pytest.fixture(scope="module")
def installation(services: Services) -> Iterator[Installation]:
    from support.services import remove_prefix

    prefix = f"c{random.SystemRandom().randrange(16**8):08x}_"
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=2)
    with closing(Installation(servers, clock=ManualClock())) as installation:
        yield installation
    remove_prefix(services, prefix)


@pytest.fixture
def rig(installation: Installation) -> Rig:
    return Rig(installation)


@contextmanager
def scopes_of_its_own() -> Iterator[tuple[Scope, ...]]:
    """The story is told in scopes that nobody else uses, so that one installation serves every example."""
    number, before = next(NUMBERS), talk.SCOPES
    talk.SCOPES = (Scope("acme", f"user:{number}-1"), Scope("acme", f"user:{number}-2"), Scope("umbrella", f"user:{number}"))
    try:
        yield talk.SCOPES
    finally:
        talk.SCOPES = before


@contextmanager
def cuts(installation: Installation, chance: random.Random, often: float) -> Iterator[None]:
    """Before or after what is made durable, the process dies; or the server's answer is lost."""

    def cutting(real: Callable[..., Any]) -> Callable[..., Any]:
        def cut(*args: Any, **named: Any) -> Any:
            if chance.random() < often:
                raise chance.choice([Cut("before"), Unavailable("before")])
            result = real(*args, **named)
            if chance.random() < often:
                raise chance.choice([Cut("after"), Unavailable("after")])
            return result

        return cut

    client = installation.client
    send, write, apply = client.send, ResolverState.write, Projector.apply
    sizes = ingest._BATCH, extract.BATCH, resolve.BATCH, project.BATCH
    client.send = cutting(send)  # type: ignore[method-assign]
    ResolverState.write, Projector.apply = cutting(write), cutting(apply)  # type: ignore[method-assign]
    ingest._BATCH = extract.BATCH = resolve.BATCH = project.BATCH = chance.choice([1, 2, 5, 256])
    try:
        yield
    finally:
        client.send = send  # type: ignore[method-assign]
        ResolverState.write, Projector.apply = write, apply  # type: ignore[method-assign]
        ingest._BATCH, extract.BATCH, resolve.BATCH, project.BATCH = sizes


def embedded(events: Sequence[Envelope], understood: Extractor | None = None) -> dict[str, str]:
    with closing(memory_rig(understood)) as rig:
        rig.add(events)
        return rig.digests()


@given(steps, st.integers(0, 2**32))
@settings(examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_any_batches_any_cut_and_the_state_is_that_of_the_embedded_engine(
    installation: Installation, story: list[talk.Step], seed: int
) -> None:
    chance = random.Random(seed)
    rig = Rig(installation)
    with scopes_of_its_own() as scopes:
        events = tell(story)
        expected = embedded(events)
        with cuts(installation, chance, 0.08):
            left = list(events)
            for _ in range(chance.randrange(10, 60)):
                if left and chance.random() < 0.4:
                    count = chance.randrange(1, len(left) + 1)
                    # A publisher that had no answer tries again.
                    try:
                        rig.publish(left[:count])
                    except (Cut, Unavailable):
                        continue
                    left = left[count:] if chance.random() < 0.9 else left
                rig.step(chance.choice(KINDS), chance.randrange(2))
                if chance.random() < 0.1:
                    rig.cores.clear()
        rig.cores.clear()
        rig.publish(left)
        rig.finish()
        assert rig.digests(scopes) == {str(scope): expected[str(scope)] for scope in scopes if str(scope) in expected}


def test_two_resolvers_on_one_partition_decide_every_input_once(installation: Installation, rig: Rig) -> None:
    with scopes_of_its_own() as scopes:
        events = [
            turn(f"{number}", f"I live in {talk.SAID[number % 3].split()[-1]}", scopes[number % 3]) for number in range(60)
        ]
        rig.publish(events)
        other = Rig(installation)
        rig.reach("ingest", "extract")
        before = resolve.BATCH
        resolve.BATCH = 3
        try:
            for _ in range(200):
                for number in range(2):
                    rig.step("resolve", number)
                    other.step("resolve", number)
        finally:
            resolve.BATCH = before
        rig.finish()
        assert rig.digests(scopes) == embedded(events)
        for number in range(2):
            assert decided_once(installation, number)


def decided_once(installation: Installation, number: int) -> bool:
    """Each input that lies on dynamics has one decision that counts."""
    from mnemolog.projections.reader import decided_inputs

    log = installation.partition(number).log
    decided = [item.offset for item in decided_inputs(log, 0)]
    firsts = log.first_offsets(list(log.read(DYNAMICS)))
    return sorted(decided) == [offset for offset, first in firsts.items() if first]


def test_a_scope_that_cannot_be_decided_stands_still_alone_and_goes_on(installation: Installation, rig: Rig) -> None:
    with scopes_of_its_own() as (ana, bob, _):
        talk_of = ["My name is Ana.", "I live in Bugtown.", "I live in Porto."]
        events = [turn(f"{number}", text, scope) for number, text in enumerate(talk_of) for scope in (ana, bob)]
        events = [event for event in events if event.scope == ana or "Bugtown" not in event.data["content"]]
        where = installation.of(ana)
        with a_bug_about("Bugtown"):
            rig.publish(events[:-1])
            rig.finish()
            assert list(parked(installation)) == [str(ana)]
            expected = embedded([event for event in events[:-1] if event.scope == bob])
            assert rig.digests([bob]) == expected
            rig.publish(events[-1:])
            rig.finish()
            first = parked(installation)[str(ana)]
        # A start with the bug mended: what waited is decided in order; its place is noted until its rows are there.
        rig.cores.clear()
        for _ in range(3):
            rig.step("resolve", where.number)
        assert parked(installation) == {str(ana): first}
        rig.finish()
        rig.step("resolve", where.number)
        assert parked(installation) == {}
        assert rig.digests([ana, bob]) == embedded(events)


def parked(installation: Installation) -> dict[str, int]:
    found: dict[str, int] = {}
    for number in range(installation.partitions):
        with installation.partition(number).store.reading() as (connection, _):
            found |= parked_offsets(connection)
    return found


def test_an_input_that_cannot_be_read_lets_its_scope_stand_still(installation: Installation, rig: Rig) -> None:
    with scopes_of_its_own() as (ana, bob, _):
        rig.publish([turn("1", "I live in Porto.", ana), turn("1", "I live in Rome.", bob)])
        rig.finish()
        newer = turn("2", "I live in Oslo.", ana).to_bytes().replace(b":turn.recorded:2", b":turn.recorded:99")
        where = installation.of(ana)
        installation.client.send(DYNAMICS, where.number, [Outgoing(str(ana), newer, START)])
        rig.publish([turn("3", "I live in Lima.", ana), turn("3", "I live in Lima.", bob)])
        rig.finish()
        assert rig.digests([bob]) == embedded([turn("1", "I live in Rome.", bob), turn("3", "I live in Lima.", bob)])
        assert rig.digests([ana]) == embedded([turn("1", "I live in Porto.", ana)])
        assert list(parked(installation)) == [str(ana)]
        ParkingLot(where.store).release(str(ana))


def test_what_lies_on_dynamics_under_no_scope_is_kept_out_and_hinders_nobody(installation: Installation, rig: Rig) -> None:
    """Also after a restart, which tries again whatever stands still."""
    with scopes_of_its_own() as (ana, _, _):
        where = installation.of(ana)
        strange = turn("2", "I live in Oslo.", ana).to_bytes()
        try:
            rig.publish([turn("1", "I live in Porto.", ana)])
            for key, value in (("", b"\x00"), ("", strange), ("nobody", b""), ("acme/another", strange)):
                installation.client.send(DYNAMICS, where.number, [Outgoing(key, value, START)])
            rig.finish()
            rig.cores.clear()
            rig.publish([turn("3", "I live in Lima.", ana)])
            rig.finish()
            expected = embedded([turn("1", "I live in Porto.", ana), turn("3", "I live in Lima.", ana)])
            assert rig.digests([ana]) == expected
            assert set(parked(installation)) == {"", "nobody", "acme/another"}
        finally:
            for key in ("", "nobody", "acme/another"):
                ParkingLot(where.store).release(key)


def without_oslo(stored: Stored) -> tuple[Envelope, Any]:
    """An older mnemolog, to which turns about Oslo are of a newer version."""
    if b"Oslo" in stored.value:
        raise NewerVersion("of a version that is not known here")
    return read_input(stored)


def test_what_strangers_leave_behind_on_the_workers_topics_counts_for_nothing(installation: Installation, rig: Rig) -> None:
    """No event, an event of another kind, one of another scope; met while working, and at a start."""
    with scopes_of_its_own() as (ana, _, _):
        where = installation.of(ana)
        first, second = turn("1", "I live in Porto.", ana), turn("2", "I live in Lima.", ana)

        def litter() -> None:
            for topic in (OBSERVATIONS, CHANGES, SUMMARIES):
                for value in (b"", b"\x00", b"{}", first.to_bytes()):
                    installation.client.send(
                        topic, where.number, [Outgoing(str(ana), value, START), Outgoing("", value, START)]
                    )

        rig.publish([first])
        litter()
        rig.finish()
        litter()
        rig.cores.clear()
        rig.publish([second])
        rig.finish()
        assert rig.digests([ana]) == embedded([first, second])


@pytest.mark.parametrize("first", ["resolve", "extract", "both"])
def test_what_only_a_newer_mnemolog_can_read_goes_on_with_it(installation: Installation, rig: Rig, first: str) -> None:
    """Whichever worker is newer first, and though the old ones have passed the input over long ago."""

    with scopes_of_its_own() as (ana, bob, _), pytest.MonkeyPatch.context() as patched:
        where = installation.of(ana)
        talk_of = ["I live in Porto.", "I live in Oslo.", "I like tea."]
        events = [turn(str(number), said, ana) for number, said in enumerate(talk_of)]
        events += [turn(str(number), said, bob) for number, said in enumerate(("I live in Rome.", "I like tea."))]
        patched.setattr(extract, "read_input", without_oslo)
        patched.setattr(resolve, "read_input", without_oslo)
        rig.publish(events)
        rig.finish()
        assert list(parked(installation)) == [str(ana)]
        assert rig.digests([ana, bob]) == embedded([events[0], *events[3:]])
        rig.cores.clear()
        patched.setattr(resolve, "read_input", read_input)
        if first == "resolve":
            rig.finish()
            assert list(parked(installation)) == [str(ana)]
            rig.cores = {key: core for key, core in rig.cores.items() if not isinstance(core, extract.ExtractCore)}
        patched.setattr(extract, "read_input", read_input)
        if first == "extract":
            rig.step("extract", where.number)
        later = turn("3", "I live in Lima.", ana)
        rig.publish([later])
        rig.finish()
        rig.step("resolve", where.number)
        assert parked(installation) == {}
        assert rig.digests([ana, bob]) == embedded([*events, later])


def test_extraction_that_is_older_than_resolution_holds_up_and_loses_nothing(installation: Installation, rig: Rig) -> None:
    with scopes_of_its_own() as (ana, _, _), pytest.MonkeyPatch.context() as patched:
        talk_of = ["I live in Oslo.", "I live in Rome.", "I like tea."]
        events = [turn(str(number), said, ana) for number, said in enumerate(talk_of)]
        patched.setattr(extract, "read_input", without_oslo)
        number = installation.of(ana).number
        rig.publish(events)
        for kind in ("ingest", "extract", "resolve") * 5:
            rig.step(kind, number)
        patched.setattr(extract, "read_input", read_input)
        for core in ("extract", "resolve"):
            rig.step(core, number)
        rig.cores.clear()
        rig.finish()
        assert rig.digests([ana]) == embedded(events)


class Listening:
    """Understands nothing, but records what it saw beside each turn; some turns are too much for its model."""

    name, window = "listening/1", 3

    def __init__(self) -> None:
        self.down: set[str] = set()

    def extract(self, turn: SeenTurn, window: Sequence[SeenTurn]) -> Extraction:
        if turn.id in self.down:
            raise ModelUnavailable(f"no answer about {turn.id}")
        return Extraction(candidates=[], context_ids=[seen.id for seen in window])


def until_idle(core: Core, log: PartitionLog) -> None:
    while core.position < log.end(core.topic):
        core.step(1.0)


def contexts(records: Sequence[Any]) -> list[tuple[str, list[str]]]:
    found = [Envelope.from_bytes(record.value).data for record in records]
    return [(data["input_id"], data["context_ids"]) for data in found if data.get("extractor") == "listening/1"]


@pytest.mark.parametrize("size", [1, 256])
def test_what_an_extractor_sees_is_the_same_in_any_batch_and_after_any_restart(installation: Installation, size: int) -> None:
    rig = Rig(installation, Listening())
    with scopes_of_its_own() as (ana, _, _):
        events = [turn(f"{number}", f"line {number}", ana) for number in range(6)]
        events.append(make(RetractionRequested(target="turn", target_id="4"), scope=ana, event_id="r", time=START))
        events += [turn(f"{number}", f"line {number}", ana) for number in range(6, 9)]
        events.append(make(ReextractRequested(turn_id="5"), scope=ana, event_id="again", time=START))
        events.append(make(ErasureRequested(), scope=ana, event_id="e", time=START))
        events += [turn(f"{number}", f"line {number}", ana) for number in range(9, 12)]
        with closing(memory_rig(Listening())) as other:
            other.add(events)
            expected = contexts(list(other.log.read(OBSERVATIONS)))
        before, extract.BATCH = extract.BATCH, size
        try:
            rig.publish(events[:8])
            rig.finish()
            rig.cores.clear()
            rig.publish(events[8:])
            rig.finish()
        finally:
            extract.BATCH = before
        log = installation.of(ana).log
        assert contexts(list(log.read(OBSERVATIONS, scope=ana))) == expected
        assert ("8", ["5", "6", "7"]) in expected
        assert ("6", ["2", "3", "5"]) in expected
        assert ("9", []) in expected


def test_a_model_that_is_down_holds_up_what_lies_behind_it_and_nothing_is_lost(installation: Installation) -> None:
    listening = Listening()
    rig = Rig(installation, listening)
    with scopes_of_its_own() as (ana, _, _):
        listening.down = {"2"}
        events = [turn(f"{number}", f"line {number}", ana) for number in range(4)]
        rig.publish(events)
        where = installation.of(ana)
        rig.reach("ingest")
        core = core_of("extract", installation, listening, None)(where.number)
        for _ in range(3):
            with pytest.raises(ModelUnavailable, match="about 2"):
                until_idle(core, where.log)
        assert [name for name, _ in contexts(list(where.log.read(OBSERVATIONS, scope=ana)))] == ["0", "1"]
        listening.down = set()
        rig.finish()
        assert contexts(list(where.log.read(OBSERVATIONS, scope=ana))) == [
            ("0", []),
            ("1", ["0"]),
            ("2", ["0", "1"]),
            ("3", ["0", "1", "2"]),
        ]


class Crowded(Listening):
    """Is asked about four scopes at once; about some turns it answers only when three are asked about together."""

    concurrency = 4

    def __init__(self) -> None:
        super().__init__()
        self.together = threading.Barrier(3)
        self.asked: list[str] = []

    def extract(self, turn: SeenTurn, window: Sequence[SeenTurn]) -> Extraction:
        self.asked.append(turn.id)
        if turn.turn.content == "together":
            self.together.wait(60)
        return super().extract(turn, window)


def test_scopes_are_understood_side_by_side_each_in_its_order(services: Services, prefix: str) -> None:
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=1)
    with closing(Installation(servers)) as installation:
        crowded = Crowded()
        rig = Rig(installation, crowded)
        scopes = [Scope("acme", name) for name in ("a", "b", "c")]
        contents = ["together", "alone", "alone"]
        rig.publish([turn(f"{scope.subject}{n}", contents[n], scope) for n in range(3) for scope in scopes])
        rig.reach("ingest")
        crowded.down = {"b1"}
        core = core_of("extract", installation, crowded, None)(0)
        with pytest.raises(ModelUnavailable, match="about b1"):
            until_idle(core, installation.partition(0).log)
        log = installation.partition(0).log
        assert [name for name, _ in contexts(list(log.read(OBSERVATIONS)))] == ["a0", "b0", "c0", "a1"]
        # Once the model answers, nothing is asked twice but what had no answer.
        crowded.down, crowded.together = set(), threading.Barrier(1)
        until_idle(core, log)
        rig.finish()
        found = contexts(list(log.read(OBSERVATIONS)))
        assert [name for name, _ in found] == [f"{scope.subject}{n}" for n in range(3) for scope in scopes]
        assert dict(found)["b2"] == ["b0", "b1"]
        assert sorted(set(crowded.asked)) == sorted(name for name, _ in found)
        assert [crowded.asked.count(name) for name in ("a0", "b0", "c0", "a1", "c1")] == [1] * 5


def test_records_of_strangers_that_repeat_or_do_not_link_change_nothing(installation: Installation, rig: Rig) -> None:
    with scopes_of_its_own() as scopes:
        events = [turn(f"{number}", f"I like {word}.", scopes[number % 2]) for number, word in enumerate(("tea", "rice") * 4)]
        rig.publish(events)
        rig.finish()
        for scope in scopes[:2]:
            where = installation.of(scope)
            for topic in (DYNAMICS, OBSERVATIONS, CHANGES):
                again = [Outgoing(record.scope, record.value, START) for record in where.log.read(topic, scope=scope)]
                installation.client.send(topic, where.number, again)
        rig.publish(events)
        rig.publish([turn("later", "I like soup.", scopes[0])])
        rig.finish()
        assert rig.digests(scopes) == embedded([*events, turn("later", "I like soup.", scopes[0])])


def test_tables_that_went_live_behind_a_worker_are_filled_from_where_they_stand(installation: Installation, rig: Rig) -> None:
    with scopes_of_its_own() as (ana, _, _):
        where = installation.of(ana)
        rig.publish([turn("1", "I live in Lisbon.", ana)])
        rig.finish()
        store = where.store
        replaced, empty = store.live_version(), max(store.table_versions()) + 1
        store.make_version(empty, VersionNote(state="ready", schema=SCHEMA_VERSION))
        with store.writing() as (connection, _):
            write_note(connection, replaced, VersionNote(state="ready", schema=SCHEMA_VERSION))
            store.set_live(connection, empty)
        assert digest_store(store) == {}
        told = [turn("1", "I live in Lisbon.", ana), turn("2", "I moved to Porto.", ana)]
        rig.publish(told[1:])
        rig.finish()
        assert (store.live_version(), rig.digests([ana])) == (empty, embedded(told))
        assert check(where.log, store, state=where.state).report.differences == []
