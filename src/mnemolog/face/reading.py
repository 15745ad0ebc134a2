"""The reading half of the face. A read first processes its scope's backlog; `wait=False` skips that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..producers.turns import TimeLike
from ..schemas.clean import check_text
from ..schemas.errors import InvalidInput
from ..schemas.scope import Scope
from ..schemas.times import parse_time
from ..schemas.views import EdgeView, FormView, PendingView, SummaryView, TimelineEntry, VersionView
from .base import Id, Rows
from .past import PastFace, When
from .recalling import Recalling, given_hits, given_lines

if TYPE_CHECKING:
    from ..query.context import Context
    from ..query.hits import Hit, HitKind
    from ..query.profiles import Profile
    from ..query.recall import Recall

__all__ = ["MOST_SCOPES", "MOST_SECONDS", "Reading"]

MOST_SCOPES = 32
"""Subjects beside the first that one question may be about."""
MOST_SECONDS = 600.0
"""The longest time budget."""


class Reading(PastFace, Recalling):
    """Each list says in `.behind` how many of the scope's inputs it does not show yet.

    Every read takes `as_of` and `known_at`. as_of: what held at that moment of event time (late facts told, plans begun by
    then); a question is taken as asked then. known_at: as the memory had been told by then; a recorded time, the id of an input
    (which counts), or the token that writing returned. With both: what was known then to hold at `as_of`. What is hidden today
    is hidden there too, and a question about the past is not recorded as a recall. Raises InvalidInput for a `known_at` in the
    future, NotFound for an input that there is none of.
    """

    def search(
        self,
        query: str,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        agent_id: Id | None = None,
        run_id: Id | None = None,
        session: str | None = None,
        also: Sequence[str] = (),
        limit: int | None = None,
        history: bool = False,
        kinds: Sequence[HitKind] | None = None,
        profile: str | Profile | None = None,
        now: TimeLike | None = None,
        time_budget: float | None = None,
        trace: bool = False,
        as_of: TimeLike | None = None,
        known_at: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[Hit]:
        """The memories that bear on `query`, best first: slots, events, weeks and raw turns, each with its sources.

        also: further subjects whose memories are looked through, such as `project:apollo`; limit: how many at most (default:
        5..20 by the kind of question); history: past values too, marked; kinds: of slot, event, summary, turn (default: all);
        profile: what orders them, the name of one or your own (`query.profiles`); now: the time that "last week" is counted
        from; time_budget: seconds for finding (default: 0.2, more for the first question about a scope), what is not there by
        then is named in `.missing`; trace: `.trace` tells how the answer came about. With `wait=False` nothing is processed
        first; `.behind` says how much is missing. agent_id and session (or run_id): who asks, for the record that `.recall_id`
        names.
        """
        when = When.of(as_of, known_at)
        with self._asked(tenant, subject, user_id, agent_id, also, limit, profile, time_budget, now, when, wait=wait) as asked:
            found = asked.recall.search(
                asked.scopes,
                _query(query),
                limit=limit,
                now=asked.now,
                include_history=history,
                kinds=_kinds(kinds),
                profile=asked.profile,
                time_budget=time_budget,
                trace=trace,
                reader=self._question_reader,
                reranker=self._reranker,
            )
        behind = asked.behind
        noted = self._note(
            "search",
            asked.scopes,
            _query(query),
            given_hits(found.hits),
            agent_id=agent_id,
            session=session,
            run_id=run_id,
            profile=asked.profile.name,
            missing=found.missing,
            behind=behind,
            past=when is not None,
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
        also: Sequence[str] = (),
        budget: int = 2000,
        limit: int | None = None,
        profile: str | Profile | None = None,
        now: TimeLike | None = None,
        time_budget: float | None = None,
        trace: bool = False,
        count_tokens: Callable[[str], int] | None = None,
        as_of: TimeLike | None = None,
        known_at: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Context:
        """What to put before the agent: `str()` of it is the prompt text, at most `budget` tokens.

        Rules and profile first, which do not depend on the question; then what holds of what is asked and how it came to be,
        then excerpts; `.lines` say where each line comes from, `.left_out` which rules found no room. count_tokens: the tokens
        of a text by the agent's own tokenizer (default: the embedder's). The rest is as in `search`.
        """
        _positive("budget", budget)
        when = When.of(as_of, known_at)
        with self._asked(tenant, subject, user_id, agent_id, also, limit, profile, time_budget, now, when, wait=wait) as asked:
            behind = asked.behind
            found = asked.recall.context(
                asked.scopes,
                _query(query),
                budget=budget,
                limit=limit,
                now=asked.now,
                behind=behind,
                profile=asked.profile,
                time_budget=time_budget,
                trace=trace,
                reader=self._question_reader,
                reranker=self._reranker,
                count_tokens=count_tokens,
            )
        noted = self._note(
            "context",
            asked.scopes,
            _query(query),
            given_lines(found),
            agent_id=agent_id,
            session=session,
            run_id=run_id,
            profile=asked.profile.name,
            missing=found.missing,
            tokens=found.tokens,
            behind=behind,
            past=when is not None,
        )
        return msgspec.structs.replace(found, recall_id=noted)

    @contextmanager
    def _asked(
        self,
        tenant: str | None,
        subject: str | None,
        user_id: Id | None,
        agent_id: Id | None,
        also: Sequence[str],
        limit: int | None,
        profile: str | Profile | None,
        time_budget: float | None,
        now: TimeLike | None,
        when: When | None,
        *,
        wait: bool,
    ) -> Iterator[_Asked]:
        """Checks what a question is asked with, and brings the scopes up to date."""
        from ..query.profiles import profile_of

        scope = self._scope(tenant, subject, user_id, agent_id)
        scopes = list(dict.fromkeys([scope, *(self._scope(tenant, name, None) for name in _subjects(also))]))
        _positive("limit", limit)
        order = profile_of(profile)
        _seconds(time_budget)
        moment = None if now is None else self._now(now)
        behind = sum(self._home.catch_up(str(one), wait=wait, index=True) for one in scopes)
        with self._recalls(scopes, when) as recall:
            yield _Asked(scopes, order, self._moment_of(when, moment), behind, recall)

    def forms(
        self,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        form_type: str | None = None,
        retired: bool = False,
        as_of: TimeLike | None = None,
        known_at: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[FormView]:
        """The Forms as they stand now; with `retired` also those that were called off. Raises UnknownFormType."""
        scope = self._scope(tenant, subject, user_id)
        if form_type is not None:
            self._home.registry.type(check_text("form_type", form_type))
        behind = self._home.catch_up(str(scope), wait=wait)
        with self._rows_of(scope, When.of(as_of, known_at)) as source:
            return Rows(source.forms(scope, form_type, retired), behind)

    def get(
        self,
        form_id: str,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        as_of: TimeLike | None = None,
        known_at: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> FormView:
        """One Form by its id. Raises NotFound."""
        return self._form_of(self._scope(tenant, subject, user_id), form_id, When.of(as_of, known_at), wait=wait)

    def history(
        self,
        form_id: str | None = None,
        slot: str | None = None,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        as_of: TimeLike | None = None,
        known_at: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[VersionView]:
        """Every version of the slots, oldest first within a slot, with dates, causes and evidence; of one Form or one slot
        where named."""
        scope = self._scope(tenant, subject, user_id)
        for field, name in (("form_id", form_id), ("slot", slot)):
            if name is not None:
                check_text(field, name)
        behind = self._home.catch_up(str(scope), wait=wait)
        with self._rows_of(scope, When.of(as_of, known_at)) as source:
            return Rows(source.history(scope, form_id, slot), behind)

    def timeline(
        self,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        limit: int | None = None,
        as_of: TimeLike | None = None,
        known_at: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[TimelineEntry]:
        """What happened and what was decided, oldest first; `since` inclusive, `until` exclusive; with `limit` the newest."""
        scope = self._scope(tenant, subject, user_id)
        start = None if since is None else parse_time(since, "since")[0]
        end = None if until is None else parse_time(until, "until")[0]
        behind = self._home.catch_up(str(scope), wait=wait)
        count = _positive("limit", limit)
        with self._rows_of(scope, When.of(as_of, known_at)) as source:
            entries = source.timeline(scope, start, end, count, newest_first=count is not None)
        return Rows(entries[::-1] if count is not None else entries, behind)

    def summaries(
        self,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        as_of: TimeLike | None = None,
        known_at: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[SummaryView]:
        """What each ISO week (UTC) brought, oldest first; the last one may still be going on (`closed` is False)."""
        scope = self._scope(tenant, subject, user_id)
        behind = self._home.catch_up(str(scope), wait=wait)
        with self._rows_of(scope, When.of(as_of, known_at)) as source:
            return Rows(source.summaries(scope), behind)

    def pending(
        self,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        as_of: TimeLike | None = None,
        known_at: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[PendingView]:
        """What was heard but not believed yet, each with the question to put to the user."""
        scope = self._scope(tenant, subject, user_id)
        behind = self._home.catch_up(str(scope), wait=wait)
        with self._rows_of(scope, When.of(as_of, known_at)) as source:
            return Rows(source.pending(scope), behind)

    def edges(
        self,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        as_of: TimeLike | None = None,
        known_at: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[EdgeView]:
        """How the Forms relate to each other."""
        scope = self._scope(tenant, subject, user_id)
        behind = self._home.catch_up(str(scope), wait=wait)
        with self._rows_of(scope, When.of(as_of, known_at)) as source:
            return Rows(source.edges(scope), behind)


class _Asked(NamedTuple):
    scopes: list[Scope]
    profile: Profile
    now: str | None
    behind: int
    recall: Recall


def _subjects(also: object) -> Sequence[str]:
    if isinstance(also, str) or not isinstance(also, Sequence) or not all(isinstance(name, str) for name in also):
        raise InvalidInput("also", "must be a list of subjects", 'give ["project:apollo"]')
    if len(also) > MOST_SCOPES:
        raise InvalidInput("also", f"names {len(also)} subjects, more than {MOST_SCOPES}", "ask in several questions")
    return also


def _kinds(kinds: object) -> Sequence[HitKind]:
    from ..query.recall import KINDS

    if kinds is None:
        return KINDS
    if isinstance(kinds, str) or not isinstance(kinds, Sequence) or not kinds:
        raise InvalidInput("kinds", "must be a list of kinds", "of " + ", ".join(KINDS))
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidInput("kinds", f"{kind!r} is no kind of memory", "give some of " + ", ".join(KINDS))
    return [kind for kind in KINDS if kind in kinds]


def _seconds(value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST_SECONDS:
        raise InvalidInput("time_budget", f"{value!r} is not a number of seconds above 0 and up to {MOST_SECONDS:g}")


def _query(query: object) -> str:
    if not isinstance(query, str):
        raise InvalidInput("query", f"must be text, not {type(query).__name__}")
    return query.encode("utf-8", "replace").decode("utf-8")  # a question with a broken character is still a question


def _positive(field: str, value: int | None) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InvalidInput(field, f"{value!r} is not a whole number above 0")
    return value
