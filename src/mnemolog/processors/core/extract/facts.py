"""General facts about anything that has a name: "the chairperson of Fatah is Mahmoud Abbas", "Paris is the capital of France",
法国的首都是巴黎. Only proper names carry them, so that a remark about life in general becomes no record."""

from __future__ import annotations

import re

from ....schemas.observations import EntityRef
from ....schemas.values import Value, normal_text
from .context import Hit, Reading
from .view import View
from .words import words

__all__ = ["read_facts"]

_NAME = (
    r"(?:[A-Z0-9][\w&.'’-]*(?:\s(?:of|the|and|de|la|van|von|for|in)(?=\s[A-Z]))?(?:\s[A-Z0-9][\w&.'’-]*(?:\s(?:of|the|and|"
    r"de|la|van|von|for|in)(?=\s[A-Z]))?){0,6})"
)
_ATTRIBUTE = r"(?P<slot>[a-z][a-z-]{2,20}(?:\s(?!of\b|is\b)[a-z-]{2,20}){0,3})"
_OF = re.compile(
    rf"(?:[Tt]he\s|[Ii]ts\s)?(?:current\s|new\s|present\s)?{_ATTRIBUTE}\s(?:of|for|at|"
    rf"in)\s(?P<name>(?:the\s)?{_NAME})\s(?:is|are)\s(?:now\s|currently\s)?(?P<value>.{{1,80}})$"
)
_IS_THE = re.compile(
    rf"(?P<value>{_NAME})\s(?:is|are|became|has\sbecome)\s(?:now\s|currently\s)?the\s(?:current\s|new\s|"
    rf"present\s)?{_ATTRIBUTE}\s(?:of|for|at|in)\s(?P<name>(?:the\s)?{_NAME})$"
)
_OWNS = re.compile(
    rf"(?P<name>(?:[Tt]he\s)?{_NAME}?)['’]s?\s(?:current\s|new\s|present\s)?{_ATTRIBUTE}\s(?:is|are)\s(?:now\s|"
    rf"currently\s)?(?P<value>.{{1,80}})$"
)
_KIND = re.compile(rf"(?P<name>{_NAME})\s(?:is|was)\s(?:located|situated|based|headquartered)\sin\s(?P<value>{_NAME})$")
_NO_ATTRIBUTE = frozenset(
    words(
        """
        best worst rest end point part thing things problem issue idea name sort kind type way most one ones some many
        all none lot lots bit side top bottom middle
        beginning start reason purpose use lack absence case case fact sense feeling love fear hope result cost price
        question answer matter day days time times
        person people man woman number half majority plenty couple favourite favorite first second third last next
        same only whole rest weather food city place
        """
    )
)
_NO_NAME = re.compile(
    r"(?:I|My|We|Our|You|Your|He|She|They|It|This|That|These|Those|There|Here|What|Who|The|A|An|One|Today|Tomorrow|"
    r"Yesterday|Now|So|And|But|If)\b"
)
_PROPER = re.compile(r"(?:the\s)?[A-Z0-9]")

_ATTRIBUTES_ZH = (
    "首都|省会|首府|总统|主席|总理|首相|国王|女王|市长|省长|州长|校长|院长|部长|会长|创始人|创办人|董事长|首席执行官|总裁|"
    "CEO|CTO|作者|导演|主演|编剧|作曲|主唱|队长|主教练|教练|官方语言|语言|货币|"
    "人口|面积|海拔|高度|长度|总部|所在地|母公司|所属公司|国籍|出生地|生日|配偶|妻子|丈夫|父亲|母亲|儿子|女儿|职业|专业|"
    "开发商|制造商|出版社|邮编|区号|电话|地址|网址|官网|成立时间|代表作|首席|负责人"
)
_OF_ZH = re.compile(
    rf"(?P<name>[^，。我你您他她它这那的]{{1,15}}?)的?(?:现任|新任)?(?P<slot>{_ATTRIBUTES_ZH})(?:现在|目前)?(?:是|叫|"
    rf"为)(?P<value>[^，。的]{{1,20}})$"
)
_IS_ZH = re.compile(
    rf"(?P<value>[^，。我你您他她它这那的]{{1,15}}?)是(?P<name>[^，。我你您他她它这那的]{{1,15}}?)的?(?:现任|"
    rf"新任)?(?P<slot>{_ATTRIBUTES_ZH})$"
)
_BAD_ZH = re.compile(r"什么|谁|哪|不|没|今天|明天|最|很|自己|大家|别人|人家|如果|因为|所以|觉得|知道|听说|朋友|同事|老师|家")


def read_facts(reading: Reading, view: View, lang: str) -> list[Hit]:
    """The general fact that a clause states, where the registry has a type with open slots for it."""
    form = next((form for form in reading.lexicon.registry.types.values() if form.open_slots), None)
    if form is None:
        return []
    text = view.text.rstrip(" .!。！")
    patterns = (_OF_ZH, _IS_ZH) if lang == "zh" else (_OF, _IS_THE, _OWNS)
    for pattern in patterns:
        match = pattern.match(text)
        if match is None or not _sound(match, lang):
            continue
        place = view.span(*match.span("value"))
        span = view.span(match.start(), match.end())
        if place is None or span is None:
            continue
        slot = normal_text(match["slot"])
        declared = next((name for name, each in form.slots.items() if slot == name or slot in each.aliases.get(lang, [])), slot)
        return [
            Hit(
                op="set",
                entity=EntityRef(kind="named", name=re.sub(r"^[Tt]he\s", "", match["name"])),
                form_type=form.name,
                slot=declared,
                value=Value("text", match["value"].strip(" ,，\"'“”")),
                start=span[0],
                end=span[1],
                value_start=place[0],
                value_end=place[1],
                strength=2,
                weight=10,
                importance=0.7,
            )
        ]
    return []


def _sound(match: re.Match[str], lang: str) -> bool:
    name, slot, value = match["name"], match["slot"], match["value"].strip()
    if lang == "zh":
        return not any(_BAD_ZH.search(part) for part in (name, value))
    if set(slot.split()) & _NO_ATTRIBUTE or _NO_NAME.match(name) or _NO_NAME.match(value):
        return False
    return _PROPER.match(value) is not None and len(value.split()) <= 8
