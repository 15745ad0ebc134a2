"""Context: memory as prompt text, never longer than its budget. What holds comes first, how it came to be in the middle, what
was said last; where room is short, recent decisions stay longest. Each line knows its sources, an old or unsure one says so,
and nothing in it can end the block before its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ..processors.core.markers import CLOSE, OPEN
from ..schemas.registry import Registry
from ..schemas.views import PendingView
from .excerpts import excerpt_line
from .facts import Facts
from .hits import Hit
from .lines import BLOCKS, Block, ContextLine
from .statements import changes, open_questions, profile
from .understand import Question
from .wording import WORDS

__all__ = ["Context", "ContextLine", "assemble"]

_RECENT_CHANGES = 3
"""Changes that stay as long as anything does."""
_FIRST_EXCERPTS = 5
_UNSURE_SHARE = 4
"""At most one excerpt in four may be there by resemblance alone."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """`str()` is the prompt text, empty where there is nothing to say (or no room for it)."""

    text: str
    lines: list[ContextLine]
    """In the order of the text, without headings and markers."""
    tokens: int
    """Of the text, by the tokenizer that the budget is counted with."""
    budget: int
    truncated: bool
    """Some lines were left out, or cut, for want of room."""
    behind: int = 0
    """Inputs that were not processed yet when this was read."""
    recall_id: str = ""
    """What feedback names it by; empty where recalls are not recorded."""

    def __str__(self) -> str:
        return self.text


def assemble(
    question: Question,
    *,
    facts: Sequence[Facts],
    slots: Sequence[Hit],
    events: Sequence[Hit],
    turns: Sequence[Hit],
    pending: Sequence[PendingView],
    registry: Registry,
    budget: int,
    count: Callable[[str], int],
    behind: int = 0,
) -> Context:
    """Chooses lines in order of worth until the budget is full, and sets them in order of blocks."""
    lang = question.lang
    standing = profile(facts, slots, registry, lang)
    history = changes(facts, slots, events, registry, lang)
    said = _excerpts(question, turns)
    asked = open_questions(question, pending, facts, slots)
    recent = history[-_RECENT_CHANGES:]
    by_worth = [
        *reversed(recent),
        *(line for worth, line in standing if worth == 0),
        *(line for worth, line in standing if worth == 1),
        *said[:_FIRST_EXCERPTS],
        *asked,
        *reversed(history[: -len(recent) or None] if recent else []),
        *said[_FIRST_EXCERPTS:],
        *(line for worth, line in standing if worth == 2),
    ]
    order = {id(line): place for place, line in enumerate([*(line for _, line in standing), *history, *_by_time(said), *asked])}
    kept = _fill(by_worth, order, lang, budget, count)
    lines = [line for block in BLOCKS for line in kept if line.block == block]
    text = _text(lines, lang)
    return Context(
        text=text,
        lines=lines,
        tokens=count(text) if text else 0,
        budget=budget,
        truncated=len(lines) < len(by_worth),
        behind=behind,
    )


def _by_time(lines: Sequence[ContextLine]) -> list[ContextLine]:
    return sorted(lines, key=lambda line: line.occurred_at)


def _excerpts(question: Question, turns: Sequence[Hit]) -> list[ContextLine]:
    """Turns in order of worth; few of those that only resemble the question."""
    lines: list[ContextLine] = []
    unsure = 0
    allowed = max(1, len(turns) // _UNSURE_SHARE)
    for hit in turns:
        if hit.confidence < 1:
            unsure += 1
            if unsure > allowed or not hit.routes:
                continue
        text = excerpt_line(hit, question)
        if not text:
            continue
        lines.append(
            ContextLine(
                block="excerpts",
                text=text,
                scope=hit.scope,
                event_ids=hit.event_ids,
                status=hit.status,
                confidence=hit.confidence,
                occurred_at=hit.occurred_at,
            )
        )
    return lines


def _fill(
    by_worth: Sequence[ContextLine], order: dict[int, int], lang: str, budget: int, count: Callable[[str], int]
) -> list[ContextLine]:
    """The lines that fit, in the order of the text. A line that does not fit is passed over: a shorter one may still."""
    chosen: list[ContextLine] = []
    headings: set[Block] = set()
    spent = count(f"{OPEN}\n{CLOSE}")
    for line in by_worth:
        cost = count(f"{line.text}\n")
        if line.block not in headings:
            cost += count(f"{_heading(line.block, lang)}\n")
        if spent + cost > budget:
            continue
        spent += cost
        headings.add(line.block)
        chosen.append(line)

    def placed(lines: Sequence[ContextLine]) -> list[ContextLine]:
        return sorted(lines, key=lambda line: (BLOCKS.index(line.block), order[id(line)]))

    # Tokens of the parts need not add up to those of the whole: the whole is what counts.
    while chosen and count(_text(placed(chosen), lang)) > budget:
        chosen.pop()
    return placed(chosen)


def _heading(block: Block, lang: str) -> str:
    return WORDS[lang][block]


def _text(lines: Sequence[ContextLine], lang: str) -> str:
    if not lines:
        return ""
    rows = [OPEN]
    block = ""
    for line in lines:
        if line.block != block:
            block = line.block
            rows.append(_heading(line.block, lang))
        rows.append(line.text)
    return "\n".join([*rows, CLOSE])
