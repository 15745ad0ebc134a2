"""The terminal: UTF-8 on every stream whatever the locale says, colour and progress only where somebody is looking."""

from __future__ import annotations

import io
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from typing import TextIO

__all__ = ["Paint", "Progress", "argument", "fold", "path_of", "use_utf8", "width"]

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def use_utf8() -> None:
    """Makes stdout and stderr UTF-8; a character that has no UTF-8 form (a lone surrogate) is shown escaped. A stream that was
    closed before this process began takes what is written to it, and loses it."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def argument(text: str) -> str:
    """A command line argument as the UTF-8 that was typed, also where the locale is not UTF-8."""
    if text.isascii():
        return text
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        return text


def path_of(text: str) -> str:
    """The name that the file system knows an argument by, where that is not UTF-8."""
    return text if os.name == "nt" else os.fsdecode(text.encode("utf-8", "surrogateescape"))


class Paint:
    """Colour on a terminal, plain text elsewhere; NO_COLOR (any value) and TERM=dumb switch it off."""

    def __init__(self, stream: TextIO) -> None:
        looked_at = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.on = looked_at and (os.name != "nt" or _ansi_on_windows())

    def __call__(self, text: str, *styles: str) -> str:
        """`text` in these styles: bold, dim, red, green, yellow, cyan."""
        if not self.on or not text:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"


def _ansi_on_windows() -> bool:
    """Asks the Windows console to understand colour codes; older ones cannot."""
    if sys.platform != "win32":
        return True
    import ctypes

    kernel = ctypes.windll.kernel32
    handle = kernel.GetStdHandle(-11)
    mode = ctypes.c_ulong()
    return bool(kernel.GetConsoleMode(handle, ctypes.byref(mode)) and kernel.SetConsoleMode(handle, mode.value | 4))


class Progress:
    """A bar on stderr, only where stderr is a terminal. `total` 0 means unknown: then it counts."""

    def __init__(self, what: str, total: int = 0, stream: TextIO | None = None) -> None:
        self._what = what
        self._total = total
        self._stream = sys.stderr if stream is None else stream
        self._on = self._stream.isatty()
        self.done = 0

    def add(self, count: int) -> None:
        """So many more are done."""
        self.to(self.done + count)

    def to(self, done: int, note: str = "") -> None:
        """So many are done in all."""
        self.done = done
        if not self._on:
            return
        if self._total:
            share = min(1.0, done / self._total)
            full = round(24 * share)
            text = f"{self._what} [{'#' * full}{'.' * (24 - full)}] {share:4.0%} {note}"
        else:
            text = f"{self._what} {done:,} {note}"
        room = shutil.get_terminal_size().columns - 1
        self._stream.write(f"\r\x1b[K{text[:room]}")
        self._stream.flush()

    def close(self) -> None:
        """Wipes the bar."""
        if self._on:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def width(text: str) -> int:
    """Columns that a terminal needs: Chinese characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def fold(text: str, columns: int, indent: str = "", first: str | None = None) -> str:
    """Text in lines of at most `columns`, broken at spaces or between Chinese characters; `first` begins the first line,
    `indent` the others."""
    return "\n".join(_folded(" ".join(text.split()), columns, indent, indent if first is None else first))


def _folded(text: str, columns: int, indent: str, first: str) -> Iterator[str]:
    lead, line = first, ""
    for word in _pieces(text):
        if line.strip() and width(lead) + width(line + word.rstrip()) > columns:
            yield lead + line.rstrip()
            lead, line = indent, ""
        line += word if line else word.lstrip()
        while width(lead) + width(line.rstrip()) > columns and len(line) > 1:
            cut = _fitting(line, max(columns - width(lead), 2))
            yield lead + line[:cut]
            lead, line = indent, line[cut:]
    yield (lead + line).rstrip()


def _pieces(text: str) -> Iterator[str]:
    """Where a line may be broken: after a space, after a wide character unless closing punctuation follows."""
    piece = ""
    for index, char in enumerate(text):
        piece += char
        after = text[index + 1 : index + 2]
        wide = unicodedata.east_asian_width(char) in "WF" and unicodedata.category(char) not in ("Ps", "Pi")
        closing = bool(after) and unicodedata.category(after) in ("Po", "Pe", "Pf")
        if char == " " or (wide and not closing):
            yield piece
            piece = ""
    if piece:
        yield piece


def _fitting(text: str, columns: int) -> int:
    taken = 0
    for index, char in enumerate(text):
        taken += width(char)
        if taken > columns:
            return max(index, 1)
    return len(text)
