"""Bytes on the wire and the canonical form that hashes and ids are made of: the same input gives the same bytes
on every machine, under every PYTHONHASHSEED."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

import msgspec
import orjson

__all__ = ["NAMESPACE", "canonical", "content_hash", "derived_id", "encode", "sha256_hex"]

NAMESPACE = uuid.UUID("6d6e656d-6f6c-5f67-8a01-6576656e7473")
"""The UUID namespace of every derived id."""


def canonical(value: Any) -> bytes:
    """Sorted-key UTF-8 JSON without white space, of plain data or of a msgspec Struct."""
    return orjson.dumps(msgspec.to_builtins(value), option=orjson.OPT_SORT_KEYS)


def encode(value: Any) -> bytes:
    """UTF-8 JSON of plain data or of a msgspec Struct; a Struct's fields come in their declared order."""
    return orjson.dumps(msgspec.to_builtins(value))


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
