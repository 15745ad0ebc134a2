"""Sentence frames to patterns. A frame is written in the first person (`I live in {value}`, 我住在{value}); its pattern also
takes contractions, curly apostrophes, any case and the small adverbs of speech, in the first or the third person. Every
repetition in a pattern is bounded, so matching takes time in proportion to the text, whatever the text is.

Syntax: `{value}` where the value stands (once, not inside a bracket; `{value:dog|cat}` must hold one of these words),
`(a|b)` one of them, `[a]` or `[a|b]` one of them or none; brackets may be nested; `^` at the very start ties the frame to
the start of a clause. In English a blank separates words; in Chinese blanks are free.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from ...schemas.frame_syntax import Choice, FrameNode, Text, ValueMark, parse_frame

__all__ = ["ADVERBS", "MAX_VALUE", "Person", "compile_frame", "frame_anchors"]

Person = Literal["first", "third"]

MAX_VALUE = 200
"""The longest value that a frame takes, in characters."""
_MIDDLE = 60
"""The longest value with words of the frame behind it."""

ADVERBS: dict[str, tuple[str, ...]] = {
    "en": ("now", "also", "just", "still", "already", "always", "only", "even", "often", "both", "nowadays", "sometimes"),
    "zh": (
        "现在", "已经", "目前", "如今", "最近", "刚刚", "刚", "也", "还", "都", "就", "其实", "一直", "真的", "特别", "非常",
        "十分", "超级", "超", "很", "挺", "比较", "最", "平时", "通常", "一般", "经常", "常常", "总", "总是", "从小", "确实",
        "本来", "仍然", "仍", "依然", "主要", "只", "又", "才", "今年", "这几年", "这两年",
    ),
}  # fmt: skip
"""Words that may stand between the words of a frame without changing what it states; in English also those in -ly."""

_APOSTROPHE = "['’ʼ`]"
_GAP = r"\s{1,8}"
_SEP = rf"(?:{_GAP}|(?<![\w'’]))"
# hardly, barely, rarely, nearly, probably, supposedly do change it
# and names in -ly (Italy, Sicily, July, Emily) are none of them
_LY = r"(?!hard|bare|rare|near|scarce|possib|probab|suppos|alleg|ital|sici|july|emi|lil|kel|bil|sal|fami)(?-i:[a-z]{2,10}ly)"
_EN_ADVERBS = rf"(?:(?:{'|'.join(ADVERBS['en'])}|{_LY}){_GAP}){{0,2}}"
_ZH_WHEN = (
    r"[上这本](?:个?(?:月|星期)|周)[一二三四五六日天初末底]?|(?:昨天|前天|今天|年初|前几天|前不久|不久前|前阵子|前段时间)"
    r"|(?:去年|前年|今年)(?:[春夏秋冬]天|年[初底]|[上下]半年|[0-9一二三四五六七八九十]{1,2}月)?"
    r"|[一二两三四五六七八九十几半0-9]{1,3}(?:年|个月|周|天)(?:以|之)?前|[0-9]{4}年|[0-9一二三四五六七八九十]{1,2}月"
)
_ZH_WORDS = "|".join(sorted(ADVERBS["zh"], key=len, reverse=True))
_ZH_ADVERBS = rf"(?:(?:{_ZH_WORDS}|{_ZH_WHEN})\s{{0,2}}){{0,3}}"
_STOP = r"\n!?;。！？；"
_VALUE_CHAR = rf"(?:[^{_STOP}.]|\.(?=\w)|(?<=\b[SDM][trs])\.)"
_EDGE = r"[^\s,，、:：.·" + _STOP + "]"
_EN_START = rf"(?:^|(?<=[,:(\"“{_STOP}，：])|(?<=\.\s)|(?<=^))\s{{0,8}}"
_ZH_START = rf"(?:^|(?<=[,:\s（(\"“{_STOP}，：、.]))"

_SHORT = {
    "am": f"(?:{_APOSTROPHE}?m|{_APOSTROPHE}re)",
    "is": f"{_APOSTROPHE}s",
    "are": f"{_APOSTROPHE}re",
    "have": f"{_APOSTROPHE}ve",
    "has": f"{_APOSTROPHE}s",
    "had": f"{_APOSTROPHE}d",
    "will": f"{_APOSTROPHE}ll",
    "would": f"{_APOSTROPHE}d",
}
_EXPAND = (
    (re.compile(r"\bI['’]m\b"), "I am"),
    (re.compile(r"\b(I|we|you|they)['’]ve\b", re.I), r"\1 have"),
    (re.compile(r"\b(I|we|you|they|he|she|it)['’]ll\b", re.I), r"\1 will"),
    (re.compile(r"\b(I|we|you|they|he|she|it)['’]d\b", re.I), r"\1 would"),
    (re.compile(r"\b(we|you|they)['’]re\b", re.I), r"\1 are"),
    (re.compile(r"\b(he|she|it|that|name)['’]s\b", re.I), r"\1 is"),
    (re.compile(r"\bcan(?:['’]t|not)\b", re.I), "can not"),
    (re.compile(r"\bwon['’]t\b", re.I), "will not"),
    (re.compile(r"\b(do|does|did|is|are|was|were|have|has|had|would|could|should)n['’]t\b", re.I), r"\1 not"),
)
_NOT_AFTER = {"can": "can(?:not|{a}?t|{g}not)", "will": "(?:won{a}?t|will{g}not)"}

_SUBJECT_EN = (
    r"(?P<subject>(?:my|our|his|her|their)\s(?:[\w'’-]{1,30}\s){0,2}?[\w'’-]{1,30}|he|she|they|it"
    r"|(?-i:[A-Z][\w'’-]{0,30}(?:\s[A-Z][\w'’-]{0,30})?))"
)
_OWNER_EN = (
    r"(?P<subject>his|her|their|its|(?:my|our)\s(?:[\w-]{1,30}\s){0,1}?[\w-]{1,30}(?:['’]s|['’])"
    r"|(?-i:[A-Z][\w-]{0,30}(?:\s[A-Z][\w-]{0,30})?)(?:['’]s|['’]))"
)
_SUBJECT_ZH = r"(?P<subject>他们|她们|他|她|它|[\u4e00-\u9fffA-Za-z·]{1,10}?)"
_AUXILIARIES = {"am", "is", "are", "was", "were", "have", "has", "had", "do", "not", "can", "will", "would", "been", "got"}
_NO_S = {"will", "would", "can", "could", "should", "must", "may", "might", "used", "did", "was", "had", "never", "not"}


@lru_cache(maxsize=8192)
def compile_frame(frame: str, lang: str, person: Person = "first") -> re.Pattern[str]:
    """The pattern of `frame` (language `en` or `zh`), to be used with `search` or `finditer` on a sentence or clause.

    Group `value` is what stands at `{value}`: at most MAX_VALUE characters, not beyond the end of the sentence, without
    white space or a comma at its outer ends; where the frame ends with it, it runs to the end of the sentence, commas and
    all, and cutting it down is up to the caller. With person `third` the same frame is matched as said of somebody else
    ("she lives in", "Jack's home is in", 我妹妹住在) and group `subject` is who ("she", "Jack's", 我妹妹); the frame must
    then hold I, my or 我 (otherwise the pattern is that of the first person). Raises InvalidInput for a bad frame.
    """
    writer: _Chinese | _English = _Chinese(person) if lang == "zh" else _English(person)
    return re.compile(writer.pattern(frame), re.IGNORECASE)


def _value(*, last: bool, first: bool) -> str:
    char = rf"[^{_STOP}.,，]" if first else _VALUE_CHAR
    if last:
        return rf"(?P<value>{_EDGE}(?:{char}{{0,{MAX_VALUE - 2}}}{_EDGE})?)"
    return rf"(?P<value>{_EDGE}(?:{char}{{0,{_MIDDLE - 2}}}?{_EDGE})??)"


def _holds(words: tuple[str, ...], lang: str) -> str:
    """A look ahead for one of `words` among the value's first characters."""
    if not words:
        return ""
    either = "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))
    near = rf"[^{_STOP},，]{{0,40}}?"
    return rf"(?={near}\b(?:{either})(?:e?s)?\b)" if lang == "en" else rf"(?={near}(?:{either}))"


class _English:
    """Writes one English pattern, word by word."""

    def __init__(self, person: Person) -> None:
        self._third = person == "third"
        self._subject_done = False
        self._verb_next = False
        self._words = 0
        self._led = False
        self._inside = 0
        self._sure = False
        self._auxiliary = False

    def pattern(self, frame: str) -> str:
        for find, full in _EXPAND:
            frame = find.sub(full, frame)
        bound = frame.startswith("^")
        nodes = parse_frame(frame.removeprefix("^"))
        return (_EN_START if bound else "") + self._nodes(nodes, top=True)

    def _nodes(self, nodes: tuple[FrameNode, ...], *, top: bool = False) -> str:
        out = ""
        for index, node in enumerate(nodes):
            if isinstance(node, ValueMark):
                first, last = top and index == 0, top and not _words_follow(nodes, index)
                glued = index > 0 and isinstance(before := nodes[index - 1], Text) and not before.text[-1:].isspace()
                if first:
                    out += _EN_START
                elif not glued:
                    out += rf"(?:{_GAP}|(?<=[:,])|:\s{{0,8}}){_EN_ADVERBS}"
                out += _holds(node.words, "en") + _value(last=last, first=first)
                self._words += 1
            elif isinstance(node, Text):
                out += self._text(node.text)
            else:
                out += self._choice(node)
        return out

    def _choice(self, node: Choice) -> str:
        verb, sure = self._verb_next, self._sure
        led = self._words > 0 and not self._led
        lead = self._separator()
        self._inside += 1
        words = self._words
        joined: list[str] = []
        shortened: list[str] = []
        after, verb_after = words, verb
        for branch in node.branches:
            self._words, self._verb_next, self._sure = words, verb, sure
            if led and _first_word(branch) in _SHORT:
                self._words -= 1
                shortened.append(self._nodes(branch))
            else:
                self._led = True
                joined.append(self._nodes(branch))
                self._led = False
            after, verb_after = max(after, self._words), verb_after and self._verb_next
        self._inside -= 1
        self._sure, self._auxiliary = sure or not node.optional, False
        # an optional branch may be absent, and the verb may then still come
        self._words, self._verb_next = after, verb if node.optional else verb_after
        either = [*([f"{lead}(?:{'|'.join(joined)})"] if joined else []), *shortened]
        return f"(?:{'|'.join(either)}){'?' if node.optional else ''}"

    def _text(self, text: str) -> str:
        out = ""
        words = text.split()
        index = 0
        while index < len(words):
            if index:
                self._sure, self._auxiliary = True, words[index - 1].lower() in _AUXILIARIES
            word = words[index]
            following = words[index + 1].lower() if index + 1 < len(words) else ""
            if following == "not":
                out += self._negated(word)
                index += 2
            else:
                out += self._word(word)
                index += 1
        self._sure = self._sure or (bool(words) and not self._inside)
        self._auxiliary = False
        return out

    def _separator(self) -> str:
        """What stands before the next word; nothing where a choice has written it already."""
        if self._led:
            self._led = False
            return ""
        self._words += 1
        if self._words == 1:
            return r"(?<![\w'’])"
        adverbs = self._words <= 6 and (not self._inside or self._auxiliary)
        return (_GAP if self._sure else _SEP) + (_EN_ADVERBS if adverbs else "")

    def _negated(self, word: str) -> str:
        verb, lower = self._verb_next and self._third, word.lower()
        self._verb_next = False
        lead = self._separator()
        special = _NOT_AFTER.get(lower)
        if special:
            return lead + special.replace("{a}", _APOSTROPHE).replace("{g}", _GAP) + r"\b"
        if verb:
            lower = {"do": "(?:do|does)", "am": "(?:am|is)", "have": "(?:have|has)"}.get(lower, lower)
        return rf"{lead}{lower}(?:n{_APOSTROPHE}?t|{_GAP}not)\b"

    def _word(self, word: str) -> str:
        lower = word.lower()
        if not any(char.isalnum() for char in word):
            self._led = False
            return rf"\s{{0,2}}{re.escape(word)}"
        if self._third and not self._subject_done and lower in ("i", "my"):
            self._subject_done = True
            self._verb_next = lower == "i"
            return self._separator() + (_SUBJECT_EN if lower == "i" else _OWNER_EN)
        if self._third and lower in ("me", "myself", "my") and self._subject_done:
            others = {"me": "(?:him|her|them)", "myself": "(?:him|her|them)sel(?:f|ves)", "my": "(?:his|her|their)"}
            return self._separator() + others[lower] + r"\b"
        if not self._third and lower in ("i", "my"):
            return self._separator() + ("(?:I(?=\\b|m\\b)|we\\b)" if lower == "i" else "(?:my|our)\\b")
        verb, self._verb_next = self._verb_next, self._verb_next and lower in ADVERBS["en"]
        short = _SHORT.get(lower) if self._words and not self._led else None
        lead = self._separator()
        if verb and self._third and lower not in ADVERBS["en"]:
            body, short = _third_person(lower), short and _SHORT.get({"am": "is", "have": "has"}.get(lower, lower))
        else:
            body = "(?:am|are)" if lower == "am" else re.escape(lower).replace("'", _APOSTROPHE)
        return rf"(?:{short}\b|{lead}{body}\b)" if short else rf"{lead}{body}\b"


def _third_person(verb: str) -> str:
    fixed = {"am": "(?:is|are)", "have": "(?:has|have)", "do": "(?:does|do)", "are": "(?:is|are)"}
    if verb in fixed:
        return fixed[verb]
    if verb in _NO_S or verb.endswith("ed"):
        return re.escape(verb)
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{re.escape(verb[:-1])}(?:y|ies)"
    return f"{re.escape(verb)}(?:e?s)?"


def _first_word(branch: tuple[FrameNode, ...]) -> str:
    node = branch[0] if branch else None
    return node.text.split()[0].lower() if isinstance(node, Text) and node.text.strip() else ""


def _words_follow(nodes: tuple[FrameNode, ...], index: int) -> bool:
    """Whether anything that must match stands behind the value."""
    return any(
        (isinstance(node, Text) and bool(node.text.strip())) or (isinstance(node, Choice) and not node.optional)
        for node in nodes[index + 1 :]
    )


class _Chinese:
    """Writes one Chinese pattern, character by character."""

    def __init__(self, person: Person) -> None:
        self._third = person == "third"

    def pattern(self, frame: str) -> str:
        bound = frame.startswith("^")
        return (rf"{_ZH_START}\s{{0,8}}" if bound else "") + self._nodes(parse_frame(frame.removeprefix("^")), top=True)

    def _nodes(self, nodes: tuple[FrameNode, ...], *, top: bool = False) -> str:
        out = ""
        for index, node in enumerate(nodes):
            if isinstance(node, ValueMark):
                first = top and index == 0
                out += _ZH_START if first else r"了?[\s:：]{0,4}(?![的过对了])"
                out += _holds(node.words, "zh") + _value(last=top and not _words_follow(nodes, index), first=first) + r"\s{0,2}"
            elif isinstance(node, Text):
                out += self._text(node.text)
            else:
                # 每周二 must not be read as 每周
                inner = "|".join(sorted((self._nodes(branch) for branch in node.branches), key=len, reverse=True))
                out += f"(?:{inner}){'?' if node.optional else ''}"
        return out

    def _text(self, text: str) -> str:
        out = ""
        for part in re.split(r"(我们|我)", text):
            if part in ("我", "我们"):
                if self._third and part == "我":
                    self._third = False
                    out += f"{_ZH_START}{_SUBJECT_ZH}" if not out else "(?:他|她|它)"
                else:
                    out += "我们?"
                out += _ZH_ADVERBS
            else:
                out += r"\s{0,8}".join(re.escape(piece) for piece in part.split(" ")) if part.strip() else ""
        return out


@lru_cache(maxsize=8192)
def frame_anchors(frame: str, lang: str) -> tuple[str, ...]:
    """Casefolded pieces of which at least one stands in every text that the frame matches, in either person; empty where no
    such piece is known. Looking for them first saves compiling and running most patterns."""
    best: tuple[str, ...] = ()
    for node in parse_frame(frame.removeprefix("^")):
        found: tuple[str, ...] = ()
        if isinstance(node, Text):
            found = _longest(_stems(node.text, lang))
        elif isinstance(node, Choice) and not node.optional:
            each = [_branch_anchor(branch, lang) for branch in node.branches]
            found = tuple(word for words in each for word in words) if all(each) else ()
        if found and (not best or min(map(len, found)) > min(map(len, best))):
            best = found
    return best


def _branch_anchor(branch: tuple[FrameNode, ...], lang: str) -> tuple[str, ...]:
    only = branch[0] if len(branch) == 1 else None
    return _longest(_stems(only.text, lang)) if isinstance(only, Text) else ()


def _longest(words: Iterable[str]) -> tuple[str, ...]:
    best = max(words, key=len, default="")
    return (best,) if best else ()


_VARIABLE = {*_SHORT, "i", "my", "me", "myself", "not", "do", "can", "will", "would", "don't", "can't", "won't"}


def _stems(text: str, lang: str) -> list[str]:
    if lang == "zh":
        return [piece for part in re.split(r"我们|我", text.casefold()) for piece in part.split()]
    words = [word for word in text.casefold().replace("’", "'").split() if word not in _VARIABLE and "'" not in word]
    return [word[:-1] if word.endswith("y") else word for word in words]
