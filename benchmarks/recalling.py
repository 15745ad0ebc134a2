"""How long recall takes: at 10,000 and at 100,000 memories of one tenant, and beside other scopes of any size. Every question
is asked once, so that no answer comes from a cache; the embedding of the question is in each figure, and in its floor."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from floors import bare_search
from turns import QUESTIONS, MadeTurn, made_turns

from mnemolog import Memory
from mnemolog.adapters.embedders.use import UseEmbedder
from mnemolog.producers.turns import turn_event
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import to_text

__all__ = ["OTHERS", "Taken", "grow", "questions_asked", "rounds"]

OTHERS = 10
"""Subjects beside the one that is asked about."""
_BATCH = 500


class Taken(NamedTuple):
    """Milliseconds of each question, by what was done."""

    bare: list[float]
    search: list[float]
    context: list[float]

    def p50(self, kind: str) -> float:
        samples: list[float] = getattr(self, kind)
        return statistics.median(samples)

    def p95(self, kind: str) -> float:
        return float(np.percentile(getattr(self, kind), 95))


def grow(memory: Memory, subjects: Sequence[str], start: int, end: int) -> None:
    """Adds made turns number `start` to `end`, by sessions to the subjects in turn; on return all are found by every route."""
    events = _events(subjects, start, end)
    while batch := list(islice(events, _BATCH)):
        memory.add_events(batch)
    memory._home.catch_up(None)
    memory._home.finding.index()  # type: ignore[attr-defined]  # in use the vectors come a little later


def _events(subjects: Sequence[str], start: int, end: int) -> Iterator[Envelope]:
    for index, turn in enumerate(islice(made_turns(end, subjects=len(subjects)), start, None), start):
        yield _event(turn, subjects[int(turn.subject.partition(":")[2])], index)


def _event(turn: MadeTurn, subject: str, index: int) -> Envelope:
    when = to_text(turn.occurred_at)
    return turn_event(
        Scope("default", subject),
        turn.content,
        now=when,
        role=turn.role,
        session=turn.session,
        occurred_at=turn.occurred_at,
        event_id=f"made-{index}",
    )


def questions_asked(memory: Memory, subject: str, size: int, embedder: UseEmbedder, count: int, mark: str) -> Taken:
    """Asks `count` questions about a subject of `size` turns, each in pairs with its floor: embedding it and one product with
    as many vectors. `mark` makes the questions differ from those of other rounds."""
    # The time of a product does not depend on what the vectors mean.
    vectors = np.random.default_rng(1).standard_normal((size, embedder.dim)).astype(np.float32)
    taken = Taken([], [], [])
    memory.search(f"warm up {mark}", subject=subject)
    for index in range(count):
        question = f"{QUESTIONS[index % len(QUESTIONS)]} ({mark} {index})"

        def floor(question: str = question) -> None:
            bare_search(vectors, embedder.embed([f"floor: {question}"])[0])

        def search(question: str = question) -> None:
            memory.search(question, subject=subject)

        def context(question: str = question) -> None:
            memory.context(f"context: {question}", subject=subject)

        pair = (_ms(floor), _ms(search)) if index % 2 else (_ms(search), _ms(floor))[::-1]
        taken.bare.append(pair[0])
        taken.search.append(pair[1])
        taken.context.append(_ms(context))
    return taken


def _ms(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def rounds(folder: Path, small: int, large: int, count: int) -> Iterator[tuple[str, int, Taken]]:
    """(what was asked, memories of the subject, times): alone, beside others of half of `large`, and grown to `large`."""
    embedder = UseEmbedder()
    with Memory(folder / "recall", embedder=embedder) as memory:
        grow(memory, ["user:0"], 0, small)
        yield "alone", small, questions_asked(memory, "user:0", small, embedder, count, "alone")
        grow(memory, [f"other:{number}" for number in range(OTHERS)], 0, large // 2)
        yield f"beside {large // 2:,} of others", small, questions_asked(memory, "user:0", small, embedder, count, "beside")
        grow(memory, ["user:0"], small, large)
        yield f"beside {large // 2:,} of others", large, questions_asked(memory, "user:0", large, embedder, count, "large")
