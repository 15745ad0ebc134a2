"""Whatever is done to a sealed log, the first place where it is not as it was is named, and what was done there; where nothing
was done, nothing is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.processors.core.ports import Stored
from mnemolog.schemas.events import DYNAMICS
from replay.sealed import DoctoredLog, at_once, checked, head, new_store, plain, sealed

LENGTHS = st.integers(1, 24)
BLOCKS = st.integers(1, 9)
GAPS = st.lists(st.sampled_from([0, 0, 0, 0, 1, 5]), min_size=24, max_size=24)


def log_of(contents: Sequence[str], gaps: Sequence[int]) -> list[Stored]:
    """Records with these contents; `gaps`: how many offsets are left out before each."""
    offset, records = -1, []
    for content, gap in zip(contents, gaps, strict=False):
        offset += gap + 1
        records.append(plain(offset, content, scope=f"acme/user:{len(content) % 3}"))
    return records


def moved_up(before: Sequence[Stored], after: Sequence[Stored]) -> list[Stored]:
    """`after` at the places of `before`, and behind them."""
    last = before[-1].offset if before else -1
    places = [record.offset for record in before] + [last + 1 + more for more in range(len(after))]
    return [msgspec.structs.replace(record, offset=place) for record, place in zip(after, places, strict=False)]


def first_difference(before: Sequence[Stored], after: Sequence[Stored]) -> int | None:
    """The offset of the first sealed place that is not as it was."""
    for old, new in zip_longest(before, after):
        if old is None:
            return None  # only the tail is longer
        if new is None:
            return old.offset
        if old != new:
            return min(old.offset, new.offset)
    return None


def alter(records: list[Stored], at: int, to: int) -> list[Stored]:
    return [*records[:at], msgspec.structs.replace(records[at], value=b"altered"), *records[at + 1 :]]


def alter_key(records: list[Stored], at: int, to: int) -> list[Stored]:
    return [*records[:at], msgspec.structs.replace(records[at], scope="acme/user:stranger"), *records[at + 1 :]]


def alter_time(records: list[Stored], at: int, to: int) -> list[Stored]:
    return [*records[:at], msgspec.structs.replace(records[at], recorded="2020-01-01T00:00:00.000000Z"), *records[at + 1 :]]


def delete(records: list[Stored], at: int, to: int) -> list[Stored]:
    return [*records[:at], *records[at + 1 :]]


def delete_and_move_up(records: list[Stored], at: int, to: int) -> list[Stored]:
    return moved_up(records, delete(records, at, to))


def cut(records: list[Stored], at: int, to: int) -> list[Stored]:
    return records[:at]


def insert(records: list[Stored], at: int, to: int) -> list[Stored]:
    return moved_up(records, [*records[:at], plain(0, "inserted"), *records[at:]])


def repeat(records: list[Stored], at: int, to: int) -> list[Stored]:
    return moved_up(records, [*records[:at], records[to], *records[at:]])


def swap(records: list[Stored], at: int, to: int) -> list[Stored]:
    after = list(records)
    after[at], after[to] = after[to], after[at]
    return moved_up(records, after)


def move(records: list[Stored], at: int, to: int) -> list[Stored]:
    after = list(records)
    after.insert(to, after.pop(at))
    return moved_up(records, after)


TAMPERINGS: dict[Callable[[list[Stored], int, int], list[Stored]], str] = {
    alter: "altered",
    alter_key: "altered",
    alter_time: "altered",
    delete: "deleted",
    delete_and_move_up: "deleted",
    cut: "deleted",
    insert: "inserted",
    repeat: "inserted",
    swap: "reordered",
    move: "reordered",
}


@given(LENGTHS, GAPS, BLOCKS, st.sampled_from(list(TAMPERINGS)), st.data())
def test_what_was_done_is_named_at_the_record_that_it_was_done_to(
    length: int, gaps: list[int], block: int, tamper: Callable[[list[Stored], int, int], list[Stored]], data: st.DataObject
) -> None:
    """One tampering of a log whose records are all different."""
    records = log_of([f"record {number}" for number in range(length)], gaps)
    at, to = data.draw(st.integers(0, length - 1)), data.draw(st.integers(0, length - 1))
    tail = [plain(records[-1].offset + 1 + more, f"tail {more}") for more in range(data.draw(st.integers(0, 3)))]
    store = new_store()
    log = DoctoredLog(records)
    sealed(log, store, block=block)
    assert checked(log, store).intact
    log.hold([*records, *tail])
    found = checked(log, store)
    assert (found.intact, found.sealed, found.checked, found.unsealed) == (True, length, length, len(tail))
    after = tamper(records, at, to)
    log.hold([*after, *tail] if tamper is delete or len(after) == length else after)
    where = first_difference(records, log.held())
    found = checked(log, store)
    assert found.intact == (where is None)
    if where is not None:
        [named] = found.breaks
        kind = TAMPERINGS[tamper]
        assert (named.topic, named.partition, named.offset, named.kind) == (DYNAMICS, 0, where, kind)
        at = next(place for place, record in enumerate(records) if record.offset >= where)
        assert found.checked == at
        if kind in ("altered", "deleted"):
            assert named.scope == records[at].scope
        else:
            assert named.scope == next(record.scope for record in log.held() if record.offset == where)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=16), GAPS, BLOCKS, st.data())
def test_of_any_tamperings_the_first_place_is_named(
    contents: list[str], gaps: list[int], block: int, data: st.DataObject
) -> None:
    """Several, one upon the other, of a log with records that are the same."""
    records = log_of(contents, gaps)
    store = new_store()
    log = DoctoredLog(records)
    sealed(log, store, block=block)
    after = records
    for tamper in data.draw(st.lists(st.sampled_from(list(TAMPERINGS)), max_size=4)):
        if after:
            places = st.integers(0, len(after) - 1)
            after = tamper(after, data.draw(places), data.draw(places))
    log.hold(after)
    where = first_difference(records, after)
    found = checked(log, store)
    assert [item.offset for item in found.breaks] == ([] if where is None else [where])
    assert found.intact == (where is None)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), GAPS, BLOCKS, BLOCKS)
def test_sealing_in_steps_is_sealing_at_once(steps: list[int], gaps: list[int], block: int, other: int) -> None:
    records = log_of([f"record {number}" for number in range(min(sum(steps) + 1, len(gaps)))], gaps)
    store, log, held = new_store(), DoctoredLog(), 0
    for number, step in enumerate([*steps, len(records)]):
        held = min(held + step, len(records))
        log.hold(records[:held])
        sealed(log, store, block=block if number % 2 else other)
        again = sealed(log, store)
        assert [item.sealed for item in again] == [0] * len(again)
    assert head(log, store) == at_once(log, other)
    found = checked(log, store)
    assert (found.intact, found.sealed, found.checked, found.unsealed) == (True, len(records), len(records), 0)
