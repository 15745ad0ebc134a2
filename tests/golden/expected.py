"""The typed data that each golden file decodes to today. A golden file, `<type>.v<version>.json`, holds the exact bytes of one
record; it is added once, with its version, and neither changed nor deleted ever after: logs hold such records."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mnemolog.schemas.changes import (
    DeadlineDone,
    DeadlineSet,
    Decision,
    EdgeAdded,
    EdgeRetired,
    EpisodeSeen,
    FormCreated,
    FormNamed,
    FormRetired,
    Hidden,
    PendingClosed,
    PendingOpened,
    Rejected,
    SlotChanged,
    SlotReinforced,
    WeekSummarised,
    WorkingCleared,
    WorkingNoted,
)
from mnemolog.schemas.inputs import (
    ConfirmationGiven,
    CorrectionRequested,
    DeadlinePassed,
    ErasureRequested,
    FeedbackGiven,
    ReextractRequested,
    RetractionRequested,
    RollbackRequested,
    SessionEnded,
    Turn,
)
from mnemolog.schemas.observations import Candidate, EntityRef, Evidence, ExtractionFailed, Observation
from mnemolog.schemas.recalls import GivenMemory, MemoryRecalled
from mnemolog.schemas.rejections import InputRejected, Published
from mnemolog.schemas.values import Value

__all__ = ["EXPECTED", "FOLDER"]

FOLDER = Path(__file__).parent

TIME = "2026-03-02T09:30:00.000000Z"
LATER = "2026-04-01T00:00:00.000000Z"
BUDGET = Value("money", {"amount": "5000", "currency": "USD"}, "5000 dollars")
SAID = Evidence("turn-1", "my budget is 5000 dollars", 3, 28)
CHINESE = Evidence("turn-2", "预算大概六千", 0, 6)
HEARD = Candidate(
    op="set",
    entity=EntityRef("current", "project", ""),
    form_type="project",
    slot="budget",
    value=Value("money", {"amount": "6000", "currency": "CNY"}, "六千"),
    before=BUDGET,
    correction=True,
    hedged=True,
    authority="speculated",
    confidence=0.5,
    importance=0.9,
    cause="涨价了",
    valid_from=LATER,
    relation="refers_to",
    target=EntityRef("named", "王芳", "colleague"),
    target_type="person",
    actor="I",
    action="raise",
    object="budget",
    quote="预算大概六千",
    start=0,
    end=6,
)

EXPECTED: dict[str, msgspec.Struct] = {
    "turn.recorded.v1": Turn(
        role="user",
        speaker="Ann",
        content="so my budget is 5000 dollars — 就这样 🙂",
        session="s-1",
        agent="helper",
        occurred_at=TIME,
        utc_offset=0,
        metadata={"channel": "chat"},
    ),
    "turn.recorded.v2": Turn(
        role="assistant",
        speaker="Ann's agent",
        content="Noted: 5000 dollars. 好的 🙂",
        session="s-1",
        agent="helper",
        occurred_at=TIME,
        utc_offset=-330,
        metadata={"tool_call_id": "c-7", "nested": {"list": [1, 2.5, None, True, "文"]}},
        expires_at=LATER,
        importance=0.75,
    ),
    "session.ended.v1": SessionEnded(session="s-1"),
    "correction.requested.v1": CorrectionRequested(
        form_id="f-1", slot="budget", value="7000 USD", element="money:old", reason="typo", actor="operator:7"
    ),
    "confirmation.given.v1": ConfirmationGiven(pending_id="p-1", accept=False, value="6500", actor="user"),
    "deadline.passed.v1": DeadlinePassed(kind="valid_from", due=LATER),
    "retraction.requested.v1": RetractionRequested(
        target="slot", target_id="f-1", slot="budget", reason="said in jest", actor="operator:7"
    ),
    "erasure.requested.v1": ErasureRequested(reason="asked for by the user", actor="operator:7"),
    "reextract.requested.v1": ReextractRequested(turn_id="turn-1", reason="the model was down"),
    "rollback.requested.v1": RollbackRequested(
        target="slot",
        target_id="f-1",
        slot="budget",
        to="turn-1",
        to_source="order-service",
        reason="读错了 misread",
        actor="operator:7",
    ),
    "feedback.given.v1": FeedbackGiven(
        recall_id="019caf18-4c40-7a5b-8c3d-0123456789ab",
        outcome="failure",
        memories=["turn:turn-1"],
        note="the budget was old 旧的",
        actor="operator:7",
    ),
    "memory.recalled.v1": MemoryRecalled(
        kind="context",
        question="What is my budget? 预算多少",
        scopes=["acme/user:42", "acme/project:apollo"],
        agent="helper",
        session="s-1",
        profile="enterprise",
        memories=[GivenMemory("slot:f-1:budget:2", 2.75, ["slots", "keywords"]), GivenMemory("turn-1")],
        missing={"vectors": "not ready in time"},
        tokens=118,
        behind=1,
    ),
    "observation.recorded.v1": Observation(
        input_id="turn-2",
        input_type="turn.recorded",
        extractor="openai/1",
        model="some-model",
        prompt_hash="ab" * 32,
        context_ids=["turn-0", "turn-1"],
        raw='{"candidates": []}',
        candidates=[HEARD],
        command="",
    ),
    "extraction.failed.v1": ExtractionFailed(
        input_id="turn-3",
        input_type="turn.recorded",
        extractor="openai/1",
        error="not the agreed form",
        tries=3,
        raw="Sorry, I",
        model="some-model",
        prompt_hash="cd" * 32,
    ),
    "decision.made.v1": Decision(
        input_id="turn-2",
        input_source="mnemolog",
        input_type="turn.recorded",
        prev="ef" * 32,
        outcome="changed",
        session="s-1",
        speaker="Ann",
        role="user",
        policy="default/1",
        note="one change of each kind",
        changes=[
            FormCreated(form_id="f-1", form_type="project", key="apollo", name="Apollo"),
            FormNamed(form_id="f-1", key="阿波罗", name="阿波罗"),
            SlotChanged(
                form_id="f-1",
                form_type="project",
                slot="budget",
                version=2,
                value=Value("money", {"amount": "6000", "currency": "CNY"}, "六千"),
                status="confirmed",
                reason="corrected",
                element="money:6000",
                confidence=0.9,
                authority="user",
                valid_from=TIME,
                supersedes=1,
                before=BUDGET,
                cause="涨价了",
                evidence=[SAID, CHINESE],
                count=2,
            ),
            SlotReinforced(
                form_id="f-1", slot="budget", version=2, element="money:6000", confidence=0.95, evidence=[CHINESE], count=3
            ),
            PendingOpened(
                pending_id="p-1",
                form_type="project",
                form_id="f-1",
                name="Apollo",
                slot="budget",
                op="set",
                value=Value("number", {"number": "5.5", "unit": "kg"}, "5.5 kg"),
                why="hedged",
                question="Is the budget 6000?",
                confidence=0.5,
                authority="speculated",
                valid_from=TIME,
                evidence=[CHINESE],
                candidate=HEARD,
            ),
            PendingClosed(pending_id="p-1", how="confirmed"),
            FormRetired(form_id="f-2", cause="called off", evidence=[SAID], valid_from=TIME),
            EdgeAdded(
                edge_id="e-1",
                from_form="f-1",
                to_form="f-2",
                relation="supersedes",
                weight=0.8,
                evidence=[SAID],
                valid_from=TIME,
            ),
            EdgeRetired(edge_id="e-1"),
            EpisodeSeen(
                episode_id="ep-1",
                episode="decision",
                actor="Ann",
                action="raised",
                object="budget",
                before="5000 dollars",
                after="六千",
                cause="涨价了",
                form_id="f-1",
                slot="budget",
                occurred_at=TIME,
                evidence=[CHINESE],
            ),
            WorkingNoted(session="s-1", candidate=HEARD),
            WorkingCleared(session="s-1"),
            Rejected(reason="no exact span", form_type="project", slot="budget", quote="预算"),
            DeadlineSet(deadline_id="d-1", deadline="valid_from", due=LATER, form_id="f-1", slot="budget", version=3),
            DeadlineDone(deadline_id="d-1"),
            Hidden(target="slot", target_id="f-1", slot="budget", reason="said in jest", actor="operator:7"),
        ],
    ),
    "week.summarised.v1": WeekSummarised(
        week="2026-W10",
        revision=2,
        turns=12,
        sessions=3,
        lines=["budget: 5000 dollars → 六千", "Ann raised the budget"],
        input_ids=["turn-1", "turn-2"],
    ),
    "input.rejected.v1": InputRejected(
        topic="memory.inbox.v1",
        partition=3,
        offset=17,
        reason="key",
        detail="the record's key is 'acme/user:7', its scope is 'acme/user:42'",
        key=Published(
            content="acme/user:7",
            size=11,
            sha256="12bf40ea7beb22e3cc4d622e68ba3dfbd20b65e2de81ff44bc76c6d77888c57b",
        ),
        value=Published(
            encoding="base64",
            content="/wB7",
            size=9000000,
            sha256="9437129df88d8277c6f8b7ed9e62e8b592c4c73cd28ea72dc4ab032348340f03",
            cut=True,
        ),
    ),
}
