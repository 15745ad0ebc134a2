"""Whether a value fits a slot, before anything is recorded."""

from __future__ import annotations

from ..schemas.errors import InvalidInput
from ..schemas.registry import Registry

__all__ = ["check_value"]


def check_value(registry: Registry, form_type: str, slot: str, value: str | None, *, at: str) -> None:
    """Raises UnknownFormType for a slot that is not declared, InvalidInput for a value that is not of its type. `at`: when it
    is said, which "tomorrow" is counted from."""
    form = registry.type(form_type)
    if form.open_slots and slot not in form.slots:
        return
    declared = registry.slot(form_type, slot)
    if value is None:
        return
    from ..processors.core.values import detect_lang, parse_value

    if parse_value(declared, value, at=at, utc_offset=0, lang=detect_lang(value)) is None:
        expected = "one of " + ", ".join(declared.values) if declared.values else f"a {declared.type}"
        raise InvalidInput("value", f"{value!r} does not fit {form_type}.{slot}", f"give {expected}")
