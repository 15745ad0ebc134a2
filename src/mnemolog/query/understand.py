"""What a question asks for, read from its words alone: language, slots by alias, names, a stretch of time, what it is after,
and how much to bring. The same question at the same time is always understood in the same way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple, Protocol

import msgspec

from ..processors.core.text import query_terms, terms
from ..processors.core.values import detect_lang
from ..schemas.registry import LANGUAGES, Registry
from ..schemas.values import normal_text
from .asking import asked_slots
from .names import find_names
from .periods import Period, find_period

__all__ = ["DEFAULT_LIMIT", "MAX_LIMIT", "Intent", "Question", "QuestionReader", "understand"]

Intent = Literal["state", "process", "rule", "planning", "open"]

DEFAULT_LIMIT = 10
FEW = 5
MANY = 20
MAX_LIMIT = 1000
_LONGEST_ALIAS = 5
"""Words of the longest English alias that is looked for."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question, understood."""

    text: str
    lang: Literal["en", "zh"]
    terms: list[str]
    """What to look for, without words that only ask."""
    slots: list[tuple[str, str]] = []
    """(form type, slot) that its words name by an alias, in any language, or ask for in other words ("where do I live?")."""
    names: list[str] = []
    """What it quotes, or writes like a name; Forms are found by their names whether they stand here or not."""
    period: Period | None = None
    intent: Intent = "open"
    """state: what holds now; process: how it came to be, or what happened; rule: what is allowed or ordered; planning: whatever
    bears on something to be done; open: none of these."""
    overview: bool = False
    """It asks for what a stretch of time brought as a whole."""
    past: bool = False
    """It asks for what was before, or how something changed."""
    limit: int = DEFAULT_LIMIT


class QuestionReader(Protocol):
    """What may understand a question better than its words alone say, such as a model."""

    def read(self, question: Question, now: str) -> Question:
        """A better reading of `question`, asked at `now` (fixed UTC form): more names or slots, another intent or period, terms
        in other words. `text` stays as it is. Where it raises, or is late, the plain reading holds."""
        ...


_PAST = re.compile(
    r"\b(?:used to|previous(?:ly)?|formerly|originally|initially|at first|history|histories|changed?|changes|changing|evolved?"
    r"|earlier|before|in the past|no longer|any ?more|first (?:value|version)|why did)\b"
    r"|以前|之前|原来|原先|原本|当初|起初|最初|曾经|过去|历史|变化|变更|改成|改为|改过|改了|变成|变过|为什么",
    re.IGNORECASE,
)
_PLANNING = re.compile(
    r"\b(?:plan|planning|organi[sz]e|prepare|summari[sz]e|summary|overview|everything|all (?:of )?(?:my|the|our)|list|compare"
    r"|recommend|suggest|advice|itinerary|schedule|strategy|review|report|write|draft)\b"
    r"|计划|规划|安排|总结|汇总|所有|全部|列出|列表|比较|推荐|建议|方案|准备|策划|报告|写一|起草|盘点|梳理",
    re.IGNORECASE,
)
_PROCESS = re.compile(
    r"\bhow (?:did|has|have|come)\b|\bwhy\b|\bwhen (?:did|was|were)\b|\bwhat happened\b"
    r"|\bwhat (?:did|have|has)\b.*\b(?:do|done|decided?|happen(?:ed)?)\b|\btimeline\b"
    r"|怎么(?:变|会|回事|来的)|为什么|为何|发生了|经过|过程|什么时候|何时|做了什么|决定了",
    re.IGNORECASE,
)
_RULE = re.compile(
    r"\b(?:rules?|allowed|permitted|forbidden|must(?:n't)?|should (?:i|we|you)|supposed to|may (?:i|we)|can (?:i|we)|policy"
    r"|policies|guidelines?|instructions?|always|never)\b|规则|规矩|规定|要求|允许|可以.*吗|能不能|可不可以|必须|禁止|应该|不许|政策|制度",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"\b(?:what|who|where|which|when|how (?:much|many|old|long|big|far))\b.*\b(?:is|are|am|do|does|'s|lives?|works?)\b"
    r"|\b(?:currently|now|still|at the moment)\b|是什么|是谁|在哪|多少|几岁|现在|目前|还是|叫什么",
    re.IGNORECASE,
)
_OVERVIEW = re.compile(
    r"\b(?:what happened|what did (?:i|we|they) do|what (?:have|has) (?:i|we|they) (?:done|been)|summari[sz]e|summary|overview"
    r"|recap|review|look back|how was|how did .* go|what was going on|highlights?)\b"
    r"|总结|汇总|概况|概览|回顾|盘点|梳理|发生了什么|做了什么|干了什么|忙了?什么|过得怎么样|怎么样",
    re.IGNORECASE,
)
_COUNTING = re.compile(
    r"\bhow (?:many|often)\b|\bwhich\b.*s\b|\b(?:and|or)\b|几次|哪些|多少(?:次|个|种)|和|以及", re.IGNORECASE
)


def understand(text: str, registry: Registry, now: str, utc_offset: int = 0) -> Question:
    """Reads a question that is asked at `now` (fixed UTC form)."""
    lang, looked_for, slots, names = _timeless(text, registry)
    period = find_period(text, now, utc_offset)
    past = _PAST.search(text) is not None
    return Question(
        text=text,
        lang=lang,
        terms=list(looked_for),
        slots=list(slots),
        names=[name for name in names if period is None or name not in period.words],
        period=period,
        intent=_intent(text, past=past, period=period, slots=slots),
        overview=period is not None and _OVERVIEW.search(text) is not None,
        past=past,
        limit=_how_many(text, looked_for),
    )


class _Timeless(NamedTuple):
    """What a question says whenever it is asked."""

    lang: Literal["en", "zh"]
    terms: tuple[str, ...]
    slots: tuple[tuple[str, str], ...]
    names: tuple[str, ...]


@lru_cache(maxsize=512)
def _timeless(text: str, registry: Registry) -> _Timeless:
    """Kept, since an agent asks the same several times: what to be careful with, what is known, what was said."""
    slots = sorted({*_named_slots(text, registry), *asked_slots(text, registry)})
    lang: Literal["en", "zh"] = "zh" if detect_lang(text) == "zh" else "en"
    return _Timeless(lang, tuple(query_terms(text)), tuple(slots), tuple(find_names(text)))


def _intent(text: str, *, past: bool, period: Period | None, slots: Sequence[tuple[str, str]]) -> Intent:
    if _PLANNING.search(text):
        return "planning"
    if _RULE.search(text) or any(form_type == "rule" for form_type, _ in slots):
        return "rule"
    if past or _PROCESS.search(text):
        return "process"
    if slots or (period is None and _STATE.search(text)):
        return "state"
    return "process" if period is not None else "open"


def _how_many(text: str, looked_for: Sequence[str]) -> int:
    """Few for a question after one thing, many for one that plans or gathers."""
    if _PLANNING.search(text):
        return MANY
    short = len(text) <= 18 if detect_lang(text) == "zh" else len(looked_for) <= 4
    return FEW if looked_for and short and not _COUNTING.search(text) else DEFAULT_LIMIT


def _named_slots(text: str, registry: Registry) -> list[tuple[str, str]]:
    """Aliases in the text, the longest at each place; an alias that is only a word of asking ("what", "with") names nothing."""
    folded = normal_text(text)
    found: dict[tuple[str, str], None] = {}
    covered: list[tuple[int, int]] = []
    words = list(re.finditer(r"[^\W_]+(?:['’-][^\W_]+)*", folded))
    for size in range(min(_LONGEST_ALIAS, len(words)), 0, -1):
        for at in range(len(words) - size + 1):
            start, end = words[at].start(), words[at + size - 1].end()
            phrase = folded[start:end]
            if any(start < to and begin < end for begin, to in covered) or not phrase.isascii():
                continue
            places = registry.slots_by_alias(phrase) if _says_something(phrase) else []
            if places:
                covered.append((start, end))
                found.update(dict.fromkeys(places))
    for alias, at in _unspaced_aliases(folded, registry):
        start, end = at, at + len(alias)
        if not any(start < to and begin < end for begin, to in covered):
            covered.append((start, end))
            found.update(dict.fromkeys(registry.slots_by_alias(alias)))
    return sorted(found)


def _unspaced_aliases(folded: str, registry: Registry) -> list[tuple[str, int]]:
    """Aliases that are not English words, wherever they stand in the text; the longest first."""
    hits: list[tuple[str, int]] = []
    for lang in LANGUAGES if not folded.isascii() else ():
        for alias in registry.alias_index(lang):
            if alias.isascii() or alias not in folded or not _says_something(alias):
                continue
            hits.append((alias, folded.index(alias)))
    return sorted(set(hits), key=lambda hit: (-len(hit[0]), hit[1], hit[0]))


@cache
def _stop(term: str) -> bool:
    return term not in query_terms(f"{term} zzzz")


def _says_something(phrase: str) -> bool:
    return any(not _stop(term) for term in terms(phrase))
