"""The registry's sentence forms read out of one clause: who, which slot, which words are its value. A form counts only where it
opens the statement, so that "the man who says I live in Rome" says nothing about where anybody lives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....schemas.observations import EntityRef
from .context import Hit, Reading
from .entities import person_en, person_zh
from .lexicon import Entry
from .slot_values import SlotValue, slot_values
from .view import View
from .words import words

__all__ = ["read_statements"]

_OWNER = "(?:the|our|my|this|that|your|their|its|current|new|total|overall|whole|entire|final|latest|agreed)"
_BEFORE_THING_EN = re.compile(rf"(?:{_OWNER}\s){{0,3}}$", re.IGNORECASE)
_BEFORE_THING_ZH = re.compile(r"(?:我们的?|这个?|那个?|该|本|总|新的?|目前的?|现在的?|整个|最终的?)*$")
_AFTER_ZH = re.compile(r"(?:[了的啊呢吧呀哦哈啦嘛]|来着|，.*)?$")
_AFTER_NOUN_EN = re.compile(r"['’]s\b|-\w")
_HEDGED_FORM = re.compile(r"\b(?:probably|maybe|perhaps|possibly|kinda|sort\sof|kind\sof)\b|可能|也许|大概|好像", re.IGNORECASE)
_WEAK = frozenset(
    words(
        """
        i i'm im am is are be was 's 've have has had got a an the my our to of do we we're 我 是 有 在 的 我们 一 个 一个
        了 叫 会
        """
    )
)


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


def _person(reading: Reading, said: str, lang: str) -> EntityRef | None:
    return person_zh(said, reading.people) if lang == "zh" else person_en(said, reading.people)


def _impersonal(reading: Reading, view: View, entry: Entry) -> Iterator[Hit]:
    match = entry.pattern("first").search(view.text)
    if match is None:
        return
    before = view.text[: match.start()]
    allowed = _BEFORE_THING_ZH if entry.lang == "zh" else _BEFORE_THING_EN
    if before.strip() and (entry.form.about != "thing" or not allowed.fullmatch(before.lstrip())):
        return
    yield from _hits(reading, view, entry, match, reading.self_ref if entry.form.about == "person" else None)


def _hits(reading: Reading, view: View, entry: Entry, match: re.Match[str], who: EntityRef | None) -> Iterator[Hit]:
    entity = who or EntityRef(kind="self" if entry.form.about == "scope" else "current")
    if not entry.valued:
        if not view.text[match.end() :].strip(" .,!。，！了啦"):
            yield _hit(view, entry, match, entity, None)
        return
    start, end = match.span("value")
    last = end == match.end()
    if last:
        end = len(view.text)
    elif not _may_follow(view.text, match.end(), entry.lang):
        return
    for found in slot_values(reading, entry, view.text, start, end, last=last):
        yield _hit(view, entry, match, entity, found)


def _may_follow(text: str, end: int, lang: str) -> bool:
    if lang == "zh":
        return _AFTER_ZH.match(text, end) is not None
    return not _AFTER_NOUN_EN.match(text, end)


def _form_words(match: re.Match[str]) -> str:
    said = match.string[match.start() : match.start("value")] + " " + match.string[match.end("value") : match.end()]
    subject = match["subject"] if "subject" in match.re.groupindex else None
    return said.replace(subject, "I", 1) if subject else said


def _weak(form_words: str) -> bool:
    """Whether the form's words say almost nothing by themselves ("I am", 我是)."""
    said = re.findall(r"[a-z']+|[\u4e00-\u9fff]+", form_words.lower().replace("’", "'"))
    return all(word in _WEAK for word in said)


def _hit(view: View, entry: Entry, match: re.Match[str], entity: EntityRef, found: SlotValue | None) -> Hit:
    slot = entry.slot
    form_words = _form_words(match) if found else match.group()
    end = match.end() if found is None else found.end if match.end("value") == match.end() else max(match.end(), found.end)
    span = view.span(match.start(), end) or (0, 0)
    value_span = (view.span(found.start, found.end) if found else None) or (-1, -1)
    ended = entry.kind == "ends"
    strength = found.strength if found else 1
    weight = len(form_words.strip()) + (2 if entry.words else 0) - (6 if strength < 2 and found and _weak(form_words) else 0)
    return Hit(
        op=("remove" if ended else "add") if slot.many else ("remove" if ended else "set"),
        entity=entity,
        form_type=entry.form.name,
        slot=entry.name,
        value=found.value if found else None,
        start=span[0],
        end=span[1],
        value_start=value_span[0],
        value_end=value_span[1],
        strength=strength,
        weight=weight,
        order=entry.order,
        hedged=bool(found and found.hedged) or _HEDGED_FORM.search(form_words) is not None,
        importance=slot.importance,
    )
