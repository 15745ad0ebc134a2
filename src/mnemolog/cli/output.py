"""What a command prints: lines for people, or with --json one JSON value. Nothing else ever goes to stdout."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

from .terminal import Paint

__all__ = ["Output"]


_COMMANDS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f]")
_BESIDE_COLOURS = re.compile(r"(?!\x1b\[\d{1,2}(?:;\d{1,2})*m|\x1b\[0m)[\0-\x08\x0b-\x1f\x7f-\x9f]")


class Output:
    """Where a command puts its answer. `json` tells which kind is wanted."""

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self.paint = Paint(sys.stdout)

    def lines(self, lines: Iterable[str]) -> None:
        """Lines for people; nothing with --json."""
        if not self.json:
            for line in lines:
                sys.stdout.write(_harmless(line, painted=self.paint.on) + "\n")

    def line(self, text: str = "") -> None:
        """One line for people."""
        self.lines((text,))

    def value(self, value: Any) -> None:
        """The JSON value of the answer; nothing without --json."""
        if self.json:
            import json

            import msgspec

            plain = msgspec.to_builtins(value, enc_hook=_plain)
            sys.stdout.write(json.dumps(plain, ensure_ascii=False, indent=2) + "\n")

    def note(self, text: str) -> None:
        """A remark beside the data, on stderr."""
        sys.stderr.write(f"mnemolog: {text}\n")


def _harmless(text: str, *, painted: bool) -> str:
    """`text` without commands to the terminal: what was said is shown, never obeyed. Our own colours stay."""
    return (_BESIDE_COLOURS if painted else _COMMANDS).sub("\ufffd", text)


def _plain(value: object) -> object:
    """A value that msgspec does not know: a list that carries more, a path."""
    if isinstance(value, list):
        return list(value)
    return str(value)
