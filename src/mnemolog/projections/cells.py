"""What stands in the cells: one decided input, and how its values, evidence and episodes are written into a row."""

from __future__ import annotations

from typing import Any

import msgspec

from ..processors.core.chain import DecisionHead
from ..processors.core.values import detect_lang
from ..schemas import changes as ch
from ..schemas.envelope import Envelope
from ..schemas.observations import Evidence
from ..schemas.values import Value

__all__ = [
    "BOUND",
    "ENDS",
    "DecidedInput",
    "Key",
    "Row",
    "because",
    "bounded",
    "episode_line",
    "evidence_json",
    "summary_row",
    "value_json",
    "week_row",
]

ENDS = 5
"""Of a version's evidence the first and the last so many pieces are kept."""
BOUND = 2 * ENDS

Row = dict[str, Any]
Key = tuple[Any, ...]


class DecidedInput(msgspec.Struct, frozen=True, kw_only=True):
    """One input with the decision about it: all that projections are made from."""

    input: Envelope
    data: msgspec.Struct
    """The input's typed data."""
    offset: int
    """Of the input on dynamics."""
    decision_envelope: Envelope | DecisionHead
    decision: ch.Decision
    changes_offset: int
    hash: str
    """SHA-256 of the decision's value bytes as stored."""
    recorded: str
    """When the input was appended."""
    extractor: str = ""
    """Name and version of the extractor that observed the input."""

    @property
    def scope(self) -> str:
        return f"{self.input.tenant}/{self.input.subject}"


def evidence_json(evidence: list[Evidence]) -> str:
    return _ENCODE(bounded(evidence)).decode()


def because(said: str, cause: str) -> str:
    """A line with its reason, in the reason's own language."""
    if not cause or cause in said:
        return said
    return f"{said}（因为{cause}）" if detect_lang(cause) == "zh" else f"{said} (because {cause})"


def value_json(value: Value | None) -> str | None:
    return None if value is None else _ENCODE(value).decode()


_ENCODE = msgspec.json.Encoder().encode


def week_row(scope_id: int, week: str) -> Row:
    """A week of which nothing is known yet."""
    return {"scope_id": scope_id, "week": week, "touched": -1, "summarised": -1, "inputs": 0, "hidden_at": -1}


def summary_row(scope_id: int, covered: int, summary: ch.WeekSummarised) -> Row:
    """A revision of a week's summary that covers the inputs up to dynamics offset `covered`."""
    return {
        "scope_id": scope_id,
        "week": summary.week,
        "revision": summary.revision,
        "turns": summary.turns,
        "sessions": summary.sessions,
        "lines": _ENCODE(summary.lines).decode(),
        "input_ids": _ENCODE(summary.input_ids).decode(),
        "position": covered,
    }


def bounded(evidence: list[Evidence]) -> list[Evidence]:
    return evidence if len(evidence) <= BOUND else [*evidence[:ENDS], *evidence[-ENDS:]]


def episode_line(change: ch.EpisodeSeen) -> str:
    """One readable line, from the turn's own words: what was done, from what to what, and why."""
    said = " ".join(part for part in (change.actor, change.action, change.object) if part)
    if not said and change.evidence:
        said = change.evidence[0].quote
    if change.before and change.after:
        said = f"{said}: {change.before} → {change.after}" if said else f"{change.before} → {change.after}"
    elif change.after and change.after not in said:
        said = f"{said}: {change.after}" if said else change.after
    elif change.before and change.before not in said:
        said = f"{said}: {change.before} →" if said else f"{change.before} →"
    return because(said, change.cause)
