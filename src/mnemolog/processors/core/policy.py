"""By which declarations and limits a decision is made: plain data, and its name stands in every decision it made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from ...schemas.forms import FormType, Slot

__all__ = ["Policy", "Types"]

VERSION = 1
"""Of the rules in this package; raised when the same observations would be decided differently."""


class Types(Protocol):
    """Declared Form types, such as a Registry."""

    @property
    def types(self) -> Mapping[str, FormType]: ...

    @property
    def version(self) -> str: ...


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Form types and limits. Make one with `Policy.of(registry)`."""

    types: Mapping[str, FormType]
    name: str
    """What decisions say they were decided by: `default/1+<registry version>`."""
    hedged_confidence: float = 0.5
    """The most that a hedged statement is believed."""
    confirmed_confidence: float = 0.95
    """How much a value is believed after the user said yes to it, at least."""

    @classmethod
    def of(cls, registry: Types) -> Policy:
        return cls(types=registry.types, name=f"default/{VERSION}+{registry.version}")

    def type(self, name: str) -> FormType | None:
        return self.types.get(name)

    def slot(self, form_type: str, slot: str) -> Slot | None:
        """The declared slot; plain text for any other name where the type has open slots; else None."""
        form = self.types.get(form_type)
        if form is None:
            return None
        found = form.slots.get(slot)
        if found is None and form.open_slots and slot and slot.isprintable():
            return _OPEN
        return found

    def opposites(self, form_type: str, slot: str) -> list[str]:
        """The many-valued slots that lose an element when it is added to `slot`; said on either side it holds for both."""
        form = self.types.get(form_type)
        if form is None:
            return []
        own = form.slots.get(slot)
        found = [own.opposes] if own is not None and own.opposes else []
        return found + [name for name, other in form.slots.items() if other.opposes == slot and name not in found]


_OPEN = Slot()
