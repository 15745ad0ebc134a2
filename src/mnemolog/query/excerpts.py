"""A turn as one line of a prompt: dated, with who said it, cut to the part that bears on the question, and harmless: it can
neither end the memory block nor bring back memory that was injected into it."""

from __future__ import annotations

import re

from ..processors.core.markers import disarmed, mask_injected
from ..processors.core.text import terms
from .hits import Hit
from .understand import Question
from .wording import WORDS, day, one_line

__all__ = ["MAX_EXCERPT", "excerpt", "excerpt_line", "harmless"]

MAX_EXCERPT = 600
"""Characters of one turn that are shown at most."""
_READ = 20_000
"""Characters of one turn that are looked through for the best part."""
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？\n]*")


def harmless(text: str) -> str:
    """One line in which nothing reads as a marker of the memory block."""
    return disarmed(one_line(text))


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


def excerpt_line(hit: Hit, question: Question) -> str:
    """`[2026-05-07, Mei] "the words"`, marked where it is old or only resembles the question; empty where nothing is left."""
    words = WORDS[question.lang]
    said = harmless(excerpt(mask_injected(hit.text).strip(), frozenset(question.terms)))
    if not said:
        return ""
    who = harmless(hit.speaker) or words["me" if hit.role == "user" else hit.role or "me"]
    marks = ""
    if hit.status in ("superseded", "partly_superseded"):
        mark = words["superseded"].format(day=day(hit.until)) if hit.until else words["superseded_undated"]
        marks += f" [{words['partly'] if hit.status == 'partly_superseded' else ''}{mark}]"
    if hit.confidence < 1:
        marks += f" [{words['resembles']}]"
    return f"- [{day(hit.occurred_at)}, {who}] {said}{marks}"
