"""How much of what follows a sentence form is its value: everything that is the sentence's own business (when, why, since when,
particles, politeness, the next clause) is left out; what remains is an unbroken run of the speaker's words."""

from __future__ import annotations

import re

import msgspec

__all__ = ["Trimmed", "is_phrase", "split_list", "trim"]

_UNIT = r"(?:second|minute|hour|day|night|week|weekend|month|year|decade|semester|season)s?"
_COUNT = (
    r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,4}(?:\.\d)?|several|many|some|a\sfew|"
    r"a\scouple\sof|a\slong|over\s\w+|about\s\w+|almost\s\w+|nearly\s\w+|more\sthan\s\w+)"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}"
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thurs?|fri|sat(?:ur)?|sun)(?:day)?s?"
_WHEN = (
    rf"(?:since|from|as\sof|starting|beginning|effective)\s(?:(?:from|on|in)\s)?(?:[\w'’,/-]{{1,20}}\s?){{1,5}}|"
    rf"(?:for|over|during|in|within)\s(?:the\s(?:last|past|next)\s)?{_COUNT}\s(?:more\s)?{_UNIT}(?:\s(?:now|already|"
    rf"straight))?|for\s(?:ages|years|now|ever|good|the\stime\sbeing|a\s(?:while|bit|long\stime))|"
    rf"(?:a\swhile|some\stime|ages)\sago|{_COUNT}\s{_UNIT}\s(?:ago|back|earlier|later)|(?:in|since|until|by|"
    rf"around)\s(?:\d{{4}}|{_MONTH}(?:\s\d{{4}})?|"
    rf"the\s(?:spring|summer|autumn|fall|winter)(?:\sof\s\d{{4}})?|spring|summer|autumn|winter)|"
    rf"(?:on|until|by|every|each|next|last|this|from)\s(?:the\s)?(?:{_WEEKDAY}|{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?|"
    rf"\d{{1,2}}(?:st|nd|rd|th)?(?:\sof)?\s{_MONTH})(?:\s(?:morning|afternoon|evening|night))?|"
    rf"(?:last|this|next|every|each|earlier\sthis|late\slast|early\snext)\s(?:{_UNIT}|spring|summer|autumn|fall|winter|"
    rf"morning|afternoon|evening|{_MONTH}|time|term)|"
    rf"(?:at|around|by)\s(?:noon|midnight|night|\d{{1,2}}(?::\d\d)?\s?(?:am|pm|o['’]?clock)?)|"
    rf"yesterday|today|tomorrow|tonight|(?:once|twice|three\stimes|four\stimes|several\stimes|a\sfew\stimes)\s(?:a|per|"
    rf"every)\s{_UNIT}|all\s(?:day|year|week|the\stime)|daily|weekly|(?:in|on)\s(?:the\s)?(?:mornings?|evenings?|"
    rf"afternoons?|weekends?)"
)
_ADVERB = (
    r"(?:right\s)?now|these\sdays|nowadays|currently|at\s(?:the\smoment|present|all|least|last|first)|any\s?more|"
    r"any\slonger|too|also|as\swell|either|though|tho|actually|"
    r"lol|btw|by\sthe\sway|please|pls|thanks|thank\syou|a\slot|so\smuch|very\smuch|quite\sa\sbit|again|already|finally|"
    r"sadly|unfortunately|luckily|honestly|tbh|"
    r"haha|of\scourse|you\sknow|i\s(?:think|guess|believe|suppose)|for\snow|so\sfar|recently|lately|still|yet|myself|ok|"
    r"okay|anyway|then|here|there|full[\s-]time|part[\s-]time|remotely|"
    r"fyi|coming\sup|upside\sdown|instead|together|alone|mostly|mainly|only|especially|in\sparticular|in\sgeneral|more\sor\sless|or\sso|"
    r"and\s(?:so\son|such|stuff|whatnot)|etc\.?|for\ssure|exactly|basically|really|sometimes|often|usually|regularly|"
    r"by\sthe\sway|in\sfact|to\sbe\shonest|that['’]?s\sall|on\spurpose|for\sme|with\sme|of\smine|with\sa\spassion|"
    r"to\sdeath|either\sway|the\smost|"
    r"best|better|more\sthan\sanything|everywhere|everyday|anyways"
)
_TAIL_EN = re.compile(rf"(?:\s*[,–—-])?\s+(?:(?P<when>{_WHEN})|(?:{_ADVERB}))\s*$", re.IGNORECASE)
_PREPOSITION = re.compile(
    r"(?<!\btrip)(?<!\bvisit)(?<!\bflight)(?<!\bjourney)(?<!\bmove)"
    r"\s+(?:with|at|in|for|from|since|on|near|by|as|to|into|under|after|before|during|about|against|without|through|via|"
    r"over|within|next|close|across|"
    r"around|outside|inside|behind|based|located|called|named|until|till|including|because|due|like|unless|except|instead|"
    r"alongside|between|every|each|"
    r"while|than|where|working|living|studying|who|that|which|whose|when|if|so|but|whenever|this|last|and\s(?:it|he|she|"
    r"they|we|i)|despite|among)\b",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\s+(?:that\s(?:is|are|was|were|has|have|i|my|we|he|she|it|you|they|can|will|would|makes?|comes?|lets?|helps?|does|"
    r"do|the)|which|who|whom|whose|where|when(?!\sharry)|because|although|though|"
    r"while|unless|if|than|so\s(?:that|i|we|it)|and\s(?:i|my|we|he|she|it|they|you|that|this|there|have|am|has|was|"
    r"need|want|would|then)\b|but|then\b|rather\sthan|instead\sof|to\sbe\sexact)\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"\s*,\s*(?:and\s|but\s)?not\s|\s+not\s+since\b|\s+(?:any\s?more|any\slonger)\b", re.IGNORECASE)
_EDGE_EN = " \t\n,.;:!?\"“”‘’'()[]<>*_~-–—/\\|"
_EDGE_ZH = " \t\n,，.。;；:：!！?？\"“”‘’'（）()[]【】「」『』《》<>*_~～-—…、"
_BREAK = re.compile(r"[()\[\]{}<>|*“”\"「」『』\u2600-\u27bf\U0001f000-\U0001faff]|\s[–—-]{1,3}\s|\.\.+|…|;|；|\n|:\s|：")
_GERUND = re.compile(r"(?:not\s)?(?:to\s)?[a-z]+ing\b|to\s[a-z]+", re.IGNORECASE)

_NUM_ZH = r"[一二三四五六七八九十百两几半多\d]+"
_TAIL_ZH = re.compile(
    rf"(?:了|啦|呢|吧|啊|呀|哦|喔|哈|嘛|嘞|咯|喽|哒|滴|而已|来着|的说|这样|等等|之类的?|什么的|那边|这边|那块儿?|一带|附近|为主|好多年|很久|"
    rf"(?P<when>(?:已经|都|快|有|将近|差不多|大概|整整)?(?<![千百万亿块元]){_NUM_ZH}(?:个)?(?:多)?(?:年|月|周|星期|天|小时)(?:多|半)?|"
    rf"(?:从|自)?(?:[去今明前后]年|[上下这本]个?(?:周|星期|月)|昨天|今天|明天|\d{{4}}年(?:\d{{1,2}}月)?)(?:起|开始|以来)?)|"
    rf"(?:现在|目前|已经|最近|一直|其实|真的)|就(?:行|好|可以|是|够)了?|(?<=[\u4e00-\u9fff])(?<![甜辣酸冰凉生冷咸腻炸])的)$"
)
_STOP_ZH = re.compile(
    r"(?:因为|由于|所以|但是|不过|可是|而且|并且|然后|虽然|如果|要是|，|,|。|；|的时候|之后|以后|以来|来着|(?:名字叫|取名|起名|名叫|叫做|叫)(?=[\u4e00-\u9fffA-Za-z]{1,6}$))"
)
_OFTEN_ZH = re.compile(r"(?:一般|通常|平时|经常|常常|总是|偶尔|常|自己|都|会|就|也|还){1,4}(?=[\u4e00-\u9fff]{2})")
_MEASURE_ZH = re.compile(
    rf"(?:(?:{_NUM_ZH}|这|那)(?:只|个|条|头|匹|位|名|辆|台|部|张|本|双|套|间|家|所|款|种|把|份|门|支|片|粒|颗|点�?|点儿|些)|"
    rf"[只个条])(?=[\u4e00-\u9fffA-Za-z])"
)


class Trimmed(msgspec.Struct, frozen=True):
    """`text[start:end]` is the value; `when` the stated time that was left out (text offsets, -1 for none)."""

    start: int
    end: int
    when_start: int = -1
    when_end: int = -1
    ended: bool = False
    """It closes with "anymore", "no longer"."""


def trim(text: str, start: int, end: int, lang: str, *, phrase: bool) -> Trimmed:
    """Narrows `text[start:end]` to the value. `phrase` keeps what a preposition adds ("swimming in the sea")."""
    broken = _BREAK.search(text, start + 1, end)
    if broken and broken.start() > start:
        end = broken.start()
    start, end = _edges(text, start, end, _EDGE_ZH if lang == "zh" else _EDGE_EN)
    return _trim_zh(text, start, end) if lang == "zh" else _trim_en(text, start, end, phrase)


def _trim_en(text: str, start: int, end: int, phrase: bool) -> Trimmed:
    when_start = when_end = -1
    ended = False
    for pattern in (_RELATIVE, _CONTRAST):
        cut = pattern.search(text, start, end)
        if cut and cut.start() > start:
            end = cut.start()
    for _ in range(4):
        tail = _TAIL_EN.search(text, max(start, end - 80), end)
        if tail is None or tail.start() <= start:
            break
        if tail["when"] and when_start < 0:
            when_start, when_end = tail.span("when")
        ended = ended or bool(re.search(r"any\s?more|any\slonger", tail.group(), re.IGNORECASE))
        end = tail.start()
    if not phrase or not is_phrase(text[start:end]):
        cut = _PREPOSITION.search(text, start, end)
        if cut and not phrase:
            end = cut.start()
    start, end = _edges(text, start, end, _EDGE_EN)
    return Trimmed(start, end, when_start, when_end, ended)


def _trim_zh(text: str, start: int, end: int) -> Trimmed:
    when_start = when_end = -1
    stop = _STOP_ZH.search(text, start + 1, end)
    if stop:
        end = stop.start()
    for _ in range(5):
        tail = _TAIL_ZH.search(text, start, end)
        if tail is None or tail.start() <= start:
            break
        if tail["when"] and when_start < 0:
            when_start, when_end = tail.span("when")
        end = tail.start()
    start, end = _edges(text, start, end, _EDGE_ZH)
    often = _OFTEN_ZH.match(text, start, end)
    if often:
        start = often.end()
    measure = _MEASURE_ZH.match(text, start, end)
    if measure and measure.end() < end:
        start = measure.end()
    return Trimmed(start, end, when_start, when_end)


def _edges(text: str, start: int, end: int, edge: str) -> tuple[int, int]:
    while start < end and text[start] in edge:
        start += 1
    while end > start and text[end - 1] in edge:
        end -= 1
    return start, end


def is_phrase(text: str) -> bool:
    """Whether it is a doing ("to swim", "baking bread") and not a thing."""
    return _GERUND.match(text) is not None


_LIST_EN = re.compile(
    r"\s*,\s*(?:and\s+|or\s+|as\swell\sas\s+|also\s+)?|\s+(?:and(?!\sfamily\b)|or|&|plus|as\swell\sas)\s+|\s*[/&+]\s*(?=[A-Z\s])",
    re.IGNORECASE,
)
_LIST_ZH = re.compile(r"[、,，/&]|和(?!平|谐|服|式|尚|声)|跟(?!踪|团|拍)|以及|还有|及其|与(?!其)")
_LIST_EDGE = re.compile(r"(?:both|either|mainly|mostly|especially|also|a\slittle|a\sbit\sof|some|bit\sof)\s+", re.IGNORECASE)


_ORDER_EN = re.compile(r"\b(?:me|us|him|her|them|you)\b|\b(?:instead|please|rather)\b", re.IGNORECASE)


def end_of_list(text: str, start: int, end: int) -> int:
    """Where an English list ends that goes on with an order: "calls, text me instead" ends behind "calls"."""
    separators = list(_LIST_EN.finditer(text, start, end))
    for place, match in enumerate(separators):
        stop = separators[place + 1].start() if place + 1 < len(separators) else end
        if match.start() > start and _ORDER_EN.search(text, match.end(), stop):
            return match.start()
    return end


def split_list(text: str, start: int, end: int, lang: str) -> list[tuple[int, int]]:
    """The elements of a list that `text[start:end]` may be, in order."""
    pattern, edge = (_LIST_ZH, _EDGE_ZH) if lang == "zh" else (_LIST_EN, _EDGE_EN)
    pieces: list[tuple[int, int]] = []
    begin = start
    for match in pattern.finditer(text, start, end):
        pieces.append((begin, match.start()))
        begin = match.end()
    pieces.append((begin, end))
    found = []
    for piece_start, piece_end in pieces:
        piece_start, piece_end = _edges(text, piece_start, piece_end, edge)
        lead = _LIST_EDGE.match(text, piece_start, piece_end) if lang == "en" else None
        if lead:
            piece_start = lead.end()
        if piece_start < piece_end:
            found.append((piece_start, piece_end))
    return found
