"""The reading half of the face. A read first processes its scope's backlog; `wait=False` skips that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..producers.turns import TimeLike
from ..schemas.clean import check_text
from ..schemas.errors import InvalidInput
from ..schemas.times import parse_time
from ..schemas.views import EdgeView, FormView, PendingView, SummaryView, TimelineEntry, VersionView
from .base import Id, Rows
from .recalling import Recalling, given_hits, given_lines

if TYPE_CHECKING:
    from ..query.context import Context
    from ..query.recall import Hit

__all__ = ["Reading"]


class Reading(Recalling):
    """Each list says in `.behind` how many of the scope's inputs it does not show yet."""

    def search(
        self,
        query: str,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        agent_id: Id | None = None,
        run_id: Id | None = None,
        session: str | None = None,
        limit: int | None = None,
        history: bool = False,
        now: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[Hit]:
        """The memories that bear on `query`, best first: slots, events and raw turns, each with its sources.

        limit: how many at most (default: 3..20 by the kind of question); history: past values too, marked; now: the time
        that "last week" is counted from. With `wait=False` nothing is processed first; `.behind` says how much is missing.
        agent_id and session (or run_id): who asks, for the record that `.recall_id` names.
        """
        scope = self._scope(tenant, subject, user_id, agent_id)
        behind = self._home.catch_up(str(scope), wait=wait, index=True)
        wanted, moment, recall = _positive("limit", limit), self._now(now), self._home.recall_of(scope)
        with self._home.store_of(scope).snapshot():
            found = recall.search([str(scope)], _query(query), limit=wanted, now=moment, include_history=history)
        noted = self._note(
            "search",
            [scope],
            _query(query),
            given_hits(found.hits),
            agent_id=agent_id,
            session=session,
            run_id=run_id,
            missing=found.missing,
            behind=behind,
        )
        return Rows(found.hits, behind, missing=found.missing, trace=found.trace, recall_id=noted)

    def context(
        self,
        query: str,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        agent_id: Id | None = None,
        run_id: Id | None = None,
        session: str | None = None,
        budget: int = 2000,
        limit: int | None = None,
        now: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Context:
        """What to put before the agent: `str()` of it is the prompt text, at most `budget` tokens of the embedder's tokenizer.

        Rules and profile first, then how things came to be, then excerpts; `.lines` say where each line comes from.
        """
        scope = self._scope(tenant, subject, user_id, agent_id)
        behind = self._home.catch_up(str(scope), wait=wait, index=True)
        tokens, wanted, moment = _positive("budget", budget) or 0, _positive("limit", limit), self._now(now)
        recall = self._home.recall_of(scope)
        with self._home.store_of(scope).snapshot():
            found = recall.context([str(scope)], _query(query), budget=tokens, limit=wanted, now=moment, behind=behind)
        noted = self._note(
            "context",
            [scope],
            _query(query),
            given_lines(found),
            agent_id=agent_id,
            session=session,
            run_id=run_id,
            tokens=found.tokens,
            behind=behind,
        )
        return msgspec.structs.replace(found, recall_id=noted)

    def forms(
        self,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        form_type: str | None = None,
        retired: bool = False,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[FormView]:
        """The Forms as they stand now; with `retired` also those that were called off. Raises UnknownFormType."""
        scope = str(self._scope(tenant, subject, user_id))
        if form_type is not None:
            self._home.registry.type(check_text("form_type", form_type))
        behind = self._home.catch_up(scope, wait=wait)
        return Rows(self._home.store_of(scope).forms(scope, form_type, retired), behind)

    def get(
        self, form_id: str, *, user_id: Id | None = None, subject: str | None = None, tenant: str | None = None
    ) -> FormView:
        """One Form by its id. Raises NotFound."""
        return self._form(self._scope(tenant, subject, user_id), form_id)

    def history(
        self,
        form_id: str | None = None,
        slot: str | None = None,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[VersionView]:
        """Every version of the slots, oldest first within a slot, with dates, causes and evidence; of one Form or one slot
        where named."""
        scope = str(self._scope(tenant, subject, user_id))
        for field, name in (("form_id", form_id), ("slot", slot)):
            if name is not None:
                check_text(field, name)
        behind = self._home.catch_up(scope, wait=wait)
        return Rows(self._home.store_of(scope).history(scope, form_id, slot), behind)

    def timeline(
        self,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        limit: int | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[TimelineEntry]:
        """What happened and what was decided, oldest first; `since` inclusive, `until` exclusive; with `limit` the newest."""
        scope = str(self._scope(tenant, subject, user_id))
        start = None if since is None else parse_time(since, "since")[0]
        end = None if until is None else parse_time(until, "until")[0]
        behind = self._home.catch_up(scope, wait=wait)
        count = _positive("limit", limit)
        entries = self._home.store_of(scope).timeline(scope, start, end, count, newest_first=count is not None)
        return Rows(entries[::-1] if count is not None else entries, behind)

    def summaries(
        self,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[SummaryView]:
        """What each ISO week (UTC) brought, oldest first; the last one may still be going on (`closed` is False)."""
        scope = str(self._scope(tenant, subject, user_id))
        behind = self._home.catch_up(scope, wait=wait)
        return Rows(self._home.store_of(scope).summaries(scope), behind)

    def pending(
        self,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[PendingView]:
        """What was heard but not believed yet, each with the question to put to the user."""
        scope = str(self._scope(tenant, subject, user_id))
        behind = self._home.catch_up(scope, wait=wait)
        return Rows(self._home.store_of(scope).pending(scope), behind)

    def edges(
        self,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[EdgeView]:
        """How the Forms relate to each other."""
        scope = str(self._scope(tenant, subject, user_id))
        behind = self._home.catch_up(scope, wait=wait)
        return Rows(self._home.store_of(scope).edges(scope), behind)


def _query(query: object) -> str:
    if not isinstance(query, str):
        raise InvalidInput("query", f"must be text, not {type(query).__name__}")
    return query.encode("utf-8", "replace").decode("utf-8")  # a question with a broken character is still a question


def _positive(field: str, value: int | None) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InvalidInput(field, f"{value!r} is not a whole number above 0")
    return value
