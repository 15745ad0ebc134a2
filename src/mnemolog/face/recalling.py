"""The part of the face about recalls themselves: each answer is recorded with the ids of what it gave, and what came of it is
tied to it afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ..producers.turns import TimeLike, resolve_session
from ..schemas.clean import check_text
from ..schemas.errors import InvalidInput, NotFound
from ..schemas.events import make, validate
from ..schemas.inputs import FeedbackOutcome
from ..schemas.recalls import GivenMemory, MemoryRecalled, recall_id, recall_time
from ..schemas.scope import Scope, check_name
from ..schemas.times import add_seconds, parse_time
from ..schemas.views import RecallView
from .base import Face, Id, Receipt, Rows
from .recall_topic import erased_and_feedback, find, newest, was_kept, with_feedback
from .recorder import Waiting

if TYPE_CHECKING:
    from ..query.context import Context
    from ..query.hits import Hit

__all__ = ["Recalling", "given_hits", "given_lines"]

_QUESTION = 2000
"""Characters of a question that are kept."""
_YOUNG_SECONDS = 5.0
"""So long another process may take to write down a recall."""


class Recalling(Face):
    """Recalls are recorded in the background; with `record_recalls=False` they are not, and answers have no `recall_id`."""

    def recalls(
        self,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        since: TimeLike | None = None,
        limit: int = 20,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[RecallView]:
        """Which memories were given to which agent for which question, newest first, each with the feedback that it got.

        since: recalls from then on; limit: how many at most. Those of this process are all there; another one's may take a
        tenth of a second. What was recalled before `delete_user` is not shown, nor what has expired.
        """
        scope = self._scope(tenant, subject, user_id)
        start = None if since is None else parse_time(since, "since")[0]
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InvalidInput("limit", f"{limit!r} is not a whole number above 0")
        behind = self._home.catch_up(str(scope), wait=wait)
        self._recorder.flush()
        log = self._recorder.place.log_of(str(scope))
        found = newest(log, scope, since=start, limit=limit)
        if not found:
            return Rows([], behind)
        erased, given = erased_and_feedback(log, scope, found[-1][0].time)
        shown = [item for item in found if item[0].time > erased]
        return Rows([with_feedback(envelope, data, given.get(envelope.id, [])) for envelope, data in shown], behind)

    def feedback(
        self,
        recall_id: str,
        outcome: FeedbackOutcome,
        *,
        note: str = "",
        memories: Sequence[str] | None = None,
        user_id: Id | None = None,
        subject: str | None = None,
        tenant: str | None = None,
        actor: str = "user",
        id: str | None = None,
    ) -> Receipt:
        """Says what came of an answer that a recall was for; it is kept for ever, beside the turns, and changes no memory.

        recall_id: of `search` or `context`; outcome: "success", "partial", "failure", or "unused" where the answer did without;
        memories: the ids (`Hit.id`) of those that it is about (default: all of the recall's); id: the same again changes
        nothing. Raises NotFound where this scope has had no such recall (one that has expired, or may still be on its way, is
        taken at its word), InvalidInput for another outcome or a memory that the recall did not give.
        """
        scope = self._scope(tenant, subject, user_id)
        check_name("recall_id", recall_id)
        if isinstance(memories, str) or not all(isinstance(item, str) for item in memories or ()):
            raise InvalidInput("memories", "must be a list of ids")
        named = list(dict.fromkeys(memories or ()))
        data = validate(
            "feedback.given",
            {
                "recall_id": recall_id,
                "outcome": outcome,
                "memories": named,
                "note": check_text("note", note),
                "actor": check_name("actor", actor),
            },
        )
        self._check_recall(scope, recall_id, named)
        event_id = str(uuid.uuid4()) if id is None else check_name("id", id)
        time = (None if id is None else self._home.time_of(scope, self._source, event_id)) or self._home.now()
        event = make(data, scope=scope, event_id=event_id, time=time, source=self._source, causation=recall_id)
        return self._append([event])

    def prune_recalls(self, before: TimeLike) -> int:
        """Deletes what was recorded of recalls before a time, of all scopes, and returns how many records there were; the
        newest one stays. In a folder only: on servers the topic's `retention.ms` says how long they are kept."""
        moment = parse_time(before, "before")[0]
        drop = self._recorder.place.drop_before
        if drop is None:
            raise InvalidInput(
                "before", "recalls are deleted in a folder only", "on servers set the topic's retention.ms instead"
            )
        self._recorder.flush()
        return drop(moment)

    @property
    def lost_recalls(self) -> int:
        """How many recalls of this process could not be recorded: the log failed, or too many waited."""
        return self._recorder.lost

    def _check_recall(self, scope: Scope, identifier: str, memories: Sequence[str]) -> None:
        """Raises NotFound or InvalidInput where the recall can be looked up and says otherwise."""
        self._recorder.flush()
        log = self._recorder.place.log_of(str(scope))
        found = find(log, scope, identifier)
        if found is not None:
            given = [item.id for item in found[1].memories]
            strange = [item for item in memories if item not in given]
            if strange:
                raise InvalidInput("memories", f"the recall did not give {strange[0]!r}", "`recalls` lists what it gave")
            return
        time = recall_time(identifier)
        young = time is not None and time > add_seconds(self._home.now(), -_YOUNG_SECONDS)
        if not young and not self.lost_recalls and was_kept(log, identifier):
            raise NotFound("recall", identifier, "`recalls` lists them with their ids")

    def _note(
        self,
        kind: Literal["search", "context"],
        scopes: Sequence[Scope],
        question: str,
        memories: list[GivenMemory],
        *,
        agent_id: Id | None = None,
        session: str | None = None,
        run_id: Id | None = None,
        profile: str = "",
        missing: Mapping[str, str] | None = None,
        tokens: int = 0,
        behind: int = 0,
        past: bool = False,
    ) -> str:
        """Has a recall recorded and returns its id; empty where recalls are not recorded, and for a question about the past:
        recalls say what is used now."""
        agent = "default" if agent_id is None else check_name("agent_id", str(agent_id))
        run = resolve_session(session, run_id)
        if run is not None:
            check_name("session", run)
        if past or not self._recorder.on:
            return ""
        now = self._home.now()
        data = MemoryRecalled(
            kind=kind,
            question=question[:_QUESTION],
            scopes=[str(scope) for scope in scopes],
            agent=agent,
            session=run or "",
            profile=profile,
            memories=memories,
            missing=dict(missing or {}),
            tokens=tokens,
            behind=behind,
        )
        identifier = recall_id(now)
        self._recorder.put(Waiting(identifier, scopes[0], now, data))
        return identifier


def given_hits(hits: Sequence[Hit]) -> list[GivenMemory]:
    """What a search gave."""
    return [GivenMemory(hit.id, hit.score, hit.routes) for hit in hits]


def given_lines(context: Context) -> list[GivenMemory]:
    """What a context gave: each memory once, in the order of the text."""
    ids = [memory for line in context.lines for memory in _ids(line)]
    return [GivenMemory(memory) for memory in dict.fromkeys(ids)]


def _ids(line: object) -> Sequence[str]:
    named: str = getattr(line, "id", "")
    events: list[str] = getattr(line, "event_ids", [])
    return [named] if named else events
