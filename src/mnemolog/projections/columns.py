"""How cells lie in each database so that both give back, compare and sort the same: text by code point, whatever is in it, and
keys of any length."""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa

__all__ = ["LONG", "StoredText", "conflict_key", "digest", "is_postgres", "long_text", "same_text"]

LONG = "long"
"""In the info of a column: its texts may be longer than an index of PostgreSQL takes."""

# PostgreSQL's text holds every code point but NUL. Written this way text keeps its order, because every other character is
# greater than these two.
_ESCAPES = {"\0": "\1\1", "\1": "\1\2"}
_ESCAPED = re.compile("\1([\1\2])")


def is_postgres(dialect: sa.Dialect) -> bool:
    return dialect.name == "postgresql"


class StoredText(sa.types.TypeDecorator[str]):
    """Any Unicode text, NUL included; compared and sorted by code point."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        # A database's own collation may call two different texts equal, and sorts by the habits of a country.
        return dialect.type_descriptor(sa.Text(collation="C") if is_postgres(dialect) else sa.Text())

    def bind_processor(self, dialect: sa.Dialect) -> Any:
        return _escape if is_postgres(dialect) else super().bind_processor(dialect)

    def result_processor(self, dialect: sa.Dialect, coltype: Any) -> Any:
        return _unescape if is_postgres(dialect) else super().result_processor(dialect, coltype)


def _escape(text: str | None) -> str | None:
    if text is None or ("\0" not in text and "\1" not in text):
        return text
    return text.replace("\1", _ESCAPES["\1"]).replace("\0", _ESCAPES["\0"])


def _unescape(text: str | None) -> str | None:
    if text is None or "\1" not in text:
        return text
    return _ESCAPED.sub(lambda found: "\0" if found[1] == "\1" else "\1", text)


def digest(value: sa.ColumnElement[Any]) -> sa.ColumnElement[bytes]:
    """On PostgreSQL: the SHA-256 of a text, which stands in an index where the text may be longer than an index takes (2,704
    bytes). Written so that it counts as immutable there: a text's bytes are not to be had by a cast."""
    # decode() reads backslashes; nothing else in a text of UTF-8 means anything to it.
    plain = sa.func.replace(value, sa.literal_column(r"'\'"), sa.literal_column(r"'\\'"))
    return sa.func.sha256(sa.func.decode(plain, sa.literal_column("'escape'")), type_=sa.LargeBinary)


def long_text(name: str) -> sa.Column[str]:
    """A column of a key whose texts may be of any length."""
    return sa.Column(name, StoredText, nullable=False, info={LONG: True})


def conflict_key(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """What stands for a column of a key in PostgreSQL's index."""
    return digest(column) if LONG in getattr(column, "info", {}) else column


def same_text(column: sa.Column[str], value: sa.ColumnElement[str], dialect: str) -> sa.ColumnElement[bool]:
    """`column = value`, by the index where its key holds digests."""
    if dialect == "postgresql" and LONG in column.info:
        return digest(column) == digest(value)
    return column == value
