"""A turn as one line of a prompt: dated, with who said it, cut to the part that bears on the question. It neither brings back
memory that was injected into it nor passes off as true what is so no longer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..processors.core.markers import said
from ..processors.core.text import terms
from .hits import Hit
from .lines import ContextLine
from .sheets import Sheet
from .statements import Voice
from .understand import Question
from .wording import day, filled, one_line

__all__ = ["MAX_EXCERPT", "excerpt", "excerpts"]

MAX_EXCERPT = 600
"""Characters of one turn that are shown at most."""
_READ = 20_000
"""Characters of one turn that are looked through for the best part."""
UNSURE_SHARE = 3
"""At most one excerpt in three (or two) may be there by resemblance alone."""
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？\n]*")


def excerpt(text: str, asked: frozenset[str], limit: int = MAX_EXCERPT) -> str:
    """The stretch of whole sentences, at most `limit` characters, with most of the words asked for; `…` where it was cut."""
    if len(text) <= limit:
        return text
    sentences = [match.span() for match in _SENTENCE.finditer(text[:_READ])] or [(0, limit)]
    found = [frozenset(terms(text[start:end])) & asked for start, end in sentences]
    best, best_score = (0, min(limit, len(text))), -1
    last = 0
    for first in range(len(sentences)):
        last = max(last, first)
        while last + 1 < len(sentences) and sentences[last + 1][1] - sentences[first][0] <= limit:
            last += 1
        score = len(frozenset[str]().union(*found[first : last + 1]))
        if score > best_score:
            start = sentences[first][0]
            best, best_score = (start, min(sentences[last][1], start + limit)), score
    start, end = best
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def excerpts(question: Question, turns: Sequence[Hit], sheets: Sequence[Sheet], voice: Voice) -> list[ContextLine]:
    """Turns in order of worth; few of those that only resemble the question."""
    lines: list[ContextLine] = []
    unsure = 0
    allowed = max(2, len(turns) // UNSURE_SHARE)
    for hit in turns:
        if hit.confidence < 1 and (unsure >= allowed or not hit.routes):
            continue
        words = one_line(excerpt(said(hit.text).strip(), frozenset(question.terms)))
        if not words:
            continue
        unsure += hit.confidence < 1
        lines.append(_line(hit, words, sheets, voice))
    return lines


def _line(hit: Hit, said: str, sheets: Sequence[Sheet], voice: Voice) -> ContextLine:
    """`- Mei: the words [said 2026-05-07, no longer true since 2026-05-10: ...]`."""
    words = voice.words
    who = one_line(hit.speaker) or words["me" if hit.role == "user" else hit.role or "me"]
    notes = _old(hit, said, sheets, voice)
    if hit.confidence < 1:
        notes.append(words["resembles"])
    text = filled(words["excerpt"], {"{who}": who, "{text}": said})
    return ContextLine(
        block="excerpts",
        text=voice.noted(text, "said", hit.occurred_at, *notes, scope=hit.scope),
        scope=hit.scope,
        event_ids=hit.event_ids,
        status=hit.status,
        confidence=hit.confidence,
        occurred_at=hit.occurred_at,
        id=hit.id,
    )


def _old(hit: Hit, said: str, sheets: Sequence[Sheet], voice: Voice) -> list[str]:
    """What of a turn is true no longer: what was understood of it then, and what it merely repeats."""
    words = voice.words
    own = [sheet.outdated for sheet in sheets if any(sheet.outdated.knows(one) for one in hit.event_ids)]
    olds = [old for outdated in own for one in hit.event_ids for old in outdated.states(one)]
    olds += [old for sheet in sheets for old in sheet.outdated.said_in(said) if not any(old is known for known in olds)]
    marks = voice.marks(olds)
    if hit.status == "unchecked":
        marks.append(words["unchecked"])
    partly = hit.status == "partly_superseded"
    if marks:
        return [f"{words['partly']}{marks[0]}" if partly else marks[0], *marks[1:]]
    if hit.status in ("superseded", "partly_superseded") and not own:
        mark = words["superseded"].format(day=day(hit.until)) if hit.until else words["superseded_undated"]
        return [f"{words['partly']}{mark}" if partly else mark]
    return []
