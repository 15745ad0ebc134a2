"""What a reader can see in a block of text: which values it holds, which of them it marks as old, and which changes it tells.
It reads plain lines and takes no notice of who wrote them: the same functions judge retrieved chunks and assembled memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from fragmentation_gold import Change, Hop, Spelled

__all__ = ["Block"]

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_MONTH_DAY = re.compile(rf"({'|'.join(_MONTHS)}) (\d{{1,2}})")
_DAY_ZH = re.compile(r"(\d{1,2})月(\d{1,2})日")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")

_STAMPS = re.compile(
    r"^\s*(?:- )?\[?\d{4}-\d\d-\d\d(?:, [^\]]*\])?"
    r"|(?:since|from|until|said|set|decided|changed|corrected|ended|happened|自) ?\d{4}-\d\d-\d\d"
    r"|\[\d{4}-\d\d-\d\d(?:所说|变更|决定|更正|设定|终止|发生|起待确认)",
    re.IGNORECASE,
)
"""When something was said or began to hold is not what was said."""

_SAID = re.compile(r"\s*\[(?:said \d{4}-\d\d-\d\d|\d{4}-\d\d-\d\d所说)\]\s*$")
"""Only when it was said."""

_OLD = re.compile(
    r"no longer|not .{0,40}any ?more|any ?more\b|superseded|former|previous|used to|instead of|rather than|called off|\bwas\b"
    r"|\bwere\b|until|\bnot yet\b|stopped|cancelled|canceled|dropped|\bold\b|\bearlier\b|changed since|outdated"
    r"|不再|之前|以前|原来|原先|原本|此前|曾|取消|作废|失效|停了|不用|换掉|砍掉|旧|已变|已改|过去",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"→|->|\binstead\b|rather than|no longer|any ?more\b|\bchang|\bmov(?:e|es|ed)\b|postpone|\bnow\b|\bback\b|\bagain\b|raise"
    r"|goes up|go up|revis|updat|\bnew\b|replac|take[sn]? over|switch|stopp|\bdrop|cancel|make (?:it|that)|after all|\brather\b"
    r"|decided against|from .+ to |\bset\b|used to|\bwas\b|superseded|former|shrink|\bleft\b|leaving|return"
    r"|改|换|变|不再|现在|推迟|恢复|回|涨|降|升|加到|压到|砍|调|减|停|提到|新|原|之前|起不",
    re.IGNORECASE,
)
_ARROW = re.compile(r"→|->")
_FROM_TO = re.compile(r"\bfrom\b.+\bto\b|从.+(?:到|成|为)", re.IGNORECASE)
_UNCONFIRMED = re.compile(r"not confirmed|尚未确认", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:[^.!?。！？]|[.](?=\S))+[.!?。！？]*")

_ROLES = frozenset(
    {"contact", "member", "members", "host", "doctor", "manager", "owner", "chef", "helper", "partner", "roommate", "联系人"}
)
"""Slots that hold people: a name may be said without a claim that the person still has the role."""

_COMMON = re.compile(r"\d{1,2}台?|[a-z]+")
"""A bare number under 100 or one plain word may be said of anything."""

_RELATED: dict[str, Spelled] = {
    "sister": ("sister", "sibling", "siblings"),
    "partner": ("partner",),
    "妹妹": ("妹妹", "兄弟姐妹", "姐妹"),
    "女朋友": ("女朋友", "伴侣", "对象"),
    "室友": ("室友", "舍友"),
}
"""Words for a relation by what they are called in a list of slots."""


@lru_cache(maxsize=4096)
def _pattern(spelled: Spelled) -> re.Pattern[str]:
    """Any of the spellings, as whole words and whole numbers, dates in either order or as YYYY-MM-DD."""
    forms: list[str] = []
    for word in (alias for one in spelled for alias in _RELATED.get(one, (one,))):
        plain = _THOUSANDS.sub("", word)
        forms.append(re.escape(plain))
        if found := _MONTH_DAY.fullmatch(plain):
            month, day = found[1], int(found[2])
            forms += [
                f"{month}\\ {day}(?:st|nd|rd|th)",
                f"{month[:3]}\\.?\\ {day}",
                f"{day}(?:st|nd|rd|th)?\\ (?:of\\ )?{month}",
            ]
            forms.append(rf"\d{{4}}-{_MONTHS.index(month) + 1:02d}-{day:02d}")
        if found := _DAY_ZH.fullmatch(plain):
            forms += [f"{found[1]}月{found[2]}号", rf"\d{{4}}-{int(found[1]):02d}-{int(found[2]):02d}"]
    return re.compile("|".join(_bounded(form) for form in forms), re.IGNORECASE)


def _bounded(form: str) -> str:
    first, last = form[0], form[-1]
    before = r"(?<!\d)(?<!\d[.,:/-])" if first.isdigit() or form.startswith("\\d") else ""
    if first.isascii() and (first.isalnum() or first == "\\"):
        before += r"(?<![A-Za-z0-9])"
    after = r"(?![.,:/-]?\d)" if last.isdigit() else ""
    if last.isascii() and last.isalnum():
        after += r"(?![A-Za-z0-9])"
    return f"{before}(?:{form}){after}"


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", _THOUSANDS.sub("", text)).strip()


class Line:
    """One line: with and without the stamps that say when."""

    def __init__(self, text: str, unconfirmed: bool) -> None:
        self.text = text
        self.bare = _flat(_STAMPS.sub(" ", text))
        self.unconfirmed = unconfirmed
        self.old = unconfirmed or bool(_OLD.search(text))
        self.cue = bool(_CUE.search(text))

    def find(self, spelled: Spelled) -> list[int]:
        return [found.start() for found in _pattern(spelled).finditer(self.bare)]

    def holds(self, spelled: Spelled) -> bool:
        return _pattern(spelled).search(self.bare) is not None

    def claims(self, spelled: Spelled) -> bool:
        """Holds the value in a sentence that is no question, not under a heading that says it is unconfirmed."""
        return not self.unconfirmed and any(
            _pattern(spelled).search(part[0]) is not None and not part[0].rstrip().endswith(("?", "？"))
            for part in _SENTENCE.finditer(self.bare)
        )

    def introduces(self, spelled: Spelled, changes: Sequence[Change]) -> bool:
        """Tells that the value took the place of another: it is what an arrow leads to, or one of the changes is told."""
        joint = _ARROW.search(self.bare)
        if joint is not None and any(at > joint.start() for at in self.find(spelled)):
            return True
        return any(self.tells(one.before, one.after) for one in changes if set(one.after) & set(spelled))

    def tells(self, before: Spelled, after: Spelled) -> bool:
        """States the change: both values and a word or an arrow that says one became the other, in that order where the
        wording has an order."""
        old, new = self.find(before), self.find(after)
        if not (old and new and self.cue):
            return False
        for joint in _ARROW.finditer(self.bare):
            if any(at < joint.start() for at in old) and any(at > joint.start() for at in new):
                return True
        if _ARROW.search(self.bare):
            return False
        return min(old) < max(new) if _FROM_TO.search(self.bare) else True


class Block:
    """A text as a reader has it before them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.flat = _flat(text)
        self.lines: list[Line] = []
        unconfirmed = False
        for row in text.splitlines():
            if not row.startswith("- ") and row.rstrip().endswith((":", "：")):
                unconfirmed = bool(_UNCONFIRMED.search(row))
            if row.strip():
                self.lines.append(Line(row, unconfirmed))

    def holds(self, spelled: Spelled) -> bool:
        """Holds the value anywhere."""
        return any(line.holds(spelled) for line in self.lines)

    def holds_together(self, words: Sequence[Spelled]) -> bool:
        """One line holds all of the words."""
        return any(all(line.holds(group) for group in words) for line in self.lines)

    def holds_now(self, spelled: Spelled, was: Sequence[Spelled]) -> bool:
        """Holds the value in a line that does not mark it as old; `was`: values that such a line may call old beside it."""
        return any(
            line.claims(spelled) and (not line.old or any(line.holds(one) for one in was) or self._quoted(line))
            for line in self.lines
        )

    @staticmethod
    def _quoted(line: Line) -> bool:
        """A line of talk without a mark of its own at its end: words like `was` in it may be about anything."""
        return not re.search(r"\[[^\]]*\]\s*$|no longer\s*$|不再有效", _SAID.sub("", line.text))

    def hop(self, hop: Hop, said: str) -> bool:
        """One line holds all its words, or the turn that said it stands there as it was said."""
        return self.holds_together(hop.words) or _flat(said) in self.flat

    def tells(self, change: Change) -> bool:
        """A reader sees that `after` took the place of `before`: one line states it; or one line marks `before` as old and
        another holds `after`; or a later line holds `after` with a word of change."""
        if any(line.tells(change.before, change.after) for line in self.lines):
            return True
        old = [at for at, line in enumerate(self.lines) if line.holds(change.before)]
        new = [at for at, line in enumerate(self.lines) if line.holds(change.after)]
        if any(self.lines[at].old and not self._quoted(self.lines[at]) for at in old) and any(
            not self.lines[at].old for at in new if at not in old
        ):
            return True
        return any(first < then and self.lines[then].cue for first in old for then in new)

    def spoiled_by(self, change: Change, changes: Sequence[Change], asserted: Sequence[str]) -> str:
        """The first line that holds `change.before` without marking it as superseded, or an empty text.

        changes: all of that slot; asserted: the turns that said the value.
        """
        weak = change.slot in _ROLES or all(_COMMON.fullmatch(word) for word in change.before)
        for line in self.lines:
            if line.old or not line.claims(change.before):
                continue
            if weak and not (self._names(line, change) or any(_flat(text) in line.bare for text in asserted)):
                continue
            # Told as what was replaced; or as what replaced something, where the block goes on to tell its own end.
            if any(line.tells(one.before, one.after) for one in changes if set(one.before) & set(change.before)):
                continue
            if line.introduces(change.before, changes) and self.tells(change):
                continue
            return line.text
        return ""

    @staticmethod
    def _names(line: Line, change: Change) -> bool:
        words = [word for word in re.split(r"[\s']+", change.of.casefold()) if word not in ("user", "s")]
        return any(word in line.bare.casefold() for word in (*words, change.slot.replace("_", " ")))
