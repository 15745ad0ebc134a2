"""The registry's sentence forms read out of one clause: who, which slot, which words are its value. A form counts only where it
opens the statement, so that "the man who says I live in Rome" says nothing about where anybody lives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....schemas.observations import EntityRef
from ....schemas.values import Value
from .context import Hit, Reading
from .entities import person_en, person_zh
from .lexicon import Entry
from .support import supports
from .trim import Trimmed, is_phrase, split_list, trim
from .view import View
from .words import words

__all__ = ["read_statements"]

_OWNER = r"(?:the|our|my|this|that|your|their|its|current|new|total|overall|whole|entire|final|latest|agreed)"
_BEFORE_THING_EN = re.compile(rf"(?:{_OWNER}\s){{0,3}}$", re.IGNORECASE)
_BEFORE_THING_ZH = re.compile(r"(?:我们的?|这个?|那个?|该|本|总|新的?|目前的?|现在的?|整个|最终的?)*$")
_REST_ZH = re.compile(r"(?:[了的啊呢吧呀哦哈啦嘛]|来着|，.*)?$")
_NEGATED_ZH = re.compile(r"(?:不|没|没有|别|未)$")
_REST_NOUN_EN = re.compile(r"['’]s\b|-\w")
_WEAK = frozenset(
    words(
        """
        i i'm im am is are be was 's 've have has had got a an the my our to of do we we're 我 是 有 在 的 我们 一 个 一个 了 叫 会
        """
    )
)
_AGE = ("age",)


def read_statements(reading: Reading, view: View, lang: str, subject: EntityRef | None = None) -> list[Hit]:
    """All readings of a clause by the registry's forms; overlapping ones too. `subject` replaces the one in the words where the
    clause shares that of the clause before it."""
    hits: list[Hit] = []
    for entry in reading.lexicon.candidates(view.text, lang):
        if not entry.personal:
            hits.extend(_impersonal(reading, view, entry))
            continue
        if subject is None or subject == reading.self_ref:
            match = entry.pattern("first").match(view.text)
            if match is not None:
                hits.extend(_hits(reading, view, entry, match, reading.self_ref if entry.form.about == "person" else None))
                continue
        if entry.form.about == "person":
            match = entry.pattern("third").match(view.text)
            if match is not None and "subject" in match.re.groupindex:
                who = subject or _person(reading, match["subject"], lang)
                if who is not None:
                    reading.meet(who)
                    hits.extend(_hits(reading, view, entry, match, who))
    return hits


def _person(reading: Reading, words: str, lang: str) -> EntityRef | None:
    return person_zh(words, reading.people) if lang == "zh" else person_en(words, reading.people)


def _impersonal(reading: Reading, view: View, entry: Entry) -> Iterator[Hit]:
    match = entry.pattern("first").search(view.text)
    if match is None:
        return
    before = view.text[: match.start()]
    allowed = _BEFORE_THING_ZH if entry.lang == "zh" else _BEFORE_THING_EN
    if before.strip() and not (allowed.match(before.lstrip()) and entry.form.about != "person"):
        return
    yield from _hits(reading, view, entry, match, reading.self_ref if entry.form.about == "person" else None)


def _hits(reading: Reading, view: View, entry: Entry, match: re.Match[str], who: EntityRef | None) -> Iterator[Hit]:
    entity = who or EntityRef(kind="self" if entry.form.about == "scope" else "current")
    if not entry.valued:
        if view.text[match.end() :].strip(" .,!。，！了"):
            return
        yield _hit(reading, view, entry, match, entity, None, None, 0)
        return
    start, end = match.span("value")
    last = end == match.end()
    if last:
        end = len(view.text)
    elif not _may_follow(view.text, match.end(), entry.lang):
        return
    weight = _weight(match)
    for trimmed, value, strength in _values(reading, view, entry, start, end, last):
        yield _hit(reading, view, entry, match, entity, trimmed, value, weight, strength)


def _may_follow(text: str, end: int, lang: str) -> bool:
    rest = text[end:]
    if lang == "zh":
        return _REST_ZH.match(rest) is not None
    return not _REST_NOUN_EN.match(rest)


def _weight(match: re.Match[str]) -> int:
    weight = (match.end() - match.start()) - (match.end("value") - match.start("value"))
    if "subject" in match.re.groupindex and match["subject"]:
        weight -= len(match["subject"]) - 1
    return weight


def _weak(match: re.Match[str]) -> bool:
    """Whether the form's words say almost nothing by themselves ("I am", 我是)."""
    said = match.string[match.start() : match.start("value")] + " " + match.string[match.end("value") : match.end()]
    if "subject" in match.re.groupindex and match["subject"]:
        said = said.replace(match["subject"], " ", 1)
    words = re.findall(r"[A-Za-z'’]+|[\u4e00-\u9fff]+", said.lower().replace("’", "'"))
    return all(word in _WEAK for word in words)


def _values(
    reading: Reading, view: View, entry: Entry, start: int, end: int, last: bool
) -> Iterator[tuple[Trimmed, Value, int]]:
    slot, lang, text = entry.slot, entry.lang, view.text
    if slot.type != "text":
        found = _typed(reading, entry, text, start, end, last)
        if found is not None:
            yield found
        return
    phrase = bool(slot.opposes) or is_phrase(text[start:end]) or entry.form.about == "scope" or _keeps_prepositions(entry)
    trimmed = trim(text, start, end, lang, phrase=phrase) if last else Trimmed(*_strip(text, start, end))
    pieces = split_list(text, trimmed.start, trimmed.end, lang) if slot.many and entry.form.about != "scope" else []
    if len(pieces) > 1 and not all(_one(reading, entry, text, *piece) for piece in pieces):
        pieces = []
    for piece_start, piece_end in pieces or [(trimmed.start, trimmed.end)]:
        value = _one(reading, entry, text, piece_start, piece_end)
        if value is not None:
            strength = 2 if slot.shape or entry.words else 1
            yield Trimmed(piece_start, piece_end, trimmed.when_start, trimmed.when_end, trimmed.ended), value, strength


def _keeps_prepositions(entry: Entry) -> bool:
    return entry.form.about == "thing" and entry.slot.identity


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and not text[start].isalnum() and text[start] not in "\"'“‘#+$€£¥":
        start += 1
    while end > start and text[end - 1] in " ,，、.。;；:：!！":
        end -= 1
    return start, end


_ARTICLE = re.compile(r"(?:the|a|an|some|my|our)\s+(?=[a-z])", re.IGNORECASE)


def _one(reading: Reading, entry: Entry, text: str, start: int, end: int) -> Value | None:
    slot, lang = entry.slot, entry.lang
    said = text[start:end]
    if lang == "zh" and _NEGATED_ZH.search(said):
        return None
    if entry.words and not any(word.casefold() in said.casefold() for word in entry.words):
        return None
    phrase = is_phrase(said) or bool(slot.opposes) or entry.form.about != "person"
    if entry.form.about != "scope" and not supports(slot, said, lang, lower=reading.lower, phrase=phrase):
        return None
    article = _ARTICLE.match(said)
    if article and not slot.shape and article.end() < len(said):
        said = said[article.end() :]
    return reading.parse(slot, said, lang)


_REST_TYPED = re.compile(
    r"\s*(?:$|[,.;:!?)（(]|(?:and|but|so|because|since|for|from|at|in|on|to|with|by|as|until|till|per|a|each|every|now|"
    r"then|if|when|after|before|instead|total|again|anymore|or|which|that|due|this|next|last|of|though|already|too|"
    r"tomorrow|today)\b)",
    re.IGNORECASE,
)
_REST_TYPED_ZH = re.compile(
    r"\s*(?:$|[，,。；;：:！!的了啦呢吧呀啊]|左右|上下|多|来|因为|所以|但|不过|去|见|出发|开始|结束|以前|之前|前|以后|后|起|为止|每|一个月|开会|要|有|和|跟|在)"
)


def _typed(reading: Reading, entry: Entry, text: str, start: int, end: int, last: bool) -> tuple[Trimmed, Value, int] | None:
    slot, lang = entry.slot, entry.lang
    trimmed = trim(text, start, end, lang, phrase=True) if last else Trimmed(*_strip(text, start, end))
    rest_ok = _REST_TYPED_ZH if lang == "zh" else _REST_TYPED
    tries = [(start, end), (trimmed.start, trimmed.end)]
    if slot.type == "enum":
        for begin, stop in tries:
            value = reading.parse(slot, text[begin:stop], lang)
            if value is not None:
                return Trimmed(begin, stop, trimmed.when_start, trimmed.when_end, trimmed.ended), value, 3
        return _leading_enum(reading, entry, text, start, end)
    for found in reading.find(slot.type, text[start:end], lang, slot):
        stop = start + found.end
        if last and not rest_ok.match(text, stop, end):
            continue
        tries.append((start, stop))
        break
    for begin, stop in tries:
        value = reading.parse(slot, text[begin:stop], lang)
        if value is not None:
            return Trimmed(*_strip(text, begin, stop), trimmed.when_start, trimmed.when_end, trimmed.ended), value, 3
    return None


def _leading_enum(reading: Reading, entry: Entry, text: str, start: int, end: int) -> tuple[Trimmed, Value, int] | None:
    """An enum's member that opens the value and is followed by nothing that would change it ("vegetarian since May")."""
    rest_ok = _REST_TYPED_ZH if entry.lang == "zh" else _REST_TYPED
    for found in reading.find("enum", text[start:end], entry.lang, entry.slot):
        if text[start : start + found.start].strip():
            return None
        stop = start + found.end
        if rest_ok.match(text, stop, end) and not re.match(r"\s*(?:to|of|in|with|food|的)", text[stop:end]):
            trimmed = trim(text, start, end, entry.lang, phrase=True)
            return Trimmed(start + found.start, stop, trimmed.when_start, trimmed.when_end, trimmed.ended), found.value, 2
        return None
    return None


def _hit(
    reading: Reading,
    view: View,
    entry: Entry,
    match: re.Match[str],
    entity: EntityRef,
    trimmed: Trimmed | None,
    value: Value | None,
    weight: int,
    strength: int = 1,
) -> Hit:
    slot = entry.slot
    last = trimmed is None or match.end("value") == match.end()
    span = view.span(match.start(), max(trimmed.end if trimmed and last else match.end(), trimmed.end if trimmed else 0))
    value_span = view.span(trimmed.start, trimmed.end) if trimmed else None
    ended = entry.kind == "ends"
    op = ("remove" if ended else "add") if slot.many else ("remove" if ended else "set")
    return Hit(
        op=op,
        entity=entity,
        form_type=entry.form.name,
        slot=entry.name,
        value=value,
        start=span[0] if span else -1,
        end=span[1] if span else -1,
        value_start=value_span[0] if value_span else -1,
        value_end=value_span[1] if value_span else -1,
        strength=strength if value is not None else 1,
        weight=weight + (2 if entry.words else 0) - (6 if trimmed is not None and strength < 2 and _weak(match) else 0),
        order=entry.order,
        importance=slot.importance,
        confidence=0.9,
    )
