"""What a speaker does to earlier words: confirms or refuses what is being asked, takes something back, calls a thing off. Which
slot is meant follows from what was said just before, in this turn or in the window; where nothing fits, nothing is said."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ....schemas.forms import Slot
from ....schemas.observations import EntityRef
from ....schemas.values import Value
from .context import Hit, Reading
from .lexicon import Entry
from .slot_values import SlotValue, text_value, trimmed_text, typed_value
from .things import entry_of, name_of_thing, same_currency
from .view import View

__all__ = ["may_correct", "read_cancel", "read_correction", "read_reply"]

# --- yes and no ------------------------------------------------------------------------------------------------------------

_YES = re.compile(
    r"(?:(?:oh|ah|well)[\s,]+)?(?:yes|yeah|yep|yup|correct|exactly|indeed|absolutely|confirmed|i\sconfirm|right|"
    r"that['’]?s\s(?:right|correct|true|the\sone)|"
    r"that\sis\s(?:right|correct|true)|是的|对的?|没错|正确|确认|是呀|是啊|对呀|对啊|嗯+|就是(?:这个|"
    r"那个))(?![\w\u4e00-\u9fff])[\s,，.。!！]*",
    re.IGNORECASE,
)
_NO = re.compile(
    r"(?:no|nope|nah|not\sreally|wrong|incorrect|that['’]?s\s(?:wrong|not\sright|not\scorrect|not\strue|incorrect)|"
    r"that\sis\s(?:wrong|not\sright|not\strue)|"
    r"不是的?|不对|不|没有|错了|不正确|并不是)(?![\w\u4e00-\u9fff])[\s,，.。!！]*",
    re.IGNORECASE,
)
_JUST_THAT = re.compile(
    r"(?:(?:yes|yeah|please|thanks|thank\syou|sure|that\sone|this\sone|the\s\w+\sone|that['’]?s\s(?:it|right|correct|"
    r"the\sone|what\si\s(?:meant|said))|it\sis|i\sdo|i\sam|"
    r"exactly|correct|please\sdo|go\sahead|就是(?:那个|这个|它)?|那个|这个|是那个|是这个|谢谢|没错|是的|对)[\s,，.。!！]*)*$",
    re.IGNORECASE,
)
_ANSWERS = re.compile(
    r"(?:it['’]?s|it\sis|that['’]?s|they\sare|is|make\sit|其实是|应该是|就是|是|一共|总共)?\s*(?:actually\s|exactly\s|now\s)?",
    re.IGNORECASE,
)
_GUESSES = tuple(Slot(type=kind) for kind in ("money", "duration", "date", "number"))  # the first that reads the whole


def read_reply(reading: Reading, view: View, lang: str) -> list[Hit]:
    """An answer to what is pending, where the turn opens with one: confirm or reject, with the value it gives, if any."""
    yes = _YES.match(view.text)
    no = None if yes else _NO.match(view.text)
    match = yes or no
    if match is None:
        return []
    rest = view.text[match.end() :]
    value: Value | None = None
    if not _JUST_THAT.fullmatch(rest.strip()):
        begin = match.end() + _lead(rest)
        value = _answer(reading, view.text[begin:], lang)
        if value is None:
            return []
    span = view.span(0, len(view.text.rstrip(" ,，.。!！")))
    if span is None:
        return []
    return [_plain(reading, "confirm" if yes else "reject", span, value=value)]


def _lead(rest: str) -> int:
    found = _ANSWERS.match(rest)
    return found.end() if found else 0


def _answer(reading: Reading, text: str, lang: str) -> Value | None:
    said = text.strip(" ,，.。!！?？").removesuffix("个")
    if not said or len(said) > 40:
        return None
    for slot in _GUESSES:
        if slot.type == "money" and not re.search(r"[$€£¥￥]|[a-z]{3}|元|块|刀", said, re.IGNORECASE):
            continue
        value = reading.parse(slot, said, lang)
        if value is not None:
            return value
    return None


def _plain(reading: Reading, op: str, span: tuple[int, int], *, value: Value | None = None) -> Hit:
    return Hit(op=op, entity=reading.self_ref, value=value, start=span[0], end=span[1], confidence=0.95)


# --- taking back -----------------------------------------------------------------------------------------------------------

_V, _B = r"(?P<value>[^.!?。！？]{1,80}?)", r"(?P<before>[^.!?。！？]{1,60}?)"
_END = r"[\s.!。！]*$"
_TAKES_BACK_EN = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"i\s(?:said|wrote|typed|told\syou)\s{_B},?\s(?:but\s|and\s)?(?:i\smeant|i\smean|it\sis|it['’]?s|it\sshould\sbe|"
        rf"it\sshould\shave\sbeen|that\sshould\sbe|should\sbe|actually)\s{_V}{_END}",
        rf"(?:i\smeant|i\smean|i\swanted\sto\ssay)\s{_V}(?:,?\s(?:and\s)?not\s{_B})?{_END}",
        rf"(?:it|that|this)(?:['’]?s|\sis|\swas|\sshould\sbe|\sshould\shave\sbeen)\snot\s{_B},?\s(?:but|it['’]?s|it\sis|"
        rf"rather)\s{_V}{_END}",
        rf"(?:it|that|this)(?:['’]?s|\sis|\sshould\sbe|\sshould\shave\sbeen)\s(?:actually\s|"
        rf"really\s)?{_V},?\s(?:and\s)?not\s{_B}{_END}",
        rf"not\s{_B},?\s(?:but|it['’]?s|it\sis|rather)\s{_V}{_END}",
        rf"(?:it|that)\sshould\s(?:be|have\sbeen|read|say)\s{_V}{_END}",
        rf"make\s(?:it|that)\s{_V}(?:\sinstead)?{_END}",
    )
]
_OPEN_EN = re.compile(
    rf"(?:(?:it|that|this)(?:['’]?s|\sis|\swas)\s(?:actually\s)?|make\s(?:it|that)\s|rather\s)?{_V},?(?:\snot\s{_B})?{_END}",
    re.IGNORECASE,
)
_TAKES_BACK_ZH = [
    re.compile(pattern)
    for pattern in (
        rf"(?:我)?(?:刚才|之前|刚刚)?(?:说|写|打)(?:的)?(?:是)?{_B}[，,]?(?:说错了|写错了|错了|"
        rf"不对)[，,]?(?:其实)?(?:应该)?(?:是|为){_V}{_END}",
        rf"(?:我(?:说的|指的))?(?:并)?不是{_B}[，,]?\s?(?:而|应该|其实)?(?:应该)?是{_V}{_END}",
        rf"(?:我(?:说的|指的|的意思))?(?:其实|应该)?是{_V}[，,]\s?(?:并)?不是{_B}{_END}",
        rf"(?:其实|实际上)?应该(?:是|为){_V}{_END}",
        rf"(?:我的意思是|我是说|我想说的是|我指的是){_V}{_END}",
    )
]
_OPEN_ZH = re.compile(rf"(?:其实|实际上|应该)?(?:应该)?是{_V}{_END}")


def _taking_back(lang: str, corrects: bool) -> list[re.Pattern[str]]:
    if lang == "zh":
        return [*_TAKES_BACK_ZH, _OPEN_ZH] if corrects else _TAKES_BACK_ZH
    return [*_TAKES_BACK_EN, _OPEN_EN] if corrects else _TAKES_BACK_EN


def may_correct(text: str, lang: str, corrects: bool) -> bool:
    """Whether the sentence has the form of a correction, so that it is worth looking for what it corrects."""
    return any(pattern.match(text) for pattern in _taking_back(lang, corrects))


def read_correction(reading: Reading, view: View, lang: str, corrects: bool, earlier: Sequence[Hit]) -> list[Hit]:
    """A value put in the place of one that was said before; `earlier` are the hits so far, the latest last. `corrects` tells
    that the sentence opens by taking something back, so that a bare "it's 6" is enough."""
    for pattern in _taking_back(lang, corrects):
        match = pattern.match(view.text)
        if match is None:
            continue
        found = _replaced(reading, view, match, lang, earlier)
        if found is not None:
            return [found]
    return []


def _replaced(reading: Reading, view: View, match: re.Match[str], lang: str, earlier: Sequence[Hit]) -> Hit | None:
    groups = match.groupdict()
    sure = groups.get("before") is not None
    for hit in reversed(earlier[-12:]):
        if hit.value is None or hit.op not in ("set", "add"):
            continue
        form = reading.lexicon.registry.types.get(hit.form_type)
        slot = form.slots.get(hit.slot) if form else None
        if form is None or slot is None:
            continue
        entry = entry_of(form, hit.slot, slot, lang)
        value = _value(reading, entry, view, match.span("value"))
        if value is None:
            continue
        new = same_currency(value.value, hit.value)
        if new.key == hit.value.key:
            continue
        if sure:
            before = _value(reading, entry, view, match.span("before"))
            if before is None or same_currency(before.value, hit.value).key != hit.value.key:
                continue
        elif slot.type == "text" and hit is not earlier[-1]:
            continue
        span = view.span(match.start(), value.end) or (0, 0)
        place = view.span(value.start, value.end) or (-1, -1)
        return Hit(
            op=hit.op,
            entity=hit.entity,
            form_type=hit.form_type,
            slot=hit.slot,
            value=new,
            before=hit.value,
            correction=True,
            start=span[0],
            end=max(span[1], (view.span(*match.span("before")) or (0, 0))[1]) if sure else span[1],
            value_start=place[0],
            value_end=place[1],
            strength=3,
            weight=50,
            hedged=value.hedged,
            importance=slot.importance,
            valid_from=hit.valid_from,
        )
    return None


def _value(reading: Reading, entry: Entry, view: View, span: tuple[int, int]) -> SlotValue | None:
    if span[0] < 0:
        return None
    if entry.slot.type != "text":
        return typed_value(reading, entry, view.text, *span, last=True)
    begin, stop = trimmed_text(entry, view.text, *span)
    value = text_value(reading, entry, view.text, begin, stop)
    return SlotValue(value, begin, stop, 2) if value else None


# --- calling off -----------------------------------------------------------------------------------------------------------

_CANCEL_EN = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:please\s|just\s|let['’]?s\s|we\scan\s|you\scan\s)*(?:forget|cancel|scrap|drop|ditch|abandon|disregard|ignore|"
        r"call\soff|never\smind|delete|remove)\s(?:about\s)?(?P<what>(?:the|my|our|that|this|those|all)\s.{1,80})$",
        r"(?P<what>(?:the|my|our|that|this)\s.{1,60}?)\s(?:is|was|has\sbeen|got|are|have\sbeen|is\snow|"
        r"has\snow\sbeen)\s(?:now\s|been\s)?(?:cancelled|canceled|called\soff|off|scrapped|void|abandoned|dropped|"
        r"no\slonger\shappening)\b",
        r"(?:i|we)(?:['’]?ve|\shave)?\s(?:cancelled|canceled|dropped|scrapped|called\soff|abandoned|given\sup\son|"
        r"gave\sup\son|shelved|killed)\s(?P<what>(?:the|my|our|that|this)\s.{1,80})$",
        r"(?:i['’]?m|i\sam|we['’]?re|we\sare)\snot\s(?:doing|going\sthrough\swith|going\sahead\swith|going\son|"
        r"taking)\s(?P<what>(?:the|my|our|that|this)\s.{1,60}?)(?:\sany\s?more|\sanymore)?$",
    )
]
_CANCEL_ZH = [
    re.compile(pattern)
    for pattern in (
        r"(?:请|帮我|把|那就|麻烦)?(?P<what>[^，。]{1,30}?)(?:已经|都|就|也|可以|全部|先|给|被)*(?:取消|作废|算了|泡汤|"
        r"不算数|终止|撤销|黄|不做|不搞|不要)(?:了|吧|掉)*$",
        r"我们?(?:决定|还是|就)*(?:不去|去不了|不参加|不做|不搞|不办)(?P<what>[^，。]{1,20}?)了$",
        r"(?:请|帮我|那就|麻烦|我们?|你)?(?:可以|决定|已经)?(?:取消|作废|放弃|撤销|忘掉|忘了|别管|不管|不要管|终止)(?:了|"
        r"掉)?(?P<what>[^，。]{1,30}?)(?:吧|了)*$",
    )
]
_NOTHING = re.compile(
    r"(?:the|my|our|that|this|those|all)\s(?:thing|stuff|idea|matter|rest|past|noise|last\spart|above|message|question)s?$",
    re.IGNORECASE,
)


def read_cancel(reading: Reading, view: View, lang: str) -> list[Hit]:
    """A whole Form called off ("forget the trip to Lisbon", 之前的方案作废), or a slot to forget ("forget my address")."""
    for pattern in _CANCEL_ZH if lang == "zh" else _CANCEL_EN:
        match = pattern.match(view.text.strip(" .!。！"))
        if match is None:
            continue
        shift = len(view.text) - len(view.text.lstrip(" .!。！"))
        what = match["what"].strip()
        if _NOTHING.match(what):
            return []
        span = view.span(shift + match.start(), shift + match.end())
        target = _called_off(reading, what, lang)
        if span is None or target is None:
            continue
        op, form_type, slot, entity = target
        return [
            Hit(
                op=op,
                entity=entity,
                form_type=form_type,
                slot=slot,
                start=span[0],
                end=span[1],
                strength=3,
                weight=60,
                importance=0.8,
            )
        ]
    return []


def _called_off(reading: Reading, what: str, lang: str) -> tuple[str, str, str, EntityRef] | None:
    registry = reading.lexicon.registry
    bare = re.sub(r"^(?:(?:the|my|our|that|this|those|all)\s)+", "", what, flags=re.IGNORECASE)
    own = re.match(r"(?:my|our)\s|我们?的?", what, re.IGNORECASE) is not None
    if own:
        for form_name, slot in registry.slots_by_alias(re.sub(r"^我们?的?", "", bare)):
            if registry.types[form_name].about == "person":
                return "remove", form_name, slot, reading.self_ref
    index = registry.type_alias_index(lang)
    named = sorted(index, key=lambda alias: (-len(alias), alias))
    lowered = bare.lower()
    for alias in named:
        types = [name for name in index[alias] if registry.types[name].about == "thing" and not registry.types[name].open_slots]
        if not types:
            continue
        hit = alias in what if lang == "zh" else re.search(rf"\b{re.escape(alias)}s?\b", lowered) is not None
        if hit:
            form = registry.types[types[0]]
            return "retire", form.name, "", name_of_thing(form, what, lang)
    return None
