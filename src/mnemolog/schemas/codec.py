"""Bytes on the wire and the canonical form that hashes and ids are made of: the same input gives the same bytes
on every machine, under every PYTHONHASHSEED."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import Any

import msgspec
import orjson

from .errors import InvalidInput, Undecodable

__all__ = ["NAMESPACE", "canonical", "content_hash", "derived_id", "encode", "read_json", "sha256_hex"]

NAMESPACE = uuid.UUID("6d6e656d-6f6c-5f67-8a01-6576656e7473")
"""The UUID namespace of every derived id."""


def canonical(value: Any) -> bytes:
    """Sorted-key UTF-8 JSON without white space, of plain data or of a msgspec Struct."""
    try:
        return orjson.dumps(msgspec.to_builtins(value), option=orjson.OPT_SORT_KEYS)
    except (TypeError, RecursionError) as error:
        raise InvalidInput("data", f"cannot be written as JSON: {error}") from error


def encode(value: Any) -> bytes:
    """UTF-8 JSON of plain data or of a msgspec Struct; a Struct's fields come in their declared order.

    Raises InvalidInput for what JSON cannot hold: lone surrogates, integers of more than 64 bits, endless nesting.
    """
    try:
        return orjson.dumps(msgspec.to_builtins(value))
    except (TypeError, RecursionError) as error:  # orjson's own error is a TypeError
        raise InvalidInput("data", f"cannot be written as JSON: {error}") from error


def read_json(data: bytes) -> Any:
    """JSON that somebody else wrote, read strictly: UTF-8, no repeated keys, no integer that would lose digits.

    Slower than reading our own records; for the edges where data comes in. Raises Undecodable.
    """
    try:
        value = orjson.loads(data)
        json.loads(data, object_pairs_hook=_once, parse_int=_int64)
    except (ValueError, RecursionError) as error:
        raise Undecodable(f"not JSON: {error}") from error
    return value


def _once(pairs: list[tuple[str, Any]]) -> None:
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"the key {max(keys, key=keys.count)!r} stands twice in one object")


def _int64(digits: str) -> None:
    # Longer digit strings are refused before int() would; 2**63 has 19 digits.
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
        raise ValueError(f"the integer {digits[:24]} has more than 64 bits")


def sha256_hex(data: bytes) -> str:
    """Lower-case hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def content_hash(data: Any) -> str:
    """SHA-256 of an event's canonical `data`: two records with one id are the same when this is the same."""
    return sha256_hex(canonical(data))


def derived_id(tenant: str, subject: str, source: str, event_id: str, handler: str, index: int) -> str:
    """The id of the `index`-th thing that `handler` makes of an event: a redelivery makes the same id again."""
    name = orjson.dumps([tenant, subject, source, event_id, handler, index]).decode()
    return str(uuid.uuid5(NAMESPACE, name))
