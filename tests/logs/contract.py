"""What every event log must do. An adapter joins by subclassing `LogContract` in a test module and giving it `make_log`; the
tests ask nothing of an offset but its order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from mnemolog.processors.core.ports import EventLog, Stored
from mnemolog.schemas.codec import sha256_hex
from mnemolog.schemas.envelope import Envelope, Position
from mnemolog.schemas.errors import Closed, ConflictingContent, InvalidInput, StaleDecision
from mnemolog.schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, SUMMARIES, decode
from mnemolog.schemas.scope import Scope
from support.events import OTHER, SCOPE, START, ManualClock, decision, observation, turn, turns

__all__ = ["LogContract", "ids", "run_all"]


def ids(records: Iterator[Stored]) -> list[str]:
    return [Envelope.from_bytes(record.value).id for record in records]


def run_all(jobs: list[Callable[[], None]]) -> None:
    """Runs jobs in threads of their own, all at once, and raises the first error of any."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(jobs))

    def guarded(job: Callable[[], None]) -> None:
        try:
            barrier.wait()
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class LogContract:
    """Subclass it as `Test...` and override `make_log`."""

    def make_log(self, clock: ManualClock) -> EventLog:
        """A new, empty log that stamps by `clock`."""
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def log(self, clock: ManualClock) -> Iterator[EventLog]:
        log = self.make_log(clock)
        yield log
        log.close()

    # -- inputs --------------------------------------------------------------------------------------------------------

    def test_an_empty_log(self, log: EventLog) -> None:
        assert log.log_id
        assert log.epoch == 1
        assert log.partitions >= 1
        assert log.end(DYNAMICS) == 0
        assert list(log.read(DYNAMICS)) == []
        assert log.last_input(SCOPE) is None
        assert log.head(SCOPE) == ""
        assert log.position_of(SCOPE, "mnemolog", "nobody") is None
        assert log.offset_at(DYNAMICS, START) == 0

    def test_two_logs_have_different_ids(self, log: EventLog, clock: ManualClock) -> None:
        other = self.make_log(clock)
        assert other.log_id != log.log_id
        other.close()

    def test_an_input_comes_back_as_it_was_with_its_recorded_time(self, log: EventLog, clock: ManualClock) -> None:
        given = turn("a", "I live in Berlin. 我住在柏林。")
        [placed] = log.append_inputs([given])
        [stored] = log.read(DYNAMICS)
        envelope, data = decode(stored.value)
        assert placed.fresh
        assert placed.event_id == "a"
        assert placed.position == Position(log.epoch, stored.partition, stored.offset)
        assert (stored.topic, stored.scope, stored.recorded) == (DYNAMICS, "acme/user:1", START)
        assert envelope.recordedtime == START
        assert envelope.data == given.data
        assert data.content == "I live in Berlin. 我住在柏林。"
        assert log.end(DYNAMICS) > stored.offset

    def test_the_recorded_time_is_the_logs_own(self, log: EventLog) -> None:
        given = turn("a")
        forged = Envelope.from_bytes(
            given.to_bytes().replace(b'"data":', b'"recordedtime":"1999-01-01T00:00:00.000000Z","data":')
        )
        log.append_inputs([forged])
        [stored] = log.read(DYNAMICS)
        assert stored.recorded == START
        assert Envelope.from_bytes(stored.value).recordedtime == START

    def test_order_is_the_order_of_appending(self, log: EventLog) -> None:
        placed = log.append_inputs(turns(5)) + log.append_inputs(turns(5, prefix="later"))
        offsets = [item.position.offset for item in placed]
        assert offsets == sorted(set(offsets))
        assert ids(log.read(DYNAMICS)) == [item.event_id for item in placed]

    def test_a_retry_is_placed_where_the_first_lies(self, log: EventLog) -> None:
        first = log.append_inputs(turns(3))
        again = log.append_inputs(turns(3))
        assert [item.position for item in again] == [item.position for item in first]
        assert [item.fresh for item in again] == [False] * 3
        assert len(list(log.read(DYNAMICS))) == 3

    def test_a_repeat_within_a_batch_is_stored_once(self, log: EventLog) -> None:
        placed = log.append_inputs([turn("a"), turn("b"), turn("a")])
        assert [item.fresh for item in placed] == [True, True, False]
        assert placed[2].position == placed[0].position
        assert ids(log.read(DYNAMICS)) == ["a", "b"]

    def test_other_content_under_an_id_is_refused_and_neither_is_told(self, log: EventLog) -> None:
        first, second = turn("a", "I like tea."), turn("a", "I like coffee.")
        log.append_inputs([first])
        with pytest.raises(ConflictingContent) as caught:
            log.append_inputs([turn("b"), second, turn("c")])
        error = caught.value
        assert (error.scope, error.source, error.event_id) == ("acme/user:1", "mnemolog", "a")
        assert (error.recorded_hash, error.given_hash) == (first.content_hash, second.content_hash)
        # Who may write need not be allowed to read: a hash in the message would let them try out what was said.
        assert "'a'" in str(error)
        assert not [item for item in (first, second) if item.content_hash[:12] in str(error)]
        assert ids(log.read(DYNAMICS)) == ["a"]
        assert log.position_of(SCOPE, "mnemolog", "b") is None
        # What was refused left no trace: the same ids are free.
        assert all(item.fresh for item in log.append_inputs([turn("b"), turn("c")]))

    def test_other_content_within_a_batch_is_refused(self, log: EventLog) -> None:
        with pytest.raises(ConflictingContent):
            log.append_inputs([turn("a", "one"), turn("a", "two")])
        assert list(log.read(DYNAMICS)) == []

    def test_an_id_belongs_to_its_scope_and_source(self, log: EventLog) -> None:
        events = [turn("a", "one"), turn("a", "two", OTHER), turn("a", "three", source="crm")]
        placed = log.append_inputs(events)
        assert [item.fresh for item in placed] == [True] * 3
        assert log.position_of(SCOPE, "mnemolog", "a") == placed[0].position
        assert log.position_of(OTHER, "mnemolog", "a") == placed[1].position
        assert log.position_of(SCOPE, "crm", "a") == placed[2].position
        assert log.position_of(OTHER, "crm", "a") is None

    def test_an_event_that_cannot_be_written_leaves_nothing_of_its_batch(self, log: EventLog) -> None:
        bad = Envelope(
            id="bad", type="turn.recorded", tenant="acme", subject="user:1", time=START,
            dataschema="urn:mnemolog:turn.recorded:2", data={"content": "\ud800"},
        )  # fmt: skip
        with pytest.raises(InvalidInput):
            log.append_inputs([turn("a"), bad])
        assert list(log.read(DYNAMICS)) == []
        assert log.last_input(SCOPE) is None

    def test_an_empty_batch(self, log: EventLog) -> None:
        assert log.append_inputs([]) == []
        assert log.append_derived(OBSERVATIONS, []) == 0
        assert log.append_decisions([]) == []
        assert log.append_processed([], []) == []
        assert log.end(DYNAMICS) == 0

    @pytest.mark.parametrize(
        "text",
        [
            "a\0b",
            "\x01\x7f\u2028\ufeff",
            "é",
            "e\u0301",
            "👩‍👩‍👧 🏳️‍🌈",
            "\U0010ffff\ufffe",
            '"\\\r\n\t',
            "מזל טוב",
            "'; DROP TABLE x",
        ],
    )
    def test_any_text_comes_back_exactly(self, log: EventLog, text: str) -> None:
        envelope = Envelope(
            id=f"id {text!a}", type="turn.recorded", tenant="acme", subject="user:1", time=START,
            dataschema="urn:mnemolog:turn.recorded:2", data={"content": text},
        )  # fmt: skip
        log.append_inputs([envelope])
        [stored] = log.read(DYNAMICS)
        assert Envelope.from_bytes(stored.value).data["content"] == text

    def test_keys_are_compared_code_point_by_code_point(self, log: EventLog) -> None:
        names = ["Zoë", "Zoe\u0308", "zoë", "ZOË", "用户", "用戶", "user:1 ", "user:1%", "user:_"]
        scopes = [Scope("tenant 租户", name) for name in names]
        log.append_inputs([turn(name, scope=scope) for scope in scopes for name in names])
        for scope in scopes:
            assert ids(log.read(DYNAMICS, scope=scope)) == names
        assert log.position_of(scopes[0], "mnemolog", "nothing\ud800") is None

    def test_large_values(self, log: EventLog) -> None:
        contents = {f"big-{number}": f"{number}" * (1_000_000 + number) for number in range(5)}
        log.append_inputs([turn(event_id, content) for event_id, content in contents.items()])
        log.append_inputs([turn("small")])
        read = {(event := decode(stored.value))[0].id: event[1].content for stored in log.read(DYNAMICS)}
        assert read == {**contents, "small": "this is small"}

    # -- derived records -----------------------------------------------------------------------------------------------

    def test_the_first_derived_record_wins(self, log: EventLog) -> None:
        a, b = turns(2)
        first = observation(a, raw="first")
        assert log.append_derived(OBSERVATIONS, [first]) == 1
        assert log.append_derived(OBSERVATIONS, [observation(a, raw="second"), observation(b), observation(b, raw="x")]) == 1
        assert [stored.value for stored in log.read(OBSERVATIONS)] == [first.to_bytes(), observation(b).to_bytes()]

    def test_topics_do_not_share_ids_or_offsets(self, log: EventLog) -> None:
        [a] = turns(1)
        event = observation(a)
        assert log.append_derived(OBSERVATIONS, [event]) == 1
        assert log.append_derived(SUMMARIES, [event]) == 1
        assert [stored.topic for stored in log.read(SUMMARIES)] == [SUMMARIES]
        assert log.end(DYNAMICS) == 0
        assert log.last_input(SCOPE) is None

    def test_topics_with_rules_of_their_own_are_refused(self, log: EventLog) -> None:
        event = observation(turn("a"))
        for topic in (DYNAMICS, CHANGES, "memory.nonsense.v1"):
            with pytest.raises(InvalidInput, match="topic"):
                log.append_derived(topic, [event])
        with pytest.raises(InvalidInput, match="topic"):
            log.read("nonsense")
        with pytest.raises(InvalidInput, match="partition"):
            log.end(DYNAMICS, partition=99)

    # -- decisions -----------------------------------------------------------------------------------------------------

    def test_decisions_link_within_and_across_batches(self, log: EventLog) -> None:
        a, b, c = turns(3)
        first = decision(a, "")
        second = decision(b, sha256_hex(first.to_bytes()))
        hashes = log.append_decisions([first, second])
        assert hashes == [sha256_hex(first.to_bytes()), sha256_hex(second.to_bytes())]
        assert log.head(SCOPE) == hashes[1]
        [third] = log.append_decisions([decision(c, hashes[1])])
        assert log.head(SCOPE) == third
        stored = list(log.read(CHANGES))
        assert [sha256_hex(record.value) for record in stored] == [*hashes, third]
        assert stored[0].value == first.to_bytes()

    def test_scopes_have_chains_of_their_own(self, log: EventLog) -> None:
        a, b = turn("a"), turn("b", scope=OTHER)
        hashes = log.append_decisions([decision(a, ""), decision(b, "")])
        assert (log.head(SCOPE), log.head(OTHER)) == (hashes[0], hashes[1])

    @pytest.mark.parametrize("given", ["", "0" * 64])
    def test_a_stale_decision_is_refused_with_its_whole_batch(self, log: EventLog, given: str) -> None:
        a, b = turns(2)
        [head] = log.append_decisions([decision(a, "")])
        with pytest.raises(StaleDecision) as caught:
            log.append_decisions([decision(turn("c", scope=OTHER), ""), decision(b, given)])
        assert (caught.value.scope, caught.value.expected, caught.value.given) == ("acme/user:1", head, given)
        assert log.head(SCOPE) == head
        assert log.head(OTHER) == ""
        assert len(list(log.read(CHANGES))) == 1

    def test_a_second_decision_under_one_id_is_refused(self, log: EventLog) -> None:
        [a] = turns(1)
        [head] = log.append_decisions([decision(a, "")])
        with pytest.raises(ConflictingContent):
            log.append_decisions([decision(a, head)])
        assert log.head(SCOPE) == head

    def test_a_second_decision_under_one_id_within_a_batch_is_refused(self, log: EventLog) -> None:
        first = decision(turn("a"), "")
        with pytest.raises(ConflictingContent):
            log.append_decisions([first, decision(turn("a"), sha256_hex(first.to_bytes()))])
        assert log.head(SCOPE) == ""

    def test_a_decision_without_a_link_is_refused(self, log: EventLog) -> None:
        with pytest.raises(InvalidInput, match="prev"):
            log.append_decisions([turn("a")])

    def test_observations_and_decisions_are_one_step(self, log: EventLog) -> None:
        a, b = turns(2)
        [head] = log.append_processed([observation(a)], [decision(a, "")])
        with pytest.raises(StaleDecision):
            log.append_processed([observation(b)], [decision(b, "")])
        assert len(list(log.read(OBSERVATIONS))) == 1
        # An observation that is there already does not stand in the decision's way.
        hashes = log.append_processed([observation(a, raw="other"), observation(b)], [decision(b, head)])
        assert log.head(SCOPE) == hashes[0]
        assert [stored.value for stored in log.read(OBSERVATIONS)] == [observation(a).to_bytes(), observation(b).to_bytes()]

    def test_of_two_writers_on_one_head_one_wins(self, log: EventLog) -> None:
        events = turns(8)
        won: list[str] = []

        def write(event: Envelope) -> Callable[[], None]:
            def job() -> None:
                with suppress(StaleDecision):
                    won.extend(log.append_decisions([decision(event, "")]))

            return job

        run_all([write(event) for event in events])
        assert len(won) == 1
        assert log.head(SCOPE) == won[0]
        assert len(list(log.read(CHANGES))) == 1

    def test_deciders_that_try_again_make_one_chain(self, log: EventLog) -> None:
        def decide_all(prefix: str) -> Callable[[], None]:
            def job() -> None:
                for event in turns(15, prefix=prefix):
                    while True:
                        try:
                            log.append_processed([observation(event)], [decision(event, log.head(SCOPE))])
                        except StaleDecision:
                            continue
                        break

            return job

        run_all([decide_all(prefix) for prefix in ("x", "y", "z")])
        head = ""
        for stored in log.read(CHANGES):
            assert Envelope.from_bytes(stored.value).data["prev"] == head
            head = sha256_hex(stored.value)
        assert log.head(SCOPE) == head
        assert len(list(log.read(CHANGES))) == len(list(log.read(OBSERVATIONS))) == 45

    # -- reading -------------------------------------------------------------------------------------------------------

    def test_reading_from_a_position_with_a_limit(self, log: EventLog) -> None:
        placed = log.append_inputs(turns(10))
        third = placed[3].position.offset
        assert ids(log.read(DYNAMICS, third)) == [f"turn-{n}" for n in range(3, 10)]
        assert ids(log.read(DYNAMICS, third, 2)) == ["turn-3", "turn-4"]
        assert ids(log.read(DYNAMICS, third, 0)) == []
        assert ids(log.read(DYNAMICS, third, 1000)) == [f"turn-{n}" for n in range(3, 10)]
        assert ids(log.read(DYNAMICS, log.end(DYNAMICS))) == []
        assert ids(log.read(DYNAMICS, log.end(DYNAMICS) + 1000)) == []

    def test_reading_one_scope(self, log: EventLog) -> None:
        for number in range(10):
            log.append_inputs([turn(f"a{number}"), turn(f"b{number}", scope=OTHER)])
        assert ids(log.read(DYNAMICS, scope=OTHER)) == [f"b{n}" for n in range(10)]
        fourth = log.position_of(OTHER, "mnemolog", "b4")
        assert fourth is not None
        assert ids(log.read(DYNAMICS, fourth.offset, 3, scope=OTHER)) == ["b4", "b5", "b6"]
        assert ids(log.read(DYNAMICS, fourth.offset, 2, scope=SCOPE)) == ["a5", "a6"]
        assert ids(log.read(DYNAMICS, scope=Scope("acme", "nobody"))) == []
        assert log.last_input(SCOPE) == [stored.offset for stored in log.read(DYNAMICS, scope=SCOPE)][-1]
        assert {stored.scope for stored in log.read(DYNAMICS, scope=SCOPE)} == {"acme/user:1"}

    def test_a_read_ends_where_the_log_ended_when_it_was_called(self, log: EventLog) -> None:
        log.append_inputs(turns(3))
        records = log.read(DYNAMICS)
        log.append_inputs([turn("late")])
        assert ids(records) == ["turn-0", "turn-1", "turn-2"]

    def test_a_slow_reader_holds_nobody_up(self, log: EventLog) -> None:
        log.append_inputs(turns(3))
        records = log.read(DYNAMICS)
        next(records)
        log.append_inputs(turns(3, prefix="meanwhile"))
        assert ids(log.read(DYNAMICS))[3:] == [f"meanwhile-{n}" for n in range(3)]
        assert ids(records) == ["turn-1", "turn-2"]

    def test_many_records(self, log: EventLog) -> None:
        events = turns(3000)
        placed = log.append_inputs(events[:1700]) + log.append_inputs(events[1700:])
        assert ids(log.read(DYNAMICS)) == [event.id for event in events]
        assert ids(log.read(DYNAMICS, placed[511].position.offset, 1025)) == [event.id for event in events[511:1536]]

    def test_offsets_by_time(self, log: EventLog, clock: ManualClock) -> None:
        placed = []
        for number in range(5):
            placed += log.append_inputs([turn(f"{number}a"), turn(f"{number}b")])
            clock.move(60)
        offsets = [item.position.offset for item in placed]
        assert log.offset_at(DYNAMICS, "2026-05-07T12:00:00.000000Z") == offsets[0]
        assert log.offset_at(DYNAMICS, START) == offsets[0]
        assert log.offset_at(DYNAMICS, "2026-05-07T13:00:00.000001Z") == offsets[2]
        assert log.offset_at(DYNAMICS, "2026-05-07T13:02:00.000000Z") == offsets[4]
        assert log.offset_at(DYNAMICS, "2026-05-07T13:04:00.000000Z") == offsets[8]
        assert log.offset_at(DYNAMICS, "2026-05-07T13:04:00.000001Z") == log.end(DYNAMICS)
        assert log.offset_at(CHANGES, START) == log.end(CHANGES)

    def test_recorded_time_never_goes_back(self, log: EventLog, clock: ManualClock) -> None:
        [a] = turns(1)
        log.append_inputs([a])
        clock.move(60)
        log.append_derived(OBSERVATIONS, [observation(a)])
        clock.move(-3600)
        log.append_inputs([turn("b")])
        log.append_decisions([decision(a, "")])
        later = "2026-05-07T13:01:00.000000Z"
        assert [stored.recorded for stored in log.read(DYNAMICS)] == [START, later]
        assert [stored.recorded for stored in log.read(CHANGES)] == [later]

    # -- following -----------------------------------------------------------------------------------------------------

    def test_wait_returns_at_once_or_after_its_time(self, log: EventLog) -> None:
        assert log.wait(DYNAMICS, 0, 0.01) is False
        log.append_inputs(turns(1))
        assert log.wait(DYNAMICS, 0, 60) is True
        assert log.wait(DYNAMICS, log.end(DYNAMICS), 0) is False

    def test_wait_follows_the_tail_from_another_thread(self, log: EventLog) -> None:
        seen: list[str] = []

        def follow() -> None:
            at = 0
            while len(seen) < 30:
                assert log.wait(DYNAMICS, at, 60)
                for stored in log.read(DYNAMICS, at):
                    seen.append(Envelope.from_bytes(stored.value).id)
                    at = stored.offset + 1

        def write() -> None:
            for event in turns(30):
                log.append_inputs([event])

        run_all([follow, write])
        assert seen == [event.id for event in turns(30)]

    # -- several threads -----------------------------------------------------------------------------------------------

    def test_concurrent_writers_lose_nothing(self, log: EventLog) -> None:
        batches = [[turns(5, prefix=f"{writer}-{number}") for number in range(8)] for writer in range(6)]
        placed: dict[str, int] = {}

        def write(mine: list[list[Envelope]]) -> Callable[[], None]:
            def job() -> None:
                for batch in mine:
                    placed.update({item.event_id: item.position.offset for item in log.append_inputs(batch)})

            return job

        run_all([write(mine) for mine in batches])
        stored = {Envelope.from_bytes(record.value).id: record.offset for record in log.read(DYNAMICS)}
        assert stored == placed
        assert len(stored) == 240
        for mine in batches:
            offsets = [stored[event.id] for batch in mine for event in batch]
            assert offsets == sorted(offsets)

    def test_concurrent_retries_of_one_event_store_it_once(self, log: EventLog) -> None:
        fresh: list[bool] = []
        run_all([lambda: fresh.append(log.append_inputs([turn("same")])[0].fresh) for _ in range(8)])
        assert sorted(fresh) == [False] * 7 + [True]
        assert len(list(log.read(DYNAMICS))) == 1

    # -- the end -------------------------------------------------------------------------------------------------------

    def test_a_closed_log_says_so(self, log: EventLog) -> None:
        log.append_inputs(turns(2))
        records = log.read(DYNAMICS)
        log.close()
        log.close()
        for use in (
            lambda: log.append_inputs(turns(1)),
            lambda: log.append_derived(OBSERVATIONS, [observation(turn("a"))]),
            lambda: log.append_decisions([decision(turn("a"), "")]),
            lambda: list(log.read(DYNAMICS)),
            lambda: list(records),
            lambda: log.end(DYNAMICS),
            lambda: log.head(SCOPE),
            lambda: log.last_input(SCOPE),
            lambda: log.position_of(SCOPE, "mnemolog", "turn-0"),
            lambda: log.offset_at(DYNAMICS, START),
            lambda: log.wait(DYNAMICS, 0, 0),
        ):
            with pytest.raises(Closed):
                use()

    def test_closing_ends_a_wait(self, log: EventLog) -> None:
        waiting = threading.Event()

        def follow() -> None:
            waiting.set()
            with pytest.raises(Closed):
                log.wait(DYNAMICS, 0, 600)

        def close() -> None:
            waiting.wait()
            log.close()

        run_all([follow, close])
