"""Memories by their ids, so that one agent can hand another what it found: whoever fetches sees what they may see, and an id
that leads to nothing they see is no id of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..producers.turns import TimeLike
from ..projections.read_models import ReadModels
from ..schemas.errors import InvalidInput, NotAllowed, NotFound
from ..schemas.scope import Scope
from ..schemas.views import FormView, VersionView
from .base import Id, Rows
from .past import PastFace, When

if TYPE_CHECKING:
    from ..query.hits import Hit, HitStatus
    from ..query.ids import MemoryId

__all__ = ["MOST_IDS", "Fetching"]

MOST_IDS = 100


class Fetching(PastFace):
    """The part of the face that finds nothing by itself."""

    def fetch(
        self,
        ids: Sequence[str],
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        now: TimeLike | None = None,
        as_of: TimeLike | None = None,
        known_at: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[Hit]:
        """The memories of these ids (`Hit.id`), in the order given, as they are now: a value that stands no longer says so.

        user_id or subject: whose they all are; without them each id says it. now: for turns that expire. Raises NotFound for
        the first id that leads to nothing that may be seen, InvalidInput for a text that is no id, or more than 100 of them.
        """
        from ..query.ids import parse_memory_id

        if isinstance(ids, str) or not isinstance(ids, Sequence) or not all(isinstance(one, str) for one in ids):
            raise InvalidInput("ids", "must be a list of ids", "give the `id` of hits")
        if len(ids) > MOST_IDS:
            raise InvalidInput("ids", f"are {len(ids)}, more than {MOST_IDS}", "fetch them in parts")
        when = When.of(as_of, known_at)
        moment = self._now(as_of if now is None else now)
        named = subject is not None or user_id is not None
        whose = self._scope(tenant, subject, user_id) if named else None
        hits: list[Hit] = []
        behind: dict[Scope, int] = {}
        for text in ids:
            one = parse_memory_id(text)
            scope = self._scope_of(one, whose, tenant)
            if scope is None:
                raise NotFound("memory", text)
            if scope not in behind:
                behind[scope] = self._home.catch_up(str(scope), wait=wait)
            with self._rows_of(scope, when) as source:
                hit = self._found(source, scope, one, text, moment)
            if hit is None:
                raise NotFound("memory", text)
            hits.append(hit)
        return Rows(hits, sum(behind.values()))

    def _scope_of(self, one: MemoryId, whose: Scope | None, tenant: str | None) -> Scope | None:
        """Where an id leads; None where the caller may not go, or has named somebody else."""
        try:
            scope = self._scope(tenant, one.subject, None)
        except (NotAllowed, InvalidInput):
            return None
        return scope if whose in (None, scope) else None

    def _found(self, store: ReadModels, scope: Scope, one: MemoryId, text: str, now: str) -> Hit | None:
        if one.kind == "slot":
            return self._slot(store, scope, text, *one.parts)
        if one.kind == "turn":
            return _turn(store, scope, text, *one.parts, now=now)
        if one.kind == "event":
            return _event(store, scope, one.parts[0])
        return _summary(store, scope, text, one.parts[0])

    def _slot(self, store: ReadModels, scope: Scope, text: str, form_id: str, slot: str, number: str) -> Hit | None:
        from ..processors.core.values import detect_lang
        from ..query.hits import Hit
        from ..query.wording import WORDS, day, slot_line, value_text

        form = store.form(scope, form_id)
        versions = store.history(scope, form_id, slot)
        version = next((version for version in versions if str(version.version) == number), None)
        if form is None or version is None or version.value is None:
            return None
        quote = version.evidence[-1].quote if version.evidence else ""
        lang = detect_lang(quote or version.value.shown)
        status = _status(form, version)
        line = slot_line(self._home.registry, form, slot, value_text(version.value), lang)
        mark = "superseded_undated" if status == "superseded" and version.valid_to is None else status
        if status != "current":
            since = version.valid_to if status == "superseded" else version.valid_from
            line = f"{line} [{WORDS[lang][mark].format(day=day(since or version.valid_from))}]"
        return Hit(
            kind="slot",
            id=text,
            text=line,
            score=1.0,
            scope=str(scope),
            event_ids=list(dict.fromkeys(piece.turn_id for piece in version.evidence)),
            occurred_at=version.valid_from,
            status=status,
            confidence=version.confidence,
            routes=["id"],
            session=version.session,
            quote=quote,
            form_id=form_id,
            form_type=form.form_type,
            slot=slot,
            version=version.version,
            until=version.valid_to or "",
            before=value_text(version.before) if version.before is not None else "",
            cause=version.cause,
        )


def _status(form: FormView, version: VersionView) -> HitStatus:
    if form.status == "retired" or version.status == "retired":
        return "retired"
    if version.status == "scheduled":
        return "scheduled"
    return "current" if version.current else "superseded"


def _turn(store: ReadModels, scope: Scope, text: str, source: str, event_id: str, *, now: str) -> Hit | None:
    from ..processors.core.markers import said
    from ..query.hits import Hit

    turn = store.turn(scope, event_id, source)
    if turn is None or (turn.expires_at is not None and turn.expires_at <= now):
        return None
    # What it states may stand no longer; by itself it does not say so.
    outdated = any(
        piece.turn_id == event_id
        for version in store.history(scope)
        if not version.current and version.status not in ("scheduled", "retired")
        for piece in version.evidence
    )
    return Hit(
        kind="turn",
        id=text,
        text=said(turn.content),
        score=1.0,
        scope=str(scope),
        event_ids=[turn.event_id],
        occurred_at=turn.occurred_at,
        status="partly_superseded" if outdated else "said",
        confidence=1.0,
        routes=["id"],
        session=turn.session,
        speaker=turn.speaker,
        role=turn.role,
    )


def _event(store: ReadModels, scope: Scope, entry_id: str) -> Hit | None:
    from ..query.events import event_hit

    entry = store.entry(scope, entry_id)
    return None if entry is None else event_hit(str(scope), entry, text=entry.text, score=1.0, route="id", why={})


def _summary(store: ReadModels, scope: Scope, text: str, week: str) -> Hit | None:
    from ..projections.summaries import week_bounds
    from ..query.hits import Hit

    view = next((view for view in store.summaries(scope) if view.week == week), None)
    if view is None:
        return None
    return Hit(
        kind="summary",
        id=text,
        text="; ".join(view.lines),
        score=1.0,
        scope=str(scope),
        event_ids=[],
        occurred_at=week_bounds(week)[0],
        status="summary",
        confidence=1.0,
        routes=["id"],
    )
