"""What the inbox holds that could not become an input: kept as it was published, with where it lay and why it was refused, so
that it can be put right and published again."""

from __future__ import annotations

import base64
import uuid
from typing import Annotated, Literal

import msgspec

from .codec import NAMESPACE, canonical, sha256_hex
from .errors import Undecodable

__all__ = ["MAX_KEPT", "MAX_KEY", "InputRejected", "Published", "rejection_id"]

MAX_KEPT = 7 * 1024 * 1024
"""Bytes of the largest value that a dead letter keeps whole: as text with its quotes escaped, or as base64, it still fits into
a record. A turn of the largest content is smaller, however it is escaped."""
MAX_KEY = 64 * 1024
"""Bytes of the largest key that is kept whole."""
_CUT = 64 * 1024
"""Bytes that are kept of a larger value."""

_Count = Annotated[int, msgspec.Meta(ge=0)]


class Published(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A key or a value as it was published. `size` and `sha256` are of the whole of it; `cut` says that only the beginning is
    kept."""

    encoding: Literal["text", "base64"] = "text"
    content: str
    size: _Count
    sha256: str
    cut: bool = False

    @classmethod
    def of(cls, given: bytes, most: int = MAX_KEPT) -> Published:
        """Whole, or the beginning of one that is longer than `most` bytes."""
        kept = given if len(given) <= most else given[:_CUT]
        facts = {"size": len(given), "sha256": sha256_hex(given), "cut": len(kept) < len(given)}
        try:
            text = kept.decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        # Text in which much has to be escaped would be longer than base64, and stores refuse NUL.
        if "\0" in text or len(msgspec.json.encode(text)) > 2 * len(kept) + 2:
            return cls(encoding="base64", content=base64.b64encode(kept).decode("ascii"), **facts)  # type: ignore[arg-type]
        return cls(content=text, **facts)  # type: ignore[arg-type]

    def to_bytes(self) -> bytes:
        """The bytes that are kept. Raises Undecodable where they are not those that were published."""
        try:
            kept = self.content.encode("utf-8") if self.encoding == "text" else base64.b64decode(self.content, validate=True)
        except ValueError as error:
            raise Undecodable(f"a dead letter's {self.encoding} cannot be read: {error}") from error
        if not self.cut and sha256_hex(kept) != self.sha256:
            raise Undecodable("a dead letter does not hold what its hash says")
        return kept


class InputRejected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`input.rejected` v1: the record at `topic`, `partition`, `offset` was refused. `reason` is a short code (readers pass on
    those that they do not know), `detail` says what was wrong; without `key` or `value` it had none."""

    topic: str
    partition: _Count
    offset: _Count
    reason: str
    detail: str
    key: Published | None = None
    value: Published | None = None


def rejection_id(log_id: str, topic: str, partition: int, offset: int) -> str:
    """The id of a dead letter: the same record of the same log gives the same id again."""
    return str(uuid.uuid5(NAMESPACE, canonical(["input.rejected", log_id, topic, partition, offset]).decode()))
