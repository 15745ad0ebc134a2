"""When one value says the same as another, only more exactly: deep red and red, Munich, Germany and Munich, 2026-05 and 2026.
In doubt it is another value."""

from __future__ import annotations

import re

from ...schemas.forms import Slot
from ...schemas.values import TEXT_TYPES, Value, normal_text

__all__ = ["is_finer", "same"]

_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
# Words in front that make another thing of what follows.
_OTHER_WORDS = """not no non never without anti ex former late fake mock vice deputy assistant associate acting co step half
semi pseudo quasi almost nearly old new"""
_OTHER = frozenset(_OTHER_WORDS.split())
_OTHER_HAN = ("不", "非", "无", "没", "未", "反", "前", "副", "假", "准", "半", "别")
_PARTS = re.compile(r"\s*[,，]\s*")


def same(one: Value, other: Value) -> bool:
    """Whether two values mean the same thing."""
    return one.key == other.key


def is_finer(new: Value, old: Value, slot: Slot) -> bool:
    """Whether `new` is a more exact statement of `old`."""
    if new.type != old.type or new.key == old.key:
        return False
    if new.type == "date":
        return _finer_date(new.data, old.data)
    if new.type in TEXT_TYPES:
        return new.type == "text" and _finer_text(normal_text(str(new.data)), normal_text(str(old.data)), slot)
    if isinstance(new.data, dict) and isinstance(old.data, dict):
        return _adds_unit(new.data, old.data)
    return False


def _finer_date(new: object, old: object) -> bool:
    if not isinstance(new, str) or not isinstance(old, str) or old.startswith(("T", "R")) or "W" in old:
        return False
    return "T" not in old and new.startswith((f"{old}-", f"{old}T"))


def _adds_unit(new: dict[str, str], old: dict[str, str]) -> bool:
    """The same amount, now with its currency or unit."""
    for name in ("currency", "unit"):
        if new.get(name) and not old.get(name):
            return all(new.get(key) == value for key, value in old.items() if key != name)
    return False


def _finer_text(new: str, old: str, slot: Slot) -> bool:
    parts, whole = _PARTS.split(new), _PARTS.split(old)
    if len(parts) > len(whole) and whole and all(whole):
        # Munich -> Munich, Germany; Germany -> Munich, Germany.
        return parts[: len(whole)] == whole or parts[-len(whole) :] == whole
    if slot.shape or "," in new or "，" in new:
        # York is no coarser New York: of names and addresses only the comma form tells.
        return bool(
            _HAN.fullmatch(new) and _HAN.fullmatch(old) and slot.shape == "place" and len(old) > 1 and new.startswith(old)
        )
    if _HAN.fullmatch(new) and _HAN.fullmatch(old):
        return new.endswith(old) and not new.startswith(_OTHER_HAN)
    if not new.endswith(f" {old}"):
        return False
    front = new[: -len(old) - 1].replace("-", " ").split()
    return len(front) <= 3 and not any(word in _OTHER for word in front)
