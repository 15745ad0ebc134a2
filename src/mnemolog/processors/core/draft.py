"""A decision in the making: each change takes effect at once on a fork of the state, so that what follows in the same turn sees
it, while the state that was given stays as it is."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...schemas import changes as ch
from ...schemas.codec import derived_id
from ...schemas.forms import Slot
from ...schemas.observations import Authority, Candidate, Evidence
from ...schemas.values import Value
from .evolve import use_changes
from .evolve_slots import Cause
from .policy import Policy
from .records import Form, Place, Version, slot_key
from .state import ScopeState
from .wording import slot_label, subject_label

__all__ = ["Claim", "Draft", "Given"]


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """The input that is decided, as far as deciding looks at it."""

    input_id: str
    source: str
    moment: str
    """Event time at which it counts."""
    place: int
    """Dynamics offset: of two things said at the same time the later recorded one wins."""
    session: str = ""
    speaker: str = ""
    role: str = "user"
    content: str = ""
    turn_id: str = ""
    """The turn that evidence points into."""
    said: str = ""
    """`moment` where the input is itself a turn."""
    utc_offset: int = 0
    importance: float | None = None
    lang: str = "en"


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A value that is to become the truth of a slot; everything that could hold it back has been looked at."""

    slot: str
    value: Value | None
    confidence: float
    authority: Authority
    when: str
    """Event time from which it holds."""
    evidence: tuple[Evidence, ...]
    cause: str = ""
    before: Value | None = None
    correction: bool = False
    confirmed: bool = False
    """It was pending, and the user said yes."""


class Draft:
    """Collects the changes of one decision."""

    def __init__(self, state: ScopeState, policy: Policy, given: Given) -> None:
        self.state = state.fork()
        self.policy = policy
        self.given = given
        self.changes: list[ch.Change] = []
        self._cause = Cause(given.input_id, given.place, given.session, given.said)
        self._made: dict[str, int] = {}

    @property
    def horizon(self) -> str:
        """Up to here things have happened; what holds from later on is scheduled."""
        return max(self.given.moment, self.state.latest)

    def new_id(self, handler: str) -> str:
        index = self._made.get(handler, 0)
        self._made[handler] = index + 1
        given = self.given
        return derived_id(self.state.tenant, self.state.subject, given.source, given.input_id, handler, index)

    def emit(self, change: ch.Change) -> None:
        self.changes.append(change)
        use_changes(self.state, [change], self._cause, {})

    def evidence(self, candidate: Candidate) -> Evidence:
        return Evidence(self.given.turn_id, candidate.quote, candidate.start, candidate.end)

    def reject(self, reason: str, candidate: Candidate | None = None) -> None:
        form_type = slot = quote = ""
        if candidate is not None:
            form_type, slot, quote = candidate.form_type, candidate.slot, candidate.quote
        self.emit(ch.Rejected(reason=reason, form_type=form_type, slot=slot, quote=quote))

    def slot_changed(
        self,
        form: Form,
        claim: Claim,
        *,
        status: ch.SlotStatus,
        reason: ch.SlotReason,
        value: Value | None,
        element: str = "",
        supersedes: Version | None = None,
        before: Value | None = None,
        slot: str = "",
    ) -> None:
        """A new version of a slot or element."""
        name = slot or claim.slot
        self.emit(
            ch.SlotChanged(
                form_id=form.form_id,
                form_type=form.form_type,
                slot=name,
                version=self.state.count.get(slot_key(form.form_id, name), 0) + 1,
                value=value,
                status=status,
                reason=reason,
                element=element,
                confidence=claim.confidence,
                authority=claim.authority,
                valid_from=claim.when,
                supersedes=None if supersedes is None else supersedes.version,
                before=before,
                cause=claim.cause,
                evidence=list(claim.evidence),
                count=max(len(claim.evidence), 1),
            )
        )

    def reassert(self, form: Form, place: Place, standing: Version) -> None:
        """What stands was said again after the late fact that was just filed: from then on it holds once more."""
        self.emit(
            ch.SlotChanged(
                form_id=place.form_id,
                form_type=form.form_type,
                slot=place.slot,
                version=self.state.count[slot_key(place.form_id, place.slot)] + 1,
                value=standing.value,
                status=standing.status,
                reason="late",
                element=place.element,
                confidence=standing.confidence,
                authority=standing.authority,
                valid_from=standing.affirmed,
                supersedes=standing.version,
                before=standing.value,
                evidence=list(standing.evidence[-1:]),
            )
        )

    def reinforce(self, place: Place, version: Version, claim: Claim) -> None:
        """The same again; the very same words count once."""
        fresh = [piece for piece in claim.evidence if piece not in version.evidence]
        if not fresh:
            return
        self.emit(
            ch.SlotReinforced(
                form_id=place.form_id,
                slot=place.slot,
                version=version.version,
                element=place.element,
                confidence=max(version.confidence, claim.confidence),
                evidence=fresh,
                count=version.count + len(fresh),
            )
        )

    def decided(
        self, form: Form, claim: Claim, declared: Slot | None, *, before: str, after: str, slot: str = "", label: str = ""
    ) -> None:
        """The change of a decision, for the timeline."""
        name = slot or claim.slot
        lang = self.given.lang
        about = label or subject_label(self.shown_name(form), slot_label(name, declared, lang), lang)
        self.emit(
            ch.EpisodeSeen(
                episode_id=self.new_id("episode"),
                episode="decision",
                object=about,
                before=before,
                after=after,
                cause=claim.cause,
                form_id=form.form_id,
                slot=name,
                occurred_at=claim.when,
                evidence=list(claim.evidence),
            )
        )

    def shown_name(self, form: Form) -> str:
        """The Form's name where it has one of its own; the user and a scope's only Form go without."""
        return "" if form.key in ("self", "scope") or form.key.startswith("current") else form.name

    def close_pending(self, form: Form, slot: str, value: Value | None, *, many: bool) -> None:
        """Questions that a plain statement has answered or overtaken."""
        for pending_id in self.state.pending_of.get(slot_key(form.form_id, slot), ()):
            pending = self.state.pending[pending_id]
            alike = value is not None and pending.value is not None and pending.value.key == value.key
            if alike and pending.op != "remove":
                self.emit(ch.PendingClosed(pending_id=pending_id, how="confirmed"))
            elif not many or alike:
                self.emit(ch.PendingClosed(pending_id=pending_id, how="superseded"))

    def close(self, pending_id: str, how: Literal["confirmed", "rejected", "superseded"]) -> None:
        self.emit(ch.PendingClosed(pending_id=pending_id, how=how))

    def elapsed(self, form: Form, slot: str, current: Version | None, version: Version) -> None:
        """The timeline's word on a change that was announced and now holds."""
        before = current.value.shown if current is not None and current.value is not None else ""
        after = version.value.shown if version.value is not None else ""
        if not before or before == after:
            return
        claim = Claim(
            slot=slot,
            value=version.value,
            confidence=version.confidence,
            authority=version.authority,
            when=version.valid_from,
            evidence=version.evidence,
        )
        self.decided(form, claim, self.policy.slot(form.form_type, slot), before=before, after=after)
