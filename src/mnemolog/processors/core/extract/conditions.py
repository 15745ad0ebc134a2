"""Orders that hold under a condition (写邮件的时候先说重点, 周末我要带孩子，别给我安排会议): the order and what it depends on
are one rule, in the speaker's own words. Where the condition is one occasion the order is none that stands."""

from __future__ import annotations

import re

import msgspec

from ....schemas.observations import EntityRef
from ....schemas.values import Value
from .context import Hit, Reading
from .segment import Clause
from .statements import read_statements
from .view import View

__all__ = ["bound_to_condition", "read_conditional"]

MAX_ORDER = 60
"""Characters of an order with its condition; a longer one is a story."""

_TALK = r"(?:你?(?:给我|帮我|跟我|和我|回答|回复|回我|写|推荐|介绍|解释|翻译|总结|安排|订|提醒|列|发|说|讲|做表|做计划|查))"
_WHEN_TALKING = re.compile(
    rf"(?:以后|今后|往后)?{_TALK}[^，。！？]{{0,14}}?(?:的时候|时候|时|之前|前|之后|后|(?=记得))[，,]?\s?"
    r"(?P<order>(?:请|你|麻烦|务必|尽量|一定|记得|都|要|得)*(?:先|别|不要|只|避开|控制在|记得|务必|尽量|一定要|都要|都用)[^，。]{2,40})"
)
_TIME = (
    r"(?:(?:每[天周月年晚早]|每个?(?:周|星期|月)|周|星期|礼拜)[一二三四五六日天末]{0,7}|工作日|周末|平时|早上|上午|中午|下午|晚上|夜里|半夜|凌晨|睡前|"
    r"上班|下班|开会|开车|午休|饭点|休息|[\d一二三四五六七八九十两]{1,3}点(?:半|一刻)?(?:钟)?|到|至|之?前|以前|之?后|以后|的?时候|的?时间|期间|和|的|都|我){1,8}"
)
_AT_TIMES = re.compile(
    rf"(?P<when>{_TIME})[，,]?\s?(?P<order>(?:请|你|麻烦|千万)*(?:别再?|不要再?|不许|不准|不用|请|务必|记得|一定要)[^，。]{{2,40}})"
)
_ONE_OCCASION = re.compile(
    r"今[天晚早]|明[天晚早]|后天|下(?:个?(?:周|星期|月|礼拜))|这(?:周|次|个|几天|两天)|本周|刚才|现在|马上|待会|等会|一会|\d+[月号日]"
)
_TIMED = re.compile(
    r"每[天周月年晚早个]|(?:周|星期|礼拜)[一二三四五六日天末]|工作日|周末|早上|上午|中午|下午|晚上|夜里|凌晨|[\d一二三四五六七八九十两]{1,3}点|今[天晚早]|明[天晚早]|后天|\d+[月号日]"
)
_NO_TIME = re.compile(r"(?:以后|之后|以前|之前|前|后|的|都|我|和|到|至)*")
_CLOCK = re.compile(r"(?![^，。]{0,12}(?:每|周|星期|礼拜|工作日|天))[^，。]{0,6}[\d一二三四五六七八九十两]{1,3}点")
_REPEATS = re.compile(r"每|工作日|周末|固定|都要|天天|一般|平时|周[一二三四五六日]周?[一二三四五六日]|通常|都会|都得")
_DEPENDS = re.compile(r"(?:的时候|时候|的话|之前|之后|以后|期间)$")
_STANDS = re.compile(r"以后|今后|从现在|往后|每次|始终|永远|总是|一律|千万|再也|不要再|别再")
_FORBIDS = re.compile(r"别|不要|不许|不准|不得|禁止|切勿|请勿|不能|不可以|不用")


def read_conditional(reading: Reading, view: View) -> list[Hit]:
    """The standing order that `view` gives together with when it holds; empty where it gives none."""
    text = view.text
    talking = _WHEN_TALKING.match(text)
    match = talking or _AT_TIMES.match(text)
    if (
        match is None
        or len(text) > MAX_ORDER
        or (talking is None and _NO_TIME.fullmatch(match["when"]))
        or _ONE_OCCASION.search(text)
        or re.search("吗|？|什么|呢|[了吧呗]$", text)
    ):
        return []
    order = view.part(match.start("order"))
    hits = [hit for hit in read_statements(reading, order, "zh") if _is_order(reading, hit)]
    if not hits and talking is None:
        return []
    template = hits[0] if hits else _plain_order(reading)
    span = view.span(0, match.end())
    if template is None or span is None:
        return []
    forbids = bool(hits) and _FORBIDS.search(text[match.start("order") :]) is not None
    return [_widened(reading, template, span[0], span[1], forbids=forbids)]


def bound_to_condition(reading: Reading, parts: list[Clause], index: int, hits: list[Hit], found: list[Hit]) -> list[Hit]:
    """`hits` of the clause `parts[index]`, its orders with the condition that the clause before states for them: left out where
    that is one occasion, or where the order was read already as part of a longer one (in `found`)."""
    out: list[Hit] = []
    for hit in hits:
        if not _is_order(reading, hit):
            out.append(hit)
            continue
        if any(_is_order(reading, other) and other.start <= hit.start and hit.end <= other.end for other in found):
            continue
        said = reading.text[parts[index].start : parts[index].end]
        before = reading.text[parts[index - 1].start : parts[index - 1].end] if index else ""
        depends = _TIMED.search(before) is not None or _DEPENDS.search(before) is not None
        if depends and _CLOCK.match(said) and _REPEATS.search(before) and not _ONE_OCCASION.search(before):
            out.append(_widened(reading, hit, parts[index - 1].start, hit.value_end, forbids=False))
        elif not depends or _TIMED.search(said) or _STANDS.search(said) or _DEPENDS.search(said):
            out.append(hit)
        elif (_REPEATS.search(before) or _DEPENDS.search(before)) and not _ONE_OCCASION.search(before):
            forbids = _FORBIDS.search(reading.text[parts[index].start : hit.value_start]) is not None
            out.append(_widened(reading, hit, parts[index - 1].start, hit.value_end, forbids=forbids))
    return out


def _is_order(reading: Reading, hit: Hit) -> bool:
    form = reading.lexicon.registry.types.get(hit.form_type)
    return form is not None and form.about == "scope" and hit.value is not None


def _plain_order(reading: Reading) -> Hit | None:
    """An order in the registry's first slot for many of them, still without words."""
    for form in reading.lexicon.registry.types.values():
        for name, slot in form.slots.items():
            if form.about == "scope" and slot.many and slot.type == "text":
                entity = EntityRef(kind="self")
                return Hit(
                    op="add",
                    entity=entity,
                    form_type=form.name,
                    slot=name,
                    start=0,
                    end=0,
                    strength=1,
                    weight=10,
                    importance=slot.importance,
                )
    return None


def _widened(reading: Reading, hit: Hit, start: int, end: int, *, forbids: bool) -> Hit:
    """The order as the whole stretch; a forbidding one says so itself and goes to the slot for what is to be done."""
    slot = reading.lexicon.registry.types[hit.form_type].slots[hit.slot]
    name = slot.opposes if forbids and slot.opposes else hit.slot
    words = reading.turn.content[start:end]
    return msgspec.structs.replace(
        hit, slot=name, value=Value("text", words), start=start, end=end, value_start=start, value_end=end
    )
