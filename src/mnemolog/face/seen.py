"""A memory as a view lets it be seen: the same methods, everything filtered where it is read. Each call that names a scope is
checked before anything is looked up, so that what is outside looks the same whether it is there or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..memory import Memory
from ..schemas.access import Sight, View
from ..schemas.envelope import DEFAULT_SOURCE, Envelope
from ..schemas.errors import InvalidInput, NotAllowed
from ..schemas.registry import Registry
from ..schemas.scope import Scope
from ..schemas.tokens import InboxToken, parse_token
from .ports import HomeLike, Written

if TYPE_CHECKING:
    from ..projections.store import Store
    from ..query.recall import Recall
    from ..replay.rebuild import RebuildReport
    from ..replay.verify import VerifyReport
    from .operations import Operation, Standing

__all__ = ["SeenHome", "SeenMemory"]


class SeenMemory(Memory):
    """What `Memory.seen_by` gives. Closing it closes nothing: the memory behind it goes on."""

    def __init__(self, home: HomeLike, view: View, tenant: str) -> None:
        if not isinstance(view, View):
            raise InvalidInput("view", f"must be a View, not {type(view).__name__}")
        self._tenant = tenant
        self._home: SeenHome = _narrower(home, view, tenant)
        self._source = self._home.sight.writes_as(DEFAULT_SOURCE)

    @property
    def sight(self) -> Sight:
        """What is seen."""
        return self._home.sight


class SeenHome:
    """A home of which only a sight is shown."""

    def __init__(self, home: HomeLike, sight: Sight) -> None:
        if not sight.whole:
            raise InvalidInput("view", "names Form types or sources, which are not told apart yet", "name subjects")
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
        return self.inner.append(events)

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
        named = parse_token(token)
        if isinstance(named, InboxToken):
            self.sight.check(named.scope)
            self.sight.check_source(named.source)
        self.inner.wait_for(token, timeout)

    def store_of(self, scope: Scope | str) -> Store:
        self.sight.check(scope)
        return self.inner.store_of(scope)

    def recall_of(self, scope: Scope | str) -> Recall:
        self.sight.check(scope)
        return self.inner.recall_of(scope)

    def verify(self, *, decide: bool, progress: Callable[[int], None] | None) -> VerifyReport:
        raise self._whole("verify")

    def rebuild(self, progress: Callable[[int], None] | None) -> RebuildReport:
        raise self._whole("rebuild")

    def stats(self, scope: str | None) -> dict[str, int]:
        if scope is None:
            raise self._whole("stats", "name a user or subject")
        self.sight.check(scope)
        return self.inner.stats(scope)

    def _whole(self, call: str, hint: str = "it is about the whole memory") -> NotAllowed:
        return NotAllowed("call", call, self.sight.name, hint)


def _narrower(home: HomeLike, view: View, tenant: str) -> SeenHome:
    """The view on top of what is seen already."""
    if not isinstance(home, SeenHome):
        return SeenHome(home, Sight(tenant, (view,)))
    if home.sight.tenant != tenant:
        raise NotAllowed("tenant", tenant, home.sight.name)
    return SeenHome(home.inner, Sight(tenant, (*home.sight.views, view)))
