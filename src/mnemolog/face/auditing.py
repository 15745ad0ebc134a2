"""The part of the face that answers why: backwards from a memory to the words it rests on, forwards from a turn to all that
came of it, and who changed what in a period. Nothing here changes anything; an audit is of today."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ..processors.core.ports import EventLog
from ..producers.turns import TimeLike
from ..projections.store import Store
from ..schemas.clean import check_text
from ..schemas.errors import InvalidInput, NotFound
from ..schemas.scope import Scope
from ..schemas.times import parse_time
from .audit_recalls import recall_of, recalls_of
from .base import Face, Id

if TYPE_CHECKING:
    from ..replay.audit_views import Audit, AuditReport, AuditRow, ExtractorInfluence, Influence

__all__ = ["MOST_ITEMS", "Auditing"]

MOST_ITEMS = 10_000
"""The largest limit of an audit."""

T = TypeVar("T", bound=msgspec.Struct)


class Auditing(Face):
    """Audits. Whoever sees a part of a scope only (some Form types or sources) is refused: what others said may show in all of
    it."""

    def audit(
        self,
        id: str | None = None,
        *,
        form_id: str | None = None,
        slot: str | None = None,
        version: int | None = None,
        week: str | None = None,
        line: int | None = None,
        recall_id: str | None = None,
        user_id: Id | None = None,
        subject: str | None = None,
        limit: int = 50,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Audit:
        """Why the memory believes something: the decisions that made it, what was understood, the turn and the exact words, and
        the same of what those decisions built on.

        One of: id, of a hit, a line of a context, an edge, a pending question, an entry of the timeline, a Form, a turn or
        command, a decision or observation about one, or a recall; form_id, with slot (what stands there now) and version; week
        ("2026-W19"), with line (from 1); recall_id. user_id or subject: whose; an id of a hit says it itself. limit: memories
        told at most.

        Raises NotFound where there is no such thing, InvalidInput for none or several of the above.
        """
        from ..replay.audit import Asked, audit

        given = {"id": id, "form_id": form_id, "week": week, "recall_id": recall_id}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            problem = "says not what to audit" if not named else f"and {named[1]} both say what to audit"
            raise InvalidInput(named[0] if named else "id", problem, "give an id, a form_id, a week or a recall_id")
        for name, value, needs in (("slot", slot, form_id), ("version", version, slot), ("line", line, week)):
            if value is not None and needs is None:
                raise InvalidInput(name, "says too little by itself", "give form_id, slot and version; or week and line")
        asked = Asked(
            id=check_text("id", id or ""),
            form_id=check_text("form_id", form_id or ""),
            slot=check_text("slot", slot or ""),
            version=version,
            week=check_text("week", week or ""),
            line=line,
            recall_id=check_text("recall_id", recall_id or ""),
        )
        _check_limit(limit)
        scope = self._scope_asked(id, user_id, subject, tenant)
        self._may_audit("audit")
        behind = self._home.catch_up(str(scope), wait=wait)
        self._recorder.flush()
        part, place = self._home.part_of(scope), self._recorder.place
        found = audit(
            part.log,
            part.store,
            scope,
            asked,
            recall=lambda identifier: recall_of(place.log_of(str(scope)), scope, identifier, self._has),
            limit=limit,
        )
        return msgspec.structs.replace(found, behind=behind)

    def influence(
        self,
        turn_id: str,
        *,
        source: str | None = None,
        user_id: Id | None = None,
        subject: str | None = None,
        limit: int = 200,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Influence:
        """What a turn or a command came to: what was understood and decided, every memory that it made, strengthened or
        replaced, what later decisions built on that, the summaries that count it, and the recalls that gave it to an agent.

        turn_id: its event id (`Receipt.ids`), or the id of its hit; limit: rows of `touched`. Raises NotFound.
        """
        from ..replay.audit_influence import influence

        check_text("turn_id", turn_id)
        _check_limit(limit)
        scope = self._scope_asked(turn_id, user_id, subject, tenant)
        self._may_audit("influence")
        behind = self._home.catch_up(str(scope), wait=wait)
        self._recorder.flush()
        part, logs = self._home.part_of(scope), [log for log, _ in self._audited_parts(None)]
        found = influence(
            part.log,
            part.store,
            scope,
            turn_id,
            None if source is None else check_text("source", source),
            recalls=lambda since, memories: recalls_of(logs, scope, since, memories, self._has),
            limit=limit,
        )
        return msgspec.structs.replace(found, behind=behind)

    def extractor_influence(
        self,
        extractor: str = "",
        *,
        model: str = "",
        prompt_hash: str = "",
        user_id: Id | None = None,
        subject: str | None = None,
        limit: int = 20,
        tenant: str | None = None,
    ) -> ExtractorInfluence:
        """Everything of an extractor, counted: what it understood and what became of that, in one scope or in all of the
        tenant.
        extractor: name, or name and version ("offline", "offline/1"); model; prompt_hash (its beginning is enough): at least
        one of them. limit: scopes and inputs that are told one by one. It reads every input there is.
        """
        from ..replay.audit_extractor import extractor_influence

        for name, value in (("extractor", extractor), ("model", model), ("prompt_hash", prompt_hash)):
            check_text(name, value)
        if not (extractor or model or prompt_hash):
            raise InvalidInput("extractor", "is missing", "name an extractor, a model or a prompt hash")
        _check_limit(limit)
        scope = self._scope_named(user_id, subject, tenant)
        self._may_audit("extractor_influence")
        self._home.catch_up(None if scope is None else str(scope)) if self._whole_memory or scope is not None else None
        return extractor_influence(
            self._audited_parts(scope),
            extractor=extractor,
            model=model,
            prompt_hash=prompt_hash,
            scope=scope,
            shows=self._shows(tenant),
            limit=limit,
        )

    def audit_report(
        self,
        since: TimeLike,
        until: TimeLike | None = None,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        limit: int = 1000,
        each: Callable[[AuditRow], None] | None = None,
        tenant: str | None = None,
    ) -> AuditReport:
        """Who changed what, by what evidence, between two recorded times (default: until now), in one scope or in all of the
        tenant: one row an input, in the order in which they were recorded, and totals over all.

        limit: rows kept in the report; each: is called with every row as it is read, however many there are.
        """
        from ..replay.audit_report import report

        start, end = parse_time(since, "since")[0], self._now(until)
        if end < start:
            raise InvalidInput("until", "is before since")
        if limit < 0:
            raise InvalidInput("limit", "must be 0 or more")
        scope = self._scope_named(user_id, subject, tenant)
        self._may_audit("audit_report")
        behind = self._home.catch_up(None if scope is None else str(scope)) if self._whole_memory or scope is not None else 0
        found = report(self._audited_parts(scope), start, end, scope=scope, shows=self._shows(tenant), limit=limit, each=each)
        return msgspec.structs.replace(found, behind=behind)

    # -- what a view narrows -------------------------------------------------------------------------------------------

    _whole_memory = True
    """Nobody else's scopes are left out of what is waited for."""

    def _may_audit(self, call: str) -> None:
        """Raises NotAllowed for who sees a part only."""

    def _has(self, scope: str) -> bool:
        """Whether a scope's recalls may be told."""
        return True

    def _audited_parts(self, scope: Scope | None) -> list[tuple[EventLog, Store]]:
        """The logs and read models to go through."""
        parts = self._home.parts() if scope is None else [self._home.part_of(scope)]
        return [(part.log, part.store) for part in parts]

    def _shows(self, tenant: str | None) -> Callable[[str], bool]:
        mine = self._tenant if tenant is None else Scope(tenant, "check").tenant
        return lambda scope: scope.partition("/")[0] == mine and self._has(scope)

    def _scope_named(self, user_id: Id | None, subject: str | None, tenant: str | None) -> Scope | None:
        return None if user_id is None and subject is None else self._scope(tenant, subject, user_id)

    def _scope_asked(self, id: str | None, user_id: Id | None, subject: str | None, tenant: str | None) -> Scope:
        """Whose memory: as named, or as the id of a hit says."""
        if user_id is not None or subject is not None or id is None:
            return self._scope(tenant, subject, user_id)
        from ..replay.audit_links import parse_audit_id

        try:
            named = parse_audit_id(id)
        except InvalidInput:
            return self._scope(tenant, subject, user_id)
        try:
            return self._scope(tenant, named.subject, None)
        except InvalidInput:
            raise NotFound("memory", id) from None


def _check_limit(limit: int) -> None:
    if not isinstance(limit, int) or not 1 <= limit <= MOST_ITEMS:
        raise InvalidInput("limit", f"must be 1 to {MOST_ITEMS}")
