"""The registry's sentence forms read out of one clause: who, which slot, which words are its value. A form counts only where it
opens the statement, so that "the man who says I live in Rome" says nothing about where anybody lives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....schemas.observations import EntityRef
from .context import Hit, Reading
from .entities import RELATIONS, person_en, person_zh
from .lexicon import Entry
from .slot_values import SlotValue, slot_values
from .view import View
from .words import words

__all__ = ["read_statements"]

_OWNER = "(?:the|our|my|this|that|your|their|its|current|new|total|overall|whole|entire|final|latest|agreed)"
_BEFORE_THING_EN = re.compile(rf"(?:{_OWNER}\s){{0,3}}$", re.IGNORECASE)
_BEFORE_THING_ZH = re.compile(r"(?:我们的?|这个?|那个?|该|本|总|新的?|目前的?|现在的?|整个|最终的?)*$")
_AFTER_ZH = re.compile(r"(?:[了的啊呢吧呀哦哈啦嘛]|来着|，.*)?$")
_AFTER_NOUN_EN = re.compile(r"['’]s\b|-\w|\sof\s(?!all\b|the\b|mine\b|ours\b|my\b|our\b)", re.IGNORECASE)
_NO_LONGER = re.compile(r"any\s?more|any\slonger|no\slonger|stopped|quit|used\sto|不再|了\s*$", re.IGNORECASE)
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
    own, other = _speakers(view.text, lang, subject is None or subject == reading.self_ref, subject is not None)
    for entry in reading.lexicon.candidates(view.text, lang):
        if not entry.personal:
            hits.extend(_impersonal(reading, view, entry))
            continue
        if own and (entry.opens in own or not entry.opens):
            match = entry.pattern("first").match(view.text)
            if match is not None:
                hits.extend(_hits(reading, view, entry, match, reading.self_ref if entry.form.about == "person" else None))
                continue
        if other and entry.form.about == "person":
            match = entry.pattern("third").match(view.text)
            if match is not None and "subject" in match.re.groupindex:
                who = subject or _person(reading, match["subject"], lang)
                if lang == "en" and who is not None and _uninflected(view.text, match):
                    who = None
                if who is not None:
                    reading.meet(who)
                    hits.extend(_hits(reading, view, entry, match, who))
    return hits


_BASE_EN = re.compile(
    r"\s(?:(?:really|also|just|still)\s)?(?:like|love|enjoy|live|work|play|hate|prefer|have|use|eat|drive|speak|study|want|need|go|"
    r"take|run|own|do|make)\b",
    re.IGNORECASE,
)
_NAME_EN = re.compile(r"[A-Z][\w'’-]*$")


def _uninflected(text: str, match: re.Match[str]) -> bool:
    """ "Sounds like a plan": of somebody by name one says likes."""
    return _NAME_EN.match(match["subject"]) is not None and _BASE_EN.match(text, match.end("subject")) is not None


_I_EN = re.compile(r"(?:i|we|im|ive|i['’ʼ`]\w+|we['’ʼ`]\w+)\b(?!['’])", re.IGNORECASE)
_MY_EN = re.compile(r"(?:my|our)\s", re.IGNORECASE)
_OTHER_EN = re.compile(r"(?:my|our)\s|(?:he|she|they|his|her|their)\b|(?-i:[A-Z][\w'’-]+)", re.IGNORECASE)
_OTHER_ZH = re.compile(
    rf"(?:我们?|咱们?)?(?:家)?的?(?:最好的|大|小|二|老)?(?:{'|'.join(RELATIONS['zh'])})|[他她]|(?![我你您咱这那它])[\u4e00-\u9fffA-Z]"
)


def _speakers(text: str, lang: str, first: bool, third: bool) -> tuple[tuple[str, ...], bool]:
    """Which frames a clause can match in the first person, by their opening word, and whether it may be about somebody else."""
    if lang == "zh":
        return ("我",) if (first and not third) or text[:1] in "我咱" else (), (third and not first) or _OTHER_ZH.match(
            text
        ) is not None
    if _I_EN.match(text):
        return ("i",) if first else (), False
    if _MY_EN.match(text):
        return ("my",) if first else (), True
    return ("",) if first else (), third or _OTHER_EN.match(text) is not None


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
        if _says_no_more(reading, view.text[match.end() :], entry.lang):
            yield _hit(view, entry, match, entity, None)
        return
    if entry.kind == "ends" and entry.slot.opposes and not _NO_LONGER.search(view.text):
        return  # "I don't like olives" is a dislike, with "any more" it ends a liking
    start, end = match.span("value")
    last = end == match.end()
    if last:
        end = len(view.text)
    elif not _may_follow(view.text, match.end(), entry.lang):
        return
    for found in slot_values(reading, entry, view.text, start, end, last=last):
        yield _hit(view, entry, match, entity, found)


_BESIDE_TIME = re.compile(
    r"\b(?:in|on|at|by|back|just|already|recently|too|again|now|today)\b|[\s.,!。，！了啦的在]", re.IGNORECASE
)


def _says_no_more(reading: Reading, rest: str, lang: str) -> bool:
    """Whether nothing but a time follows: "I sold my car last week"."""
    if len(rest) > 60:
        return False
    for found in reversed(reading.find("date", rest, lang)):
        rest = rest[: found.start] + rest[found.end :]
    return not _BESIDE_TIME.sub("", rest)


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
        naming=slot.identity and slot.type == "text" and entry.form.about == "thing",
        hedged=bool(found and found.hedged) or _HEDGED_FORM.search(form_words) is not None,
        importance=slot.importance,
    )
