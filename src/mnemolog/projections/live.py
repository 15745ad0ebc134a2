"""The read models, and the turns that are on the log but not in them yet: a turn is found by its words from the moment it is
durable, however far the processor has come."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from ..processors.core.markers import said
from ..processors.core.ports import EventLog
from ..processors.core.text import terms
from ..schemas.access import Sight
from ..schemas.events import DYNAMICS, decode
from ..schemas.inputs import Turn
from ..schemas.scope import Scope
from ..schemas.views import EdgeView, FormView, PendingView, SummaryView, TimelineEntry, TurnView, VersionView
from .parked import undecided_from
from .read_models import ReadModels, TurnRow
from .store import Store

__all__ = ["LiveReader"]


class LiveReader:
    """What recall reads, as `sight` lets it be seen. Everything but turns is the store's own; thread-safe. Without a log, as of
    the past, there is nothing beside the store."""

    def __init__(self, store: Store, log: EventLog | None, sight: Sight | None = None) -> None:
        self._whole, self._log, self._sight = store, log, sight
        self._store: ReadModels = store if sight is None else store.seen_by(sight)

    def snapshot(self, scope: Scope | str) -> AbstractContextManager[None]:
        return self._store.snapshot()

    def stand(self, scope: Scope | str) -> tuple[int | str, ...]:
        return self._store.stand(scope)

    def written(self, scope: Scope | str) -> int:
        return 0 if self._log is None else self._log.end(DYNAMICS)

    def forms(self, scope: Scope | str, form_type: str | None = None, include_retired: bool = False) -> list[FormView]:
        return self._store.forms(scope, form_type, include_retired)

    def history(self, scope: Scope | str, form_id: str | None = None, slot: str | None = None) -> list[VersionView]:
        return self._store.history(scope, form_id, slot)

    def timeline(
        self,
        scope: Scope | str,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[TimelineEntry]:
        return self._store.timeline(scope, since, until, limit, newest_first)

    def edges(self, scope: Scope | str) -> list[EdgeView]:
        return self._store.edges(scope)

    def pending(self, scope: Scope | str) -> list[PendingView]:
        return self._store.pending(scope)

    def closed_summaries(self, scope: Scope | str) -> list[SummaryView]:
        return self._store.closed_summaries(scope)

    def turns_by_offset(self, scope: Scope | str, offsets: Sequence[int]) -> list[TurnView]:
        """As the store's, with the turns behind its cursor."""
        found = {view.offset: view for view in self._store.turns_by_offset(scope, offsets)}
        missing = [offset for offset in offsets if offset not in found]
        start = undecided_from(self._whole, scope) if missing else 0
        if missing and max(missing) >= start:
            waiting = self._waiting(scope, max(start, min(missing)))
            found |= {view.offset: view for view in waiting if view.offset in missing}
        return [found[offset] for offset in offsets if offset in found]

    def turn_index(self, scope: Scope | str, after_offset: int = -1) -> list[TurnRow]:
        """As the store's, with the turns behind its cursor."""
        # This first: what is projected in between is in the store's answer, and known by its offset.
        start = undecided_from(self._whole, scope)
        rows = self._store.turn_index(scope, after_offset)
        known = rows[-1][0] if rows else after_offset
        waiting = self._waiting(scope, max(start, known + 1))
        return rows + [
            (
                view.offset,
                view.event_id,
                view.session,
                view.speaker,
                view.role,
                view.occurred_at,
                " ".join(terms(said(view.content))),
            )
            for view in waiting
            if view.offset > known
        ]

    def _waiting(self, scope: Scope | str, start: int) -> list[TurnView]:
        """Turns that are not decided yet, of the sources that are seen; none where only some Form types are, since nobody knows
        yet which ones they speak of."""
        if (
            self._log is None
            or self._log.end(DYNAMICS) <= start
            or (self._sight is not None and self._sight.form_types is not None)
        ):
            return []
        sources = None if self._sight is None else self._sight.sources
        wanted = scope if isinstance(scope, Scope) else Scope.parse(scope)
        views = []
        for stored in self._log.read(DYNAMICS, start, scope=wanted):
            envelope, turn = decode(stored.value)
            if isinstance(turn, Turn) and (sources is None or envelope.source in sources):
                views.append(
                    TurnView(
                        event_id=envelope.id,
                        source=envelope.source,
                        offset=stored.offset,
                        session=turn.session,
                        agent=turn.agent,
                        role=turn.role,
                        speaker=turn.speaker,
                        content=turn.content,
                        occurred_at=turn.occurred_at,
                        expires_at=turn.expires_at,
                    )
                )
        return views
