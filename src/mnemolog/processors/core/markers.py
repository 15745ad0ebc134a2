"""The markers around memory that is put into a prompt, and the note at the end of each of its lines. What carries them was said
by the memory, not by the speaker: it is masked, character for character, before anything is read out of a turn, however much of
the block is left. What only looks like a marker hides nothing but itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["CLOSE", "MASK", "NOTES", "OPEN", "disarmed", "mark_injected", "mask_injected", "said"]

OPEN = "<mnemolog-memory>"
CLOSE = "</mnemolog-memory>"
MASK = "\n"
"""What a masked character becomes: a hard boundary, so that no reading reaches across."""

NOTES: dict[str, dict[str, str]] = {
    "en": {
        "since": "since {day}",
        "scheduled": "from {day} on",
        "said": "said {day}",
        "changed": "changed {day}",
        "decided": "decided {day}",
        "corrected": "corrected {day}",
        "set": "set {day}",
        "ended": "ended {day}",
        "happened": "happened {day}",
        "asked": "open since {day}",
        "memory": "memory",
    },
    "zh": {
        "since": "自{day}",
        "scheduled": "自{day}起",
        "said": "{day}所说",
        "changed": "{day}变更",
        "decided": "{day}决定",
        "corrected": "{day}更正",
        "set": "{day}设定",
        "ended": "{day}终止",
        "happened": "{day}发生",
        "asked": "{day}起待确认",
        "memory": "记忆",
    },
}
"""How a line's note begins, by language: `[since 2026-05-07, not certain]`. A line is known again by it when the markers are
gone, so what is written and what is recognised are the same table."""

_NAME = "mnemolog-memory"
_MARKER = re.compile(
    rf"(?:\\?<|&lt;|＜)(?P<end>[/／]?)\s{{0,4}}{_NAME}(?:\s[^<>＜＞]{{0,200}}?)?(?:\\?>|&gt;|＞)", re.IGNORECASE
)
_NO_WIDTH = "[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"
_LACED = re.compile(
    _NO_WIDTH.join([*"mnemolog", "[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]", *"memory"]),
    re.IGNORECASE,
)


def _noted() -> re.Pattern[str]:
    day = r"\d{4}-\d\d-\d\d"
    begins = sorted({re.escape(shape).replace(r"\{day\}", day) for words in NOTES.values() for shape in words.values()})
    return re.compile(rf"\[(?:{'|'.join(begins)})(?:[,;；，、][^\[\]\n]{{0,2000}})?\]")


_NOTE = _noted()
_GAP = re.compile(rf"{MASK}{{3,}}")
_BULLET = re.compile(r"[-–—•*‣▪]\s")
_ITEM = re.compile(r"[\s>|*#\\]*(?:[^\n]{0,80}[:：]\s*)?[-–—•*‣▪]\s")
"""The beginning of an item, perhaps behind a heading in the same line."""


def disarmed(text: str) -> str:
    """`text` in which nothing reads as a marker. What looks like one is written differently rather than taken out: its removal
    could join what stood around it to another one."""
    return _LACED.sub("mnemolog memory", text)


def mark_injected(text: str) -> str:
    """`text` between the markers, each of its lines marked; what looks like a marker inside it is disarmed."""
    lines = [line.strip() for line in disarmed(text).splitlines()]
    note = f"[{NOTES['en']['memory']}]"
    return "\n".join([OPEN, *(f"- {line.removeprefix('- ')} {note}" for line in lines if line), CLOSE])


def mask_injected(content: str) -> str:
    """`content` with everything that a memory said masked; the length stays, so offsets stay.

    - What stands between a marker that opens and the one that closes it, both included, whatever it is.
    - Without its partner a marker masks nothing but itself.
    - A line up to the memory's note in it, wherever it stands: a prompt that was cut, copied in part,
      quoted or indented anew must not turn memory into statements.
    - What is left of the item in which a block was cut off.
    """
    has_markers = _NAME in content or _NAME in content.lower()
    if not has_markers and not ("[" in content and _NOTE.search(content)):
        return content
    cut_off = -1
    if has_markers:
        spans, cut_off = _between(content)
        content = _masked(content, spans)
    if "[" in content:
        content = _masked(content, _noted_lines(content))
    if cut_off >= 0 and _ends_in_an_item(content[cut_off:]):
        content = _masked(content, [(cut_off, len(content))])
    return content


def said(content: str) -> str:
    """`content` without what a memory had put into it: what is searched, embedded and shown of a turn. Empty where nothing with
    a letter or digit is left; unchanged where nothing was put in."""
    left = mask_injected(content)
    if left == content:
        return content
    left = _GAP.sub("\n\n", left).strip()
    return left if any(char.isalnum() for char in left) else ""


def _ends_in_an_item(rest: str) -> bool:
    """Whether nothing is left but headings and the beginning of one item."""
    *headings, last = [line for line in rest.splitlines() if line.strip()] or [""]
    return _ITEM.match(last) is not None and all(line.rstrip().endswith((":", "：")) for line in headings)


def _between(content: str) -> tuple[list[tuple[int, int]], int]:
    """The spans of blocks and of stray markers, and where the last marker that was never closed ends (-1: there is none)."""
    spans: list[tuple[int, int]] = []
    open_now: list[tuple[int, int]] = []
    for marker in _MARKER.finditer(content):
        if not marker["end"]:
            open_now.append(marker.span())
        elif open_now:
            start, _ = open_now.pop()
            while spans and spans[-1][0] >= start:
                spans.pop()
            spans.append((start, marker.end()))
        else:
            spans.append(marker.span())
    return sorted([*spans, *open_now]), open_now[-1][1] if open_now else -1


def _noted_lines(content: str) -> Iterator[tuple[int, int]]:
    """From the start of a line to the end of its last note; an item that was wrapped, from its bullet. (A bullet inside the
    line tells nothing: it may be a dash of what was said.)"""
    done = 0
    for note in _NOTE.finditer(content):
        start = content.rfind("\n", 0, note.start()) + 1
        yield (done if start <= done else _wrapped(content, start, done)), note.end()
        done = note.end()


_WRAPPED = 8
"""Lines over which one item may be wrapped."""


def _wrapped(content: str, start: int, low: int) -> int:
    """Where the item begins that goes on, indented, in the line at `start`."""
    at = start
    for _ in range(_WRAPPED):
        if at <= low or not content[at : at + 1].isspace() or content[at] == "\n":
            return start
        above = max(content.rfind("\n", 0, at - 1) + 1, low)
        bullet = _BULLET.match(content, above + len(content[above:at]) - len(content[above:at].lstrip(" \t>|")))
        if bullet is not None:
            return bullet.start()
        at = above
    return start


def _masked(content: str, spans: Iterator[tuple[int, int]] | list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += (content[done:start], MASK * (end - start))
        done = end
    return "".join([*pieces, content[done:]])
