"""Undoing what was decided: a slot, a Form or a whole memory goes back to how it stood, and nothing that came since is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..schemas.clean import check_text
from ..schemas.errors import NotFound
from ..schemas.events import CHANGES
from ..schemas.inputs import RollbackRequested
from ..schemas.scope import Scope, check_name
from .base import Face, Id

if TYPE_CHECKING:
    from ..replay.past_position import When
    from ..replay.rollback import RollbackReport

__all__ = ["RollingBack"]


class RollingBack(Face):
    """Rolling back."""

    def rollback(
        self,
        to: When,
        *,
        form_id: str | None = None,
        slot: str | None = None,
        reason: str = "",
        actor: str = "user",
        dry_run: bool = False,
        user_id: Id | None = None,
        subject: str | None = None,
        tenant: str | None = None,
    ) -> RollbackReport:
        """Puts a slot, a Form or all that a memory believes back to how it stood right after an input, or at a recorded time.

        to: the id of an input (of this memory; the beginning of it does), a token that writing returned, or a time. form_id:
        only that Form; slot: only that slot of it; without both, everything. What was said since stays in the history and on
        the log; what was hidden since stays hidden; what became due since has happened. `dry_run` says what would change and
        writes nothing. To undo a rollback, roll back to the report's `before_input`.

        Returns what changed, before and after; `outcome` is `nothing` where nothing differed (that too is recorded). Raises
        InvalidInput, NotFound.
        """
        from ..replay.rollback import dry_event, place_of, preview, report_of, target_of

        scope = self._scope(tenant, subject, user_id)
        self._may_roll_back()
        target = target_of(form_id, slot)
        self._home.catch_up(str(scope))
        part, now = self._home.part_of(scope), self._home.now()
        if form_id is not None:
            form = self._form(scope, form_id)
            if slot is not None:
                self._check_slot(scope, form.form_id, check_text("slot", slot))
        place = place_of(part, scope, to, now)
        data = RollbackRequested(
            target=target,
            target_id=form_id or "",
            slot=slot or "",
            to=place.to,
            to_source=place.to_source,
            to_time=place.to_time,
            reason=reason if not reason else check_text("reason", reason),
            actor=check_name("actor", actor),
        )
        if dry_run:
            decision = preview(part, self._home.policy, dry_event(data, scope, self._source, now), data)
            return report_of(decision, data, scope, self._form_names(scope), dry_run=True)
        return self._roll_back(scope, data)

    def _may_roll_back(self) -> None:
        """Raises NotAllowed where not all of a scope is seen."""

    def _roll_back(self, scope: Scope, data: RollbackRequested) -> RollbackReport:
        from ..replay.rollback import decision_about, report_of

        log = self._home.part_of(scope).log
        start, head, before = log.end(CHANGES), log.head(scope), self._last_input(scope)
        receipt = self._command(scope, data, wait=True)
        (event_id,) = receipt.ids
        decision = decision_about(log, scope, event_id, self._source, start, head)
        if decision is None:
            raise NotFound("decision", event_id, "the rollback is recorded and waits: `operation` says what for")
        report = report_of(decision, data, scope, self._form_names(scope), dry_run=False)
        return msgspec.structs.replace(report, input_id=event_id, before_input=before, position=receipt.position)

    def _last_input(self, scope: Scope) -> str:
        """The id of the newest input of a scope."""
        from ..replay.rollback import input_at

        log = self._home.part_of(scope).log
        offset = log.last_input(scope)
        return "" if offset is None else input_at(log, offset)

    def _form_names(self, scope: Scope) -> dict[str, tuple[str, str]]:
        forms = self._home.store_of(scope).forms(scope, include_retired=True)
        return {form.form_id: (form.form_type, form.name) for form in forms}

    def _check_slot(self, scope: Scope, form_id: str, slot: str) -> None:
        """Raises NotFound for a slot that the Form never had."""
        rows = self._home.store_of(scope).history(scope, form_id)
        if all(row.slot != slot for row in rows):
            known = ", ".join(sorted({row.slot for row in rows})) or "none"
            raise NotFound("slot", slot, f"this Form has had: {known}")
