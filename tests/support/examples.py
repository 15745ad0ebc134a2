"""How many generated examples a test tries: the same ones in every run; with `make test-deep` twenty times as many, of any."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

__all__ = ["examples"]

USUAL = 50
"""Examples of a test that names no number."""


def examples(count: int, **more: Any) -> settings:
    """So many; `more` as for `settings`."""
    deep = (settings.default or settings()).max_examples // USUAL
    return settings(derandomize=deep <= 1, deadline=None, max_examples=count * max(deep, 1), **more)
