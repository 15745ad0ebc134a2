"""What text may enter the log: Unicode that every store can hold, within stated limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from .errors import InvalidInput

__all__ = ["MAX_CONTENT", "MAX_METADATA", "check_content", "check_metadata"]

MAX_CONTENT = 1_048_576
"""The longest content of one turn, in UTF-8 bytes (1 MiB)."""
MAX_METADATA = 65_536
"""The largest metadata of one turn, as JSON in UTF-8 bytes."""


def check_content(field: str, value: object, limit: int = MAX_CONTENT) -> str:
    """Text with words in it: no lone surrogates, no NUL (no SQL text can hold it), at most `limit` UTF-8 bytes."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(field, "is empty", "give at least one character that is not white space")
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        code = ord(value[error.start])
        raise InvalidInput(
            field, f"contains the lone surrogate U+{code:04X} at character {error.start}", "decode the text as UTF-8"
        ) from None
    nul = value.find("\0")
    if nul >= 0:
        raise InvalidInput(field, f"contains a NUL at character {nul}", "remove it")
    if size > limit:
        raise InvalidInput(field, f"is {size:,} bytes long; at most {limit:,}", "split it into several turns")
    return value


def check_metadata(field: str, value: object) -> dict[str, Any]:
    """A JSON object of at most 64 KiB; numbers of at most 64 bits."""
    if not isinstance(value, Mapping):
        raise InvalidInput(field, f"must be an object, not {type(value).__name__}")
    try:
        encoded = orjson.dumps(dict(value))
    except (TypeError, orjson.JSONEncodeError, RecursionError) as error:
        raise InvalidInput(field, f"cannot be written as JSON: {error}") from None
    if len(encoded) > MAX_METADATA:
        raise InvalidInput(field, f"is {len(encoded):,} bytes long as JSON; at most {MAX_METADATA:,}")
    if b"\\u0000" in encoded:
        raise InvalidInput(field, "contains a NUL", "remove it")
    decoded: dict[str, Any] = orjson.loads(encoded)
    return decoded
