"""What a command prints: lines for people, or with --json one JSON value. Nothing else ever goes to stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from .terminal import Paint

__all__ = ["Output"]


class Output:
    """Where a command puts its answer. `json` tells which kind is wanted."""

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self.paint = Paint(sys.stdout)

    def lines(self, lines: Iterable[str]) -> None:
        """Lines for people; nothing with --json."""
        if not self.json:
            for line in lines:
                sys.stdout.write(line + "\n")

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


def _plain(value: object) -> object:
    """A value that msgspec does not know: a list that carries more, a path."""
    if isinstance(value, list):
        return list(value)
    return str(value)
