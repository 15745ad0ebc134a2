"""Text to the terms of the keyword index: the same text gives the same terms at writing and at asking, in any language, in
time linear in its length, and nothing that a caller may store ever makes it fail."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Protocol

__all__ = ["MAX_WORD", "STOPWORDS", "query_terms", "terms"]

MAX_WORD = 48
"""Longer words are cut: no one searches for the end of a hash or a base64 block."""

# Scripts that put no spaces between words (and Korean, whose particles are written onto the words): runs of them become
# overlapping pairs of characters, which find a word without knowing where it ends.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
# Marks that belong to the word although `\w` does not say so (vowel signs of Indic scripts, Arabic and Hebrew points).
_MARKS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_PIECE = re.compile(
    rf"(?P<run>[{_UNSPACED}]+)"
    rf"|(?P<number>[0-9]+(?:[.,][0-9]+)*(?![{_MARKS}\w]))"
    rf"|(?P<word>(?:(?![{_UNSPACED}_])[\w{_MARKS}])+(?:'(?:(?![{_UNSPACED}_])[\w{_MARKS}])+)*)"
)
_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]").match
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_SCRIPTS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)

_ENGLISH = """
a about am an and any are as at be been being but by can could did do does doing for from had has have having he her hers
him his how i i'd i'll i'm i've if in into is it it's its just me my of on or our ours please she should so some tell than
that that's the their theirs them then there these they this those to too us was we were what what's when where which who
who's whom whose why will with would you your yours
"""
_CHINESE = """
的 了 吗 呢 吧 啊 是 在 有 和 与 及 或 就 都 也 很 还 又 我 你 您 他 她 它 这 那 哪 谁 几 什么 怎么 怎样 多少 哪里 哪儿 哪个
哪些 为什 为何 我的 你的 他的 她的 我们 你们 他们 她们 一个 一下 这个 那个 这些 那些 请问 告诉 是否 是不 不是 有没 没有 时候
什麼 怎麼 哪裡 為什 我們 你們 他們 嗎 什 么 怎 们 麼 個 个
"""
STOPWORDS: MappingProxyType[str, frozenset[str]] = MappingProxyType(
    {"en": frozenset(_ENGLISH.split()), "zh": frozenset(_CHINESE.split())}
)
"""Words that ask rather than name, by language, in the form `terms` gives them before stemming; left out of questions, never
out of the index."""


_SHORT = 256
"""Characters of a text whose terms are remembered."""


def terms(text: str) -> list[str]:
    """The terms of `text` in order, repeats included: words (NFKC, case-folded, stemmed), numbers (without thousands
    separators), and for scripts without spaces each pair of neighbouring characters. A Chinese character is a term by itself
    too, since many are words of their own; elsewhere only one that stands alone is."""
    return list(_short_terms(text)) if len(text) <= _SHORT else _terms(text)


@lru_cache(maxsize=2048)
def _short_terms(text: str) -> tuple[str, ...]:
    """Kept, since names, questions, values and lines of the timeline come again with every question."""
    return tuple(_terms(text))


def _terms(text: str) -> list[str]:
    found: list[str] = []
    for kind, piece in _pieces(text):
        if kind == "run":
            for at, char in enumerate(piece):
                if len(piece) == 1 or _IDEOGRAPH(char):
                    found.append(char)
                if at + 1 < len(piece):
                    found.append(piece[at : at + 2])
        else:
            found.append(_stem(piece) if kind == "word" else piece)
    return found


def query_terms(text: str) -> list[str]:
    """The terms to look for: each once, in order, without stop words; where nothing else is left, the stop words too."""
    wanted = dict.fromkeys(terms(text))
    kept = [term for term in wanted if term not in _stop_terms()]
    return kept or list(wanted)


def _pieces(text: str) -> list[tuple[str, str]]:
    if text.isascii():
        folded = text.lower()  # the same, in one step
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).replace("’", "'")
    pieces: list[tuple[str, str]] = []
    for match in _PIECE.finditer(folded):
        kind, piece = match.lastgroup or "word", match.group()
        if kind == "number" and _THOUSANDS.fullmatch(piece):
            piece = piece.replace(",", "")
        pieces.append((kind, piece if kind == "run" else piece[:MAX_WORD]))
    return pieces


@cache
def _stop_terms() -> frozenset[str]:
    # A pair such as 时候 stops as a pair only: its characters may be words elsewhere.
    words = sorted(word for listed in STOPWORDS.values() for word in listed)
    return frozenset(word if _IDEOGRAPH(word) else terms(word)[0] for word in words)


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


_lock = threading.Lock()


@cache
def _stemmer(language: str) -> _Stemmer:
    # The pure Python classes by name: `snowballstemmer.stemmer()` would switch to another implementation where one happens
    # to be installed, and the index must not depend on that.
    import importlib

    module = importlib.import_module(f"snowballstemmer.{language}_stemmer")
    made: _Stemmer = getattr(module, f"{language.capitalize()}Stemmer")()
    return made


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    first = word[0]
    language = next((name for low, high, name in _SCRIPTS if low <= first <= high), "english")
    with _lock:  # A stemmer keeps the word it works on: one at a time.
        return _stemmer(language).stemWord(word) or word
