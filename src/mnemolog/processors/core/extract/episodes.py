"""What happened and what was decided, for the timeline: who did what, in the speaker's own words, on which day. An episode
fills no slot, so it may be read more freely than a fact; feelings and sayings are none."""

from __future__ import annotations

import re

from .acts import TIME_ZH
from .context import Hit, Reading
from .trim import trim
from .view import View
from .words import words

__all__ = ["read_episode"]

_PAST = words(
    """
    went came saw met bought sold ate drank ran walked swam drove flew rode took brought made built wrote read sent
    gave paid lost found won broke fixed moved left returned visited
    started began finished completed ended joined quit watched played cooked baked cleaned washed called phoned
    emailed texted signed submitted delivered shipped launched released
    deployed booked ordered cancelled canceled attended hosted organised organized celebrated travelled traveled hiked
    climbed cycled trained practised practiced studied learned learnt
    passed failed graduated married divorced adopted planted painted repaired installed replaced upgraded opened
    closed dropped picked hired fired interviewed presented demoed merged
    reviewed published recorded rented renovated spent donated borrowed returned slept woke stayed hurt burned burnt
    cut fell caught stole forgot missed applied registered enrolled
    renewed exchanged swapped tested tried discovered received accepted rejected declined approved voted gave taught
    helped drew sang danced
    """
)
_WHO_EN = r"(?P<who>i|we|(?:my|our)\s(?:[\w'’-]+\s){0,2}?[\w'’-]+|he|she|they|[A-Z]\w+(?:\sand\s(?:i|[A-Z][\w'’-]+))?)"
_VERB_EN = "|".join(sorted(_PAST, key=lambda verb: (-len(verb), verb)))
_EVENT_EN = re.compile(
    rf"{_WHO_EN}\s(?:(?:just|also|finally|already|recently|actually|then|even|almost)\s){{0,2}}"
    rf"(?P<verb>{_VERB_EN})\b(?!-)(?P<object>.*)$",
    re.IGNORECASE,
)
_DECISION_EN = re.compile(
    r"(?P<who>i|we|(?:my|our)\s(?:team|wife|husband|partner|family|boss|company)(?:\sand\si)?|the\s\w+)(?:['’]ve|\shave|"
    r"\shas)?\s(?:(?:just|also|finally|already|all)\s){0,2}"
    r"(?P<verb>decided|agreed|chose|chosen|opted|resolved|settled|made\sup\s(?:my|our)\sminds?)\b(?P<object>\s.+)$",
    re.IGNORECASE,
)
_NO_EVENT_EN = re.compile(r"(?:\s(?:it|that|this|so|to\sknow|used\sto|rid\sit)\s*$|\s?$)", re.IGNORECASE)

_NOT_DONE = re.compile("不|没|别|未|会|能|要|想|可以")
_PARTICLE = re.compile(
    r"(?:on|off|up|out|in|over|away|back|down|along|around|about|through|by)(?:\s(?:it|this|that|them))?$|"
    r"[不得饱完下上起出过来去好了过着]{1,4}$",
    re.IGNORECASE,
)
_VERB_ZH = (
    "参加|完成|搬家|搬|买|卖|去|来|看|吃|喝|跑|走|做|打|写|读|学|修|换|丢|拿|收到|收|发|见|遇到|遇见|订|拜访|参观|旅游|"
    "出差|面试|考|通过|签|提交|交付|上线|发布|启动|结束|开始|加入|退出|辞职|"
    "入职|离职|毕业|结婚|离婚|生|养|种|装|"
    "拆|租|借|还|捐|赢|输|比赛|练|游|爬|骑|开|飞|坐|住院|住|摔|受伤|生病|感冒|体检|手术|报名|申请|录取|升级|部署|测试|"
    "讨论|开会|聊|约|请|送|寄|领|办|退|取消|推迟"
)
_EVENT_ZH = re.compile(
    rf"(?P<who>我们?|咱们?|(?:我们?的?)[\u4e00-\u9fff]{{1,4}}?|"
    rf"[他她]们?)?(?P<when>(?:{TIME_ZH.pattern}){{1,2}})?(?P<who2>我们?)?(?:和|"
    rf"跟|与)?(?P<with>(?<=[和跟与])[\u4e00-\u9fff]{{1,6}}?)?(?:一起|就|又|还|也|刚刚?|终于|已经|都|才|"
    rf"在[\u4e00-\u9fff]{{1,6}}?){{0,3}}"
    rf"(?P<verb>{_VERB_ZH})(?P<mark>了|过|完|到)?(?P<object>[^，。]*)$"
)
_DECISION_ZH = re.compile(
    r"(?P<who>我们?|咱们?|团队|公司|大家|老板|领导)(?:最后|最终|今天|昨天|终于|一致|已经|都|也|就)*(?P<verb>决定|商定|"
    r"敲定|选定|选择|约定)(?:了|要)?(?P<object>[^，。]{1,60})$"
)


def read_episode(reading: Reading, view: View, full: View, lang: str, *, decisions_only: bool = False) -> list[Hit]:
    """The event or decision that a clause tells; `full` is the clause with what introduces it, for its date. A clause that
    already gave facts is asked for decisions only."""
    decision = (_DECISION_ZH if lang == "zh" else _DECISION_EN).match(view.text)
    event = None if decision or decisions_only else (_EVENT_ZH if lang == "zh" else _EVENT_EN).match(view.text)
    match = decision or event
    if match is None:
        return []
    when, dated = _when(reading, full, lang)
    if (
        lang == "zh"
        and event is not None
        and not (
            event["mark"] == "了"
            or event["mark"] == "过"
            or view.text.rstrip().endswith("了")
            or (dated and dated <= reading.turn.occurred_at)
        )
    ):
        return []
    if lang == "zh" and event is not None and not (dated or event["who"]):
        return []
    if event is not None and _NOT_DONE.search(match["who"] or ""):
        return []
    said = match["object"] or ""
    begin, stop = match.span("object")
    if said.strip():
        trimmed = trim(view.text, begin, stop, lang, phrase=True)
        begin, stop = trimmed.start, trimmed.end
    obj = view.text[begin:stop].strip() if stop > begin else ""
    if event is not None and (len(obj) < 2 or _PARTICLE.match(obj)):
        return []
    if lang == "en" and event is not None and (not obj or _NO_EVENT_EN.fullmatch(" " + obj)):
        return []
    if when is not None and dated and dated > reading.turn.occurred_at and not decision:
        return []
    span = full.span(0, len(full.text.rstrip(" .!。！,，")))
    if span is None:
        return []
    who = match["who"] or ""
    return [
        Hit(
            op="episode",
            entity=reading.self_ref,
            actor=who,
            action=match["verb"],
            object=obj,
            start=span[0],
            end=span[1],
            valid_from=dated,
            importance=0.8 if decision else 0.6 if dated else 0.4,
            confidence=0.85,
        )
    ]


def _when(reading: Reading, full: View, lang: str) -> tuple[str | None, str | None]:
    for found in reading.find("date", full.text, lang):
        moment = reading.moment(found.value)
        if moment is not None:
            return full.text[found.start : found.end], moment
    return None, None
