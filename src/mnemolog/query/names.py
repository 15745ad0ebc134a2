"""The names that a question gives things: what it quotes, and what it writes with capitals as only names are written."""

from __future__ import annotations

import re

from ..processors.core.text import query_terms, terms

__all__ = ["find_names"]

_QUOTED = re.compile(r"[\"“”„«「『《‘]([^\"“”„«»「」『』《》‘’\n]{1,80})[\"“”»」』》’]")
_CAPITALS = re.compile(r"(?<![\w'’])[A-Z][\w&.'’-]*(?:\s+(?:(?:of|de|van|von|der|la|du)\s+)?[A-Z0-9][\w&'’-]*)*")
_SENTENCE = re.compile(r"(?:^|[.!?。！？:：]\s*)[\"'“(]*$")
_MOST = 10


def find_names(text: str) -> list[str]:
    """Names in the order of the text, each once. The first word of a sentence is one only where it is no word of asking and
    something in it says so: a capital or digit inside, or a second capitalised word."""
    found: list[tuple[int, str]] = [(match.start(), match[1].strip()) for match in _QUOTED.finditer(text)]
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    for match in _CAPITALS.finditer(text):
        if any(start <= match.start() < end for start, end in quoted):
            continue
        words = match.group().rstrip(".,'’-").removesuffix("'s").removesuffix("’s").split()
        first = _SENTENCE.search(text[: match.start()]) is not None
        while words and _asks(words[0]):
            words, first = words[1:], False
        if not words or (first and len(words) == 1 and not re.search(r"[A-Z0-9]", words[0][1:])):
            continue
        found.append((match.start(), " ".join(words)))
    names = dict.fromkeys(name for _, name in sorted(found) if name)
    return list(names)[:_MOST]


def _asks(word: str) -> bool:
    """Whether it is a word of asking and names nothing."""
    return not any(term in query_terms(f"{word} zzzz") for term in terms(word))
