"""What recall reads: the read models of the scopes it is given, and nothing else. Each method names its scope, so that no path
can widen a question to another one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from ..schemas.scope import Scope
from ..schemas.views import EdgeView, FormView, PendingView, SummaryView, TimelineEntry, TurnView, VersionView
from .lexical import IndexRow

__all__ = ["MemoryReader"]


class MemoryReader(Protocol):
    """The read side of the projections. Nothing hidden is ever returned; an unknown scope reads as an empty one."""

    def snapshot(self, scope: Scope | str) -> AbstractContextManager[None]:
        """All reads of this thread inside it, of scopes that lie where this one does, see one state."""
        ...

    def stand(self, scope: Scope | str) -> tuple[int | str, ...]:
        """How far the scope's read models are: while it stays the same, so does every answer here about what was decided."""
        ...

    def written(self, scope: Scope | str) -> int:
        """How far the log is that the scope's turns are on: while it stays the same too, so do the answers about turns."""
        ...

    def forms(self, scope: Scope | str, form_type: str | None = None, include_retired: bool = False) -> list[FormView]:
        """Forms as they stand now."""
        ...

    def history(self, scope: Scope | str, form_id: str | None = None, slot: str | None = None) -> list[VersionView]:
        """Every version, ordered by form, slot, element, valid_from, position."""
        ...

    def timeline(
        self,
        scope: Scope | str,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[TimelineEntry]:
        """What happened from `since` on and before `until`."""
        ...

    def edges(self, scope: Scope | str) -> list[EdgeView]:
        """Relations between Forms that hold now."""
        ...

    def pending(self, scope: Scope | str) -> list[PendingView]:
        """Open questions, oldest first."""
        ...

    def closed_summaries(self, scope: Scope | str) -> list[SummaryView]:
        """The newest revision of each week that was summarised."""
        ...

    def turns_by_offset(self, scope: Scope | str, offsets: Sequence[int]) -> list[TurnView]:
        """The turns at these dynamics offsets, in the order asked for; those that are not there are left out."""
        ...

    def turn_index(self, scope: Scope | str, after_offset: int = -1) -> list[IndexRow]:
        """(offset, event id, session, speaker, role, occurred_at, terms) of every turn behind an offset, in order."""
        ...
