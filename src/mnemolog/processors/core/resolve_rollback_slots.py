"""What stands in a slot, or an element of it, put back by a new version; what is scheduled, put back or called off. What became
due since the past moment counts as if it had stood then: a rollback does not undo the passing of time."""

from __future__ import annotations

from ...schemas import changes as ch
from .draft import Draft
from .past import PastState
from .records import Form, Place, Version, slot_key
from .resolve_time import VALID_FROM, deadline_id

__all__ = ["SlotsBack"]


class SlotsBack:
    """Puts slots back, one place after the other; `stood` is what was there before of all that it changed."""

    def __init__(self, draft: Draft, past: PastState, when: str, cause: str) -> None:
        self._draft, self._past, self._when, self._cause = draft, past, when, cause
        self._freed: list[str] = []
        self.stood: list[ch.SlotStood] = []

    def put_back(self, key: str, now: Place, *, living: bool) -> None:
        """living: whether the Form was there then; of one that is called off, only what is scheduled goes."""
        form = self._draft.state.form[now.form_id]
        then = self._past.state.place.get(key) if living else None
        if not form.retired:
            self._standing(form, now, None if then is None else self._in_force(then))
        self._scheduled(form, now, () if then is None else then.scheduled)

    def settle_deadlines(self) -> None:
        """A deadline that nothing waits for any more is done."""
        state = self._draft.state
        waiting = {version.valid_from for key in state.scheduled for version in state.place[key].scheduled}
        for due in dict.fromkeys(self._freed):
            known = deadline_id(state.tenant, state.subject, VALID_FROM, due)
            if due not in waiting and known in state.deadline:
                self._draft.emit(ch.DeadlineDone(deadline_id=known))

    def _in_force(self, then: Place) -> Version | None:
        """What stood then, moved on by what was scheduled then and has become due."""
        found = then.current
        due = [version for version in then.scheduled if version.valid_from <= self._when]
        for version in sorted(due, key=lambda item: (item.valid_from, item.place, item.version)):
            found = None if version.value is None else version
        return found

    def _standing(self, form: Form, now: Place, then: Version | None) -> None:
        current = now.current
        if then is None:
            if current is not None:
                self._note(now, current)
                self._change(form, now, current, "retired", self._when, supersedes=current, before=current)
        elif current is None or _counts(then) != _counts(current):
            self._note(now, current)
            self._change(form, now, then, "confirmed", self._when, supersedes=current, before=current, restores=then)

    def _scheduled(self, form: Form, now: Place, then: tuple[Version, ...]) -> None:
        wanted = [version for version in then if version.valid_from > self._when]
        kept = {_waits(version) for version in wanted}
        for waiting in now.scheduled:
            if _waits(waiting) not in kept:
                self._note(now, waiting, scheduled=True)
                self._change(form, now, waiting, "retired", waiting.valid_from, supersedes=waiting)
                self._freed.append(waiting.valid_from)
        there = {_waits(version) for version in now.scheduled}
        for version in wanted:
            if _waits(version) not in there:
                place = self._draft.state.place_of(now.form_id, now.slot, now.element)
                current = place.current if place is not None else None
                self._change(
                    form, now, version, "scheduled", version.valid_from, supersedes=current, before=current, restores=version
                )
                self._set_deadline(now, version.valid_from)

    def _set_deadline(self, place: Place, due: str) -> None:
        state = self._draft.state
        self._draft.emit(
            ch.DeadlineSet(
                deadline_id=deadline_id(state.tenant, state.subject, VALID_FROM, due),
                deadline=VALID_FROM,
                due=due,
                form_id=place.form_id,
                slot=place.slot,
                version=state.count[slot_key(place.form_id, place.slot)],
            )
        )

    def _change(
        self,
        form: Form,
        place: Place,
        version: Version,
        status: ch.SlotStatus,
        when: str,
        *,
        supersedes: Version | None,
        before: Version | None = None,
        restores: Version | None = None,
    ) -> None:
        origin = ""
        if restores is not None:
            made_by = (place.form_id, place.slot, restores.version)
            origin = self._past.origins.get(made_by, "") or restores.input_id
        self._draft.emit(
            ch.SlotChanged(
                form_id=place.form_id,
                form_type=form.form_type,
                slot=place.slot,
                version=self._draft.state.count.get(slot_key(place.form_id, place.slot), 0) + 1,
                value=version.value,
                status=status,
                reason="rolled_back",
                element=place.element,
                confidence=version.confidence,
                authority=version.authority,
                valid_from=when,
                supersedes=None if supersedes is None else supersedes.version,
                before=None if before is None else before.value,
                cause=self._cause,
                evidence=list(version.evidence),
                count=version.count,
                restores=None if restores is None else restores.version,
                origin=origin,
            )
        )

    def _note(self, place: Place, version: Version | None, *, scheduled: bool = False) -> None:
        self.stood.append(
            ch.SlotStood(
                form_id=place.form_id,
                slot=place.slot,
                element=place.element,
                version=0 if version is None else version.version,
                value=None if version is None else version.value,
                confidence=0.0 if version is None else version.confidence,
                authority=None if version is None else version.authority,
                valid_from="" if version is None else version.valid_from,
                scheduled=scheduled,
            )
        )


def _counts(version: Version) -> tuple[object, ...]:
    """What makes two versions the same to whoever asks what is true, and why."""
    return version.value, version.confidence, version.authority, version.evidence, version.count


def _waits(version: Version) -> tuple[object, ...]:
    return (version.valid_from, *map(repr, _counts(version)))
