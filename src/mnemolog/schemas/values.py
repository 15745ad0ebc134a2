"""A slot's value: typed data that can be compared, and the words it was said in."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

import msgspec

from .codec import canonical

__all__ = ["TEXT_TYPES", "Value", "ValueType", "normal_text"]

ValueType = Literal["text", "number", "money", "date", "duration", "bool", "enum"]
TEXT_TYPES = ("text", "enum")


class Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value.

    `data` by `type`:

    - text: the value as said, trimmed, e.g. `"Green Lane 5"`
    - enum: the registry's canonical member, e.g. `"vegetarian"`
    - number: `{"number": "5.5"}` or with a unit `{"number": "5.5", "unit": "kg"}`; a decimal string without exponent
    - money: `{"amount": "5000", "currency": "USD"}`; ISO 4217, or `""` where no currency was said
    - date: ISO 8601 local text, as fine as it was said: `2026`, `2026-05`, `2026-W19`, `2026-05-07`,
      `2026-05-07T15:00`; a bare time of day is `T15:00`; a recurring day is `R/MON` .. `R/SUN`
    - duration: ISO 8601 such as `P5Y`, `P2W`, `PT90M`
    - bool: `"true"` or `"false"`

    `text` is the surface form to show to people; it takes no part in comparison.
    """

    type: ValueType
    data: str | dict[str, str]
    text: str = ""

    @property
    def shown(self) -> str:
        """What a person reads."""
        return self.text or (self.data if isinstance(self.data, str) else " ".join(self.data.values()))

    @property
    def key(self) -> str:
        """Equal exactly where two values mean the same thing."""
        if isinstance(self.data, str):
            return f"{self.type}:{normal_text(self.data) if self.type in TEXT_TYPES else self.data}"
        return f"{self.type}:{canonical(self.data).decode()}"


_SPACE = re.compile(r"\s+")


def normal_text(text: str) -> str:
    """NFKC, case folded, white space collapsed, outer punctuation and a leading English article dropped."""
    folded = _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip(" \t.,;:!?\"'“”‘’。，；：！？、")
    for article in ("the ", "a ", "an "):
        if folded.startswith(article) and len(folded) > len(article):
            return folded[len(article) :]
    return folded
