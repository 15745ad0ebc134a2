"""A scope's two names are never empty and never run together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.schemas.errors import InvalidInput
from mnemolog.schemas.scope import MAX_ID, Scope, check_name

names = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=MAX_ID).filter(lambda text: text.strip())
tenants = names.filter(lambda text: "/" not in text)


@given(tenants, names, tenants, names)
def test_a_scope_is_its_key(tenant: str, subject: str, tenant2: str, subject2: str) -> None:
    one, two = Scope(tenant, subject), Scope(tenant2, subject2)
    assert Scope.parse(str(one)) == one
    assert (str(one) == str(two)) == (one == two)


@pytest.mark.parametrize(
    ("tenant", "subject", "field"),
    [
        ("", "user:1", "tenant"),
        ("  ", "user:1", "tenant"),
        ("a/b", "user:1", "tenant"),
        ("a\tb", "user:1", "tenant"),
        ("a", "", "subject"),
        ("a", "\n", "subject"),
        ("a", "x" * 257, "subject"),
        ("a", "\ud800", "subject"),
        ("a", "b\0", "subject"),
        ("a", "b\u0085", "subject"),
        ("a", 7, "subject"),
        (None, "b", "tenant"),
    ],
)
def test_a_scope_that_is_none_names_the_field(tenant: Any, subject: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Scope(tenant, subject)
    assert caught.value.field == field


@pytest.mark.parametrize("key", ["", "acme", "/user:1", "acme/"])
def test_a_key_that_is_none(key: str) -> None:
    with pytest.raises(InvalidInput):
        Scope.parse(key)


def test_names() -> None:
    assert check_name("speaker", "", empty=True) == ""
    assert check_name("speaker", "王芳 👩‍👩‍👧 O'Neil/Smith") == "王芳 👩‍👩‍👧 O'Neil/Smith"
    assert check_name("id", "é" * MAX_ID)
    with pytest.raises(InvalidInput, match="speaker: is empty"):
        check_name("speaker", " ", empty=True)
