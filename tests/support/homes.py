"""What lies behind a Memory in a folder, for tests that look inside."""

from __future__ import annotations

from mnemolog import Memory
from mnemolog.home import Home

__all__ = ["home_of"]


def home_of(memory: Memory) -> Home:
    """The opened home."""
    home = memory._home
    assert isinstance(home, Home)
    return home
