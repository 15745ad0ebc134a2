"""One input, one decision: pure, so that the same state, observation and policy give the same bytes on every machine. The state
is only read; `evolve` and `apply` move it on."""

from __future__ import annotations

import msgspec

from ...schemas.changes import Change, DeadlineDone, Decision, Outcome, Rejected, SlotChanged
from ...schemas.envelope import Envelope, Position
from ...schemas.inputs import ReextractRequested, RollbackRequested, Turn
from ...schemas.observations import ExtractionFailed, Observation
from .commands import carry_out
from .draft import Draft, Given
from .moments import DUPLICATE_WINDOW, event_time, micros, turn_digest
from .past import PastState
from .policy import Policy
from .ports import SeenTurn
from .records import Version
from .resolve_answer import answer_in_words
from .resolve_rollback import roll_back
from .resolve_statement import hear
from .resolve_time import VALID_FROM, deadline_id
from .resolve_turn import joined
from .state import ScopeState
from .values import detect_lang

__all__ = ["decide"]


def decide(
    state: ScopeState,
    envelope: Envelope,
    data: msgspec.Struct,
    observation: Observation | ExtractionFailed,
    policy: Policy,
    position: Position,
    about: SeenTurn | PastState | None = None,
) -> Decision:
    """The decision about one input.

    envelope, data: the input and its typed data; position: where it lies; about: for `reextract.requested` the turn that is to
    be understood again, for `rollback.requested` how the scope stood then; None where that is gone.
    """
    moment = event_time(envelope)
    outcome: Outcome | None = None
    note = ""
    if isinstance(observation, ExtractionFailed):
        outcome, note = "failed", observation.error
    elif isinstance(data, Turn) and _repeated(state, data, moment):
        outcome = "duplicate"
    elif isinstance(data, Turn) and not observation.candidates:
        outcome = "nothing"
    changes: list[Change] = []
    if outcome is None or _is_due(state, moment):
        draft = Draft(state, policy, _given(envelope, data, moment, position, about))
        _pass_deadlines(draft)
        if outcome is None:
            note = _carry_on(draft, data, observation, about)
        changes = draft.changes
    if outcome is None or (outcome == "nothing" and changes):
        outcome = _outcome(changes)
    turn = about.turn if isinstance(about, SeenTurn) and isinstance(data, ReextractRequested) else data
    return Decision(
        input_id=envelope.id,
        input_source=envelope.source,
        input_type=envelope.type,
        prev=state.head,
        outcome=outcome,
        changes=changes,
        session=getattr(turn, "session", ""),
        speaker=turn.speaker if isinstance(turn, Turn) else "",
        role=data.role if isinstance(data, Turn) else "",
        policy=policy.name,
        note=note,
    )


def _carry_on(
    draft: Draft,
    data: msgspec.Struct,
    observation: Observation | ExtractionFailed,
    about: SeenTurn | PastState | None,
) -> str:
    if isinstance(data, ReextractRequested) and about is None:
        return f"no turn {data.turn_id!r}"
    if isinstance(data, RollbackRequested):
        return roll_back(draft, data, about if isinstance(about, PastState) else None)
    if isinstance(data, Turn | ReextractRequested) and isinstance(observation, Observation):
        return _understand(draft, observation)
    return carry_out(draft, data)


def _is_due(state: ScopeState, moment: str) -> bool:
    if not state.scheduled and not state.deadline:
        return False
    now = max(moment, state.latest)
    return any(due <= now for due in (*state.scheduled.values(), *state.deadline.values()))


def _given(
    envelope: Envelope, data: msgspec.Struct, moment: str, position: Position, about: SeenTurn | PastState | None
) -> Given:
    turn, turn_id = (data, envelope.id) if isinstance(data, Turn) else (None, "")
    if isinstance(data, ReextractRequested) and isinstance(about, SeenTurn):
        turn, turn_id = about.turn, about.id
        moment = min(turn.occurred_at, moment)
    if turn is None:
        session = getattr(data, "session", "")
        return Given(
            input_id=envelope.id, source=envelope.source, moment=moment, place=position.offset, session=session, role=""
        )
    return Given(
        input_id=envelope.id,
        source=envelope.source,
        moment=moment,
        place=position.offset,
        session=turn.session,
        speaker=turn.speaker,
        role=turn.role,
        content=turn.content,
        turn_id=turn_id,
        said=moment if isinstance(data, Turn) else "",
        utc_offset=turn.utc_offset,
        importance=turn.importance,
        lang=detect_lang(turn.content),
    )


def _understand(draft: Draft, observation: Observation) -> str:
    notes: list[str] = []
    for candidate in joined(draft, observation.candidates):
        if candidate.op in ("confirm", "reject"):
            note = answer_in_words(draft, candidate)
            if note:
                notes.append(note)
        else:
            hear(draft, candidate)
    return "; ".join(dict.fromkeys(notes))


def _repeated(state: ScopeState, turn: Turn, moment: str) -> bool:
    """The same words by the same speaker in the same session within ten minutes of a turn that was kept (W12)."""
    seen = state.session.get(turn.session)
    if seen is None or not seen.recent:
        return False
    digest = turn_digest(turn)
    now = micros(moment)
    return any(known == digest and abs(now - then) <= DUPLICATE_WINDOW for known, then, _ in seen.recent)


def _outcome(changes: list[Change]) -> Outcome:
    if not changes:
        return "nothing"
    return "rejected" if all(isinstance(change, Rejected) for change in changes) else "changed"


def _pass_deadlines(draft: Draft) -> None:
    """What was due before this input happens first, in the order in which it was due."""
    state, now = draft.state, draft.horizon
    due: list[tuple[str, int, int, str, Version]] = []
    for key, earliest in state.scheduled.items():
        if earliest <= now:
            due += [
                (version.valid_from, version.place, version.version, key, version)
                for version in state.place[key].scheduled
                if version.valid_from <= now
            ]
    for *_, key, version in sorted(due, key=lambda item: item[:4]):
        _elapse(draft, key, version)
    done = deadline_ids(draft, [version for *_, version in due])
    for known, when in list(state.deadline.items()):
        if known in done or when <= now:
            draft.emit(DeadlineDone(deadline_id=known))


def deadline_ids(draft: Draft, versions: list[Version]) -> list[str]:
    state = draft.state
    return [deadline_id(state.tenant, state.subject, VALID_FROM, version.valid_from) for version in versions]


def _elapse(draft: Draft, key: str, version: Version) -> None:
    """A scheduled version becomes what stands, or ends it."""
    place = draft.state.place[key]
    form = draft.state.form[place.form_id]
    current = place.current
    ends = version.value is None
    draft.emit(
        SlotChanged(
            form_id=place.form_id,
            form_type=form.form_type,
            slot=place.slot,
            version=version.version,
            value=version.value,
            status="retired" if ends else "confirmed",
            reason="elapsed",
            element=place.element,
            confidence=version.confidence,
            authority=version.authority,
            valid_from=version.valid_from,
            supersedes=None if current is None else current.version,
            before=None if current is None else current.value,
            evidence=list(version.evidence),
            count=version.count,
        )
    )
    draft.elapsed(form, place.slot, current, version)
