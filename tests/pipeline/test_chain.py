"""One thread takes what comes through every kind of work; what was appended is passed on from memory, and never with a gap."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from mnemolog.adapters.kafka.tail import Firsts, Tail
from mnemolog.processors.core.ports import Stored
from mnemolog.processors.pipeline.chain import Chain
from mnemolog.processors.pipeline.lanes import Fault
from mnemolog.schemas.errors import Unavailable
from mnemolog.schemas.events import DYNAMICS

SECONDS = 20.0


def record(offset: int, value: bytes = b"{}") -> Stored:
    return Stored(DYNAMICS, 0, offset, "acme/user:1", value, "2025-01-01T00:00:00.000000Z")


def test_what_was_appended_is_read_from_where_it_begins() -> None:
    tail = Tail()
    assert tail.read(0, 10) == []
    tail.add([record(5), record(6)])
    tail.add([record(7)])
    assert [item.offset for item in tail.read(5, 10)] == [5, 6, 7]
    assert [item.offset for item in tail.read(6, 1)] == [6]
    assert tail.read(4, 10) == tail.read(8, 10) == []
    assert (tail.is_behind(7), tail.is_behind(8)) == (True, False)


def test_nothing_is_kept_before_a_gap() -> None:
    tail = Tail()
    tail.add([record(0), record(1)])
    tail.add([record(3)])
    assert tail.read(0, 10) == []
    assert [item.offset for item in tail.read(3, 10)] == [3]


def test_only_so_much_is_kept() -> None:
    tail = Tail()
    tail.add([record(offset) for offset in range(3000)])
    assert tail.read(0, 1) == []
    assert [item.offset for item in tail.read(2999, 5)] == [2999]
    tail.add([record(3000, b"x" * 5_000_000)])
    assert tail.read(2999, 1) == []
    assert len(tail.read(3000, 1)) == 1


def test_others_are_asked_about_now_and_then() -> None:
    tail = Tail()
    assert not tail.ends_at(0)
    tail.add([record(0)])
    assert [tail.ends_at(1), tail.ends_at(1), tail.ends_at(0)] == [False, True, False]


def test_first_records_count_once_the_index_has_them() -> None:
    firsts = Firsts()
    firsts.appended([1, 2])
    assert firsts.among([1, 2, 3]) == []
    firsts.settle()
    assert firsts.among([3, 2, 1]) == [2, 1]


class Core:
    """Passes on as many records as the one before it has passed on."""

    topic = DYNAMICS

    def __init__(self, name: str, given: Callable[[], int], wrong: list[Exception]) -> None:
        self.name, self.given, self.wrong = name, given, wrong
        self.position = 0
        self.threads: set[int] = set()
        self.reached = threading.Event()

    def step(self, timeout: float) -> int:
        self.threads.add(threading.get_ident())
        if self.wrong:
            raise self.wrong.pop()
        done = self.given() - self.position
        self.position += done
        if self.position == 3:
            self.reached.set()
        return done


def chain_of(cores: list[list[Core]], fault: Fault) -> Chain:
    rows = [{core.name: (lambda _, core=core: core) for core in row} for row in cores]
    return Chain(0, rows, lambda topic, partition, offset: False, fault)


def test_a_row_shares_a_thread_and_goes_on_after_what_passes_by_itself() -> None:
    head = Core("head", lambda: 3, [])
    middle = Core("middle", lambda: head.position, [Unavailable("a server is down")])
    last = Core("last", lambda: middle.position, [])
    aside = Core("aside", lambda: 3, [])
    fault = Fault(lambda: None)
    chain = chain_of([[head, middle, last], [aside]], fault)
    chain.start()
    assert last.reached.wait(SECONDS)
    assert aside.reached.wait(SECONDS)
    chain.ask_to_stop()
    assert chain.join(SECONDS)
    assert (chain.begun, chain.position(), fault.error) == (True, 3, None)
    assert head.threads == middle.threads == last.threads != aside.threads


@pytest.mark.parametrize("place", [0, 1])
def test_an_unexpected_error_ends_the_row_and_is_told(place: int) -> None:
    wrong = ZeroDivisionError("a bug")
    cores = [Core("head", lambda: 3, []), Core("last", lambda: 3, [])]
    cores[place].wrong.append(wrong)
    ended = threading.Event()
    fault = Fault(ended.set)
    chain = chain_of([[*cores]], fault)
    chain.start()
    assert ended.wait(SECONDS)
    assert chain.join(SECONDS)
    assert fault.error is wrong
