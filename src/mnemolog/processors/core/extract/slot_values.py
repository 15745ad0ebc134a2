"""The words of a clause that are a slot's value, and what they mean: typed values are found inside the stretch that the
sentence form leaves open, texts are trimmed to what names the thing; both only where the rest of it leaves them true."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ....schemas.values import Value
from .context import Reading
from .gazetteer import is_known_place
from .lexicon import Entry
from .standalone import IS_TOOL, OPEN, stands_alone
from .support import supports
from .trim import Trimmed, end_of_list, is_phrase, split_list, trim

__all__ = ["SlotValue", "slot_values", "text_value", "trimmed_text", "typed_value"]


class SlotValue(msgspec.Struct, frozen=True):
    """A value at `text[start:end]`; `strength`: 1 any text, 2 a text of the right look, 3 a typed value."""

    value: Value
    start: int
    end: int
    strength: int
    hedged: bool = False


_ARTICLE = re.compile(r"(?!(?-i:The\s[A-Z]))(?:the|a|an|some|my|our)\s+(?=[a-z])", re.IGNORECASE)
_NEGATED = re.compile(r"(?:不|没|没有|别|未)$|^(?:no|not|never|none|没|不|无)\b", re.IGNORECASE)
_COMMA = re.compile(r"\s*[,，]\s*")
_AND_LOWER = re.compile(r"\s(?:and|&|or)\s(?-i:[a-z])")
_MORE_PLACE = re.compile(r"[,]\s*(?:[A-Z][\w'’.-]+(?:\s[A-Z][\w'’.-]+){0,2})(?=$|[,.])")
_WEEKDAY_LEFT = re.compile(r"(?:周|星期|礼拜)$")
_REST = re.compile(
    r"\s*(?:$|[,.;:!?)（(]|(?:and|but|so|because|since|for|from|at|in|on|to|with|by|as|until|till|per|a|each|every|now|"
    r"then|if|when|max|tops|maximum|"
    r"after|before|instead|total|again|anymore|or|which|that|due|this|next|last|of|though|already|too|tomorrow|today|only)\b)",
    re.IGNORECASE,
)
_REST_ZH = re.compile(
    r"\s*(?:$|[，,。；;：:！!的了啦呢吧呀啊]|左右|上下|多|来|因为|所以|但|不过|去|见|出发|开始|结束|以前|之前|前|以后|后|"
    r"[\d一二两三四五六七八九十半几]{1,3}个?多?[年月周天]|起|为止|每|一个月|开会|"
    r"要|有|和|跟|在|就)"
)
_PART_OF_DAY = re.compile(r"(?:早上|上午|中午|下午|傍晚|晚上|凌晨|今晚|明早|明晚|夜里)$")
_HEDGED = re.compile(
    r"\b(?:about|around|roughly|approximately|approx\.?|probably|maybe|perhaps|nearly|almost)\s[$€£¥]?$|(?:大概|大约|"
    r"差不多|约|可能|将近|接近)[是有为要]?$",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:[\s,，]*(?:please|pls|thanks|thank\syou|from\snow\son|ok(?:ay)?|谢谢|好吗|可以吗|拜托|[吧哦啊呀哈了]))+$",
    re.IGNORECASE,
)
_ANOTHER = re.compile(
    r"\s*(?:,|\s[–—-]|\()\s*(?:(?:the|my|our|your|all|those|these)\s)?(?:\w[\w'’-]*\s){1,2}"
    r"(?:is|are|was|were|makes?|means?|has|have|hurts?|drives?|do(?:es)?|don['’]t|doesn['’]t|can['’]?t?|won['’]t|gives?|"
    r"confuses?|annoys?|works?|will|always|never|just)\s",
    re.IGNORECASE,
)
_PREFERS = re.compile(r"\bprefer\s$", re.IGNORECASE)
_RATHER = re.compile(r"\s(?:to|over|than)\s", re.IGNORECASE)
_SWITCHED = re.compile(r"\b(?:switched|moved|migrated|changed)\b.{0,8}\sto\s(?:an?\s|the\s|my\s)?$", re.IGNORECASE)
_CALLED = re.compile(
    r"(?:called|named|probably|actually|currently|definitely|officially)\s(?=\w)|be\s(?=\w+ing\b)", re.IGNORECASE
)
_AT_HOME = re.compile(
    r"\b(?:in|of)\s(?:this|our|the|my)\s(?:house|family|flat|home|household|relationship|group|party)\b", re.IGNORECASE
)
_DEFINITE = re.compile(r"(?:the|this|that|no)\s", re.IGNORECASE)
_CHANGES_ENUM = re.compile(
    r"\s*(?:to\b|of\b|in\b(?!\s(?:\d{4}|(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|spring|summer)))|with\b|food|dish|的|recipe|restaurant)",
    re.IGNORECASE,
)


def slot_values(reading: Reading, entry: Entry, text: str, start: int, end: int, *, last: bool) -> Iterator[SlotValue]:
    """The values of `entry`'s slot in `text[start:end]`; `last` where nothing of the form stands behind it."""
    if entry.slot.type == "text":
        yield from _texts(reading, entry, text, start, end, last)
    else:
        found = typed_value(reading, entry, text, start, end, last=last)
        if found is not None:
            yield found


def typed_value(reading: Reading, entry: Entry, text: str, start: int, end: int, *, last: bool) -> SlotValue | None:
    """The typed value that `text[start:end]` is, or begins with where what follows does not change it."""
    slot, lang = entry.slot, entry.lang
    trimmed = trim(text, start, end, lang, phrase=True) if last else Trimmed(*_strip(text, start, end))
    if slot.type == "date" and lang == "zh":
        part_of_day = _PART_OF_DAY.search(text[:start])
        start = part_of_day.start() if part_of_day else start
    inside = reading.find(slot.type, text[start:end], lang, slot)
    tries = [(start, end), (trimmed.start, trimmed.end)]
    rest = _REST_ZH if lang == "zh" else _REST
    for found in inside[:1]:
        stop = start + found.end
        if last and not rest.match(text, stop, end):
            break
        if slot.type != "enum" or not (text[start : start + found.start].strip() or _CHANGES_ENUM.match(text, stop, end)):
            tries.append((start, stop))
    for begin, stop in tries:
        value = reading.parse(slot, text[begin:stop], lang)
        if value is not None and not (slot.type == "number" and _DEFINITE.match(text, begin, stop)):
            begin, stop = _strip(text, begin, stop)
            hedged = any(found.hedged for found in inside[:1]) or _HEDGED.search(text[max(0, begin - 24) : begin]) is not None
            return SlotValue(value, begin, stop, 3, slot.type != "enum" and hedged)
    return None


def _texts(reading: Reading, entry: Entry, text: str, start: int, end: int, last: bool) -> Iterator[SlotValue]:
    slot, lang = entry.slot, entry.lang
    stretch = text[start:end]
    rather = _RATHER.search(text, start, end) if _PREFERS.search(text[:start]) else None
    end = rather.start() if rather else end
    start, end = trimmed_text(entry, text, start, end) if last else _strip(text, start, end)
    if entry.slot.identity and entry.form.about == "thing" and lang == "en":
        start = _with_verb(text, start, end)
    if slot.many and entry.form.about != "scope" and lang == "en":
        end = end_of_list(text, start, end)
    pieces = [(start, end)]
    if slot.many and entry.form.about != "scope":
        listed = split_list(text, start, end, lang)
        sound = [_element(reading, entry, text, piece, stretch) for piece in listed]
        if lang == "en" and len(listed) > 1 and _is_one(text, listed):
            sound = []
        if len(listed) > 1 and sound and all(sound):
            pieces = listed
        elif len(listed) > 1 and sound and sound[0] and lang == "en" and ("," in text[start:end] or entry.words):
            pieces = listed[: sound.index(False)]
    for begin, stop in pieces:
        value = text_value(reading, entry, text, begin, stop, stretch)
        if value is None and len(pieces) > 1 and ((begin, stop) != pieces[0] or lang == "zh"):
            value = reading.parse(slot, text[begin:stop], lang)
        if value is not None:
            yield SlotValue(value, begin, stop, 2 if slot.shape or entry.words else 1)


_SAYS_MORE = re.compile(
    r"\s(?:is|are|was|were|isn['’]t|aren['’]t|has|have|makes?|never|always|would|will|can|could)\s|\w+s\sme$|"
    r"\b(?-i:[a-z])+['’]s$|\b(?:budget|it|that|there|life|money|time|what|who|he|she|weather)['’]s\s",
    re.IGNORECASE,
)
_INSIDE = re.compile(r"\s(?:with|about|of|between|like)\s", re.IGNORECASE)
_HALF = re.compile(
    r"\s(?:an?|more|very)\s(?:safe|warm|good|big|small|new|nice|fun|happy|healthy|better|quiet|co[sz]y|soft|simple|loving|clean|"
    r"calm|strong|positive|supportive|peaceful|fast|cheap|modern|bright)$",
    re.IGNORECASE,
)


def _is_one(text: str, listed: list[tuple[int, int]]) -> bool:
    """Whether words that are joined by "and" are one thing: "books about ships and ports", "baking a soft and sweet bread"."""
    first, *others = (text[start:end] for start, end in listed)
    if len(listed) == 2 and _HALF.search(first) is not None:
        return True
    if is_phrase(first) and " " in first and not any(is_phrase(other) or _INSIDE.search(other) for other in others):
        return len(listed) == 2
    return (
        len(listed) == 2
        and _INSIDE.search(first) is not None
        and not others[0].lower().startswith(("a ", "an ", "the ", "my "))
    )


_PROPER = re.compile(r"(?-i:[A-ZÀ-ÖØ-Þ])[\w'’-]{1,20}(?:\s(?-i:[A-Z])[\w'’-]{1,20})?")


def _element(reading: Reading, entry: Entry, text: str, piece: tuple[int, int], stretch: str) -> bool:
    """Whether it can stand in a list of values; behind the kind of a thing also its names ("two mice, Pip and Nell")."""
    if entry.lang == "en" and _SAYS_MORE.search(text, *piece):
        return False
    if text_value(reading, entry, text, *piece, stretch) is not None:
        return True
    if entry.lang == "zh" and entry.words and any(word in stretch for word in entry.words):
        free = msgspec.structs.replace(entry, words=())  # one word of the lexicon vouches for the list
        return text_value(reading, free, text, *piece, stretch) is not None
    return bool(entry.words) and entry.lang == "en" and _PROPER.fullmatch(text, *piece) is not None


_GOING_ZH = re.compile(r"[去要得](?=[\u4e00-\u9fff]{2})")
_BEHIND_NAME_ZH = re.compile(
    r"今[年天]|现在|已经|刚(?=[\u4e00-\u9fff]{2})|马上|上(?:[一二三四五六七八九初高小大幼]|学|班)|在(?=[\u4e00-\u9fff]{2})|读|是|做|才(?=[\d一二三四五六七八九十两半])|特别|很|"
    r"住在|\d"
)
_DOING = re.compile(r"\b(?P<verb>\w+ing)\s(?P<to>to\s)?$", re.IGNORECASE)


def _with_verb(text: str, start: int, end: int) -> int:
    """ "flying to Lisbon", not "to Lisbon": a doing keeps its verb."""
    doing = _DOING.search(text[:start])
    if (
        doing is not None
        and (doing["to"] is None or text[start:end][:1].isupper())
        and doing["verb"].lower() not in ("planning", "being")
    ):
        return doing.start("verb")
    return start


def trimmed_text(entry: Entry, text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch of `text[start:end]` that a text value, or a list of them, can be."""
    if entry.form.about == "scope":  # an order stands as it was given
        more = _ANOTHER.search(text, start, end) if entry.lang == "en" else None
        end = more.start() if more else end
        polite = _POLITE.search(text, start, end)
        return _strip(text, start, polite.start() if polite and polite.start() > start else end)
    phrase = bool(entry.slot.opposes) or entry.form.about != "person" or is_phrase(text[start:end])
    if entry.lang == "zh" and entry.slot.shape == "name":
        behind = _BEHIND_NAME_ZH.search(text, start + 1, end)
        end = behind.start() if behind else end
    trimmed = trim(text, start, end, entry.lang, phrase=phrase)
    called = _CALLED.match(text, trimmed.start, trimmed.end) if entry.lang == "en" else None
    if called is not None:
        trimmed = msgspec.structs.replace(trimmed, start=called.end())
    if entry.slot.many:
        going = entry.lang == "zh" and entry.form.about == "person" and _GOING_ZH.match(text, trimmed.start, trimmed.end)
        return trimmed.start + (1 if going else 0), trimmed.end
    first = _first_of_list(entry.slot.shape, text, trimmed.start, trimmed.end)
    if first < trimmed.end and entry.lang == "en":
        trimmed = trim(text, trimmed.start, first, entry.lang, phrase=phrase)
        return trimmed.start, trimmed.end
    return trimmed.start, first


def _first_of_list(shape: str, text: str, start: int, end: int) -> int:
    """A single-valued slot takes what stands before the first comma; a place also what it lies in ("Austin, Texas")."""
    both = _AND_LOWER.search(text, start, end) if shape else None
    end = both.start() if both else end
    comma = _COMMA.search(text, start, end)
    if comma is None:
        return end
    more = _MORE_PLACE.match(text, comma.start(), end) if shape == "place" else None
    return more.end() if more else comma.start()


def text_value(reading: Reading, entry: Entry, text: str, start: int, end: int, stretch: str = "") -> Value | None:
    """The text value that `text[start:end]` is, or None; `stretch` is what the sentence form left open for it."""
    slot, lang = entry.slot, entry.lang
    said = text[start:end]
    if _NEGATED.search(said):
        return None
    if lang == "zh" and (_WEEKDAY_LEFT.search(text[:start]) or (_located(entry) and is_known_place(said))):
        return None
    if entry.words and lang == "en" and said.lower().startswith(("to ", "for ")):
        return None
    if entry.words and lang == "en" and _AT_HOME.search(stretch):
        return None  # the cook of the house is none by trade
    if entry.words and not _holds(entry, said, stretch):
        return None
    if lang == "en" and not slot.shape and _SWITCHED.search(text[:start]) and not IS_TOOL.search(said):
        return None  # one switches to oat milk as well as to Firefox
    if entry.frame.startswith("the {value") and len(said.split()) < 2:
        return None  # "the meeting" is the one that is being talked of
    if entry.form.about != "scope" and not (entry.words and slot.identity and said.casefold() in entry.words):
        phrase = is_phrase(said) or bool(slot.opposes) or entry.form.about != "person"
        looked_at = said.removeprefix("每") if lang == "zh" and _often(entry) else said
        if not supports(slot, looked_at, lang, lower=reading.lower, phrase=phrase):
            return None
    if lang == "en" and slot.shape == "name" and said[:1].islower() and text[:start].endswith((" is ", " are ", "'s ", "’s ")):
        return None  # "my wife is asleep" names nobody
    if lang == "zh" and slot.shape == "name" and text[:start].endswith("了"):
        return None
    if lang == "en" and entry.form.about != "scope" and OPEN.search(said) is not None:
        return None
    if lang == "en" and not stands_alone(entry, text, start, said):
        return None
    article = _ARTICLE.match(said)
    if article and entry.kind == "ends" and not slot.many and not slot.shape and "job" not in text[:start]:
        return None  # "I left the room" ends no employment
    if _often(entry) and not _is_doing(said, lang):
        return None
    if article and not slot.shape and entry.form.about != "scope":
        said = said[article.end() :]
    return reading.parse(slot, said, lang)


_NO_DOING_EN = re.compile(
    r"(?:am|is|are|was|were|have|has|had|feel|get|got|can|could|will|would|do|did|think|know|see|look|seem)\b", re.IGNORECASE
)
_OFTEN_TIME_ZH = re.compile(
    r"(?:每(?:隔)?[一两二三]?个?(?:天|周|星期|礼拜|月|年|晚上?|早上?)?|的|最后一个|第[一二三四]个|周|星期|礼拜|[一二三四五六日天末](?=[^个])|早上|上午|中午|下午|晚上|夜里|"
    r"[\d一二三四五六七八九十]{1,3}点(?:半|钟)?|[\d一二三四五六七八九十]{1,3}号){0,6}"
)
_DOING_ZH = re.compile(
    r"(?:都|会|要|得|必须|坚持|至少|大概|会去|准时|按时|一起|自己|早上|晚上|中午|下午|早晚|固定)*"
    r"[去吃喝跑走做打踢练看读写听学睡起健游骑爬洗煮遛带用坐开上下喂冥散锻加背弹唱跳画拍记刷买换泡抽晨夜午运通给陪和跟工]"
)


def _often(entry: Entry) -> bool:
    return "每天" in entry.frame or "every (day" in entry.frame or "every day" in entry.frame


def _is_doing(said: str, lang: str) -> bool:
    """Whether the words can be what somebody does again and again: they open with a verb of doing."""
    if lang == "zh":
        return _DOING_ZH.match(said, _OFTEN_TIME_ZH.match(said).end()) is not None  # type: ignore[union-attr]
    return _NO_DOING_EN.match(said) is None


def _holds(entry: Entry, said: str, stretch: str) -> bool:
    """Whether a word that the form asks for stands in the value; for a thing also beside it ("... tomorrow")."""
    looked_at = (stretch or said) if entry.form.about == "thing" else said
    return any(word.casefold() in looked_at.casefold() for word in entry.words)


def _located(entry: Entry) -> bool:
    """A form that says where something is done, of a slot that is no place: 我在深圳工作 names no employer."""
    return entry.slot.shape != "place" and entry.frame.startswith("我在{value}")


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and not text[start].isalnum() and text[start] not in "\"'“‘#+$€£¥￥":
        start += 1
    while end > start and text[end - 1] in " ,，、.。;；:：!！":
        end -= 1
    return start, end
