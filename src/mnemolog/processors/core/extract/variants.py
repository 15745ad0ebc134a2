"""Other ways to read a clause: without the time, place or purpose that stands between the speaker and the verb, and with what
follows a value put back behind the verb ("I work as a nurse at St Mary's"). Words are only left out, never changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .acts import TIME_ZH
from .context import Hit
from .view import View

__all__ = ["after_value", "without_adjuncts"]

_WHO_ZH = r"(?:我们?(?:家)?|咱们?|(?:我们?的?|我家的?)[\u4e00-\u9fff]{1,6}?|[他她]们?)"
_WHEN_ZH = re.compile(rf"(?P<who>{_WHO_ZH})(?P<gone>(?:{TIME_ZH.pattern}){{1,3}}(?:都|就|才|会)?)(?=[^的，。])")
_WITH_ZH = re.compile(
    rf"(?P<who>{_WHO_ZH})(?P<gone>(?:现在|目前)?(?:跟|和|与)[^，。]{{1,10}}?(?:一起|一块儿?|合租|同住))(?=[住在工上做])"
)
_WHERE_ZH = re.compile(
    rf"(?P<who>{_WHO_ZH})(?P<gone>(?:现在|目前)?在[^，。我你]{{1,16}}?)(?=当|做|教|担任|读|学|教|从事|负责|开)"
)
_WHAT_FOR_ZH = re.compile(
    rf"(?P<who>{_WHO_ZH})(?P<gone>(?!不|没|别)[^，。用不没你他她我]{{1,10}}?)(?=(?:都|一般|平时|主要|经常|习惯|一直)?用)"
)
_TOPIC_ZH = re.compile(
    r"(?P<who>)(?P<gone>(?![^我]{0,10}(?:你|您|他|她|它|谁|知道|觉得|说|问|以为|是|如果|让|给|跟|比|被|不))[^，。我]{1,10})"
    r"(?=我(?:最|很|特别|比较|更|一般|都|只|也)?(?:喜欢|讨厌|爱|不喜欢|用|不吃|吃|不爱|喝|不喝))"
)
_FROM_ZH = re.compile(
    rf"(?P<who>{_WHO_ZH})(?P<gone>(?:刚刚?|最近|已经)?(?:把[^，。]{{1,8}}?)?(?:从|"
    rf"由)(?P<before>[^，。]{{1,12}}?))(?=(?:换|改|搬|跳|转|切|迁|升|变)(?:到|成|为|用|去|回|槽|了))"
)
_EVERY_ZH = re.compile(
    rf"(?P<who>)(?P<gone>每(?:隔?[一两二三]?个?(?:周|星期|礼拜|月)?的?)?(?:{TIME_ZH.pattern}|[一二三四五六日天]){{0,2}}[，,]?)(?=我)"
)
_TAKE_ZH = re.compile(
    rf"(?P<who>{_WHO_ZH})(?P<gone>[^，。从把不没]{{0,6}}?(?:(?:从|把)[^，。]{{1,12}}?))(?:(?=(?:换|改|切|转)(?:到|成|为|用)了?[^，。]{{0,8}}[A-Za-z])|(?<=[A-Za-z])(?=(?:换|改|切|转)(?:到|成|为|用)))"
)
_AFTER_ZH = re.compile(
    rf"(?P<who>{_WHO_ZH})(?P<gone>(?:今年|去年|后来|现在)?(?:辞职|离职|毕业|结婚|退休)(?:了|以后|之后|后)?(?:就|便|自己)?)(?=开了|盘了|做|去了|来了|到|回|"
    r"搬|在|当)"
)
_FROM_EN = re.compile(
    r"(?P<who>(?:i|we|he|she|they)(?:['’]?ve|\shave)?\s(?:(?:just|recently|finally)\s)?(?:switched|moved|changed|migrated|"
    r"went|converted|relocated|transferred|upgraded))"
    r"(?P<gone>(?:\sback|\sover)?\sfrom\s(?P<before>[^,]{1,40}?))(?=\sto\s)",
    re.IGNORECASE,
)
_ADJUNCT_EN = re.compile(
    r"(?P<who>(?:i|we|he|she|they|(?:my|our)\s\w+|[A-Z]\w+)\s(?:(?:also|now|currently|still|just|mostly|usually)\s)?"
    r"(?:work|works|worked|live|lives|study|studies|am|is|are|use|uses))(?P<gone>(?:\s(?!at\b|in\b|for\b|on\b|not\b|"
    r"never\b|as\b|to\b|from\b)[\w'’-]+){1,3})"
    r"(?=\s(?:at|in|for|on)\s)",
    re.IGNORECASE,
)
_WORKMATE_EN = re.compile(
    r"(?P<who>(?:(?:[Mm]y|[Oo]ur)\s\w+\s)?[A-Z][\w'’-]+)(?P<gone>\sfrom\s(?:the\s|my\s|our\s)?[\w-]+(?:\s(?:team|class|course|office))?)"
    r"(?=\s(?:just\s|has\s|is\s|was\s|also\s)?(?:is|has|lives|works|moved|loves|hates|likes|can['’]t|speaks|plays|[a-z]+ed|[a-z]+ing)\s)"
)
_HEAD_EN = re.compile(
    r"(?:(?:i|we|he|she|they|(?:my|our)\s\w+(?:\s\w+)?|[A-Z]\w+)(?:['’]?(?:m|re|s|ve))?\s(?:(?:also|now|currently|still|"
    r"just|am|have\sbeen|is|been)\s){0,2}\w+)\b",
    re.IGNORECASE,
)


def without_adjuncts(view: View, lang: str) -> Iterator[View]:
    """Shorter views of a clause in which no sentence form was found as it stands."""
    patterns = (
        (_WHEN_ZH, _WITH_ZH, _FROM_ZH, _EVERY_ZH, _TAKE_ZH, _AFTER_ZH, _WHERE_ZH, _WHAT_FOR_ZH, _TOPIC_ZH)
        if lang == "zh"
        else (_FROM_EN, _ADJUNCT_EN, _WORKMATE_EN)
    )
    for pattern in patterns:
        match = pattern.match(view.text)
        if match is not None and match.end("gone") < len(view.text):
            shorter = view.without(*match.span("gone"))
            yield shorter
            if pattern is _WHEN_ZH:
                again = _WHERE_ZH.match(shorter.text) or _WHAT_FOR_ZH.match(shorter.text)
                if again is not None:
                    yield shorter.without(*again.span("gone"))


def after_value(view: View, hit: Hit, lang: str) -> View | None:
    """The verb of the clause followed by what comes behind the value of `hit`; None where that is nothing."""
    if lang != "en" or hit.value_end < 0:
        return None
    head = _HEAD_EN.match(view.text)
    if head is None:
        return None
    behind = next((index for index, place in enumerate(view.at) if place >= hit.value_end), len(view.text))
    tail = view.text[behind:]
    if behind <= head.end() or not re.match(r"\s(?:at|in|for|from|with|near|as|on)\s", tail):
        return None
    return view.without(head.end(), behind)
