"""What must hold after a round, whatever happened in it: the digest of the undisturbed run, the sums, one valid decision for
each input, answers. Everything is counted from the topics, by code that shares little with the workers but the formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from chaos.settled import parked
from chaos.story import Story
from engine.talk import Rig
from mnemolog.adapters.kafka.client import partition_of
from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.processors.core.chain import ValidDecision, valid_decisions
from mnemolog.processors.core.ports import Extractor, Stored
from mnemolog.processors.pipeline.ingest import IngestCore
from mnemolog.processors.pipeline.installation import Installation, Partition
from mnemolog.processors.pipeline.reconcile import reconcile
from mnemolog.projections.deadlines import deadline_event
from mnemolog.projections.digest import digest_store
from mnemolog.projections.live import LiveReader
from mnemolog.query.recall import Recall
from mnemolog.replay.verify import check
from mnemolog.schemas.envelope import Envelope, Position
from mnemolog.schemas.errors import LogError
from mnemolog.schemas.events import CHANGES, DEAD_LETTERS, DYNAMICS, decode
from mnemolog.schemas.rejections import InputRejected
from mnemolog.schemas.times import to_text

__all__ = ["Expected", "judge", "undisturbed"]

NOW = "2025-06-02T09:00:00.000000Z"
QUESTIONS = ("Where do I live?", "What do I like?", "What is the kitchen budget?", "我住在哪里？")


class Expected(msgspec.Struct, frozen=True):
    """`refused`: how many records of the inbox become dead letters, at least (a batch may be published again). `parked`: the
    scopes that stand still at the end."""

    story: Story
    refused: int
    parked: frozenset[str] = frozenset()


def undisturbed(events: Iterable[Envelope], extractor: Extractor | None = None) -> Rig:
    """The embedded engine after these inputs, and after the deadlines that followed from them."""
    log = MemoryLog()
    rig = Rig(log, understood=extractor)
    rig.add(list(events))
    while due := rig.store.deadlines_due(to_text(datetime.now(UTC))):
        rig.add([deadline_event(item) for item in due])
    return rig


def judge(installation: Installation, expected: Expected, extractor: Extractor | None = None) -> list[str]:
    """What does not hold; nothing when all is well."""
    wrong: list[str] = []
    partitions = [installation.partition(number) for number in range(installation.partitions)]
    standing = {scope: offset for partition in partitions for scope, offset in parked(partition).items()}
    if set(standing) != expected.parked:
        wrong.append(f"scopes that stand still: {sorted(standing)}, expected {sorted(expected.parked)}")
    refused = appended = 0
    told: list[Envelope] = []
    for partition in partitions:
        of_topic = _Logical(partition, expected)
        told += [event for event, offset in of_topic.inputs if offset < standing.get(str(event.scope), offset + 1)]
        wrong += _sums(partition, of_topic, standing)
        refused += _refused(partition, wrong)
        appended += len(of_topic.inputs)
        report = check(partition.log, partition.store, state=partition.state).report
        broken = [problem for problem in report.problems if problem.scope not in standing]
        if report.differences or broken:
            wrong.append(f"partition {partition.number}: verify differs: {report.problems} {report.differences}")
    wrong += [f"reconcile does not hold: {found}" for found in reconcile(installation) if not found.holds or found.waiting]
    if refused < expected.refused:
        wrong.append(f"{refused} dead letters, at least {expected.refused} expected")
    wrong += _story(expected, told, standing)
    lived = undisturbed(_in_order(expected, told, standing), extractor)
    try:
        wrong += _same(lived, partitions, expected)
    finally:
        lived.close()
    return wrong


class _Logical:
    """What counts of a partition of dynamics: of an id the first record."""

    def __init__(self, partition: Partition, expected: Expected) -> None:
        self.end = partition.log.end(DYNAMICS)
        self.records = list(partition.log.read(DYNAMICS))
        self.inputs: list[tuple[Envelope, int]] = []
        self.repeated = 0
        self.unreadable: list[Stored] = []
        seen: set[tuple[str, str, str]] = set()
        for record in self.records:
            try:
                event, _ = decode(record.value)
            except LogError:
                self.unreadable.append(record)
                continue
            key = (record.scope, event.source, event.id)
            if key in seen:
                self.repeated += 1
                continue
            seen.add(key)
            self.inputs.append((event, record.offset))


def _sums(partition: Partition, logical: _Logical, standing: dict[str, int]) -> list[str]:
    wrong: list[str] = []
    counts = IngestCore(partition).counts()
    parts = counts.appended + counts.seen_again + counts.dead_lettered + counts.expired + counts.blank + counts.waiting
    if counts.inbox != parts or counts.waiting:
        wrong.append(f"partition {partition.number}: the inbox does not add up: {counts}")
    decided: Counter[int] = Counter()
    for valid in _valid(partition):
        decided[Position.parse(valid.envelope.position).offset] += 1
    waiting = [offset for event, offset in logical.inputs if offset >= standing.get(str(event.scope), offset + 1)]
    inputs = {offset for _, offset in logical.inputs} - set(waiting)
    if set(decided) != inputs:
        missing, more = sorted(inputs - set(decided)), sorted(set(decided) - inputs)
        wrong.append(f"partition {partition.number}: inputs without a decision: {missing}; decisions of no input: {more}")
    if doubled := sorted(offset for offset, times in decided.items() if times > 1):
        wrong.append(f"partition {partition.number}: inputs decided more than once: {doubled}")
    records = len(logical.records)
    added = len(decided) + logical.repeated + len(waiting) + len(logical.unreadable)
    if records != added:
        wrong.append(f"partition {partition.number}: {records} records of dynamics, {added} accounted for")
    return wrong


def _valid(partition: Partition) -> Iterator[ValidDecision]:
    heads: dict[str, str] = {}
    for record in partition.log.read(CHANGES):
        with suppress(LogError):  # a stranger's
            yield from valid_decisions((record,), heads)


def _refused(partition: Partition, wrong: list[str]) -> int:
    """How many different records of the inbox are dead letters."""
    places: set[int] = set()
    end = partition.client.end(DEAD_LETTERS, partition.number)
    at = 0
    while at < end:
        records, at = partition.client.fetch(DEAD_LETTERS, partition.number, at, 500, 0.25)
        for record in records:
            data = decode(record.value)[1]
            assert isinstance(data, InputRejected)
            places.add(data.offset)
    counted = IngestCore(partition).counts().dead_lettered
    if counted != len(places):
        wrong.append(f"partition {partition.number}: {counted} dead letters counted, {len(places)} there")
    return len(places)


def _of_scope(events: Iterable[Envelope], scope: str) -> list[str]:
    return [event.id for event in events if str(event.scope) == scope and event.type != "deadline.passed"]


def _story(expected: Expected, told: Sequence[Envelope], standing: dict[str, int]) -> list[str]:
    """Nothing is lost, and each scope's order is that in which it was published."""
    wrong: list[str] = []
    for scope in expected.story.scopes:
        there, wanted = _of_scope(told, scope), _of_scope(expected.story.inputs, scope)
        if scope in standing:
            wanted = wanted[: len(there)]
        if there != wanted:
            missing, more = set(wanted) - set(there), set(there) - set(wanted)
            wrong.append(f"scope {scope}: lost {sorted(missing)}, more {sorted(more)}, or not in order: {there} != {wanted}")
    return wrong


def _in_order(expected: Expected, told: Sequence[Envelope], standing: dict[str, int]) -> list[Envelope]:
    """The story itself; of a scope that stands still, what came before."""
    before = {(str(event.scope), event.id) for event in told}
    return [
        event for event in expected.story.inputs if str(event.scope) not in standing or (str(event.scope), event.id) in before
    ]


def _same(lived: Rig, partitions: Sequence[Partition], expected: Expected) -> list[str]:
    wrong: list[str] = []
    wanted = digest_store(lived.store)
    found: dict[str, str] = {}
    for partition in partitions:
        found |= digest_store(partition.store)
    if found != wanted:
        differing = sorted(scope for scope in wanted.keys() | found.keys() if wanted.get(scope) != found.get(scope))
        wrong.append(f"digests differ from the undisturbed run's in {', '.join(differing)}")
    one = Recall(LiveReader(lived.store, lived.log))
    recalls = [Recall(LiveReader(partition.store, partition.log)) for partition in partitions]
    answered = 0
    for scope in expected.story.scopes:
        recall = recalls[partition_of(scope, len(partitions))]
        for question in QUESTIONS:
            there = [(hit.kind, hit.text, hit.status) for hit in recall.search([scope], question, now=NOW)]
            here = [(hit.kind, hit.text, hit.status) for hit in one.search([scope], question, now=NOW)]
            answered += len(there)
            if there != here:
                wrong.append(f"scope {scope}: {question} is answered by {there}, undisturbed by {here}")
    if not answered:
        wrong.append("recall finds nothing at all")
    return wrong
