"""Values that are words: text of a certain shape, an enum's members, yes and no."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...schemas.forms import Shape, Slot

__all__ = ["NARROW", "fits_shape", "iter_bools", "iter_enum", "read_text"]

NARROW = {**{code: code - 0xFEE0 for code in range(0xFF10, 0xFF1A)}, **{code: code - 0xFEE0 for code in range(0xFF21, 0xFF5B)},
          0xFF0E: 0x2E, 0xFF05: 0x25, 0xFF04: 0x24}  # fmt: skip
"""Full-width digits and letters to their usual forms, one code point for one."""

MAX_TEXT = 500
_OUTER = " \t\r\n.,;:!?\"'“”‘’「」『』《》。，；：！？、…"
_EMPTY = frozenset(
    """
    i me my mine you your yours he him his she her hers it its we us our ours they them their theirs this that
    these those here there who what which where when why how something anything everything nothing someone anyone
    everyone nobody one ones so too do does did not no yes ok okay well to much more all lot ton bit
    我 你 您 他 她 它 我们 你们 他们 她们 它们
    这 那 这个 那个 这些 那些 这里 那里 这儿 那儿 什么 谁 哪 哪里 哪儿 哪个 怎么 什么样 多少 几 吗 呢 吧 啊 了 的
    是 不是 没有 有 东西 啥
    """.split()  # noqa: SIM905
)
_NO_START = frozenset(
    """
    for with of by than because that it you them is was are were and but or this these those your how what where why
    """.split()  # noqa: SIM905
)
"""No value begins with one of these in small letters: the frame met a sentence that goes on in another way."""
_LATER = frozenset(
    """
    later back tomorrow today tonight now again soon when if after before at on in anytime crazy maybe whenever
    asap please from by not the a an to for with and or but because since sometime collect first
    """.split()  # noqa: SIM905
)
_NOT_PLACE = frozenset(
    """
    fear peace pain hope luxury poverty silence harmony comfort misery debt love denial exile danger hell heaven
    bed front general particular town person private public theory practice mind touch charge doubt trouble time
    moment present past future dream world reality shadow
    """.split()  # noqa: SIM905
)
_NOT_FIRST = frozenset(("a", "an", "the", "your", "his", "her", "our", "their", "some", "constant", "total"))
_WORD = re.compile(r"[^\W\d_]+(?:[-'’.][^\W\d_]+)*\.?")
_HAN = re.compile(r"[\u3400-\u9fff]")
_HAN_NAME = re.compile(r"[\u3400-\u9fff·]{1,12}")
_HAN_NOT_NAME = re.compile(r"[的了吗呢吧是在有和跟]|什么|一[个位名]|医生|老师|工程师|律师|护士|学生|司机|经理|老板")
_EMAIL = re.compile(r"[\w.+%-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}", re.ASCII)
_PHONE = re.compile(r"\+?[0-9][0-9\s().-]{4,22}[0-9]", re.ASCII)
_ZONE = re.compile(
    r"(?:UTC|GMT)\s?(?:[+-]\s?[0-9]{1,2}(?::?[0-5][0-9])?)?"
    r"|[A-Z][A-Za-z]{2,20}/[A-Z][A-Za-z_]{2,30}(?:/[A-Z][A-Za-z_]{2,30})?"
    r"|(?:[ECMP][SD]?T|CET|CEST|BST|IST|JST|KST|EET|EEST|AEST|AEDT|HKT|SGT|MSK|WET|WEST|NZST|NZDT|AKST|HST)"
    r"|(?:eastern|central|mountain|pacific|beijing|london|tokyo|paris|berlin|new york|singapore|india|greenwich)"
    r"(?:\s(?:standard\s|daylight\s)?time)?"
    r"|(?:北京|东京|伦敦|纽约|美东|美西|太平洋|东部|西部|格林尼治|[东西][一二三四五六七八九十]{1,2})(?:时间|区|时区)?",
    re.IGNORECASE,
)


def read_text(text: str) -> str | None:
    """The text as said, without outer white space, quotes and punctuation; None where nothing is left but a pronoun or the
    like."""
    trimmed = text.strip(_OUTER)
    if not trimmed or len(trimmed) > MAX_TEXT or "\0" in trimmed or not any(char.isalnum() for char in trimmed):
        return None
    first, _, rest = trimmed.partition(" ")
    if trimmed.casefold() in _EMPTY or (rest and first in _NO_START) or first.startswith("'"):
        return None
    return trimmed


def fits_shape(shape: Shape, text: str, lang: str) -> bool:
    """Whether a text looks like what the slot holds."""
    if shape == "name":
        return _is_name(text)
    if shape == "place":
        return _is_place(text)
    if shape == "email":
        return _EMAIL.fullmatch(text) is not None
    if shape == "phone":
        return _PHONE.fullmatch(text) is not None and 6 <= sum(char.isdigit() for char in text) <= 15
    return shape != "time_zone" or _ZONE.fullmatch(text) is not None


def _is_name(text: str) -> bool:
    """Capitalised words, one uncapitalised word that is no adverb of time, or a few Chinese characters."""
    if _HAN.search(text):
        return _HAN_NAME.fullmatch(text) is not None and len(text) <= 8 and not _HAN_NOT_NAME.search(text)
    words = text.split()
    if not 1 <= len(words) <= 5 or not all(_WORD.fullmatch(word) for word in words):
        return False
    if words[0].casefold() in _LATER or words[0].casefold() in _EMPTY:
        return False
    if len(words) == 1:
        return True
    small = ("de", "van", "von", "der", "da", "di", "la", "le", "bin", "al", "and", "del", "dos", "du", "ten")
    return all(not word[0].islower() or word in small for word in words) and not words[0][0].islower()


def _is_place(text: str) -> bool:
    """Has a capital letter or a digit, is Chinese without a verb, or is one or two plain words that can be a place."""
    if len(text) > 120:
        return False
    if _HAN.search(text):
        return len(text) <= 30 and not re.search(r"[吗呢了]$|什么|哪", text)
    words = text.split()
    if any(word[0].isupper() and word not in ("I",) for word in words) or any(char.isdigit() for char in text):
        return words[0].casefold() not in ("my", "your", "his", "her", "our", "their") or len(words) > 2
    if len(words) > 2 or words[0].casefold() in _NOT_FIRST:
        return False
    return not any(word.casefold() in _NOT_PLACE or word.casefold() in _EMPTY for word in words)


_BOOL = re.compile(
    r"(?P<no>\b(?:no|nope|nah|false|never|not)\b|没有|不是|不对|否|不行|不要|错误?|不)"
    r"|(?P<yes>\b(?:yes|yeah|yep|yup|true|sure|correct|right|ok|okay)\b|是的|对的|没错|是|对|好的|可以|行|有)",
    re.IGNORECASE,
)


def iter_bools(text: str) -> Iterator[tuple[int, int, str]]:
    """Words that say yes (`true`) or no (`false`)."""
    for match in _BOOL.finditer(text):
        yield match.start(), match.end(), "false" if match["no"] else "true"


_patterns: dict[int, tuple[dict[str, list[str]], re.Pattern[str], dict[str, str]]] = {}
"""Compiled members by the identity of the slot's `values`, which is kept beside them, so that an id is never reused."""


def _compiled(slot: Slot) -> tuple[re.Pattern[str], dict[str, str]]:
    known = _patterns.get(id(slot.values))
    if known is not None and known[0] is slot.values:
        return known[1], known[2]
    member_of: dict[str, str] = {}
    for member, words in slot.values.items():
        for word in (member, *words):
            member_of.setdefault(_folded(word), member)
    parts = []
    for word in sorted(member_of, key=lambda word: (-len(word), word)):
        body = r"\s{1,3}".join(re.escape(piece).replace("'", "['’]?") for piece in word.split())
        left = r"(?<![\w-])" if word[0].isascii() and word[0].isalnum() else ""
        right = r"(?![\w-])" if word[-1].isascii() and word[-1].isalnum() else ""
        parts.append(f"{left}{body}{right}")
    pattern = re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)
    if len(_patterns) > 512:
        _patterns.clear()
    _patterns[id(slot.values)] = (slot.values, pattern, member_of)
    return pattern, member_of


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("’", "'").casefold())


def iter_enum(text: str, slot: Slot) -> Iterator[tuple[int, int, str]]:
    """The canonical member of every word of the enum in `text`, longest word first where several begin at one place."""
    pattern, member_of = _compiled(slot)
    for match in pattern.finditer(text):
        said = _folded(match.group())
        member = member_of.get(said) or next(
            (member for word, member in member_of.items() if word.replace("'", "") == said.replace("'", "")), None
        )
        if member is not None:
            yield match.start(), match.end(), member
