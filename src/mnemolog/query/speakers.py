"""Whom a question names of those who spoke, and what is left of it without them. Names of speakers are matched against who said
a turn; as words they mostly stand where somebody else addresses the one that is meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..processors.core.text import STOPWORDS

__all__ = ["named", "without"]

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def named(question: str, speakers: Iterable[str]) -> list[str]:
    """Those of the speakers whose names stand in the question, as words of their own where they are written in ASCII."""
    folded = question.casefold()
    return [name for name in speakers if name and name.casefold() in folded and _pattern(name).search(question)]


def without(question: str, names: Sequence[str]) -> str:
    """The question's words that say what it is about: without these names and words of asking. Empty where none are left."""
    for name in names:
        question = _pattern(name).sub(" ", question)
    kept = (word for word in _WORD.findall(question) if word.casefold().replace("’", "'") not in STOPWORDS["en"])
    return " ".join(kept)


def _pattern(name: str) -> re.Pattern[str]:
    whole = re.escape(name)
    return re.compile(rf"(?<!\w){whole}(?:['’]s)?(?!\w)" if name.isascii() else whole, re.IGNORECASE)
