"""A memory as a view lets it be seen: the same methods, everything filtered where it is read. Each call that names a scope is
checked before anything is looked up, so that what is outside looks the same whether it is there or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from typing import TYPE_CHECKING

from ..memory import Memory
from ..processors.core.policy import Policy
from ..processors.core.ports import EventLog
from ..producers.turns import TimeLike
from ..projections.read_models import ReadModels
from ..projections.store import Store
from ..schemas.access import Sight, View
from ..schemas.envelope import DEFAULT_SOURCE, Envelope
from ..schemas.errors import InvalidInput, NotAllowed
from ..schemas.registry import Registry
from ..schemas.scope import Scope
from ..schemas.tokens import InboxToken, parse_token
from ..schemas.views import RecallView
from .base import Id, Receipt, Rows
from .ports import HomeLike, Part, VectorKeeping, Written

if TYPE_CHECKING:
    from ..query.recall import Recall
    from ..replay.seal_make import SealReport
    from ..replay.verify import VerifyReport
    from .operations import Operation, Standing

__all__ = ["SeenHome", "SeenMemory"]


class SeenMemory(Memory):
    """What `Memory.seen_by` gives. Closing it closes nothing: the memory behind it goes on."""

    def __init__(self, home: HomeLike, view: View, tenant: str) -> None:
        if not isinstance(view, View):
            raise InvalidInput("view", f"must be a View, not {type(view).__name__}")
        self._tenant = tenant
        self._home = part = _narrower(home, view, tenant)
        self._sight = self._narrowed = part.sight
        self._source = part.sight.writes_as(DEFAULT_SOURCE)

    @property
    def sight(self) -> Sight:
        """What is seen."""
        return self._narrowed

    def close(self) -> None:
        """Nothing is closed."""

    def _scope(self, tenant: str | None, subject: str | None, user_id: Id | None, agent_id: Id | None = None) -> Scope:
        scope = super()._scope(tenant, subject, user_id, agent_id)
        self.sight.check(scope)
        return scope

    def add_events(self, events: Sequence[Envelope]) -> Receipt:
        """Turns and ends of sessions; commands go by their own methods, which look at what they are about."""
        for event in events if isinstance(events, Sequence) else ():
            if isinstance(event, Envelope) and event.type not in _FREE:
                raise NotAllowed("events", event.type, self.sight.name, "give turns; commands have methods of their own")
        return super().add_events(events)

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
        """Those that read nothing outside the view. Where it shows a part of a scope only, NotAllowed: what others asked there
        may say what is not seen."""
        if not self.sight.whole:
            raise NotAllowed("call", "recalls", self.sight.name, "a view of some Form types or sources shows no recalls")
        rows = super().recalls(user_id=user_id, subject=subject, since=since, limit=limit, wait=wait, tenant=tenant)
        return Rows([row for row in rows if all(map(self.sight.has, row.scopes))], rows.behind)

    def seal(
        self,
        *,
        key: str | PathLike[str] | None = None,
        export: str | PathLike[str] | None = None,
        brief: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> SealReport:
        """Not allowed: it is about the whole memory."""
        raise NotAllowed("call", "seal", self.sight.name, "it is about the whole memory")

    def verify(
        self,
        *,
        decide: bool = False,
        seals: str | PathLike[str] | None = None,
        key: str | PathLike[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> VerifyReport:
        """Not allowed: it is about the whole memory."""
        raise NotAllowed("call", "verify", self.sight.name, "it is about the whole memory")

    def _may_roll_back(self) -> None:
        if not self.sight.whole:
            raise NotAllowed("call", "rollback", self.sight.name, "it would also change what the view does not show")

    _whole_memory = False

    def _may_audit(self, call: str) -> None:
        if not self.sight.whole:
            raise NotAllowed("call", call, self.sight.name, "a view of some Form types or sources shows no audits")

    def _has(self, scope: str) -> bool:
        return self.sight.has(scope)

    def _audited_parts(self, scope: Scope | None) -> list[tuple[EventLog, Store]]:
        """Of all scopes those are told that are seen."""
        if scope is not None or not isinstance(self._home, SeenHome):
            return super()._audited_parts(scope)
        return [(part.log, part.store) for part in self._home.inner.parts()]

    def prune_recalls(self, before: TimeLike) -> int:
        """Not allowed: it is about the whole memory."""
        raise NotAllowed("call", "prune_recalls", self.sight.name, "it is about the whole memory")


_FREE = ("turn.recorded", "session.ended")
"""Events that anybody may write who may write to the scope at all."""


class SeenHome:
    """A home of which only a sight is shown."""

    def __init__(self, home: HomeLike, sight: Sight) -> None:
        for form_type in sorted(sight.form_types or ()):
            home.registry.type(form_type)
        self.inner, self.sight = home, sight

    @property
    def registry(self) -> Registry:
        return self.inner.registry

    def close(self) -> None:
        """Nothing is closed."""

    def now(self) -> str:
        return self.inner.now()

    def append(self, events: Sequence[Envelope]) -> Written:
        for event in events:
            self.sight.check(Scope(event.tenant, event.subject))
            self.sight.check_source(event.source)
            self._check_hiding(event)
        return self.inner.append(events)

    def _check_hiding(self, event: Envelope) -> None:
        """Nobody hides what they do not see: a scope, or a Form, may rest on more than the view shows."""
        if event.type == "erasure.requested" and not self.sight.whole:
            raise self._whole("delete_user", "it would also hide what the view does not show")
        if event.type == "rollback.requested" and not self.sight.whole:
            raise self._whole("rollback", "it would also change what the view does not show")
        hides_form = event.type == "retraction.requested" and event.data.get("target") != "turn"
        if hides_form and self.sight.sources is not None:
            raise self._whole("delete", "a Form may rest on sources that the view does not show: delete its turns")

    def time_of(self, scope: Scope, source: str, event_id: str) -> str | None:
        self.sight.check(scope)
        self.sight.check_source(source)
        return self.inner.time_of(scope, source, event_id)

    def operation(self, scope: Scope, source: str, event_id: str) -> Operation | None:
        self.sight.check(scope)
        self.sight.check_source(source)
        return self.inner.operation(scope, source, event_id)

    def standing(self) -> Standing:
        raise self._whole("standing")

    def catch_up(
        self,
        scope: str | None,
        *,
        wait: bool = True,
        index: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        if scope is None:
            raise self._whole("process")
        self.sight.check(scope)
        return self.inner.catch_up(scope, wait=wait, index=index, progress=progress)

    def wait_for(self, token: str, timeout: float | None) -> None:
        for part in token.split(","):  # servers give one token for several inputs
            named = parse_token(part)
            if isinstance(named, InboxToken):
                self.sight.check(named.scope)
                self.sight.check_source(named.source)
        self.inner.wait_for(token, timeout)

    def store_of(self, scope: Scope | str) -> ReadModels:
        self.sight.check(scope)
        store = self.inner.store_of(scope)
        assert isinstance(store, Store)  # noqa: S101 - `inner` is a home itself
        return store.seen_by(self.sight)

    def recall_of(self, scope: Scope | str, sight: Sight | None = None) -> Recall:
        """Where scopes are seen whole their indexes serve everybody; a part has its own."""
        self.sight.check(scope)
        return self.inner.recall_of(scope, None if self.sight.whole else self.sight)

    @property
    def policy(self) -> Policy:
        return self.inner.policy

    def parts(self) -> Sequence[Part]:
        raise self._whole("operating")

    def part_of(self, scope: Scope | str) -> Part:
        """It shows the scope whole: what is read of it has to go through the sight."""
        self.sight.check(scope)
        return self.inner.part_of(scope)

    def paused(self) -> AbstractContextManager[object]:
        raise self._whole("operating")

    def vector_keeping(self) -> VectorKeeping:
        raise self._whole("vectors")

    def stats(self, scope: str | None) -> dict[str, int]:
        if scope is None:
            raise self._whole("stats", "name a user or subject")
        return {**self.store_of(scope).stats(scope), "behind": self.catch_up(scope, wait=False)}

    def _whole(self, call: str, hint: str = "it is about the whole memory") -> NotAllowed:
        return NotAllowed("call", call, self.sight.name, hint)


def _narrower(home: HomeLike, view: View, tenant: str) -> SeenHome:
    """The view on top of what is seen already."""
    if not isinstance(home, SeenHome):
        return SeenHome(home, Sight(tenant, (view,)))
    if home.sight.tenant != tenant:
        raise NotAllowed("tenant", tenant, home.sight.name)
    return SeenHome(home.inner, Sight(tenant, (*home.sight.views, view)))
