"""Conversations to find evidence in, with questions and the turns or sessions that answer them: our own in `conversations/`,
and two public sets, where a folder has them. All are read, none is copied."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from mnemolog.adapters.embedders.use import UseEmbedder
from mnemolog.adapters.vectors.scan import ScanVectors
from mnemolog.processors.core.text import terms
from mnemolog.query.lexical import IndexRow
from mnemolog.query.rank import TURN
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import parse_time
from mnemolog.schemas.views import EdgeView, FormView, PendingView, SummaryView, TimelineEntry, TurnView, VersionView

__all__ = ["OWN", "TUNE", "Asked", "Turns", "fill", "locomo", "longmemeval", "own"]

OWN = ("nora_ben", "mei_tomas", "assistant")
"""Names of our own conversations."""
TUNE = "tune"
"""The group of questions that weights may be chosen on."""
_LINE = re.compile(r"(?P<who>[^:\[]+?)(?: \[(?P<label>[\w-]+)\])?: (?P<said>.*)")


class Asked(NamedTuple):
    """A question, the ids of the turns or sessions that hold its answer, and what it counts towards."""

    scope: str
    text: str
    now: str | None
    evidence: frozenset[str]
    groups: tuple[str, ...]


class Turns:
    """A reader of turns alone."""

    def __init__(self) -> None:
        self.views: dict[str, list[TurnView]] = defaultdict(list)

    def add(self, scope: str, event_id: str, session: str, role: str, speaker: str, content: str, at: str) -> None:
        held = self.views[scope]
        held.append(
            TurnView(
                event_id=event_id,
                source="bench",
                offset=len(held),
                session=session,
                agent="default",
                role=role,
                speaker=speaker,
                content=content,
                occurred_at=at,
                expires_at=None,
            )
        )

    def snapshot(self, scope: Scope | str) -> AbstractContextManager[None]:
        return nullcontext()

    def stand(self, scope: Scope | str) -> tuple[int | str, ...]:
        return ()

    def written(self, scope: Scope | str) -> int:
        return len(self.views[str(scope)])

    def edges(self, scope: Scope | str) -> list[EdgeView]:
        return []

    def forms(self, scope: Scope | str, form_type: str | None = None, include_retired: bool = False) -> list[FormView]:
        return []

    def history(self, scope: Scope | str, form_id: str | None = None, slot: str | None = None) -> list[VersionView]:
        return []

    def timeline(
        self,
        scope: Scope | str,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[TimelineEntry]:
        return []

    def pending(self, scope: Scope | str) -> list[PendingView]:
        return []

    def closed_summaries(self, scope: Scope | str) -> list[SummaryView]:
        return []

    def turns_by_offset(self, scope: Scope | str, offsets: Sequence[int]) -> list[TurnView]:
        return [self.views[str(scope)][offset] for offset in offsets]

    def turn_index(self, scope: Scope | str, after_offset: int = -1) -> list[IndexRow]:
        return [
            (view.offset, view.event_id, view.session, view.speaker, view.role, view.occurred_at, " ".join(terms(view.content)))
            for view in self.views[str(scope)][after_offset + 1 :]
        ]


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def own(turns: Turns, names: Sequence[str] = OWN) -> list[Asked]:
    """Our own conversations, each in a scope: two about the lives of two friends, one of a user and an assistant."""
    asked = []
    for name in names:
        scope, session, number = f"own/{name}", "", 0
        said, _, questions = (
            (Path(__file__).parent / "conversations" / f"{name}.txt").read_text("utf-8").partition("= questions\n")
        )
        for line in said.splitlines():
            if line.startswith("# "):
                session = line[2:]
            elif found := _LINE.fullmatch(line):
                roles = found["who"] in ("user", "assistant")
                role, speaker = (found["who"], "") if roles else ("user", found["who"])
                number += 1
                at = parse_time(session.replace(" ", "T"))[0]
                turns.add(scope, found["label"] or f"t{number}", session, role, speaker, found["said"], at)
        now = turns.views[scope][-1].occurred_at
        for line in filter(None, questions.splitlines()):
            about, _, text = line.partition(" | ")
            group, *evidence = about.split()
            asked.append(Asked(scope, text, now, frozenset(evidence), ("all", TUNE, f"{name}, {group}")))
    return asked


def locomo(data: Path, turns: Turns) -> list[Asked]:
    """Categories 1 to 4, the questions whose evidence is among the turns; the text alone, without image captions."""
    ids: dict[str, set[str]] = defaultdict(set)
    for row in rows(data / "locomo" / "turns.jsonl"):
        scope = f"locomo/{row['sample_id']}"
        ids[scope].add(row["dia_id"])
        at = parse_time(row["time"])[0]
        turns.add(scope, row["dia_id"], str(row["session"]), "user", row["speaker"], row["text"], at)
    asked = []
    for row in rows(data / "locomo" / "qa.jsonl"):
        scope = f"locomo/{row['sample_id']}"
        evidence = frozenset(row["evidence"]) & ids[scope]
        if row["category"] != 5 and evidence:
            now = turns.views[scope][-1].occurred_at
            asked.append(Asked(scope, row["question"], now, evidence, ("all", row["category_name"])))
    return asked


def longmemeval(data: Path, turns: Turns) -> list[Asked]:
    """All evidence sessions in one scope; a hit counts for its session."""
    scope = "longmemeval/pool"
    known: dict[str, str] = {}
    asked = []
    for row in rows(data / "longmemeval" / "dev.jsonl"):
        evidence = set()
        for session in row["evidence_sessions"]:
            key = json.dumps(session, sort_keys=True)
            if key not in known:
                known[key] = f"s{len(known)}"
                at = slashed(session["date"])
                for turn in session["turns"]:
                    event_id = f"{known[key]}:{len(turns.views[scope])}"
                    turns.add(scope, event_id, known[key], turn["role"], "", turn["content"], at)
            evidence.add(known[key])
        if evidence and not row["abstention"]:
            half = TUNE if hashlib.sha256(row["question_id"].encode()).digest()[0] % 2 else "held out"
            groups = ("all", half, row["question_type"])
            asked.append(Asked(scope, row["question"], slashed(row["question_date"]), frozenset(evidence), groups))
    return asked


def slashed(text: str) -> str:
    """`2023/05/28 (Sun) 19:47` in the fixed form."""
    day, _, clock = text.partition(" (")
    return parse_time(f"{day.replace('/', '-')}T{clock.partition(') ')[2]}")[0]


def fill(turns: Turns, embedder: UseEmbedder, vectors: ScanVectors) -> None:
    for scope, views in turns.views.items():
        made = embedder.embed([view.content for view in views])
        vectors.upsert(scope, TURN, [(str(view.offset), view.offset, vector) for view, vector in zip(views, made, strict=True)])
