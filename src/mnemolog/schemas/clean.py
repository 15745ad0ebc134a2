"""What may enter the log: Unicode text that every store can hold, numbers that every JSON reader agrees on, all within stated
limits. What is refused is named by its path, and nothing is altered on the way in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import orjson

from .errors import InvalidInput

__all__ = ["MAX_CONTENT", "MAX_DEPTH", "MAX_METADATA", "check_content", "check_metadata", "check_plain", "check_text"]

MAX_CONTENT = 1_048_576
"""The longest text of one turn, in UTF-8 bytes (1 MiB)."""
MAX_METADATA = 65_536
"""The largest metadata of one turn, as JSON in UTF-8 bytes."""
MAX_DEPTH = 32
"""How deep objects and lists may be nested."""

# PostgreSQL's text and jsonb cannot hold NUL, and a lone surrogate is not Unicode text: UTF-8 has no bytes for it.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_INT64 = range(-(2**63), 2**63)


def check_text(field: str, value: object, limit: int = MAX_CONTENT) -> str:
    """Text, possibly empty: no lone surrogates, no NUL, at most `limit` UTF-8 bytes."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be text, not {type(value).__name__}")
    # A code point takes at most four bytes, so that the whole need be encoded only where it may be too long.
    if len(value) > limit // 4:
        size = len(value.encode("utf-8", "surrogatepass"))
        if size > limit:
            raise InvalidInput(field, f"is {size:,} bytes long; at most {limit:,}", "split it into several")
    if bad := _UNSTORABLE.search(value):
        if bad[0] == "\0":
            raise InvalidInput(field, f"contains a NUL at character {bad.start()}", "remove it")
        raise InvalidInput(
            field, f"contains the lone surrogate U+{ord(bad[0]):04X} at character {bad.start()}", "decode the text as UTF-8"
        )
    return value


def check_content(field: str, value: object, limit: int = MAX_CONTENT) -> str:
    """`check_text`, and not only white space."""
    text = check_text(field, value, limit)
    if not text.strip():
        raise InvalidInput(field, "is empty", "give at least one character that is not white space")
    return text


def check_metadata(field: str, value: object) -> dict[str, Any]:
    """A JSON object of at most 64 KiB, by the rules of `check_plain`; the copy is as the log will give it back."""
    if not isinstance(value, Mapping):
        raise InvalidInput(field, f"must be an object, not {type(value).__name__}")
    plain = dict(value)
    check_plain(field, plain)
    encoded = orjson.dumps(plain)
    if len(encoded) > MAX_METADATA:
        raise InvalidInput(field, f"is {len(encoded):,} bytes long as JSON; at most {MAX_METADATA:,}")
    decoded: dict[str, Any] = orjson.loads(encoded)
    return decoded


def check_plain(field: str, value: object, depth: int = 0) -> None:
    """JSON data: objects with text keys, lists, storable text, finite floats, integers of 64 bits, at most 32 levels deep."""
    if isinstance(value, str):
        check_text(field, value)
    elif value is None or isinstance(value, bool):
        return
    elif isinstance(value, int):
        if value not in _INT64:
            raise InvalidInput(field, "is an integer of more than 64 bits", "write it as text")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(field, f"is {value}, which JSON does not have", "use null or text")
    elif isinstance(value, dict | list | tuple):
        if depth == MAX_DEPTH:
            raise InvalidInput(field, f"is nested more than {MAX_DEPTH} levels deep")
        if isinstance(value, dict):
            for key, item in value.items():
                if not isinstance(key, str):
                    raise InvalidInput(field, f"has the key {key!r}, which is not text")
                check_text(f"{field} key", key, MAX_METADATA)
                check_plain(f"{field}.{key}" if field else key, item, depth + 1)
        else:
            for index, item in enumerate(value):
                check_plain(f"{field}[{index}]", item, depth + 1)
    else:
        raise InvalidInput(field, f"is a {type(value).__name__}, which JSON does not have", "write it as text")
