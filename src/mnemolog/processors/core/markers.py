"""The markers around memory that is put into a prompt. What stands between them was said by the memory, not by the speaker:
it is masked, character for character, before anything is read out of a turn."""

from __future__ import annotations

import re

__all__ = ["CLOSE", "MASK", "OPEN", "disarmed", "mark_injected", "mask_injected"]

OPEN = "<mnemolog-memory>"
CLOSE = "</mnemolog-memory>"
MASK = "\n"
"""What a masked character becomes: a hard boundary, so that no reading reaches across."""

_MARKER = re.compile(r"<(/?)\s{0,4}mnemolog-memory(?:\s[^<>]{0,200})?>", re.IGNORECASE)


_OPENS = re.compile(r"<(?=[\s\u200b-\u200f\u2060\ufeff]*/?[\s\u200b-\u200f\u2060\ufeff]*mnemolog-memory)", re.IGNORECASE)


def disarmed(text: str) -> str:
    """`text` in which nothing reads as a marker. What looks like one is written differently rather than taken out: its removal
    could join what stood around it to another one."""
    return _OPENS.sub("&lt;", text)


def mark_injected(text: str) -> str:
    """`text` between the markers; what looks like a marker inside it is disarmed."""
    return f"{OPEN}\n{disarmed(text)}\n{CLOSE}"


def mask_injected(content: str) -> str:
    """`content` with everything between the markers (the markers too) masked; the length stays, so offsets stay.

    A marker that is never closed masks to the end, a closing one that was never opened masks from the start: a prompt that
    was cut must not turn memory into statements.
    """
    if "mnemolog-memory" not in content and "mnemolog-memory" not in content.lower():
        return content
    pieces: list[str] = []
    depth = done = 0
    for marker in _MARKER.finditer(content):
        if not marker.group(1):
            if depth == 0:
                pieces.append(content[done : marker.start()])
                done = marker.start()
            depth += 1
            continue
        if depth <= 1:
            stray = depth == 0 and bool(pieces)
            begin = marker.start() if stray else done
            pieces.append(content[done:begin] + MASK * (marker.end() - begin))
            done = marker.end()
        depth = max(0, depth - 1)
    pieces.append(MASK * (len(content) - done) if depth else content[done:])
    return "".join(pieces)
