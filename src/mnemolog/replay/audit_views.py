"""What an audit tells: frozen records, the same in Python, as JSON and in the terminal. Where something was hidden they say
that, by whom and why, and none of its words."""

from __future__ import annotations

import msgspec

from ..schemas.views import FeedbackView

__all__ = [
    "Audit",
    "AuditReport",
    "AuditRow",
    "Audited",
    "AuditedInput",
    "BuiltOn",
    "CandidateTold",
    "ChangeTold",
    "DecisionTold",
    "ExtractorInfluence",
    "HidingTold",
    "Influence",
    "Influenced",
    "ObservationTold",
    "QuoteTold",
    "RecallTold",
    "ScopeCount",
    "Step",
    "SummaryTold",
]

Facts = dict[str, str | int | float | bool | None]


class HidingTold(msgspec.Struct, frozen=True, kw_only=True):
    """That something is hidden: by which command, on whose behalf and why. All empty where nobody can tell any more."""

    event_id: str = ""
    source: str = ""
    actor: str = ""
    reason: str = ""
    target: str = ""
    """turn | form | slot | scope"""
    recorded_at: str = ""


class QuoteTold(msgspec.Struct, frozen=True, kw_only=True):
    """The words that something rests on: `content[start:end]` of the turn, in Unicode code points."""

    turn_id: str
    source: str
    quote: str
    """Empty where it is hidden."""
    start: int
    end: int
    stands: bool | None
    """Whether exactly these words stand there; None where the turn is hidden, or not to be found."""
    marked: str = ""
    """The words between ⟦ and ⟧ in what was said around them."""


class CandidateTold(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the extractor made of the input. `withheld`: its words are of what was hidden."""

    op: str
    form_type: str
    slot: str
    value: str
    quote: str
    start: int
    end: int
    authority: str
    confidence: float
    importance: float
    withheld: bool = False


class ObservationTold(msgspec.Struct, frozen=True, kw_only=True):
    """What was understood, and by whom. `error` and `tries`: of an extraction that failed."""

    extractor: str
    """Name and version."""
    model: str
    prompt_hash: str
    recorded_at: str
    context_ids: list[str]
    """The turns of the session that the extractor saw beside this one."""
    candidates: list[CandidateTold]
    raw: str
    """A model's answer as received; empty for an extractor that asks none, and where it is withheld."""
    withheld: bool = False
    """The raw answer, or some candidates, speak of what was hidden."""
    error: str = ""
    tries: int = 0


class ChangeTold(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a decision did."""

    id: str
    how: str
    title: str


class DecisionTold(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided. `hash` is of its bytes as stored, `prev` that of the scope's decision before it."""

    id: str
    outcome: str
    policy: str
    note: str
    prev: str
    hash: str
    recorded_at: str
    rejected: list[str]
    """Why candidates were refused, one reason each."""


class AuditedInput(msgspec.Struct, frozen=True, kw_only=True):
    """An input, what was understood of it and what was decided."""

    id: str
    event_id: str
    source: str
    type: str
    scope: str
    offset: int
    """Its dynamics offset."""
    occurred_at: str
    recorded_at: str
    actor: str
    """On whose behalf: of a turn the speaker, or the role where none is named."""
    role: str = ""
    speaker: str = ""
    session: str = ""
    agent: str = ""
    text: str = ""
    """A turn's words."""
    command: Facts = {}
    """What a command asked for."""
    hidden: HidingTold | None = None
    observation: ObservationTold | None = None
    decision: DecisionTold | None = None
    """None while it waits."""


class BuiltOn(msgspec.Struct, frozen=True):
    """What a memory was built on: `why` says in which way."""

    why: str
    id: str


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One decision about a memory."""

    how: str
    """Of a version its reason (new, newer, corrected, late, elapsed ...) or `said again`; of the others asked, confirmed,
    rejected, superseded; related, retired; happened; created, named; said; counts; given; decided, understood."""
    input: str
    """The id of the input, in `Audit.inputs`."""
    quotes: list[QuoteTold] = []
    built_on: list[BuiltOn] = []


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """A memory, and the decisions that made it what it is, oldest first."""

    id: str
    kind: str
    """slot | event | turn | summary (as of hits), form | edge | pending | recall | input | decision | observation"""
    title: str
    facts: Facts
    steps: list[Step]
    left_off: int = 0
    """Decisions about the same Form that were not looked through."""
    hidden: HidingTold | None = None


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """Why the memory believes something. `asked`: the ids of what was asked about; `items`: those first, then what they were
    built on; `inputs`: the inputs that the steps name, oldest first, each once. An audit is of today."""

    scope: str
    asked: list[str]
    items: list[Audited]
    inputs: list[AuditedInput]
    missing: list[str] = []
    """Ids of inputs that are named and not on the log any more, or are of a context that is not there."""
    left_off: int = 0
    """Items that lie deeper than was asked for."""
    behind: int = 0


class Influenced(msgspec.Struct, frozen=True, kw_only=True):
    """What one decision did to one memory, which the turn has influenced."""

    id: str
    kind: str
    title: str
    how: str
    input: str
    """The id of the input that was decided."""
    recorded_at: str
    why: str
    """said | quoted | goes on (with a memory of it), or how it built on one: takes the place of, answers, instead of, tells
    of"""
    on: str = ""
    """The memory that it was built on."""
    hidden: bool = False


class SummaryTold(msgspec.Struct, frozen=True, kw_only=True):
    """A week's summary that counts the turn, or tells of what it influenced. `revision` 0: of the week that is going on."""

    id: str
    week: str
    revision: int
    counts: bool
    lines: list[str]


class RecallTold(msgspec.Struct, frozen=True, kw_only=True):
    """A recall that gave the turn, or what came of it, to an agent."""

    recall_id: str
    recalled_at: str
    kind: str
    question: str
    agent: str
    session: str
    scope: str
    memories: list[str]
    """Those of its memories that the turn has influenced."""
    feedback: list[FeedbackView] = []


class Influence(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn (or command) influenced, oldest first."""

    input: AuditedInput
    memories: list[str]
    """The ids of all memories that it influenced, each once."""
    touched: list[Influenced]
    later: list[str]
    """The ids of later inputs whose decisions built on it, or that were about it."""
    in_context: list[str]
    """The ids of later inputs whose extractor saw it beside them: what came of those may owe it something."""
    summaries: list[SummaryTold]
    recalls: list[RecallTold]
    left_off: int = 0
    """Rows of `touched` beyond the limit."""
    behind: int = 0


class ScopeCount(msgspec.Struct, frozen=True, kw_only=True):
    """What an extractor did in one scope."""

    scope: str
    inputs: int
    candidates: int
    failed: int
    changes: dict[str, int]
    """By what was done: new, newer, said again, asked, happened, rejected ..."""
    standing: int | None
    """Of the values it made, those that hold today; None where a model or a prompt was asked for."""


class ExtractorInfluence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of an extractor, a model or a prompt."""

    extractor: str
    model: str
    prompt_hash: str
    inputs: int
    candidates: int
    failed: int
    changes: dict[str, int]
    variants: dict[str, int]
    """Inputs by `extractor model prompt hash`."""
    scopes: list[ScopeCount]
    """Those with most inputs first, up to the limit."""
    sample: list[AuditedInput]
    """Its newest inputs, up to the limit, newest first."""
    left_off: int = 0
    """Scopes beyond the limit."""


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """One input of a period: who did what, by what evidence."""

    scope: str
    id: str
    event_id: str
    source: str
    type: str
    recorded_at: str
    occurred_at: str
    actor: str
    role: str
    speaker: str
    agent: str
    session: str
    extractor: str
    model: str
    prompt_hash: str
    outcome: str
    """changed | nothing | rejected | duplicate | failed; waiting: there is no decision yet."""
    policy: str
    note: str
    changes: list[ChangeTold]
    quotes: list[QuoteTold]
    rejected: list[str]
    hidden: HidingTold | None = None


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """Who changed what between two recorded times. `rows` beyond the limit are counted in the totals alone."""

    since: str
    until: str
    inputs: int
    scopes: int
    totals: dict[str, dict[str, int]]
    """Counts by `type`, `outcome`, `change`, `source`, `actor`, `agent` and `extractor`."""
    unreadable: int
    rows: list[AuditRow]
    left_off: int = 0
    behind: int = 0
