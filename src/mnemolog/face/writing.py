"""The writing half of the face: turns, answers, corrections, and what hides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ..producers.turns import Message, TimeLike, resolve_session, turns_of
from ..schemas.clean import check_text
from ..schemas.envelope import Envelope
from ..schemas.errors import ConflictingContent, InvalidInput, NotFound, Undecodable
from ..schemas.events import DYNAMICS, decode_data, type_of
from ..schemas.inputs import (
    ConfirmationGiven,
    CorrectionRequested,
    ErasureRequested,
    ReextractRequested,
    RetractionRequested,
    SessionEnded,
)
from ..schemas.scope import Scope, check_name
from .base import Face, Id, Receipt
from .checking import check_value

__all__ = ["Writing"]


class Writing(Face):
    """Everything here returns once it is durable; what changes the state is also processed before it returns (on servers it is
    waited for, at most as long as for a read)."""

    def add(
        self,
        messages: str | Message | Sequence[Message],
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        agent_id: Id | None = None,
        run_id: Id | None = None,
        session: str | None = None,
        speaker: str | None = None,
        role: str | None = None,
        occurred_at: TimeLike | None = None,
        id: str | None = None,
        source: str | None = None,
        metadata: dict[str, Any] | None = None,
        expires_at: TimeLike | None = None,
        importance: float | None = None,
        correlation_id: str | None = None,
        tenant: str | None = None,
    ) -> Receipt:
        """Records a text, one message or a list of OpenAI-style messages, and returns once they are durable.

        Whose memory it is: `user_id="42"` (subject `user:42`) or `subject=`. `run_id` is another word for `session`. The same
        `id` again with the same content changes nothing; with other content it raises ConflictingContent. A list is recorded
        whole or not at all. `correlation_id` (a trace's id, say) is kept with the events and those that follow from them.
        Raises InvalidInput naming the field.
        """
        if correlation_id is not None:
            check_name("correlation_id", correlation_id)
        scope = self._scope(tenant, subject, user_id, agent_id)
        source = self._source if source is None else source
        first_times: dict[str, str] = {}
        while True:
            events = turns_of(
                messages,
                scope,
                now=self._home.now(),
                session=resolve_session(session, run_id),
                speaker=speaker,
                agent=None if agent_id is None else check_name("agent_id", str(agent_id)),
                role=role,
                occurred_at=occurred_at,
                event_id=id,
                source=source,
                metadata=metadata,
                expires_at=expires_at,
                importance=importance,
                first_times=first_times,
            )
            if correlation_id is not None:
                events = [msgspec.structs.replace(event, correlationid=correlation_id) for event in events]
            try:
                return self._append(events)
            except ConflictingContent as conflict:
                # A retry without a time of its own: it happened when it was first sent.
                first = self._home.time_of(scope, source, conflict.event_id)
                if first is None or first_times.get(conflict.event_id) == first:
                    raise
                first_times[conflict.event_id] = first

    def add_events(self, events: Sequence[Envelope]) -> Receipt:
        """Records ready-made input events (importers use this), whole or not at all. Raises InvalidInput for what is no input,
        NewerVersion for one of a later version."""
        if not isinstance(events, Sequence) or not all(isinstance(event, Envelope) for event in events):
            raise InvalidInput("events", "must be a list of Envelopes", "`add` takes texts and messages")
        for event in events:
            _check_input(event)
        return self._append(events)

    def end_session(
        self, session: str, *, user_id: Id | None = None, subject: str | None = None, tenant: str | None = None
    ) -> Receipt:
        """Says that a session is over: what was only worth remembering inside it is dropped."""
        data = SessionEnded(session=check_name("session", session))
        return self._command(self._scope(tenant, subject, user_id), data)

    def confirm(
        self,
        pending_id: str,
        value: str | None = None,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        tenant: str | None = None,
        actor: str = "user",
    ) -> Receipt:
        """Answers a pending question with yes; with `value` the answer is that value. Raises NotFound, InvalidInput."""
        scope = self._scope(tenant, subject, user_id)
        self._pending_one(scope, pending_id)
        return self._command(scope, ConfirmationGiven(pending_id=pending_id, accept=True, value=value, actor=actor), wait=True)

    def reject(
        self,
        pending_id: str,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        tenant: str | None = None,
        actor: str = "user",
    ) -> Receipt:
        """Answers a pending question with no."""
        scope = self._scope(tenant, subject, user_id)
        self._pending_one(scope, pending_id)
        return self._command(scope, ConfirmationGiven(pending_id=pending_id, accept=False, actor=actor), wait=True)

    def correct(
        self,
        form_id: str,
        slot: str,
        value: str | None,
        *,
        element: str | None = None,
        reason: str = "",
        user_id: Id | None = None,
        subject: str | None = None,
        tenant: str | None = None,
        actor: str = "user",
    ) -> Receipt:
        """Sets a slot by hand; the old value becomes history. `value=None` empties it; `element` names the element of a
        multi-valued slot to replace. Raises NotFound, UnknownFormType (slot), InvalidInput (a value not of the slot's type).
        """
        scope = self._scope(tenant, subject, user_id)
        check_text("slot", slot)
        if value is not None:
            check_text("value", value)
        form = self._form(scope, form_id)
        check_value(self._home.registry, form.form_type, slot, value, at=self._home.now())
        data = CorrectionRequested(
            form_id=form_id, slot=slot, value=value, element=element, reason=reason, actor=check_name("actor", actor)
        )
        return self._command(scope, data, wait=True)

    def delete(
        self,
        target_id: str,
        *,
        slot: str | None = None,
        reason: str = "",
        user_id: Id | None = None,
        subject: str | None = None,
        tenant: str | None = None,
        actor: str = "user",
    ) -> Receipt:
        """Hides a turn or a Form (by id), or one slot of a Form, from every answer. The log keeps it: this is not an erasure.
        Raises NotFound."""
        scope = self._scope(tenant, subject, user_id)
        check_text("target_id", target_id)
        self._home.catch_up(str(scope))
        store = self._home.store_of(scope)
        target: Literal["turn", "form", "slot"]
        if store.form(str(scope), target_id) is not None:
            target = "form" if slot is None else "slot"
        elif slot is None and store.turn(str(scope), target_id) is not None:
            target = "turn"
        else:
            raise NotFound("form or turn", target_id)
        data = RetractionRequested(target=target, target_id=target_id, slot=slot or "", reason=reason, actor=actor)
        return self._command(scope, data, wait=True)

    def delete_user(
        self,
        user_id: Id | None = None,
        *,
        subject: str | None = None,
        reason: str = "",
        tenant: str | None = None,
        actor: str = "user",
    ) -> Receipt:
        """Hides everything this scope holds so far from every answer. Until erasure is built the bytes stay in the log:
        the command line and this text say so, and nothing here claims otherwise."""
        scope = self._scope(tenant, subject, user_id)
        return self._command(scope, ErasureRequested(reason=reason, actor=actor), wait=True)

    def reextract(
        self, turn_id: str, *, user_id: Id | None = None, subject: str | None = None, tenant: str | None = None
    ) -> Receipt:
        """Asks the extractor about a turn again (after a failure, say); the answer counts at the turn's own time."""
        scope = self._scope(tenant, subject, user_id)
        check_text("turn_id", turn_id)
        self._home.catch_up(str(scope))
        if self._home.store_of(scope).turn(str(scope), turn_id) is None:
            raise NotFound("turn", turn_id)
        return self._command(scope, ReextractRequested(turn_id=turn_id), wait=True)

    def _pending_one(self, scope: Scope, pending_id: str) -> None:
        check_text("pending_id", pending_id)
        self._home.catch_up(str(scope))
        if all(item.pending_id != pending_id for item in self._home.store_of(scope).pending(str(scope))):
            raise NotFound("pending question", pending_id, "`pending` lists them with their ids")


def _check_input(event: Envelope) -> None:
    """An input that cannot be read would hold up its scope for good: it is refused while somebody is there who can mend it."""
    try:
        decode_data(event)
        known = type_of(event.type).topic == DYNAMICS
    except Undecodable as error:
        raise InvalidInput("events", str(error), "make them with `mnemolog.schemas.events.make`") from error
    if not known:
        raise InvalidInput("events", f"{event.type!r} is written by mnemolog alone", "give turns and commands")
