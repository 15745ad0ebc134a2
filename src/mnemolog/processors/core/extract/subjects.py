"""English statements without their subject, as people write in a chat: "moved to Ghent last month", "been vegan for years",
"working as a tailor these days". The subject is put back where the words can be nobody else's; an order ("book a table"), a
doing that is itself the subject ("living in Rome is dear") and a clause with a subject of its own stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .view import View
from .words import words

__all__ = ["about_another", "another_before", "another_follows", "has_subject", "with_subject"]

_SOFT = (
    r"(?:(?:just|finally|recently|also|already|only|officially|actually|honestly|really|still|currently|now|mostly|"
    r"mainly|basically|always|usually|literally|absolutely|personally|definitely|totally|genuinely)\s){0,2}"
)
_PAST = frozenset(
    words(
        """
        went gave got took began became bought sold left found grew had made met won lost broke quit kept chose wrote taught
        learnt spent came cut
        """
    )
)
_FIRST = re.compile(rf"(?P<soft>{_SOFT})(?P<verb>[a-z]+(?:['’][a-z]+)?)\b", re.IGNORECASE)
_OWN_SUBJECT = re.compile(r"\b(?:i|we|you)(?:['’]\w+)?\b", re.IGNORECASE)
_FINITE = re.compile(
    r"\s(?:is|are|was|were|isn['’]t|wasn['’]t|makes?|made|can|could|would|will|must|should|might|(?-i:may)|has|have|had|feels?|"
    r"sounds?|seems?|sucks|\w+s\s(?:me|us)|helps?|takes|gets|costs|means|requires?|needs|turned\sout)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"[,;(–—]|\s-\s")
_CAN_NOT = re.compile(
    rf"{_SOFT}(?:can(?:['’]?t|not)|couldn['’]t|haven['’]t|didn['’]t|don['’]?t\s(?:really\s)?(?:eat|drink|smoke|drive|like|own|"
    r"speak)|do\snot\s(?:eat|drink|smoke|drive))\b",
    re.IGNORECASE,
)
_NO_CAN_NOT = re.compile(
    r"\w+['’]?t\s(?:wait|believe|see|find|say|tell|remember|think|figure|get|help|complain)\b", re.IGNORECASE
)
_FEELS = re.compile(
    rf"{_SOFT}(?:love|hate|adore|prefer|dislike|loathe|live\s(?:in|near)|never\s(?:eat|drink|smoke|touch)|work\s(?:as|at|for|nights|part))\s"
    r"(?!(?:the|this|that|these|those|your|it|you|him|her|them|how|what|when|to\b)\b)",
    re.IGNORECASE,
)
_IS = re.compile(
    rf"{_SOFT}(?:allergic\sto|intolerant\sto|lactose\sintolerant|based\s(?:in|out)|originally\sfrom|"
    r"raised\sin|married\s(?:to|with|since|for)|engaged\sto|divorced(?=$|\s(?:since|for|with))|fluent\sin|bilingual\sin|"
    r"(?:scared|terrified|afraid)\sof|obsessed\swith|addicted\sto|diagnosed\swith|employed\sat|retired(?=$|\s(?:since|last|in))|"
    r"self-employed|(?:strict\s|mostly\s)?(?:vegan|vegetarian|pescatarian|veggie|coeliac|celiac|diabetic|asthmatic)"
    r"(?=$|\s(?:since|for|now|here|btw|these))|off\s(?!to\b|the\b)\w+|in\s(?:my|a)\srelationship|left-handed|trained\sas)\b",
    re.IGNORECASE,
)
_WAS = re.compile(rf"{_SOFT}(?:born|raised|brought\sup|diagnosed|promoted|laid\soff|fired)\b", re.IGNORECASE)
_HERE = re.compile(
    r"(?!(?:not|no|the|my|your|our|this|that|it|he|she|they|you|there|over|right|same|still|back|in|at|up|out|from|i|we|am|is|get|"
    r"got|come|put|any|every\w*|how|what|who|new|all|more|end|nothing)\b)"
    r"(?P<article>an?\s)?(?P<who>(?:[\w.+#'’-]+\s){1,3})(?P<here>here|by\s(?:trade|profession|training))(?=\s*(?:$|[,.!;(–—])|\s(?:in|from|at)\s)",
    re.IGNORECASE,
)
_USER = re.compile(
    r"(?:(?:long-?time|long\stime|big|heavy|happy|daily|die-?hard|proud|loyal)\s)?(?P<name>[\w.+#-]+(?:\s[\w.+#-]+)?)\s(?:user|fan|"
    r"drinker|driver|smoker|person)(?:\shere|\sfor\s[\w\s]{2,20}|\ssince\s[\w\s]{2,16})?\s*(?:$|[,.!;(–—])",
    re.IGNORECASE,
)
_NO_USER = re.compile(
    r"(?:the|a|an|my|your|our|this|that|any|no|every|each|other|power|end|new|one|what|which|some|same|first|bus|taxi|cab|truck|"
    r"not|i|is|as|for|like|of|to|add|delete|create|remove|find|get|set|give|tell|make|show|assign)\b",
    re.IGNORECASE,
)
_PARENT = re.compile(r"(?:proud\s|single\s)?(?:mum|mom|dad|mother|father|parent)\s(?:of|to)\s\w+", re.IGNORECASE)
_DATED = re.compile(
    r"(?!(?:book|call|visit|test|review|date|race|train|demo|match|tour|see|meet|remind|add|move|change|cancel|schedule|set|put|find|"
    r"order|get|plan|check|make|show|tell|send|what|when|where|how|who|any|no|not|the|an?|this|that|there|it|let|do|did|is|are|was|"
    r"had|have|got|great|good|nice|hope|thanks|for|on|in|at|to|by|[a-z]+ing|[a-z]+ed)\b)"
    r"(?:my\s)?(?:[\w'’-]+\s){1,3}(?:on\s(?:the\s)?(?:\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|"
    r"dec)|next\s(?:week|month|mon|tue|wed|thu|fri|sat|sun)|tomorrow|tonight|at\s\d)",
    re.IGNORECASE,
)
_KIN = re.compile(
    rf"(?:mum|mom|dad|grandma|grandpa|granny|grandad|hubby|wife|husband|girlfriend|boyfriend|daughter|son|brother|sister|boss|"
    rf"flatmate|roommate)(?:['’]s\s|\s(?:{_SOFT})(?:is|was|has|just|lives|works|loves|hates|likes|turns|turned|moved|can['’]?t|doesn['’]?t)\s)",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"(?:he|she|they|his|her|their|(?:my|our)\s(?!name|own\b)[\w-]+(?:\s(?!is\b|are\b)[\w-]+)?\s(?:is|are|was|has|had|just|got|\w+s|\w+ed)|"
    r"(?-i:[A-Z][a-z]+)\s(?:is|was|has|had|just|got|said|told|called|\w+ed))\b",
    re.IGNORECASE,
)


_FOLLOWS = re.compile(
    r"\s*,\s*(?:the|a|an|this|that|these|those|his|her|their|he|she|they|you|your|it(?!['’]s)|(?-i:[A-Z][a-z]+)\s(?:is|was|has|\w+ed))\b",
    re.IGNORECASE,
)


_MINE = re.compile(r"\b(?:i|we|my|our|me|us)\b", re.IGNORECASE)
_SAID_OF = re.compile(r"\b(?:is|are|was|were|has|have|\w+['’]s)\b", re.IGNORECASE)


def has_subject(text: str) -> bool:
    """Whether a sentence up to here has a subject with its verb, so that what is joined to it is no order."""
    return _SAID_OF.search(text) is not None


def another_before(text: str) -> bool:
    """Whether what stands in front of a clause in its sentence has a subject, which is not the speaker."""
    return _SAID_OF.search(text) is not None and _MINE.search(text) is None


def another_follows(text: str, end: int) -> bool:
    """Whether what begins behind a clause is its subject ("based in Berlin, the firm ...")."""
    return _FOLLOWS.match(text, end) is not None


def about_another(sentence: str) -> bool:
    """Whether a sentence is about somebody else, of whom the next one may go on without saying so."""
    return _OTHER.match(sentence) is not None


def with_subject(view: View, verbs: frozenset[str]) -> Iterator[View]:
    """The clause with the speaker as its subject, in the readings that its first words allow; nothing where it may have
    another. `verbs` are the words by which a statement goes on behind "I"."""
    text = view.text
    if _KIN.match(text):
        yield view.led_by("my ")
        return
    if _OWN_SUBJECT.search(text):
        return
    if _DATED.match(text) and not _FINITE.search(text):
        yield view.led_by("I have a ")
        return
    first = _FIRST.match(text)
    if first is None:
        return
    verb = first["verb"].lower()
    main = text[: aside.start()] if (aside := _ASIDE.search(text, 1)) else text
    finite = _FINITE.search(main, first.end()) is not None
    if verb == "been":
        yield view.led_by("I have ")
    elif verb.endswith("ing") and not finite:
        yield view.led_by("I am ")
    elif _says_what(text, verb, verbs, finite=finite):
        yield view.led_by("I ")
    elif _PARENT.match(text):
        yield view.led_by("I am a ")
    elif finite:
        return
    elif _WAS.match(text):
        yield view.led_by("I was ")
    elif _IS.match(text):
        yield view.led_by("I am ")
    elif (user := _USER.match(text)) and not _NO_USER.match(user["name"]):
        yield view.led_by("I am a ")
    elif (here := _HERE.match(text)) is not None:
        yield view.without(*here.span("here")).led_by("I am " if here["article"] else "I am a ")


def _says_what(text: str, verb: str, verbs: frozenset[str], *, finite: bool) -> bool:
    """Whether the clause begins with what the speaker did, cannot, or feels about something."""
    if _CAN_NOT.match(text):
        return _NO_CAN_NOT.match(text) is None
    if finite or _IS.match(text) or _WAS.match(text):
        return False
    return _FEELS.match(text) is not None or (verb in verbs and (verb.endswith("ed") or verb in _PAST))
