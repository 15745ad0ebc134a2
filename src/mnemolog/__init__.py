"""mnemolog: long-term memory for AI agents, engineered as an event log.

`from mnemolog import Memory` is all that most programs need. Names are loaded when they are first used, so that importing the
package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters.models.openai import OpenAIExtractor
    from .aio import AsyncMemory
    from .memory import Memory, Receipt, Rows
    from .schemas.access import View
    from .schemas.errors import MnemologError
    from .settings import Servers

__all__ = ["AsyncMemory", "Memory", "MnemologError", "OpenAIExtractor", "Receipt", "Rows", "Servers", "View", "__version__"]

__version__ = "0.1.0"

_HOMES = {
    "AsyncMemory": ".aio",
    "Memory": ".memory",
    "MnemologError": ".schemas.errors",
    "OpenAIExtractor": ".adapters.models.openai",
    "Receipt": ".memory",
    "Rows": ".memory",
    "Servers": ".settings",
    "View": ".schemas.access",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
